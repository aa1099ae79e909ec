"""Compares ``instep`` with the reference library ``resync``: CPU time of reading and writing a Resource List.

Run it in an environment that has both: ``python bench.py [ENTRIES]``. Each job is run five times, and the least time
counts, since other programs only ever make a run slower.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import tempfile
import time
from typing import Any, Callable

import instep

logging.disable(logging.WARNING)
UP, AT = "http://example.com/capabilitylist.xml", "2013-01-03T09:00:00Z"


def entry(number: int) -> dict[str, Any]:
    """Return the values of an entry."""
    return {
        "uri": f"http://example.com/collection/{number % 100:02}/resource-{number:07}.html",
        "lastmod": "2013-01-02T13:00:00Z",
        "md5": f"{number:032x}",
        "length": 8876 + number,
        "type": "text/html",
    }


def least(job: Callable[[], Any]) -> float:
    """Return the least CPU time of five runs, in seconds."""
    times = []
    for _ in range(5):
        begun = time.process_time()
        job()
        times.append(time.process_time() - begun)
    return min(times)


def instep_write(values: list[dict[str, Any]], path: str) -> None:
    """Build the list of its values, and write it."""
    resources = instep.ResourceList(at=AT, up=UP)
    for value in values:
        md5 = f"md5:{value['md5']}"
        resources.append(
            instep.Entry(value["uri"], lastmod=value["lastmod"], hash=md5, length=value["length"], type=value["type"])
        )
    resources.write(path)


def instep_read(path: str) -> int:
    """Read URI and length of each entry."""
    return sum(entry.length or 0 for entry in instep.read(path) if entry.loc)


def resync_write(values: list[dict[str, Any]], path: str) -> None:
    """Build the list of its values, and write it."""
    from resync import Resource, ResourceList  # type: ignore[import-not-found]
    from resync.resource_list import ResourceListOrdered  # type: ignore[import-not-found]

    resources = ResourceList(resources_class=ResourceListOrdered)
    resources.md_at, resources.up = AT, UP
    for value in values:
        resources.add(
            Resource(
                uri=value["uri"],
                lastmod=value["lastmod"],
                md5=value["md5"],
                length=value["length"],
                mime_type=value["type"],
            )
        )
    resources.write(path)


def resync_read(path: str) -> int:
    """Read URI and length of each entry."""
    from resync import ResourceList
    from resync.resource_list import ResourceListOrdered

    resources = ResourceList(resources_class=ResourceListOrdered)
    resources.read(path)
    return sum(resource.length or 0 for resource in resources if resource.uri)


def main() -> None:
    """Measure each job with both libraries, and print the ratios."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    values = [entry(number) for number in range(count)]
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = os.path.join(folder, "ours.xml"), os.path.join(folder, "theirs.xml")
        jobs = {
            "write": (lambda: instep_write(values, ours), lambda: resync_write(values, theirs)),
            "read": (lambda: instep_read(ours), lambda: resync_read(ours)),
        }
        for name, (job, peer) in jobs.items():
            mine, other = least(job), least(peer)
            out.write(f"{name:6} {count} entries: instep {mine:.3f} s, resync {other:.3f} s, {other / mine:.1f} times\n")
        assert instep_read(ours) == resync_read(theirs)
    sys.stdout.write(out.getvalue())


if __name__ == "__main__":
    main()
