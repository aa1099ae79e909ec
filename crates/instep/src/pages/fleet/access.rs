//! Access to the actions on a fleet: for operators with a token, and those whom a proxy has signed in. Everybody who
//! can reach the pages may read them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use http::{HeaderMap, HeaderName, header};

/// The name of the cookie of a session.
const COOKIE: &str = "instep_session";
/// The time after which an operator has to sign in again.
const SESSION: Duration = Duration::from_secs(12 * 3_600);
/// Sessions at a time; the oldest ends.
const MOST_SESSIONS: usize = 1_000;
/// The shortest token that is accepted: shorter ones can be guessed.
const SHORTEST_TOKEN: usize = 16;

/// The operators of a fleet and their sessions.
pub(crate) struct OperatorAccess {
    operators: Option<OperatorFile>,
    /// The header in which a proxy names the operator.
    header: Option<HeaderName>,
    /// Makes the marks of forms; new with each process.
    key: [u8; 32],
    sessions: Mutex<BTreeMap<String, OperatorSession>>,
}

struct OperatorSession {
    who: String,
    until: Instant,
}

/// The file of the operators. It is read again when it changes, so that a token can be taken back at once.
struct OperatorFile {
    path: PathBuf,
    read: Mutex<(OperatorStamp, OperatorTokens)>,
}

/// Number, length and times of a file; `None` if they cannot be read. A change of its mode only changes the last time, and
/// may be the correction that the operator was asked for.
type OperatorStamp = Option<(u64, u64, [(i64, i64); 2])>;

/// The digests of tokens, with the names of their operators. Digests are compared, which takes the same time for any two
/// of them.
type OperatorTokens = Vec<(blake3::Hash, String)>;

impl OperatorFile {
    fn open(path: &Path) -> Result<Self> {
        // The stamp comes first, so that a file which changes while it is read is read again.
        let read = (stamp(path), operators(path)?);
        Ok(Self { path: path.to_owned(), read: Mutex::new(read) })
    }

    /// Passes on the present tokens. An unusable file has no operators.
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

/// An operator as a request shows one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignedIn {
    /// The operator's name.
    pub(crate) who: String,
    /// The mark that forms of this operator carry, which other sites do not know; `None` for a token in the request
    /// itself, which no browser adds to the request of another site.
    pub(crate) mark: Option<String>,
}

impl OperatorAccess {
    /// Reads the operators' file, with a line `NAME TOKEN` for each; without file and header nobody may act.
    ///
    /// Errors: the file cannot be read, others can read it, or a line is no operator.
    pub(crate) fn new(file: Option<&Path>, header: Option<HeaderName>) -> Result<Self> {
        let operators = file.map(OperatorFile::open).transpose()?;
        Ok(Self { operators, header, key: rand::random(), sessions: Mutex::default() })
    }

    /// Returns `true` if operators can sign in here.
    pub(crate) fn has_operators(&self) -> bool {
        self.operators.is_some()
    }

    /// Returns `true` if a proxy names operators.
    pub(crate) fn trusts_header(&self) -> bool {
        self.header.is_some()
    }

    /// Begins a session for a token and returns its cookie; `None` if no operator has it.
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
        sessions.insert(number.clone(), OperatorSession { who: who.clone(), until: now + SESSION });
        Some((who, cookie(&number, SESSION.as_secs())))
    }

    /// Ends the session of a request and returns the cookie that takes its own away.
    pub(crate) fn sign_out(&self, headers: &HeaderMap) -> String {
        if let Some(number) = session_number(headers) {
            self.sessions().remove(number);
        }
        cookie("", 0)
    }

    /// Returns the operator who sends a request.
    pub(crate) fn signed_in(&self, headers: &HeaderMap) -> Option<SignedIn> {
        if let Some(token) = bearer_token(headers) {
            return self.operator(token.trim()).map(|who| SignedIn { who, mark: None });
        }
        let named = self.header.as_ref().and_then(|header| headers.get(header)?.to_str().ok());
        if let Some(who) = named.map(str::trim).filter(|who| !who.is_empty()) {
            return Some(SignedIn { who: who.to_owned(), mark: Some(self.mark(who)) });
        }
        let number = session_number(headers)?;
        let sessions = self.sessions();
        let session = sessions.get(number).filter(|session| session.until > Instant::now())?;
        let who = session.who.clone();
        drop(sessions);
        // The session of a former operator is invalid.
        let is_operator = self.operators.as_ref()?.with(|known| known.iter().any(|(_, name)| *name == who));
        is_operator.then(|| SignedIn { who, mark: Some(self.mark(number)) })
    }

    /// Returns the operator of a request that changes something; `None` for a request that a page of another site
    /// made: it lacks the mark of the form, and browsers state its origin.
    pub(crate) fn acting(&self, headers: &HeaderMap, mark: &str) -> Option<SignedIn> {
        let signed_in = self.signed_in(headers)?;
        let Some(expected) = &signed_in.mark else { return Some(signed_in) };
        let is_own = headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin" || site == "none");
        let has_mark = blake3::hash(mark.as_bytes()) == blake3::hash(expected.as_bytes());
        (is_own && has_mark).then_some(signed_in)
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
}

fn cookie(number: &str, seconds: u64) -> String {
    format!("{COOKIE}={number}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}")
}

/// Returns the token of a request. The name of a scheme has no case (RFC 9110, 11.1).
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

fn session_number(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, number)| number)
}

fn operators(file: &Path) -> Result<OperatorTokens> {
    use std::os::unix::fs::PermissionsExt as _;
    let shown = file.display();
    let text = fs::read_to_string(file).with_context(|| format!("Cannot read {shown}"))?;
    let mode = fs::metadata(file).with_context(|| format!("Cannot read {shown}"))?.permissions().mode();
    if mode & 0o007 != 0 {
        bail!("{shown} holds tokens, and everybody can read it: chmod o-rwx {shown}");
    }
    // Editors of other systems write a mark of the encoding, which would be a part of the first name.
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
