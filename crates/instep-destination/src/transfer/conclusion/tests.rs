//! The checkpoint at the end of a transfer.

use resourcesync::DateTime;

use super::*;
use crate::{
    SyncOptions, TestMonitor,
    run::{LocalCopy, RunLimits, TransferTally},
};

#[tokio::test(flavor = "multi_thread")]
async fn o653_the_checkpoint_stays_if_an_action_came_to_no_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let options = SyncOptions::new("http://example.com/", folder.path().join("copy"));
    let monitor = TestMonitor::new();
    for planned in [1, 0] {
        let is_wrong = planned > 0 && cfg!(debug_assertions);
        let mut run = SyncRun::begin(&options, &monitor, RunLimits::of(&options), LocalCopy::take).unwrap();
        let id = run.copy.state_mut().unwrap().set("http://example.com/capabilitylist.xml").unwrap();
        let set = run.new_plan_without_pending(id).unwrap();
        run.tally = TransferTally { planned, done: 0 };
        let mut checkpoint = Checkpoint::new();
        checkpoint.datetime = Some(DateTime::from_unix_seconds(1_700_000_000));
        let concluded = run.conclude(set, Some(checkpoint)).await;
        assert_eq!(concluded.is_err(), is_wrong, "{concluded:?}");
        assert_eq!(run.state().checkpoint(id).unwrap().is_none(), is_wrong, "{planned}");
        assert_eq!(run.end(concluded).is_err(), is_wrong);
    }
}
