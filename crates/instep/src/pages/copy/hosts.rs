//! The throughput of each host, and the requests that are under way.

use std::time::Instant;

use maud::{Markup, html};

use super::live::LiveRun;
use crate::{
    pages::design::outside_link,
    ui::format::{bytes, count, elapsed},
};

/// Requests under way that are shown.
const MOST_REQUESTS: usize = 16;

/// Returns the throughput of each host.
pub(crate) fn table(run: &LiveRun) -> Markup {
    let now = Instant::now();
    html! {
        @if run.hosts.is_empty() { p { "Nothing was asked of any host since the start." } } @else {
            div.scroll tabindex="0" role="region" aria-label="Hosts" {
                table.listing {
                    thead {
                        tr {
                            th scope="col" { "Host" }
                            @for label in ["Per second", "Received", "Answers", "Errors", "Retries", "Transfers"] {
                                th.figure scope="col" { (label) }
                            }
                        }
                    }
                    tbody {
                        @for (host, throughput) in &run.hosts {
                            @let (answers, errors) = throughput.answers();
                            @let traffic = &throughput.traffic;
                            tr {
                                td { (host) }
                                td.figure { (bytes(throughput.rate(now))) }
                                td.figure { (bytes(traffic.bytes)) }
                                td.figure { (count(answers)) }
                                td.figure { (count(errors)) }
                                td.figure { (count(traffic.retries)) }
                                td.figure { (traffic.transfers) " of " (traffic.most_transfers) }
                            }
                        }
                    }
                }
            }
        }
        @for (host, left) in &run.waiting {
            p.soft { (host) " asked for a pause and is asked again in " (elapsed(*left)) "." }
        }
    }
}

/// Returns the requests whose answers are arriving, each with its share.
pub(super) fn requests(run: &LiveRun) -> Markup {
    html! {
        @if !run.requests.is_empty() {
            table.bars {
                caption { "In flight" }
                thead.quiet { tr { th scope="col" { "Resource" } th scope="col" { "Received" } } }
                tbody {
                    @for request in run.requests.iter().take(MOST_REQUESTS) {
                        tr {
                            th scope="row" {
                                (outside_link(&request.uri))
                                @if let Some(length) = request.length.filter(|length| *length > 0) {
                                    progress value=(request.received) max=(length) aria-label=(request.uri) {}
                                }
                            }
                            td.figure { (bytes(request.received)) }
                        }
                    }
                }
            }
        }
    }
}
