//! Links as JSON, for the manifests of applications, catalogues and states of copies.

use serde::{Deserialize, Serialize};

use super::Link;
use crate::{
    document::Attribute,
    value::{DateTime, Digests, MediaType, PackagePath, Relation, Uri},
};

/// A link as JSON has it; absent attributes are left out.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct LinkJson {
    rel: String,
    href: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pri: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other: Vec<(String, String, String)>,
}

impl Link {
    /// Writes links as a JSON array of objects, each with `rel`, `href` and those attributes of Table 3 that it has.
    pub fn list_to_json(links: &[Self]) -> String {
        let written: Vec<LinkJson> = links.iter().map(Self::written).collect();
        serde_json::to_string(&written).unwrap_or_default()
    }

    /// Reads the output of [`Link::list_to_json`]. `None` if the text is no such array, or an `href` is no absolute URI.
    pub fn list_from_json(json: &str) -> Option<Vec<Self>> {
        let written: Vec<LinkJson> = serde_json::from_str(json).ok()?;
        written.into_iter().map(Self::read).collect()
    }

    fn written(&self) -> LinkJson {
        let attribute =
            |it: &Attribute| (it.namespace.to_string(), it.name.to_string(), it.value.to_string());
        LinkJson {
            rel: self.rel.as_str().to_owned(),
            href: self.href.as_str().to_owned(),
            pri: self.pri,
            encoding: self.encoding.as_deref().map(str::to_owned),
            hash: (!self.hash.is_empty()).then(|| self.hash.to_string()),
            length: self.length,
            modified: self.modified.map(|modified| modified.to_string()),
            path: self.path.as_ref().map(|path| path.as_str().to_owned()),
            media_type: self.media_type.as_ref().map(|media_type| media_type.as_str().to_owned()),
            other: self.other.iter().map(attribute).collect(),
        }
    }

    fn read(written: LinkJson) -> Option<Self> {
        let mut link = Self::new(Relation::parse(&written.rel), Uri::parse(&written.href).ok()?);
        link.pri = written.pri;
        link.encoding = written.encoding.map(Into::into);
        link.hash = written.hash.map(|hash| Digests::parse(&hash, |_| ())).unwrap_or_default();
        link.length = written.length;
        link.modified = written.modified.map(|modified| DateTime::parse(&modified)).transpose().ok()?;
        link.path = written.path.map(|path| PackagePath::new(&path));
        link.media_type = written.media_type.map(|media_type| MediaType::new(&media_type));
        let attribute =
            |(namespace, name, value): &(String, String, String)| Attribute::new(namespace, name, value);
        link.other = written.other.iter().map(attribute).collect();
        Some(link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_come_back_from_json_as_they_were() {
        let mut via = Link::new(Relation::Via, Uri::parse("http://original.example.com/res1").unwrap());
        via.modified = Some(DateTime::parse("2013-01-03T07:00:00Z").unwrap());
        via.hash = Digests::parse("md5:1584abdf8ebdc9802ac0c6a7402c03b6", |_| ());
        via.length = Some(8876);
        via.media_type = Some(MediaType::new("text/html"));
        let plain =
            Link::new(Relation::parse("license"), Uri::parse("http://licenses.example.com/by").unwrap());
        let links = vec![via, plain];
        assert_eq!(Link::list_from_json(&Link::list_to_json(&links)), Some(links));
        assert_eq!(Link::list_from_json(r#"[{"rel":"via","href":"no uri"}]"#), None);
    }
}
