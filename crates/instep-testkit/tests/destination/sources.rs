//! A copy of several Sources: each has its own sets, runs and result.

use instep_destination::{AuditOptions, AuditReport, SourceStatus, VoidMonitor, audit, status};
use instep_testkit::{FakeSource, Fault};

use crate::support::{Copy, Run, runtime};

/// Returns a Source of two resources on another host.
fn other() -> FakeSource {
    FakeSource::start_at("127.0.0.2", instep_testkit::Layout::new())
        .with_resources([("x.txt", "other"), ("y.txt", "another")])
}

fn sync_other(copy: &Copy, other: &FakeSource) -> Run {
    copy.sync_with(|options| {
        options.url = other.url("");
        (options.add_source, options.delete) = (true, true);
    })
}

fn sources(copy: &Copy) -> Vec<SourceStatus> {
    status(&copy.dir()).unwrap().sources
}

fn exit_codes(copy: &Copy) -> Vec<Option<u8>> {
    sources(copy).into_iter().map(|source| source.last_run.and_then(|run| run.exit_code)).collect()
}

fn audit_all(copy: &Copy) -> AuditReport {
    let mut options = AuditOptions::new(None, copy.dir());
    (options.every_source, options.access.retries) = (true, 0);
    runtime().block_on(audit(&options, &VoidMonitor)).unwrap()
}

#[test]
fn b25_a_run_of_one_source_leaves_the_record_of_another_as_it_is() {
    let (copy, other) = (Copy::of_three(), other());
    other.fail_always("y.txt", Fault::Status(404));
    assert_eq!((copy.sync().exit_code(), sync_other(&copy, &other).exit_code()), (0, 3));
    let before = sources(&copy);
    assert_eq!(
        before.iter().map(|source| &*source.url).collect::<Vec<_>>(),
        [copy.source.url(""), other.url("")]
    );
    assert_eq!(before.iter().map(|source| (source.held, source.owed)).collect::<Vec<_>>(), [(3, 0), (1, 1)]);
    assert!(before.iter().all(|source| source.coverage.is_some_and(|coverage| coverage.is_complete())));
    assert_eq!(exit_codes(&copy), [Some(0), Some(3)]);
    assert_eq!(before[1].problems, [("missing".to_owned(), 1)].into());

    copy.source.put("a.txt", "changed");
    copy.sync();
    let after = sources(&copy);
    assert_eq!(exit_codes(&copy), [Some(0), Some(3)]);
    assert!(after[0].checkpoint > before[0].checkpoint && after[1].checkpoint == before[1].checkpoint);
    assert_eq!(
        after[1].last_run.as_ref().unwrap().ended.unwrap().to_string(),
        before[1].last_run.as_ref().unwrap().ended.unwrap().to_string()
    );
}

#[test]
fn b25_the_inventory_of_one_source_deletes_and_clears_nothing_of_another() {
    let (copy, other) = (Copy::of_three(), other());
    copy.source.fail_always("b.txt", Fault::Status(404));
    // A failure of one Source does not count for the run of the other.
    assert_eq!((copy.sync().exit_code(), sync_other(&copy, &other).exit_code()), (3, 0));
    other.delete("y.txt");
    other.snapshot();
    other.gap();
    let run = sync_other(&copy, &other);
    assert_eq!((run.report().deleted, run.report().owed), (1, 0));
    let all = sources(&copy);
    assert_eq!(all.iter().map(|source| (source.held, source.owed)).collect::<Vec<_>>(), [(2, 1), (1, 0)]);
    copy.source.heal();
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(sources(&copy).iter().map(|source| source.owed).sum::<u64>(), 0);
}

#[test]
fn b25_another_url_of_a_source_continues_its_record_and_a_wrong_one_makes_none() {
    let copy = Copy::of_three();
    assert_eq!(copy.sync().exit_code(), 0);
    let list = copy.source.capability_list_url();
    assert_eq!(copy.sync_with(|options| options.url.clone_from(&list)).exit_code(), 0);
    assert_eq!(sources(&copy).iter().map(|source| &*source.url).collect::<Vec<_>>(), [&*list]);
    assert_eq!(copy.sync_with(|options| options.url = copy.source.url("nowhere.xml")).exit_code(), 4);
    assert_eq!((sources(&copy).len(), exit_codes(&copy)), (1, vec![Some(0)]));
    assert_eq!(status(&copy.dir()).unwrap().last_exit_code, Some(4));
}

#[test]
fn b25_an_audit_of_a_copy_judges_each_of_its_sources() {
    let (copy, other) = (Copy::of_three(), other());
    assert_eq!((copy.sync().exit_code(), sync_other(&copy, &other).exit_code()), (0, 0));
    let codes =
        |report: &AuditReport| -> Vec<u8> { report.sources.iter().map(|one| one.exit_code()).collect() };
    let report = audit_all(&copy);
    assert_eq!((report.exit_code(), codes(&report), report.same), (0, vec![0, 0], 5));

    other.put("x.txt", "changed");
    let report = audit_all(&copy);
    assert_eq!((report.exit_code(), codes(&report), report.sources[1].differing), (20, vec![0, 20], 1));

    copy.source.fail_always("capabilitylist.xml", Fault::Status(403));
    let report = audit_all(&copy);
    assert_eq!((report.exit_code(), codes(&report)), (4, vec![4, 20]));
    assert!(report.sources[0].error.as_ref().unwrap().1.contains(&copy.source.url("")), "{report:?}");
}
