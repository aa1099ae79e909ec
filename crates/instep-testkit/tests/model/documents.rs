//! Writes the documents of a Source as text, and returns the claims that each of them makes.

mod changes;
mod entries;
mod heads;
mod inventories;

use std::collections::BTreeMap;

use crate::{
    oddities::Oddities,
    source::{Clock, Event, Set, Source},
    style::{Changes, Dialect, Start, Style, Written},
};

/// A statement about a resource: a version, or `None` if it was deleted, as of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) resource: usize,
    pub(crate) time: i64,
    pub(crate) version: Option<u32>,
}

/// Claims that can be read if all of some paths can be read.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The paths.
    pub(crate) needs: Vec<String>,
    /// A path that can replace the last of these paths: the copy of a manifest that is also in a package.
    pub(crate) or: Option<String>,
    pub(crate) claims: Vec<Claim>,
}

impl Part {
    /// Returns `true` if the claims can be read although some paths are broken.
    pub(crate) fn is_whole(&self, is_broken: &dyn Fn(&str) -> bool) -> bool {
        let others = &self.needs[..self.needs.len() - 1];
        let last = self.needs.last().into_iter().chain(&self.or);
        !others.iter().any(|path| is_broken(path)) && !last.into_iter().all(|path| is_broken(path))
    }
}

/// All resources as of a time.
#[derive(Clone, Debug)]
pub(crate) struct Inventory {
    pub(crate) at: i64,
    pub(crate) parts: Vec<Part>,
}

/// Everything that is published of a set.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    pub(crate) inventories: Vec<Inventory>,
    pub(crate) changes: Vec<Part>,
    /// The time since which every change is listed.
    pub(crate) covered_from: i64,
    /// Older changes in an archive, which a Destination reads only if they close a gap.
    pub(crate) archived: Vec<Part>,
    /// The time since which every change is listed, here or in the archive.
    pub(crate) archived_from: i64,
    /// `true` if the documents state which times they cover.
    pub(crate) certain: bool,
}

impl Offer {
    /// Returns `true` if changes since the inventory name a resource and delete it again.
    fn takes_back(&self) -> bool {
        let at = self.inventories.iter().map(|inventory| inventory.at).max();
        let claims = || self.changes.iter().chain(&self.archived).flat_map(|part| &part.claims);
        claims().filter(|named| named.version.is_some() && Some(named.time) > at).any(|named| {
            let is_later = |claim: &Claim| claim.resource == named.resource && claim.time > named.time;
            claims().any(|claim| claim.version.is_none() && is_later(claim))
        })
    }
}

/// The documents and resources that a Source serves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Site {
    pub(crate) pages: BTreeMap<String, Vec<u8>>,
    /// The offer of each set.
    pub(crate) offers: Vec<Offer>,
    /// The path of the URL that the Destination is given.
    pub(crate) start: String,
}

impl Site {
    /// Returns `true` if changes since an inventory name a resource and delete it again.
    pub(crate) fn takes_back(&self) -> bool {
        self.offers.iter().any(Offer::takes_back)
    }
}

/// Renders all documents of a Source at this base URL, and its resources.
pub(crate) fn render(source: &Source, oddities: &Oddities, seed: u64, base: &str) -> Site {
    let mut site = Site::default();
    for set in &source.sets {
        let mut writer = Writer {
            style: &source.style,
            oddities,
            set,
            clock: &source.clock,
            seed,
            base,
            pages: &mut site.pages,
        };
        let offer = writer.write_set();
        site.offers.push(offer);
        for (resource, event) in set.state_at(i64::MAX).iter().enumerate() {
            if let Some(Event { version: Some(version), .. }) = event {
                let bytes = body(&source.style, seed, set, resource, *version);
                site.pages.insert(set.path(resource), bytes);
            }
        }
    }
    write_description(source, oddities, seed, base, &mut site);
    site
}

/// Returns the bytes of a version of a resource.
pub(crate) fn body(style: &Style, seed: u64, set: &Set, resource: usize, version: u32) -> Vec<u8> {
    let text = format!("{} version {version:04}\n", set.path(resource));
    if style.same_length {
        return text.into_bytes();
    }
    let extra = usize::try_from(roll(seed, &text) % 200).unwrap();
    (text + &"x".repeat(extra)).into_bytes()
}

/// Returns a number that depends only on a seed and a text, so that a document that is rendered again is the same.
fn roll(seed: u64, text: &str) -> u64 {
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash = seed.to_le_bytes().into_iter().chain(text.bytes()).fold(0xcbf2_9ce4_8422_2325, fnv);
    (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}

fn write_description(source: &Source, oddities: &Oddities, seed: u64, base: &str, site: &mut Site) {
    let Source { style, sets, clock, .. } = source;
    let set = &sets[0];
    if style.dialect == Dialect::Sitemap {
        site.start = "resourcelist.xml".to_owned();
        return;
    }
    let writer = Writer { style, oddities, set, clock, seed, base, pages: &mut site.pages };
    let is_index = matches!(style.dialect, Dialect::V0_5 | Dialect::DLib);
    let capability = match style.dialect {
        Dialect::V0_9 => "resourcesync",
        Dialect::V0_5 | Dialect::DLib => "capabilitylist",
        _ => "description",
    };
    let named = sets.iter().enumerate().filter(|(number, _)| source.vanished != Some(*number));
    let entries: String = named
        .map(|(_, set)| {
            let (element, p) = (if is_index { "sitemap" } else { "url" }, style.prefix);
            let loc = format!("{base}{}capabilitylist.xml", set.folder);
            format!("<{element}><loc>{loc}</loc><{p}:md capability=\"capabilitylist\"/></{element}>\n")
        })
        .collect();
    let text = writer.document(is_index, &[("capability", capability.to_owned())], &[], &entries);
    site.pages.insert(".well-known/resourcesync".to_owned(), text);
    site.start = match style.start {
        Start::Root => String::new(),
        Start::Description => ".well-known/resourcesync".to_owned(),
        Start::CapabilityList => format!("{}capabilitylist.xml", set.folder),
        Start::ResourceList => format!("{}resourcelist.xml", set.folder),
    };
}

/// Writes the documents of one set.
struct Writer<'a> {
    style: &'a Style,
    oddities: &'a Oddities,
    set: &'a Set,
    clock: &'a Clock,
    seed: u64,
    base: &'a str,
    pages: &'a mut BTreeMap<String, Vec<u8>>,
}

type Attributes = Vec<(&'static str, String)>;

impl Writer<'_> {
    fn write_set(&mut self) -> Offer {
        let style = self.style;
        let mut capabilities = Vec::new();
        let mut inventories = Vec::new();
        if style.list {
            capabilities.push("resourcelist");
            inventories.push(self.write_resource_list());
        }
        if style.dump {
            capabilities.push("resourcedump");
            inventories.push(self.write_resource_dump());
        }
        let mut changes = Vec::new();
        if style.changes != Changes::None {
            capabilities.push("changelist");
            changes.extend(self.write_change_lists());
        }
        if style.change_dump {
            capabilities.push("changedump");
            changes.extend(self.write_change_dump());
        }
        let covered_from = self.set.segments[0].from;
        let (mut archived, mut archived_from) = (Vec::new(), covered_from);
        if style.archive && style.changes != Changes::None && !self.set.archived.is_empty() {
            capabilities.push("changelist-archive");
            archived = self.write_archive();
            archived_from = self.set.archived[0].from;
        }
        self.write_capability_list(&capabilities);
        let always = |written: &[Written]| written.iter().all(|one| *one == Written::Always);
        let certain = always(&[style.at, style.from, style.member_from, style.member_until, style.datetime])
            && !matches!(style.dialect, Dialect::V0_5 | Dialect::DLib | Dialect::Sitemap);
        Offer { inventories, changes, covered_from, archived, archived_from, certain }
    }

    fn put(&mut self, name: &str, text: Vec<u8>) {
        let path = self.path(name);
        self.pages.insert(path, text);
    }

    fn write_capability_list(&mut self, capabilities: &[&str]) {
        if self.style.dialect == Dialect::Sitemap {
            return;
        }
        let entries: String = capabilities
            .iter()
            .map(|name| {
                self.url_entry(&self.url(&format!("{name}.xml")), "", &[("capability", (*name).to_owned())])
            })
            .collect();
        let links = [("up", format!("{}.well-known/resourcesync", self.base))];
        let md = [("capability", "capabilitylist".to_owned())];
        let text = self.document(false, &md, &links, &entries);
        self.put("capabilitylist.xml", text);
    }
}

impl Claim {
    fn of(event: &Event, time: i64) -> Self {
        Self { resource: event.resource, time, version: event.version }
    }
}
