//! Documents that are kept one after the other in an unnamed file, so that any number of them needs the memory of one
//! (B9).

use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::fs::FileExt as _,
    path::Path,
    sync::Arc,
};

use http::HeaderMap;
use instep_net::Validators;
use resourcesync::{DateTime, Limits, Uri};

use super::{
    Document, DocumentError, Download,
    spool::{DocumentBytes, Stretch},
};

/// A file of documents. Only the newest clone may get further documents, because each clone has its own end.
#[derive(Clone, Debug)]
pub(crate) struct DocumentFile {
    file: Arc<File>,
    end: u64,
    limits: Limits,
}

impl DocumentFile {
    /// Returns an empty file without a name, in this folder, for documents with the limits of one of them.
    pub(crate) fn create(folder: &Path, like: &Document) -> io::Result<Self> {
        Ok(Self { file: Arc::new(tempfile::tempfile_in(folder)?), end: 0, limits: like.limits })
    }

    /// Appends a document to the file, unless it is there already. From then on its bytes are read from this file.
    pub(crate) fn keep(&mut self, document: &mut Document) -> io::Result<Stretch> {
        if let DocumentBytes::Stretch(file, stretch) = &document.content
            && Arc::ptr_eq(file, &self.file)
        {
            return Ok(*stretch);
        }
        let mut bytes = document.content.open_coded();
        let mut buffer = vec![0; 64 << 10];
        let mut stretch = Stretch { start: self.end, end: self.end };
        loop {
            let read = bytes.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            self.file.write_all_at(&buffer[..read], stretch.end)?;
            stretch.end += read as u64;
        }
        self.end = stretch.end;
        document.content = DocumentBytes::Stretch(Arc::clone(&self.file), stretch);
        Ok(stretch)
    }

    /// Returns the document at a place, with its metadata.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn get(
        &self,
        place: Stretch,
        uri: Uri,
        date: Option<DateTime>,
    ) -> Result<Document, DocumentError> {
        let content = DocumentBytes::Stretch(Arc::clone(&self.file), place);
        let (headers, validators) = (HeaderMap::new(), Validators::default());
        let download = Download { uri, headers, validators, content, limits: self.limits };
        Ok(Document { date, ..download.document()? })
    }
}

#[cfg(test)]
mod tests {
    use instep_net::{Client, HttpOptions, Scope};

    use super::*;
    use crate::documents::Documents;

    #[test]
    fn b9_documents_that_are_kept_together_are_read_as_they_came() {
        let folder = tempfile::tempdir().unwrap();
        let client = HttpOptions::new(Scope::for_source("http://example.com/").unwrap());
        let documents = Documents::new(Client::new(client).unwrap(), folder.path());
        let uri = Uri::parse("http://example.com/list.xml").unwrap();
        let text = |entries: usize| {
            let entries: String =
                (0..entries).map(|n| format!("<url><loc>http://e.com/{n}</loc></url>")).collect();
            format!("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{entries}</urlset>")
        };
        let [mut small, mut large] =
            [3, 60_000].map(|entries| documents.keep(&uri, text(entries).as_bytes()).unwrap());
        let mut file = DocumentFile::create(folder.path(), &small).unwrap();
        let places = [file.keep(&mut small).unwrap(), file.keep(&mut large).unwrap()];
        assert_eq!(file.keep(&mut small).unwrap(), places[0], "it is there already");
        assert_eq!(places[0].end, places[1].start);
        for (place, entries) in places.into_iter().zip([3, 60_000]) {
            let document = file.get(place, uri.clone(), small.date).unwrap();
            assert_eq!(document.for_each(|_| {}).unwrap(), entries);
        }
    }
}
