//! Comparisons of a document with the inventory that was applied last.

use std::io::ErrorKind;

use resourcesync::{DateTime, ReadError, value::Precision};
use ring::digest::{SHA256, digest};

use crate::{
    Error,
    documents::{Document, DocumentError},
    state::DocumentRecord,
};

/// Returns `true` if a document equals, byte for byte, the one that was read last, or if the digest of that one was not
/// recorded (B14).
pub(super) async fn has_digest(document: &Document, record: Option<&DocumentRecord>) -> Result<bool, Error> {
    match record.and_then(|record| record.digest) {
        Some(held) => Ok(digest_of(document).await? == held),
        None => Ok(true),
    }
}

/// Returns `true` if an inventory of this digest is the one that was applied last.
pub(super) fn is_applied(digest: Option<[u8; 32]>, applied: Option<&DocumentRecord>) -> bool {
    digest.is_some() && applied.and_then(|record| record.digest) == digest
}

pub(super) async fn digest_of(document: &Document) -> Result<[u8; 32], Error> {
    let (document, uri) = (document.clone(), document.uri.clone());
    let digest = tokio::task::spawn_blocking(move || document.digest()).await?;
    digest.map_err(|source| {
        let uri = uri.into_string();
        let error = match source.kind() {
            // These kinds come from gzip that is damaged or incomplete: a fault of the Source and not of the disk.
            ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof => {
                DocumentError::Read { uri, source: ReadError::Io(source) }
            }
            _ => DocumentError::Spool { uri, source },
        };
        error.into()
    })
}

/// Returns the digest of two digests in their order.
pub(super) fn joined(one: [u8; 32], other: [u8; 32]) -> [u8; 32] {
    let mut both = [0; 32];
    both.copy_from_slice(digest(&SHA256, &[one, other].concat()).as_ref());
    both
}

/// Returns `true` if the list has the time of the applied one (DST-7); a date alone is not enough.
pub(super) fn same_instant(applied: Option<DateTime>, at: Option<DateTime>) -> bool {
    matches!((applied, at), (Some(applied), Some(at))
        if at.precision() >= Precision::Second && applied.instant() == at.instant())
}
