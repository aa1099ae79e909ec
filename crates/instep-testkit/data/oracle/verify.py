#!/usr/bin/env python3
"""Replays what a ResourceSync Source publishes against the files it publishes.

Independent of instep: the standard library alone. Reads the Source Description and everything it leads to, applies
the changes since the Resource List (and since the Resource Dump) to it, and compares the outcome with a folder.
Opens every package, checks it against its manifest and its entry, and every document against what refers to it.
Prints a line for each difference; the exit code is 1 if there is one.

    verify.py --base http://example.org/ --root DIR [--tree DIR] [--structure]
    verify.py --base http://127.0.0.1:8077/ --tree DIR

--root       documents are read from files below DIR, as a web server would serve them; without it by HTTP
--tree       the resources as they are now; without it only the documents are checked
--history    a file for the states of earlier runs: a reader that stopped at one of them, and applies the changes since
             then, must arrive at the state of today; today's state is added to the file
--structure  only: well-formed, complete, every reference leads to something (after a crash)
"""
import argparse
import gzip
import hashlib
import io
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree
import zipfile

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
RS = "{http://www.openarchives.org/rs/terms/}"
ALGORITHMS = {"md5": "md5", "sha-1": "sha1", "sha-256": "sha256", "sha-384": "sha384", "sha-512": "sha512"}


class Verifier:
    def __init__(self, options):
        self.options = options
        self.base = options.base
        self.differences = []
        self.checked = {"documents": 0, "entries": 0, "packages": 0, "members": 0, "resources": 0, "digests": 0,
                        "continued": 0}
        self.states = []
        self.history = []
        if options.history and os.path.exists(options.history):
            with open(options.history, encoding="utf-8") as file:
                self.history = json.load(file)
        self.documents = {}
        self.listed = {}

    def differs(self, where, what):
        self.differences.append(f"{where}: {what}")

    # Reading

    def path_of(self, url):
        """The file behind a URL below the base."""
        rest = urllib.parse.unquote(url[len(self.base):].split("#")[0].split("?")[0], errors="surrogateescape")
        return os.path.join(self.options.root, rest)

    def fetch(self, url):
        """The bytes at a URL, or None."""
        if self.options.root and url.startswith(self.base):
            try:
                with open(self.path_of(url), "rb") as file:
                    return file.read()
            except OSError:
                return None
        if self.options.root:
            return None
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return answer.read()
        except urllib.error.URLError:
            return None

    def read(self, url, referrer):
        """A document as (root, form, metadata, links, entries); None if it is missing or no document."""
        if url in self.documents:
            return self.documents[url]
        self.documents[url] = None
        data = self.fetch(url)
        if data is None:
            self.differs(referrer, f"leads to {url}, which is not there")
            return None
        try:
            root = ElementTree.fromstring(data)
        except ElementTree.ParseError as error:
            self.differs(url, f"not well-formed: {error}")
            return None
        if root.tag not in (SITEMAP + "urlset", SITEMAP + "sitemapindex"):
            self.differs(url, f"the root is {root.tag}")
            return None
        self.checked["documents"] += 1
        document = Document(url, root)
        self.documents[url] = document
        if not document.capability:
            self.differs(url, "no capability")
        for link in document.links:
            if link.get("rel") in ("up", "index", "archives"):
                self.read(link.get("href"), url)
        return document

    # Everything that a Source Description leads to

    def source(self):
        description = self.read(self.base + ".well-known/resourcesync", "the base URL")
        for entry in description.entries if description else []:
            capabilities = self.read(entry.loc, description.url)
            if capabilities:
                self.set_of(capabilities)

    def set_of(self, capabilities):
        found = {}
        for entry in capabilities.entries:
            name = entry.metadata.get("capability")
            if name in found:
                self.differs(capabilities.url, f"{name} twice")
            found[name] = entry.loc
        changes = None
        if "changelist" in found:
            changes = self.changes(found["changelist"], capabilities.url)
        inventory = None
        if "resourcelist" in found:
            inventory = self.resource_list(found["resourcelist"], capabilities.url)
            self.compare(found["resourcelist"], inventory, changes)
            self.replay(capabilities.url, inventory, changes)
        if "resourcedump" in found:
            dumped = self.resource_dump(found["resourcedump"], capabilities.url)
            self.compare(found["resourcedump"], dumped, changes)
        if "changedump" in found:
            self.change_dump(found["changedump"], capabilities.url, changes)
        for name, url in found.items():
            if name and name.endswith("-archive"):
                self.archive(url, capabilities.url)

    def members(self, url, referrer):
        """A document, or the members of an index in order."""
        top = self.read(url, referrer)
        if top is None:
            return
        if not top.is_index:
            yield top
            return
        for entry in top.entries:
            member = self.read(entry.loc, url)
            if member is None:
                continue
            for name in ("at", "completed", "from", "until"):
                ours, theirs = entry.metadata.get(name), member.metadata.get(name)
                if ours and theirs and ours != theirs:
                    self.differs(url, f"{name} of {entry.loc} is {ours}, there {theirs}")
            if member.link("index") != url:
                self.differs(member.url, f"its index is {member.link('index')}, not {url}")
            yield member

    def resource_list(self, url, referrer):
        """(at, {uri: entry}) of a Resource List."""
        at, resources = None, {}
        for member in self.members(url, referrer):
            time = member.metadata.get("at")
            at = min(filter(None, (at, time)), default=None)
            for entry in member.entries:
                self.checked["entries"] += 1
                if entry.loc in resources:
                    self.differs(member.url, f"{entry.loc} twice")
                resources[entry.loc] = entry
        return at, resources

    def changes(self, url, referrer):
        """(from, [entry]) of the Change Lists, oldest first."""
        start, listed, end = None, [], None
        for member in self.members(url, referrer):
            begins, ends = member.metadata.get("from"), member.metadata.get("until")
            if not begins:
                self.differs(member.url, "no from")
                continue
            if start is None:
                start = begins
            elif end != begins:
                self.differs(member.url, f"begins at {begins}, the list before ends at {end}")
            end = ends
            previous = begins
            for entry in member.entries:
                self.checked["entries"] += 1
                time = entry.metadata.get("datetime")
                if not time or time < previous or (ends and time > ends):
                    self.differs(member.url, f"{entry.loc} at {time}, after {previous} in {begins} to {ends}")
                previous = time or previous
                listed.append(entry)
        return start, listed

    def replay(self, set_url, inventory, changes):
        """Continues from each earlier state that the Change Lists still reach back to."""
        if not self.options.history or changes is None or not changes[0]:
            return
        start, listed = changes
        state = self.fold(self.digests_of(inventory[1]), listed, inventory[0])
        for earlier in self.history:
            if earlier["set"] == set_url and start <= earlier["since"]:
                arrived = self.fold(earlier["state"], listed, earlier["since"])
                for uri in sorted(set(arrived) | set(state)):
                    if arrived.get(uri) != state.get(uri):
                        self.differs(uri, f"a reader from {earlier['since']} has {arrived.get(uri)}, not {state.get(uri)}")
                self.checked["continued"] += 1
        since = max([entry.metadata["datetime"] for entry in listed] + [inventory[0]])
        self.states.append({"set": set_url, "since": since, "state": state})

    def digests_of(self, resources):
        return {uri: entry.metadata.get("hash") for uri, entry in resources.items()}

    def fold(self, state, listed, since):
        """A state and the changes since a time; one at that very time may be in it already."""
        state = dict(state)
        for entry in listed:
            if entry.metadata["datetime"] >= since and entry.metadata["change"] == "deleted":
                state.pop(entry.loc, None)
            elif entry.metadata["datetime"] >= since:
                state[entry.loc] = entry.metadata.get("hash")
        return state

    # Comparing with the tree

    def compare(self, url, inventory, changes):
        if inventory is None or self.options.structure:
            return
        at, resources = inventory
        resources = dict(resources)
        if not at:
            self.differs(url, "no at")
        if changes is not None:
            start, listed = changes
            if start and at and start > at:
                self.differs(url, f"is of {at}, the Change Lists begin at {start}")
            for entry in listed:
                # A change at the very moment of the snapshot may be in it; to apply it again changes nothing.
                if at and entry.metadata.get("datetime", "") < at:
                    continue
                if entry.metadata.get("change") == "deleted":
                    resources.pop(entry.loc, None)
                else:
                    resources[entry.loc] = entry
        if self.options.tree:
            self.compare_with_tree(url, resources)

    def compare_with_tree(self, url, resources):
        for uri, entry in resources.items():
            if not uri.startswith(self.base):
                self.differs(url, f"{uri} is outside of {self.base}")
                continue
            relative = urllib.parse.unquote(uri[len(self.base):], errors="surrogateescape")
            self.listed.setdefault(url.rsplit("/", 1)[1], set()).add(relative)
            try:
                with open(os.path.join(self.options.tree, relative), "rb") as file:
                    data = file.read()
                self.checked["resources"] += 1
            except OSError:
                # A generic URI of a server stands for several files, and for none of its own.
                data = None if self.options.root else self.fetch(uri)
            if data is None:
                self.differs(url, f"{uri} is listed, and no such file exists")
            else:
                self.check(f"{url}: {uri}", entry, data, True)

    def unlisted(self):
        """Files that the inventories of no set list."""
        for folder, folders, names in os.walk(self.options.tree or os.devnull):
            folders[:] = [name for name in folders if name not in (".instep", ".well-known", "resourcesync")]
            for name in names:
                # Only a regular file is a resource.
                if os.path.islink(os.path.join(folder, name)):
                    continue
                relative = os.path.relpath(os.path.join(folder, name), self.options.tree)
                for kind, listed in self.listed.items():
                    if relative not in listed and relative != "robots.txt":
                        self.differs(kind, f"{relative} exists, and is not listed")

    def check(self, where, entry, data, may_be_coded=False):
        """Length and digests of an entry against bytes."""
        if may_be_coded and entry.metadata.get("encoding"):
            return
        length = entry.metadata.get("length")
        if length is not None and int(length) != len(data):
            self.differs(where, f"{length} bytes are listed, there are {len(data)}")
        for item in entry.metadata.get("hash", "").split():
            name, _, value = item.partition(":")
            if name not in ALGORITHMS:
                self.differs(where, f"unknown algorithm {name}")
                continue
            self.checked["digests"] += 1
            found = hashlib.new(ALGORITHMS[name], data).hexdigest()
            if found != value.lower():
                self.differs(where, f"{name} {value} is listed, it is {found}")

    # Packages

    def resource_dump(self, url, referrer):
        at, resources = None, {}
        for dump in self.members(url, referrer):
            at = min(filter(None, (at, dump.metadata.get("at"))), default=None)
            for package in dump.entries:
                manifest = self.package(dump.url, package, "resourcedump-manifest")
                for entry in manifest.entries if manifest else []:
                    if entry.loc in resources:
                        self.differs(package.loc, f"{entry.loc} in two packages")
                    resources[entry.loc] = entry
        return at, resources

    def change_dump(self, url, referrer, changes):
        known = None
        if changes and changes[0]:
            known = {(entry.loc, entry.metadata.get("change"), entry.metadata.get("datetime")) for entry in changes[1]}
        for dump in self.members(url, referrer):
            end = None
            for package in dump.entries:
                begins = package.metadata.get("from")
                if end and begins != end:
                    self.differs(dump.url, f"{package.loc} begins at {begins}, the package before ends at {end}")
                end = package.metadata.get("until")
                manifest = self.package(dump.url, package, "changedump-manifest")
                for entry in manifest.entries if manifest else []:
                    change, time = entry.metadata.get("change"), entry.metadata.get("datetime")
                    if known is not None and time and time > changes[0] and (entry.loc, change, time) not in known:
                        self.differs(package.loc, f"{change} {entry.loc} at {time} is in no Change List")

    def package(self, dump, entry, capability):
        """Checks a package; returns its manifest."""
        data = self.fetch(entry.loc)
        if data is None:
            self.differs(dump, f"leads to {entry.loc}, which is not there")
            return None
        self.checked["packages"] += 1
        self.check(f"{dump}: {entry.loc}", entry, data)
        try:
            package = zipfile.ZipFile(io.BytesIO(data))
            damaged = package.testzip()
            if damaged:
                self.differs(entry.loc, f"{damaged} is damaged")
            manifest_bytes = package.read("manifest.xml")
            manifest = Document(entry.loc + "#manifest.xml", ElementTree.fromstring(manifest_bytes))
        except (zipfile.BadZipFile, KeyError, ElementTree.ParseError) as error:
            self.differs(entry.loc, f"no package: {error}")
            return None
        if manifest.capability != capability:
            self.differs(manifest.url, f"is a {manifest.capability}")
        contents = [link.get("href") for link in entry.links if link.get("rel") == "contents"]
        for href in contents:
            copy = self.fetch(href)
            if copy is None or ElementTree.canonicalize(copy) != ElementTree.canonicalize(manifest_bytes):
                self.differs(href, f"is not the manifest of {entry.loc}")
        names = set(package.namelist()) - {"manifest.xml"}
        for line in manifest.entries:
            self.checked["entries"] += 1
            for link in line.links:
                # What a link leads to, such as a patch, may lie in the package too.
                member = link.get("path", "").lstrip("/")
                if member and member in package.namelist():
                    names.discard(member)
                    self.check(f"{manifest.url}: {member}", Linked(link), package.read(member))
                elif member:
                    self.differs(manifest.url, f"{member} of {line.loc} is not in the package")
            path = line.metadata.get("path")
            if path is None:
                if line.metadata.get("change") != "deleted":
                    self.differs(manifest.url, f"{line.loc} has no path")
                continue
            member = path.lstrip("/")
            if member not in package.namelist():
                self.differs(manifest.url, f"{path} of {line.loc} is not in the package")
                continue
            names.discard(member)
            self.checked["members"] += 1
            self.check(f"{manifest.url}: {line.loc}", line, package.read(member), True)
        for name in sorted(names):
            self.differs(manifest.url, f"{name} is in the package, and not in the manifest")
        return manifest

    def archive(self, url, referrer):
        for document in self.members(url, referrer):
            for entry in document.entries:
                self.read(entry.loc, document.url)

    # Files beside the documents

    def twins(self):
        """Each document and its compressed twin; after a crash one of them may be newer."""
        if not self.options.root or self.options.structure:
            return
        for url in self.documents:
            plain = self.path_of(url)
            if os.path.exists(plain + ".gz"):
                with gzip.open(plain + ".gz") as twin, open(plain, "rb") as file:
                    if file.read() != twin.read():
                        self.differs(url, "is not what its compressed twin is")


class Document:
    def __init__(self, url, root):
        self.url = url
        self.is_index = root.tag == SITEMAP + "sitemapindex"
        metadata = root.find(RS + "md")
        self.metadata = {} if metadata is None else metadata.attrib
        self.capability = self.metadata.get("capability")
        self.links = [link.attrib for link in root.findall(RS + "ln")]
        names = (SITEMAP + "url", SITEMAP + "sitemap")
        self.entries = [Entry(child) for child in root if child.tag in names]

    def link(self, relation):
        return next((link.get("href") for link in self.links if link.get("rel") == relation), None)


class Entry:
    def __init__(self, element):
        self.loc = (element.findtext(SITEMAP + "loc") or "").strip()
        metadata = element.find(RS + "md")
        self.metadata = {} if metadata is None else metadata.attrib
        self.links = [link.attrib for link in element.findall(RS + "ln")]


class Linked:
    """What a link says of its target."""

    def __init__(self, attributes):
        self.metadata = attributes


def main():
    parser = argparse.ArgumentParser(description="Replays a Source's documents against its files.")
    parser.add_argument("--base", required=True)
    parser.add_argument("--root")
    parser.add_argument("--tree")
    parser.add_argument("--history")
    parser.add_argument("--structure", action="store_true")
    verifier = Verifier(parser.parse_args())
    verifier.source()
    verifier.unlisted()
    verifier.twins()
    if verifier.options.history:
        with open(verifier.options.history, "w", encoding="utf-8") as file:
            json.dump(verifier.history + verifier.states, file)
    for difference in verifier.differences:
        print(difference.encode("utf-8", "backslashreplace").decode())
    print(" ".join(f"{count} {name}" for name, count in verifier.checked.items()), file=sys.stderr)
    sys.exit(1 if verifier.differences else 0)


main()
