"""Documents as XML, and back, as the reference library reads and writes them."""

from __future__ import annotations

import io
import logging
from typing import IO, Any, Iterable, Iterator, Optional
from xml.etree.ElementTree import Element, ElementTree, TreeBuilder, XMLParser, tostring

from .resource import Resource
from .resource_container import ResourceContainer

__all__ = ["Sitemap", "SitemapDupeError", "SitemapIndexError", "SitemapParseError"]

SITEMAP_NS = "http://www.sitemaps.org/schemas/sitemap/0.9"
RS_NS = "http://www.openarchives.org/rs/terms/"

#: Attributes whose names in XML are words of Python, or names of its functions.
XML_ATT_NAME = {
    "mime_type": "type",
    "md_at": "at",
    "md_completed": "completed",
    "md_from": "from",
    "md_until": "until",
}

_LINK_ATTRIBUTES = ("hash", "href", "length", "modified", "path", "rel", "pri", "mime_type")


class SitemapIndexError(Exception):
    """An index where a list was expected, or the other way round. It keeps the tree, so that it need not be read again."""

    def __init__(self, message: Optional[str] = None, etree: Any = None) -> None:
        self.message = message
        self.etree = etree

    def __str__(self) -> str:
        return str(self.message)


class SitemapParseError(Exception):
    """A document that is no Sitemap, or a broken one."""


class SitemapDupeError(Exception):
    """A resource that a document lists twice."""


class _Builder(TreeBuilder):
    """Builds a tree of a document without a DOCTYPE, which could make it grow beyond every limit."""

    def doctype(self, name: str, public: Optional[str], system: Optional[str]) -> None:
        raise SitemapParseError("A DOCTYPE is refused")


def parse(fh: Any) -> Any:
    """Read a file into a tree, without a DOCTYPE."""
    tree: Any = ElementTree()
    tree.parse(fh, parser=XMLParser(target=_Builder()))
    return tree


class Sitemap:
    """Reads and writes one document."""

    def __init__(
        self, pretty_xml: bool = False, spec_version: str = "1.1", add_lastmod: bool = False
    ) -> None:
        self.logger = logging.getLogger("resync.sitemap")
        self.pretty_xml = pretty_xml
        self.spec_1_0 = spec_version == "1.0"
        self.add_lastmod = add_lastmod
        self.resource_class = Resource
        self.resources_created = 0
        self.parsed_index: Optional[bool] = None
        self.md_att_keys = ["md_at", "capability", "change", "datetime", "md_completed", "md_from"]
        self.md_att_keys += ["hash", "length", "path", "mime_type", "md_until"]
        if self.spec_1_0:
            self.md_att_keys.remove("datetime")
        lists = ["resourcelist", "changelist", "resourcedump", "changedump"]
        self.capabilities = [*lists, "resourcedump-manifest", "changedump-manifest", "capabilitylist"]
        self.capabilities += ["description", *(f"{name}-archive" for name in lists)]

    def resources_as_xml(
        self, resources: Iterable[Any], sitemapindex: bool = False, fh: Optional[IO[str]] = None
    ) -> Optional[str]:
        """Return a document as XML, or write it to a file. ``md`` and ``ln`` of ``resources`` become its top."""
        root = Element("sitemapindex" if sitemapindex else "urlset", {"xmlns": SITEMAP_NS, "xmlns:rs": RS_NS})
        if self.pretty_xml:
            root.text = "\n"
        for link in getattr(resources, "ln", ()):
            self.add_element_with_atts_to_etree(root, "rs:ln", link)
        self.add_element_with_atts_to_etree(root, "rs:md", getattr(resources, "md", {}))
        name = "sitemap" if sitemapindex else "url"
        for resource in resources:
            root.append(self.resource_etree_element(resource, element_name=name))
        sink = io.StringIO() if fh is None else fh
        sink.write("<?xml version='1.0' encoding='UTF-8'?>\n")
        ElementTree(root).write(sink, encoding="unicode", method="xml")
        return sink.getvalue() if isinstance(sink, io.StringIO) and fh is None else None

    def parse_xml(
        self,
        fh: Optional[Any] = None,
        etree: Optional[Any] = None,
        resources: Optional[Any] = None,
        capability: Optional[str] = None,
        sitemapindex: Optional[bool] = None,
    ) -> Any:
        """Read a document into ``resources``, and return it.

        ``sitemapindex`` is the form that is expected: an index, a list, or ``None`` for either; ``parsed_index`` is the
        form that was found. A document of another ``capability`` is refused.
        """
        if resources is None:
            resources = ResourceContainer()
        if fh is not None:
            etree = parse(fh)
        elif etree is None:
            raise ValueError("Neither fh or etree set")
        root: Any = etree.getroot()
        entry = self._entry_of(root, etree, sitemapindex)
        is_top, has_md = True, False
        self.resources_created = 0
        for element in root:
            if element.tag == entry:
                is_top = False
                resources.add(self.resource_from_etree(element, self.resource_class))
                self.resources_created += 1
            elif element.tag == f"{{{RS_NS}}}md":
                if not is_top:
                    raise SitemapParseError("Found <rs:md> after first <url> in sitemap")
                if has_md:
                    raise SitemapParseError("Multiple <rs:md> at top level of sitemap")
                has_md, resources.md = True, self.md_from_etree(element, "preamble")
            elif element.tag == f"{{{RS_NS}}}ln":
                if not is_top:
                    raise SitemapParseError("Found <rs:ln> after first <url> in sitemap")
                resources.ln.append(self.ln_from_etree(element, "preamble"))
        if capability is not None:
            self._check_capability(resources.md, capability)
        return resources

    def _entry_of(self, root: Any, etree: Any, sitemapindex: Optional[bool]) -> str:
        """Return the tag of the entries, and keep the form of the document."""
        self.parsed_index = None
        if root.tag == f"{{{SITEMAP_NS}}}urlset":
            self.parsed_index = False
            if sitemapindex:
                raise SitemapIndexError("Got sitemap when expecting sitemapindex", etree)
            return f"{{{SITEMAP_NS}}}url"
        if root.tag == f"{{{SITEMAP_NS}}}sitemapindex":
            self.parsed_index = True
            if sitemapindex is not None and not sitemapindex:
                raise SitemapIndexError("Got sitemapindex when expecting sitemap", etree)
            return f"{{{SITEMAP_NS}}}sitemap"
        raise SitemapParseError(f"XML is not sitemap or sitemapindex (root element is <{root.tag}>)")

    def _check_capability(self, md: dict[str, Any], capability: str) -> None:
        if "capability" not in md:
            if capability != "resourcelist":
                message = f"Expected to read a {capability} document, but no capability specified in sitemap"
                raise SitemapParseError(message)
            self.logger.warning("No capability specified in sitemap, assuming resourcelist")
            md["capability"] = "resourcelist"
        if md["capability"] != capability:
            raise SitemapParseError(f"Expected to read a {capability} document, got {md['capability']}")

    def resource_etree_element(self, resource: Any, element_name: str = "url") -> Any:
        """Return a resource as an element."""
        element = Element(element_name)
        loc = Element("loc")
        loc.text = resource.uri
        element.append(loc)
        modified = resource.lastmod
        if modified is None and (self.spec_1_0 or self.add_lastmod):
            modified = resource.datetime
        if modified is not None:
            lastmod = Element("lastmod")
            lastmod.text = modified
            element.append(lastmod)
        held = ((name, getattr(resource, name, None)) for name in self.md_att_keys)
        md = {name: str(value) for name, value in held if value is not None}
        self.add_element_with_atts_to_etree(element, "rs:md", md, add_return=False)
        for link in getattr(resource, "ln", None) or ():
            self.add_element_with_atts_to_etree(element, "rs:ln", link)
        if self.pretty_xml:
            element.tail = "\n"
        return element

    def resource_as_xml(self, resource: Any) -> str:
        """Return a resource as XML, without declaration."""
        return tostring(self.resource_etree_element(resource), encoding="unicode", method="xml")

    def resource_from_etree(self, etree: Any, resource_class: Any) -> Any:
        """Return the resource of an element."""
        loc = self._only(etree.findall(f"{{{SITEMAP_NS}}}loc"), "loc")
        if loc is None:
            raise SitemapParseError("Missing <loc> element while parsing <url> in sitemap")
        if not loc.text:
            raise SitemapParseError("Bad <loc> element with no content while parsing <url> in sitemap")
        resource = resource_class(uri=loc.text)
        lastmod = self._only(etree.findall(f"{{{SITEMAP_NS}}}lastmod"), "lastmod")
        if lastmod is not None:
            resource.lastmod = lastmod.text
        elements = etree.findall(f"{{{RS_NS}}}md")
        if len(elements) > 1:
            raise SitemapParseError(f"Found multiple ({len(elements)}) <rs:md> elements for {loc.text}")
        if elements:
            self._set_metadata(resource, self.md_from_etree(elements[0], context=loc.text), loc.text)
        links = [self.ln_from_etree(link, loc.text) for link in etree.findall(f"{{{RS_NS}}}ln")]
        if links:
            resource.ln = links
        return resource

    def _set_metadata(self, resource: Any, md: dict[str, Any], uri: str) -> None:
        for name in ("capability", "change", "datetime", "length", "path", "mime_type"):
            if name in md:
                setattr(resource, name, md[name])
        if "hash" in md:
            try:
                resource.hash = md["hash"]
            except ValueError as error:
                self.logger.warning("%s in <rs:md> for %s" % (error, uri))

    @staticmethod
    def _only(elements: list[Any], name: str) -> Any:
        if len(elements) > 1:
            raise SitemapParseError(f"Multiple <{name}> elements while parsing <url> in sitemap")
        return elements[0] if elements else None

    def md_from_etree(self, md_element: Any, context: str = "") -> dict[str, Any]:
        """Return the attributes of ``rs:md`` that are known."""
        md: dict[str, Any] = dict(self._attributes(md_element, self.md_att_keys))
        if "capability" in md and md["capability"] not in self.capabilities:
            self.logger.warning("Unknown capability name '%s' in %s" % (md["capability"], context))
        if "change" in md and md["change"] not in ("created", "updated", "deleted"):
            raise SitemapParseError(f"Bad change attribute in <rs:md> for {context}")
        if "length" in md:
            md["length"] = self._number(md["length"], f"Invalid length element in <rs:md> for {context}")
        return md

    def ln_from_etree(self, ln_element: Any, context: str = "") -> dict[str, Any]:
        """Return the attributes of ``rs:ln`` that are known."""
        ln: dict[str, Any] = dict(self._attributes(ln_element, _LINK_ATTRIBUTES))
        for name in ("href", "rel"):
            if name not in ln:
                raise SitemapParseError(f"Missing {name} in <rs:ln> in {context}")
        if "length" in ln:
            ln["length"] = self._number(
                ln["length"], f"Invalid length attribute value in <rs:ln> for {context}"
            )
        if "pri" in ln:
            ln["pri"] = self._number(ln["pri"], f"Invalid pri attribute in <rs:ln> for {context}")
            if not 1 <= ln["pri"] <= 999_999:
                raise SitemapParseError(f"Bad pri attribute value in <rs:ln> for {context}")
        return ln

    def _attributes(self, element: Any, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        for name in names:
            value = element.attrib.get(self._xml_att_name(name))
            if value is not None:
                yield name, value

    @staticmethod
    def _number(text: str, fault: str) -> int:
        try:
            return int(text)
        except ValueError:
            raise SitemapParseError(fault) from None

    def add_element_with_atts_to_etree(
        self, etree: Any, name: str, atts: dict[str, Any], add_return: bool = True
    ) -> None:
        """Add an element with the attributes that have a value, in the order of their names; nothing if none has."""
        held = {self._xml_att_name(key): str(value) for key, value in atts.items() if value is not None}
        if held:
            element = Element(name, dict(sorted(held.items())))
            if add_return and self.pretty_xml:
                element.tail = "\n"
            etree.append(element)

    def _xml_att_name(self, att: str) -> str:
        return XML_ATT_NAME.get(att, att)
