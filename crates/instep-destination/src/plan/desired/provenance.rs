//! Provenance: metadata of the Source that a copy would not keep otherwise, as a `via` link that the copy repeats
//! when it is republished (LN-21). Most resources need none, so it is made as late as possible.

use std::borrow::Cow;

use resourcesync::{Digests, Entry, Link, Relation, Uri};

use crate::plan::ResourceMetadata;

/// Returns the link for metadata of an entry that no plan keeps: a content coding, and digests of algorithms that
/// cannot be computed here. `None` if there is none, or if the entry leads to an earlier Source (LN-22).
pub(super) fn of_entry(uri: &Uri, entry: &Entry) -> Option<Link> {
    let metadata = &entry.metadata;
    let is_kept_whole = metadata.hash.iter().count() == metadata.hash.verifiable().count();
    if is_kept_whole && metadata.encoding.is_none() || entry.link_for(&Relation::Via).is_some() {
        return None;
    }
    let mut via = Link::new(Relation::Via, uri.clone());
    via.modified = entry.lastmod;
    via.hash = metadata.hash.clone();
    via.length = metadata.length;
    via.encoding.clone_from(&metadata.encoding);
    via.media_type.clone_from(&metadata.media_type);
    Some(via)
}

/// Returns the links to keep with bytes whose own digests are `held`: the desired ones, and the provenance if several
/// digests are stated and some of them were not computed.
pub(super) fn links_beside<'a>(uri: &Uri, desired: &'a ResourceMetadata, held: &Digests) -> Cow<'a, [Link]> {
    let ResourceMetadata { digests: stated, links, .. } = desired;
    let is_kept = |digest| held.iter().any(|held| held == digest);
    if stated.iter().nth(1).is_none()
        || stated.iter().all(is_kept)
        || links.iter().any(|link| link.rel == Relation::Via)
    {
        return Cow::Borrowed(links);
    }
    let mut via = Link::new(Relation::Via, uri.clone());
    via.modified = desired.lastmod;
    via.hash = stated.clone();
    via.length = desired.length;
    via.media_type.clone_from(&desired.media_type);
    Cow::Owned(links.iter().cloned().chain([via]).collect())
}

#[cfg(test)]
mod tests {
    use resourcesync::{DateTime, MediaType};

    use super::*;

    const MD5: &str = "md5:1584abdf8ebdc9802ac0c6a7402c03b6";

    fn digests(text: &str) -> Digests {
        Digests::parse(text, |_| {})
    }

    /// Returns the `via` link that is kept for an entry whose bytes have these digests.
    fn via(entry: &Entry, held: &Digests) -> Option<Link> {
        let mut desired = ResourceMetadata::new();
        desired.digests = entry.metadata.hash.clone();
        (desired.lastmod, desired.length) = (entry.lastmod, entry.metadata.length);
        desired.media_type.clone_from(&entry.metadata.media_type);
        desired.links = entry.links.iter().cloned().chain(of_entry(&entry.loc, entry)).collect();
        let links = links_beside(&entry.loc, &desired, held);
        links.iter().find(|link| link.rel == Relation::Via).cloned()
    }

    #[test]
    fn a14_what_a_copy_would_not_keep_of_an_entry_is_kept_as_its_provenance() {
        let sha = format!("sha-256:{}", "0a".repeat(32));
        let (both, strongest) = (digests(&format!("{MD5} {sha}")), digests(&sha));
        let mut entry = Entry::new(Uri::parse("http://example.com/a").unwrap());
        entry.metadata.hash = digests(MD5);
        assert_eq!(via(&entry, &digests(MD5)), None, "one digest is kept as it is");
        entry.metadata.hash = both.clone();
        assert_eq!(via(&entry, &both), None, "both were computed");
        entry.lastmod = Some(DateTime::parse("2013-01-03T07:00:00Z").unwrap());
        entry.metadata.media_type = Some(MediaType::new("text/plain"));
        let kept = via(&entry, &strongest).unwrap();
        assert_eq!((kept.href.as_str(), &kept.hash), ("http://example.com/a", &both));
        assert_eq!((kept.modified, &kept.media_type), (entry.lastmod, &entry.metadata.media_type));
        let mut earlier = entry.clone();
        earlier.links.push(Link::new(Relation::Via, Uri::parse("http://first.example.com/a").unwrap()));
        assert_eq!(via(&earlier, &strongest).unwrap().href.as_str(), "http://first.example.com/a");
    }

    #[test]
    fn a14_a_content_coding_and_digests_of_unknown_algorithms_are_provenance_from_the_beginning() {
        let mut entry = Entry::new(Uri::parse("http://example.com/a").unwrap());
        entry.metadata.hash = digests(MD5);
        entry.metadata.encoding = Some("gzip".into());
        assert_eq!(via(&entry, &digests(MD5)).unwrap().encoding.as_deref(), Some("gzip"));
        entry.metadata.encoding = None;
        entry.metadata.hash = digests(&format!("{MD5} whirlpool:00"));
        assert_eq!(via(&entry, &digests(MD5)).unwrap().hash, entry.metadata.hash);
    }
}
