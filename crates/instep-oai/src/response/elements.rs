//! Elements of a response: as they are written, as text, or passed over.

use quick_xml::events::{BytesStart, Event};

use super::{
    fragment::Fragment,
    tags::{BREAKS_OFF, DECLARATION},
    walk::ResponseReader,
};
use crate::well_formed::{character, check_content, is_allowed};

impl<'t> ResponseReader<'t> {
    /// Reads a metadata element, and returns the first element in it as a document, `None` if it is empty, and `true` if
    /// something else is beside the element.
    pub(super) fn metadata(&mut self, tag: &BytesStart<'_>) -> Result<(Option<Vec<u8>>, bool), String> {
        let mark = self.scope.mark();
        self.scope.enter(tag);
        let (mut document, mut has_more) = (None, false);
        loop {
            let start = self.position();
            match self.event()? {
                Event::Start(child) if document.is_none() => {
                    let (element, fragment) = self.capture(&child, start)?;
                    document = Some(self.document(element, &fragment)?);
                }
                Event::Start(_) => {
                    self.skip()?;
                    has_more = true;
                }
                Event::Empty(child) if document.is_none() => {
                    let mut fragment = Fragment::default();
                    fragment.open(&child)?;
                    document = Some(self.document(&self.text[start..self.position()], &fragment)?);
                }
                Event::Empty(_) | Event::CData(_) | Event::GeneralRef(_) => has_more = true,
                Event::Text(text) => has_more |= !text.trim_ascii().is_empty(),
                Event::End(_) => break,
                Event::Eof => return Err(BREAKS_OFF.to_owned()),
                _ => {}
            }
        }
        self.scope.leave(mark);
        Ok((document, has_more))
    }

    fn document(&self, element: &str, fragment: &Fragment) -> Result<Vec<u8>, String> {
        let mut document = Vec::with_capacity(DECLARATION.len() + element.len() + 256);
        document.extend_from_slice(DECLARATION);
        fragment.append(element, &self.scope, &mut document)?;
        Ok(document)
    }

    /// Reads an element to its end, and returns it as it is written.
    pub(super) fn capture(
        &mut self,
        tag: &BytesStart<'_>,
        start: usize,
    ) -> Result<(&'t str, Fragment), String> {
        let mut fragment = Fragment::default();
        fragment.open(tag)?;
        let mut depth = 1_u32;
        while depth > 0 {
            match self.event()? {
                Event::Start(tag) => {
                    fragment.open(&tag)?;
                    depth += 1;
                }
                Event::Empty(tag) => {
                    fragment.open(&tag)?;
                    fragment.close();
                }
                Event::End(_) => {
                    fragment.close();
                    depth -= 1;
                }
                Event::Eof => return Err(BREAKS_OFF.to_owned()),
                event => check_content(&event)?,
            }
        }
        let element = &self.text[start..self.position()];
        let is_control = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r');
        if element.as_bytes().iter().any(is_control) || element.contains(['\u{fffe}', '\u{ffff}']) {
            return Err("it has a character that XML does not have".to_owned());
        }
        Ok((element, fragment))
    }

    /// Reads an element to its end, and returns its text without the blanks around it.
    pub(super) fn words(&mut self) -> Result<String, String> {
        let (mut text, mut depth) = (String::new(), 1_u32);
        while depth > 0 {
            match self.event()? {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                Event::Text(part) => text.push_str(&part),
                Event::CData(part) => text.push_str(&part),
                Event::GeneralRef(reference) => text.push_str(&character(&reference)?),
                Event::Eof => return Err(BREAKS_OFF.to_owned()),
                _ => {}
            }
        }
        if text.chars().all(is_allowed) {
            Ok(text.trim().to_owned())
        } else {
            Err("it has a character that XML does not have".to_owned())
        }
    }

    pub(super) fn skip(&mut self) -> Result<(), String> {
        let mut depth = 1_u32;
        while depth > 0 {
            match self.event()? {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                Event::Eof => return Err(BREAKS_OFF.to_owned()),
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn position(&self) -> usize {
        self.base + self.reader.buffer_position() as usize
    }

    pub(super) fn event(&mut self) -> Result<Event<'t>, String> {
        self.reader.read_event().map_err(|error| error.to_string())
    }
}
