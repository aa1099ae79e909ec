"""The functions for asyncio."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

import instep
from instep import aio

from .conftest import Source
from .test_documents import resources


def test_the_module_needs_no_import_of_its_own() -> None:
    program = "import sys, instep; assert 'asyncio' not in sys.modules; instep.aio.read; instep.nothing"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.stderr.strip().endswith("AttributeError: module 'instep' has no attribute 'nothing'"), ended.stderr


def test_a_source_is_read_and_copied_without_blocking_the_loop(source: Source, tmp_path: pathlib.Path) -> None:
    source.fill(4)

    async def main() -> None:
        published = await aio.publish(source.folder, source.url)
        assert published.created == 4
        events: list[str] = []
        tree, report = await asyncio.gather(
            aio.explore(source.url),
            aio.sync(source.url, tmp_path / "copy", progress=lambda event: events.append(event["type"])),
        )
        assert report.in_step and events.count("item") == 4
        listed = tree.find("resourcelist")
        assert listed is not None
        async with await aio.read(listed.uri) as reader:
            assert len([entry async for entry in reader]) == 4
        assert (await aio.validate(listed.uri)).is_valid
        assert isinstance(await aio.load(listed.uri), instep.ResourceList)
        assert (await aio.audit(source.url, tmp_path / "copy")).is_same

    asyncio.run(main())


def test_o918_a_package_is_checked_without_blocking_the_loop(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "package.zip"
    entry = instep.Entry("http://example.com/a", path="/a", length=5)
    manifest = instep.ResourceDumpManifest([entry], at="2013-01-03T09:00:00Z", up="http://example.com/caps.xml")
    with instep.PackageWriter(path, manifest) as writer:
        writer.add("/a", b"hello")
    reports = asyncio.run(aio.validate_package(path, expected="resourcedump"))
    assert [report is not None and report.is_valid for report in reports] == [True, True]
    with pytest.raises(TypeError):
        asyncio.run(aio.validate(path, stric=True))  # type: ignore[call-arg]


@pytest.mark.skipif(os.name != "posix", reason="the program is a shell script")
def test_o919_long_runs_leave_the_threads_of_the_loop_to_others(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, slow = tmp_path / "pipe", tmp_path / "instep"
    os.mkfifo(pipe)
    slow.write_text(f"#!/bin/sh\nexec cat '{pipe}'\n")
    slow.chmod(0o755)
    monkeypatch.setenv("INSTEP_PROGRAM", str(slow))
    names = ("capability", "entries", "bytes", "at", "completed", "from", "until", "problem")
    tree: dict[str, Any] = {**dict.fromkeys(names), "type": "tree", "uri": "http://example.com/", "index": False, "children": []}

    async def read_meanwhile() -> None:
        # The run has begun when the first one has ended.
        for _ in range(2):
            await asyncio.wait_for(aio.load(resources(1).to_xml().encode()), 60)
        pipe.write_text(json.dumps(tree) + "\n")

    async def main() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(max_workers=1))
        explored, _ = await asyncio.gather(aio.explore("http://example.com/"), read_meanwhile())
        assert explored.uri == "http://example.com/"

    asyncio.run(main())


def test_cancelling_a_task_ends_the_program_in_order(source: Source, tmp_path: pathlib.Path) -> None:
    source.fill(4)
    source.publish()

    async def main() -> None:
        begun = asyncio.Event()

        def report(event: instep.Event) -> None:
            if event["type"] == "round":
                begun.set()

        task = asyncio.create_task(aio.sync(source.url, tmp_path / "copy", follow=True, progress=report))
        await asyncio.wait_for(begun.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert instep.sync(source.url, tmp_path / "copy").in_step


def test_an_exception_of_the_callback_reaches_the_awaiter(source: Source, tmp_path: pathlib.Path) -> None:
    source.fill(4)
    source.publish()

    def refuse(event: instep.Event) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        asyncio.run(aio.sync(source.url, tmp_path / "copy", progress=refuse))


def test_o491_a_run_whose_events_nobody_takes_waits() -> None:
    command: Any = SimpleNamespace(run=SimpleNamespace(stop=lambda: None))
    count = 4 * aio._MOST_WAITING
    ended = threading.Event()
    numbers: list[int] = []

    def finish(observe: Any) -> str:
        for number in range(count):
            observe({"type": "item", "number": number})
        ended.set()
        return "done"

    def take(event: instep.Event) -> None:
        # The loop does nothing else meanwhile, so that the thread has to wait for it.
        assert numbers or not ended.wait(0.5)
        numbers.append(event["number"])

    assert asyncio.run(aio._finished(command, finish, take)) == "done"
    assert numbers == list(range(count))


class Halting:
    """A document whose entries arrive up to the tenth, and then wait."""

    def __init__(self) -> None:
        self.goes_on = threading.Event()
        self._text = resources(1_000).to_xml().encode()
        self._given = self._text.index(b"http://example.com/res10<")

    def read(self, size: int, /) -> bytes:
        if self._given:
            piece, self._text, self._given = self._text[: self._given], self._text[self._given :], 0
            return piece
        assert self.goes_on.wait(60)
        piece, self._text = self._text[:size], self._text[size:]
        return piece


def test_o566_entries_that_a_cancelled_task_waited_for_go_to_the_next_one() -> None:
    async def main() -> list[str]:
        document = Halting()
        reader = await aio.read(document)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(reader.__anext__(), 0.2)
        document.goes_on.set()
        return [entry.loc async for entry in reader]

    assert asyncio.run(main()) == [entry.loc for entry in resources(1_000)]


def test_o566_a_cancelled_task_lets_go_of_a_reader_that_is_reading() -> None:
    async def main() -> None:
        document = Halting()

        async def read() -> None:
            async with await aio.read(document) as reader:
                async for _ in reader:
                    pass

        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(read(), 0.2)
        document.goes_on.set()

    asyncio.run(main())
