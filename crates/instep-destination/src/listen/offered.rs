//! The channels that a Source offers, and their transports (CN-3, CN-4, N8-2).

use std::collections::BTreeMap;

use instep_net::Origin;
use resourcesync::{Capability, Relation, Uri};

use crate::discover::{CapabilitySet, Discovered, Offer};

/// The subject of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Changes of resources (CN-6).
    Changes,
    /// Changes of the documents of the Source (FN-1).
    Framework,
}

impl Kind {
    const ALL: [(Self, Capability); 2] = [
        (Self::Changes, Capability::ChangeNotification),
        (Self::Framework, Capability::FrameworkNotification),
    ];
}

/// A channel of one kind about one set (CN-2): its Capability List and its kind.
pub(super) type Name = (Uri, Kind);

/// The transports of a channel, in the order in which they are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChannelTransports {
    /// The origin of the Capability List, in whose scope the transports must be.
    pub(super) speaker: Origin,
    /// The URIs of WebSockets.
    pub(super) sockets: Vec<Uri>,
    /// The topics, each with the hubs that its entry names.
    pub(super) topics: Vec<(Uri, Vec<Uri>)>,
}

/// Returns the channels of all sets.
pub(super) fn channels(source: &Discovered) -> BTreeMap<Name, ChannelTransports> {
    let mut channels = BTreeMap::new();
    for set in &source.sets {
        let Some(list) = &set.capability_list else { continue };
        let Ok(speaker) = Origin::parse(list.as_str()) else { continue };
        for (kind, capability) in Kind::ALL {
            let mut transports =
                ChannelTransports { speaker: speaker.clone(), sockets: Vec::new(), topics: Vec::new() };
            entries(set, &capability).for_each(|offer| transports.add(offer));
            if !transports.sockets.is_empty() || !transports.topics.is_empty() {
                channels.insert((list.clone(), kind), transports);
            }
        }
    }
    channels
}

/// Returns all entries of a capability. A Source that breaks CAP-8 may have one for each transport.
fn entries<'a>(set: &'a CapabilitySet, capability: &Capability) -> impl Iterator<Item = &'a Offer> {
    let further = set.further.iter().filter(move |(of, _)| of == capability).map(|(_, offer)| offer);
    set.get(capability).into_iter().chain(further.collect::<Vec<_>>())
}

impl ChannelTransports {
    /// Adds the transports of an entry. Its own URI is a WebSocket, as in the draft 0.8, or a topic that may link to
    /// one.
    fn add(&mut self, offer: &Offer) {
        let targets =
            |rel: Relation| offer.links.iter().filter(move |link| link.rel == rel).map(|link| &link.href);
        let sockets = std::iter::once(&offer.uri).chain(targets(Relation::Alternate));
        self.sockets.extend(sockets.filter(|uri| is_socket(uri)).cloned());
        if !is_socket(&offer.uri) {
            let topic = targets(Relation::parse("self")).next().unwrap_or(&offer.uri);
            self.topics.push((topic.clone(), targets(Relation::Hub).cloned().collect()));
        }
    }
}

fn is_socket(uri: &Uri) -> bool {
    let scheme = uri.as_str().split(':').next().unwrap_or_default();
    scheme.eq_ignore_ascii_case("ws") || scheme.eq_ignore_ascii_case("wss")
}

#[cfg(test)]
mod tests {
    use resourcesync::Link;

    use super::*;

    fn uri(text: &str) -> Uri {
        Uri::parse(text).unwrap()
    }

    fn transports(first: Offer, further: Vec<Offer>) -> ChannelTransports {
        let kind = Capability::ChangeNotification;
        let mut set =
            CapabilitySet { capability_list: Some(uri("http://a/caps.xml")), ..CapabilitySet::default() };
        set.capabilities.insert(kind.clone(), first);
        set.further = further.into_iter().map(|offer| (kind.clone(), offer)).collect();
        let source = Discovered {
            source_description: None,
            sets: vec![set],
            names_sets: false,
            other_sets: Vec::new(),
            way: crate::discover::Way::Itself,
            troubles: Vec::new(),
            crawl_delay: None,
        };
        channels(&source).remove(&(uri("http://a/caps.xml"), Kind::Changes)).unwrap()
    }

    #[test]
    fn cap_8_one_entry_has_topic_hub_and_socket() {
        let links = vec![
            Link::new(Relation::Hub, uri("http://a/hub")),
            Link::new(Relation::Alternate, uri("ws://a/topic")),
            Link::new(Relation::Alternate, uri("http://a/page")),
        ];
        let transports = transports(Offer::new(uri("http://a/topic"), links), Vec::new());
        assert_eq!(transports.sockets, [uri("ws://a/topic")]);
        assert_eq!(transports.topics, [(uri("http://a/topic"), vec![uri("http://a/hub")])]);
    }

    #[test]
    fn cn_5_an_entry_may_name_its_topic() {
        let links = vec![Link::new(Relation::parse("self"), uri("http://a/topic"))];
        let transports = transports(Offer::new(uri("http://a/page"), links), Vec::new());
        assert_eq!(transports.topics, [(uri("http://a/topic"), Vec::new())]);
    }

    #[test]
    fn n8_2_an_entry_of_the_draft_is_a_socket_and_several_entries_count() {
        let socket = Offer::new(uri("WSS://a/socket"), Vec::new());
        let topic = Offer::new(uri("http://a/topic"), Vec::new());
        let transports = transports(socket, vec![topic]);
        assert_eq!(transports.sockets, [uri("WSS://a/socket")]);
        assert_eq!(transports.topics, [(uri("http://a/topic"), Vec::new())]);
    }
}
