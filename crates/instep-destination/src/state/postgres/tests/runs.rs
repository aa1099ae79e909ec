//! Whole runs of a copy whose state is in a database.

use std::path::{Path, PathBuf};

use instep_testkit::{FakeSource, Fault, PostgresServer, compare};
use tempfile::TempDir;

use super::sql;
use crate::{AuditOptions, Error, SyncOptions, SyncReport, TestMonitor, audit, status, sync};

struct Copy {
    source: FakeSource,
    folder: TempDir,
}

impl Copy {
    fn of(source: FakeSource) -> Self {
        Self { source, folder: TempDir::new().unwrap() }
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().join("copy")
    }

    fn own(&self, name: &str) -> PathBuf {
        self.dir().join(".instep").join(name)
    }

    /// Synchronizes the copy with the Source, with deletions.
    fn sync(&self, state: Option<&str>) -> Result<SyncReport, Error> {
        let mut options = SyncOptions::new(self.source.url(""), self.dir());
        options.state = state.map(str::to_owned);
        options.delete = true;
        options.access.retries = 1;
        wait(sync(&options, &TestMonitor::new()))
    }

    /// Synchronizes the copy, and checks by its files and by an audit that it equals the Source.
    fn is_in_step(&self, state: Option<&str>) -> SyncReport {
        let report = self.sync(state).unwrap();
        assert_eq!(report.exit_code(), 0, "{report:?}");
        let truth = TempDir::new().unwrap();
        self.source.write_to(truth.path()).unwrap();
        assert_eq!(compare(truth.path(), &self.dir()), Vec::<String>::new());
        let mut options = AuditOptions::new(Some(self.source.url("")), self.dir());
        options.access.retries = 1;
        let audited = wait(audit(&options, &TestMonitor::new())).unwrap();
        assert_eq!(audited.exit_code(), 0, "{audited:?}");
        report
    }
}

fn wait<T>(run: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.unwrap().block_on(run)
}

fn many(count: usize) -> Vec<(String, String)> {
    (0..count).map(|number| (format!("n/{number:05}.txt"), format!("text {number}"))).collect()
}

fn refusal(copy: &Copy, state: Option<&str>) -> String {
    let error = copy.sync(state).unwrap_err();
    assert_eq!(error.exit_code(), 2, "{error}");
    error.to_string()
}

#[test]
fn a_copy_is_made_and_kept_in_step_and_its_folder_remembers_where_its_state_is() {
    let Some(server) = PostgresServer::start() else { return };
    let copy = Copy::of(FakeSource::start().with_resources(many(50)));
    assert_eq!(copy.is_in_step(Some(&server.url())).created, 50);
    assert!(copy.own("state.json").is_file() && !copy.own("state.sqlite").exists());
    copy.source.put("n/00007.txt", "another text");
    copy.source.put("new.txt", "new");
    copy.source.delete("n/00008.txt");
    let report = copy.is_in_step(None);
    assert_eq!((report.created, report.updated, report.deleted), (1, 1, 1));
    let held = status(&copy.dir()).unwrap();
    assert_eq!((held.held, held.owed, held.last_exit_code), (50, 0, Some(0)));
    assert_eq!(held.url.as_deref(), Some(copy.source.url("").as_str()));
    let report = copy.is_in_step(Some(&server.url()));
    assert_eq!((report.created, report.updated, report.deleted), (0, 0, 0));

    // A resource that cannot be fetched is pending there.
    copy.source.put("late.txt", "late");
    copy.source.fail_always("late.txt", Fault::Status(500));
    assert_eq!(copy.sync(None).unwrap().exit_code(), 3);
    assert_eq!(status(&copy.dir()).unwrap().owed, 1);
    copy.source.heal();
    copy.is_in_step(None);
    assert_eq!(status(&copy.dir()).unwrap().owed, 0);

    // The state is not searched in another place.
    assert!(refusal(&copy, Some(&format!("{}?schema=other", server.url()))).contains(&server.url()));
    assert!(refusal(&copy, Some("sqlite://x")).contains("postgres://"));
    sql(&server.url(), "DELETE FROM copy");
    assert!(status(&copy.dir()).unwrap_err().to_string().contains("no state of this copy"));
}

#[test]
fn o1092_a_copy_whose_state_the_database_lost_is_not_begun_anew_unasked() {
    let Some(server) = PostgresServer::start() else { return };
    let copy = Copy::of(FakeSource::start().with_resources(many(3)));
    assert_eq!(copy.is_in_step(Some(&server.url())).created, 3);
    sql(&server.url(), "DELETE FROM copy");
    let text = refusal(&copy, None);
    assert!(text.contains("no state of this copy") && text.contains(".instep/state.json"), "{text}");
    // The state is built again from the files, or at the place that is named again.
    let mut adopting = SyncOptions::new(copy.source.url(""), copy.dir());
    adopting.adopt = true;
    let adopted = wait(sync(&adopting, &TestMonitor::new())).unwrap();
    assert_eq!((adopted.exit_code(), adopted.created), (0, 0), "{adopted:?}");
    copy.is_in_step(None);
    sql(&server.url(), "DELETE FROM copy");
    copy.is_in_step(Some(&server.url()));
}

#[test]
fn a_first_run_that_a_server_refuses_leaves_nothing() {
    let Some(server) = PostgresServer::start() else { return };
    let copy = Copy::of(FakeSource::start().with_resources(many(3)));
    for url in [server.url().replace("/copies", "/nothing"), "postgres://[".to_owned()] {
        refusal(&copy, Some(&url));
        assert!(!copy.dir().exists(), "{url}");
    }
    // A copy with its state in its folder keeps it there.
    assert_eq!(copy.sync(None).unwrap().exit_code(), 0);
    assert!(refusal(&copy, Some(&server.url())).contains("state.sqlite"));
    assert!(!Path::new(&copy.own("state.json")).exists());
}

#[test]
fn a_uri_that_is_too_long_for_the_state_costs_its_own_resource_only() {
    let Some(server) = PostgresServer::start() else { return };
    let copy = Copy::of(FakeSource::start().with_resources(many(3)));
    // No two parts are alike, because a URI that repeats itself would be compressed and fit.
    let long = (0..900_u32).map(|number| format!("{:08x}", number.wrapping_mul(2_654_435_761)));
    let long = copy.source.url(&format!("get?{}", long.collect::<String>()));
    copy.source.list(resourcesync::Entry::new(resourcesync::Uri::parse(&long).unwrap()));
    let report = copy.sync(Some(&server.url())).unwrap();
    assert_eq!((report.exit_code(), report.created, report.entries.unusable), (3, 3, 1));
    copy.source.put("n/00001.txt", "another text");
    assert_eq!(copy.sync(None).unwrap().updated, 1);
}

#[test]
fn a_run_goes_on_when_its_server_is_back() {
    let Some(server) = PostgresServer::start() else { return };
    let copy = Copy::of(FakeSource::start().with_resources(many(400)));
    copy.source.fail("n/00200.txt", [Fault::Hold]);
    let report = std::thread::scope(|scope| {
        let run = scope.spawn(|| copy.sync(Some(&server.url())));
        copy.source.wait_for("n/00200.txt", 1);
        server.stop_at_once();
        server.begin();
        copy.source.release();
        run.join().unwrap().unwrap()
    });
    assert_eq!((report.exit_code(), report.created), (0, 400));
    let before = copy.source.requests().len();
    copy.is_in_step(None);
    let fetched = copy.source.requests().split_off(before);
    assert!(!fetched.iter().any(|request| request.path.contains("n/0")), "nothing is fetched again");
}
