//! Options for notifications, and for the listener through which applications report changes.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use instep_net::Cidr;
use instep_source::{
    notify::{ChannelDialect, ChannelOptions, Signature},
    serve::AdminOptions,
};
use resourcesync::Uri;

use super::{
    headings::{ADMINISTRATION, NOTIFICATION},
    piped::text_of,
};

/// Channels and hubs by which changes are announced.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = NOTIFICATION)]
pub(crate) struct ChannelArgs {
    /// Version of the notifications to offer
    #[arg(long, hide_short_help = true, default_value = "1.0", value_name = "FORM")]
    notifications: Notifications,
    /// Do not run a hub
    #[arg(long, hide_short_help = true)]
    no_hub: bool,
    /// Also notify this hub (WebSub)
    #[arg(long, hide_short_help = true, value_name = "URL")]
    hub: Vec<Uri>,
    /// Let the hub deliver to these private addresses, such as 10.0.0.0/8
    #[arg(long, hide_short_help = true, value_name = "CIDR")]
    allow_callback: Vec<Cidr>,
    /// Digest of the hub's signatures; sha1 only for subscribers that support nothing else
    #[arg(long, hide_short_help = true, default_value = "sha256", value_name = "DIGEST")]
    hub_signature: SignedBy,
}

/// The digest of signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SignedBy {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl From<SignedBy> for Signature {
    fn from(digest: SignedBy) -> Self {
        match digest {
            SignedBy::Sha1 => Self::Sha1,
            SignedBy::Sha256 => Self::Sha256,
            SignedBy::Sha384 => Self::Sha384,
            SignedBy::Sha512 => Self::Sha512,
        }
    }
}

/// The version of the notifications that are offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Notifications {
    #[value(name = "1.0")]
    V1_0,
    #[value(name = "0.8")]
    V0_8,
    None,
}

impl ChannelArgs {
    /// Returns the settings.
    pub(crate) fn options(self) -> ChannelOptions {
        let mut options = ChannelOptions::default();
        options.offered = self.notifications != Notifications::None;
        options.dialect = if self.notifications == Notifications::V0_8 {
            ChannelDialect::V0_8
        } else {
            ChannelDialect::V1_0
        };
        options.hub = !self.no_hub;
        options.external_hubs = self.hub;
        options.callbacks = self.allow_callback;
        options.signature = self.hub_signature.into();
        options
    }
}

/// The listener through which applications report their own changes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = ADMINISTRATION)]
pub(crate) struct AdminArgs {
    /// Loopback address, or unix:PATH, on which applications report changes; see STATE/admin.json
    #[arg(long, hide_short_help = true, default_value = "127.0.0.1:0", value_name = "ADDRESS")]
    admin_listen: String,
    /// File with the token of that listener [default: a new one at each start]
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    admin_token_file: Option<PathBuf>,
    /// Do not open that listener
    #[arg(long, hide_short_help = true)]
    no_admin: bool,
}

impl AdminArgs {
    /// Returns the settings; `None` if the listener is switched off.
    ///
    /// Errors: the token file cannot be read.
    pub(crate) fn options(self) -> anyhow::Result<Option<AdminOptions>> {
        if self.no_admin {
            return Ok(None);
        }
        let mut options = AdminOptions::default();
        options.listen = self.admin_listen;
        if let Some(path) = self.admin_token_file {
            let token = text_of(&path)
                .with_context(|| format!("Check --admin-token-file: cannot read {}", path.display()))?;
            let token = token.trim();
            if token.is_empty() {
                bail!("{} is empty: write a token of your own into it, in one line", path.display());
            }
            options.token = Some(token.to_owned());
        }
        Ok(Some(options))
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write as _, os::fd::IntoRawFd as _};

    use super::*;

    #[test]
    fn o605_a_token_that_came_from_a_pipe_stays_when_the_options_are_read_again() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"a token\n").unwrap();
        drop(writer);
        // Stays open, so that no other test of this process has the number.
        let number = reader.into_raw_fd();
        for _ in 0..2 {
            let file = PathBuf::from(format!("/dev/fd/{number}"));
            let listen = "127.0.0.1:0".to_owned();
            let arguments = AdminArgs { admin_listen: listen, admin_token_file: Some(file), no_admin: false };
            let options = arguments.options().unwrap().unwrap();
            assert_eq!(options.token.as_deref(), Some("a token"));
        }
    }
}
