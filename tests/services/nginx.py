"""A real nginx on a loopback port, with the file of deploy/nginx in it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import service_missing
from tests.services.ports import is_listening

SHIPPED = Path(__file__).resolve().parents[2] / "deploy" / "nginx" / "fullwarp.conf"
OAUTH2_PROXY = "http://127.0.0.1:4180"
_FRAME = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    include {folder}/site.conf;
}}
"""
_LOGIN = """
auth_basic "site"; auth_basic_user_file {folder}/people;
set $fullwarp_user $remote_user;
set $fullwarp_groups "";
"""


@contextmanager
def nginx(
    folder: Path,
    port: int,
    prefix: str,
    upstreams: Sequence[str],
    people: Sequence[str],
    secret: str = "",
    oauth2_proxy: str = "",
) -> Iterator[None]:
    """Serve `prefix` from the `upstreams` (unix:PATH or host:port) to `people` whose passwords are their names, or to
    whom the oauth2-proxy at this address lets in."""
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if program is None:
        service_missing("nginx is not installed (apt-get install nginx-light)")
    folder.chmod(0o755)
    if secret:
        (folder / "fullwarp-secret.conf").write_text(f'proxy_set_header X-Fullwarp-Secret "{secret}";\n')
    _write_login(folder, oauth2_proxy)
    (folder / "people").write_text("".join(f"{name}:{{PLAIN}}{name}\n" for name in people))
    (folder / "site.conf").write_text(site_of(folder, port, prefix, upstreams))
    (folder / "nginx.conf").write_text(_FRAME.format(folder=folder))
    with (folder / "out").open("wb") as out:
        process = subprocess.Popen(
            [program, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "user root;"], stdout=out, stderr=out
        )
    try:
        assert is_listening(port, process), (folder / "out").read_text() + (folder / "error.log").read_text()
        yield
    finally:
        process.terminate()
        process.wait(10)


def _write_login(folder: Path, oauth2_proxy: str) -> None:
    if not oauth2_proxy:
        (folder / "login.conf").write_text(_LOGIN.format(folder=folder))
        return
    (folder / "login.conf").write_text(SHIPPED.with_name("oauth2-proxy-login.conf").read_text())
    beside = SHIPPED.with_name("oauth2-proxy-server.conf").read_text()
    assert beside.count(OAUTH2_PROXY) == 3
    (folder / "login-server.conf").write_text(beside.replace(OAUTH2_PROXY, oauth2_proxy))


def site_of(folder: Path, port: int, prefix: str, upstreams: Sequence[str]) -> str:
    """The shipped file, with this machine's names in it."""
    text = SHIPPED.read_text(encoding="utf-8")
    places = "\n".join(f"server {one} max_fails=0;" for one in upstreams)
    for pattern, wanted in (
        (r"server unix:/run/fullwarp/fullwarp\.sock max_fails=0;", places),
        (r"listen 443 ssl;", f"listen 127.0.0.1:{port};"),
        (r"ssl_certificate\S* \S+;", ""),
        (r"/etc/nginx/fullwarp-login\.conf", f"{folder}/login.conf"),
        (r"/etc/nginx/fullwarp-login-server\*\.conf", f"{folder}/login-server*.conf"),
        (r"/etc/nginx/fullwarp-secret", f"{folder}/fullwarp-secret"),
        (r"/fullwarp/", prefix),
        (r"rate=50r/s", "rate=5000r/s"),
    ):
        text, found = re.subn(pattern, lambda _, wanted=wanted: wanted, text)
        assert found, f"{SHIPPED.name} has no {pattern}"
    return text
