//! The throughput of each host, and the requests that are under way.

use std::time::Duration;

use maud::{Markup, html};

use super::figures::{LiveFigures, LiveHost};
use crate::{
    pages::design::outside_link,
    ui::format::{bytes, count, elapsed},
};

/// Returns the throughput of each host.
pub(crate) fn table(hosts: &[LiveHost], waiting: &[(String, Duration)]) -> Markup {
    html! {
        @if hosts.is_empty() { p { "Nothing was asked of any host since the start." } } @else {
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
                        @for host in hosts {
                            tr {
                                td { (host.name) }
                                td.figure { (bytes(host.rate)) }
                                td.figure { (bytes(host.bytes)) }
                                td.figure { (count(host.answers)) }
                                td.figure { (count(host.errors)) }
                                td.figure { (count(host.retries)) }
                                td.figure { (host.transfers) " of " (host.most_transfers) }
                            }
                        }
                    }
                }
            }
        }
        @for (host, left) in waiting {
            p.soft { (host) " requested a pause; requests continue in " (elapsed(*left)) "." }
        }
    }
}

/// Returns the requests whose answers are arriving, each with the part that has arrived.
pub(super) fn requests(run: &LiveFigures) -> Markup {
    html! {
        @if !run.requests.is_empty() {
            table.bars {
                caption { "In flight" }
                thead.quiet { tr { th scope="col" { "Resource" } th scope="col" { "Received" } } }
                tbody {
                    @for request in &run.requests {
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
