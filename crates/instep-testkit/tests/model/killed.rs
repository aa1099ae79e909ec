//! Starts a run in a process of its own, so that it can be killed.

use std::{
    env,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use instep_destination::{Durability, MaxDelete, SyncOptions, TestMonitor, sync};

/// Locked for writing while a process is started. Between fork and exec the new process holds the locks of all copies
/// that are open here, so no copy may be open then.
static STARTING: RwLock<()> = RwLock::new(());

/// Does work on a copy while no process is being started.
pub(crate) fn while_none_starts<T>(work: impl FnOnce() -> T) -> T {
    let _guard = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// The environment variable with the options of such a run.
const OPTIONS: &str = "INSTEP_MODEL_RUN";

/// Starts this test program again, which makes a run with these options.
pub(crate) fn start(options: &SyncOptions) -> Arc<Mutex<Child>> {
    let SyncOptions { url, dir, delete, max_delete, repair, selection, access, state, .. } = options;
    let limit = selection.limit.map_or(String::new(), |limit| limit.to_string());
    let origins = access.allow_origins.join(",");
    let exclude = selection.exclude.join(",");
    let text = format!(
        "{url} {} {delete} {max_delete} {repair} limit={limit} exclude={exclude} origins={origins} state={}",
        dir.display(),
        state.as_deref().unwrap_or_default()
    );
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "a_run_that_another_test_kills", "--ignored"]).env(OPTIONS, text);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _guard = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    Arc::new(Mutex::new(command.spawn().unwrap()))
}

#[test]
#[ignore = "the test of the model starts it"]
fn a_run_that_another_test_kills() {
    let options = env::var(OPTIONS).unwrap();
    let parts: Vec<_> = options.split(' ').collect();
    let [url, dir, delete, max_delete, repair, limit, exclude, origins, state] = parts[..] else {
        panic!("{options}")
    };
    let mut options = SyncOptions::new(url, dir);
    options.delete = delete.parse().unwrap();
    options.max_delete = max_delete.parse::<MaxDelete>().unwrap();
    options.selection.limit = limit.strip_prefix("limit=").and_then(|limit| limit.parse().ok());
    options.repair = repair.parse().unwrap();
    let list = |text: &str, name: &str| {
        text.strip_prefix(name).unwrap().split_terminator(',').map(str::to_owned).collect::<Vec<_>>()
    };
    options.selection.exclude = list(exclude, "exclude=");
    options.access.allow_origins = list(origins, "origins=");
    options.state = state.strip_prefix("state=").filter(|url| !url.is_empty()).map(str::to_owned);
    options.former_writer_ended = options.state.is_some();
    options.allow_empty = true;
    options.durability = Durability::None;
    options.access.retries = 0;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(sync(&options, &TestMonitor::new())).unwrap();
}
