//! Archives of every shape, whole and cut off.

use super::*;
use crate::{RecordPacking, WarcKind, WarcWriter};

fn archive(bodies: &[&[u8]], packing: RecordPacking) -> (Vec<u8>, Vec<u64>) {
    let mut writer = WarcWriter::new(Vec::new(), 0);
    let mut offsets = Vec::new();
    for body in bodies {
        let head = WarcHead::new(WarcKind::Resource, "<urn:uuid:1>", "2026-01-01T00:00:00Z")
            .with("WARC-Target-URI", "http://example.com/\r\na");
        offsets.push(writer.write(&head, body.len() as u64, &mut &**body, packing).unwrap().offset);
    }
    (writer.into_inner().unwrap(), offsets)
}

/// Blocks, each with the offset of its record.
type Blocks = Vec<(u64, Vec<u8>)>;

fn read(file: &[u8]) -> (Blocks, Result<bool, WarcError>) {
    let (mut found, mut reader) = (Vec::new(), WarcReader::new(file));
    loop {
        let next = reader.next(&mut |record| {
            let mut body = Vec::new();
            record.block.read_to_end(&mut body)?;
            found.push((record.offset, body));
            Ok(())
        });
        if !matches!(next, Ok(true)) {
            return (found, next);
        }
    }
}

#[test]
fn o447_a_value_may_continue_in_further_lines_and_not_for_ever() {
    let record = |lines: usize| {
        let head =
            "WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: 0\r\nWARC-Target-URI: a\r\n".to_owned();
        head + &" b\r\n".repeat(lines) + "\r\n\r\n\r\n"
    };
    let mut found = Vec::new();
    let few = record(2);
    let read = WarcReader::new(few.as_bytes()).next(&mut |record| {
        found.push(record.head.target().unwrap_or_default().to_owned());
        Ok(())
    });
    assert!(matches!(read, Ok(true)) && found == ["a b b"], "{found:?}");
    let many = record(1 << 20);
    let read = WarcReader::new(many.as_bytes()).next(&mut |_| Ok(()));
    assert!(matches!(&read, Err(WarcError::Malformed { what, .. }) if what.contains("1 MiB")), "{read:?}");
}

#[test]
fn records_read_back_at_the_offsets_that_were_told() {
    let large: Vec<u8> = (0..300_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let bodies: [&[u8]; 4] = [b"one", b"", &large, b"WARC/1.1\r\n\r\n"];
    for packing in [RecordPacking::Compressed, RecordPacking::Stored] {
        let (file, offsets) = archive(&bodies, packing);
        let (found, end) = read(&file);
        assert!(matches!(end, Ok(false)));
        let expected: Vec<_> = offsets.iter().copied().zip(bodies.map(<[u8]>::to_vec)).collect();
        assert_eq!(found, expected);
        let (last, _) = read(&file[usize::try_from(offsets[3]).unwrap()..]);
        assert_eq!(last[0].1, bodies[3], "a reader can begin at any record");
    }
}

#[test]
fn b37_a_block_that_is_cut_off_is_never_read_to_an_end() {
    let (file, _) = archive(&[b"a body of some length"], RecordPacking::Stored);
    // Without the end of the block, the line ends after it, and the end of the gzip member.
    let end = file.len() - 24;
    let (found, result) = read(&file[..end]);
    assert!(found.is_empty(), "{found:?}");
    assert!(matches!(result, Err(WarcError::Torn { offset: 0 })), "{result:?}");
}

#[test]
fn a_block_of_another_length_is_an_error() {
    for packing in [RecordPacking::Compressed, RecordPacking::Stored] {
        let head = WarcHead::new(WarcKind::Resource, "<urn:uuid:1>", "2026-01-01T00:00:00Z");
        let mut writer = WarcWriter::new(Vec::new(), 0);
        let error = writer.write(&head, 5_000, &mut &b"short"[..], packing).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}

#[test]
fn an_archive_that_is_cut_anywhere_loses_its_last_record_only() {
    let bodies: [&[u8]; 3] = [b"one", b"two and more of it", b"three"];
    let (file, offsets) = archive(&bodies, RecordPacking::Compressed);
    for end in 1..file.len() {
        let whole = offsets[1..].iter().filter(|offset| **offset <= end as u64).count();
        let (found, result) = read(&file[..end]);
        assert!(found.len() >= whole, "{end}");
        if offsets.contains(&(end as u64)) {
            assert!(matches!(result, Ok(false)), "{end}");
        } else {
            let error = result.unwrap_err();
            assert!(matches!(error, WarcError::Torn { .. }), "{end}: {error}");
            assert_eq!(error.offset(), offsets[whole], "{end}");
        }
    }
}

#[test]
fn records_that_are_not_compressed_or_share_a_member_are_read() {
    let plain = b"WARC/1.0\r\nwarc-type: resource\r\nFolded: a\r\n b\r\ncontent-length: 3\r\n\r\none\r\n\r\n\
                  WARC/1.1\nWARC-Type: odd\nContent-Length: 0\n\n\n\n";
    let (found, end) = read(plain);
    assert!(matches!(end, Ok(false)));
    assert_eq!(found.iter().map(|(_, body)| body.len()).collect::<Vec<_>>(), [3, 0]);
    let mut gzip = flate2::read::GzEncoder::new(&plain[..], flate2::Compression::fast());
    let mut whole = Vec::new();
    gzip.read_to_end(&mut whole).unwrap();
    assert_eq!(read(&whole).0.len(), 2);
    for bad in [&b"<html>\n"[..], b"WARC/1.1\r\nno field\r\n\r\n", b"WARC/1.1\r\nWARC-Type: x\r\n\r\n"] {
        assert!(matches!(read(bad).1, Err(WarcError::Malformed { .. })), "{bad:?}");
    }
}
