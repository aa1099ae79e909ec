//! A page of a listing as services send it: XML to names.

use quick_xml::{
    Reader,
    escape::resolve_predefined_entity,
    events::{BytesRef, Event},
};
use resourcesync::DateTime;

use crate::ListedObject;

/// A part of a listing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ListedPage {
    /// The objects, named by their complete keys.
    pub(super) objects: Vec<ListedObject>,
    /// The token that leads to the next part; `None` on the last one.
    next: Option<String>,
    /// `true` if the service says that there are more objects.
    has_more: bool,
}

/// The elements of an object, as far as they have come.
#[derive(Default)]
struct ListedElements {
    key: Option<String>,
    length: Option<u64>,
    etag: Option<String>,
    modified: Option<i64>,
    keeps_sha256: Option<bool>,
}

impl ListedPage {
    /// Reads a page. Keys are taken as they are: a service may use any character in them.
    ///
    /// # Errors
    /// A sentence that describes the fault.
    pub(super) fn parse(xml: &str) -> Result<Self, String> {
        let mut reader = Reader::from_str(xml);
        reader.config_mut().expand_empty_elements = true;
        let (mut page, mut object) = (Self::default(), None);
        let mut text = String::new();
        let mut is_whole = false;
        loop {
            match reader.read_event().map_err(|error| error.to_string())? {
                Event::Start(tag) => {
                    if tag.local_name().as_ref() == "Contents" {
                        object = Some(ListedElements::default());
                    }
                    text.clear();
                }
                Event::Text(part) => text.push_str(&part.xml10_content()),
                Event::CData(part) => text.push_str(&part),
                Event::GeneralRef(reference) => text.push_str(&resolved(&reference)?),
                Event::End(tag) => {
                    match (tag.local_name().as_ref(), &mut object) {
                        ("Contents", _) => {
                            page.objects.extend(object.take().map(ListedElements::finish).transpose()?)
                        }
                        ("ListBucketResult", None) => is_whole = true,
                        ("NextContinuationToken", None) => page.next = Some(text.clone()),
                        ("IsTruncated", None) => page.has_more = text.trim() == "true",
                        (name, Some(object)) => object.take(name, &text)?,
                        (_, None) => {}
                    }
                    text.clear();
                }
                Event::Eof if is_whole => return Ok(page),
                Event::Eof => return Err("it is not a complete list of objects".to_owned()),
                _ => {}
            }
        }
    }

    /// Returns the token of the part after the one that `former` led to; `None` if that was the last one.
    ///
    /// # Errors
    /// If there are more objects and nothing new leads to them: taken for the last part, this one would make all later
    /// objects deleted ones.
    pub(super) fn next_after(self, former: Option<&str>) -> Result<Option<String>, String> {
        let leads_on = match &self.next {
            Some(next) => former != Some(next.as_str()),
            None => !self.has_more,
        };
        leads_on
            .then_some(self.next)
            .ok_or_else(|| "more objects follow, and no token leads to them".to_owned())
    }
}

fn resolved(reference: &BytesRef<'_>) -> Result<String, String> {
    match reference.resolve_char_ref().map_err(|error| error.to_string())? {
        Some(character) => Ok(character.to_string()),
        None => resolve_predefined_entity(reference)
            .map(str::to_owned)
            .ok_or_else(|| format!("it has an unknown entity &{};", &**reference)),
    }
}

impl ListedElements {
    fn take(&mut self, name: &str, text: &str) -> Result<(), String> {
        match name {
            "Key" => self.key = Some(text.to_owned()),
            "Size" => self.length = Some(text.parse().map_err(|_| format!("{text:?} is not a length"))?),
            "ETag" => self.etag = Some(text.trim_matches('"').to_owned()).filter(|etag| !etag.is_empty()),
            "LastModified" => {
                let time = DateTime::parse(text).map_err(|error| format!("{text:?}: {error}"))?;
                self.modified = Some(time.unix_micros());
            }
            // Each algorithm has its own element.
            "ChecksumAlgorithm" => {
                self.keeps_sha256 = Some(self.keeps_sha256 == Some(true) || text == "SHA256");
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(self) -> Result<ListedObject, String> {
        let missing = |what| format!("an object has no {what}");
        let name = self.key.ok_or_else(|| missing("Key"))?;
        let length = self.length.ok_or_else(|| missing("Size"))?;
        let modified = self.modified.ok_or_else(|| missing("LastModified"))?;
        let Self { etag, keeps_sha256, .. } = self;
        Ok(ListedObject { name, length, etag, modified, keeps_sha256, md5: None })
    }
}

#[cfg(test)]
mod tests {
    use super::ListedPage;

    fn page(inner: &str) -> Result<ListedPage, String> {
        let namespace = "http://s3.amazonaws.com/doc/2006-03-01/";
        ListedPage::parse(&format!(
            "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"{namespace}\">{inner}</ListBucketResult>"
        ))
    }

    fn object(key: &str) -> String {
        format!(
            "<Contents>\n <Key>{key}</Key><LastModified>2026-11-23T01:02:03.000Z</LastModified><Size>5</Size>
             <ETag>&quot;abc&quot;</ETag><Owner><ID>7</ID></Owner><StorageClass>STANDARD</StorageClass></Contents>"
        )
    }

    #[test]
    fn each_key_is_read_as_it_is() {
        for (written, key) in [
            ("a b.txt", "a b.txt"),
            ("a%20b", "a%20b"),
            ("a+b", "a+b"),
            ("a//b", "a//b"),
            ("/a", "/a"),
            ("a/../b", "a/../b"),
            ("folder/", "folder/"),
            ("a&amp;b&lt;c&gt;", "a&b<c>"),
            ("a?b#c", "a?b#c"),
            ("line&#10;break&#x1;", "line\nbreak\u{1}"),
            ("caf\u{e9}/\u{fffd}", "caf\u{e9}/\u{fffd}"),
            (" both ", " both "),
        ] {
            let page = page(&object(written)).unwrap();
            assert_eq!(page.objects[0].name, key, "{written}");
        }
    }

    #[test]
    fn a_page_has_objects_and_leads_to_the_next() {
        let checksums =
            "<ChecksumAlgorithm>CRC32</ChecksumAlgorithm><ChecksumAlgorithm>SHA256</ChecksumAlgorithm>";
        let with = object("b").replace("<Size>", &format!("{checksums}<Size>"));
        let crc = object("c").replace("<Size>", "<ChecksumAlgorithm>CRC64NVME</ChecksumAlgorithm><Size>");
        let next = "<IsTruncated>true</IsTruncated><NextContinuationToken>1&amp;2=</NextContinuationToken>";
        let page = page(&format!("{next}{}{with}{crc}", object("a"))).unwrap();
        assert_eq!(page.next.as_deref(), Some("1&2="));
        let first = &page.objects[0];
        assert_eq!((first.length, first.etag.as_deref()), (5, Some("abc")));
        assert_eq!(first.modified, 1_795_395_723_000_000);
        let kept: Vec<_> = page.objects.iter().map(|object| object.keeps_sha256).collect();
        assert_eq!(kept, [None, Some(true), Some(false)]);
    }

    #[test]
    fn o440_a_part_that_is_not_the_last_one_and_leads_to_no_other_is_no_end_of_a_listing() {
        let next = |inner: &str, former| page(inner).unwrap().next_after(former);
        let more = "<IsTruncated>true</IsTruncated>";
        // Services that know only the first version of listings answer so.
        for cut in [more.to_owned(), format!("<Marker/><NextMarker>a</NextMarker>{more}{}", object("a"))] {
            assert!(next(&cut, None).is_err(), "{cut}");
        }
        let token = format!("{more}<NextContinuationToken>1</NextContinuationToken>");
        assert_eq!(next(&token, None), Ok(Some("1".to_owned())));
        assert!(next(&token, Some("1")).is_err(), "it would be requested for ever");
        assert_eq!(next(&format!("<IsTruncated>false</IsTruncated>{}", object("a")), Some("1")), Ok(None));
    }

    #[test]
    fn what_is_no_listing_is_none_of_objects() {
        assert_eq!(page("").unwrap(), ListedPage::default());
        assert!(ListedPage::parse("<html><body>Sign in</body></html>").is_err());
        assert!(ListedPage::parse("").is_err());
        for broken in
            ["<Contents><Key>a</Key></Contents>", "<Contents><Size>x</Size></Contents>", "<Contents>"]
        {
            assert!(page(broken).is_err(), "{broken}");
        }
    }
}
