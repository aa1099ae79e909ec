//! A Source as the operator describes it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use instep_destination::{
    CopyLocation, Credential, Error, MaxDelete, Origin, Secret, SelectionOptions, SyncOptions,
};
use serde::{Deserialize, Serialize};

use crate::{
    FleetError,
    name::SourceName,
    options::FleetOptions,
    place::FleetPlace,
    schedule::{Cadence, LONGEST_PAUSE},
};

/// A Source of a fleet: its URL, its copy, and the rules for both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SourceDefinition {
    /// Its name, which no other Source of the fleet has.
    pub name: SourceName,
    /// Any URL of the Source.
    pub url: String,
    /// The folder of the copy, relative to that of the fleet; the name if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<PathBuf>,
    /// The rule by which it is due.
    #[serde(default)]
    pub cadence: Cadence,
    /// `true` if its channels are watched between looks.
    #[serde(default)]
    pub follow: bool,
    /// Deletes resources that the Source deleted.
    #[serde(default)]
    pub delete: bool,
    /// The largest number of deletions in one run, as [`MaxDelete`] reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_delete: Option<String>,
    /// Patterns, at least one of which must match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Patterns, none of which may match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Further origins that its documents may lead to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow_origins: Vec<String>,
    /// A file with a bearer token for the origin of the URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bearer_file: Option<PathBuf>,
    /// A file in netrc format with a login for the host of the URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub netrc_file: Option<PathBuf>,
    /// Its priority among the due Sources: each step counts as five minutes of waiting.
    #[serde(default)]
    pub priority: i8,
    /// `true` if an operator must approve it before its first synchronization.
    #[serde(default)]
    pub approve: bool,
}

impl SourceDefinition {
    /// Returns a Source with the defaults: visited as often as it changes, nothing deleted, no approval.
    pub fn new(name: SourceName, url: impl Into<String>) -> Self {
        Self {
            name,
            url: url.into(),
            into: None,
            cadence: Cadence::Adaptive,
            follow: false,
            delete: false,
            max_delete: None,
            include: Vec::new(),
            exclude: Vec::new(),
            allow_origins: Vec::new(),
            bearer_file: None,
            netrc_file: None,
            priority: 0,
            approve: false,
        }
    }

    /// Returns the folder of the copy, relative to that of the fleet.
    pub fn folder(&self) -> PathBuf {
        self.into.clone().unwrap_or_else(|| PathBuf::from(self.name.as_str()))
    }

    /// Returns `true` if a URL is that of the Source, in any spelling.
    pub fn has_url(&self, url: &str) -> bool {
        let plain = |url: &str| plain_url(url).unwrap_or_else(|_| url.to_owned());
        plain(&self.url) == plain(url)
    }

    /// Returns the host that the URL names, with its port: the unit of limits per host.
    pub fn host(&self) -> String {
        Origin::parse(&self.url).map_or_else(|_| self.url.clone(), |origin| origin.to_string())
    }

    /// Checks its fields.
    ///
    /// # Errors
    /// [`FleetError::Definition`] if the URL is neither http nor https or has a login, a pattern is none, or the limit on
    /// deletions is invalid.
    pub fn check(&self) -> Result<(), FleetError> {
        let wrong = |what: String| FleetError::Definition { name: self.name.clone(), what };
        plain_url(&self.url).map_err(wrong)?;
        for text in &self.allow_origins {
            Origin::parse(text).map_err(|error| wrong(format!("allow-origin: {text:?}: {error}")))?;
        }
        self.deletions().map_err(|error| wrong(format!("max-delete: {error}")))?;
        self.selection().check().map_err(|error| wrong(error.to_string()))?;
        match &self.cadence {
            Cadence::Every { seconds: 0 } => Err(wrong(
                "every: at least 1s, because a Source cannot be looked at without a pause".to_owned(),
            )),
            Cadence::Every { seconds } if *seconds > LONGEST_PAUSE => {
                let days = LONGEST_PAUSE / 86_400;
                Err(wrong(format!("every: at most {days}d, a hundred years; pause the Source instead")))
            }
            Cadence::At { minutes }
                if minutes.iter().any(|minute| *minute >= 24 * 60) || minutes.is_empty() =>
            {
                Err(wrong("at: write times of the day such as 03:30".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Returns the place of the copy: its folder, and its state if that is in a database.
    pub fn copy(&self, fleet: &FleetPlace) -> CopyLocation {
        let copy = CopyLocation::in_folder(fleet.dir.join(self.folder()));
        match &fleet.state {
            // The state of a copy is named after its Source and not after the URL, which may change.
            Some(url) => {
                let separator = if url.contains('?') { '&' } else { '?' };
                copy.with_state(format!("{url}{separator}copy={}", self.name))
            }
            None => copy,
        }
    }

    /// Checks that every worker of a fleet finds the bytes of the copy.
    ///
    /// # Errors
    /// [`FleetError::Definition`] if they would be in a folder that only one worker has.
    pub(crate) fn expect_shared(&self, fleet: &FleetOptions) -> Result<(), FleetError> {
        let is_absolute = self.into.as_ref().is_some_and(|into| into.is_absolute());
        if fleet.state.is_none() || fleet.store.is_some() || is_absolute {
            return Ok(());
        }
        let what = "its state is shared and its bytes are not: name object storage for all copies, or a folder for this one \
                    by its absolute path, which is the same wherever the fleet runs";
        Err(FleetError::Definition { name: self.name.clone(), what: what.to_owned() })
    }

    /// Returns the options of a run over the copy, with the secrets that its files have.
    pub(crate) fn run_options(&self, fleet: &FleetOptions) -> Result<SyncOptions, Error> {
        let usage = |what: String| Error::Usage { what };
        self.expect_shared(fleet).map_err(|error| usage(error.to_string()))?;
        let copy = self.copy(&fleet.place());
        let mut options = SyncOptions::new(&self.url, copy.dir);
        // A claim in the record shows that the former holder has ended or can commit nothing more, so the run need not
        // wait for its lease.
        options.former_writer_ended = copy.state.is_some();
        // A large plan is written to the database, so that idle workers can help with it.
        options.shares_plan = copy.state.is_some();
        options.state = copy.state;
        if let Some(store) = &fleet.store {
            let mut store = store.clone();
            store.place = store.place.below(self.name.as_str()).map_err(|error| usage(error.to_string()))?;
            options.store = Some(store);
        }
        options.delete = self.delete;
        options.max_delete = self.deletions().map_err(|error| usage(format!("max-delete: {error}")))?;
        options.selection = self.selection();
        options.access = fleet.access.clone();
        options.access.allow_origins.clone_from(&self.allow_origins);
        let read = |path: &Path| {
            let text = fs::read_to_string(path);
            text.map_err(|error| usage(format!("Cannot read {}: {error}", path.display())))
        };
        if let Some(path) = &self.bearer_file {
            let text = read(path)?;
            let token = text.trim();
            // An empty one would be sent, and its refusal would be a failure of the Source, up to quarantine.
            if token.is_empty() {
                return Err(usage(format!("{} is empty; write the secret into it", path.display())));
            }
            options.access.credentials.push(Credential::Bearer { origin: None, token: Secret::new(token) });
        }
        if let Some(path) = &self.netrc_file {
            options.access.netrc = Some(Secret::new(read(path)?.trim()));
        }
        Ok(options)
    }

    fn selection(&self) -> SelectionOptions {
        let mut selection = SelectionOptions::default();
        selection.include.clone_from(&self.include);
        selection.exclude.clone_from(&self.exclude);
        selection
    }

    /// Returns the largest number of deletions in one run.
    pub(crate) fn deletions(&self) -> Result<MaxDelete, &'static str> {
        self.max_delete.as_deref().map_or(Ok(MaxDelete::Default), str::parse)
    }
}

/// Returns the URL of a Source in the form in which two spellings of one URL are equal: scheme and host in lower case,
/// without the port of the scheme, and without a fragment.
///
/// ```
/// use instep_fleet::plain_url;
///
/// assert_eq!(plain_url("HTTPS://Example.org:443#top")?, "https://example.org/");
/// assert!(plain_url("https://ada:secret@example.org/").is_err());
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// If it is neither http nor https, or has a login, which the pages of a fleet would show to everybody.
pub fn plain_url(url: &str) -> Result<String, String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // First, because other refusals show the URL.
    if let Some((_, host)) = authority.rsplit_once('@') {
        return Err(format!(
            "the URL at {host} has a login, which everybody could read on the pages of the fleet"
        ));
    }
    let origin = Origin::parse(url).map_err(|error| format!("{url:?} is not a URL of a Source: {error}"))?;
    // The fragment is removed, because it is not part of a request.
    let path = path.split('#').next().unwrap_or_default();
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok(format!("{origin}{slash}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o662_a_file_of_a_token_that_is_empty_is_a_mistake_on_this_side() {
        let dir = tempfile::tempdir().unwrap();
        let token = dir.path().join("token");
        let mut definition = SourceDefinition::new("a".parse().unwrap(), "https://a.example/");
        definition.bearer_file = Some(token.clone());
        for (text, is_used) in [("", false), (" \n", false), ("secret\n", true)] {
            fs::write(&token, text).unwrap();
            match definition.run_options(&FleetOptions::new(dir.path())) {
                Ok(_) => assert!(is_used, "{text:?}"),
                Err(Error::Usage { what }) => {
                    assert!(!is_used && what.contains("write the secret into it"), "{what}");
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}
