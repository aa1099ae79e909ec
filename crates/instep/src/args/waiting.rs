//! `--wait`: the time that a command waits until another run over the same Source ends.

use std::{path::Path, thread, time::Duration};

use clap::Args;
use instep_source::Error;

use super::values;
use crate::ui::Output;

/// The pause between two attempts to get the lock.
const PAUSE: Duration = Duration::from_millis(50);

/// The time to wait for another run.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct WaitArgs {
    /// Wait this long for another run over the same Source to end
    #[arg(long, global = true, default_value = "60s", value_parser = values::duration, value_name = "DURATION",
        hide_short_help = true)]
    wait: Duration,
}

impl WaitArgs {
    /// Runs `attempt` again and again while another run holds the Source, until the time is over or `is_hopeless`
    /// returns `true`. Returns the last result. The time of the attempts themselves does not count.
    pub(crate) fn until_free<T>(
        self,
        state: &Path,
        output: &Output,
        is_hopeless: impl Fn() -> bool,
        mut attempt: impl FnMut() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let mut left = self.wait;
        loop {
            let result = attempt();
            let locked = result.as_ref().err().and_then(|error| match error.downcast_ref() {
                Some(Error::Locked { holder, .. }) => Some(holder.clone()),
                _ => None,
            });
            let Some(holder) = locked else { return result };
            if left.is_zero() || is_hopeless() {
                return result;
            }
            if left == self.wait {
                output.note(format!("Waiting for {holder}, which works on {}", state.display()));
            }
            let pause = PAUSE.min(left);
            thread::sleep(pause);
            left -= pause;
        }
    }
}
