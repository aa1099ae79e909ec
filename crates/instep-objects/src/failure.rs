//! Failures of object storage in one line: what is wrong, and what to do.

use http::StatusCode;
use instep_store::error_chain;
use object_store::Error;

use crate::{BucketError, ObjectPlace, error::ObjectFault};

/// The most characters that are shown of an answer that is not understood.
const SHOWN: usize = 300;

/// Returns the meaning of a failure.
pub(crate) fn failed(error: &Error, place: &ObjectPlace) -> BucketError {
    match error {
        // A missing bucket has no objects either; services distinguish the two by a code.
        Error::NotFound { path, source } if !source.to_string().contains("NoSuchBucket") => {
            let what = format!("there is no object {path} in the bucket {}", place.bucket());
            BucketError::of_object(ObjectFault::Missing, what)
        }
        Error::Precondition { .. } => BucketError::of_object(
            ObjectFault::Replaced,
            "the object was replaced while it was read".to_owned(),
        ),
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            BucketError::answering(sentence(error, place), true)
        }
        _ => BucketError::of_service(sentence(error, place), is_away(error)),
    }
}

/// Returns `true` if another attempt may succeed soon: no connection, one that broke off, a service that cannot serve
/// now. Returns `false` for a cloud machine without a role, which no further attempt gives credentials.
fn is_away(error: &Error) -> bool {
    let causes =
        std::iter::successors(Some(error as &(dyn std::error::Error + 'static)), |error| error.source());
    let mut own = causes.clone().filter_map(|cause| cause.downcast_ref::<instep_net::HttpError>());
    let is_credentials = error_chain(error).contains("169.254.");
    match own.next() {
        Some(own) => may_pass(own) && !is_credentials,
        // The library does not expose the status, only a text that contains it.
        None => causes.map(ToString::to_string).any(|cause| {
            ["500", "502", "503", "504", "429"]
                .iter()
                .any(|status| cause.starts_with(&format!("Server returned non-2xx status code: {status}")))
        }),
    }
}

/// Returns `true` for a request that may succeed in a moment.
pub(crate) fn may_pass(error: &instep_net::HttpError) -> bool {
    error.is_transient() || matches!(error, instep_net::HttpError::HostDown { .. })
}

/// Returns the failure that an answer with a status means.
pub(crate) fn answered(status: StatusCode, answer: &str, place: &ObjectPlace) -> BucketError {
    let bucket = place.bucket();
    let refused = || match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Some(denied(bucket)),
        StatusCode::MOVED_PERMANENTLY | StatusCode::TEMPORARY_REDIRECT => Some(other_region(bucket, None)),
        _ => None,
    };
    let what = by_code(answer, bucket).or_else(refused);
    let what = what.unwrap_or_else(|| shortened(format!("the service answers {status} {answer}")));
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return BucketError::of_service(what, status != StatusCode::NOT_IMPLEMENTED);
    }
    BucketError::answering(what, matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN))
}

/// Returns the meaning of the code in an answer; `None` for a code that operators cannot act on.
fn by_code(answer: &str, bucket: &str) -> Option<String> {
    Some(match element(answer, "Code")? {
        "NoSuchBucket" => format!("there is no bucket {bucket}; make it, or correct its name"),
        "InvalidAccessKeyId" | "NotSignedUp" => {
            "the access key is not known there; check AWS_ACCESS_KEY_ID".to_owned()
        }
        "SignatureDoesNotMatch" => "the secret key is wrong; check AWS_SECRET_ACCESS_KEY".to_owned(),
        "ExpiredToken" | "InvalidToken" => {
            "the session token has expired or is wrong; check AWS_SESSION_TOKEN".to_owned()
        }
        "RequestTimeTooSkewed" => "the clock of this machine is wrong; set it".to_owned(),
        "AuthorizationHeaderMalformed" | "PermanentRedirect" | "IllegalLocationConstraintException" => {
            other_region(bucket, element(answer, "Region"))
        }
        "AccessDenied" | "AllAccessDisabled" | "AccountProblem" => denied(bucket),
        _ => return None,
    })
}

/// Returns the meaning of a failure. Services express it with a code; a failure without a code is shown as it is.
fn sentence(error: &Error, place: &ObjectPlace) -> String {
    let chain = error_chain(error);
    let bucket = place.bucket();
    if let Some(meaning) = by_code(&chain, bucket) {
        return meaning;
    }
    if chain.contains("169.254.") {
        return "there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY".to_owned();
    }
    match error {
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => denied(bucket),
        _ if chain.contains("redirect without LOCATION") => other_region(bucket, None),
        _ => shortened(innermost(error)),
    }
}

fn denied(bucket: &str) -> String {
    format!(
        "these credentials may not read and write in the bucket {bucket}; allow s3:ListBucket, s3:GetObject, \
         s3:PutObject and s3:DeleteObject"
    )
}

fn other_region(bucket: &str, region: Option<&str>) -> String {
    let is_in =
        region.map_or_else(|| "in another region".to_owned(), |region| format!("in the region {region}"));
    let region = region.unwrap_or("its region");
    format!("the bucket {bucket} is {is_in}; set AWS_REGION to {region}")
}

/// Returns the text of an element of the answer.
fn element<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = answer.split_once(&format!("<{name}>"))?;
    Some(rest.split_once("</")?.0)
}

/// Returns the failure without the outer layers that add no information: from our own client on, or from the answer
/// of the service.
fn innermost(error: &Error) -> String {
    let causes =
        std::iter::successors(Some(error as &(dyn std::error::Error + 'static)), |error| error.source());
    let own = causes.clone().find(|cause| cause.is::<instep_net::HttpError>());
    let answer = causes.clone().find(|cause| cause.to_string().starts_with("Server returned"));
    own.or(answer).or_else(|| causes.last()).map(error_chain).unwrap_or_default()
}

fn shortened(text: String) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: &str, more: &str) -> String {
        let source =
            format!("400 Bad Request: <Error><Code>{code}</Code><Message>No</Message>{more}</Error>");
        let error = Error::Generic { store: "S3", source: source.into() };
        sentence(&error, &ObjectPlace::parse("s3://library/docs").unwrap())
    }

    #[test]
    fn each_failure_that_operators_meet_is_one_clear_line() {
        for (code, more, expected) in [
            ("NoSuchBucket", "", "no bucket library"),
            ("InvalidAccessKeyId", "<AWSAccessKeyId>7391</AWSAccessKeyId>", "check AWS_ACCESS_KEY_ID"),
            ("SignatureDoesNotMatch", "<StringToSign>7391</StringToSign>", "check AWS_SECRET_ACCESS_KEY"),
            ("ExpiredToken", "", "check AWS_SESSION_TOKEN"),
            ("AccessDenied", "", "allow s3:ListBucket"),
            ("AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>", "set AWS_REGION to eu-west-1"),
            ("PermanentRedirect", "", "set AWS_REGION"),
            ("RequestTimeTooSkewed", "", "clock"),
            ("SlowDown", "", "SlowDown"),
        ] {
            let said = said(code, more);
            assert!(
                said.contains(expected) && !said.contains('\n') && !said.contains("7391"),
                "{code}: {said}"
            );
        }
    }

    #[test]
    fn a_machine_without_credentials_is_told_what_to_set() {
        let source = "Error performing PUT http://169.254.169.254/latest/api/token";
        let error = Error::Generic { store: "S3", source: source.into() };
        let place = ObjectPlace::parse("s3://library").unwrap();
        assert!(sentence(&error, &place).contains("set AWS_ACCESS_KEY_ID"));
    }
}
