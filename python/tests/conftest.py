"""A Source in a folder, served over HTTP for the length of a test."""

from __future__ import annotations

import functools
import http.server
import threading
from pathlib import Path
from typing import Any, Iterator

import pytest

import instep


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


class Source:
    """A published folder and its URL."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        handler = functools.partial(_Handler, directory=str(folder))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def fill(self, count: int) -> None:
        for number in range(count):
            (self.folder / f"file{number}.txt").write_text(f"text {number}")

    def publish(self, **options: Any) -> instep.PublishReport:
        return instep.publish(self.folder, self.url, **options)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Source]:
    folder = tmp_path / "source"
    folder.mkdir()
    made = Source(folder)
    yield made
    made.server.shutdown()
    made.server.server_close()
