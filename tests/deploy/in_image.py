"""Runs within namespaces of its own (unshare --mount --net --fork) as a container would: everything read-only but one
tmpfs at /tmp, an unprivileged user, no capability. Starts the entry point, asks it, and prints what it saw as JSON."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

UID = 10001
LIBC = ctypes.CDLL(None, use_errno=True)
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE, MS_MOVE = 1, 32, 4096, 16384, 1 << 18, 8192
PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP = 38, 24


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, options: str = "") -> None:
    found = LIBC.mount(source.encode(), target.encode(), kind.encode() if kind else None, flags, options.encode())
    if found:
        raise OSError(ctypes.get_errno(), f"mount {target}: {os.strerror(ctypes.get_errno())}")


def closed_to_others(place: Path) -> Path | None:
    """The outermost folder on the way that nobody else may enter, such as a home; None where all are open."""
    above = reversed(place.parents)
    return next((folder for folder in above if not folder.stat().st_mode & stat.S_IXOTH), None)


def read_only(python: str, tree: str) -> None:
    """The tree and the interpreter stay; the rest is read-only, and /tmp is new."""
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    kept = "/mnt"
    mount("tmpfs", kept, "tmpfs")
    for name, place in (("tree", tree), ("python", python)):
        Path(kept, name).mkdir()
        mount(place, f"{kept}/{name}", flags=MS_BIND)
    if (closed := closed_to_others(Path(python))) is not None:
        mount("tmpfs", str(closed), "tmpfs", options="mode=755")
        Path(python).mkdir(parents=True)
        mount(f"{kept}/python", python, flags=MS_BIND)
    mount("tmpfs", "/tmp", "tmpfs", options="mode=1777,size=64m")
    Path(tree).mkdir()
    mount(f"{kept}/tree", tree, flags=MS_BIND)
    for place in ("/", tree, python, "/dev/shm", "/mnt"):
        mount("none", place, flags=MS_REMOUNT | MS_BIND | MS_RDONLY)


def loopback_up() -> None:
    with socket.socket() as one:
        fcntl.ioctl(one, 0x8914, struct.pack("16sH14s", b"lo", 1, b""))


def become_nobody() -> None:
    os.setgroups([])
    for capability in range(41):
        LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    os.setgid(UID)
    os.setuid(UID)


def main(asked: dict[str, object]) -> dict[str, object]:
    read_only(str(asked["python"]), str(asked["tree"]))
    loopback_up()
    environment = {str(name): str(value) for name, value in asked["environment"].items()}  # type: ignore[attr-defined]
    common = {"env": environment, "cwd": "/tmp", "preexec_fn": become_nobody}
    server = subprocess.Popen(list(asked["command"]), stderr=subprocess.PIPE, text=True, **common)  # type: ignore
    assert server.stderr is not None
    first = server.stderr.readline()
    if "Fullwarp is at" not in first:
        server.kill()
        return {"failed": first + server.stderr.read()[-3000:]}
    health = subprocess.run(list(asked["health"]), **common, check=False)  # type: ignore
    page = urllib.request.Request("http://127.0.0.1:8050/fullwarp/", headers=dict(asked["headers"]))  # type: ignore
    with urllib.request.urlopen(page, timeout=20) as answer:
        seen = answer.status, answer.read().decode()
    status = Path(f"/proc/{server.pid}/status").read_text()
    written = [str(path) for path in Path("/tmp").rglob("*") if path.is_file() and str(asked["tree"]) not in str(path)]
    server.send_signal(signal.SIGTERM)
    server.wait(30)
    return {
        "health": health.returncode,
        "page": seen[0],
        "is_overview": "Overview" in seen[1],
        "uids": status.split("Uid:")[1].split("\n")[0].split(),
        "capabilities": status.split("CapEff:")[1].split()[0],
        "written": written,
        "ended": server.returncode,
        "elsewhere": [place for place in ("/", "/dev/shm", str(asked["tree"])) if os.access(place, os.W_OK)],
        "at": time.time(),
    }


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
