//! Options for hubs that call this Destination (WebSub).

use std::time::Duration;

use clap::Args;
use instep_destination::CallbackOptions;

use super::{headings::FOLLOWING, values};

/// The address at which hubs deliver notifications while Sources are followed (WebSub).
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = FOLLOWING)]
pub(crate) struct CallbackArgs {
    /// Subscribe at hubs if no WebSocket can be opened; they deliver to this URL
    #[arg(long, hide_short_help = true, value_name = "URL")]
    callback_url: Option<String>,
    /// Address and port to listen on for hubs [default: those of --callback-url]
    #[arg(long, hide_short_help = true, value_parser = values::address, value_name = "ADDRESS", requires = "callback_url")]
    callback_listen: Option<String>,
    /// Accept deliveries that are signed with SHA-1
    #[arg(long, hide_short_help = true, requires = "callback_url")]
    callback_sha1: bool,
    /// Lease to request from hubs; it is renewed after two thirds of the granted time
    #[arg(long, hide_short_help = true, value_parser = values::duration, requires = "callback_url", value_name = "DURATION")]
    callback_lease: Option<Duration>,
}

impl CallbackArgs {
    /// Returns the settings; `None` if hubs should not call.
    pub(crate) fn options(self) -> Option<CallbackOptions> {
        let mut options = CallbackOptions::new(self.callback_url?);
        options.listen = self.callback_listen;
        options.sha1 = self.callback_sha1;
        options.lease = self.callback_lease.unwrap_or(options.lease);
        Some(options)
    }
}
