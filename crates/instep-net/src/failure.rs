//! Connections over which the two ends do not understand each other, in words for people.

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

/// The reason why the two ends of an open connection do not understand each other. Each text is a clause for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolFailure {
    /// The certificate is from an authority that is not trusted here.
    #[error("its certificate is from an authority that is not trusted here")]
    UnknownIssuer,
    /// The certificate has expired.
    #[error("its certificate has expired, or the clock of this machine is wrong")]
    Expired,
    /// The certificate is not valid yet.
    #[error("its certificate is not valid yet, or the clock of this machine is wrong")]
    NotYetValid,
    /// The certificate is for another name.
    #[error("its certificate is for another name")]
    OtherName,
    /// The certificate is that of an authority itself, as `openssl req -x509` makes them (B36).
    #[error(
        "its certificate is that of an authority, which no server may use: make one with basicConstraints=CA:FALSE"
    )]
    Authority,
    /// The server does not speak TLS.
    #[error("it does not speak TLS; try http://")]
    NotTls,
    /// The server wants to know by a certificate who the client is.
    #[error("it requires a certificate of its clients, and instep has none")]
    ClientCertificate,
    /// The connection ended without the message that ends TLS.
    #[error(
        "the connection ended without the end that TLS has (close_notify), so that the rest may be missing"
    )]
    NoEndOfTls,
    /// The server does not speak HTTP.
    #[error("it does not answer in HTTP; if it speaks TLS, try https://")]
    NotHttp,
    /// The headers are more or longer than the client accepts.
    #[error("its answer has more than 100 headers, or too long ones")]
    LargeHead,
}

impl ProtocolFailure {
    /// Returns the reason for an error of TLS; `None` if its own text is best.
    pub(crate) fn of(error: &Error) -> Option<Self> {
        match error {
            Error::InvalidCertificate(certificate) => match certificate {
                // The signature is also wrong if an authority that is trusted has the same name and another key, as after
                // a self-made certificate was made anew.
                CertificateError::UnknownIssuer | CertificateError::BadSignature => Some(Self::UnknownIssuer),
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => Some(Self::Expired),
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    Some(Self::NotYetValid)
                }
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                    Some(Self::OtherName)
                }
                CertificateError::Other(other) if other.to_string() == "CaUsedAsEndEntity" => {
                    Some(Self::Authority)
                }
                _ => None,
            },
            Error::InvalidMessage(InvalidMessage::InvalidContentType) => Some(Self::NotTls),
            Error::AlertReceived(AlertDescription::CertificateRequired) => Some(Self::ClientCertificate),
            _ => None,
        }
    }

    /// Returns the reason for an answer that cannot be read; `None` if the error's own text is best, as for a header
    /// that is not well-formed.
    pub(crate) fn of_answer(error: &hyper::Error) -> Option<Self> {
        if error.is_parse_too_large() {
            return Some(Self::LargeHead);
        }
        // A first line without a version of HTTP shows another protocol. hyper has no kind for this error, only a text.
        (error.is_parse() && error.to_string() == "invalid HTTP version parsed").then_some(Self::NotHttp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o589_an_authority_with_the_name_of_a_trusted_one_is_told_as_not_trusted() {
        let error = Error::InvalidCertificate(CertificateError::BadSignature);
        assert_eq!(ProtocolFailure::of(&error), Some(ProtocolFailure::UnknownIssuer));
    }

    #[test]
    fn b36_the_certificate_of_an_authority_is_told_in_words() {
        let of_rustls = rustls::OtherError(std::sync::Arc::new(std::io::Error::other("CaUsedAsEndEntity")));
        let error = Error::InvalidCertificate(CertificateError::Other(of_rustls));
        assert_eq!(ProtocolFailure::of(&error), Some(ProtocolFailure::Authority));
    }
}
