"""A real Apache with mod_auth_openidc on a loopback port, with the file of deploy/apache in it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import service_missing
from tests.services.ports import is_listening

SHIPPED = Path(__file__).resolve().parents[2] / "deploy" / "apache" / "fullwarp.conf"
MODULES = "mpm_event authn_core authz_core authz_user proxy proxy_http headers auth_openidc"
_FOLDER = Path("/usr/lib/apache2/modules")
_FRAME = """
ServerRoot {folder}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {folder}/httpd.pid
ErrorLog {folder}/apache.log
DefaultRuntimeDir {folder}
Mutex file:{folder}
{modules}
{site}
"""
_SECRETS = """
Define fullwarp_secret "{secret}"
Define fullwarp_client_secret "client-secret"
Define fullwarp_passphrase "passphrase-of-the-module"
"""


@contextmanager
def apache(folder: Path, port: int, prefix: str, bind: str, login: str, secret: str, claim: str = "") -> Iterator[None]:
    """Serve `prefix` from `bind` (unix:PATH or host:port) to people who sign in at the provider `login`. `claim` takes
    the place of the one that names the user."""
    if not Path("/usr/sbin/apache2").exists() or not (_FOLDER / "mod_auth_openidc.so").exists():
        service_missing("apache2 or mod_auth_openidc is not installed (apt-get install libapache2-mod-auth-openidc)")
    folder.chmod(0o755)
    (folder / "secrets.conf").write_text(_SECRETS.format(secret=secret))
    modules = "\n".join(f"LoadModule {name}_module {_FOLDER}/mod_{name}.so" for name in MODULES.split())
    site = site_of(folder, port, prefix, bind, login, claim)
    (folder / "httpd.conf").write_text(_FRAME.format(folder=folder, port=port, modules=modules, site=site))
    process = subprocess.Popen(["/usr/sbin/apache2", "-f", folder / "httpd.conf", "-DFOREGROUND"])
    try:
        assert is_listening(port, process), f"apache did not start: {(folder / 'apache.log').read_text()}"
        yield
    finally:
        process.terminate()
        process.wait(15)


def site_of(folder: Path, port: int, prefix: str, bind: str, login: str, claim: str = "") -> str:
    """The shipped file, with this machine's names in it."""
    text = SHIPPED.read_text(encoding="utf-8")
    place = f"{bind}|http://fullwarp" if bind.startswith("unix:") else f"http://{bind}"
    for pattern, wanted in (
        (r'(?<=Define fullwarp_server )".*"', f'"{place}"'),
        (r"/etc/apache2/fullwarp-secrets\.conf", f"{folder}/secrets.conf"),
        (r"\*:443", f"127.0.0.1:{port}"),
        (r"(?m)^ *SSL.*\n", ""),
        (r"https://login\.example\.org", login),
        (r"https://portal\.example\.org", f"http://127.0.0.1:{port}"),
        (r"(?<=OIDCRemoteUserClaim )preferred_username", claim or "preferred_username"),
        (r"/fullwarp/", prefix),
    ):
        text, found = re.subn(pattern, lambda _, wanted=wanted: wanted, text)  # type: ignore[misc]
        assert found, f"{SHIPPED.name} has no {pattern}"
    return text
