//! Generated Sources against a naive model of what a Destination must hold.
//!
//! A generated Source leaves out what the standard lets it leave out, replaces lists, loses changes and breaks
//! documents. It writes its documents with code of this test, and the model is nothing but maps, so that no code of the
//! product judges the product.
//!
//! - `INSTEP_SEED=n` or `n..m` runs the Sources of these seeds.
//! - `INSTEP_FEATURES=Dump,Archive` generates only these features, `INSTEP_FEATURES=-Dump,-Archive` all others.
//! - `INSTEP_LONG=1` runs 10,000 Sources.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

#[path = "model/damage.rs"]
mod damage;
#[path = "model/documents.rs"]
mod documents;
#[path = "model/draw.rs"]
mod draw;
#[path = "model/feature.rs"]
mod feature;
#[path = "model/habits.rs"]
mod habits;
#[path = "model/judge.rs"]
mod judge;
#[path = "model/killed.rs"]
mod killed;
#[path = "model/naive.rs"]
mod naive;
#[path = "model/oddities.rs"]
mod oddities;
#[path = "model/package.rs"]
mod package;
#[path = "model/run.rs"]
mod run;
#[path = "model/server.rs"]
mod server;
#[path = "model/source.rs"]
mod source;
#[path = "model/style.rs"]
mod style;
#[path = "model/syncing.rs"]
mod syncing;
#[path = "model/times.rs"]
mod times;
#[path = "model/wishes.rs"]
mod wishes;

use std::{
    collections::BTreeSet,
    env,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use feature::Feature;
use instep_testkit::PostgresServer;
use run::Difference;

/// The number of threads that share the seeds. The run of one seed is small.
const THREADS: usize = 4;

#[test]
fn the_copy_of_any_source_is_what_a_naive_model_says() {
    follow_all((300, 10_000), None);
}

/// Repeats the test with the state of each copy in a database, which must keep all promises that a file keeps.
#[test]
fn the_copy_of_any_source_is_the_same_with_its_state_in_postgresql() {
    let Some(server) = PostgresServer::start() else { return };
    follow_all((30, 1_000), Some(&server.url()));
}

/// Seeds of Sources of which a copy was once wrong, each with its finding, or of which the model did not know
/// something.
const REMEMBERED: [(&str, u64); 60] = [
    ("o284", 26_399),
    ("o285", 22_000),
    ("o286, in an open list", 24_527),
    ("o286, in a list that was not read", 26_411),
    ("o287, in a list that was read again", 24_777),
    ("o287, before an audit", 26_662),
    ("o287, after an archive", 27_345),
    ("o288", 24_822),
    ("o289, with another state", 25_304),
    ("o289, of several sets", 26_014),
    ("o290", 25_600),
    ("o291", 25_860),
    ("o292", 25_939),
    ("o293, with another digest", 28_049),
    ("o293, without any", 27_812),
    ("o294", 28_365),
    ("o351", 30_703),
    ("o352", 31_270),
    ("o353", 33_494),
    ("o354", 33_509),
    ("o355", 34_123),
    ("o356", 34_722),
    ("o378", 20_439),
    ("o379", 21_823),
    ("o380", 22_170),
    ("o381", 21_084),
    ("o382", 20_086),
    ("o383", 21_602),
    ("o384", 21_048),
    ("o385", 21_552),
    ("o386", 23_808),
    ("o484", 35_916),
    ("o496", 37_758),
    ("o497", 37_586),
    ("o770", 40_678),
    ("o771", 40_906),
    ("o772", 42_551),
    ("o775", 46_931),
    ("o780", 60_414),
    ("o789", 112_494),
    ("o944", 60_438),
    ("o945", 53_302),
    ("o945, without a change from before", 70_481),
    ("o946", 63_683),
    ("o947", 63_126),
    ("o1120", 200_512),
    ("a deletion that an undated inventory does not take back", 20_992),
    ("a return that is not noticed where only the number of deletions is known", 21_463),
    ("archives that reach back to the inventory of a copy that never read all", 21_560),
    ("a state that may be right and is not served any more", 21_896),
    ("a state that only an archive names, which may count", 25_401),
    ("a resource that one set gives up and another lists in an older state", 28_490),
    ("a kept resource of two sets of which only the one that deleted it has a name", 9_062),
    ("a limit that changes and an inventory fill in another order", 28_688),
    ("resources that a list still has, and that went since", 7_268),
    ("an index that is the same for two inventories of one second", 28_850),
    ("a resource that a selection left out and that a lost list described", 34_094),
    ("a limit, and a resource that changes create and delete", 35_890),
    ("a shared resource that another set lists in a state that is not served any more", 45_612),
    ("changes that waited for a part of an inventory, and that no list has any more", 60_491),
];

#[test]
fn copies_that_were_wrong_once_are_right() {
    for (of, seed) in REMEMBERED {
        let difference = follow((seed, seed + 1), None);
        assert!(difference.is_none(), "{of}: {}", difference.unwrap_or_default());
    }
}

/// Follows the Sources of seeds: `plain` of them in a normal run, `long` of them in a long one, or those that the
/// environment names. The state of each copy is in the `database`, if one is given.
///
/// # Panics
/// If a copy differs from the model.
fn follow_all((plain, long): (u64, u64), database: Option<&str>) {
    let (first, last) = match env::var("INSTEP_SEED") {
        Ok(seed) => {
            let (first, last) = seed.split_once("..").unwrap_or((&seed, ""));
            let first: u64 = first.parse().unwrap();
            (first, last.parse().unwrap_or(first + 1))
        }
        Err(_) if env::var_os("INSTEP_LONG").is_some() => (0, long),
        Err(_) => (0, plain),
    };
    let difference = follow((first, last), database);
    assert!(difference.is_none(), "{}", difference.unwrap_or_default());
}

/// Follows the Sources of seeds. Returns a description of the copies that differ from the model; `None` if none does.
fn follow((first, last): (u64, u64), database: Option<&str>) -> Option<String> {
    let only: Option<BTreeSet<String>> =
        env::var("INSTEP_FEATURES").ok().map(|names| names.split(',').map(str::to_owned).collect());
    let allows = |feature: Feature| match &only {
        Some(only) if only.iter().any(|name| name.starts_with('-')) => {
            !only.contains(&format!("-{feature:?}"))
        }
        Some(only) => only.contains(&format!("{feature:?}")),
        None => true,
    };
    let next = AtomicU64::new(first);
    let differences = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_multi_thread()
                    .worker_threads(1)
                    .enable_all()
                    .build()
                    .unwrap();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= last {
                        return;
                    }
                    let difference = run::follow(seed, &runtime, &allows, database);
                    differences.lock().unwrap().extend(difference);
                }
            });
        }
    });
    let mut differences = differences.into_inner().unwrap();
    differences.sort_by_key(|difference| difference.seed);
    (!differences.is_empty()).then(|| describe(&differences, last - first))
}

/// Returns a description of differences: the log of the first Source, and a line for each Source.
fn describe(differences: &[Difference], count: u64) -> String {
    let lines = differences.iter().map(|one| format!("INSTEP_SEED={}: {}\n", one.seed, one.what.join("; ")));
    let lines: String = lines.collect();
    let story = differences.first().map_or("", |one| &one.story);
    format!("{story}\n{} of {count} Sources differ from the model:\n{lines}", differences.len())
}
