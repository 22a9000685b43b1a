"""People who come once, and addresses that nobody asks twice: what a worker keeps of them.

By hand, with other numbers: python -m bench.strangers VIEWERS ADDRESSES
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

import orjson

from bench.load import fill
from bench.memory import Memory
from bench.server import CALLBACK, Report, ask, serving
from tests.services.viewers import first_data

AT_ONCE = 8
Visit = tuple[str, str, str]
"""User, path and query."""


def strangers(viewers: int = 5000, addresses: int = 1000) -> Report:
    """Memory while many viewers open one page each, and one member of staff as many moments and filters."""
    with serving() as port:
        asyncio.run(fill(port))
        return {
            "viewers": asyncio.run(_visited(port, ((f"once{n}", "/", "") for n in range(viewers)))),
            "addresses": asyncio.run(_visited(port, islice(_addresses(), addresses))),
        }


def _addresses() -> Iterator[Visit]:
    """In turn a past moment, and a filter that no other has."""
    begin, number = datetime.now(UTC).replace(microsecond=0) - timedelta(days=2), 0
    while True:
        moment = begin + timedelta(seconds=17 * number)
        yield "staff0", "/", f"?at={moment:%Y-%m-%dT%H:%M:%SZ}"
        yield "staff0", "/jobs", f"?user=nobody{number}"
        number += 1


async def _visited(port: int, visits: Iterable[Visit]) -> Report:
    memory, statuses, left = Memory(), Counter[int](), iter(visits)

    async def visit() -> None:
        for user, path, query in left:
            body = first_data(path)
            body["inputs"][1]["value"] = query
            status, _ = await ask(port, "POST", CALLBACK, body, user=user)
            statuses[status] += 1

    watching = asyncio.create_task(memory.watch(port, float("inf")))
    begun = time.perf_counter()
    await asyncio.gather(*(visit() for _ in range(AT_ONCE)))
    watching.cancel()
    await memory.look(port)
    return {
        "seconds": round(time.perf_counter() - begun, 1),
        "statuses": {str(status): count for status, count in statuses.items()},
        "workers": memory.report,
    }


if __name__ == "__main__":
    found = strangers(*map(int, sys.argv[1:]))
    sys.stdout.write(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode() + "\n")
