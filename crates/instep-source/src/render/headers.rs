//! The headers of a document. They follow from its name, with any server.

/// Returns the `Cache-Control` of a document.
pub(crate) fn cache_control(name: &[u8]) -> &'static str {
    if is_immutable(name) {
        "public, max-age=31536000, immutable"
    } else {
        "public, max-age=0, must-revalidate"
    }
}

/// Returns the media type of a document.
pub(crate) fn media_type(name: &[u8]) -> &'static str {
    match name.rsplit(|byte| *byte == b'.').next() {
        Some(b"xml" | b"well-known/resourcesync") => "application/xml",
        Some(b"xsl") => "application/xslt+xml",
        Some(b"zip") => "application/zip",
        Some(b"html") => "text/html; charset=utf-8",
        Some(b"txt") => "text/plain; charset=utf-8",
        Some(b"gz") => "application/gzip",
        Some(b"json-patch") => "application/json-patch+json",
        Some(b"xml-patch") => "application/patch-ops-error+xml",
        Some(b"vcdiff") => "application/vcdiff",
        _ => "application/octet-stream",
    }
}

/// Returns `true` if a name carries the moment of its snapshot (`20261121T140000`), or that of a patch the digest of its
/// bytes: then other bytes get another name.
pub(crate) fn is_immutable(name: &[u8]) -> bool {
    const MOMENT: usize = "20261121T140000".len();
    // A folder may have the name of a set, with any numbers.
    let name = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
    let extension = name.rsplit(|byte| *byte == b'.').next();
    let is_patch = matches!(extension, Some(b"json-patch" | b"xml-patch" | b"vcdiff"));
    is_patch
        || name.windows(MOMENT).any(|window| {
            window.iter().enumerate().all(|(place, byte)| match place {
                8 => *byte == b'T',
                _ => byte.is_ascii_digit(),
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o819_names_tell_type_and_lifetime_in_any_folder() {
        let table: [(&[u8], &str, bool); 8] = [
            (b".well-known/resourcesync", "application/xml", false),
            (b"resourcesync/resourcelist.xml", "application/xml", false),
            (b"resourcesync/resourcelist-20261121T140000.000001Z-0001.xml", "application/xml", true),
            (b"resourcesync/changelist-000001.xml", "application/xml", false),
            (b"resourcesync/dump-20261121T140000Z-0001.zip", "application/zip", true),
            (b"resourcesync/patches/000001/000000101-aa.vcdiff", "application/vcdiff", true),
            (b"resourcesync/20261121T140000/changelist.xml", "application/xml", false),
            (b"robots.txt", "text/plain; charset=utf-8", false),
        ];
        for (name, expected, immutable) in table {
            assert_eq!((media_type(name), is_immutable(name)), (expected, immutable));
        }
    }
}
