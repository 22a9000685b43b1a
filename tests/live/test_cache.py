"""Where processes share the picture: safe folders, raw bytes, and a lock that frees itself."""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from data.cache import Cache, FileCache, MemoryCache
from data.codec import Codec
from data.errors import SettingsError
from data.filelock import try_file_lock
from data.model import Device, Gpu, GpuState
from data.private import default_folder
from data.shared_redis import SharedRedis
from tests.services.ports import free_port


@pytest.fixture(params=["memory", "files", "redis"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Cache:
    if request.param == "memory":
        return MemoryCache()
    if request.param == "files":
        return FileCache(tmp_path / "cache")
    return SharedRedis(request.getfixturevalue("redis_url"))


def test_bytes_come_back_as_they_went_in(cache):
    assert cache.get("absent") is None
    for value in (b"one", bytes(range(256)) * 4096, b""):
        cache.set("key", value)
        assert cache.get("key") == value
    assert cache.fault is None


def test_one_of_many_gets_the_lock_and_the_next_after_its_release(cache):
    with ThreadPoolExecutor(16) as pool:
        got = [release for release in pool.map(lambda _: cache.try_lock("refresh", 30.0), range(16)) if release]
    assert len(got) == 1
    got[0]()
    again = cache.try_lock("refresh", 30.0)
    assert again is not None
    again()


def test_a_lock_that_is_held_too_long_goes_to_the_next_and_its_late_release_hurts_nobody(cache):
    late = cache.try_lock("slow", 0.2)
    time.sleep(0.3)
    second = cache.try_lock("slow", 30.0 if not isinstance(cache, FileCache | MemoryCache) else 0.2)
    assert late is not None and second is not None
    late()
    assert cache.try_lock("slow", 30.0) is None
    second()


def test_a_process_that_is_killed_frees_its_file_lock_at_once(tmp_path):
    path = tmp_path / "refresh.lock"
    code = (
        "import sys, time; from pathlib import Path; from data.filelock import try_file_lock;"
        "kept = try_file_lock(Path(sys.argv[1]), 60.0); print(kept is not None, flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    assert holder.stdout is not None and holder.stdout.readline().strip() == "True"
    assert try_file_lock(path, 60.0) is None
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait(10)
    assert try_file_lock(path, 60.0) is not None


def test_a_lock_file_with_nonsense_in_it_can_be_taken(tmp_path):
    path = tmp_path / "refresh.lock"
    path.write_text("nonsense")
    release = try_file_lock(path, 60.0)
    assert release is not None
    assert try_file_lock(path, 60.0) is None


def test_a_link_in_place_of_a_lock_is_not_followed(tmp_path):
    (tmp_path / "target").write_text("keep")
    (tmp_path / "refresh.lock").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic links"):
        try_file_lock(tmp_path / "refresh.lock", 1.0)
    assert (tmp_path / "target").read_text() == "keep"


def test_the_folder_is_made_for_us_alone(tmp_path):
    FileCache(tmp_path / "a" / "b").set("key", b"value")
    folder = tmp_path / "a" / "b"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701, 0o777])
def test_a_folder_that_others_can_enter_is_refused(tmp_path, mode):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(SettingsError, match="this user alone"):
        FileCache(folder)


def test_a_folder_of_another_a_link_and_a_file_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for path in (tmp_path / "file", tmp_path / "link"):
        with pytest.raises(SettingsError):
            FileCache(path)
    if os.geteuid() == 0:
        foreign = tmp_path / "foreign"
        foreign.mkdir(mode=0o700)
        os.chown(foreign, 12345, 12345)
        with pytest.raises(SettingsError):
            FileCache(foreign)


def test_the_default_folder_needs_a_home():
    assert default_folder({"HOME": "/home/a"}) == Path("/home/a/.cache/fullwarp")
    assert default_folder({"HOME": "/home/a", "XDG_CACHE_HOME": "/x"}) == Path("/x/fullwarp")
    with pytest.raises(SettingsError):
        default_folder({"XDG_CACHE_HOME": "relative"})


def test_a_folder_that_vanishes_is_a_fault_and_no_crash(tmp_path):
    cache = FileCache(tmp_path / "cache")
    shutil.rmtree(tmp_path / "cache")
    cache.set("key", b"value")
    assert cache.get("key") is None
    assert cache.fault is not None
    release = cache.try_lock("refresh", 1.0)
    assert release is not None
    release()


def test_a_redis_that_does_not_answer_leaves_each_process_to_itself():
    port = free_port()
    cache = SharedRedis(f"redis://127.0.0.1:{port}/0", timeout_seconds=0.3)
    cache.set("key", b"value")
    assert cache.get("key") == b"value"
    assert cache.fault is not None and "Redis" in cache.fault
    release = cache.try_lock("refresh", 5.0)
    assert release is not None
    assert cache.try_lock("refresh", 5.0) is None
    release()


CODEC = Codec((Device, Gpu), (GpuState,))


def test_values_survive_the_codec():
    gpu = Gpu(Device("n", 0, "gpu-1"), "h100", GpuState.BUSY, (1,), {"power_watts": 1.5})
    assert CODEC.decode(CODEC.encode((gpu, None, float("inf")))) == (gpu, None, float("inf"))


class Evil:
    def __reduce__(self):
        return (os.mkdir, (os.environ["EVIL_FOLDER"],))


def test_foreign_bytes_run_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("EVIL_FOLDER", str(tmp_path / "evil"))
    assert CODEC.decode(CODEC.fingerprint + pickle.dumps(Evil())) is None
    assert CODEC.decode(pickle.dumps(Evil())) is None
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("cut", [0, 5, 31, 33, 60, -1])
def test_cut_bytes_are_no_value(cut):
    data = CODEC.encode(Gpu(Device("n"), None, GpuState.FREE))
    assert CODEC.decode(data[:cut]) is None


def test_bytes_of_another_version_are_no_value():
    assert Codec((Device,), ()).decode(CODEC.encode(Device("n"))) is None
