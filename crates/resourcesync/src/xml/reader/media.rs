//! The images and videos that a page of a site shows.

use std::io::BufRead;

use super::{DocumentReader, content::LEAF_DEPTH, element::Element, events::ReadStep};
use crate::{
    document::Entry,
    error::{ReadError, SyntaxErrorKind},
    value::Uri,
};

impl<R: BufRead> DocumentReader<R> {
    /// Reads the places of an image or a video of a page, and skips its other elements.
    pub(super) fn read_media(&mut self, entry: &mut Entry, empty: bool) -> Result<(), ReadError> {
        let mut open = !empty;
        while open {
            match self.step(LEAF_DEPTH)? {
                None => return Err(self.syntax(SyntaxErrorKind::Truncated)),
                Some(ReadStep::End) => open = false,
                Some(ReadStep::Text) => {}
                Some(ReadStep::Start { kind: Element::MediaLoc, empty }) => {
                    self.read_text(empty, LEAF_DEPTH + 1)?;
                    self.media_loc(entry);
                }
                Some(ReadStep::Start { empty, .. }) => {
                    self.skip(LEAF_DEPTH + 1, empty)?;
                }
            }
        }
        Ok(())
    }

    /// Takes the text as the place of an image or a video, resolved as `loc` is.
    fn media_loc(&mut self, entry: &mut Entry) {
        let text = std::mem::take(&mut self.text);
        let place = Uri::parse(text.trim_ascii());
        let place = place.or_else(|error| self.repair(text.trim_ascii(), &error, "GEN-14").ok_or(error));
        if let Ok(uri) = place
            && self.has_room(entry.media.len())
        {
            entry.media.push(uri);
        }
        self.text = text;
    }
}
