"""Harvests a repository with sickle, and prints each record; used by the tests."""

import hashlib
import pathlib
import sys

import requests
from lxml import etree
from sickle import Sickle
from sickle.oaiexceptions import NoSetHierarchy

url, schemas, files = sys.argv[1:4]
schema, dublin_core = (
    etree.XMLSchema(etree.parse(pathlib.Path(schemas, name))) for name in ("responses.xsd", "dublin_core.xsd")
)
DUBLIN_CORE = "{http://www.openarchives.org/OAI/2.0/oai_dc/}dc"


def check(text, what):
    """Validates a response."""
    if not schema.validate(etree.fromstring(text)):
        sys.exit(f"{what} is not valid: {schema.error_log}\n{text.decode()}")


def digest(root):
    """Returns the digest of an element in its canonical form."""
    return hashlib.sha256(etree.tostring(root, method="c14n", exclusive=True)).hexdigest()


class Checked(Sickle):
    """Sickle, with each response validated."""

    def harvest(self, **arguments):
        response = super().harvest(**arguments)
        check(response.http_response.content, arguments)
        return response


harvester = Checked(url, timeout=60)
identity = harvester.Identify()
print("identify", identity.granularity, identity.deletedRecord)
formats = [one.metadataPrefix for one in harvester.ListMetadataFormats()]
print("formats", *formats)
try:
    print("sets", *[one.setSpec for one in harvester.ListSets()])
except NoSetHierarchy:
    print("sets")
for prefix in formats:
    headers = [header.identifier for header in harvester.ListIdentifiers(metadataPrefix=prefix)]
    records = list(harvester.ListRecords(metadataPrefix=prefix))
    if headers != [record.header.identifier for record in records]:
        sys.exit("ListIdentifiers and ListRecords differ")
    for record in records:
        root = None if record.deleted else record.xml.find("{*}metadata")[0]
        if root is not None:
            root.tail = None
            if root.tag == DUBLIN_CORE and not dublin_core.validate(etree.fromstring(etree.tostring(root))):
                sys.exit(f"{record.header.identifier} is not valid: {dublin_core.error_log}")
        state = "deleted" if root is None else digest(root)
        print("record", prefix, record.header.identifier, state, *record.header.setSpecs)
    one = harvester.GetRecord(metadataPrefix=prefix, identifier=headers[0])
    if one.header.identifier != headers[0]:
        sys.exit("GetRecord brings another record")
for file in pathlib.Path(files).iterdir():
    print("file", digest(etree.parse(file).getroot()))
for query in ["", "verb=x", "verb=Identify&x=y", "verb=ListRecords", "verb=ListRecords&metadataPrefix=none",
              "verb=ListRecords&resumptionToken=x", "verb=GetRecord&metadataPrefix=none&identifier=none",
              "verb=ListRecords&metadataPrefix=" + formats[0] + "&until=1990-01-01",
              "verb=ListRecords&metadataPrefix=" + formats[0] + "&set=none",
              "verb=ListMetadataFormats&identifier=a%20%26%20%3Cb%3E%22"]:
    answer = requests.get(f"{url}?{query}", timeout=60).content
    check(answer, query)
    print("error", etree.fromstring(answer).find("{*}error").get("code"))
