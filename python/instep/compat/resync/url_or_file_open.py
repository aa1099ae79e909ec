"""URLs and files, opened alike."""

from __future__ import annotations

import re
import time
from typing import Any, Optional
from urllib.request import Request, urlopen

__all__ = ["CONFIG", "NUM_REQUESTS", "set_url_or_file_open_config", "url_or_file_open"]

NUM_REQUESTS = 0
CONFIG: dict[str, Any] = {"bearer_token": None, "delay": None}


def set_url_or_file_open_config(key: str, value: Any) -> None:
    """Set the bearer token, or the delay between requests in seconds."""
    CONFIG[key] = value


def url_or_file_open(uri: str, method: Optional[str] = None, timeout: Optional[float] = None) -> Any:
    """Open a URL, or a path as a ``file:`` URL."""
    global NUM_REQUESTS
    if not re.match(r"\w+:", uri):
        uri = "file:" + uri
    headers = {"User-Agent": "resync/2.0.1 (instep)"}
    if CONFIG["bearer_token"] is not None:
        headers["Authorization"] = "Bearer " + CONFIG["bearer_token"]
    if NUM_REQUESTS != 0 and CONFIG["delay"] is not None and not uri.startswith("file:"):
        time.sleep(CONFIG["delay"])
    NUM_REQUESTS += 1
    request = Request(url=uri, headers=headers, method=method)
    return urlopen(request) if timeout is None else urlopen(request, timeout=timeout)
