//! Parsers of the values of options, as people write them: `30s`, `10MiB`, `4/s`, `10%`. Each error says what to write.

use std::{path::PathBuf, str::FromStr, time::Duration};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use instep_source::SourcePlace;
use resourcesync::{UriError, xml::SpecVersion};

/// Reads a duration: `30s`, `5m`, `1h30m`, `250ms`, `7d`. A day has 24 hours.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    const DAY: u64 = 24 * 60 * 60;
    let wrong = || format!("{text:?} is not a duration; write 250ms, 30s, 5m, 2h or 7d");
    if let Some(days) = text.strip_suffix('d') {
        let days: u64 = days.parse().map_err(|_| wrong())?;
        return days.checked_mul(DAY).map(Duration::from_secs).ok_or_else(wrong);
    }
    let signed: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    signed.try_into().map_err(|_| wrong())
}

/// Reads a timeout. Refuses 0, with which everything that waits would fail.
pub(crate) fn timeout(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err(format!("{text:?} leaves no time for an answer; write 30s")),
        time => Ok(time),
    }
}

/// Reads the pause between two requests or scans. Refuses 0, with which they would follow one another without end.
pub(crate) fn pause(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err(format!("{text:?} leaves no pause; write 1s")),
        time => Ok(time),
    }
}

/// Reads bytes per second. A small number needs its unit: in rsync and rclone one without a unit means KiB, and a run
/// with as few bytes would hardly end.
pub(crate) fn bandwidth(text: &str) -> Result<u64, String> {
    let limit = size(text)?;
    let has_unit = text.ends_with(|character: char| character.is_ascii_alphabetic());
    if !has_unit && (1..64 << 10).contains(&limit) {
        return Err(format!("write its unit: {text}KiB, or {text}B for {text} bytes per second"));
    }
    Ok(limit)
}

/// Reads a number of bytes: `512`, `64KiB`, `10MiB`, `1GB`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size; write 512, 64KiB, 10MiB or 1GB");
    let digits =
        text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(wrong()),
    };
    Ok((number * factor as f64) as u64)
}

/// Reads a percentage from 1 to 100: `50%`, `50`.
pub(crate) fn percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    let within = number.filter(|number| (1..=100).contains(number));
    within.ok_or_else(|| format!("{text:?} is not a percentage; write 50% or 10%"))
}

/// Reads a whole number of the type of an option.
pub(crate) fn number<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("{text:?} is not a whole number in the range of this option"))
}

/// Reads a word of a selection. Refuses an empty one, which would select everything or nothing unnoticed (O158).
pub(crate) fn word(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("it is empty".to_owned()) } else { Ok(text.to_owned()) }
}

/// Reads a media type, or the beginning of some with an asterisk. Any other word matches none, so that nothing would be
/// selected.
pub(crate) fn media_type(text: &str) -> Result<String, String> {
    let text = word(text)?;
    if !text.contains(['/', '*']) || text.contains([';', ',', ' ']) {
        return Err(format!("{text:?} is not one media type; write text/plain, or text/* for all of a kind"));
    }
    Ok(text)
}

/// Reads a whole number from 1.
pub(crate) fn at_least_one<N: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| *number >= N::from(1));
    number.ok_or_else(|| format!("{text:?} cannot be used; write a whole number from 1"))
}

/// Reads a rate and returns it per second: `4/s`, `100/m`, `5`.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text:?} is not a rate; write 4/s or 100/m");
    let (number, unit) = text.split_once('/').unwrap_or((text, "s"));
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let seconds = match unit.trim() {
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    // At less than one request a day, a run would seem to hang (O69).
    let rate = number / seconds;
    if rate.is_finite() && rate >= 1.0 / 86_400.0 {
        return Ok(rate);
    }
    Err(format!(
        "{text:?} cannot be used as a rate; write a number of requests, at least one a day: 4/s or 100/m"
    ))
}

/// Reads a W3C datetime.
pub(crate) fn datetime(text: &str) -> Result<resourcesync::DateTime, String> {
    let wrong = |_| format!("{text:?} is not a time; write 2026-01-31 or 2026-01-31T09:00:00Z");
    text.parse().map_err(wrong)
}

/// Reads a version of the standard: `1.0` or `1.1`.
pub(crate) fn spec_version() -> impl TypedValueParser<Value = SpecVersion> {
    PossibleValuesParser::new(["1.0", "1.1"]).map(|version| match version.as_str() {
        "1.0" => SpecVersion::V1_0,
        _ => SpecVersion::V1_1,
    })
}

/// Reads the URL at which a Source is served, and returns it as it is written.
pub(crate) fn base_url(text: &str) -> Result<String, String> {
    let what = |error: instep_source::Error| error.to_string().trim_start_matches("base URL: ").to_owned();
    SourcePlace::new(text).map(|_| text.to_owned()).map_err(what)
}

/// Reads an absolute http(s) URI; a host alone means `https://host/`.
pub(crate) fn url(text: &str) -> Result<resourcesync::Uri, String> {
    if text.starts_with(['.', '/']) {
        return Err(format!("{text:?} is a path; write the URL of the Source, such as https://example.org/"));
    }
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    if rest.split(['/', '?', '#']).next().unwrap_or_default().contains('@') {
        return Err(
            "A login in a URL is seen by every user of this machine; put it in a file in netrc format \
             and name that with --netrc-file, or a token with --bearer-file"
                .into(),
        );
    }
    let is_complete = text.contains("://") || is_of_the_web(text);
    let complete = if is_complete { text.to_owned() } else { format!("https://{text}/") };
    let complete = with_ascii_host(complete);
    let uri = resourcesync::Uri::parse(&complete).map_err(|error| match error {
        UriError::Syntax { .. } => format!("{text:?}: {error}; write other characters percent-encoded"),
        error => format!("{text:?}: {error}"),
    })?;
    if url::Url::parse(uri.as_str()) == Err(url::ParseError::InvalidPort) {
        return Err(format!("{text:?} has a port that does not exist; the last one is 65535"));
    }
    match uri.as_str().split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase()) {
        Some(scheme) if scheme == "http" || scheme == "https" => Ok(uri),
        _ => Err(format!("{text:?}: only http and https URLs can be used")),
    }
}

/// Writes a host with letters outside of ASCII in its ASCII form, as browsers do: `bücher.example` becomes
/// `xn--bcher-kva.example`. The path stays as it is, because another spelling of it may lead to another document.
fn with_ascii_host(text: String) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.split(':').next().unwrap_or_default();
    if host.is_ascii() {
        return text;
    }
    match url::Host::parse(host) {
        Ok(ascii) => format!("{scheme}://{ascii}{}{path}", &authority[host.len()..]),
        Err(_) => text,
    }
}

/// Returns `true` if a text begins with `http:` or `https:`, whatever follows.
fn is_of_the_web(text: &str) -> bool {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https"))
}

/// Reads the path of a folder or file. Refuses a URL, which would become a folder with that name (P4), and an empty text, as of
/// a variable of the shell that is not set.
pub(crate) fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() {
        return Err("it is empty; name a folder or file, or . for this folder".to_owned());
    }
    match text.split_once("://") {
        Some(("s3", _)) => Err(format!(
            "{text:?} is not a folder; object storage holds the content of `publish`, its documents (--out), and the \
             bytes of a copy (sync --store)"
        )),
        Some((scheme, _)) => Err(format!("{text:?} is a URL ({scheme}); name a folder of this machine")),
        None => Ok(PathBuf::from(text)),
    }
}

/// Checks that an address to listen on is HOST:PORT, and returns it as it is written.
pub(crate) fn address(text: &str) -> Result<String, String> {
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    match text.rsplit_once(':') {
        Some((_, port)) if is_port(port) => Ok(text.to_owned()),
        None if is_port(text) => Err(format!("{text} is a port without a host; write 127.0.0.1:{text}")),
        Some((_, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(format!("{text:?} has no port from 0 to 65535"))
        }
        _ => Err(format!("{text:?} has no port; write HOST:PORT, such as 127.0.0.1:8080")),
    }
}

/// Splits URI=PATH at the first `=`, or at the last one if the URI has a query, which may contain `=`.
pub(crate) fn mapping(text: &str) -> Result<(String, String), String> {
    let first = text.split_once('=').ok_or_else(|| format!("{text:?} is not URI=PATH"))?;
    if !is_of_the_web(first.0) {
        return Err(format!(
            "{:?} is not the beginning of a URI; write http://example.org/papers/=PATH",
            first.0
        ));
    }
    let parts = if first.0.contains('?') { text.rsplit_once('=') } else { None };
    let (uri, path) = parts.unwrap_or(first);
    Ok((uri.to_owned(), path.to_owned()))
}

#[cfg(test)]
mod tests;
