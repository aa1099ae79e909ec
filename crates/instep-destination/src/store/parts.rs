//! Reads parts of objects one by one, or many parts of a pack with one request.

use std::{
    io::{self, Cursor, Read},
    sync::Arc,
};

use bytes::Bytes;
use instep_objects::Bucket;
use instep_warc::WarcReader;

use super::{ObjectReader, StoreError};
use crate::state::HeldAt;

/// The end of the keys of packs.
pub(super) const PACK: &str = ".warc.gz";

/// The most bytes between two parts that are read with them, because a second request costs more.
const GAP: u64 = 256 << 10;

/// The most bytes of one request, unless a single part has more.
const SPAN: u64 = 8 << 20;

/// Reads a part of an object: the payload of a record, or a large resource.
///
/// # Errors
/// If it is not there or damaged, or storage fails.
pub(super) fn read_part(
    bucket: &Arc<Bucket>,
    key: &str,
    offset: u64,
    length: u64,
) -> Result<Box<dyn Read + Send>, StoreError> {
    if !is_pack(key) {
        return Ok(Box::new(ObjectReader::open(bucket, key, Some(length))?));
    }
    let member = bucket.read(key, Some(offset..offset + length));
    member_read(&member.map_err(|error| StoreError::of_bucket("read", key, bucket, error))?, key, offset)
}

/// Returns `true` if an object is a pack, and not a resource.
pub(crate) fn is_pack(key: &str) -> bool {
    key.ends_with(PACK)
}

fn member_read(member: &[u8], key: &str, offset: u64) -> Result<Box<dyn Read + Send>, StoreError> {
    payload(member).map(|bytes| Box::new(Cursor::new(bytes)) as Box<dyn Read + Send>).map_err(|what| {
        let damaged = io::Error::new(io::ErrorKind::InvalidData, what);
        StoreError::io("read", format!("{key} at byte {offset}"), damaged)
    })
}

/// Returns the payload of the only record of a gzip member.
fn payload(member: &[u8]) -> Result<Vec<u8>, String> {
    let mut payload = None;
    let mut reader = WarcReader::new(member);
    let read = reader.next(&mut |record| {
        let mut bytes = Vec::new();
        record.block.read_to_end(&mut bytes)?;
        payload = Some(bytes);
        Ok(())
    });
    read.map_err(|error| error.to_string())?;
    payload.ok_or_else(|| "there is no record".to_owned())
}

/// The parts of packs that will be read, joined into few requests.
#[derive(Debug, Default)]
pub(crate) struct PackSpans {
    spans: Vec<PackSpan>,
    /// The bytes of the span that was read last.
    current: Option<(usize, Bytes)>,
}

/// A part of an object with its key, its first byte and its end, and its position among the wanted ones; resources
/// under their paths come first.
type WantedPart<'a> = (Option<(&'a str, u64, u64)>, usize);

#[derive(Clone, Debug, PartialEq, Eq)]
struct PackSpan {
    key: Box<str>,
    start: u64,
    end: u64,
}

impl PackSpans {
    /// Returns the spans of places, and the order in which each span is read once.
    pub(crate) fn of<'a>(places: impl Iterator<Item = &'a HeldAt>) -> (Self, Vec<usize>) {
        let mut order: Vec<WantedPart<'_>> = places
            .enumerate()
            .map(|(index, place)| match place {
                HeldAt::Object { key, offset, length } => (Some((&**key, *offset, offset + length)), index),
                HeldAt::Path => (None, index),
            })
            .collect();
        order.sort_unstable();
        let mut spans: Vec<PackSpan> = Vec::new();
        for (key, start, end) in order.iter().filter_map(|(part, _)| *part).filter(|(key, ..)| is_pack(key)) {
            match spans.last_mut() {
                Some(last) if *last.key == *key && start <= last.end + GAP && end - last.start <= SPAN => {
                    last.end = last.end.max(end);
                }
                _ => spans.push(PackSpan { key: key.into(), start, end }),
            }
        }
        (Self { spans, current: None }, order.into_iter().map(|(_, index)| index).collect())
    }

    /// Reads a part of an object, with the span that it is in.
    ///
    /// # Errors
    /// As for [`read_part`].
    pub(super) fn read(
        &mut self,
        bucket: &Arc<Bucket>,
        key: &str,
        offset: u64,
        length: u64,
    ) -> Result<Box<dyn Read + Send>, StoreError> {
        match self.within_span(bucket, key, offset, length) {
            Some(member) => member_read(&member, key, offset),
            None => read_part(bucket, key, offset, length),
        }
    }

    /// Reads the bytes of a record of a pack as they are.
    ///
    /// # Errors
    /// If they are not there, or storage fails.
    pub(super) fn read_member(
        &mut self,
        bucket: &Arc<Bucket>,
        key: &str,
        offset: u64,
        length: u64,
    ) -> Result<Bytes, StoreError> {
        self.within_span(bucket, key, offset, length).map_or_else(
            || {
                let member = bucket.read(key, Some(offset..offset + length));
                member.map_err(|error| StoreError::of_bucket("read", key, bucket, error))
            },
            Ok,
        )
    }

    /// Returns a part from the span that has it; `None` if it is in no span that can be read.
    fn within_span(&mut self, bucket: &Arc<Bucket>, key: &str, offset: u64, length: u64) -> Option<Bytes> {
        let end = offset + length;
        let is_in = |span: &PackSpan| *span.key == *key && span.start <= offset && end <= span.end;
        let index = self.spans.iter().position(is_in)?;
        let PackSpan { start, end: last, .. } = self.spans[index];
        if self.current.as_ref().is_none_or(|(read, _)| *read != index) {
            // If the span cannot be read, this part may still be readable, so each part is read separately then.
            self.current = Some((index, bucket.read(key, Some(start..last)).ok()?));
        }
        let (_, bytes) = self.current.as_ref()?;
        let (from, to) = (usize::try_from(offset - start).ok()?, usize::try_from(end - start).ok()?);
        (to <= bytes.len()).then(|| bytes.slice(from..to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_parts_are_one_span() {
        let part = |key: &str, offset, length| HeldAt::Object { key: key.into(), offset, length };
        let places = [
            part("b.warc.gz", 0, 10),
            part("a.warc.gz", 500, 10),
            part("large", 0, 10),
            part("a.warc.gz", 0, 100),
            HeldAt::Path,
            part("a.warc.gz", 600 + GAP, 10),
            part("a.warc.gz", 620 + GAP, SPAN),
        ];
        let (spans, order) = PackSpans::of(places.iter());
        let span = |key: &str, start, end| PackSpan { key: key.into(), start, end };
        let expected = [
            span("a.warc.gz", 0, 510),
            span("a.warc.gz", 600 + GAP, 610 + GAP),
            span("a.warc.gz", 620 + GAP, 620 + GAP + SPAN),
            span("b.warc.gz", 0, 10),
        ];
        assert_eq!(spans.spans, expected);
        assert_eq!(order, [4, 3, 1, 5, 6, 0, 2]);
    }
}
