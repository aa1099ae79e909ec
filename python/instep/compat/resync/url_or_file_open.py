"""URLs and files, opened alike."""

from __future__ import annotations

import re
import time
from typing import Any, Optional
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener, urlopen

__all__ = ["CONFIG", "NUM_REQUESTS", "set_url_or_file_open_config", "url_or_file_open"]

NUM_REQUESTS = 0
CONFIG: dict[str, Any] = {"bearer_token": None, "bearer_origins": (), "delay": None}

#: Scheme, host and port.
_Origin = tuple[str, Optional[str], Optional[int]]

#: The bearer token, and the origin of the first request with it.
_first: Optional[tuple[str, _Origin]] = None


def set_url_or_file_open_config(key: str, value: Any) -> None:
    """Set the bearer token, or the delay between requests in seconds.

    The token is sent to the origin (scheme, host and port) of the first URL that is opened with it, and to no other
    one that a document names. ``bearer_origins`` is a list of further origins that get it, such as
    ``["https://files.example.org"]``.
    """
    CONFIG[key] = value


def _origin(url: str) -> Optional[_Origin]:
    """Return the origin of a URL; ``None`` if it is not one of the web."""
    parts = urlsplit(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    try:
        return None if usual is None else (parts.scheme, parts.hostname, parts.port or usual)
    except ValueError:
        return None


def _token_for(url: str) -> Optional[str]:
    """Return the token for a request; ``None`` if there is none for its origin."""
    global _first
    token, origin = CONFIG["bearer_token"], _origin(url)
    if token is None or origin is None:
        return None
    if _first is None or _first[0] != token:
        _first = (token, origin)
    allowed = [_first[1], *(_origin(url) for url in CONFIG["bearer_origins"])]
    return token if origin in allowed else None


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
    token = _token_for(uri)
    if token is not None:
        headers["Authorization"] = "Bearer " + token
    if NUM_REQUESTS != 0 and CONFIG["delay"] is not None and not uri.startswith("file:"):
        time.sleep(CONFIG["delay"])
    NUM_REQUESTS += 1
    request = Request(url=uri, headers=headers, method=method)
    # The opener that a program may have installed is for requests without a token.
    opened: Any = urlopen if token is None else build_opener(_KeepingToken()).open
    return opened(request) if timeout is None else opened(request, timeout=timeout)
