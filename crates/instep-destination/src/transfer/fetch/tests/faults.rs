//! Faults in the program while resources are fetched.

use std::{fs::File, sync::Arc, time::Duration};

use resourcesync::Algorithm;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::bench::Bench;
use crate::{
    Verify,
    store::{StagedName, StagingArea, StagingFile, StoreError},
    transfer::fetch::Fetcher,
};

/// A store with a fault in the program.
#[derive(Debug)]
struct BreakingStore;

impl StagingArea for BreakingStore {
    fn stage(&self, _: &[Algorithm]) -> Result<StagingFile, StoreError> {
        panic!("a fault in the program")
    }
    fn resume(&self, _: &str, _: &[Algorithm], _: bool) -> Result<Option<(StagingFile, String)>, StoreError> {
        panic!("a fault in the program")
    }
    fn open_staged(&self, _: StagedName) -> Result<File, StoreError> {
        panic!("a fault in the program")
    }
    fn is_staged(&self, _: StagedName) -> Result<bool, StoreError> {
        Ok(false)
    }
    fn sync_staged(&self, _: &[StagedName]) -> Result<(), StoreError> {
        Ok(())
    }
    fn discard(&self, _: &[StagedName]) {}
    fn sweep(&self) -> Result<(), StoreError> {
        Ok(())
    }
    fn fresh_name(&self) -> StagedName {
        1.into()
    }
    fn free_bytes(&self) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }
}

#[tokio::test]
async fn o518_a_fault_in_the_program_during_a_transfer_ends_them_all() {
    let bench = Bench::new();
    bench.source.put("a", "text");
    let fetcher = Fetcher::new(bench.fetcher.client().clone(), Arc::new(BreakingStore), Verify::All);
    let ((sender, tasks), (outcomes, _arrived)) = (mpsc::channel(64), mpsc::channel(64));
    for _ in 0..64 {
        sender.send(Box::new(bench.task("a"))).await.unwrap();
    }
    let running = tokio::spawn(async move { fetcher.run(tasks, outcomes, CancellationToken::new()).await });
    // More tasks may follow: the sender stays.
    let ended = tokio::time::timeout(Duration::from_secs(60), running).await.unwrap();
    assert!(ended.unwrap_err().is_panic());
    drop(sender);
}
