"""The files of deploy/ are what their programs take, and say of Fullwarp what is so."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from data.simulation.world import CLUSTER
from settings import Settings
from tests.cli.test_serving import OverSocket, ask
from tests.conftest import service_missing
from tests.services.nginx import site_of

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())
MANIFESTS = list(yaml.safe_load_all((DEPLOY / "kubernetes" / "fullwarp.yaml").read_text()))
FULLWARP = str(Path(sys.executable).with_name("fullwarp"))
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def program(name: str) -> str:
    found = shutil.which(name) or shutil.which(f"/usr/sbin/{name}")
    return found or service_missing(f"{name} is not installed")


def manifest(kind: str) -> Any:
    (found,) = (one for one in MANIFESTS if one["kind"] == kind)
    return found


def toml_settings(text: str) -> Settings:
    return Settings(**tomllib.loads(text))


def test_the_compose_files_settings_are_settings() -> None:
    found = toml_settings((DEPLOY / "compose" / "fullwarp.toml").read_text())
    assert (found.slurm.kind, found.metrics.kind, found.identity.kind) == ("simulated", "prometheus", "header")
    assert found.metrics.url == "http://prometheus:9090" and found.identity.secret_file is not None
    assert found.cluster == CLUSTER


def test_the_compose_file_names_only_what_it_has() -> None:
    services, folder = COMPOSE["services"], DEPLOY / "compose"
    assert set(services) == {"prometheus", "exporters", "fullwarp", "nginx"}
    made_by_hand = {"./people", "./proxy-secret"}
    for name, one in services.items():
        assert set(one.get("depends_on", [])) <= set(services), name
        assert ("image" in one) != ("build" in one), name
        for volume in one.get("volumes", []):
            source = volume.split(":")[0]
            known = source in COMPOSE["volumes"] or source in made_by_hand or (folder / source).exists()
            assert known, f"{name}: {source}"
        for port in one.get("ports", []):
            assert port.startswith("127.0.0.1:")
    images = [one["image"] for one in services.values() if "image" in one]
    assert [image for image in images if image.endswith(":latest") or ":" not in image] == []


@pytest.mark.parametrize("name", ["exporters", "fullwarp"])
def test_our_containers_may_nothing_that_they_do_not_need(name: str) -> None:
    one = COMPOSE["services"][name]
    assert (one["read_only"], one["cap_drop"], one["tmpfs"]) == (True, ["ALL"], ["/tmp"])
    assert "no-new-privileges:true" in one["security_opt"] and "privileged" not in one
    assert (DEPLOY / "compose" / one["build"] / "Dockerfile").is_file()


def test_the_simulated_exporters_command_is_one() -> None:
    (script,) = COMPOSE["services"]["exporters"]["command"]
    assert COMPOSE["services"]["exporters"]["init"]  # a shell that is process 1 ends by no signal
    subprocess.run(["sh", "-n"], input=script.replace("$$", "$"), text=True, check=True)
    words = re.search(r"fullwarp (demo-series .*?) &&", script)
    assert words is not None
    options = set(re.findall(r"--[\w-]+", words[1]))
    shown = subprocess.run([FULLWARP, "demo-series", "--help"], capture_output=True, text=True, check=True).stdout
    assert {option for option in options if option not in shown} == set()


def test_prometheus_takes_its_files(tmp_path: Path) -> None:
    text = (DEPLOY / "compose" / "prometheus.yml").read_text()
    rules = DEPLOY / "prometheus" / "fullwarp.rules.yml"
    (tmp_path / "prometheus.yml").write_text(text.replace("/etc/prometheus/fullwarp.rules.yml", str(rules)))
    command = [program("promtool"), "check", "config", str(tmp_path / "prometheus.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_compose_files_nginx_takes_its_file_and_asks_again_where_fullwarp_is(tmp_path: Path) -> None:
    """A container that is started again has another address."""
    *_, script = COMPOSE["services"]["nginx"]["command"]
    (tmp_path / "resolv.conf").write_text("search x.example\nnameserver 192.0.2.1\nnameserver 192.0.2.2\n")
    (tmp_path / "proxy-secret").write_text("0123\n")
    (tmp_path / "people").write_text("admin:{PLAIN}x\n")
    (tmp_path / "nginx.conf").write_text(_moved((DEPLOY / "compose" / "nginx.conf").read_text(), tmp_path))
    checked = f"{program('nginx')} -t -q -p {tmp_path} -c {tmp_path}/nginx.conf -e stderr"
    script = _moved(script.replace("$$", "$"), tmp_path).replace("exec nginx -g 'daemon off;'", checked)
    assert checked in script
    done = subprocess.run(["sh", "-euc", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    made = (tmp_path / "made.conf").read_text()
    assert re.search(r"^resolver 192\.0\.2\.1 valid=\d+s", made) and 'X-Fullwarp-Secret "0123";' in made
    assert "proxy_pass $server;" in (tmp_path / "nginx.conf").read_text()


def _moved(text: str, folder: Path) -> str:
    """The text with every file of the container in this folder."""
    return re.sub(r"/(?:etc/nginx|etc|run|tmp)/(?=\w)", f"{folder}/", text)


def test_nginx_takes_the_passwords_of_the_how_to(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "how-to" / "run-behind-a-proxy.md").read_text()
    (passwords,) = re.findall(r"```nginx\n(.*?)```", text, re.S)
    (tmp_path / "login.conf").write_text(passwords)
    (tmp_path / "site.conf").write_text(site_of(tmp_path, 1, "/fullwarp/", [f"unix:{tmp_path}/fullwarp.sock"]))
    frame = f"pid {tmp_path}/nginx.pid; events {{}} http {{ include {tmp_path}/site.conf; access_log off; }}"
    (tmp_path / "nginx.conf").write_text(frame)
    command = [program("nginx"), "-t", "-q", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"), "-e", "stderr"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_pods_settings_are_settings() -> None:
    found = Settings(**tomllib.loads(manifest("ConfigMap")["data"]["fullwarp.toml"]))
    assert found.serve.bind.endswith(f":{pod_container()['ports'][0]['containerPort']}")
    assert found.cache.kind == "redis" and found.state.is_set


def test_each_secret_of_the_pods_settings_is_a_file_of_their_secret() -> None:
    text = manifest("ConfigMap")["data"]["fullwarp.toml"]
    named = set(re.findall(r'_file = "/etc/fullwarp-secrets/([^"]+)"', text))
    told = set(re.findall(r"--from-file=(\S+)", (DEPLOY / "kubernetes" / "fullwarp.yaml").read_text()))
    assert named == told == {"proxy-secret", "slurm-token", "state-url", "redis-url"}


def pod() -> Any:
    return manifest("Deployment")["spec"]["template"]["spec"]


def pod_container() -> Any:
    (found,) = pod()["containers"]
    return found


def test_a_pod_is_nobody_and_writes_nothing_but_its_scratch() -> None:
    user = re.search(r"^USER (\d+)", (ROOT / "Dockerfile").read_text(), re.M)
    assert user is not None and pod()["securityContext"]["runAsUser"] == int(user[1])
    assert pod()["securityContext"]["runAsNonRoot"] and not pod()["automountServiceAccountToken"]
    own = pod_container()["securityContext"]
    assert own["readOnlyRootFilesystem"] and not own["allowPrivilegeEscalation"]
    assert own["capabilities"] == {"drop": ["ALL"]}
    volumes = {one["name"] for one in pod()["volumes"]}
    mounts = pod_container()["volumeMounts"]
    assert {one["name"] for one in mounts} == volumes
    assert [one["mountPath"] for one in mounts if not one.get("readOnly")] == ["/tmp"]


def test_a_pod_goes_only_when_another_is_there() -> None:
    spec = manifest("Deployment")["spec"]
    assert spec["replicas"] >= 2 and spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    probes = {name: pod_container()[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "readiness", "liveness")}
    assert probes == {"startup": "/healthz", "readiness": "/readyz", "liveness": "/healthz"}
    assert pod()["terminationGracePeriodSeconds"] > 20 + 5
    assert manifest("PodDisruptionBudget")["spec"]["minAvailable"] >= 1


def test_every_part_of_the_manifest_means_the_same_pods() -> None:
    labels = manifest("Deployment")["spec"]["template"]["metadata"]["labels"]
    selectors = (
        manifest("Deployment")["spec"]["selector"]["matchLabels"],
        manifest("Service")["spec"]["selector"],
        manifest("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        manifest("NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
    )
    assert all(one == labels for one in selectors)
    assert {one["metadata"]["namespace"] for one in MANIFESTS} == {"fullwarp"}
    assert not [one for one in MANIFESTS if one["kind"] == "Secret"]


def test_the_upgrade_of_tables_runs_as_a_pod_does_and_is_no_pod_of_the_service() -> None:
    job = yaml.safe_load((DEPLOY / "kubernetes" / "state-upgrade.yaml").read_text())
    upgrade = job["spec"]["template"]
    assert upgrade["metadata"]["labels"] != manifest("Deployment")["spec"]["template"]["metadata"]["labels"]
    (own,) = upgrade["spec"]["containers"]
    for name in ("image", "securityContext", "volumeMounts"):
        assert own[name] == pod_container()[name], name
    for name in ("securityContext", "automountServiceAccountToken"):
        assert upgrade["spec"][name] == pod()[name], name
    shown = subprocess.run([FULLWARP, *own["args"], "--help"], capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    for path in (DEPLOY / "systemd").iterdir():
        text = path.read_text().replace("/opt/fullwarp/bin/fullwarp", "/bin/true")
        (tmp_path / path.name).write_text(text)
    files = [str(tmp_path / path.name) for path in UNITS]
    command = [program("systemd-analyze"), "verify", "--man=no", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if "fullwarp" in line]
    assert ours == []


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_every_unit_runs_a_command_that_exists_and_is_confined(path: Path) -> None:
    text = path.read_text()
    for needed in ("NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet=\n", "PrivateTmp=yes"):
        assert needed in text, needed
    command = re.search(r"^ExecStart=/opt/fullwarp/bin/fullwarp --config \S+ (\w[\w-]*)", text, re.M)
    assert command is not None
    shown = subprocess.run([FULLWARP, "--help"], capture_output=True, text=True, check=True).stdout
    assert re.search(rf"^\s+{command[1]}\s", shown, re.M)


def test_what_a_killed_server_leaves_in_memory_is_removed_by_systemd() -> None:
    """Its workers' counts lie in /dev/shm, which PrivateTmp leaves as it is."""
    assert "\nRemoveIPC=yes\n" in (DEPLOY / "systemd" / "fullwarp.service").read_text()


def test_who_asks_while_the_service_restarts_waits_in_systemds_socket(tmp_path: Path) -> None:
    """The socket is open before the server is, and stays as it was when the server has ended."""
    place = tmp_path / "fullwarp.sock"
    (tmp_path / "serve.toml").write_text(
        f"[slurm]\nkind='simulated'\n[metrics]\nkind='simulated'\n[serve]\nbind='unix:{place}'\nsocket_mode='600'\n"
    )
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen(64)
        place.chmod(0o620)
        early = OverSocket(place)
        early.connect()
        script = f"LISTEN_PID=$$ exec {FULLWARP} --config {tmp_path}/serve.toml serve 3<&{listener.fileno()}"
        process = subprocess.Popen(
            ["bash", "-c", script],
            pass_fds=[listener.fileno()],
            env={**os.environ, "LISTEN_FDS": "1", "FULLWARP_CACHE__DIRECTORY": str(tmp_path / "cache")},
            stderr=subprocess.DEVNULL,
        )
        try:
            assert ask(early, X_Remote_User="alice")[0] == 200
        finally:
            process.terminate()
            assert process.wait(30) == 0
        assert place.is_socket() and place.stat().st_mode & 0o777 == 0o620
