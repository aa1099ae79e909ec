//! Harvests of a repository that fails.

use std::time::Duration;

use instep_net::Scope;
use instep_testkit::{FakeRecord, FakeRepository, RepositoryFault::Status};

use super::*;

#[test]
fn o485_a_harvest_that_fails_reports_the_records_that_it_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let fake = FakeRepository::with_records(5);
    let url = RepositoryUrl::parse(&fake.url("metadataPrefix=oai_dc")).unwrap();
    let mut http = HttpOptions::new(Scope::for_source(&url.base).unwrap());
    (http.backoff, http.retries) = (Duration::from_millis(1), 2);
    let source = HarvestedRepository::new(url, folder.path(), HarvestOptions::default(), http).unwrap();
    let harvest = || source.shared.refresh(&KeptProblems::default(), &|| false).unwrap();
    assert_eq!(harvest().changed, 5);
    fake.edit(|layout| {
        layout.records.extend((0..15).map(|number| {
            FakeRecord::new(&format!("oai:new:{number}"), &format!("2026-02-02T00:00:{number:02}Z"), "New")
        }));
    });
    fake.fail("resumptionToken", std::iter::repeat_n(Status(500, "X-Broken: 1"), 20));
    let failed = harvest();
    assert_eq!((failed.changed, failed.lost), (10, 1));
}
