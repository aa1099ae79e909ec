//! Finds the ends of the pieces of XML. The XML library reads their content.
//!
//! The library's own reader copies each piece out of its source and checks each for UTF-8 again, which takes longer
//! than all that is done with an entry; its reader of slices cannot be kept beside the window that it would borrow. A
//! document without a DTD has so few kinds of pieces that one page finds their ends; a test compares it with the
//! library.

use memchr::{memchr, memchr2, memchr3, memmem};

/// The kind of a piece of XML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum XmlPiece {
    /// Text that is nothing but white space.
    Blank,
    Text,
    /// `&name;`
    Reference,
    CData,
    Comment,
    /// The XML declaration.
    Declaration,
    /// A processing instruction.
    Instruction,
    /// A DOCTYPE up to its first `>` or `[`; reading ends there.
    Doctype,
    Start,
    /// The tag of an element without content.
    Empty,
    End,
}

/// Bytes that no further byte can make a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkupFault {
    /// `<!` or `<?` without a valid continuation.
    Markup,
    /// `&` without its `;`.
    Reference,
}

const COMMENT: &[u8] = b"<!--";
const CDATA: &[u8] = b"<![CDATA[";
const DOCTYPE: &[u8] = b"<!DOCTYPE";

/// Returns the piece at the front and its length in bytes; `None` if more bytes are needed to decide.
#[inline]
pub(super) fn front(bytes: &[u8]) -> Result<Option<(XmlPiece, usize)>, MarkupFault> {
    match bytes {
        [] => Ok(None),
        [b'<', ..] => markup(bytes),
        [b'&', rest @ ..] => match memchr3(b';', b'&', b'<', rest) {
            Some(end) if rest[end] == b';' => Ok(Some((XmlPiece::Reference, end + 2))),
            Some(_) => Err(MarkupFault::Reference),
            None => Ok(None),
        },
        _ => Ok(text(bytes)),
    }
}

/// Returns the text at the end of the document.
pub(super) fn last_text(bytes: &[u8]) -> (XmlPiece, usize) {
    let piece = if bytes.iter().all(|byte| is_blank(*byte)) { XmlPiece::Blank } else { XmlPiece::Text };
    (piece, bytes.len())
}

/// Returns the length of the name at the front of a tag's content.
pub(super) fn name_bytes(content: &[u8]) -> usize {
    content.iter().position(|byte| is_blank(*byte)).unwrap_or(content.len())
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

#[inline]
fn text(bytes: &[u8]) -> Option<(XmlPiece, usize)> {
    let blanks = bytes.iter().position(|byte| !is_blank(*byte))?;
    if bytes[blanks] == b'<' {
        return Some((XmlPiece::Blank, blanks));
    }
    let more = memchr2(b'<', b'&', &bytes[blanks..])?;
    Some((if more == 0 { XmlPiece::Blank } else { XmlPiece::Text }, blanks + more))
}

#[inline]
fn markup(bytes: &[u8]) -> Result<Option<(XmlPiece, usize)>, MarkupFault> {
    match bytes.get(1) {
        None => Ok(None),
        Some(b'/') => Ok(tag(bytes).map(|end| (XmlPiece::End, end))),
        Some(b'?') => instruction(bytes),
        Some(b'!') => bang(bytes),
        Some(_) => Ok(tag(bytes)
            .map(|end| (if bytes[end - 2] == b'/' { XmlPiece::Empty } else { XmlPiece::Start }, end))),
    }
}

/// Returns the end of a tag: the first `>` outside of a value.
#[inline]
fn tag(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += bytes[at..].iter().position(|byte| matches!(byte, b'>' | b'"' | b'\''))?;
        match bytes[at] {
            b'>' => return Some(at + 1),
            quote => at += 2 + memchr(quote, &bytes[at + 1..])?,
        }
    }
}

fn instruction(bytes: &[u8]) -> Result<Option<(XmlPiece, usize)>, MarkupFault> {
    let piece = match bytes.strip_prefix(b"<?xml") {
        Some([byte, ..]) if is_blank(*byte) || *byte == b'?' => XmlPiece::Declaration,
        _ => XmlPiece::Instruction,
    };
    match memmem::find(&bytes[1..], b"?>") {
        // In `<?>` the same question mark would have to begin and end the instruction.
        Some(0) => Err(MarkupFault::Markup),
        Some(end) => Ok(Some((piece, end + 3))),
        None => Ok(None),
    }
}

fn bang(bytes: &[u8]) -> Result<Option<(XmlPiece, usize)>, MarkupFault> {
    let closed = |piece, opening: &[u8], closing: &[u8]| {
        let end = memmem::find(&bytes[opening.len()..], closing);
        Ok(end.map(|end| (piece, opening.len() + end + closing.len())))
    };
    let begun = bytes.len().min(DOCTYPE.len());
    if bytes.starts_with(COMMENT) {
        closed(XmlPiece::Comment, COMMENT, b"-->")
    } else if bytes.starts_with(CDATA) {
        closed(XmlPiece::CData, CDATA, b"]]>")
    } else if bytes[..begun].eq_ignore_ascii_case(&DOCTYPE[..begun]) {
        Ok(memchr2(b'>', b'[', bytes).map(|end| (XmlPiece::Doctype, end + 1)))
    } else if COMMENT.starts_with(bytes) || CDATA.starts_with(bytes) {
        Ok(None)
    } else {
        Err(MarkupFault::Markup)
    }
}
