"""Looks through the documents of a Source, one step after the other."""

from __future__ import annotations

import os
import re
from typing import Any, Optional, Union
from urllib.parse import urljoin, urlsplit, urlunsplit

from .client import Client, ClientFatalError
from .resource import Resource
from .sitemap import Sitemap
from .url_or_file_open import url_or_file_open
from .w3c_datetime import datetime_to_str

__all__ = ["Explorer", "ExplorerQuit", "XResource"]

_LISTS = ["resourcelist", "resourcedump", "changelist", "changedump"]
_ARCHIVES = [f"{name}-archive" for name in _LISTS]
_KNOWN = ["description", "capabilitylist", *_LISTS, *_ARCHIVES, *(f"{name}index" for name in _LISTS)]

#: The names that a folder is searched for.
_LIKELY = ["resourcesync", "capabilities.xml", "resourcelist.xml", "changelist.xml"]

#: The most entries that are shown all; of more, fewer are shown.
_MOST, _SHOWN = 21, 20

#: The headers of a resource that are shown.
_HEADERS = ["content-length", "last-modified", "lastmod", "content-type", "etag"]

#: The links at the top of a document that can be followed, each with its key.
_LINKS = [("d", "describedby"), ("u", "up"), ("i", "index")]

#: The capabilities that are expected of a document: any with ``None``; ``resource`` is no document.
Capabilities = Union[None, str, "list[str]"]


class ExplorerQuit(Exception):
    """The user has ended the exploration."""


class XResource:
    """A place to look at: its URI, the capabilities that are expected there, and the headers to compare."""

    def __init__(
        self,
        uri: str,
        acceptable_capabilities: Capabilities = None,
        checks: Optional[Any] = None,
        context: Optional[str] = None,
    ) -> None:
        self.uri = uri if context is None else urljoin(context, uri)
        self.acceptable_capabilities = acceptable_capabilities
        self.checks = checks


class Explorer(Client):
    """Shows a document and asks which of its entries to follow, as the reference library does.

    :func:`instep.explore` returns the whole tree at once.
    """

    def explore(self) -> None:
        """Begin at ``sitemap_name`` or at the URI of the first mapping, until the user ends it."""
        try:
            for start in self._starts():
                history = [start]
                while history:
                    print()
                    here = history.pop()
                    following = self.explore_uri(here, len(history) > 0)
                    if following is not None:
                        history += [here, following]
        except ExplorerQuit:
            pass
        print("\nresync-explorer done, bye...\n")

    def _starts(self) -> list[XResource]:
        if self.sitemap_name is not None:
            print(f"Starting from explicit --sitemap {self.sitemap_name}")
            return [XResource(self.sitemap_name)]
        if len(self.mapper) == 0:
            message = "No source information (server base uri or capability uri) specified, use -h for help"
            raise ClientFatalError(message)
        uri = self.mapper.default_src_uri()
        scheme, host, path, _, _ = urlsplit(uri)
        if scheme or host:
            print("Looking for discovery information based on mappings")
            well_known = urlunsplit([scheme, host, "/.well-known/resourcesync", "", ""])
            first = [XResource(uri)] if path else []
            return [*first, XResource(well_known, ["capabilitylist", "capabilitylistindex"])]
        if not os.path.isdir(path):
            print(f"Starting from local file {path}")
            return [XResource(path)]
        print(f"Looking for capability documents in local directory {path}")
        files = [os.path.join(path, name) for name in _LIKELY]
        starts = [XResource(file) for file in files if os.path.isfile(file)]
        if not starts:
            raise ClientFatalError(f"No likely capability files found in local directory {path}")
        return starts

    def explore_uri(self, explorer_resource: XResource, show_back: bool = True) -> Optional[XResource]:
        """Show a place, and return the one that the user follows; ``None`` to go back."""
        uri, expected = explorer_resource.uri, explorer_resource.acceptable_capabilities
        print(f"Reading {uri}")
        options: dict[str, Any] = {}
        capability = None
        try:
            if expected == "resource":
                self.explore_show_head(uri, check_headers=explorer_resource.checks)
            else:
                sitemap = Sitemap()
                with url_or_file_open(uri) as file:
                    document = sitemap.parse_xml(file)
                options, capability = self.explore_show_summary(
                    document, bool(sitemap.parsed_index), expected, context=uri
                )
        except OSError as error:
            print(f"Cannot read {uri} ({error})")
        except Exception as error:
            print(f"Cannot parse {uri} ({error})")
        number, back = "number, " if options else "", "b(ack), " if show_back else ""
        while True:
            answer = self.fake_input or input(f"Follow [{number}{back}q(uit)]?")
            if answer in options:
                return self._following(options[answer], capability)
            if answer == "q":
                raise ExplorerQuit()
            if answer == "b":
                return None

    def _following(self, resource: Any, capability: Optional[str]) -> XResource:
        expected: Capabilities
        if resource.capability is None:
            expected = "resource" if capability in _LISTS else self.allowed_entries(capability or "")
        else:
            expected = "resource" if resource.capability == "resource" else [resource.capability]
        known = {
            "content-length": resource.length,
            "last-modified": resource.lastmod,
            "content-type": resource.mime_type,
        }
        checks = {name: value for name, value in known.items() if value is not None}
        return XResource(resource.uri, expected, checks)

    def explore_show_summary(
        self,
        list: Any,
        index: bool = False,
        expected: Capabilities = None,
        context: Optional[str] = None,
    ) -> tuple[dict[str, Any], str]:
        """Print what a document has. Return what can be followed, by its keys, and the capability of the document."""
        entries = len(list.resources)
        capability = list.md.get("capability", "(unknown capability)") + ("index" if index else "")
        print(f"Parsed {capability} document with {entries} entries:")
        if expected is not None and capability not in expected:
            print(f"WARNING - expected a {','.join(expected)} document")
        if capability not in _KNOWN:
            print(f"WARNING - unknown {capability} document type")
        options: dict[str, Any] = {}
        for key, relation in _LINKS:
            link = list.link(relation)
            if link and "href" in link:
                print(f"[{key}] rel='{relation}' link to {link['href']}")
                uri = self.expand_relative_uri(context, link["href"])
                options[key] = Resource(uri, capability="resource" if relation == "describedby" else None)
            elif link:
                print(f"WARNING - {relation} link with no href, ignoring")
        allowed = self.allowed_entries(capability)
        shown = _SHOWN if entries > _MOST else entries
        for number, resource in enumerate(list.resources, 1):
            if number > shown:
                print(f"(not showing remaining {entries - shown} entries)")
                break
            options[str(number)] = resource
            self._show_entry(number, resource, allowed, context)
        return options, capability

    def _show_entry(self, number: int, resource: Any, allowed: list[str], context: Optional[str]) -> None:
        print(f"[{number}] {resource.uri}")
        if self.verbose:
            print(f"  {resource}")
        resource.uri = self.expand_relative_uri(context, resource.uri)
        if resource.capability is not None:
            expected = "" if resource.capability in allowed else f" (EXPECTED {' or '.join(allowed)})"
            print(f"  {resource.capability}{expected}")
        elif len(allowed) == 1:
            resource.capability = allowed[0]
            print(f"  capability not specified, should be {allowed[0]}")

    def explore_show_head(self, uri: str, check_headers: Optional[Any] = None) -> None:
        """Print the headers of a resource, and which of them differ from what its entry says."""
        print(f"HEAD {uri}")
        if re.match(r"\w+:", uri):
            with url_or_file_open(uri, method="HEAD") as response:
                status = str(response.status)
                headers = {name.lower(): value for name, value in response.headers.items()}
        else:
            status, headers = self.head_on_file(uri)
        print(f"  status: {status}")
        for name in _HEADERS if status == "200" else ():
            if name in headers:
                expected = (check_headers or {}).get(name)
                said = "MATCHES EXPECTED VALUE" if str(expected) == str(headers[name]) else f"EXPECTED {expected}"
                print(f"  {name}: {headers[name]}" + ("" if expected is None else f" {said}"))

    def head_on_file(self, file: str) -> tuple[str, dict[str, Any]]:
        """Return the status and headers that a server would send for a file."""
        if not os.path.isfile(file):
            return "404", {}
        modified = datetime_to_str(os.path.getmtime(file))
        return "200", {"last-modified": modified, "content-length": os.path.getsize(file)}

    def allowed_entries(self, capability: str) -> list[str]:
        """Return the capabilities that the entries of a document may have."""
        if capability == "capabilitylistindex":
            return []
        of_lists = re.match(r"(.+)(?:index|-archive)$", capability)
        if of_lists:
            return [of_lists.group(1)]
        return {"description": ["capabilitylist"], "capabilitylist": [*_LISTS, *_ARCHIVES]}.get(capability, [])

    def expand_relative_uri(self, context: Optional[str], uri: str) -> str:
        """Return a URI, which is resolved against that of its document if it is relative."""
        full = uri if context is None else urljoin(context, uri)
        if full != uri:
            print(f"  WARNING - expanded relative URI to {full}")
        return full
