//! The links of a resource that is published again: a link to its origin, and those of its links that are still true
//! (§14.8).

use std::io;

use instep_destination::{Contents, HeldResource, ResourceMetadata};
use resourcesync::{Link, Relation, Uri};

/// The links of a resource: those that are published as they are, and those to resources of the same copy, each with
/// the path of its target.
type SplitLinks = (Vec<Link>, Vec<(Link, Vec<u8>)>);

/// Returns the links of a held resource.
///
/// Errors: the state of the copy cannot be read.
pub(super) fn links(held: &HeldResource, contents: &Contents) -> io::Result<SplitLinks> {
    links_of(&held.uri, &held.metadata, |uri| {
        let target = contents.of(uri).map_err(io::Error::other)?;
        Ok(target.map(|target| target.path.as_str().as_bytes().to_vec()))
    })
}

/// Returns the links of a resource (LN-21 to LN-23). `path_of` returns the path of a URI in the copy; `None` if the
/// copy does not have it.
fn links_of(
    uri: &Uri,
    metadata: &ResourceMetadata,
    path_of: impl Fn(&str) -> io::Result<Option<Vec<u8>>>,
) -> io::Result<SplitLinks> {
    let mut links = vec![via(uri, metadata)];
    let mut siblings = Vec::new();
    for link in &metadata.links {
        match treatment(&link.rel) {
            LinkTreatment::Dropped => {}
            LinkTreatment::Kept => links.push(link.clone()),
            LinkTreatment::Follows { kept_alone } => match path_of(link.href.as_str())? {
                Some(path) => siblings.push((here(link), path)),
                None if kept_alone => links.push(link.clone()),
                None => {}
            },
        }
    }
    Ok((links, siblings))
}

/// Returns the one `via` link to the resource at its original Source: the link that came with the resource, or else a
/// link to the URI that it was fetched from. Earlier drafts of the standard added a link per hop; of several links, the
/// oldest is that to the origin.
fn via(uri: &Uri, metadata: &ResourceMetadata) -> Link {
    let came = metadata.links.iter().filter(|link| link.rel == Relation::Via);
    let age = |link: &&Link| link.modified.map_or(i64::MAX, |modified| modified.unix_micros());
    came.min_by_key(age).cloned().unwrap_or_else(|| {
        let mut via = Link::new(Relation::Via, uri.clone());
        via.modified = metadata.lastmod;
        via.hash = metadata.digests.clone();
        via.length = metadata.length;
        via.media_type.clone_from(&metadata.media_type);
        via
    })
}

/// The treatment of a link that the Source of the copy stated.
enum LinkTreatment {
    /// The link is true of the copy too.
    Kept,
    /// The link leads to its target in the copy; without one there it is dropped, or kept if `kept_alone`.
    Follows { kept_alone: bool },
    /// The link is true of the upstream resource only, or this cannot be known.
    Dropped,
}

fn treatment(rel: &Relation) -> LinkTreatment {
    match rel {
        Relation::DescribedBy | Relation::Describes => LinkTreatment::Follows { kept_alone: true },
        Relation::Alternate => LinkTreatment::Follows { kept_alone: false },
        Relation::Profile => LinkTreatment::Kept,
        Relation::Other(name) if &**name == "license" => LinkTreatment::Kept,
        // Collections, canonical URIs, TimeGates and mirrors belong to the upstream resource: its mirrors change with
        // it while this copy still serves its own version.
        _ => LinkTreatment::Dropped,
    }
}

/// Returns a link to a target in the copy, without the digests and times of the original target.
fn here(link: &Link) -> Link {
    let mut here = Link::new(link.rel.clone(), link.href.clone());
    here.media_type.clone_from(&link.media_type);
    here.pri = link.pri;
    here
}

#[cfg(test)]
mod tests {
    use resourcesync::{DateTime, MediaType};

    use super::*;

    fn uri(text: &str) -> Uri {
        Uri::parse(text).unwrap()
    }

    fn published(metadata: &ResourceMetadata) -> SplitLinks {
        let held = |uri: &str| Ok(uri.starts_with("http://b/").then(|| uri["http://b/".len()..].into()));
        links_of(&uri("http://b/res1"), metadata, held).unwrap()
    }

    #[test]
    fn ln_21_a_resource_from_its_origin_gets_a_via_link_with_the_metadata_of_the_origin() {
        let mut metadata = ResourceMetadata::new();
        metadata.lastmod = Some(DateTime::parse("2013-01-03T07:00:00Z").unwrap());
        metadata.length = Some(8876);
        metadata.media_type = Some(MediaType::new("text/html"));
        let (links, _) = published(&metadata);
        let [via] = links.as_slice() else { panic!("{links:?}") };
        assert_eq!((&via.rel, via.href.as_str()), (&Relation::Via, "http://b/res1"));
        assert_eq!((via.modified, via.length), (metadata.lastmod, metadata.length));
        assert_eq!(via.media_type, metadata.media_type);
    }

    #[test]
    fn ln_22_a_via_link_that_came_with_a_resource_stays_the_only_one() {
        let via = |href: &str, modified: &str| {
            let mut link = Link::new(Relation::Via, uri(href));
            link.modified = Some(DateTime::parse(modified).unwrap());
            link
        };
        let mut metadata = ResourceMetadata::new();
        // Two links, one for each hop, as in earlier drafts.
        metadata.links = vec![via("http://a2/res1", "2013-01-04"), via("http://a/res1", "2013-01-03")];
        assert_eq!(published(&metadata).0, vec![via("http://a/res1", "2013-01-03")]);
    }

    #[test]
    fn ln_23_links_that_are_no_longer_true_are_dropped_and_links_within_the_copy_lead_to_the_copy() {
        let link = |rel: &str, href: &str| Link::new(Relation::parse(rel), uri(href));
        let mut metadata = ResourceMetadata::new();
        metadata.links = vec![
            link("collection", "http://b/all"),
            link("canonical", "http://b/res1"),
            link("duplicate", "http://mirror/res1"),
            link("timegate", "http://b/timegate/res1"),
            link("alternate", "http://elsewhere/res1.html"),
            link("describedby", "http://b/res1.xml"),
            link("describes", "http://elsewhere/thing"),
            link("profile", "http://purl.org/dc/terms/"),
            link("http://example.com/relation", "http://b/other"),
        ];
        let (links, siblings) = published(&metadata);
        let rels: Vec<_> = links.iter().map(|link| link.rel.as_str()).collect();
        assert_eq!(rels, ["via", "describes", "profile"]);
        let siblings: Vec<_> = siblings.iter().map(|(link, path)| (link.rel.as_str(), &path[..])).collect();
        assert_eq!(siblings, [("describedby", &b"res1.xml"[..])]);
    }
}
