//! Sources that state digests of other algorithms than before.

use resourcesync::{Algorithm, DateTime};

use crate::support::Copy;

#[test]
fn o643_bytes_whose_digests_are_of_another_algorithm_are_hashed_again() {
    let copy = Copy::laid_out(|layout| {
        (layout.change_list, layout.algorithms) = (false, vec![Algorithm::Sha256]);
    });
    copy.source.misstate("a.txt", |entry| entry.lastmod = DateTime::parse("2013-01-02T10:00:00.5Z").ok());
    copy.source.put("a.txt", "one");
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.lay_out(|layout| layout.algorithms = vec![Algorithm::Md5]);
    copy.source.put("a.txt", "two");
    let (audited, heard) = copy.audit();
    let audited = audited.unwrap();
    assert_eq!((audited.differing, audited.unauditable, audited.exit_code()), (1, 0, 20), "{heard:?}");
    copy.source.forget_requests();
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().updated), (0, 1));
    assert_eq!(copy.read("a.txt").as_deref(), Some("two"));
    assert_eq!(copy.source.requests_for("b.txt"), 0, "the held bytes are hashed");
    copy.source.snapshot();
    copy.source.forget_requests();
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!((copy.source.requests_for("a.txt"), copy.source.requests_for("b.txt")), (0, 0));
    let (audited, heard) = copy.audit();
    assert_eq!(audited.unwrap().exit_code(), 0, "{heard:?}");
}

#[test]
fn o730_a_file_that_was_touched_is_the_same_for_an_audit_if_its_bytes_have_the_listed_digest() {
    let copy = Copy::laid_out(|layout| layout.algorithms = vec![Algorithm::Sha256]);
    copy.source.put("a.txt", "one");
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.misstate("a.txt", |entry| entry.lastmod = DateTime::parse("2012-06-01T00:00:00Z").ok());
    copy.source.lay_out(|layout| layout.algorithms = vec![Algorithm::Md5]);
    copy.source.snapshot();
    let (audited, heard) = copy.audit();
    let audited = audited.unwrap();
    assert_eq!((audited.differing, audited.exit_code()), (0, 0), "{heard:?}");
}
