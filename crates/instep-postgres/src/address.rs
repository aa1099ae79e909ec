//! The URL of a state: the server, the login, and the schema of the database that has the tables.
//!
//! A URL can have the parameters of libpq, and also `schema` for the schema (`instep` unless given) and `copy` for
//! the name of the copy. It need not contain a password: `PGPASSWORD` and the password file of libpq are used.

mod password;

use std::{
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio_postgres::{Config, config::SslMode};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::{error::PostgresError, hosts::as_parameters};
use password::password;

/// The schema whose tables are used unless the URL names one.
const SCHEMA: &str = "instep";

/// The longest name of a schema.
const LONGEST_SCHEMA: usize = 63;

/// The parameters of a URL that are read here, and not by the client of PostgreSQL.
const OWN_PARAMETERS: [&str; 6] = ["schema", "copy", "source", "sslmode", "sslrootcert", "passfile"];

/// The time after which a server that does not answer counts as lost, also within a connection.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The longest wait of work that is to end: enough to repeat a commit that another transaction was in the way of.
pub(crate) const LAST_WAIT: Duration = Duration::from_secs(1);

/// The certificates that a connection accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The connection is not encrypted.
    Plain,
    /// Encrypted if the mode of the connection requires it; the server is not verified, as in libpq.
    Anyone,
    /// Encrypted, and the certificate is that of the host. `None` trusts the authorities of the system.
    Verified(Option<PathBuf>),
}

/// A server and the part of it that is used.
#[derive(Clone)]
#[non_exhaustive]
pub struct Address {
    pub(crate) config: Config,
    pub(crate) trust: Trust,
    /// The time within which a host opens a connection and answers the login; and, once the work is to end, any statement.
    pub(crate) opens_within: Duration,
    /// The schema that has the tables.
    pub schema: String,
    /// The name of the copy, if the URL has one.
    pub copy: Option<String>,
    /// The name of the Source, if the URL has one.
    pub source: Option<String>,
    /// The URL without its password: equal for each URL of the same tables.
    pub shown: String,
    /// The same with the files that the URL names, for a note by which later commands connect: without its authorities a
    /// connection would trust any server.
    pub recorded: String,
    /// Ends all waiting for the server.
    pub(crate) ending: CancellationToken,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Address {
    /// Returns `true` if both addresses can use the same connection.
    pub(crate) fn is_same_schema(&self, other: &Self) -> bool {
        (&self.config, &self.trust, &self.schema) == (&other.config, &other.trust, &other.schema)
    }

    /// Reads a URL.
    ///
    /// # Errors
    /// If it is not a PostgreSQL URL, or has an unknown parameter.
    pub fn parse(text: &str) -> Result<Self, PostgresError> {
        let fault = |what: String| PostgresError::Url { what };
        let mut url = Url::parse(&as_parameters(text)).map_err(|error| match error {
            url::ParseError::RelativeUrlWithoutBase => {
                fault("write postgres://USER@HOST/DATABASE".to_owned())
            }
            error => fault(error.to_string()),
        })?;
        if !matches!(url.scheme(), "postgres" | "postgresql") {
            return Err(fault(format!("it begins with {:?}, not with \"postgres://\"", url.scheme())));
        }
        let UrlParameters { schema, copy, source, mode, roots, passfile, rest } =
            UrlParameters::of(&url).map_err(fault)?;
        let shown = shown(&url, &schema, mode.as_deref(), &rest)?;
        let recorded =
            with_files(&shown, [("sslrootcert", roots.as_deref()), ("passfile", passfile.as_deref())]);
        url.set_query(None);
        if !rest.is_empty() {
            url.query_pairs_mut().extend_pairs(rest);
        }
        // The text of the error may have the parameter, never the password.
        let mut config: Config = url.as_str().parse().map_err(|error: tokio_postgres::Error| {
            fault(std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string))
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            let what =
                "it names no host: write postgres://USER@HOST/DATABASE, or host=FOLDER for that of a socket";
            return Err(fault(what.to_owned()));
        }
        let trust = trust(mode.as_deref(), roots, &mut config).map_err(fault)?;
        if config.get_password().is_none()
            && let Some(password) = password(&config, passfile)
        {
            config.password(password);
        }
        config.application_name("instep").connect_timeout(TIMEOUT).tcp_user_timeout(TIMEOUT * 2);
        config.keepalives_idle(TIMEOUT).keepalives_interval(TIMEOUT / 3).keepalives_retries(3);
        // The client of PostgreSQL limits only the time of the connection itself, to each address of a host.
        let opens_within = TIMEOUT * 2;
        let ending = CancellationToken::new();
        Ok(Self { config, trust, opens_within, schema, copy, source, shown, recorded, ending })
    }

    /// Returns `true` if a URL leads to the same tables, whatever files it names.
    pub fn is_that_of(&self, url: &str) -> bool {
        Self::parse(url).is_ok_and(|other| other.shown == self.shown)
    }

    /// Returns the same for work that may be ended: from then on nothing waits long for the server.
    #[must_use]
    pub fn until(mut self, ending: CancellationToken) -> Self {
        self.ending = ending;
        self
    }

    /// Returns `true` if the work over this address is to end.
    pub fn is_to_end(&self) -> bool {
        self.ending.is_cancelled()
    }

    /// Ends all waiting for the server over this address and its clones, because the work is to end.
    pub fn end_waits(&self) {
        self.ending.cancel();
    }

    /// Returns the same with tables of another kind, in a schema whose name ends so.
    ///
    /// # Errors
    /// If the name of the schema would be too long.
    pub fn beside(mut self, ending: &str) -> Result<Self, PostgresError> {
        self.schema.push_str(ending);
        if self.schema.len() > LONGEST_SCHEMA {
            let what = format!("the schema {:?} has a name of more than {LONGEST_SCHEMA} bytes", self.schema);
            return Err(PostgresError::Url { what });
        }
        Ok(self)
    }
}

/// The parameters of a URL.
struct UrlParameters {
    schema: String,
    copy: Option<String>,
    source: Option<String>,
    /// The value of `sslmode`.
    mode: Option<String>,
    /// The file of the trusted authorities.
    roots: Option<PathBuf>,
    passfile: Option<PathBuf>,
    /// Those that the client of PostgreSQL reads.
    rest: Vec<(String, String)>,
}

impl UrlParameters {
    /// Reads the parameters of a URL.
    ///
    /// # Errors
    /// Returns the fault as text if a parameter is repeated, or a name cannot be one.
    fn of(url: &Url) -> Result<Self, String> {
        let given: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let twice =
            OWN_PARAMETERS.into_iter().find(|own| given.iter().filter(|(name, _)| name == own).count() > 1);
        if let Some(name) = twice {
            return Err(format!("it has {name}= twice"));
        }
        let mut read = Self {
            schema: SCHEMA.to_owned(),
            copy: None,
            source: None,
            mode: None,
            roots: None,
            passfile: None,
            rest: Vec::new(),
        };
        for (name, value) in given {
            match name.as_str() {
                "schema" => read.schema = value,
                "copy" => read.copy = Some(value),
                "source" => read.source = Some(value),
                "sslmode" => read.mode = Some(value),
                "sslrootcert" => read.roots = Some(PathBuf::from(value)),
                "passfile" => read.passfile = Some(PathBuf::from(value)),
                _ => read.rest.push((name, value)),
            }
        }
        if read.schema.is_empty()
            || read.schema.contains('\0')
            || read.schema.len() > LONGEST_SCHEMA
            || read.copy.iter().chain(&read.source).any(String::is_empty)
        {
            return Err(format!(
                "a schema, a copy and a Source need a name, that of a schema of at most {LONGEST_SCHEMA} bytes"
            ));
        }
        Ok(read)
    }
}

/// Returns a URL without password and without the defaults.
fn shown(
    url: &Url,
    schema: &str,
    mode: Option<&str>,
    rest: &[(String, String)],
) -> Result<String, PostgresError> {
    let mut shown = url.clone();
    if url.password().is_some() && shown.set_password(None).is_err() {
        return Err(PostgresError::Url { what: "it has a password and no host".to_owned() });
    }
    shown.set_query(None);
    let kept = rest.iter().filter(|(name, _)| name != "password");
    let mut kept: Vec<(&str, &str)> = kept.map(|(name, value)| (name.as_str(), value.as_str())).collect();
    kept.extend((schema != SCHEMA).then_some(("schema", schema)));
    kept.extend(mode.map(|mode| ("sslmode", mode)));
    if !kept.is_empty() {
        shown.query_pairs_mut().extend_pairs(kept);
    }
    Ok(shown.into())
}

/// Returns a URL with the files that it needs. Their paths are absolute: later commands may begin in other folders.
fn with_files(shown: &str, files: [(&str, Option<&Path>); 2]) -> String {
    let Ok(mut url) = Url::parse(shown) else { return shown.to_owned() };
    for (name, file) in files {
        if let Some(file) = file {
            let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
            url.query_pairs_mut().append_pair(name, &file.to_string_lossy());
        }
    }
    url.into()
}

fn trust(mode: Option<&str>, roots: Option<PathBuf>, config: &mut Config) -> Result<Trust, String> {
    let (ssl, trust) = match mode.unwrap_or("prefer") {
        "disable" => (SslMode::Disable, Trust::Plain),
        "prefer" => (SslMode::Prefer, Trust::Anyone),
        // As in libpq: if authorities are given, they are used.
        "require" if roots.is_none() => (SslMode::Require, Trust::Anyone),
        "require" | "verify-full" => (SslMode::Require, Trust::Verified(roots)),
        other => {
            return Err(format!("sslmode={other} is not known: use disable, prefer, require or verify-full"));
        }
    };
    config.ssl_mode(ssl);
    Ok(trust)
}

#[cfg(test)]
mod tests;
