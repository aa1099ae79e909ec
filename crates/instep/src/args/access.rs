//! Options for requests: speed, credentials, and the hosts to which requests may go. `[credentials]` of `instep.toml`
//! is read here as well.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail};
use clap::Args;
use instep_destination::{AccessOptions, Credential, Error, Secret, documents::Documents};
use instep_net::Client;
use resourcesync::Uri;
use toml::Value;

use super::{
    headings::{CREDENTIALS, SPEED},
    piped::text_of,
    values,
};
use crate::config::Config;

/// Limits of the requests of a run, or of all runs of a fleet together.
#[derive(Clone, Debug, Args)]
pub(crate) struct LimitArgs {
    /// Transfers at the same time
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = values::at_least_one::<usize>, help_heading = SPEED)]
    transfers: usize,
    /// Transfers at the same time per host; over HTTP/2 up to --transfers, if that is faster
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = values::at_least_one::<usize>, help_heading = SPEED, hide_short_help = true)]
    per_host: usize,
    /// Bytes per second in all, such as 5MiB; 0 for no limit [default: unlimited]
    #[arg(long, value_parser = values::bandwidth, value_name = "SIZE", help_heading = SPEED)]
    bwlimit: Option<u64>,
    /// Requests to one host, such as 4/s or 100/m [default: unlimited]
    #[arg(long, visible_alias = "tpslimit", value_parser = values::rate, help_heading = SPEED, hide_short_help = true)]
    rate: Option<f64>,
    /// Further attempts after a failure; 0 for none
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = values::number::<u32>, help_heading = SPEED, hide_short_help = true)]
    retries: u32,
    /// Timeout for connecting, for headers and for stalled transfers
    #[arg(long, default_value = "30s", value_parser = values::timeout, value_name = "DURATION",
        help_heading = SPEED, hide_short_help = true)]
    timeout: Duration,
}

/// The route to the network: certificates and proxy.
#[derive(Clone, Debug, Args)]
pub(crate) struct RouteArgs {
    /// Trust these certificates (PEM) in addition to the system's
    #[arg(long, visible_alias = "ca-cert", value_name = "FILE", help_heading = CREDENTIALS, hide_short_help = true)]
    ca_file: Option<PathBuf>,
    /// Proxy to use [default: none]
    #[arg(long, value_name = "URL", help_heading = CREDENTIALS, hide_short_help = true)]
    proxy: Option<String>,
}

/// Limits, credentials and scope of the requests to a Source.
#[derive(Clone, Debug, Args)]
pub(crate) struct AccessArgs {
    #[command(flatten)]
    limits: LimitArgs,
    /// File with a bearer token for the origin of URL; or INSTEP_BEARER
    #[arg(long, value_name = "FILE", help_heading = CREDENTIALS)]
    bearer_file: Option<PathBuf>,
    /// Take logins from ~/.netrc, or from the file that $NETRC names
    #[arg(long, help_heading = CREDENTIALS, hide_short_help = true)]
    netrc: bool,
    /// Take logins from this file in netrc format
    #[arg(long, value_name = "FILE", conflicts_with = "netrc", help_heading = CREDENTIALS, hide_short_help = true)]
    netrc_file: Option<PathBuf>,
    /// Also fetch from this origin, such as `https://mirror.example.org`
    #[arg(long, value_name = "ORIGIN", help_heading = CREDENTIALS, hide_short_help = true)]
    allow_origin: Vec<String>,
    /// Fetch from the exact origin of a document only, not from its sub-domains
    #[arg(long, help_heading = CREDENTIALS, hide_short_help = true)]
    strict_origin: bool,
    #[command(flatten)]
    route: RouteArgs,
}

impl LimitArgs {
    /// Returns the settings for many Sources: limits and route for all of them, and the credentials for each origin
    /// from the `[credentials]` table of the configuration.
    ///
    /// Errors: a file that cannot be read, or a table that is not complete.
    pub(crate) fn for_fleet(self, route: RouteArgs, config: &Config) -> anyhow::Result<AccessOptions> {
        let mut options = AccessOptions::default();
        options.credentials = credentials(config)?;
        self.apply(&mut options);
        route.apply(&mut options);
        Ok(options)
    }

    fn apply(self, options: &mut AccessOptions) {
        options.transfers = self.transfers.max(1);
        options.per_host = self.per_host.max(1);
        options.rate = self.rate;
        // 0 means no limit, as in rsync and rclone.
        options.bwlimit = self.bwlimit.filter(|limit| *limit > 0);
        options.retries = self.retries;
        options.timeout = self.timeout;
    }
}

impl RouteArgs {
    fn apply(self, options: &mut AccessOptions) {
        (options.ca_file, options.proxy) = (self.ca_file, self.proxy);
    }
}

impl AccessArgs {
    /// Returns the settings, with the secrets that environment, files and configuration name.
    ///
    /// Errors: a file that cannot be read, or a `[credentials]` table that is not complete.
    pub(crate) fn options(self, config: &Config) -> anyhow::Result<AccessOptions> {
        let mut options = AccessOptions::default();
        options.credentials = credentials(config)?;
        options.credentials.extend(self.bearer()?);
        options.netrc = self.logins()?;
        self.limits.apply(&mut options);
        self.route.apply(&mut options);
        options.strict_origin = self.strict_origin;
        options.allow_origins = self.allow_origin;
        Ok(options)
    }

    /// Returns a reader of the documents of a Source, which keeps them in a folder.
    ///
    /// Errors: as [`Self::options`], or requests cannot be made in this way.
    pub(crate) fn documents(self, config: &Config, url: &Uri, folder: &Path) -> anyhow::Result<Documents> {
        let http = self.options(config)?.http_options(url.as_str()).map_err(Error::from)?;
        Ok(Documents::new(Client::new(http).map_err(Error::from)?, folder))
    }

    fn logins(&self) -> anyhow::Result<Option<Secret>> {
        let usual = || {
            let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".netrc"));
            env::var_os("NETRC").map(PathBuf::from).or_else(home).context("Neither $NETRC nor $HOME is set")
        };
        let path = match &self.netrc_file {
            Some(path) => path.clone(),
            None if self.netrc => usual()?,
            None => return Ok(None),
        };
        Ok(Some(Secret::new(read_text(&path)?)))
    }

    fn bearer(&self) -> anyhow::Result<Option<Credential>> {
        let token = match &self.bearer_file {
            Some(path) => Some(read_secret(path)?),
            // A variable that is set to nothing does not count, as for every option.
            None => env::var("INSTEP_BEARER").ok().filter(|token| !token.trim().is_empty()),
        };
        Ok(token.map(|token| Credential::Bearer { origin: None, token: Secret::new(token.trim()) }))
    }
}

/// Reads the `[credentials]` table, which has the credentials for each origin; none if there is no such table.
///
/// Errors: the table is not complete, or names a file that cannot be read. The place in the configuration is named.
pub(crate) fn credentials(config: &Config) -> anyhow::Result<Vec<Credential>> {
    let Some(table) = config.shared("credentials") else { return Ok(Vec::new()) };
    let wrong = || {
        format!("{} write [credentials.\"https://HOST\"] for each origin", config.place("credentials", ""))
    };
    let table = table.as_table().with_context(wrong)?;
    let of_origin = |(origin, value): (&String, &Value)| {
        // A key of the table itself would be a credential for no origin.
        if !origin.contains("://") {
            bail!(wrong());
        }
        credential(origin, value)
            .with_context(|| format!("{} [credentials] {origin}", config.place("credentials", origin)))
    };
    table.iter().map(of_origin).collect()
}

fn credential(origin: &str, value: &Value) -> anyhow::Result<Credential> {
    let keys: BTreeMap<String, String> =
        value.clone().try_into().ok().context("write keys with strings, such as bearer-file = \"FILE\"")?;
    let get = |key: &str| -> anyhow::Result<Option<String>> {
        match (keys.get(key), keys.get(&format!("{key}-file"))) {
            (Some(text), _) => Ok(Some(text.clone())),
            (None, Some(path)) => read_secret(path.as_ref()).map(Some),
            (None, None) => Ok(None),
        }
    };
    let origin = Some(origin.to_owned());
    if let Some(token) = get("bearer")? {
        return Ok(Credential::Bearer { origin, token: Secret::new(token) });
    }
    if let (Some(user), Some(password)) = (get("user")?, get("password")?) {
        return Ok(Credential::Basic { origin, user, password: Secret::new(password) });
    }
    if let (Some(name), Some(value)) = (get("header")?, get("value")?) {
        return Ok(Credential::Header { origin, name, value: Secret::new(value) });
    }
    bail!(
        "expected bearer, or user and password, or header and value (or bearer-file, password-file, value-file)"
    )
}

fn read_secret(path: &Path) -> anyhow::Result<String> {
    match read_text(path)?.trim() {
        // An empty secret would be sent, and the Source's refusal would look like a wrong login.
        "" => bail!("{} is empty; write the secret into it", path.display()),
        secret => Ok(secret.to_owned()),
    }
}

fn read_text(path: &Path) -> anyhow::Result<String> {
    text_of(path).with_context(|| format!("Cannot read {}", path.display()))
}
