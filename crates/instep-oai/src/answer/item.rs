//! A resource as a record: its identifier, its sets, its metadata.

use std::io::{self, Read as _};

use instep_source::{
    catalogue::{Resource, ResourceState},
    serve::SourceView,
};
use instep_store::{Obstacle, Shortage};
use resourcesync::{Decoded, Relation};
use url::Url;

use super::format::MetadataDocument;

/// The largest metadata of a record.
const MOST_BYTES: u64 = 8 << 20;

/// The names under which harvesters know a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ItemNames {
    /// That of the repository it was harvested from, else its URI.
    pub(super) identifier: String,
    /// Its format in the repository; `None` if it was not harvested.
    pub(super) prefix: Option<String>,
    pub(super) sets: Vec<String>,
    /// The URI of the repository's statements about the harvested record.
    pub(super) about: Option<String>,
}

impl ItemNames {
    /// Returns the names of a resource: those in its links to a repository, otherwise its URI.
    pub(super) fn of(uri: &str, state: &ResourceState) -> Self {
        let (mut identifier, mut prefix, mut sets, mut about) = (None, None, Vec::new(), None);
        for link in &state.links {
            let href = link.href.as_str();
            match link.rel {
                Relation::Via if href.contains("verb=GetRecord") => {
                    identifier = argument(href, "identifier");
                    prefix = argument(href, "metadataPrefix");
                }
                Relation::DescribedBy => about = about.or_else(|| Some(href.to_owned())),
                Relation::Collection if href.contains("verb=ListRecords") => {
                    sets.extend(argument(href, "set").filter(|set| is_set(set)));
                }
                _ => {}
            }
        }
        let about = about.filter(|_| prefix.is_some());
        Self { identifier: identifier.unwrap_or_else(|| uri.to_owned()), prefix, sets, about }
    }
}

fn argument(url: &str, name: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    url.query_pairs().find(|(found, _)| found == name).map(|(_, value)| value.into_owned())
}

/// Returns `true` for a text that can be a `setSpec`.
pub(super) fn is_set(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte);
    text.split(':').all(|part| !part.is_empty() && part.bytes().all(allowed))
}

/// Returns the name of a set of the Source as a `setSpec`.
pub(super) fn set_spec(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.chars().map(|c| if allowed(c) { c } else { '-' }).collect()
}

/// Returns `true` if the media type of a resource is XML.
pub(super) fn is_xml(state: &ResourceState) -> bool {
    let essence =
        state.media_type.as_ref().map_or("", |media_type| media_type.essence()).to_ascii_lowercase();
    matches!(essence.as_str(), "application/xml" | "text/xml") || essence.ends_with("+xml")
}

/// Returns `true` if a resource gets a generated description in Dublin Core. A harvested record is described by its
/// repository, and a resource with a `describedby` link by the target of the link.
pub(super) fn is_item(state: &ResourceState, harvested_as: Option<&str>) -> bool {
    harvested_as.is_none() && !state.links.iter().any(|link| link.rel == Relation::DescribedBy)
}

/// Reads the metadata of a resource; `None` if it is not metadata.
///
/// # Errors
/// If its file cannot be read.
pub(super) fn metadata(
    view: &SourceView,
    resource: &Resource,
) -> io::Result<Option<(String, MetadataDocument)>> {
    Ok(text(view, resource)?.and_then(|text| MetadataDocument::read(&text).map(|document| (text, document))))
}

/// Reads a resource that is a text of usual size; `None` if it is not.
///
/// # Errors
/// If its file cannot be read.
pub(super) fn text(view: &SourceView, resource: &Resource) -> io::Result<Option<String>> {
    if resource.state.length.is_some_and(|length| length > MOST_BYTES) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    view.open(resource)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    let mut decoded = Vec::with_capacity(bytes.len());
    let is_read = Decoded::new(&bytes[..]).and_then(|all| all.take(MOST_BYTES + 1).read_to_end(&mut decoded));
    if is_read.is_err() || decoded.len() as u64 > MOST_BYTES {
        return Ok(None);
    }
    Ok(String::from_utf8(decoded).ok())
}

/// Returns what reading a file has shown, unless this process could open no further file: that passes, and shows nothing about
/// the file.
///
/// # Errors
/// The shortage.
pub(super) fn unless_short<T>(read: io::Result<T>) -> io::Result<io::Result<T>> {
    match read {
        Err(error) if Shortage::behind(&error).is_some() => Err(error),
        read => Ok(read),
    }
}

/// Returns the content of a file for a response; `None` if it has none that can be used, or is gone. Any other fault may pass: a
/// response without the record would be taken for complete, and no later list has it.
///
/// # Errors
/// A fault that shows nothing about the file.
pub(super) fn unless_failing<T>(read: io::Result<Option<T>>) -> io::Result<Option<T>> {
    match read {
        Err(error) if is_absence(&error) => Ok(None),
        read => read,
    }
}

/// Returns `true` for the error of reading a file that is not there, or is not for everybody. Any other one is a fault of a
/// disk or of another host, and shows nothing about the file.
pub(super) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
        || Obstacle::of(error).is_some()
}

#[cfg(test)]
mod tests {
    use resourcesync::{Link, Uri};
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn o448_a_lack_of_descriptors_shows_nothing_about_a_record() {
        let of = |errno: Errno| unless_short(Err::<(), _>(io::Error::from(errno)));
        assert!(of(Errno::MFILE).is_err() && of(Errno::NFILE).is_err());
        assert!(of(Errno::NOENT).is_ok_and(|read| read.is_err()), "it is gone");
        assert!(unless_short(Ok(7)).is_ok_and(|read| read.is_ok_and(|read| read == 7)));
    }

    #[test]
    fn o674_a_record_is_not_left_out_of_a_response_for_a_fault_of_the_disk() {
        let of = |errno: Errno| unless_failing(Err::<Option<()>, _>(io::Error::from(errno)));
        assert!(of(Errno::IO).is_err() && of(Errno::STALE).is_err() && of(Errno::MFILE).is_err());
        assert!(of(Errno::NOENT).is_ok_and(|content| content.is_none()), "it is gone");
        assert!(of(Errno::ACCESS).is_ok_and(|content| content.is_none()), "it is not for everybody");
        assert!(unless_failing(Ok(Some(7))).is_ok_and(|content| content == Some(7)));
    }

    #[test]
    fn a_harvested_record_keeps_its_identifier_and_any_other_resource_has_its_uri() {
        let mut state = ResourceState::new();
        assert_eq!(ItemNames::of("http://x/a.xml", &state).identifier, "http://x/a.xml");
        let link = |rel, href: &str| Link::new(rel, Uri::parse(href).unwrap());
        state.links = vec![
            link(Relation::Via, "https://r/oai?verb=GetRecord&identifier=oai%3Ar%3A1&metadataPrefix=mods"),
            link(Relation::Collection, "https://r/oai?verb=ListRecords&metadataPrefix=mods&set=a%3Ab"),
            link(Relation::Collection, "https://r/oai?verb=ListRecords&metadataPrefix=mods&set=a%20b"),
            link(Relation::Collection, "https://r/all"),
        ];
        let names = ItemNames::of("http://x/a.xml", &state);
        assert_eq!(names.identifier, "oai:r:1");
        assert_eq!((names.prefix.as_deref(), names.sets), (Some("mods"), vec!["a:b".to_owned()]));
        assert_eq!(names.about, None);
        state.links.push(link(Relation::DescribedBy, "http://x/about.xml"));
        assert_eq!(ItemNames::of("http://x/a.xml", &state).about.as_deref(), Some("http://x/about.xml"));
        assert!(!is_item(&state, None));
        assert_eq!(set_spec("a b/c"), "a-b-c");
    }
}
