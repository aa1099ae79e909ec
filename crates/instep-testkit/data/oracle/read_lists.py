"""Reads documents with the reference implementation `resync`; prints a line for each that it cannot read as written."""
import sys
import xml.etree.ElementTree as ElementTree

from resync.resource_container import ResourceContainer
from resync.sitemap import Sitemap

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"

failed = False
for path in sys.argv[1:]:
    root = ElementTree.parse(path).getroot()
    index = root.tag == SITEMAP + "sitemapindex"
    locs = [(entry.findtext(SITEMAP + "loc") or "").strip() for entry in root if entry.tag in (SITEMAP + "url", SITEMAP + "sitemap")]
    try:
        sitemap = Sitemap()
        with open(path, encoding="utf-8") as file:
            container = sitemap.parse_xml(fh=file, sitemapindex=index, resources=ResourceContainer())
        read = [resource.uri for resource in container]
        if read != locs:
            print(f"{path}: {len(read)} entries were read, {len(locs)} are written")
            failed = True
    except Exception as error:  # whatever it is, the document could not be read
        print(f"{path}: {type(error).__name__}: {error}")
        failed = True
sys.exit(failed)
