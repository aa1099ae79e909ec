//! When resources changed, and how large they are; drawn now and then only, for all who look.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use maud::{Markup, PreEscaped, html};

use super::{chart, size};
use crate::{Error, catalogue::Catalogue};

/// The time after which charts are drawn again: each drawing reads the sizes of all resources.
const AGE: Duration = Duration::from_secs(60);
const HOURS: usize = 48;
const DAYS: usize = 30;
/// Sizes are counted by powers of two up to this one.
const POWERS: usize = 48;

/// Charts that were drawn lately.
#[derive(Debug, Default)]
pub(super) struct Charts(Mutex<Option<(Instant, Arc<str>)>>);

impl Charts {
    /// The charts, drawn when they are too old.
    pub(super) fn of(&self, catalogue: &Catalogue) -> Result<Markup, Error> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|(drawn, _)| drawn.elapsed() >= AGE) {
            *kept = Some((Instant::now(), draw(catalogue)?.into_string().into()));
        }
        Ok(PreEscaped(kept.as_ref().map(|(_, text)| text.to_string()).unwrap_or_default()))
    }
}

fn draw(catalogue: &Catalogue) -> Result<Markup, Error> {
    let snapshot = catalogue.snapshot()?;
    let (hours, days) = (
        snapshot.changes_by(Duration::from_secs(3_600), HOURS)?,
        snapshot.changes_by(Duration::from_secs(86_400), DAYS)?,
    );
    let mut sizes = vec![0_u64; POWERS];
    snapshot.for_each_length(u64::MAX, |length| {
        let power = length.max(1).next_power_of_two().ilog2() as usize;
        sizes[power.min(POWERS - 1)] += 1;
    })?;
    let used = |(power, count): (usize, u64)| (format!("up to {}", size(1 << power)), count);
    let first = sizes.iter().position(|count| *count > 0).unwrap_or(0);
    let last = sizes.iter().rposition(|count| *count > 0).unwrap_or(0);
    let sizes: Vec<_> = sizes.into_iter().enumerate().take(last + 1).skip(first).map(used).collect();
    Ok(html! {
        (chart::bars("Changes an hour, the last two days", &chart::hours(&hours)))
        (chart::bars("Changes a day, the last thirty days", &chart::days(&days)))
        (chart::bars("Resources by size", &sizes))
    })
}
