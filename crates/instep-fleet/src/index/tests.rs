//! The index compared with a simple implementation, which filters, sorts and cuts all Sources.

use proptest::prelude::*;

use super::*;
use crate::{
    definition::SourceDefinition,
    standing::{SourceHold, SourceStanding},
};

const NOW: i64 = 1_000_000;

fn source(number: usize, standing: SourceStanding) -> FleetSource {
    let name: SourceName = format!("source-{number:05}").parse().unwrap();
    let definition = SourceDefinition::new(name, format!("https://host-{}.example/{number}", number % 7));
    FleetSource { definition, from_file: false, standing, running: None, hold: SourceHold::default() }
}

fn standings() -> impl Strategy<Value = SourceStanding> {
    let small = 0_u64..3;
    let moment = prop::option::of(NOW - 2_000..NOW);
    (
        (small.clone(), small.clone(), small),
        (moment.clone(), moment.clone(), moment),
        (NOW - 2_000..NOW + 2_000, prop::bool::weighted(0.1), 0_u32..2),
    )
        .prop_map(|((held, bytes, pending), (checkpoint, ended, success), (due, paused, failures))| {
            SourceStanding {
                held,
                bytes,
                pending,
                checkpoint,
                ended,
                success,
                due,
                paused,
                failures,
                interval: 900,
                exit_code: Some(0),
                ..SourceStanding::default()
            }
        })
}

/// Returns the names of a page, from a table that is filtered and sorted as a whole.
fn plainly(all: &[FleetSource], request: &SourceRequest, now: i64) -> (Vec<SourceName>, usize) {
    let has = |source: &&FleetSource| {
        let text = format!("{} {}", source.definition.name, source.definition.url);
        let is_wanted = request.state.is_none_or(|wanted| source.state(now) == wanted);
        is_wanted && request.words.iter().all(|word| text.contains(word.as_str()))
    };
    let mut found: Vec<_> = all.iter().filter(has).collect();
    found.sort_by_key(|source| {
        let state = (request.column == SourceColumn::State).then(|| source.state(now));
        (state, request.column.key(source), source.definition.name.clone())
    });
    if request.is_reversed {
        found.reverse();
    }
    let page = found.iter().skip((request.page - 1) * request.size).take(request.size);
    (page.map(|source| source.definition.name.clone()).collect(), found.len())
}

proptest! {
    #[test]
    fn a_page_is_that_of_a_table_that_is_sorted_as_a_whole(
        standings in prop::collection::vec(standings(), 1..60),
        column in 0_usize..8,
        is_reversed: bool,
        page in 1_usize..4,
        state in prop::option::of(0_usize..7),
        later in 0_i64..4_000,
    ) {
        let columns = [SourceColumn::State].into_iter().chain(SourceColumn::ORDERS);
        let mut index = SourceIndex { now: NOW, ..SourceIndex::default() };
        let all: Vec<_> = standings.into_iter().enumerate().map(|(at, standing)| source(at, standing)).collect();
        // Each is put twice, as another one first: nothing of that may stay.
        for source in &all {
            let mut before = source.clone();
            (before.standing.held, before.standing.due, before.standing.failures) = (77, NOW, 1);
            index.insert(Arc::new(before));
            index.insert(Arc::new(source.clone()));
        }
        let request = SourceRequest {
            column: columns.clone().nth(column).unwrap(),
            is_reversed,
            page,
            state: state.map(|at| SourceState::ALL[at]),
            words: if later % 2 == 0 { Vec::new() } else { vec!["host-3".to_owned()] },
            size: 10,
        };
        let now = NOW + later;
        let shown = index.page(&request, now);
        let request = SourceRequest { page: shown.page, ..request };
        let (names, matching) = plainly(&all, &request, now);
        let shown_names: Vec<_> = shown.sources.iter().map(|source| source.definition.name.clone()).collect();
        prop_assert_eq!(shown_names, names);
        prop_assert_eq!(shown.matching, matching);
        for state in SourceState::ALL {
            let plain = all.iter().filter(|source| source.state(now) == state).count();
            prop_assert_eq!(index.states(now).get(&state).copied().unwrap_or(0), plain);
        }
        all.iter().for_each(|source| index.remove(&source.definition.name));
        prop_assert!(index.orders.iter().all(BTreeMap::is_empty) && index.overdue.is_empty());
    }
}

#[test]
fn a_page_of_ten_thousand_sources_takes_up_its_own_rows_and_no_other() {
    let mut index = SourceIndex { now: NOW, ..SourceIndex::default() };
    for number in 0..10_000 {
        let held = number as u64 % 100;
        let standing = SourceStanding { held, ..SourceStanding::default() };
        index.insert(Arc::new(source(number, standing)));
    }
    for (column, page) in [(SourceColumn::Name, 1), (SourceColumn::Held, 57), (SourceColumn::State, 100)] {
        index.taken.set(0);
        let shown = index.page(&SourceRequest { column, page, ..SourceRequest::default() }, NOW);
        assert_eq!((shown.sources.len(), shown.matching, shown.pages), (100, 10_000, 100));
        assert_eq!(index.taken.get(), 100, "{column:?}");
    }
    index.taken.set(0);
    assert_eq!(index.states(NOW).values().sum::<usize>(), 10_000);
    assert_eq!(index.taken.get(), 0, "states are counted in the index");
}

#[test]
fn o457_after_a_clock_was_ahead_no_source_stays_behind() {
    let standing = SourceStanding {
        due: NOW + 60,
        interval: 900,
        success: Some(NOW),
        exit_code: Some(0),
        in_step: true,
        ..SourceStanding::default()
    };
    let mut index = SourceIndex::default();
    index.insert(Arc::new(source(1, standing)));
    let mut states = |now| index.states(now).into_keys().collect::<Vec<_>>();
    assert_eq!(states(NOW), [SourceState::InStep]);
    assert_eq!(states(NOW + 86_400), [SourceState::Behind]);
    assert_eq!(states(NOW), [SourceState::InStep]);
}
