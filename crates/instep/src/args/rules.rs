//! `[[link]]`, `[[changefreq]]`, `[[coded]]` and `[[generic]]` of `instep.toml`: additional metadata of resources, by
//! their path.

use anyhow::{Context, bail};
use instep_source::{CodingRule, FrequencyRule, GenericRule, LinkRule, SetOptions};
use resourcesync::{ChangeFreq, MediaType, Relation};
use serde::{Deserialize, de::DeserializeOwned};

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
    pri: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrequencyTable {
    resource: String,
    /// A frequency of the Sitemap protocol, or `auto`: computed from the changes seen.
    frequency: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CodedTable {
    resource: String,
    #[serde(default = "gzip")]
    coding: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GenericTable {
    resource: String,
    specific: Vec<String>,
    #[serde(default)]
    default: bool,
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
        for table in tables::<LinkTable>(config, "link")? {
            rules.add_link(table);
        }
        for FrequencyTable { resource, frequency } in tables(config, "changefreq")? {
            rules.frequencies.push(match (frequency.as_str(), ChangeFreq::parse(&frequency)) {
                ("auto", _) => FrequencyRule::auto(resource),
                (_, Some(frequency)) => FrequencyRule::new(resource, frequency),
                (_, None) => bail!(
                    "{}: [[changefreq]] {resource}: {frequency:?} is not a frequency; write auto, always, hourly, daily, weekly, \
                     monthly, yearly or never",
                    config.path().display()
                ),
            });
        }
        for CodedTable { resource, coding } in tables(config, "coded")? {
            rules.codings.push(CodingRule::new(resource, coding));
        }
        for GenericTable { resource, specific, default } in tables(config, "generic")? {
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
        rule.pri = table.pri;
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

/// Returns the tables of one name; empty if the file has none.
fn tables<T: DeserializeOwned>(config: &Config, name: &str) -> anyhow::Result<Vec<T>> {
    let Some(value) = config.shared(name) else { return Ok(Vec::new()) };
    value.clone().try_into().with_context(|| format!("{}: [[{name}]]", config.path().display()))
}
