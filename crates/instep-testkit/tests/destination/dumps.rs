use instep_destination::{Strategy, Via};
use instep_testkit::Fault;

use crate::support::{Copy, three};

fn with_dump(list: bool) -> Copy {
    Copy::laid_out(|layout| {
        layout.dump = true;
        layout.resource_list = list;
    })
}

fn requests_for_resources(copy: &Copy) -> usize {
    three().iter().map(|(path, _)| copy.source.requests_for(path)).sum()
}

#[test]
fn a_dump_and_a_list_give_the_same_copy() {
    let copy = with_dump(true);
    let run = copy.sync_with(|options| options.via = Via::Dump);
    assert_eq!((run.exit_code(), run.report().strategy, run.report().created), (0, Strategy::Dump, 3));
    assert_eq!(requests_for_resources(&copy), 0);
    assert_eq!(copy.differences(), [""; 0]);
    let again = copy.sync();
    assert_eq!((again.exit_code(), again.report().strategy), (0, Strategy::Nothing));
}

#[test]
fn a_dump_alone_is_an_inventory_too() {
    let copy = with_dump(false);
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().strategy, run.report().created), (0, Strategy::Dump, 3));
    assert_eq!(requests_for_resources(&copy), 0);
    assert_eq!(copy.differences(), [""; 0]);
    copy.source.put("a.txt", "changed");
    copy.source.delete("b.txt");
    let run = copy.sync_with(|options| options.delete = true);
    assert_eq!((run.exit_code(), copy.differences()), (0, vec![]));
}

#[test]
fn what_changed_since_the_dump_is_fetched_by_its_uri() {
    let copy = with_dump(true);
    copy.source.put("a.txt", "changed since");
    let run = copy.sync_with(|options| options.via = Via::Dump);
    assert_eq!((run.exit_code(), run.report().created), (0, 3));
    assert_eq!(copy.source.requests_for("a.txt"), 1);
    assert_eq!(copy.source.requests_for("b.txt"), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn a_package_that_cannot_be_used_costs_nothing_but_requests() {
    let copy = with_dump(true);
    copy.source.fail_always("resourcedump.zip", Fault::Body(b"no package".to_vec()));
    let run = copy.sync_with(|options| options.via = Via::Dump);
    assert_eq!((run.exit_code(), run.report().created), (0, 3));
    assert_eq!(copy.differences(), [""; 0]);
}
