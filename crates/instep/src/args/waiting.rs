//! The time that a command waits for another run over the same Source.

use std::{path::Path, thread, time::Duration};

use clap::Args;
use instep_source::Error;

use super::values;
use crate::ui::Output;

/// The pause between two attempts.
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
    /// Runs `attempt` until no other run holds the Source, the time is over, or it `is_hopeless` to wait; returns its last
    /// result.
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
