"""Threads share the C library's memory."""

from __future__ import annotations

import subprocess
import sys

THREADS = """
import sys, threading
from terminal.arenas import few_arenas
if sys.argv[1] == "few":
    few_arenas()
gate = threading.Barrier(17)
def work():
    kept = bytearray(60_000)
    gate.wait()
    gate.wait()
threads = [threading.Thread(target=work) for _ in range(16)]
for one in threads: one.start()
gate.wait()
print(sum(line.split()[1] == "---p" and line.split()[4] == "0" for line in open("/proc/self/maps")))
gate.wait()
"""


def spare_maps(how: str) -> int:
    """Reserved pieces of memory: each arena has one, as each thread's stack has."""
    found = subprocess.run([sys.executable, "-c", THREADS, how], capture_output=True, text=True, check=True)
    return int(found.stdout)


def test_threads_share_two_pools() -> None:
    assert spare_maps("few") < spare_maps("many")
