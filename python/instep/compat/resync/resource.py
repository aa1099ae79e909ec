"""A resource and what a document says about it."""

from __future__ import annotations

from posixpath import basename
from typing import Any, Optional
from urllib.parse import urlparse

from .w3c_datetime import datetime_to_str, str_to_datetime

__all__ = ["ChangeTypeError", "Resource"]

_COPIED = (
    "uri",
    "timestamp",
    "length",
    "mime_type",
    "md5",
    "sha1",
    "sha256",
    "change",
    "ts_datetime",
    "path",
    "ln",
    "capability",
    "ts_at",
    "ts_completed",
    "ts_from",
    "ts_until",
)

_DIGESTS = {"md5": "md5", "sha-1": "sha1", "sha-256": "sha256"}


def _time(name: str) -> Any:
    """Return a property that shows a time of ``_extra`` as a W3C datetime."""

    def read(self: Resource) -> Optional[str]:
        shown: Optional[str] = datetime_to_str(self._get_extra("ts_" + name))
        return shown

    def write(self: Resource, value: Optional[str]) -> None:
        self._set_extra("ts_" + name, str_to_datetime(value, context=f"md_{name} datetime"))

    return property(read, write, doc=f"The attribute ``{name}`` as a W3C datetime.")


def _extra(name: str) -> Any:
    """Return a property that shows a value of ``_extra``."""

    def read(self: Resource) -> Any:
        return self._get_extra(name)

    def write(self: Resource, value: Any) -> None:
        self._set_extra(name, value)

    return property(read, write, doc=f"The value of ``{name}``.")


def _link(rel: str) -> Any:
    """Return a property that shows the target of a link."""

    def read(self: Resource) -> Optional[str]:
        return self.link_href(rel)

    def write(self: Resource, uri: str) -> None:
        self.link_set(rel, uri)

    return property(read, write, doc=f"The target of the link ``{rel}``.")


class Resource:
    """A resource: its URI and, if they are known, its times, length, media type, digests, change and links.

    Times are kept as seconds since 1970 (``timestamp``, ``ts_datetime``, ``ts_at``, ...), and shown as W3C datetimes by
    ``lastmod``, ``datetime``, ``md_at``, ... Any other attribute can be set and is kept.
    """

    __slots__ = (
        "uri",
        "timestamp",
        "length",
        "mime_type",
        "md5",
        "sha1",
        "sha256",
        "change",
        "ts_datetime",
        "path",
        "ln",
        "_extra",
    )

    uri: Any
    timestamp: Any
    length: Any
    mime_type: Any
    md5: Any
    sha1: Any
    sha256: Any
    change: Any
    ts_datetime: Any
    path: Any
    ln: Any
    _extra: Any

    #: The changes that are accepted; set it to a false value to accept any.
    CHANGE_TYPES = ["created", "updated", "deleted"]

    def __init__(
        self,
        uri: Optional[str] = None,
        timestamp: Optional[float] = None,
        length: Optional[int] = None,
        mime_type: Optional[str] = None,
        md5: Optional[str] = None,
        sha1: Optional[str] = None,
        sha256: Optional[str] = None,
        change: Optional[str] = None,
        ts_datetime: Optional[float] = None,
        path: Optional[str] = None,
        ln: Optional[list[dict[str, Any]]] = None,
        capability: Optional[str] = None,
        ts_at: Optional[float] = None,
        ts_completed: Optional[float] = None,
        ts_from: Optional[float] = None,
        ts_until: Optional[float] = None,
        lastmod: Optional[str] = None,
        datetime: Optional[str] = None,
        md_at: Optional[str] = None,
        md_completed: Optional[str] = None,
        md_from: Optional[str] = None,
        md_until: Optional[str] = None,
        resource: Optional[Any] = None,
    ) -> None:
        given = dict(locals())
        # Not those of `self`: a subclass may have `__slots__` of its own.
        for name in Resource.__slots__:
            object.__setattr__(self, name, None)
        if resource is not None:
            for name in _COPIED:
                value = getattr(resource, name, None)
                if value is not None:
                    setattr(self, name, value)
        times = ("lastmod", "datetime", "md_at", "md_completed", "md_from", "md_until")
        for name in (*_COPIED, *times):
            if given[name] is not None:
                setattr(self, name, given[name])
        if self.uri is None:
            raise ValueError("Cannot create Resource without a URI")

    def __setattr__(self, prop: str, value: Any) -> None:
        if prop == "change" and self.CHANGE_TYPES and value is not None and value not in self.CHANGE_TYPES:
            raise ChangeTypeError(value)
        try:
            object.__setattr__(self, prop, value)
        except AttributeError:
            self._set_extra(prop, value)

    def _set_extra(self, prop: str, value: Any) -> None:
        if self._extra is None:
            object.__setattr__(self, "_extra", {})
        self._extra[prop] = value

    def _get_extra(self, prop: str) -> Any:
        return None if self._extra is None else self._extra.get(prop)

    @property
    def lastmod(self) -> Optional[str]:
        """The time of the last modification as a W3C datetime."""
        return datetime_to_str(self.timestamp)

    @lastmod.setter
    def lastmod(self, lastmod: Optional[str]) -> None:
        self.timestamp = str_to_datetime(lastmod, context="lastmod")

    @property
    def datetime(self) -> Optional[str]:
        """The time of the change as a W3C datetime."""
        return datetime_to_str(self.ts_datetime)

    @datetime.setter
    def datetime(self, datetime: Optional[str]) -> None:
        self.ts_datetime = str_to_datetime(datetime, context="ts_datetime")

    capability = _extra("capability")
    ts_at = _extra("ts_at")
    ts_completed = _extra("ts_completed")
    ts_from = _extra("ts_from")
    ts_until = _extra("ts_until")
    md_at = _time("at")
    md_completed = _time("completed")
    md_from = _time("from")
    md_until = _time("until")

    @property
    def hash(self) -> Optional[str]:
        """The digests as written: ``md5:... sha-1:... sha-256:...``; ``None`` if there are none."""
        held = ((name, getattr(self, attribute)) for name, attribute in _DIGESTS.items())
        return " ".join(f"{name}:{value}" for name, value in held if value is not None) or None

    @hash.setter
    def hash(self, hashes_str: str) -> None:
        for attribute in _DIGESTS.values():
            setattr(self, attribute, None)
        seen: set[str] = set()
        errors = []
        for entry in hashes_str.split():
            name, value = entry.split(":", 1)
            if name in seen:
                errors.append(f"duplicate hash type {name}")
            elif name not in _DIGESTS:
                errors.append(f"unsupported hash type {name}")
            else:
                setattr(self, _DIGESTS[name], value)
            seen.add(name)
        if errors:
            raise ValueError("Ignored " + ", ".join(errors))

    def link(self, rel: str) -> Optional[dict[str, Any]]:
        """Return the first link of a relation; ``None`` if there is none."""
        return next((link for link in self.ln or () if link.get("rel") == rel), None)

    def link_href(self, rel: str) -> Optional[str]:
        """Return the target of the first link of a relation; ``None`` if there is none."""
        link = self.link(rel)
        return None if link is None else str(link["href"])

    def link_set(self, rel: str, href: str, allow_duplicates: bool = False, **atts: Any) -> None:
        """Set the link of a relation, or add one more with ``allow_duplicates``."""
        if self.ln is None:
            self.ln = []
        link = None if allow_duplicates else self.link(rel)
        if link is None:
            link = {"rel": rel}
            self.ln.append(link)
        link["href"] = href
        link.update(atts)

    def link_add(self, rel: str, href: str, **atts: Any) -> None:
        """Add a link, also if there is one of the relation."""
        self.link_set(rel, href, allow_duplicates=True, **atts)

    describedby = _link("describedby")
    up = _link("up")
    index = _link("index")

    @property
    def contents(self) -> Optional[str]:
        """The target of the link ``contents``: the manifest of a package."""
        return self.link_href("contents")

    @contents.setter
    def contents(self, uri: str) -> None:
        self.link_set("contents", uri, type="application/xml")

    @property
    def basename(self) -> str:
        """The last segment of the URI's path."""
        return str(basename(urlparse(self.uri).path))

    def __eq__(self, other: object) -> bool:
        return self.equal(other, delta=1.0)

    __hash__ = None  # type: ignore[assignment]

    def equal(self, other: Any, delta: float = 0.0) -> bool:
        """Return ``True`` if nothing shows a difference: URI, time within ``delta``, and digests and lengths that both have."""
        if other is None or self.uri != other.uri:
            return False
        if self.timestamp is not None or other.timestamp is not None:
            if self.timestamp is None or other.timestamp is None:
                return False
            if abs(self.timestamp - other.timestamp) >= delta:
                return False
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("md5", "sha1", "sha256", "length"))
        return not any(mine is not None and theirs is not None and mine != theirs for mine, theirs in pairs)

    def __str__(self) -> str:
        parts = [self.uri, self.lastmod, self.length, self.md5 or self.sha1 or self.sha256]
        if self.change is not None:
            parts.append(self.change if self.datetime is None else f"{self.change} @ {self.datetime}")
        if self.path is not None:
            parts.append(self.path)
        return "[ " + " | ".join(str(part) for part in parts) + " ]"

    def __repr__(self) -> str:
        held = ((name, getattr(self, name, None)) for name in self.__slots__)
        return "{" + ", ".join(f"{name!r}: {value!r}" for name, value in held if value is not None) + "}"


class ChangeTypeError(Exception):
    """A change that is none of :attr:`Resource.CHANGE_TYPES`."""

    def __init__(self, val: Optional[str]) -> None:
        self.supplied = val

    def __repr__(self) -> str:
        return f"<ChangeTypeError: got {self.supplied}, expected one of {Resource.CHANGE_TYPES}>"

    __str__ = __repr__
