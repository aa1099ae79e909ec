//! How hubs reach this Destination.

use std::time::Duration;

use clap::Args;
use instep_destination::CallbackOptions;

use super::values;

/// How hubs reach this Destination while it follows (WebSub).
#[derive(Debug, Args)]
#[command(next_help_heading = "Notification")]
pub(crate) struct Callbacks {
    /// With --follow: subscribe at hubs where no WebSocket can be opened; they call this URL
    #[arg(long, value_name = "URL", requires = "follow")]
    callback_url: Option<String>,
    /// Address and port to listen on for hubs [default: those of --callback-url]
    #[arg(long, value_name = "ADDRESS", requires = "callback_url")]
    callback_listen: Option<String>,
    /// Take deliveries that are signed with SHA-1
    #[arg(long, requires = "callback_url")]
    callback_sha1: bool,
    /// The lease to ask hubs for; it is renewed after two thirds of what they grant
    #[arg(long, value_parser = values::duration, requires = "callback_url", value_name = "DURATION")]
    callback_lease: Option<Duration>,
}

impl Callbacks {
    /// The options; none where no hub is to call.
    pub(crate) fn options(self) -> Option<CallbackOptions> {
        let mut options = CallbackOptions::new(self.callback_url?);
        options.listen = self.callback_listen;
        options.sha1 = self.callback_sha1;
        options.lease = self.callback_lease.unwrap_or(options.lease);
        Some(options)
    }
}
