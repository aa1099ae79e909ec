//! Patches from the version before.

use crate::support::Copy;

/// Returns a Source whose JSON resource changes, with a patch from the version before.
fn with_patch(patch: &'static str) -> Copy {
    let copy = Copy::of(instep_testkit::FakeSource::start().with_resources([("a.json", r#"{"a":1,"b":2}"#)]));
    assert_eq!(copy.sync().exit_code(), 0);
    let target = copy.source.url("a.patch");
    copy.source.serve("a.patch", patch);
    copy.source.misstate("a.json", move |entry| {
        let mut link = resourcesync::Link::new(
            resourcesync::Relation::Patch,
            resourcesync::Uri::parse(&target).unwrap(),
        );
        link.media_type = Some(resourcesync::MediaType::new("application/json-patch"));
        entry.links.push(link);
    });
    copy.source.put("a.json", r#"{"a":1,"b":3}"#);
    copy.source.forget_requests();
    copy
}

#[test]
fn a_patch_that_makes_the_promised_version_is_enough() {
    let copy = with_patch(r#"[{"op": "replace", "path": "/b", "value": 3}]"#);
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().updated), (0, 1));
    assert_eq!(copy.source.requests_for("a.json"), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn a_patch_that_makes_something_else_is_not_used() {
    let copy = with_patch(r#"[{"op": "replace", "path": "/b", "value": 4}]"#);
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().updated), (0, 1));
    assert_eq!(copy.source.requests_for("a.json"), 1);
    assert_eq!(copy.differences(), [""; 0]);
}
