//! Resumption tokens: they carry all that the next part needs, so the server remembers nothing, and they are signed. PURE.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

/// Bytes of the signature.
const SIGNATURE: usize = 16;
/// Characters of the longest accepted token.
const LONGEST: usize = 4_096;

/// The place in a list behind which the next part begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ListToken {
    pub(super) with_metadata: bool,
    pub(super) format: String,
    pub(super) set: Option<String>,
    pub(super) from: Option<i64>,
    pub(super) until: Option<i64>,
    /// The datestamp of the last record, and its number among those of the same second.
    pub(super) after: (i64, i64),
    /// Records before.
    pub(super) cursor: u64,
    /// Records in all, when the list began.
    pub(super) size: u64,
}

impl ListToken {
    /// Writes the token, signed with a key.
    pub(super) fn write(&self, key: &[u8; 32]) -> String {
        // Numbers and text can always be written.
        let mut bytes = postcard::to_stdvec(self).unwrap_or_default();
        let signature = blake3::keyed_hash(key, &bytes);
        bytes.extend_from_slice(&signature.as_bytes()[..SIGNATURE]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a token; `None` if it was not written with this key.
    pub(super) fn read(text: &str, key: &[u8; 32]) -> Option<Self> {
        let bytes = (text.len() <= LONGEST).then(|| URL_SAFE_NO_PAD.decode(text).ok()).flatten()?;
        let (token, signature) = bytes.split_at_checked(bytes.len().checked_sub(SIGNATURE)?)?;
        let mut expected = [0; SIGNATURE];
        expected.copy_from_slice(&blake3::keyed_hash(key, token).as_bytes()[..SIGNATURE]);
        let difference = expected.iter().zip(signature).fold(0, |sum, (one, other)| sum | (one ^ other));
        (difference == 0).then(|| postcard::from_bytes(token).ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::ListToken;

    #[test]
    fn a_token_is_read_back_and_one_that_was_touched_is_not() {
        let token = ListToken {
            with_metadata: true,
            format: "oai_dc".to_owned(),
            set: Some("a:b".to_owned()),
            from: Some(-1),
            until: None,
            after: (1_767_225_600, 500),
            cursor: 500,
            size: 1_000_000,
        };
        let text = token.write(&[1; 32]);
        assert_eq!(ListToken::read(&text, &[1; 32]), Some(token));
        assert_eq!(ListToken::read(&text, &[2; 32]), None);
        for at in 0..text.len() {
            let mut touched = text.clone().into_bytes();
            touched[at] = if touched[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(ListToken::read(&String::from_utf8(touched).unwrap(), &[1; 32]), None, "{at}");
        }
        for wrong in ["", "A", "????", &"A".repeat(5_000)] {
            assert_eq!(ListToken::read(wrong, &[1; 32]), None);
        }
    }
}
