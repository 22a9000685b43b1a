"""GPU models are found from the names that Slurm and exporters use."""

from __future__ import annotations

import pytest

from data.gpu_models import gpu_model, slices_of_profile


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("h100", "H100"),
        ("nvidia_h100_80gb_hbm3_1g.10gb", "H100"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H100 NVL", "H100 NVL"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA GH200 480GB", "GH200"),
        ("NVIDIA H20", "H20"),
        ("NVIDIA B200", "B200"),
        ("NVIDIA GB200", "B200"),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB"),
        ("NVIDIA A100-SXM4-40GB", "A100 40GB"),
        ("NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"),
        ("NVIDIA A100-PCIE-40GB", "A100 PCIe 40GB"),
        ("a100", "A100"),
        ("NVIDIA A10", "A10"),
        ("NVIDIA A30", "A30"),
        ("NVIDIA A40", "A40"),
        ("NVIDIA RTX A6000", "RTX A6000"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA L4", "L4"),
        ("Tesla V100-SXM2-32GB", "V100 32GB"),
        ("Tesla T4", "T4"),
        ("nvidia_geforce_rtx_2080_ti", "RTX 2080"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000"),
        ("rtxproserver6000", "RTX PRO 6000"),
        ("AMD Instinct MI300X OAM", "MI300X"),
    ],
)
def test_a_model_is_found_by_its_names(text: str, name: str) -> None:
    found = gpu_model(text)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("text", [None, "", "gpu", "tesla", "kepler", "(null)", "1g.10gb"])
def test_an_unknown_model_is_none(text: str | None) -> None:
    assert gpu_model(text) is None


def test_the_first_known_name_counts() -> None:
    found = gpu_model(None, "gpu", "a30")
    assert found is not None
    assert found.name == "A30"


def test_facts_are_sane_for_every_name() -> None:
    for text in ("h100", "a100", "a30", "a40", "l40s", "v100", "t4", "p100", "mi300x", "b200"):
        model = gpu_model(text)
        assert model is not None
        assert 0 < model.idle_watts * 1.25 < model.maximum_watts
        assert model.pcie_bytes_per_second > 1e10


@pytest.mark.parametrize(("profile", "slices"), [("1g.5gb", 7), ("1g.6gb", 4), ("1g.24gb", None), ("9g.1gb", None)])
def test_a_profile_gives_the_slices_where_all_models_agree(profile: str, slices: int | None) -> None:
    assert slices_of_profile(profile) == slices
