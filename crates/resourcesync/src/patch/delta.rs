//! VCDIFF (RFC 3284) with its default code table: copies from the version before, and new bytes.
//!
//! The decoder reads everything in the RFC except secondary compression and custom tables, and skips the application
//! header and the checksums that common encoders add. The encoder writes one window, without the codes for pairs of
//! instructions.

mod address;
mod decode;
mod encode;
mod table;

pub(super) use decode::decode;
pub(super) use encode::encode;

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::{decode, encode};

    const MOST: usize = 1 << 20;

    #[test]
    fn the_example_of_rfc_3284_is_decoded() {
        let delta = [
            &b"\xd6\xc3\xc4\0\0"[..],
            &[1, 16, 0, 19, 28, 0, 5, 6, 3],
            b"wxyzz",
            &[20, 5, 20, 28, 0, 4],
            &[0, 4, 24],
        ]
        .concat();
        let target = decode(b"abcdefghijklmnop", &delta, MOST).unwrap();
        assert_eq!(String::from_utf8(target).unwrap(), "abcdwxyzefghefghefghefghzzzz");
    }

    #[test]
    fn a_code_may_stand_for_two_instructions() {
        // Code 163: ADD 1, COPY 4 by its own address; code 247: COPY 4 by its own address, ADD 1.
        let delta =
            [&b"\xd6\xc3\xc4\0\0"[..], &[1, 4, 0, 11, 10, 0, 2, 2, 2], b"xy", &[163, 247], &[0, 0]].concat();
        assert_eq!(decode(b"abcd", &delta, MOST).unwrap(), b"xabcdabcdy");
    }

    #[test]
    fn a_small_change_of_a_large_file_is_a_small_delta() {
        let source: Vec<u8> =
            (0..100_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let mut target = source.clone();
        target.splice(200_000..200_003, *b"something else");
        target.drain(300_000..300_100);
        let delta = encode(&source, &target);
        assert!(delta.len() < 100, "{} bytes", delta.len());
        assert_eq!(decode(&source, &delta, MOST).unwrap(), target);
        let repeated = encode(b"", &[7; 50_000]);
        assert!(repeated.len() < 100, "{} bytes", repeated.len());
        assert_eq!(decode(b"", &repeated, MOST).unwrap(), [7; 50_000]);
    }

    #[test]
    fn nothing_larger_than_allowed_comes_out() {
        let delta = encode(b"", &[7; 50_000]);
        assert!(decode(b"", &delta, 49_999).is_err());
        // A window that says it is 2^62 bytes long.
        let claims = [&b"\xd6\xc3\xc4\0\0"[..], &[0, 20], &[0xbf; 8], &[0x7f, 0, 0, 3, 0, 0]].concat();
        assert!(decode(b"", &claims, MOST).is_err());
    }

    /// Pieces of the first version in any order, with new bytes between them.
    fn edited() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
        let source = vec(0u8..8, 0..2_000);
        let pieces = vec((any::<prop::sample::Index>(), 0..300usize, vec(any::<u8>(), 0..20)), 0..12);
        (source, pieces).prop_map(|(source, pieces)| {
            let mut target = Vec::new();
            for (start, length, new) in pieces {
                let start = start.index(source.len() + 1);
                target.extend_from_slice(&source[start..source.len().min(start + length)]);
                target.extend(new);
            }
            (source, target)
        })
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded((source, target) in edited()) {
            let delta = encode(&source, &target);
            prop_assert_eq!(decode(&source, &delta, MOST).unwrap(), target);
        }

        #[test]
        fn a_damaged_delta_is_refused_or_decoded_within_its_limit(
            (source, target) in edited(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut delta = encode(&source, &target);
            let at = at.index(delta.len());
            delta[at] = byte;
            if let Ok(decoded) = decode(&source, &delta, 4_000) {
                prop_assert!(decoded.len() <= 4_000);
            }
        }

        #[test]
        fn any_bytes_are_refused_or_decoded_within_the_limit(
            source in vec(any::<u8>(), 0..100),
            bytes in vec(any::<u8>(), 0..100),
        ) {
            let delta = [&super::table::MAGIC[..], &[0], &bytes].concat();
            if let Ok(decoded) = decode(&source, &delta, 1_000) {
                prop_assert!(decoded.len() <= 1_000);
            }
        }
    }
}
