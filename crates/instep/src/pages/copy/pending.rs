//! The resources that are retried by the next run.

use instep_destination::PendingRetry;
use maud::{Markup, html};

use super::runs::remedy;
use crate::{
    pages::design::outside_link,
    ui::format::{count, name},
};

/// Returns the pending retries as a table.
pub(super) fn table(pending: &[PendingRetry]) -> Markup {
    html! {
        table.listing.stacked {
            thead { tr { th scope="col" { "Resource" } th.figure scope="col" { "Attempts" } th scope="col" { "Reason, and what to do" } } }
            tbody {
                @for retry in pending {
                    @let kind = retry.reason.split(':').next().unwrap_or_default();
                    tr {
                        td { (outside_link(retry.uri.as_str())) }
                        td.figure { (count(retry.attempts.into())) }
                        td { (name(&retry.reason)) br; span.soft { (remedy(kind)) } }
                    }
                }
            }
        }
    }
}
