//! The page of a search: finds resources whose URI contains each of the words. There is no index of words; parts of the
//! catalogue are read in parallel.

use std::{
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use anyhow::{Result, anyhow};
use http::StatusCode;
use instep_source::catalogue::Resource;
use maud::{Markup, html};

use super::{
    site::{BROWSE, PageContext},
    summary::Summaries,
};
use crate::{
    pages::design::{PageBody, moment},
    ui::format::{bytes, counted},
};

/// The most resources in a page.
const MOST: usize = 200;
/// The most words of a search; further ones are ignored.
const MOST_WORDS: usize = 8;
/// The most bytes of a word; longer ones are ignored.
const MOST_BYTES: usize = 200;
/// The most threads of one search. More would slow down other requests.
const MOST_THREADS: usize = 4;

/// The most searches that wait for their turn. Each holds a thread, and the server has 512 for everything that blocks.
const MOST_WAITING: usize = 16;

/// Lets one search run at a time, because each may read the complete catalogue on several threads. A few others wait.
#[derive(Debug, Default)]
pub(super) struct SearchLimit {
    state: Mutex<SearchState>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct SearchState {
    is_running: bool,
    waiting: usize,
}

/// The turn of a search. Its end lets the next one begin, also if the search panics.
struct SearchTurn<'l>(&'l SearchLimit);

impl Drop for SearchTurn<'_> {
    fn drop(&mut self) {
        self.0.state().is_running = false;
        self.0.ended.notify_one();
    }
}

impl SearchLimit {
    fn state(&self) -> MutexGuard<'_, SearchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other search runs, and runs this one. Returns `None` if too many wait already.
    fn run<T>(&self, search: impl FnOnce() -> T) -> Option<T> {
        let mut state = self.state();
        if state.waiting >= MOST_WAITING {
            return None;
        }
        state.waiting += 1;
        let running = self.ended.wait_while(state, |state| state.is_running);
        let mut state = running.unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state.is_running = true;
        drop(state);
        let _turn = SearchTurn(self);
        Some(search())
    }
}

/// Makes the page of a search.
pub(super) fn search(site: &PageContext<'_>, summaries: &Summaries, limit: &SearchLimit) -> Result<PageBody> {
    let asked = site.parameter("q");
    let words = words(&asked);
    if words.is_empty() {
        let content = html! {
            p { "Write a part of a path or URI: each word is looked for anywhere in it, in upper or lower case." }
        };
        return Ok(PageBody::new("Search", BROWSE, content));
    }
    let keys = summaries.keys(site.view)?;
    let Some(found) = limit.run(|| find(site, &words, &keys)) else {
        let content = html! { p { "Many others are searching now. Try it again in a moment." } };
        let page = PageBody::new("Search", BROWSE, content);
        return Ok(PageBody { status: StatusCode::SERVICE_UNAVAILABLE, ..page });
    };
    let found = found?;
    let content = html! {
        p.lead {
            @match found.len() {
                0 => { "No resource has " }
                more if more > MOST => { "The first " (MOST) " resources with " }
                number => { (counted(number as u64, "resource")) " with " }
            }
            q { (asked) }
            @if found.is_empty() {
                " in its URI. " a href=(site.page("browse", &[])) { "Browse the folders" } " to see what is there."
            } @else if found.len() > MOST { " in their URI. Add a word to see fewer." } @else { " in the URI." }
        }
        @if !found.is_empty() { (results(site, &found[..found.len().min(MOST)])) }
    };
    Ok(PageBody::new("Search", BROWSE, content))
}

fn results(site: &PageContext<'_>, found: &[Resource]) -> Markup {
    html! {
        table.listing.stacked {
            thead { tr { th scope="col" { "Resource" } th.figure scope="col" { "Size" } th scope="col" { "Last modified" } } }
            tbody {
                @for resource in found {
                    tr {
                        td { (site.resource_link(resource.uri.as_str(), false)) }
                        td.figure { @if let Some(length) = resource.state.length { (bytes(length)) } }
                        td { @if let Some(lastmod) = resource.state.lastmod { (moment(lastmod)) } }
                    }
                }
            }
        }
    }
}

/// Returns the words of a search in the form that they have in URIs.
fn words(asked: &str) -> Vec<String> {
    let short = asked.split_whitespace().filter(|word| word.len() <= MOST_BYTES);
    short.take(MOST_WORDS).map(in_uri).collect()
}

/// Escapes the characters that a URI cannot have. Existing escapes stay as they are.
fn in_uri(word: &str) -> String {
    use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
    const ESCAPED: &AsciiSet = &CONTROLS
        .add(b'"')
        .add(b'<')
        .add(b'>')
        .add(b'[')
        .add(b'\\')
        .add(b']')
        .add(b'^')
        .add(b'`')
        .add(b'{')
        .add(b'|')
        .add(b'}');
    utf8_percent_encode(word, ESCAPED).to_string()
}

/// Returns the first resources that have all words, in the order of the catalogue. There are at most [`MOST`] and one
/// more, which shows that there are further ones. `keys` divide the catalogue into parts.
fn find(site: &PageContext<'_>, words: &[String], keys: &[Vec<u8>]) -> Result<Vec<Resource>> {
    let begins: Vec<&[u8]> = std::iter::once(&[][..]).chain(keys.iter().map(Vec::as_slice)).collect();
    let ends: Vec<&[u8]> = keys.iter().map(Vec::as_slice).chain([&[][..]]).collect();
    let (next, found) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results: Mutex<Vec<(usize, Vec<Resource>)>> = Mutex::default();
    let work = || -> Result<()> {
        let snapshot = site.view.snapshot()?;
        loop {
            let part = next.fetch_add(1, Relaxed);
            // Parts are taken in order, so no further part is needed once the parts taken fill the page.
            if part >= begins.len() || found.load(Relaxed) > MOST {
                return Ok(());
            }
            let matching = snapshot.containing(words, (begins[part], ends[part]), MOST + 1)?;
            found.fetch_add(matching.len(), Relaxed);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((part, matching));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS).min(begins.len());
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        let ended =
            others.into_iter().map(|other| other.join().map_err(|_| anyhow!("a search ended early"))?);
        ended.chain([own]).collect::<Result<()>>()
    })?;
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(part, _)| *part);
    Ok(results.into_iter().flat_map(|(_, matching)| matching).take(MOST + 1).collect())
}

#[cfg(test)]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::mpsc,
    };

    use instep_testkit::wait_until;

    use super::*;

    #[test]
    fn words_are_escaped_as_in_uris_and_limited_in_number_and_length() {
        assert_eq!(words("  caf\u{e9} a%20b <x> "), ["caf%C3%A9", "a%20b", "%3Cx%3E"]);
        assert_eq!(words(&"x ".repeat(20)).len(), MOST_WORDS);
        assert!(words(&"x".repeat(MOST_BYTES + 1)).is_empty());
    }

    #[test]
    fn o188_few_searches_wait_for_their_turn_and_one_that_panics_lets_the_next_begin() {
        let limit = SearchLimit::default();
        let panicked = catch_unwind(AssertUnwindSafe(|| limit.run::<()>(|| panic!("a search that fails"))));
        assert!(panicked.is_err());
        let limit = &limit;
        thread::scope(|scope| {
            let ((end, ended), (begin, begun)) = (mpsc::channel::<()>(), mpsc::channel());
            scope.spawn(move || {
                limit.run(|| {
                    begin.send(()).unwrap();
                    // Returns when the sender is dropped, also if the test fails.
                    ended.recv().is_err()
                })
            });
            begun.recv().unwrap();
            let waiting: Vec<_> = (0..MOST_WAITING).map(|_| scope.spawn(move || limit.run(|| 1))).collect();
            wait_until("all of them wait", || limit.state().waiting == MOST_WAITING);
            assert_eq!(limit.run(|| 1), None, "one more is sent away");
            drop(end);
            assert!(waiting.into_iter().all(|search| search.join().unwrap() == Some(1)));
        });
        assert_eq!(limit.run(|| 1), Some(1));
    }
}
