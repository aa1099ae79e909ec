//! The rules of a set for its resources: links to related ones, and the frequency of change.

use resourcesync::{ChangeFreq, DateTime, Link, Relation, Uri};

use super::{MediaTypes, Pattern};
use crate::{
    Error, GenericRule, LinkRule, SetOptions,
    catalogue::{History, ResourceState},
};

/// The rules of one set.
#[derive(Debug)]
pub(crate) struct Describer {
    base: String,
    links: Vec<(Pattern, LinkRule)>,
    codings: Vec<(Pattern, Box<str>)>,
    frequencies: Vec<(Pattern, Option<ChangeFreq>)>,
}

impl Describer {
    /// Reads the rules of a set, whose patterns are paths below the base URL.
    ///
    /// # Errors
    /// If a pattern has more than one `*`.
    pub(crate) fn new(set: &SetOptions, base: &str) -> Result<Self, Error> {
        let generics = set.generics.iter().flat_map(GenericRule::links);
        let links = set.links.iter().cloned().chain(generics);
        let links = links.map(|rule| {
            // Only one `*` is replaced; another would stay in the URIs of targets.
            Pattern::new("links", &rule.target)?;
            Ok((Pattern::new("links", &rule.resource)?, rule))
        });
        let codings = set
            .codings
            .iter()
            .map(|rule| Ok((Pattern::new("codings", &rule.resource)?, rule.coding.as_str().into())));
        let frequencies = set
            .frequencies
            .iter()
            .map(|rule| Ok((Pattern::new("frequencies", &rule.resource)?, rule.frequency)));
        Ok(Self {
            base: base.to_owned(),
            links: links.collect::<Result<_, Error>>()?,
            codings: codings.collect::<Result<_, Error>>()?,
            frequencies: frequencies.collect::<Result<_, Error>>()?,
        })
    }

    /// Sets the frequency of change by the first rule that matches, unless the state has one already.
    pub(crate) fn frequency(&self, uri: &Uri, state: &mut ResourceState, history: History, now: DateTime) {
        if state.changefreq.is_some() || self.frequencies.is_empty() {
            return;
        }
        let Some(path) = uri.as_str().strip_prefix(&self.base) else { return };
        let rule = self.frequencies.iter().find(|(pattern, _)| pattern.matches(path).is_some());
        state.changefreq = rule.and_then(|(_, frequency)| frequency.or_else(|| observed(history, now)));
    }

    /// Sets the content coding of the file of a resource, and its media type without that coding (ATT-11).
    pub(crate) fn coding(&self, uri: &Uri, state: &mut ResourceState) {
        let Some(path) = uri.as_str().strip_prefix(&self.base) else { return };
        let rule = self.codings.iter().find(|(pattern, _)| pattern.matches(path).is_some());
        if let Some((_, coding)) = rule.filter(|_| state.encoding.is_none()) {
            let inner = path.rsplit_once('.').map_or(path, |(inner, _)| inner);
            state.media_type = Some(MediaTypes::default().of(inner.as_bytes()));
            state.encoding = Some(coding.clone());
        }
    }

    /// Adds the links that the rules give; one to a resource of this Source is written only while that exists.
    ///
    /// # Errors
    /// If `exists` fails.
    pub(crate) fn links(
        &self,
        uri: &Uri,
        state: &mut ResourceState,
        mut exists: impl FnMut(&str) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let Some(path) = uri.as_str().strip_prefix(&self.base) else { return Ok(()) };
        for (pattern, rule) in &self.links {
            let Some(link) = pattern.matches(path).and_then(|part| self.link(rule, part)) else { continue };
            // A single target for all is the operator's statement; a generic URI exists without being one of the
            // resources.
            let paired = rule.target.contains('*') && rule.rel != Relation::Canonical;
            let ours = paired && link.href.as_str().starts_with(&self.base);
            let said = |held: &Link| held.rel == link.rel && held.href == link.href;
            if link.href == *uri || state.links.iter().any(said) || (ours && !exists(link.href.as_str())?) {
                continue;
            }
            state.links.push(link);
        }
        Ok(())
    }

    fn link(&self, rule: &LinkRule, part: &str) -> Option<Link> {
        let target = rule.target.replacen('*', part, 1);
        let href = Uri::parse(&self.base).ok()?.resolve(&target).ok()?;
        let mut link = Link::new(rule.rel.clone(), href);
        link.media_type.clone_from(&rule.media_type);
        if link.media_type.is_none() && rule.rel == Relation::Alternate {
            link.media_type = Some(MediaTypes::default().of(target.as_bytes()));
        }
        link.pri = rule.pri;
        Some(link)
    }
}

/// Returns the frequency of the Sitemap protocol that is nearest to the mean time between changes; `None` while this is
/// unknown.
fn observed(history: History, now: DateTime) -> Option<ChangeFreq> {
    const HOUR: i64 = 3_600_000_000;
    const DAY: i64 = 24 * HOUR;
    let age = now.unix_micros().saturating_sub(history.since?.unix_micros());
    match history.changes {
        0 if age < 365 * DAY => None,
        0 => Some(ChangeFreq::Yearly),
        changes => Some(match age / changes as i64 {
            between if between < 2 * HOUR => ChangeFreq::Hourly,
            between if between < 2 * DAY => ChangeFreq::Daily,
            between if between < 14 * DAY => ChangeFreq::Weekly,
            between if between < 60 * DAY => ChangeFreq::Monthly,
            _ => ChangeFreq::Yearly,
        }),
    }
}

#[cfg(test)]
mod tests {
    use resourcesync::{ChangeFreq, DateTime, Relation, Uri};

    use super::Describer;
    use crate::{
        FrequencyRule, LinkRule, SetOptions,
        catalogue::{History, ResourceState},
    };

    fn describer(rules: &[(&str, &str, &str)]) -> Describer {
        let mut set = SetOptions::new();
        let rule = |(resource, rel, target): &(&str, &str, &str)| {
            LinkRule::new(*resource, Relation::parse(rel), *target)
        };
        set.links = rules.iter().map(rule).collect();
        set.frequencies =
            vec![FrequencyRule::new("news/*", ChangeFreq::Hourly), FrequencyRule::auto("live/*")];
        Describer::new(&set, "http://x/").unwrap()
    }

    fn described(describer: &Describer, uri: &str) -> ResourceState {
        let mut state = ResourceState::new();
        let exists = |uri: &str| Ok(!uri.contains("missing"));
        let uri = Uri::parse(uri).unwrap();
        describer.links(&uri, &mut state, exists).unwrap();
        let history = History { since: Some(DateTime::from_unix_seconds(0)), changes: 4 };
        describer.frequency(&uri, &mut state, history, DateTime::from_unix_seconds(4 * 5 * 86_400));
        state
    }

    #[test]
    fn pairs_are_linked_while_both_exist() {
        let rules = describer(&[
            ("*.pdf", "describedby", "*.xml"),
            ("*.xml", "describes", "*.pdf"),
            ("res1", "alternate", "res1.html"),
            ("*", "profile", "http://profiles/p"),
            ("*", "duplicate", "http://mirror/copy/*"),
        ]);
        for (uri, links) in [
            ("http://x/a/b.pdf", vec!["http://x/a/b.xml", "http://profiles/p", "http://mirror/copy/a/b.pdf"]),
            ("http://x/missing.xml", vec!["http://profiles/p", "http://mirror/copy/missing.xml"]),
            ("http://x/res1", vec!["http://x/res1.html", "http://profiles/p", "http://mirror/copy/res1"]),
            ("http://elsewhere/b.pdf", vec![]),
        ] {
            let state = described(&rules, uri);
            assert!(state.links.iter().map(|link| link.href.as_str()).eq(links), "{uri}");
        }
    }

    #[test]
    fn frequencies_go_by_the_first_pattern_that_matches() {
        let rules = describer(&[]);
        assert_eq!(described(&rules, "http://x/news/today").changefreq, Some(ChangeFreq::Hourly));
        assert_eq!(described(&rules, "http://x/live/today").changefreq, Some(ChangeFreq::Weekly));
        assert_eq!(described(&rules, "http://x/olds/today").changefreq, None);
    }

    #[test]
    fn two_stars_are_refused() {
        let mut set = SetOptions::new();
        set.links = vec![LinkRule::new("*/*", Relation::parse("alternate"), "*")];
        assert!(Describer::new(&set, "http://x/").is_err());
    }
}
