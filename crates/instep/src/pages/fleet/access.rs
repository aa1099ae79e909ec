//! Access to the actions on a fleet: for operators with a token, and for those whom a proxy has signed in. Reading the
//! pages needs no sign-in, except the log of actions.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use http::{HeaderMap, HeaderName, header};

use crate::args::piped::text_of;

/// The name of the cookie of a session, to which the port is added: browsers send a cookie to each port of a host, so
/// the dashboards of two fleets must not use one name.
const COOKIE: &str = "instep_session";
/// The time after which an operator has to sign in again.
const SESSION: Duration = Duration::from_secs(12 * 3_600);
/// The most sessions at a time. If there are more, the oldest ends.
const MOST_SESSIONS: usize = 1_000;
/// The shortest token that is accepted: shorter ones can be guessed.
const SHORTEST_TOKEN: usize = 16;

/// The operators of a fleet and their sessions.
pub(crate) struct OperatorAccess {
    /// The file of the operators; `None` if nobody can sign in.
    operators: Option<OperatorFile>,
    /// The header in which a proxy names the operator; `None` if no proxy is trusted.
    header: Option<HeaderName>,
    /// The name of the cookie of a session.
    cookie: String,
    /// The key of the marks of forms, which is new in each process.
    key: [u8; 32],
    sessions: Mutex<BTreeMap<String, OperatorSession>>,
}

/// A session of an operator who has signed in.
struct OperatorSession {
    who: String,
    /// The digest of the token that began it.
    token: blake3::Hash,
    until: Instant,
}

/// The file of the operators. It is read again when it changes, so that a revoked token is refused at once.
struct OperatorFile {
    path: PathBuf,
    read: Mutex<(OperatorStamp, OperatorTokens)>,
}

/// The inode, the length, and the times of modification and of change of a file; `None` if they cannot be read. The
/// time of change is needed because correcting the mode, which a message asks for, changes only that.
type OperatorStamp = Option<(u64, u64, [(i64, i64); 2])>;

/// The digests of tokens, with the names of their operators. Digests are compared and not tokens, so that the time of a
/// comparison says nothing about a token.
type OperatorTokens = Vec<(blake3::Hash, String)>;

impl OperatorFile {
    fn open(path: &Path) -> Result<Self> {
        // The stamp comes first, so that a file which changes while it is read is read again.
        let read = (stamp(path), operators(path)?);
        Ok(Self { path: path.to_owned(), read: Mutex::new(read) })
    }

    /// Calls `take` with the present tokens. A file that cannot be used has no operators.
    fn with<T>(&self, take: impl FnOnce(&OperatorTokens) -> T) -> T {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = stamp(&self.path);
        if stamp.is_none() || stamp != read.0 {
            let tokens = operators(&self.path).unwrap_or_else(|error| {
                tracing::error!("no operator can act on the fleet: {error:#}");
                Vec::new()
            });
            *read = (stamp, tokens);
        }
        take(&read.1)
    }
}

fn stamp(path: &Path) -> OperatorStamp {
    use std::os::unix::fs::MetadataExt as _;
    let file = fs::metadata(path).ok()?;
    let times = [(file.mtime(), file.mtime_nsec()), (file.ctime(), file.ctime_nsec())];
    Some((file.ino(), file.len(), times))
}

/// The operator of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignedIn {
    /// The operator's name.
    pub(crate) who: String,
    /// The mark that this operator's forms contain and that other sites do not know. `None` if the request itself has
    /// the token, because no browser adds that to a request of another site.
    pub(crate) mark: Option<String>,
}

impl OperatorAccess {
    /// Reads the file of the operators, with a line `NAME TOKEN` for each. Without file and header nobody may act.
    ///
    /// Errors: the file cannot be read, others can read it, or a line is no operator.
    pub(crate) fn new(file: Option<&Path>, header: Option<HeaderName>) -> Result<Self> {
        let operators = file.map(OperatorFile::open).transpose()?;
        let cookie = COOKIE.to_owned();
        Ok(Self { operators, header, cookie, key: rand::random(), sessions: Mutex::default() })
    }

    /// Returns the same access for the dashboard at a port.
    pub(crate) fn at_port(self, port: u16) -> Self {
        Self { cookie: format!("{COOKIE}_{port}"), ..self }
    }

    /// Returns `true` if operators can sign in here.
    pub(crate) fn has_operators(&self) -> bool {
        self.operators.is_some()
    }

    /// Returns `true` if a proxy names operators.
    pub(crate) fn trusts_header(&self) -> bool {
        self.header.is_some()
    }

    /// Begins a session. Returns the name of the operator and the cookie; `None` if no operator has this token.
    pub(crate) fn sign_in(&self, token: &str) -> Option<(String, String)> {
        let who = self.operator(token)?;
        let number = blake3::hash(&rand::random::<[u8; 32]>()).to_hex().to_string();
        let mut sessions = self.sessions();
        let now = Instant::now();
        sessions.retain(|_, session| session.until > now);
        if sessions.len() >= MOST_SESSIONS
            && let Some(oldest) =
                sessions.iter().min_by_key(|(_, session)| session.until).map(|(number, _)| number.clone())
        {
            sessions.remove(&oldest);
        }
        let session =
            OperatorSession { who: who.clone(), token: blake3::hash(token.as_bytes()), until: now + SESSION };
        sessions.insert(number.clone(), session);
        Some((who, self.cookie_with(&number, SESSION.as_secs())))
    }

    /// Ends the session of a request. Returns the cookie that removes the browser's.
    pub(crate) fn sign_out(&self, headers: &HeaderMap) -> String {
        if let Some(number) = self.session_number(headers) {
            self.sessions().remove(number);
        }
        self.cookie_with("", 0)
    }

    /// Returns the operator of a request, by its token, the header of the proxy, or the cookie of a session; `None` if
    /// it has none of them.
    pub(crate) fn signed_in(&self, headers: &HeaderMap) -> Option<SignedIn> {
        if let Some(token) = bearer_token(headers) {
            return self.operator(token.trim()).map(|who| SignedIn { who, mark: None });
        }
        if let Some(who) = self.named_by_proxy(headers) {
            return Some(SignedIn { who: who.to_owned(), mark: Some(self.mark(who)) });
        }
        let number = self.session_number(headers)?;
        let sessions = self.sessions();
        let session = sessions.get(number).filter(|session| session.until > Instant::now())?;
        let (token, who) = (session.token, session.who.clone());
        drop(sessions);
        // A session ends when its operator is removed from the file, or gets another token: somebody else may have had it.
        let is_session = |(known, name): &(blake3::Hash, String)| *known == token && *name == who;
        let is_operator = self.operators.as_ref()?.with(|known| known.iter().any(is_session));
        is_operator.then(|| SignedIn { who, mark: Some(self.mark(number)) })
    }

    /// Returns the operator of a request that changes something. `None` if nobody has signed in, or if a page of
    /// another site made the request: it lacks the mark of our forms, and browsers state its origin.
    pub(crate) fn acting(&self, headers: &HeaderMap, mark: &str) -> Option<SignedIn> {
        let signed_in = self.signed_in(headers)?;
        let Some(expected) = &signed_in.mark else { return Some(signed_in) };
        let is_own = headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin" || site == "none");
        let has_mark = blake3::hash(mark.as_bytes()) == blake3::hash(expected.as_bytes());
        (is_own && has_mark).then_some(signed_in)
    }

    /// Returns the operator whom the proxy names; `None` if it names nobody. A client can send the header too, and some
    /// proxies add theirs to it, so a request with several names has none.
    fn named_by_proxy<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let mut names = headers.get_all(self.header.as_ref()?).iter();
        let (Some(name), None) = (names.next(), names.next()) else { return None };
        name.to_str().ok().map(str::trim).filter(|who| !who.is_empty())
    }

    fn operator(&self, token: &str) -> Option<String> {
        let digest = blake3::hash(token.as_bytes());
        let found = |known: &OperatorTokens| known.iter().find(|(token, _)| *token == digest).cloned();
        self.operators.as_ref()?.with(found).map(|(_, who)| who)
    }

    fn mark(&self, of: &str) -> String {
        blake3::keyed_hash(&self.key, of.as_bytes()).to_hex().to_string()
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, OperatorSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cookie_with(&self, number: &str, seconds: u64) -> String {
        format!("{}={number}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}", self.cookie)
    }

    fn session_number<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == self.cookie).map(|(_, number)| number)
    }
}

/// Returns the bearer token of a request. The case of the scheme does not matter (RFC 9110 §11.1).
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

fn operators(file: &Path) -> Result<OperatorTokens> {
    use std::os::unix::fs::PermissionsExt as _;
    let shown = file.display();
    let text = text_of(file).with_context(|| format!("Cannot read {shown}"))?;
    let mode = fs::metadata(file).with_context(|| format!("Cannot read {shown}"))?.permissions().mode();
    if mode & 0o007 != 0 {
        bail!("{shown} holds tokens, and everybody can read it: chmod o-rwx {shown}");
    }
    // Some editors begin a file with a byte order mark, which would become a part of the first name.
    let lines =
        text.trim_start_matches('\u{feff}').lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let operators = lines.map(|(number, line)| match line.split_once(char::is_whitespace) {
        Some((who, token)) if token.trim().len() >= SHORTEST_TOKEN => {
            Ok((blake3::hash(token.trim().as_bytes()), who.to_owned()))
        }
        _ => bail!(
            "{shown} line {number}: write NAME TOKEN, with a token of at least {SHORTEST_TOKEN} characters"
        ),
    });
    let operators: Vec<_> = operators.collect::<Result<_>>()?;
    if operators.is_empty() {
        bail!("{shown} names no operator; write NAME TOKEN a line");
    }
    Ok(operators)
}

#[cfg(test)]
mod tests;
