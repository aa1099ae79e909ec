"""URLs and files, opened alike."""

from __future__ import annotations

import re
import time
from typing import Any, Optional
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener, urlopen

__all__ = ["CONFIG", "NUM_REQUESTS", "set_url_or_file_open_config", "url_or_file_open"]

NUM_REQUESTS = 0
CONFIG: dict[str, Any] = {"bearer_token": None, "delay": None}


def set_url_or_file_open_config(key: str, value: Any) -> None:
    """Set the bearer token, or the delay between requests in seconds."""
    CONFIG[key] = value


class _KeepingToken(HTTPRedirectHandler):
    """Follows redirects. The token stays with the scheme, host and port that it was given to."""

    def redirect_request(self, req: Request, *rest: Any, **named: Any) -> Optional[Request]:
        following = super().redirect_request(req, *rest, **named)
        if following is not None and urlsplit(following.full_url)[:2] != urlsplit(req.full_url)[:2]:
            following.remove_header("Authorization")
        return following


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
    # The opener that a program may have installed is for requests without a token.
    opened: Any = urlopen if CONFIG["bearer_token"] is None else build_opener(_KeepingToken()).open
    return opened(request) if timeout is None else opened(request, timeout=timeout)
