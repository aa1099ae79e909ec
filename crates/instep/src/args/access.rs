//! Options of the network.

use std::{collections::BTreeMap, env, fs, path::PathBuf, time::Duration};

use anyhow::{Context, bail};
use clap::Args;
use instep_destination::{AccessOptions, Credential, Secret};
use toml::Value;

use super::values;
use crate::config::Config;

/// How the Source is asked.
#[derive(Debug, Args)]
#[command(next_help_heading = "Network")]
pub(crate) struct Access {
    /// Transfers at a time, in all
    #[arg(long, default_value_t = 16, value_name = "N")]
    transfers: usize,
    /// Transfers at a time to one host
    #[arg(long, default_value_t = 8, value_name = "N")]
    per_host: usize,
    /// Requests to one host, such as 4/s or 100/m [default: unlimited]
    #[arg(long, value_parser = values::rate)]
    rate: Option<f64>,
    /// Bytes a second in all, such as 5MiB [default: unlimited]
    #[arg(long, value_parser = values::size, value_name = "SIZE")]
    bwlimit: Option<u64>,
    /// Further attempts where one failed; 0 for none
    #[arg(long, default_value_t = 5, value_name = "N")]
    retries: u32,
    /// Patience with connecting, with headers, and with a body that stands still
    #[arg(long, default_value = "30s", value_parser = values::duration, value_name = "DURATION")]
    timeout: Duration,
    /// Let documents speak for their exact origin only, not for sub-domains
    #[arg(long)]
    strict_origin: bool,
    /// Let documents speak for this origin too, such as `https://mirror.example.org`
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// File with a bearer token for the origin of URL; or INSTEP_BEARER
    #[arg(long, value_name = "FILE")]
    bearer_file: Option<PathBuf>,
    /// Take logins from ~/.netrc, or from the file that $NETRC names
    #[arg(long)]
    netrc: bool,
    /// Take logins from this file in the form of netrc
    #[arg(long, value_name = "FILE", conflicts_with = "netrc")]
    netrc_file: Option<PathBuf>,
    /// Certificates to trust beside the system's, PEM
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Proxy to use [default: none]
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,
}

impl Access {
    /// The options, with the secrets that environment, file and configuration name.
    pub(crate) fn options(self, config: &Config) -> anyhow::Result<AccessOptions> {
        let mut options = AccessOptions::default();
        options.credentials = credentials(config)?;
        options.credentials.extend(self.bearer()?);
        options.netrc = self.logins()?;
        options.transfers = self.transfers.max(1);
        options.per_host = self.per_host.max(1);
        options.rate = self.rate;
        options.bwlimit = self.bwlimit;
        options.retries = self.retries;
        options.timeout = self.timeout;
        options.strict_origin = self.strict_origin;
        options.allow_origins = self.allow_origin;
        options.ca_file = self.ca_file;
        options.proxy = self.proxy;
        Ok(options)
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
        Ok(Some(Secret::new(read_secret(&path)?)))
    }

    fn bearer(&self) -> anyhow::Result<Option<Credential>> {
        let token = match &self.bearer_file {
            Some(path) => Some(read_secret(path)?),
            None => env::var("INSTEP_BEARER").ok(),
        };
        Ok(token.map(|token| Credential::Bearer { origin: None, token: Secret::new(token.trim()) }))
    }
}

/// The `[credentials]` table: an origin, and what is sent to it.
fn credentials(config: &Config) -> anyhow::Result<Vec<Credential>> {
    let Some(table) = config.shared("credentials") else { return Ok(Vec::new()) };
    let table = table.as_table().context("[credentials] is a table of origins")?;
    let of_origin = |(origin, value): (&String, &Value)| {
        credential(origin, value)
            .with_context(|| format!("{}: [credentials] {origin}", config.path().display()))
    };
    table.iter().map(of_origin).collect()
}

fn credential(origin: &str, value: &Value) -> anyhow::Result<Credential> {
    let keys: BTreeMap<String, String> = value.clone().try_into().context("texts are expected")?;
    let get = |key: &str| -> anyhow::Result<Option<String>> {
        match (keys.get(key), keys.get(&format!("{key}-file"))) {
            (Some(text), _) => Ok(Some(text.clone())),
            (None, Some(path)) => read_secret(&path.into()).map(Some),
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
        "bearer, user and password, or header and value are expected (or bearer-file, password-file, value-file)"
    )
}

fn read_secret(path: &PathBuf) -> anyhow::Result<String> {
    let text = fs::read_to_string(path).with_context(|| format!("Cannot read {}", path.display()))?;
    Ok(text.trim().to_owned())
}
