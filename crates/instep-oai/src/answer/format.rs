//! The format of a resource: its root element, the namespace, and the prefix under which it is known. PURE.

use std::ops::Range;

use quick_xml::{
    NsReader,
    events::{BytesStart, Event},
    name::ResolveResult,
};

use crate::well_formed::{check_content, check_resolved_names, check_tag, is_allowed};

/// The deepest metadata that a response can carry. libxml2 refuses documents of more than 256 levels, and the response
/// adds some of its own.
const DEEPEST: u32 = 240;
/// The most attributes of a tag: each may have to be compared with all others.
const MOST_ATTRIBUTES: usize = 1_000;
/// The namespace of responses; resources in it are parts of other repositories' responses.
pub(super) const OAI: &str = "http://www.openarchives.org/OAI/2.0/";
const INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// Namespaces with the prefix that repositories use, and the schema.
const KNOWN: [(&str, &str, &str); 10] = [
    (
        "http://www.openarchives.org/OAI/2.0/oai_dc/",
        "oai_dc",
        "http://www.openarchives.org/OAI/2.0/oai_dc.xsd",
    ),
    (
        "http://www.loc.gov/MARC21/slim",
        "marc21",
        "http://www.loc.gov/standards/marcxml/schema/MARC21slim.xsd",
    ),
    ("http://www.loc.gov/mods/v3", "mods", "http://www.loc.gov/standards/mods/v3/mods.xsd"),
    ("http://www.loc.gov/METS/", "mets", "http://www.loc.gov/standards/mets/mets.xsd"),
    (
        "http://datacite.org/schema/kernel-4",
        "datacite",
        "http://schema.datacite.org/meta/kernel-4/metadata.xsd",
    ),
    ("http://www.lido-schema.org", "lido", "http://www.lido-schema.org/schema/v1.1/lido-v1.1.xsd"),
    ("urn:isbn:1-931666-22-9", "ead", "http://www.loc.gov/ead/ead.xsd"),
    (
        "http://www.tei-c.org/ns/1.0",
        "tei",
        "http://www.tei-c.org/release/xml/tei/custom/schema/xsd/tei_all.xsd",
    ),
    ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf", "http://www.openarchives.org/OAI/2.0/rdf.xsd"),
    ("http://www.w3.org/2005/Atom", "atom", "http://www.kbcafe.com/rss/atom.xsd.xml"),
];

/// A metadata format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordFormat {
    pub(super) prefix: String,
    pub(super) namespace: String,
    /// The URL of the schema; empty without one.
    pub(super) schema: String,
}

/// An XML document that can be the metadata of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MetadataDocument {
    pub(super) format: RecordFormat,
    /// The root element.
    pub(super) root: Range<usize>,
}

impl MetadataDocument {
    /// Reads a document. `None` if it is not well-formed, needs its DOCTYPE, or is itself a part of a response.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut reader = NsReader::from_str(text);
        reader.config_mut().check_comments = true;
        let (mut depth, mut found, mut start) = (0_u32, None, 0);
        loop {
            let at = reader.buffer_position() as usize;
            match reader.read_event().ok()? {
                Event::Start(tag) => {
                    check(&reader, &tag)?;
                    if depth == 0 {
                        (start, found) = (at, Some(root(&reader, &tag, found)?));
                    }
                    depth += 1;
                    if depth > DEEPEST {
                        return None;
                    }
                }
                Event::Empty(tag) => {
                    check(&reader, &tag)?;
                    if depth == 0 {
                        let mut document = root(&reader, &tag, found)?;
                        document.root = at..reader.buffer_position() as usize;
                        found = Some(document);
                    }
                }
                Event::End(_) => {
                    depth = depth.checked_sub(1)?;
                    if let Some(document) = found.as_mut().filter(|_| depth == 0) {
                        document.root = start..reader.buffer_position() as usize;
                    }
                }
                Event::Text(text) if depth == 0 && !text.trim_ascii().is_empty() => return None,
                Event::GeneralRef(_) | Event::CData(_) if depth == 0 => return None,
                // A DOCTYPE is accepted, but entities that it declares are unknown in the document.
                Event::DocType(_) if depth == 0 && found.is_none() => {}
                Event::Decl(_) if at == 0 => {}
                Event::Eof if depth == 0 => return found.filter(|_| text.chars().all(is_allowed)),
                Event::Eof => return None,
                event => check_content(&event).ok()?,
            }
        }
    }
}

/// Returns `None` if a prefix of a tag is declared nowhere, or an attribute is not well-formed or one of too many.
pub(super) fn check(reader: &NsReader<&[u8]>, tag: &BytesStart<'_>) -> Option<()> {
    if tag.attributes().with_checks(false).nth(MOST_ATTRIBUTES).is_some() {
        return None;
    }
    check_tag(tag).ok()?;
    if matches!(reader.resolver().resolve_element(tag.name()).0, ResolveResult::Unknown(_)) {
        return None;
    }
    for attribute in tag.attributes() {
        let (resolved, _) = reader.resolver().resolve_attribute(attribute.ok()?.key);
        if matches!(resolved, ResolveResult::Unknown(_)) {
            return None;
        }
    }
    check_resolved_names(reader, tag).ok()
}

fn root(
    reader: &NsReader<&[u8]>,
    tag: &BytesStart<'_>,
    before: Option<MetadataDocument>,
) -> Option<MetadataDocument> {
    let (resolved, local) = reader.resolver().resolve_element(tag.name());
    let namespace = match resolved {
        ResolveResult::Bound(namespace) => namespace.into_inner().to_owned(),
        _ => String::new(),
    };
    // A document has one root element.
    if before.is_some() || namespace == OAI {
        return None;
    }
    let known = KNOWN.iter().find(|(known, ..)| *known == namespace);
    let stated = || stated_schema(reader, tag, &namespace);
    let (prefix, schema) = match known {
        Some((_, prefix, schema)) => ((*prefix).to_owned(), stated().unwrap_or_else(|| (*schema).to_owned())),
        None => (prefix_of(local.into_inner()), stated().unwrap_or_default()),
    };
    Some(MetadataDocument { format: RecordFormat { prefix, namespace, schema }, root: 0..0 })
}

/// Returns the schema that the root names for its own namespace.
fn stated_schema(reader: &NsReader<&[u8]>, tag: &BytesStart<'_>, namespace: &str) -> Option<String> {
    let attribute = tag.attributes().flatten().find(|attribute| {
        let (resolved, local) = reader.resolver().resolve_attribute(attribute.key);
        matches!(resolved, ResolveResult::Bound(bound) if bound.as_ref() == INSTANCE)
            && local.into_inner() == "schemaLocation"
    })?;
    let words: Vec<&str> = attribute.value.split_ascii_whitespace().collect();
    words.chunks_exact(2).find(|pair| pair[0] == namespace).map(|pair| pair[1].to_owned())
}

/// Returns a prefix for a format without a known name.
fn prefix_of(local: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let prefix: String = local.chars().filter(|c| allowed(*c)).collect();
    if prefix.is_empty() { "xml".to_owned() } else { prefix }
}

#[cfg(test)]
mod tests {
    use super::{MetadataDocument, RecordFormat};

    #[test]
    fn a_document_shows_its_format_and_where_its_root_is() {
        let text = "<?xml version=\"1.0\"?>\n<!-- c --><m:mods xmlns:m=\"http://www.loc.gov/mods/v3\" \
                    xmlns:i=\"http://www.w3.org/2001/XMLSchema-instance\" i:schemaLocation=\"a b http://www.loc.gov/mods/v3 s\">x</m:mods>\n";
        let found = MetadataDocument::read(text).unwrap();
        assert_eq!((found.format.prefix.as_str(), found.format.schema.as_str()), ("mods", "s"));
        assert!(text[found.root.clone()].starts_with("<m:mods") && text[found.root].ends_with("</m:mods>"));
        let own = MetadataDocument::read("<thing xmlns='urn:x'/>").unwrap();
        let [prefix, namespace, schema] = ["thing", "urn:x", ""].map(str::to_owned);
        assert_eq!(own.format, RecordFormat { prefix, namespace, schema });
        assert_eq!(own.root, 0..22);
    }

    #[test]
    fn what_cannot_stand_in_a_response_is_no_metadata() {
        for text in [
            "",
            "text",
            "<a>",
            "<a></b>",
            "<a/><b/>",
            "<x:a/>",
            "<a x:b='1'/>",
            "<a b='1' b='2'/>",
            "<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>",
            "<a>\u{1}</a>",
            "<record xmlns='http://www.openarchives.org/OAI/2.0/'/>",
        ] {
            assert_eq!(MetadataDocument::read(text), None, "{text}");
        }
    }

    #[test]
    fn o360_a_document_that_would_make_the_whole_list_unreadable_is_no_metadata() {
        for text in [
            "<1/>",
            "<.a/>",
            "<a\u{d7}/>",
            "<a:b:c xmlns:a='u'/>",
            "<a: xmlns:a='u'/>",
            "<></>",
            "<a b='1'c='2'/>",
            "<a 1b='x'/>",
            "<a b='&#xFFFE;'/>",
            "<a>&#xFFFE;</a>",
            "<a>x ]]> y</a>",
            "<a><?xml version='1.0'?></a>",
            "<a><?XmL x?></a>",
            "<a><?a:b c?></a>",
            "<a><? x?></a>",
            "<a xmlns='http://www.w3.org/XML/1998/namespace'/>",
            "<a xmlns:xmlns='u'/>",
            "<a xmlns:xml='u'/>",
            "<p:a xmlns:p=''/>",
            "<a xmlns:p='u' xmlns:q='u' p:b='1' q:b='2'/>",
            "<a/>text",
            "<![CDATA[x]]><a/>",
            &format!("{}{}", "<a>".repeat(1_000), "</a>".repeat(1_000)),
        ] {
            assert_eq!(MetadataDocument::read(text), None, "{text}");
        }
        for text in [
            "<é xml:lang='x' b = \"y'>\" />",
            "<a xmlns:p='u' xmlns:q='v' p:b='1' q:b='2'><?x y?>]]&gt;<![CDATA[ ]] > ]]></a>",
            "<a xmlns:xml='http://www.w3.org/XML/1998/namespace' xmlnsx='1'/>",
        ] {
            assert!(MetadataDocument::read(text).is_some(), "{text}");
        }
    }

    #[test]
    fn o882_a_document_with_many_attributes_in_one_tag_is_no_metadata_and_costs_no_time() {
        let tag = |number: usize| {
            // If a name has two prefixes, each attribute is compared with all others.
            let attributes: String = (0..number).map(|number| format!(" p:a{number}=''")).collect();
            MetadataDocument::read(&format!("<a xmlns:p='u' xmlns:q='v' q:a0=''{attributes}/>"))
        };
        assert!(tag(997).is_some());
        assert_eq!(tag(998), None);
        assert_eq!(tag(500_000), None);
    }
}
