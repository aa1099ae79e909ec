//! The root element, and the metadata and links under it.

use std::io::BufRead;

use super::{DocumentReader, Next, element::Element, events::ReadStep};
use crate::{
    document::Form,
    error::{ReadError, SyntaxErrorKind},
    finding::Severity,
};

impl<R: BufRead> DocumentReader<R> {
    /// Reads up to the start tag of the root element, which determines the kind of Sitemap.
    pub(super) fn read_root(&mut self) -> Result<(), ReadError> {
        loop {
            match self.step(0)? {
                Some(ReadStep::Start { kind: Element::Root(form), empty }) => {
                    self.header.form = form;
                    self.header.places.root = self.at;
                    if empty {
                        self.expect_nothing_more()?;
                    }
                    return Ok(());
                }
                Some(ReadStep::Start { .. }) => return Err(self.syntax(SyntaxErrorKind::Truncated)),
                Some(ReadStep::Text) if self.text.trim_ascii().is_empty() => {}
                Some(_) => {
                    self.locate(self.step_start);
                    return Err(self.ill_formed("text before the root element"));
                }
                None => return Err(self.syntax(SyntaxErrorKind::Truncated)),
            }
        }
    }

    /// Reports an entry that belongs in the other kind of Sitemap.
    pub(super) fn check_entry_form(&mut self, form: Form) {
        if form == self.header.form {
            return;
        }
        let (found, expected) = match form {
            Form::List => ("url in a sitemapindex", "sitemap elements only"),
            Form::Index => ("sitemap in a urlset", "url elements only"),
        };
        self.report("GEN-13", Severity::Error, found, expected);
    }

    /// Takes the `rs:md` that was read as that of the root, unless the root has one.
    pub(super) fn root_metadata(&mut self) {
        if self.entries > 0 {
            self.report("GEN-23", Severity::Warning, "rs:md after an entry", "rs:md before the entries");
        }
        if self.header.metadata.is_some() {
            self.report("GEN-3", Severity::Error, "a second rs:md under the root", "one; the first is taken");
        } else {
            self.header.places.metadata = self.at;
            self.header.places.unreadable_time = self.attributes.unreadable_time;
            self.header.metadata = Some(std::mem::take(&mut self.attributes.metadata));
        }
    }

    /// Takes the `rs:ln` that was read as one of the root.
    pub(super) fn root_link(&mut self) {
        if self.entries > 0 {
            self.report("GEN-23", Severity::Warning, "rs:ln after an entry", "rs:ln before the entries");
        }
        if self.has_room(self.header.links.len())
            && let Some(link) = self.link()
        {
            self.header.links.push(link);
            self.header.places.links.push(self.at);
        }
    }

    /// Reads the rest of the document, which may contain only what XML allows after the root.
    pub(super) fn expect_nothing_more(&mut self) -> Result<(), ReadError> {
        self.next = Next::End;
        loop {
            match self.step(0)? {
                None => return Ok(()),
                Some(ReadStep::Text) if self.text.trim_ascii().is_empty() => {}
                Some(_) => {
                    self.locate(self.step_start);
                    return Err(self.ill_formed("content after the root element"));
                }
            }
        }
    }
}
