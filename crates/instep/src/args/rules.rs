//! `[[link]]`, `[[changefreq]]`, `[[coded]]` and `[[generic]]` of `instep.toml`: metadata that a Source adds to the
//! resources whose paths match a pattern.

use anyhow::bail;
use instep_source::{CodingRule, FrequencyRule, GenericRule, LinkRule, SetOptions};
use resourcesync::{ChangeFreq, Link, MediaType, Relation, Uri};
use serde::Deserialize;

use crate::config::Config;

/// The rules that hold for the resources of all sets.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    links: Vec<LinkRule>,
    frequencies: Vec<FrequencyRule>,
    codings: Vec<CodingRule>,
    generics: Vec<GenericRule>,
}

/// A `[[link]]` table: `*.pdf` is `describedby` `*.xml`, which `describes` it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkTable {
    resource: String,
    rel: String,
    target: String,
    /// The relation of the target back to the resource, if that is published too.
    back: Option<String>,
    #[serde(rename = "type")]
    media_type: Option<String>,
    /// Wider than the range that is allowed, so that each number outside of it is refused in the same words.
    pri: Option<i64>,
}

/// A `[[changefreq]]` table: the change frequency of resources.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrequencyTable {
    resource: String,
    /// A frequency of the Sitemap protocol, or `auto`: computed from the changes seen.
    frequency: String,
}

/// A `[[coded]]` table: resources whose files are already compressed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CodedTable {
    resource: String,
    #[serde(default = "gzip")]
    coding: String,
}

/// A `[[generic]]` table: a URI that is answered with one of several files.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GenericTable {
    resource: String,
    specific: Vec<String>,
    #[serde(default)]
    default: bool,
}

impl LinkTable {
    /// Returns the fault of a value that no document may have: each resource would be published without the link, or with
    /// one that does not conform. `None` if there is no such value.
    fn fault(&self) -> Option<String> {
        let relations = [Some(&self.rel), self.back.as_ref()];
        if let Some(wrong) = relations.into_iter().flatten().find(|relation| !is_relation(relation)) {
            return Some(format!(
                "the relation {wrong:?} is neither registered nor a URI; write one such as describedby"
            ));
        }
        if let Some(wrong) = self.media_type.as_ref().filter(|text| !MediaType::new(text).is_valid()) {
            return Some(format!("type {wrong:?} is not a media type such as text/html"));
        }
        let most = i64::from(Link::LEAST_PREFERRED);
        let wrong = self.pri.filter(|pri| !(1..=most).contains(pri));
        wrong.map(|pri| format!("pri {pri} is not a number from 1 to {most}"))
    }
}

/// Returns `true` for the relations that links may have (GEN-21).
fn is_relation(text: &str) -> bool {
    !matches!(Relation::parse(text), Relation::Other(_))
        || Relation::is_registered(text)
        || Uri::parse(text).is_ok()
}

fn gzip() -> String {
    "gzip".to_owned()
}

impl Rules {
    /// Reads the rules from the configuration.
    ///
    /// Errors: a table with a missing, unknown or wrong key.
    pub(crate) fn read(config: &Config) -> anyhow::Result<Self> {
        let mut rules = Self::default();
        for table in config.tables::<LinkTable>("link")? {
            let place = config.place_at(table.span().start);
            let table = table.into_inner();
            for path in [&table.resource, &table.target] {
                if path.matches('*').count() > 1 {
                    bail!(
                        "{place} [[link]]: {path:?} has more than one *, of which only one can be replaced"
                    );
                }
            }
            if let Some(fault) = table.fault() {
                bail!("{place} [[link]]: {fault}");
            }
            rules.add_link(table);
        }
        for table in config.tables::<FrequencyTable>("changefreq")? {
            let place = config.place_at(table.span().start);
            let FrequencyTable { resource, frequency } = table.into_inner();
            rules.frequencies.push(match (frequency.as_str(), ChangeFreq::parse(&frequency)) {
                ("auto", _) => FrequencyRule::auto(resource),
                (_, Some(frequency)) => FrequencyRule::new(resource, frequency),
                (_, None) => bail!(
                    "{place} [[changefreq]] {resource}: {frequency:?} is not a frequency; write auto, always, hourly, daily, \
                     weekly, monthly, yearly or never"
                ),
            });
        }
        for table in config.tables::<CodedTable>("coded")? {
            let place = config.place_at(table.span().start);
            let CodedTable { resource, coding } = table.into_inner();
            // An unknown coding is refused: servers would announce it, and readers could not decode the bytes.
            if coding != "gzip" {
                bail!("{place} [[coded]] {resource}: the coding {coding:?} is not known; write gzip");
            }
            rules.codings.push(CodingRule::new(resource, coding));
        }
        for table in config.tables::<GenericTable>("generic")? {
            let place = config.place_at(table.span().start);
            let GenericTable { resource, specific, default } = table.into_inner();
            if specific.is_empty() {
                bail!("{place} [[generic]] {resource}: specific is empty; name the files that answer");
            }
            let mut rule = GenericRule::new(resource, specific);
            rule.default = default;
            rules.generics.push(rule);
        }
        Ok(rules)
    }

    fn add_link(&mut self, table: LinkTable) {
        if let Some(back) = table.back {
            self.links.push(LinkRule::new(&table.target, Relation::parse(&back), &table.resource));
        }
        let mut rule = LinkRule::new(table.resource, Relation::parse(&table.rel), table.target);
        rule.media_type = table.media_type.map(|it| MediaType::new(&it));
        rule.pri = table.pri.and_then(|pri| u32::try_from(pri).ok());
        self.links.push(rule);
    }

    /// Adds the rules to a set.
    pub(crate) fn add_to(&self, set: &mut SetOptions) {
        set.links.extend(self.links.iter().cloned());
        set.frequencies.extend(self.frequencies.iter().cloned());
        set.codings.extend(self.codings.iter().cloned());
        set.generics.extend(self.generics.iter().cloned());
    }
}
