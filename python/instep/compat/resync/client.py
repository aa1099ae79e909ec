"""The client: finds the lists of a Source, copies its resources, and writes documents about local files."""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
from typing import Any, Iterable, Optional
from urllib.parse import urljoin, urlsplit, urlunsplit

from .capability_list import CapabilityList
from .change_list import ChangeList
from .client_state import ClientState
from .client_utils import ClientError, ClientFatalError
from .client_writer import ClientWriter
from .hashes import Hashes
from .mapper import Mapper
from .resource import Resource
from .resource_list import ResourceList
from .resource_list_builder import ResourceListBuilder
from .sitemap import Sitemap
from .source_description import SourceDescription
from .url_authority import UrlAuthority
from .url_or_file_open import url_or_file_open
from .w3c_datetime import datetime_to_str, str_to_datetime

__all__ = ["Client", "ClientError", "ClientFatalError"]


class Client(ClientWriter):
    """A Destination as the reference library has it: one resource after the other, each written in its place at once.

    :func:`instep.sync` verifies what it fetches and replaces a file only when the new one is whole.
    """

    def __init__(
        self,
        spec_version: str = "1.1",
        hashes: Optional[Iterable[str]] = None,
        verbose: bool = False,
        dryrun: bool = False,
    ) -> None:
        self.spec_version = spec_version
        self.hashes = set(hashes) if hashes else set()
        self.verbose = verbose
        self.dryrun = dryrun
        self.logger = logging.getLogger("resync.client")
        self.mapper = Mapper()
        self.resource_list_name = "resourcelist.xml"
        self.change_list_name = "changelist.xml"
        self.dump_format: Optional[str] = None
        self.exclude_patterns: list[str] = []
        self.sitemap_name: Optional[str] = None
        self.capability_list_uri: Optional[str] = None
        self.allow_multifile = True
        self.noauth = False
        self.strictauth = False
        self.max_sitemap_entries: Optional[int] = None
        self.ignore_failures = False
        self.pretty_xml = True
        self.fake_input: Optional[str] = None
        self.tries = 20
        self.timeout: Optional[float] = None
        self.status_file = ".resync-client-status.cfg"
        self.default_resource_dump = "resourcedump.zip"
        self.default_change_dump = "changedump.zip"
        self.last_timestamp: float = 0

    def set_mappings(self, mappings: list[str]) -> None:
        """Set the mappings between URIs and paths."""
        self.mapper = Mapper(mappings, use_default_path=True)

    def sitemap_uri(self, basename: str) -> str:
        """Return a URL or absolute path as it is, and another name below the URI of the first mapping."""
        if re.match(r"\w+:", basename) or basename.startswith("/"):
            return basename
        return f"{self.mapper.default_src_uri()}/{basename}"

    @property
    def sitemap(self) -> str:
        """The URI of the Resource List: as it was set, else ``resourcelist.xml`` of the Source."""
        return self.sitemap_uri(self.resource_list_name) if self.sitemap_name is None else self.sitemap_name

    def read_resource_list(self, uri: str) -> ResourceList:
        """Read a Resource List."""
        self.logger.info("Reading resource list %s" % (uri,))
        resources = ResourceList(allow_multifile=self.allow_multifile, mapper=self.mapper)
        try:
            resources.read(uri=uri)
        except Exception as error:
            raise ClientError(f"Can't read source resource list from {uri} ({error})") from error
        self.logger.debug("Finished reading resource list")
        return resources

    def find_resource_list_from_source_description(self, uri: str) -> str:
        """Return the URI of the Resource List that a Source Description leads to."""
        self.logger.info("Reading source description %s" % (uri,))
        description = SourceDescription()
        try:
            description.read(uri=uri)
        except Exception as error:
            raise ClientError(f"Can't read source description from {uri} ({error})") from error
        if len(description) == 0:
            raise ClientFatalError(f"Source description {uri} has no sources")
        if len(description) > 1:
            message = f"Source description {uri} has multiple sources, specify one with --capabilitylist"
            raise ClientFatalError(message)
        self.logger.info("Finished reading source description")
        location = urljoin(uri, description.resources.first().uri)
        return self.find_resource_list_from_capability_list(location)

    def find_resource_list_from_capability_list(self, uri: str) -> str:
        """Return the URI of the Resource List that a Capability List leads to."""
        self.logger.info("Reading capability list %s" % (uri,))
        capabilities = CapabilityList()
        try:
            capabilities.read(uri=uri)
        except Exception as error:
            raise ClientError(f"Can't read capability list from {uri} ({error})") from error
        found = capabilities.capability_info("resourcelist")
        if found is None:
            raise ClientFatalError(f"Capability list {uri} does not describe a resource list")
        return urljoin(uri, str(found.uri))

    def find_resource_list(self) -> ResourceList:
        """Read the Resource List of the Source, from the places where it may be."""
        if self.sitemap_name is not None:
            return self.read_resource_list(self.sitemap_name)
        if self.capability_list_uri is not None:
            found = self.find_resource_list_from_capability_list(self.capability_list_uri)
            return self.read_resource_list(found)
        parts = urlsplit(self.sitemap)
        host = urlunsplit([parts[0], parts[1], "", "", ""])
        errors = []
        for base in (self.sitemap, host):
            try:
                description = _local(urljoin(base, ".well-known/resourcesync"))
                return self.read_resource_list(self.find_resource_list_from_source_description(description))
            except ClientError as error:
                errors.append(str(error))
        for base, name in ((self.sitemap, "resourcelist.xml"), (self.sitemap, "sitemap.xml"), (host, "sitemap.xml")):
            try:
                return self.read_resource_list(_local(urljoin(base, name)))
            except ClientError as error:
                errors.append(str(error))
        places = ". ".join(errors)
        raise ClientFatalError(f"Failed to find source resource list from common patterns ({places})")

    def log_event(self, change: Any) -> None:
        """Log a change for programs that evaluate logs."""
        self.logger.debug("Event: %r" % (change,))

    def baseline_or_audit(self, allow_deletion: bool = False, audit_only: bool = False) -> None:
        """Copy what the Resource List has and the copy lacks, or only report the differences."""
        self._check_mappings(unsafe_allowed=audit_only)
        source = self.find_resource_list()
        self.logger.info("Read source resource list, %d resources listed" % (len(source),))
        if len(source) == 0:
            raise ClientFatalError("Aborting as there are no resources to sync")
        if self.hashes:
            self.prune_hashes(source.hashes(), "resource")
        copy = ResourceListBuilder(set_hashes=self.hashes, mapper=self.mapper).from_disk()
        same, updated, deleted, created = copy.compare(source)
        in_sync = len(updated) + len(deleted) + len(created) == 0
        counts: Any = {"created": len(created), "updated": len(updated), "deleted": len(deleted)}
        self.log_status(in_sync=in_sync, audit=True, same=len(same), **counts)
        if audit_only or in_sync:
            self.logger.debug("Completed audit" if audit_only else "Completed baseline sync")
            return
        self._check_authority(source, [UrlAuthority(self.sitemap, strict=self.strictauth)], "sitemap", self.sitemap)
        deletions = f", and delete {len(deleted)} resources" if allow_deletion else ""
        self.logger.warning("Will GET %d resources%s" % (len(created) + len(updated), deletions))
        self.last_timestamp = 0
        done: Any = {}
        for change, resources in (("created", created), ("updated", updated)):
            done[change] = sum(self._update(resource, change) for resource in resources)
        # Times of local files say nothing about the Source: an incremental run would begin after changes that it lacks.
        reached = self.last_timestamp
        done["deleted"] = sum(self._delete(resource, allow_deletion) for resource in deleted)
        self.last_timestamp = reached
        self._keep_timestamp()
        self.log_status(in_sync=False, same=len(same), to_delete=len(deleted), **done)
        self.logger.debug("Completed baseline sync")

    def incremental(
        self,
        allow_deletion: bool = False,
        change_list_uri: Optional[str] = None,
        from_datetime: Optional[str] = None,
    ) -> None:
        """Apply the changes of the Change List since the last run, or since a time."""
        self._check_mappings()
        beginning = self._beginning(from_datetime)
        location = self.sitemap_uri(change_list_uri or self.change_list_name)
        changes = ChangeList()
        try:
            self.logger.info("Reading change list %s" % (location,))
            changes.read(uri=location)
        except Exception as error:
            raise ClientFatalError(f"Can't read source change list from {location} ({error})") from error
        self.logger.info("Read source change list, %d changes listed" % (len(changes),))
        self.last_timestamp = 0
        for resource in changes:
            time = resource.timestamp if resource.ts_datetime is None else resource.ts_datetime
            if time is None:
                raise ClientFatalError(f"Aborting - no datetime or lastmod for change in {resource.uri}")
            self.last_timestamp = max(self.last_timestamp, time)
        if not change_list_uri:
            speakers = [UrlAuthority(location, self.strictauth), UrlAuthority(self.sitemap)]
            self._check_authority(changes, speakers, "change list", location)
        skipped = changes.prune_updates_before(beginning, spec_version=self.spec_version)
        if skipped:
            self.logger.info("Skipped %d changes before %s" % (skipped, datetime_to_str(beginning)))
        prior = changes.prune_dupes()
        if prior:
            self.logger.info("Removed %d prior changes" % (prior,))
        counts: Any = {kind: sum(change.change == kind for change in changes) for kind in ("created", "updated", "deleted")}
        in_sync = len(changes) == 0
        self.log_status(in_sync=in_sync, incremental=True, **counts)
        if in_sync or (counts["deleted"] == len(changes) and not allow_deletion):
            self.logger.debug("Completed incremental")
            return
        deletions = f", and delete {counts['deleted']} resources" if allow_deletion else ""
        self.logger.warning("Will apply %d changes%s" % (len(changes), deletions))
        done: Any = {"created": 0, "updated": 0, "deleted": 0}
        for change in changes:
            if change.change == "deleted":
                done["deleted"] += self._delete(change, allow_deletion)
            else:
                done[change.change] += self._update(change, change.change)
        self.log_status(in_sync=False, incremental=True, to_delete=counts["deleted"], **done)
        self._keep_timestamp()
        self.logger.debug("Completed incremental sync")

    def _check_mappings(self, unsafe_allowed: bool = False) -> None:
        if len(self.mapper) < 1:
            raise ClientFatalError("No source to destination mapping specified")
        if not unsafe_allowed and self.mapper.unsafe():
            raise ClientFatalError(f"Source to destination mappings unsafe: {self.mapper}")

    def _beginning(self, from_datetime: Optional[str]) -> float:
        """Return the time from which changes are applied."""
        if from_datetime is not None:
            try:
                return str_to_datetime(from_datetime) or 0
            except ValueError:
                raise ClientFatalError(f"Bad datetime in --from ({from_datetime})") from None
        kept = ClientState().get_state(self.sitemap)
        if kept is None:
            message = "Cannot do incremental sync. No stored timestamp for this site, and no explicit --from."
            raise ClientFatalError(message)
        return kept

    def _check_authority(
        self, resources: Iterable[Any], speakers: list[UrlAuthority], kind: str, document: str
    ) -> None:
        for resource in () if self.noauth else resources:
            if not any(speaker.has_authority_over(resource.uri) for speaker in speakers):
                message = f"Aborting as {kind} ({document}) mentions resource at a location it does not have authority"
                raise ClientFatalError(f"{message} over ({resource.uri}), override with --noauth")

    def _keep_timestamp(self) -> None:
        if self.last_timestamp > 0 and not self.dryrun:
            ClientState().set_state(self.sitemap, self.last_timestamp)
            shown = datetime_to_str(self.last_timestamp)
            self.logger.info("Written last timestamp %s for incremental sync" % (shown,))

    def _update(self, resource: Any, change: str) -> int:
        filename = self.mapper.src_to_dst(resource.uri)
        self.logger.info("%s: %s -> %s" % (change, resource.uri, filename))
        return self.update_resource(resource, filename, change)

    def _delete(self, resource: Any, allowed: bool) -> int:
        return self.delete_resource(resource, self.mapper.src_to_dst(resource.uri), allowed)

    def update_resource(self, resource: Any, filename: str, change: Optional[str] = None) -> int:
        """Fetch a resource into a file, and set the file's time. Returns the number of resources fetched, 0 or 1."""
        os.makedirs(os.path.dirname(filename) or ".", exist_ok=True)
        if self.dryrun:
            self.logger.info("dryrun: would GET %s --> %s" % (resource.uri, filename))
            return 0
        try:
            self._fetch(resource, filename)
        except ClientFatalError as error:
            if not self.ignore_failures:
                raise
            self.logger.warning("%s" % (error,))
            return 0
        if resource.timestamp is not None:
            os.utime(filename, (int(resource.timestamp), int(resource.timestamp)))
            self.last_timestamp = max(self.last_timestamp, resource.timestamp)
        self.log_event(Resource(resource=resource, change=change))
        length = os.stat(filename).st_size
        if resource.length is not None and resource.length != length:
            text = "Downloaded size for %s of %d bytes does not match expected %d bytes"
            self.logger.info(text % (resource.uri, length, resource.length))
        if self.hashes:
            self.check_hashes(filename, resource)
        return 1

    def _fetch(self, resource: Any, filename: str) -> None:
        for attempt in range(1, self.tries + 1):
            try:
                with url_or_file_open(resource.uri, timeout=self.timeout) as source:
                    with open(filename, "wb") as target:
                        shutil.copyfileobj(source, target)
                    # What a response lacks if its connection is closed early; copying ends there without an error.
                    missing = getattr(source, "length", None)
                if isinstance(missing, int) and missing > 0:
                    raise OSError(f"{missing} bytes did not arrive")
                return
            except socket.timeout as error:
                if attempt == self.tries:
                    message = f"Failed to GET {resource.uri} after {self.tries} tries -- {error}"
                    raise ClientFatalError(message) from error
                self.logger.info("Download timed out, retrying...")
            except OSError as error:
                raise ClientFatalError(f"Failed to GET {resource.uri} -- {error}") from error

    def check_hashes(self, filename: str, resource: Any) -> None:
        """Log each digest of a file that is another than the resource's."""
        attributes = Hashes.NAME_TO_ATTRIBUTE
        compared = [name for name in attributes if name in self.hashes and getattr(resource, attributes[name])]
        found = Hashes(compared, filename)
        for name in compared:
            expected, held = getattr(resource, attributes[name]), getattr(found, attributes[name])
            if expected != held:
                text = "%s mismatch for %s, got %s but expected %s"
                self.logger.info(text % (name.upper(), resource.uri, held, expected))

    def delete_resource(self, resource: Any, filename: str, allow_deletion: bool = False) -> int:
        """Delete the file of a resource, if that is allowed. Returns the number of files deleted, 0 or 1."""
        if resource.timestamp is not None:
            self.last_timestamp = max(self.last_timestamp, resource.timestamp)
        if not allow_deletion:
            self.logger.info("nodelete: would delete %s (--delete to enable)" % (resource.uri,))
        elif self.dryrun:
            self.logger.info("dryrun: would delete %s -> %s" % (resource.uri, filename))
        else:
            try:
                os.unlink(filename)
            except OSError as error:
                self.logger.warning("Failed to DELETE %s -> %s : %s" % (resource.uri, filename, error))
                return 0
            self.logger.info("deleted: %s -> %s" % (resource.uri, filename))
            self.log_event(Resource(resource=resource, change="deleted"))
            return 1
        return 0

    def parse_document(self) -> None:
        """Print what kind of document the Source has at its URI, and its entries if ``verbose``."""
        self.logger.info("Reading sitemap(s) from %s ..." % (self.sitemap,))
        try:
            with url_or_file_open(self.sitemap) as file:
                document = Sitemap().parse_xml(file)
        except OSError as error:
            raise ClientFatalError(f"Cannot read document ({error})") from error
        capability = document.md.get("capability", "(unknown capability)")
        print(f"Parsed {capability} document with {len(document.resources)} entries")
        if self.verbose:
            self._show(document.resources, numbered=True)

    def prune_hashes(self, hashes: Iterable[str], list_type: str) -> None:
        """Forget the digests that the Source does not list."""
        missing = sorted(self.hashes - set(hashes))
        self.hashes.difference_update(missing)
        text = "Not calculating %s hash(es) on destination as not present in source %s list"
        self.logger.info(text % (", ".join(missing), list_type))

    def log_status(
        self,
        in_sync: bool = True,
        incremental: bool = False,
        audit: bool = False,
        same: Optional[int] = None,
        created: int = 0,
        updated: int = 0,
        deleted: int = 0,
        to_delete: int = 0,
    ) -> None:
        """Log the state of the copy in one line."""
        words = ["to create", "to update", "to delete"] if audit else ["created", "updated", "deleted"]
        if in_sync:
            status = "NO CHANGES" if incremental else "IN SYNC"
        elif audit:
            status = "NOT IN SYNC"
        elif to_delete > deleted:
            status = "PART APPLIED" if incremental else "PART SYNCED"
            words[2], deleted = "to delete (--delete)", to_delete
        else:
            status = "CHANGES APPLIED" if incremental else "SYNCED"
        unchanged = "" if same is None else f"same={same}, "
        counts = ", ".join(f"{word}={count}" for word, count in zip(words, (created, updated, deleted)))
        self.logger.warning("Status: %15s (%s%s)" % (status, unchanged, counts))


def _local(uri: str) -> str:
    """Return the path of a ``file:`` URL, and another URI as it is."""
    return uri[len("file://") :] if uri.startswith("file:///") else uri
