//! Versions beside the copy (`--all-versions`): what was held before, what Change Dumps pack, and what `memento`, `timemap`
//! and `timegate` links lead to (§14.6). A version is held under its resource's URI with the moment as fragment, which no resource has,
//! in a set of its own; its file lies in `.instep/versions/`.

use resourcesync::{
    DateTime, Entry, Link, Relation, Uri,
    discovery::{HeaderLink, parse_link_header},
};

use super::{Carrier, run::Run, set::SetRun, transfer::Unexplained, wanted::Extra};
use crate::{
    Error, Phase, ProblemKind,
    error::story,
    http::{HttpError, Origin, Request},
    map::without_fragment,
    state::{Action, ActionKind, Facts, State, StateError, Wanted},
};

/// What stands for the set of all versions.
const SET: &str = "urn:instep:versions";

/// Bytes of a TimeMap.
const TIMEMAP_BYTES: usize = 16 << 20;

/// Rows read at a time.
const PAGE: usize = 500;

/// The name of a version: its resource and when it was last modified, else changed, else a part of its digest.
pub(crate) fn version_of(resource: &Uri, facts: &Facts) -> Option<Uri> {
    let moment = match facts.lastmod.or(facts.datetime) {
        Some(time) => DateTime::from_unix_seconds(time.instant().0).to_string(),
        None => facts
            .digests
            .strongest()?
            .to_string()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(32)
            .collect(),
    };
    Uri::parse(&format!("{}#{moment}", without_fragment(resource))).ok()
}

/// Whether a version is held, beside the copy or as the resource itself.
pub(crate) fn is_held(state: &State, version: &Uri) -> Result<bool, StateError> {
    if state.held(version.as_str())?.is_some() {
        return Ok(true);
    }
    let resource = state.held(without_fragment(version))?;
    Ok(resource.is_some_and(|held| version_of(&held.uri, &held.facts).as_ref() == Some(version)))
}

/// What links of an entry lead to: a version, or a place that tells of versions.
pub(crate) fn linked(entry: &Entry) -> impl Iterator<Item = Wanted> {
    entry.links.iter().filter_map(|link| match link.rel {
        Relation::Memento => memento(entry, link),
        Relation::TimeMap | Relation::TimeGate => {
            let mut wanted = Wanted::new(entry.loc.clone());
            wanted.extra = asked(link).into_text();
            Some(wanted)
        }
        _ => None,
    })
}

fn asked(link: &Link) -> Extra {
    let href = Some(link.href.as_str().to_owned());
    match link.rel {
        Relation::TimeMap => Extra { timemap: href, ..Extra::default() },
        _ => Extra { timegate: href, ..Extra::default() },
    }
}

fn memento(entry: &Entry, link: &Link) -> Option<Wanted> {
    let mut facts = Facts::new();
    facts.lastmod = link.modified.or(entry.lastmod);
    (facts.length, facts.digests) = (link.length, link.hash.clone());
    facts.media_type.clone_from(&link.media_type);
    wanted(&entry.loc, &link.href, facts)
}

fn wanted(resource: &Uri, href: &Uri, facts: Facts) -> Option<Wanted> {
    let mut wanted = Wanted::new(version_of(resource, &facts)?);
    wanted.extra = Extra { lies_at: Some(href.as_str().to_owned()), ..Extra::default() }.into_text();
    wanted.facts = facts;
    Some(wanted)
}

/// How many resources are held, their versions not counted.
pub(crate) fn resources_held(state: &State) -> Result<u64, StateError> {
    let versions = state.known_set(SET)?.map_or(Ok(0), |set| state.held_count(Some(set)))?;
    Ok(state.held_count(None)? - versions)
}

impl Run<'_> {
    /// Makes a plan note what links to versions lead to, where versions are kept.
    pub(super) fn note_versions(&mut self, plan: &SetRun) -> Result<(), Error> {
        if self.options.all_versions && !self.options.dry_run {
            self.versions = Some(self.copy.state_mut()?.set(SET)?);
            let linked = self.copy.new_actions()?;
            plan.with(|draft| draft.note_versions(linked));
        }
        Ok(())
    }

    /// Fetches the versions that what was read leads to, and those that are owed.
    pub(super) async fn fetch_versions(&mut self, set: &SetRun) -> Result<(), Error> {
        let Some(id) = self.versions else { return Ok(()) };
        self.enter(Phase::Fetching);
        let plan = self.new_plan(id, true)?;
        let reader = self.state().reader()?;
        let mut after = 0;
        loop {
            let page = set.with(|draft| draft.linked_versions(after, PAGE))?;
            let Some(last) = page.last() else { break };
            after = last.sequence;
            for Action { wanted, .. } in page {
                for version in self.versions_at(wanted).await {
                    if !is_held(&reader, &version.uri)? {
                        plan.with(|draft| draft.want(ActionKind::Create, version))?;
                    }
                }
            }
        }
        let mut unexplained = Unexplained::new();
        self.fetch(&plan, Carrier::Requests, &mut unexplained).await?;
        self.tell_unexplained(unexplained);
        Ok(())
    }

    /// A version itself, or those that a TimeMap lists.
    async fn versions_at(&mut self, found: Wanted) -> Vec<Wanted> {
        let Extra { timemap, timegate, .. } = Extra::of(&found);
        let Some(href) = timemap.as_ref().or(timegate.as_ref()) else { return vec![found] };
        let listed = match Uri::parse(href) {
            Ok(uri) if timemap.is_some() => self.mementos_of_map(&found.uri, &uri).await,
            Ok(uri) => self.mementos_of_gate(&found.uri, &uri).await,
            Err(_) => return Vec::new(),
        };
        match listed {
            Ok(listed) => listed.into_iter().filter_map(|link| of_map(&found.uri, &link)).collect(),
            Err(error) => {
                self.problem(ProblemKind::Unreachable, href, &story(&error));
                Vec::new()
            }
        }
    }

    async fn mementos_of_map(&self, resource: &Uri, map: &Uri) -> Result<Vec<HeaderLink>, HttpError> {
        let mut response = self.client.send(&on_behalf(map, resource)).await?.successful()?;
        let body = response.body.read_up_to(TIMEMAP_BYTES).await?.unwrap_or_default();
        Ok(parse_link_header(&String::from_utf8_lossy(&body), map))
    }

    /// What a TimeGate leads to tells of a TimeMap, or of versions beside it.
    async fn mementos_of_gate(&self, resource: &Uri, gate: &Uri) -> Result<Vec<HeaderLink>, HttpError> {
        let response = self.client.send(&on_behalf(gate, resource)).await?.successful()?;
        let fields = response.headers.get_all(http::header::LINK);
        let fields = fields.iter().filter_map(|field| field.to_str().ok());
        let links: Vec<_> = fields.flat_map(|field| parse_link_header(field, &response.uri)).collect();
        match links.iter().find(|link| link.rels.contains(&Relation::TimeMap)) {
            Some(map) => self.mementos_of_map(resource, &map.target).await,
            None => Ok(links),
        }
    }
}

/// A request within the scope of the resource whose versions are looked for.
fn on_behalf(uri: &Uri, resource: &Uri) -> Request {
    let mut request = Request::get(uri.clone());
    request.speaker = Origin::parse(resource.as_str()).ok();
    request
}

fn of_map(resource: &Uri, link: &HeaderLink) -> Option<Wanted> {
    if !link.rels.contains(&Relation::Memento) {
        return None;
    }
    let time = httpdate::parse_http_date(link.datetime.as_deref()?).ok()?;
    let seconds = time.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    let mut facts = Facts::new();
    facts.lastmod = Some(DateTime::from_unix_seconds(i64::try_from(seconds).ok()?));
    wanted(resource, &link.target, facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> Uri {
        Uri::parse(text).unwrap()
    }

    #[test]
    fn a_version_is_named_by_its_second_whoever_tells_of_it() {
        let mut facts = Facts::new();
        facts.lastmod = Some(DateTime::parse("2026-01-02T03:04:05.678901Z").unwrap());
        let text = "<http://example.com/v/1>; rel=\"first memento\"; datetime=\"Fri, 02 Jan 2026 03:04:05 GMT\", \
                    <http://example.com/a>; rel=\"original\"";
        let resource = uri("http://example.com/a");
        let links = parse_link_header(text, &uri("http://example.com/map"));
        let listed: Vec<_> = links.iter().filter_map(|link| of_map(&resource, link)).collect();
        assert_eq!(listed.len(), 1);
        assert_eq!(Some(&listed[0].uri), version_of(&resource, &facts).as_ref());
        assert_eq!(listed[0].uri.as_str(), "http://example.com/a#2026-01-02T03:04:05Z");
        assert_eq!(Extra::of(&listed[0]).lies_at.as_deref(), Some("http://example.com/v/1"));
    }

    #[test]
    fn what_tells_neither_time_nor_digest_is_no_version() {
        assert_eq!(version_of(&uri("http://example.com/a"), &Facts::new()), None);
    }
}
