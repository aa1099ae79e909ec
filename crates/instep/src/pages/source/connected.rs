//! The page of who is connected: the channels of each set with the number of their listeners, and commands to join.

use maud::html;

use super::site::{CONNECTED, PageContext};
use crate::{
    pages::design::{PageBody, copyable, figures},
    ui::format::count,
};

/// Makes the page.
pub(super) fn connected(site: &PageContext<'_>) -> PageBody {
    let audience = site.view.audience();
    let channels = audience.channels();
    let sum = |of: fn(&instep_source::notify::ChannelAudience) -> usize| {
        channels.iter().map(of).sum::<usize>() as u64
    };
    let content = html! {
        p.lead { "Programs and pages that learn of changes at once instead of asking for them." }
        (figures(&[
            ("Listeners", "listeners", html! { (count(sum(|channel| channel.listeners))) }, html! { "WebSocket or event stream" }),
            ("Subscribers", "subscribers", html! { (count(sum(|channel| channel.subscribers))) }, html! { "delivered to by the hub" }),
            ("Failing", "failing", html! { (count(sum(|channel| channel.failing))) }, html! { "did not accept the last message" }),
            ("Open pages", "pages", html! { (count(audience.open_pages() as u64)) }, html! { "such as the overview" }),
        ]))
        section {
            h2 { "Channels" }
            @if channels.is_empty() { p { "This Source offers none." } } @else {
                table.listing.counts {
                    thead {
                        tr {
                            th scope="col" { "Channel" }
                            @for label in ["Listeners", "Subscribers", "Failing"] { th.figure scope="col" { (label) } }
                        }
                    }
                    tbody {
                        @for channel in &channels {
                            tr {
                                td { (site.short(channel.topic.as_str())) }
                                @for number in [channel.listeners, channel.subscribers, channel.failing] { td.figure { (count(number as u64)) } }
                            }
                        }
                    }
                }
            }
        }
        section {
            h2 { "Join" }
            p.soft { "Keep a copy in step, which uses the channels by itself:" }
            (copyable(&format!("instep sync {} --follow", site.base())))
            @if let Some(channel) = channels.first() {
                p.soft { "Watch the messages:" }
                (copyable(&format!("curl -N -H 'Accept: text/event-stream' '{}'", channel.topic)))
            }
        }
    };
    PageBody::new("Who is connected", CONNECTED, content)
}
