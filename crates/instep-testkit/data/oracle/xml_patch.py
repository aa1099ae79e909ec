"""Applies XML Patches (RFC 5261) with the XPath of `lxml`, which shares no code with this project.

Standard input has one case a line: {"held": text, "patch": text}. Standard output has the canonical form (C14N) of each
result, as a JSON string a line; {"next": text} gives the canonical form of a document as it is.
"""

import json
import sys

from lxml import etree

# Adjacent text is one node, as XPath has it.
PARSER = etree.XMLParser(resolve_entities=True, strip_cdata=True)


def parse(text):
    return etree.fromstring(text.encode(), PARSER).getroottree()


def add_text(parent, index, text):
    """Adds text before the child at an index."""
    if index == 0:
        parent.text = (parent.text or "") + text
    else:
        parent[index - 1].tail = (parent[index - 1].tail or "") + text


def content_of(operation):
    """Text and elements of an operation, in order."""
    parts = [operation.text] if operation.text else []
    for child in operation:
        tail, child.tail = child.tail, None
        parts.append(child)
        if tail:
            parts.append(tail)
    return parts


def insert(parent, index, parts):
    """Inserts parts before the child at an index, and returns the index after them."""
    for part in parts:
        if isinstance(part, str):
            add_text(parent, index, part)
        else:
            parent.insert(index, part)
            index += 1
    return index


def add_beside_text(target, pos, parts):
    owner = target.getparent()
    parent, index = (owner.getparent(), owner.getparent().index(owner) + 1) if target.is_tail else (owner, 0)
    rest = ""
    if pos == "before":
        rest = str(target)
        set_text(target, None)
    add_text(parent, insert(parent, index, parts), rest)


def add(target, operation):
    pos, parts = operation.get("pos"), content_of(operation)
    if pos == "prepend":
        rest, target.text = target.text, None
        add_text(target, insert(target, 0, parts), rest or "")
    elif pos in ("before", "after") and isinstance(target, str):
        add_beside_text(target, pos, parts)
    elif pos == "after":
        parent, rest, target.tail = target.getparent(), target.tail, None
        add_text(parent, insert(parent, parent.index(target) + 1, parts), rest or "")
    elif pos == "before":
        parent = target.getparent()
        insert(parent, parent.index(target), parts)
    else:
        insert(target, len(target), parts)


def set_text(target, text):
    owner = target.getparent()
    if target.is_attribute:
        owner.set(target.attrname, text)
    elif target.is_tail:
        owner.tail = text
    else:
        owner.text = text


def replace(target, operation):
    if isinstance(target, str):
        set_text(target, operation.text or "")
        return
    parent, tail, target.tail = target.getparent(), target.tail, None
    parts = content_of(operation)
    if parent is None:
        return parts[0].getroottree()
    index = parent.index(target)
    parent.remove(target)
    add_text(parent, insert(parent, index, parts), tail or "")


def remove(target):
    if isinstance(target, str):
        if target.is_attribute:
            del target.getparent().attrib[target.attrname]
        else:
            set_text(target, None)
        return
    parent, tail = target.getparent(), target.tail
    target.tail = None
    index = parent.index(target)
    parent.remove(target)
    add_text(parent, index, tail or "")


def patched(held, patch):
    tree = parse(held)
    for operation in list(parse(patch).getroot()):
        found = tree.xpath(operation.get("sel"))
        if len(found) != 1:
            raise SystemExit(f"{operation.get('sel')} selects {len(found)} nodes")
        name = etree.QName(operation).localname
        if name == "add":
            add(found[0], operation)
        elif name == "replace":
            tree = replace(found[0], operation) or tree
        else:
            remove(found[0])
    return tree


for line in sys.stdin:
    case = json.loads(line)
    tree = parse(case["next"]) if "next" in case else patched(case["held"], case["patch"])
    print(json.dumps(etree.tostring(tree, method="c14n").decode()))
