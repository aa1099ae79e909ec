//! Random documents of every kind that follow every rule.

use proptest::prelude::{Strategy, any, prop};
use resourcesync::{
    Algorithm, Capability, Change, DateTime, Digest, Document, Entry, Link, MediaType, PackagePath, Relation,
    Uri,
    document::{
        CapabilityList, ChangeDump, ChangeDumpManifest, ChangeList, ChangeListIndex, ChangeNotification,
        ResourceDump, ResourceDumpManifest, ResourceList, ResourceListArchive, ResourceListIndex,
        SourceDescription,
    },
};

const START: i64 = 1_357_000_000_000_000;

fn time() -> impl Strategy<Value = DateTime> {
    (0..1_000_000_000i64, any::<bool>()).prop_map(|(offset, fine)| {
        if fine {
            DateTime::from_unix_micros(START + offset * 1_000)
        } else {
            DateTime::from_unix_seconds(START / 1_000_000 + offset / 1_000)
        }
    })
}

fn uri() -> impl Strategy<Value = Uri> {
    ("[a-z0-9._~!$&'()*+,;=:@%-]{0,20}", 0..1_000_000u32).prop_map(|(path, number)| {
        let path = path.replace('%', "%25");
        format!("http://example.com/{number}/{path}?a=1&b=%C3%A9").parse().expect("a URI")
    })
}

fn digests() -> impl Strategy<Value = Vec<Digest>> {
    (prop::collection::btree_set(0..3usize, 0..3), any::<[u8; 32]>()).prop_map(|(algorithms, bytes)| {
        let digest = |index: usize| {
            let algorithm = [Algorithm::Md5, Algorithm::Sha1, Algorithm::Sha256][index].clone();
            let length = algorithm.digest_bytes().unwrap_or(0);
            Digest::new(algorithm, &bytes[..length]).expect("bytes of the right length")
        };
        algorithms.into_iter().map(digest).collect()
    })
}

fn links() -> impl Strategy<Value = Vec<Link>> {
    let rel = prop::sample::select(vec![
        Relation::Duplicate,
        Relation::Collection,
        Relation::Profile,
        Relation::TimeMap,
    ]);
    let link = (rel, uri(), prop::option::of(1..1_000_000u32), prop::option::of(time())).prop_map(
        |(rel, href, pri, modified)| {
            let mut link = Link::new(rel, href);
            (link.pri, link.modified) = (pri, modified);
            link
        },
    );
    prop::collection::vec(link, 0..3)
}

/// Returns a resource with everything that may be said about one.
fn resource() -> impl Strategy<Value = Entry> {
    let media_type =
        prop::sample::select(vec!["text/html", "application/atom+xml; charset=\"utf-8\"", "image/png"]);
    (
        uri(),
        prop::option::of(time()),
        digests(),
        prop::option::of(any::<u64>()),
        prop::option::of(media_type),
        links(),
    )
        .prop_map(|(loc, lastmod, hash, length, media_type, links)| {
            let mut entry = Entry::new(loc);
            entry.lastmod = lastmod;
            entry.metadata.hash = hash.into_iter().collect();
            entry.metadata.length = length;
            entry.metadata.media_type = media_type.map(MediaType::new);
            entry.links = links;
            entry
        })
}

fn resources() -> impl Strategy<Value = Vec<Entry>> {
    prop::collection::vec(resource(), 0..6)
}

/// Changes in the order of their times; some have none.
fn changes() -> impl Strategy<Value = Vec<Entry>> {
    let kind = prop::sample::select(vec![Change::Created, Change::Updated, Change::Deleted]);
    prop::collection::vec((resource(), kind, time(), any::<bool>()), 0..6).prop_map(|mut changes| {
        changes.sort_by_key(|(_, _, time, _)| time.instant());
        let change = |(mut entry, kind, time, dated): (Entry, Change, DateTime, bool)| {
            if kind == Change::Deleted {
                entry = Entry::new(entry.loc);
            }
            entry.metadata.change = Some(kind);
            entry.metadata.datetime = dated.then_some(time);
            entry
        };
        changes.into_iter().map(change).collect()
    })
}

/// Gives each entry that has a bitstream a path of its own.
fn packed(entries: Vec<Entry>) -> Vec<Entry> {
    let pack = |(index, mut entry): (usize, Entry)| {
        if entry.metadata.change != Some(Change::Deleted) {
            entry.metadata.path = Some(PackagePath::new(&format!("/bitstreams/{index} & more")));
            entry.metadata.media_type.get_or_insert_with(|| MediaType::new("text/plain"));
        }
        entry
    };
    entries.into_iter().enumerate().map(pack).collect()
}

fn begin() -> DateTime {
    DateTime::from_unix_micros(START - 1)
}

fn end() -> DateTime {
    DateTime::from_unix_micros(START + 2_000_000_000_000)
}

pub(crate) fn any_document() -> impl Strategy<Value = Document> {
    let up = || -> Uri { "http://example.com/up.xml".parse().expect("a URI") };
    let members = || prop::collection::vec((uri(), time()), 0..5);
    let snapshot = (time(), resources(), any::<bool>()).prop_map(move |(at, entries, completed)| {
        let list = ResourceList::new(at, up()).extend(entries);
        Document::ResourceList(if completed { list.with_completed(end()) } else { list })
    });
    let manifest = (time(), resources()).prop_map(move |(at, entries)| {
        Document::ResourceDumpManifest(ResourceDumpManifest::new(at, up()).extend(packed(entries)))
    });
    let list = (changes(), any::<bool>()).prop_map(move |(entries, closed)| {
        let list = ChangeList::new(begin(), up()).extend(entries);
        Document::ChangeList(if closed { list.with_until(end()) } else { list })
    });
    let change_manifest = changes().prop_map(move |entries| {
        Document::ChangeDumpManifest(ChangeDumpManifest::new(begin(), up()).extend(packed(entries)))
    });
    let notification = changes()
        .prop_map(move |entries| Document::ChangeNotification(ChangeNotification::new(up()).extend(entries)));
    let parts = members().prop_map(move |members| {
        let entries = members.into_iter().map(|(loc, at)| {
            let mut entry = Entry::new(loc);
            entry.metadata.at = Some(at);
            entry
        });
        Document::ResourceListIndex(ResourceListIndex::new(begin(), up()).extend(entries))
    });
    let lists = members().prop_map(move |mut members| {
        members.sort_by_key(|(_, time)| time.instant());
        let entries = members.into_iter().map(|(loc, from)| {
            let mut entry = Entry::new(loc);
            entry.metadata.from = Some(from);
            entry
        });
        Document::ChangeListIndex(ChangeListIndex::new(begin(), up()).extend(entries))
    });
    let dumps = members().prop_map(move |members| {
        let empty = ResourceDump::new(begin(), up());
        let dump =
            members.into_iter().fold(empty, |dump, (loc, _)| dump.with_package(loc.clone(), 1, Some(loc)));
        Document::ResourceDump(dump)
    });
    let change_dumps = members().prop_map(move |members| {
        let empty = ChangeDump::new(begin(), up());
        Document::ChangeDump(
            members.into_iter().fold(empty, |dump, (loc, _)| dump.with_package(loc, 1, None)),
        )
    });
    let archive = members().prop_map(move |members| {
        let entries = members.into_iter().map(|(loc, at)| {
            let mut entry = Entry::new(loc);
            entry.metadata.at = Some(at);
            entry
        });
        Document::ResourceListArchive(ResourceListArchive::new(up()).extend(entries))
    });
    let capabilities = prop::collection::btree_set(0..Capability::KNOWN.len(), 0..6).prop_map(move |kinds| {
        let offer =
            |list: CapabilityList, kind: usize| list.with_capability(Capability::KNOWN[kind].clone(), up());
        Document::CapabilityList(kinds.into_iter().fold(CapabilityList::new(up()), offer))
    });
    let description = prop::collection::vec(uri(), 0..4).prop_map(|lists| {
        let describe = |description: SourceDescription, list: Uri| {
            description.with_capability_list(list.clone(), Some(list))
        };
        Document::SourceDescription(lists.into_iter().fold(SourceDescription::new(), describe))
    });
    prop::strategy::Union::new([
        snapshot.boxed(),
        manifest.boxed(),
        list.boxed(),
        change_manifest.boxed(),
        notification.boxed(),
        parts.boxed(),
        lists.boxed(),
        dumps.boxed(),
        change_dumps.boxed(),
        archive.boxed(),
        capabilities.boxed(),
        description.boxed(),
    ])
}
