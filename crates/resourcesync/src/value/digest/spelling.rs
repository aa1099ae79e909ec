//! The items of a `hash` attribute, in the spellings that Sources use.

use super::{
    algorithm::Algorithm,
    item::{Digest, DigestBytes, DigestError, DigestValue},
};

/// Returns the items of a white-space list. XML has turned white space into blanks, unless it was escaped.
pub(super) fn words(mut rest: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        rest = rest.trim_ascii_start();
        let end = memchr::memchr3(b' ', b'\t', b'\n', rest.as_bytes()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        (!word.is_empty()).then(|| word.trim_ascii_end())
    })
}

/// Reads one item into the list; returns `false` if it has no algorithm.
pub(super) fn read(item: &str, digests: &mut Vec<Digest>, report: &mut dyn FnMut(DigestError)) -> bool {
    let urn = item.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("urn:"));
    let plain = if urn { &item[4..] } else { item };
    let Some(colon) = plain.bytes().position(|byte| byte == b':').filter(|colon| *colon > 0) else {
        return false;
    };
    let (name, text) = (&plain[..colon], &plain[colon + 1..]);
    let algorithm = Algorithm::parse(name);
    let Some(length) = algorithm.digest_bytes() else {
        report(DigestError::UnknownAlgorithm { algorithm: algorithm.clone() });
        digests.push(Digest { algorithm, value: DigestValue::Opaque(text.into()) });
        return true;
    };
    if let (Some(bytes), false) = (hexadecimal(text, length), urn) {
        digests.push(Digest { algorithm, value: DigestValue::Bytes(bytes) });
        return true;
    }
    let value = match hexadecimal(text, length).or_else(|| base64(text, length)) {
        Some(bytes) => {
            report(DigestError::Spelled { item: item.to_owned() });
            DigestValue::Bytes(bytes)
        }
        None => {
            let named = matches!(algorithm, Algorithm::Md5 | Algorithm::Sha1 | Algorithm::Sha256);
            let digits = named && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            let item = item.to_owned();
            report(if digits { DigestError::Length { item } } else { DigestError::NotHexadecimal { item } });
            DigestValue::Opaque(text.into())
        }
    };
    digests.push(Digest { algorithm, value });
    true
}

/// Reads a digest in base64 with its padding, as early clients wrote it. Its length cannot be that of a hexadecimal
/// one.
fn base64(text: &str, length: usize) -> Option<DigestBytes> {
    if text.len() != length.div_ceil(3) * 4 {
        return None;
    }
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let mut value = DigestBytes { length: length as u8, bytes: [0; 64] };
    let (mut bits, mut held, mut at) = (0u32, 0, 0);
    for digit in digits.bytes() {
        let digit = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        held += 6;
        if held >= 8 {
            held -= 8;
            *value.bytes.get_mut(at).filter(|_| at < length)? = (bits >> held) as u8;
            at += 1;
        }
    }
    (at == length).then_some(value)
}

fn hexadecimal(text: &str, length: usize) -> Option<DigestBytes> {
    if text.len() != length * 2 || length > 64 {
        return None;
    }
    let mut nibbles = [0_u8; 128];
    let nibbles = &mut nibbles[..text.len()];
    // Two plain loops without an early exit: the compiler turns both into vector instructions.
    for (nibble, digit) in nibbles.iter_mut().zip(text.bytes()) {
        *nibble = nibble_of(digit);
    }
    let mut value = DigestBytes { length: length as u8, bytes: [0; 64] };
    let mut seen = 0;
    for (byte, pair) in value.bytes[..length].iter_mut().zip(nibbles.chunks_exact(2)) {
        let pair = u16::from_le_bytes([pair[0], pair[1]]);
        seen |= pair;
        *byte = (pair << 4 | pair >> 8) as u8;
    }
    (seen & 0xf0f0 == 0).then_some(value)
}

/// Returns the value of a hexadecimal digit; 255 for any other character.
fn nibble_of(digit: u8) -> u8 {
    let (number, letter) = (digit.wrapping_sub(b'0'), (digit | 0x20).wrapping_sub(b'a'));
    let letter = if letter < 6 { letter + 10 } else { 255 };
    if number < 10 { number } else { letter }
}
