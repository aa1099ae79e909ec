//! A delivery that fails, or is killed, before any one of its changes. The bucket checks itself after each change.

use std::panic::{AssertUnwindSafe, catch_unwind};

use instep_source::{Archives, DumpPolicy, ErrorKind, PatchOptions};

use super::{Delivered, store::Interruption};

/// No delivery of this test has so many changes.
const MANY: usize = 120;

/// Returns a Source with every kind of document, whose parts are small.
fn source() -> Delivered {
    let mut source = Delivered::new();
    let options = &mut source.options;
    (options.lists.entries, options.lists.rotation.entries, options.lists.closed_lists) = (2, 2, 1);
    options.lists.snapshot_every = std::time::Duration::ZERO;
    options.lists.grace = std::time::Duration::ZERO;
    options.dumps.policy = DumpPolicy::Always;
    options.dumps.changes = true;
    options.keep_states = true;
    let mut archives = Archives::default();
    archives.count = 2;
    options.archives = Some(archives);
    options.patches = Some(PatchOptions::default());
    ["a", "b", "c"].iter().for_each(|name| source.write(name, &text(name, 0)));
    source
}

/// Long enough for a patch to be worth it.
fn text(name: &str, round: usize) -> String {
    format!("{} of {name} {round}", "the same words ".repeat(40))
}

/// Interrupts the delivery of one publication after another, each one change later than the one before.
fn is_interrupted_everywhere(interruption: Interruption) -> usize {
    let source = source();
    source.publish().unwrap();
    for (interrupted, step) in (1..MANY).step_by(2).enumerate() {
        source.write("a", &text("a", step));
        source.write(["d", "e"][step % 2], &text("d", step));
        source.store.interrupt(step, interruption);
        let published = catch_unwind(AssertUnwindSafe(|| source.publish()));
        source.store.mend();
        match published {
            Ok(Ok(_)) => return interrupted,
            Ok(Err(error)) => {
                assert_eq!(
                    (interruption, error.kind()),
                    (Interruption::Failure, ErrorKind::Storage),
                    "{error}"
                );
                let said = error.to_string();
                assert!(said.contains("The documents are made") && said.contains("s3://bucket"), "{said}");
            }
            Err(_) => assert_eq!(interruption, Interruption::Kill),
        }
        // Sometimes another change comes before the delivery goes on, sometimes a second interruption.
        if step % 3 == 0 {
            source.write("b", &text("b", step));
        }
        if step % 4 == 0 {
            source.store.interrupt(1 + step / 2, interruption);
            let _ = catch_unwind(AssertUnwindSafe(|| source.publish()));
            source.store.mend();
        }
        source.publish().unwrap();
        source.assert_delivered();
        assert!(source.publish().unwrap().is_nothing_new(), "interrupted at change {step}");
    }
    panic!("more than {MANY} changes");
}

#[test]
fn a_delivery_that_fails_at_any_change_leads_nowhere_wrong_and_goes_on() {
    assert!(is_interrupted_everywhere(Interruption::Failure) > 10);
}

#[test]
fn a_delivery_killed_at_any_change_leads_nowhere_wrong_and_goes_on() {
    assert!(is_interrupted_everywhere(Interruption::Kill) > 10);
}
