//! The search for the documents that lead on.

use std::{mem, time::Duration};

use instep_net::{HttpError, Origin, Permission};
use resourcesync::{Uri, discovery};

use super::{
    DiscoverError, Discovered, Trouble, Way, activity,
    capability_list::Kept,
    climb,
    former::FormerDocuments,
    places::{PAGE_BYTES, distinct, is_meant_as_document, links, names_document, not_a_document},
    several::Several,
    sight::Sight,
};
use crate::{
    documents::{DocumentError, Documents, Download},
    error::BesideUrl as _,
};

/// A search for documents that lead further, and the faults met.
pub(super) struct Search<'a> {
    documents: &'a Documents,
    sets: &'a [String],
    /// The origin of the operator's URL, in whose scope pages, headers and robots.txt lead.
    speaker: Option<Origin>,
    looked_at: Vec<Trouble>,
    invalid: Option<DiscoverError>,
    crawl_delay: Option<Duration>,
    /// `true` once a document or a link named documents of the Source that cannot be used now, or the Source Description
    /// or a guessed document may be there and did not arrive.
    in_doubt: bool,
    /// The Sitemaps of `robots.txt`, for a copy that follows a guessed document.
    sitemaps: Option<Several>,
    kept: Kept,
}

impl<'a> Search<'a> {
    pub(super) fn new(url: &Uri, documents: &'a Documents, sets: &'a [String]) -> Self {
        let speaker = Origin::parse(url.as_str()).ok();
        let (invalid, crawl_delay, kept) = (None, None, Kept::default());
        let (looked_at, in_doubt, sitemaps) = (Vec::new(), false, None);
        Self { documents, sets, speaker, looked_at, invalid, crawl_delay, in_doubt, sitemaps, kept }
    }

    /// Tries the URL that the operator named. A host that does not answer, or a document that cannot be used, ends the
    /// search.
    pub(super) async fn look_first(&mut self, url: &Uri) -> Result<Sight, DiscoverError> {
        match self.documents.get(url, None).await {
            Ok(download) => {
                let sight = self.judge(url, Way::Itself, download, self.sets).await?;
                if let Some(invalid) = self.invalid.take() {
                    return Err(invalid);
                }
                match sight {
                    // Handled like a missing document: one that is found elsewhere might make another copy of it (P10).
                    Sight::Page(page) if names_document(url) && links(&page).is_empty() => {
                        let what =
                            self.trouble_at(url).map(|trouble| trouble.what.clone()).unwrap_or_default();
                        Err(DiscoverError::NoDocument { uri: url.clone(), what })
                    }
                    sight => Ok(sight),
                }
            }
            Err(source) if source.is_invalid() => Err(DiscoverError::Invalid { uri: url.clone(), source }),
            // A document that is found elsewhere might make another copy than the one that was named (P10).
            Err(source @ DocumentError::Http(HttpError::Status { .. })) if names_document(url) => {
                Err(DiscoverError::Unreachable { url: url.clone(), source })
            }
            Err(error @ DocumentError::Http(HttpError::Status { .. })) => Ok(self.note(url, &error)),
            Err(source) => Err(DiscoverError::Unreachable { url: url.clone(), source }),
        }
    }

    /// Tries one place after the other until one leads on. One that leads to a set that the copy follows comes first:
    /// another Source may have appeared at a place before it (O803). While the documents of a place do not arrive, the copy
    /// gets no others in their place (O930).
    pub(super) async fn look_for_one(
        &mut self,
        places: Vec<(Way, Uri)>,
        former: &FormerDocuments,
    ) -> Result<Option<Discovered>, DiscoverError> {
        let (mut others, mut is_in_doubt) = (None, false);
        for (way, uri) in places {
            if self.trouble_at(&uri).is_some() {
                continue;
            }
            match self.look(way, &uri, self.sets).await {
                Ok(Sight::Found(found)) if former.may_lead_to(&found) => return Ok(Some(found)),
                Ok(Sight::Found(found)) => {
                    others.get_or_insert(Ok(Some(found)));
                }
                // The Source at the next place may have the set that the operator names.
                Err(error @ DiscoverError::NoSuchSet { .. }) if way == Way::WellKnown => {
                    others.get_or_insert(Err(error));
                }
                Ok(Sight::Broken | Sight::Nothing) => {
                    (is_in_doubt, self.in_doubt) = (true, true);
                }
                Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
        others.filter(|_| !is_in_doubt).unwrap_or(Ok(None))
    }

    /// Returns `true` if documents that were found in a first run may be others than those that the Source names. They
    /// are its own if they name the Capability List that cannot be fetched (O35).
    pub(super) fn may_be_others(&self, found: &Discovered) -> bool {
        self.in_doubt && found.sets.iter().any(|set| set.lost_above.is_none())
    }

    /// Notes lists that were found and are not used, for the error at the end of the search (O932).
    pub(super) fn leave_out<'u>(&mut self, lists: impl Iterator<Item = &'u Uri>) {
        let what =
            "not used, because other documents of the site cannot be read: its own URL copies it alone";
        self.looked_at.extend(lists.map(|uri| Trouble::new(uri, what)));
    }

    /// Adds the pause that `robots.txt` requests to the result.
    pub(super) fn paced(&self, mut found: Discovered) -> Discovered {
        found.crawl_delay = self.crawl_delay;
        found
    }

    /// Follows all links of a page and its headers (A4). If a link leads to nothing, its set is lost.
    pub(super) async fn follow_links(
        &mut self,
        links: Vec<(Way, Uri)>,
    ) -> Result<Option<Discovered>, DiscoverError> {
        let mut several = Several::of(links.iter().map(|(_, uri)| uri));
        // If there are several, the requested ones are selected when they are collected.
        let sets = if links.len() > 1 { &[] } else { self.sets };
        for (way, uri) in links {
            let sight = match self.trouble_at(&uri) {
                // The well-known URI may be refused because nothing is there. If it is linked, something is (O931).
                Some(trouble) if trouble.lacks == Some(Permission::Login) => Sight::Denied,
                Some(_) => Sight::Gone,
                None => self.look(way, &uri, sets).await?,
            };
            match sight {
                Sight::Found(found) => several.add(found),
                sight => {
                    several.lose(self.trouble_at(&uri));
                    self.in_doubt |= matches!(sight, Sight::Broken | Sight::Denied | Sight::Nothing);
                }
            }
        }
        several.together(self.sets)
    }

    /// Follows each `Sitemap:` line of robots.txt (DISC-5, A4). A target that cannot be fetched may be a Resource List.
    /// If the others are plain Sitemaps, they are used in two cases only: the copy follows one of them already, or this
    /// is a first run in which every other target is gone or out of scope, and neither a Source Description nor a link
    /// names documents that cannot be used now (O800). Otherwise the documents that a copy followed, or has to follow,
    /// would be replaced by something else (B20). A copy that follows a guessed document goes on with it while it is there
    /// (O803).
    pub(super) async fn follow_robots(
        &mut self,
        url: &Uri,
        former: &FormerDocuments,
    ) -> Result<Option<Discovered>, DiscoverError> {
        let places = self.robots(url).await;
        let mut several = Several::of(places.iter().map(|(_, uri)| uri));
        let sets = if places.len() > 1 { &[] } else { self.sets };
        let mut in_doubt = self.in_doubt && former.way.is_none();
        for (way, uri) in places {
            match self.look(way, &uri, sets).await? {
                Sight::Found(found) => several.add(found),
                // Sitemaps of other formats (text, RSS) are no Resource Lists.
                Sight::Page(_) => {}
                // It was reported in the first run, and nothing in the copy comes from it.
                Sight::Gone if former.way == Some(Way::Robots) && !former.has_set(&uri) => {
                    several.warn_of(self.trouble_at(&uri));
                    in_doubt = true;
                }
                sight => {
                    several.lose(self.trouble_at(&uri));
                    let is_known = former.way == Some(Way::Robots);
                    in_doubt |= is_known || !matches!(sight, Sight::Gone | Sight::Refused);
                }
            }
        }
        if several.is_only_plain() && !several.has_one_of(&former.sets) {
            if former.way == Some(Way::Guess) {
                self.in_doubt |= in_doubt;
                self.sitemaps = Some(several);
                return Ok(None);
            }
            if in_doubt {
                self.leave_out(several.sitemaps());
                return Err(self.nothing(url));
            }
        }
        // A guessed document does not take the place of a target that may come back (O701).
        self.in_doubt |= in_doubt && former.way.is_none();
        several.together(self.sets)
    }

    /// Returns the Sitemaps of `robots.txt` in place of a guessed document that is gone: sites rename their Sitemaps.
    pub(super) fn follow_sitemaps(&mut self) -> Result<Option<Discovered>, DiscoverError> {
        let sitemaps = self.sitemaps.take().filter(|_| !self.in_doubt);
        sitemaps.map_or(Ok(None), |several| several.together(self.sets))
    }

    /// Tries one more place. A fault there does not end the search (DISC-8).
    async fn look(&mut self, way: Way, uri: &Uri, sets: &[String]) -> Result<Sight, DiscoverError> {
        match self.documents.get(uri, self.speaker.as_ref()).await {
            Ok(download) => self.judge(uri, way, download, sets).await,
            Err(source) if source.ends_search() => Err(DiscoverError::Invalid { uri: uri.clone(), source }),
            Err(error) => Ok(self.note(uri, &error)),
        }
    }

    async fn judge(
        &mut self,
        asked_for: &Uri,
        way: Way,
        download: Download,
        sets: &[String],
    ) -> Result<Sight, DiscoverError> {
        let document = match download.document() {
            Ok(document) => document,
            Err(_) if activity::is_collection(&download) => {
                let found = activity::read(asked_for, way, download, self.documents).await;
                return self.sight(asked_for, found);
            }
            Err(source) if is_meant_as_document(&source, &download) => {
                self.note(asked_for, &source);
                self.invalid.get_or_insert(DiscoverError::Invalid { uri: download.uri, source });
                return Ok(Sight::Broken);
            }
            Err(source) => {
                self.looked_at.push(Trouble::new(asked_for, not_a_document(&source, &download)));
                return Ok(Sight::Page(download));
            }
        };
        let found = climb::from(asked_for, document, way, self.documents, sets, &self.kept).await;
        self.sight(asked_for, found)
    }

    /// Returns the result for a document, and keeps the reason if it cannot be used, for the end of the search.
    fn sight(
        &mut self,
        asked_for: &Uri,
        found: Result<Discovered, DiscoverError>,
    ) -> Result<Sight, DiscoverError> {
        match found {
            Ok(found) => Ok(Sight::Found(found)),
            Err(error) if error.ends_search() => Err(error),
            Err(error) => {
                let trouble = Trouble::new(asked_for, error.beside(asked_for.as_str()));
                self.looked_at.push(Trouble { lacks: error.lacks(), ..trouble });
                self.invalid.get_or_insert(error);
                Ok(Sight::Broken)
            }
        }
    }

    /// Returns the URIs that the host's `robots.txt` names.
    async fn robots(&mut self, url: &Uri) -> Vec<(Way, Uri)> {
        let Ok(file) = discovery::robots(url) else { return Vec::new() };
        let download = match self.documents.get(&file, None).await {
            Ok(download) => download,
            Err(error) => {
                self.note(&file, &error);
                return Vec::new();
            }
        };
        let text = download.start(PAGE_BYTES).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        self.crawl_delay = discovery::crawl_delay(&text, "instep");
        let named = discovery::from_robots(&text, &download.uri);
        if named.is_empty() {
            self.looked_at.push(Trouble::new(&file, "has no line \"Sitemap: URL\""));
        }
        distinct(Way::Robots, named.into_iter())
    }

    /// Records a place that has no document, and returns the result.
    fn note(&mut self, uri: &Uri, error: &DocumentError) -> Sight {
        let is_out_of_scope = matches!(error, DocumentError::Http(HttpError::Refused { .. }));
        let trouble = Trouble::new(uri, error.beside(uri.as_str()));
        self.looked_at.push(Trouble { is_out_of_scope, lacks: error.lacks(), ..trouble });
        Sight::of(error)
    }

    fn trouble_at(&self, uri: &Uri) -> Option<&Trouble> {
        self.looked_at.iter().find(|trouble| trouble.uri == *uri)
    }

    /// Returns the error of a search that found nothing.
    pub(super) fn nothing(&mut self, url: &Uri) -> DiscoverError {
        let looked_at = mem::take(&mut self.looked_at);
        self.invalid.take().unwrap_or_else(|| DiscoverError::Nothing { url: url.clone(), looked_at })
    }
}
