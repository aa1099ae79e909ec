//! Sources and folders that are removed and replaced while a fleet runs.

use std::fs;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o170_a_source_that_is_removed_and_added_again_at_once_is_the_new_one() {
    let (a, b) = (with_files(1), with_files(3));
    let dir = tempfile::tempdir().unwrap();
    let mut record = FleetRecord::open(&FleetPlace::in_folder(dir.path())).unwrap();
    record.add(&[source("a", &a)], seconds()).unwrap();
    let fleet = Fleet::open(options(dir.path()), &[], Arc::new(Quiet)).unwrap();
    let keeping = until(&fleet, |fleet| fleet.source(&name("a")).is_some_and(|a| a.standing.held == 3));
    let changing = async {
        until_so(|| state(&fleet, "a") == SourceState::InStep).await;
        record.operate(SourceOperation::Forget, &[name("a")], ("ada", seconds())).unwrap();
        let mut again = source("a", &b);
        again.into = Some("again".into());
        record.add(&[again], seconds()).unwrap();
    };
    tokio::join!(keeping, changing);
    let looks = fleet.looks(&name("a")).await.unwrap();
    assert_eq!((looks.len(), looks[0].held), (1, 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o452_a_source_that_is_removed_when_it_is_due_keeps_no_other_work_back() {
    let a = with_files(1);
    let dir = tempfile::tempdir().unwrap();
    let mut record = FleetRecord::open(&FleetPlace::in_folder(dir.path())).unwrap();
    record.add(&[source("a", &a)], seconds()).unwrap();
    let fleet = Fleet::open(options(dir.path()), &[], Arc::new(Quiet)).unwrap();
    fleet.register(None).await.unwrap();
    record.operate(SourceOperation::Forget, &[name("a")], ("ada", seconds())).unwrap();
    let shutdown = Shutdown::new();
    timeout(Duration::from_secs(30), fleet.begin_looks(&shutdown)).await.unwrap().unwrap();
    assert!(fleet.sources().is_empty() && fleet.figures().running == 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o171_a_fleet_whose_folder_is_removed_or_replaced_ends_and_says_so() {
    let a = with_files(1);
    let dir = tempfile::tempdir().unwrap();
    let (folder, elsewhere) = (dir.path().join("fleet"), dir.path().join("elsewhere"));
    for is_replaced in [false, true] {
        let fleet = Fleet::open(options(&folder), &[source("a", &a)], Arc::new(Quiet)).unwrap();
        let running = tokio::spawn({
            let fleet = fleet.clone();
            async move { fleet.run(Shutdown::new()).await }
        });
        until_so(|| state(&fleet, "a") == SourceState::InStep).await;
        fs::rename(&folder, &elsewhere).unwrap();
        if is_replaced {
            drop(FleetRecord::open(&FleetPlace::in_folder(&folder)).unwrap());
        }
        assert!(fleet.add(&source("b", &a), "ada").await.is_err(), "it would be lost");
        let error = timeout(PATIENCE, running).await.unwrap().unwrap().unwrap_err();
        assert!(error.to_string().contains("was removed or replaced while the fleet ran"), "{error}");
        assert_eq!(error.exit_code(), 8);
        drop(fleet);
        let _ = fs::remove_dir_all(&folder);
        fs::rename(&elsewhere, &folder).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o177_options_that_cannot_be_used_leave_the_record_as_it_is() {
    let a = with_files(1);
    let dir = tempfile::tempdir().unwrap();
    let fleet = Fleet::open(options(dir.path()), &[source("a", &a)], Arc::new(Quiet)).unwrap();
    let mut wrong = options(dir.path());
    wrong.access.proxy = Some("nonsense://".to_owned());
    let configured = [source("b", &a)];
    fleet.reload(wrong, &configured).await.unwrap_err();
    let record = FleetRecord::existing(&FleetPlace::in_folder(dir.path())).unwrap();
    let names: Vec<_> = record.sources().unwrap().into_iter().map(|source| source.definition.name).collect();
    assert_eq!(names, [name("a")]);
}
