//! Versions that `memento`, `timemap` and `timegate` links lead to (§14.6), fetched beside the copy.

use instep_net::{HttpError, Origin, Request};
use resourcesync::{
    Relation, Uri,
    discovery::{HeaderLink, parse_link_header},
};

use super::{Unexplained, carrier::Carrier};
use crate::{
    Error, Phase, ProblemKind,
    clock::http_date,
    error::BesideUrl as _,
    plan::{Desired, ResourceMetadata, Retrieval, VersionKey},
    run::{SetRun, SyncRun},
    state::{Action, ActionKind},
    versions::{SET, version_at},
};

/// The most bytes of a TimeMap.
const TIMEMAP_BYTES: usize = 16 << 20;

/// The number of rows that are read at a time.
const PAGE: usize = 500;

impl SyncRun<'_> {
    /// Makes a plan record the targets of links to versions, if versions are kept.
    pub(crate) fn note_versions(&mut self, plan: &SetRun) -> Result<(), Error> {
        if self.options.all_versions && !self.options.dry_run {
            self.versions = Some(self.copy.state_mut()?.set(SET)?);
            let linked = self.copy.new_actions()?;
            plan.with(|draft| draft.note_versions(linked));
        }
        Ok(())
    }

    /// Fetches the versions that the documents link to, and those that are pending.
    pub(crate) async fn fetch_versions(&mut self, set: &SetRun) -> Result<(), Error> {
        let Some(id) = self.versions else { return Ok(()) };
        self.reporter.enter(Phase::Fetching);
        let plan = self.new_plan(id)?;
        let reader = self.state().reader()?;
        let mut after = 0;
        loop {
            let page = set.with(|draft| draft.linked_versions(after, PAGE))?;
            let Some(last) = page.last() else { break };
            after = last.sequence;
            for Action { desired, .. } in page {
                if self.ending().is_some() {
                    return Ok(());
                }
                for mut version in self.versions_at(desired).await {
                    let Some(resource) =
                        VersionKey::parse(&version.uri).and_then(|key| Uri::parse(key.resource()).ok())
                    else {
                        continue;
                    };
                    let names = &self.version_names;
                    if let Some(key) = names.name_beside_resource(&*reader, &resource, &version.metadata)? {
                        version.uri = key.into_uri();
                        plan.with(|draft| draft.want(ActionKind::Create, version))?;
                    }
                }
            }
        }
        let mut unexplained = Unexplained::new();
        self.fetch(&plan, Carrier::Requests, &mut unexplained).await?;
        self.report_unexplained(unexplained);
        Ok(())
    }

    /// Returns a version itself, or those that a TimeMap or TimeGate lists. A failure is reported, and the next run
    /// asks again.
    async fn versions_at(&mut self, found: Desired) -> Vec<Desired> {
        let Retrieval { timemap, timegate, .. } = found.retrieval();
        let Some(href) = timemap.clone().or(timegate.clone()) else { return vec![found] };
        let is_map = timemap.is_some();
        let Ok(uri) = Uri::parse(&href) else { return Vec::new() };
        let asked = async {
            if is_map {
                self.mementos_of_map(&found.uri, &uri).await
            } else {
                self.mementos_of_gate(&found.uri, &uri).await
            }
        };
        // If the run ends meanwhile the checkpoint stays, and the next run finds the link again.
        let Some(listed) = self.stop.unless(asked).await else { return Vec::new() };
        match listed {
            Ok(listed) => listed.into_iter().filter_map(|link| of_map(&found.uri, &link)).collect(),
            Err(error) => {
                self.reporter.problem(ProblemKind::Unreachable, &href, &error.beside(&href));
                // A link that stays dead must not keep the checkpoint back for ever.
                let is_dead = error.status().is_some_and(|status| matches!(status.as_u16(), 404 | 410));
                self.lacks_versions |= !is_dead;
                Vec::new()
            }
        }
    }

    async fn mementos_of_map(&self, resource: &Uri, map: &Uri) -> Result<Vec<HeaderLink>, HttpError> {
        let mut response = self.network.client.send(&on_behalf(map, resource)).await?.successful()?;
        let broken = |what: String| HttpError::Transfer { uri: map.as_str().to_owned(), source: what.into() };
        // In compressed bytes there is no link.
        if let Some(coding) = response.coding() {
            return Err(broken(format!(
                "it arrived in the content coding {coding:?}, although none was accepted"
            )));
        }
        let Some(body) = response.body.read_up_to(TIMEMAP_BYTES).await? else {
            return Err(broken(format!("it has more than {TIMEMAP_BYTES} bytes")));
        };
        Ok(parse_link_header(&String::from_utf8_lossy(&body), map))
    }

    /// Returns the links to versions from the TimeMap that a TimeGate's response names, or from the response itself.
    async fn mementos_of_gate(&self, resource: &Uri, gate: &Uri) -> Result<Vec<HeaderLink>, HttpError> {
        let response = self.network.client.send(&on_behalf(gate, resource)).await?.successful()?;
        let fields = response.headers.get_all(http::header::LINK);
        let fields = fields.iter().filter_map(|field| field.to_str().ok());
        let links: Vec<_> = fields.flat_map(|field| parse_link_header(field, &response.uri)).collect();
        match links.iter().find(|link| link.rels.contains(&Relation::TimeMap)) {
            Some(map) => self.mementos_of_map(resource, &map.target).await,
            None => Ok(links),
        }
    }
}

/// Returns a request within the scope of the resource whose versions are fetched.
fn on_behalf(uri: &Uri, resource: &Uri) -> Request {
    let mut request = Request::get(uri.clone());
    request.speaker = Origin::parse(resource.as_str()).ok();
    request
}

fn of_map(resource: &Uri, link: &HeaderLink) -> Option<Desired> {
    if !link.rels.contains(&Relation::Memento) {
        return None;
    }
    let mut metadata = ResourceMetadata::new();
    metadata.lastmod = Some(http_date(link.datetime.as_deref()?)?);
    version_at(resource, &link.target, metadata)
}

#[cfg(test)]
mod tests {
    use resourcesync::DateTime;

    use super::*;

    fn uri(text: &str) -> Uri {
        Uri::parse(text).unwrap()
    }

    #[test]
    fn a_version_is_named_by_its_second_whoever_tells_of_it() {
        let mut metadata = ResourceMetadata::new();
        metadata.lastmod = Some(DateTime::parse("2026-01-02T03:04:05.678901Z").unwrap());
        let text = "<http://example.com/v/1>; rel=\"first memento\"; datetime=\"Fri, 02 Jan 2026 03:04:05 GMT\", \
                    <http://example.com/a>; rel=\"original\"";
        let resource = uri("http://example.com/a");
        let links = parse_link_header(text, &uri("http://example.com/map"));
        let listed: Vec<_> = links.iter().filter_map(|link| of_map(&resource, link)).collect();
        assert_eq!(listed.len(), 1);
        assert_eq!(VersionKey::parse(&listed[0].uri), VersionKey::of(&resource, &metadata));
        assert_eq!(listed[0].uri.as_str(), "http://example.com/a#2026-01-02T03:04:05Z");
        assert_eq!(listed[0].retrieval().lies_at.as_deref(), Some("http://example.com/v/1"));
    }
}
