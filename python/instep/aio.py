"""The functions of :mod:`instep` for ``asyncio``.

Documents are read and written in threads, so that the event loop continues. Cancelling a task that runs ``sync``,
``publish``, ``audit`` or ``explore`` ends the program cleanly: what arrived is kept, and the next run resumes.

>>> import asyncio, instep
>>> from instep import aio
>>> async def main():
...     xml = b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http://example.com/</loc></url></urlset>"
...     return [entry.loc async for entry in await aio.read(xml)]
>>> asyncio.run(main())
['http://example.com/']
"""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import suppress
from contextvars import copy_context
from types import TracebackType
from typing import IO, Any, Callable, Optional, TypeVar, Union

from . import _commands, _kinds, _reading
from ._commands import AuditReport, Folder, PublishReport, SyncReport, Tree
from ._documents import Document
from ._native import Entry, Finding, Header, Report
from ._native import Reader as BlockingReader
from ._program import Option, Progress
from ._sources import Readable

__all__ = ["Reader", "audit", "explore", "load", "publish", "read", "sync", "validate", "validate_package"]

R = TypeVar("R")

_MOST_WAITING = 1_000
"""The events that may wait for the event loop: a program whose events nobody takes waits with its output."""


class Reader:
    """An asynchronous iterator over the entries of a document, whose header is known from the start."""

    def __init__(self, reader: BlockingReader) -> None:
        self._reader = reader
        self._ready: list[Entry] = []
        #: The entries that a thread is reading. It has the reader meanwhile, also if nobody waits for it any more.
        self._reading: Optional[asyncio.Future[list[Entry]]] = None

    @property
    def header(self) -> Header:
        """The header."""
        return self._reader.header

    def take_findings(self) -> list[Finding]:
        """Return the findings since the last call."""
        return self._reader.take_findings()

    def close(self) -> None:
        """Let go of the source, at the end of a read that is under way."""
        self._ready.clear()
        reading, self._reading = self._reading, None
        if reading is None or reading.done():
            self._reader.close()
        else:
            reading.add_done_callback(self._close_after)

    def _close_after(self, reading: asyncio.Future[list[Entry]]) -> None:
        # An exception that nobody asks for would be logged.
        reading.exception()
        self._reader.close()

    async def __aenter__(self) -> Reader:
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __aiter__(self) -> Reader:
        return self

    async def __anext__(self) -> Entry:
        while not self._ready:
            if self._reading is None:
                self._reading = asyncio.get_running_loop().run_in_executor(None, self._reader.next_batch)
            reading = self._reading
            # Not awaited itself: a task that is cancelled leaves the entries to the next one that asks.
            await asyncio.wait([reading])
            if self._reading is reading:
                self._reading = None
                self._ready = reading.result()[::-1]
                if not self._ready:
                    raise StopAsyncIteration
        return self._ready.pop()


async def read(source: Readable, *, base: Optional[str] = None, timeout: float = 30.0) -> Reader:
    """Open a document as :func:`instep.read` does."""
    return Reader(await asyncio.to_thread(_reading.read, source, base=base, timeout=timeout))


async def load(source: Readable, *, base: Optional[str] = None, timeout: float = 30.0) -> Document:
    """Read a document as a whole, as :func:`instep.load` does."""
    return await asyncio.to_thread(_kinds.load, source, base=base, timeout=timeout)


async def validate(
    source: Readable,
    *,
    version: str = "1.1",
    strict: bool = False,
    base: Optional[str] = None,
    expected: Optional[str] = None,
    timeout: float = 30.0,
) -> Report:
    """Check a document as :func:`instep.validate` does."""
    return await asyncio.to_thread(
        _reading.validate, source, version=version, strict=strict, base=base, expected=expected, timeout=timeout
    )


async def validate_package(
    source: Union[str, "os.PathLike[str]", bytes, IO[bytes]],
    *,
    version: str = "1.1",
    strict: bool = False,
    expected: Optional[str] = None,
) -> tuple[Report, Optional[Report]]:
    """Check a package as :func:`instep.validate_package` does."""
    return await asyncio.to_thread(
        _reading.validate_package, source, version=version, strict=strict, expected=expected
    )


async def sync(
    url: str, folder: Optional[Folder] = None, *, progress: Optional[Progress] = None, **options: Option
) -> SyncReport:
    """Make or update a copy as :func:`instep.sync` does. ``progress`` is called in the thread of the event loop."""
    command = _commands.Sync(url, folder, options)
    return await _finished(command, command.finish, progress)


async def publish(
    folder: Folder, base_url: Optional[str] = None, *, progress: Optional[Progress] = None, **options: Option
) -> PublishReport:
    """Publish a folder as :func:`instep.publish` does."""
    command = _commands.Publish(folder, base_url, options)
    return await _finished(command, command.finish, progress)


async def audit(
    url: str, folder: Optional[Folder] = None, *, progress: Optional[Progress] = None, **options: Option
) -> AuditReport:
    """Compare a copy with its Source as :func:`instep.audit` does."""
    command = _commands.Audit(url, folder, options)
    return await _finished(command, command.finish, progress)


async def explore(url: str, **options: Option) -> Tree:
    """Return the documents of a Source as :func:`instep.explore` does."""
    command = _commands.Explore(url, options)
    return await _finished(command, command.finish, None)


_Running = Union[_commands.Sync, _commands.Publish, _commands.Audit, _commands.Explore]


async def _finished(
    command: _Running, finish: Callable[[Optional[Progress]], R], progress: Optional[Progress]
) -> R:
    """Run a command in a thread. A cancellation stops the program and waits for its end."""
    loop = asyncio.get_running_loop()
    faults: list[BaseException] = []
    room = threading.Semaphore(_MOST_WAITING)

    def call(event: dict[str, Any]) -> None:
        assert progress is not None
        room.release()
        try:
            progress(event)
        except BaseException as fault:
            faults.append(fault)
            command.run.stop()

    def report(event: dict[str, Any]) -> None:
        # A loop that is closed takes no event any more, and refuses this one.
        while not room.acquire(timeout=1.0) and not loop.is_closed():
            pass
        loop.call_soon_threadsafe(call, event)

    running = _in_thread(loop, lambda: finish(None if progress is None else report))
    try:
        result = await asyncio.shield(running)
        # The events that the thread has handed over come before the result.
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        command.run.stop()
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()
        raise
    except Exception:
        if faults:
            raise faults[0] from None
        raise
    if faults:
        raise faults[0]
    return result


def _in_thread(loop: asyncio.AbstractEventLoop, work: Callable[[], R]) -> asyncio.Future[R]:
    """Do work in a thread of its own, and return its future result.

    The threads of the event loop are few. A run may take months, and others need them to read documents.
    """
    ended: asyncio.Future[R] = loop.create_future()

    def settle(settling: Callable[[Any], None], outcome: Any) -> None:
        if not ended.done():
            settling(outcome)

    def do() -> None:
        try:
            settling: Callable[[Any], None] = ended.set_result
            outcome: Any = work()
        except BaseException as fault:
            settling, outcome = ended.set_exception, fault
        # A loop that is closed waits for no result.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, settling, outcome)

    threading.Thread(target=copy_context().run, args=(do,), daemon=True).start()
    return ended
