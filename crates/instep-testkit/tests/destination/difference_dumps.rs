//! Change Dumps of the dialect of January 2013, whose bitstreams may be differences (A16).

use data_encoding::HEXLOWER;

use crate::support::{Copy, Run, zipped};

const BEFORE: &str = r#"{"a":1,"b":[1,2,3]}"#;
const AFTER: &str = r#"{"a":2,"b":[1,2,3]}"#;
const DIFFERENCE: &str = r#"[{"op":"replace","path":"/a","value":2}]"#;

fn sha_256(text: &str) -> String {
    HEXLOWER.encode(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()).as_ref())
}

/// Returns a copy whose Source packs the change of a resource as a difference, with this digest and type in its manifest.
fn changed(digest: &str, media_type: &str, difference: &str) -> (Copy, Run) {
    let copy = Copy::laid_out(|layout| (layout.change_list, layout.change_dump) = (false, true));
    copy.source.put("a.json", BEFORE);
    copy.source.snapshot();
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.put("a.json", AFTER);
    let loc = copy.source.url("a.json");
    let entry = format!(
        "<url><loc>{loc}</loc><lastmod>2026-01-02T00:00:00Z</lastmod><rs:md change='updated' type='{media_type}' \
         hash='sha-256:{digest}' path='/changes/a'/></url>"
    );
    let manifest = format!(
        "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:rs='http://www.openarchives.org/rs/'>\
         <rs:md capability='changedump-manifest' modified='2026-01-02T01:00:00Z'/>{entry}</urlset>"
    );
    let members = [("manifest.xml", manifest), ("changes/a", difference.to_owned())];
    copy.source.serve("differences.zip", zipped(members));
    let package = format!(
        "<url><loc>{}</loc><rs:md from='2026-01-01T00:00:00Z' until='2026-01-02T01:00:00Z'/></url>",
        copy.source.url("differences.zip")
    );
    copy.source.serve(
        "changedump.xml",
        format!(
            "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:rs='http://www.openarchives.org/rs/terms/'>\
             <rs:md capability='changedump' from='2026-01-01T00:00:00Z'/>{package}</urlset>"
        ),
    );
    copy.source.forget_requests();
    let run = copy.sync();
    (copy, run)
}

#[test]
fn a16_a_bitstream_that_is_a_difference_is_applied_where_a_digest_proves_the_result() {
    let (copy, run) = changed(&sha_256(AFTER), "application/json-patch+json", DIFFERENCE);
    assert_eq!((run.exit_code(), copy.read("a.json").as_deref()), (0, Some(AFTER)), "{:?}", run.heard);
    assert_eq!(copy.source.requests_for("a.json"), 0, "it was made of the held version");
}

#[test]
fn a16_where_nothing_proves_the_result_of_a_difference_the_resource_is_fetched() {
    for (digest, media_type, difference) in [
        (sha_256(DIFFERENCE), "application/json-patch+json", DIFFERENCE),
        (sha_256(AFTER), "application/json-patch+json", "[{\"op\":\"remove\",\"path\":\"/a\"}]"),
        (sha_256("x"), "application/vcdiff", "not a delta"),
    ] {
        let (copy, run) = changed(&digest, media_type, difference);
        assert_eq!((run.exit_code(), copy.read("a.json").as_deref()), (0, Some(AFTER)), "{:?}", run.heard);
        assert_eq!(copy.source.requests_for("a.json"), 1, "{media_type}");
        assert_eq!((copy.sync().exit_code(), copy.read("a.json").as_deref()), (0, Some(AFTER)));
    }
}

#[test]
fn a16_a_bitstream_of_another_type_is_the_resource_itself() {
    let (copy, run) = changed(&sha_256(AFTER), "application/json", AFTER);
    assert_eq!((run.exit_code(), copy.read("a.json").as_deref()), (0, Some(AFTER)), "{:?}", run.heard);
    assert_eq!(copy.source.requests_for("a.json"), 0, "it came in the package");
}
