//! Requests of subscribers (WebSub §5.1). PURE.

use std::time::Duration;

/// The default lease, and its bounds (W4).
const LEASE: Duration = Duration::from_secs(10 * 24 * 3_600);
const SHORTEST: Duration = Duration::from_secs(3_600);
pub(super) const LONGEST: Duration = Duration::from_secs(30 * 24 * 3_600);
/// The length that a secret must stay below (W3).
const SECRET_BYTES: usize = 200;

/// A request to begin or end a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubscriptionRequest {
    pub(crate) mode: HubMode,
    pub(crate) topic: String,
    pub(crate) callback: String,
    pub(crate) lease: Duration,
    pub(crate) secret: Option<String>,
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HubMode {
    Subscribe,
    Unsubscribe,
}

impl HubMode {
    /// Returns its name in requests.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Subscribe => "subscribe",
            Self::Unsubscribe => "unsubscribe",
        }
    }
}

impl SubscriptionRequest {
    /// Reads the form of a request. The error describes the fault.
    pub(crate) fn parse(form: &[u8]) -> Result<Self, &'static str> {
        let mut asked = Self {
            mode: HubMode::Subscribe,
            topic: String::new(),
            callback: String::new(),
            lease: LEASE,
            secret: None,
        };
        let mut mode = None;
        for (name, value) in url::form_urlencoded::parse(form) {
            match &*name {
                "hub.mode" => mode = Some(value.into_owned()),
                "hub.topic" => asked.topic = value.into_owned(),
                "hub.callback" => asked.callback = value.into_owned(),
                "hub.lease_seconds" if value.is_empty() => {}
                "hub.lease_seconds" => {
                    if !value.bytes().all(|byte| byte.is_ascii_digit()) {
                        return Err("hub.lease_seconds is not a number");
                    }
                    // A number of any length is at most the longest lease.
                    let lease = value.parse().map_or(LONGEST, Duration::from_secs);
                    asked.lease = lease.clamp(SHORTEST, LONGEST);
                }
                "hub.secret" if value.is_empty() => {}
                "hub.secret" => asked.secret = Some(value.into_owned()),
                _ => {}
            }
        }
        asked.mode = match mode.as_deref() {
            Some("subscribe") => HubMode::Subscribe,
            Some("unsubscribe") => HubMode::Unsubscribe,
            _ => return Err("hub.mode must be subscribe or unsubscribe"),
        };
        if asked.secret.as_ref().is_some_and(|secret| secret.len() >= SECRET_BYTES) {
            return Err("hub.secret must be shorter than 200 bytes");
        }
        if asked.topic.is_empty() || asked.callback.is_empty() {
            return Err("hub.topic and hub.callback are needed");
        }
        Ok(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(rest: &str) -> Result<SubscriptionRequest, &'static str> {
        SubscriptionRequest::parse(
            format!("hub.mode=subscribe&hub.topic=http://a/t&hub.callback=http://b/c&{rest}").as_bytes(),
        )
    }

    #[test]
    fn w3_a_secret_has_less_than_200_bytes() {
        assert!(asked(&format!("hub.secret={}", "x".repeat(199))).is_ok_and(|asked| asked.secret.is_some()));
        assert!(asked(&format!("hub.secret={}", "x".repeat(200))).is_err());
        assert_eq!(asked("hub.secret=").unwrap().secret, None);
    }

    #[test]
    fn w4_o259_no_lease_is_endless_or_too_short() {
        for (rest, lease) in [
            ("", LEASE),
            ("hub.lease_seconds=", LEASE),
            ("hub.lease_seconds=0", SHORTEST),
            ("hub.lease_seconds=1", SHORTEST),
            ("hub.lease_seconds=7200", Duration::from_secs(7_200)),
            ("hub.lease_seconds=99999999999", LONGEST),
            ("hub.lease_seconds=99999999999999999999", LONGEST),
        ] {
            assert_eq!(asked(rest).unwrap().lease, lease, "{rest}");
        }
        assert!(asked("hub.lease_seconds=-1").is_err());
    }

    #[test]
    fn a_request_needs_its_parts() {
        for form in ["", "hub.mode=publish&hub.topic=a&hub.callback=b", "hub.mode=subscribe&hub.topic=a"] {
            assert!(SubscriptionRequest::parse(form.as_bytes()).is_err(), "{form}");
        }
    }
}
