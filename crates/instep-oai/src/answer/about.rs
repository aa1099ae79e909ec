//! The `about` containers of a harvested record, out of the document that keeps them. PURE.

use quick_xml::{NsReader, events::Event, name::ResolveResult};

use super::format::{OAI, check};
use crate::well_formed::{check_content, is_allowed};

/// Returns the containers one after the other, in the form for a response; `None` if a harvest did not write the
/// document: an element `record` that contains `about` elements and declares only its own namespace.
pub(super) fn about_containers(text: &str) -> Option<&str> {
    let mut reader = NsReader::from_str(text);
    reader.config_mut().check_comments = true;
    let (mut depth, mut inside) = (0_u32, None);
    loop {
        let at = reader.buffer_position() as usize;
        match reader.read_event().ok()? {
            Event::Start(tag) => {
                check(&reader, &tag)?;
                let (resolved, local) = reader.resolver().resolve_element(tag.name());
                let is_oai =
                    matches!(resolved, ResolveResult::Bound(namespace) if namespace.into_inner() == OAI);
                match depth {
                    0 => {
                        let declares_only_that =
                            tag.name().as_ref() == "record" && tag.attributes().count() == 1;
                        (is_oai && declares_only_that && inside.is_none()).then_some(())?;
                        let start = reader.buffer_position() as usize;
                        inside = Some(start..start);
                    }
                    1 => (is_oai && local.into_inner() == "about").then_some(())?,
                    _ => {}
                }
                depth += 1;
            }
            Event::Empty(tag) => {
                check(&reader, &tag)?;
                (depth > 1).then_some(())?;
            }
            Event::End(_) => {
                depth = depth.checked_sub(1)?;
                if let Some(inside) = inside.as_mut().filter(|_| depth == 0) {
                    inside.end = at;
                }
            }
            Event::DocType(_) => return None,
            Event::Text(part) if depth == 1 && !part.trim().is_empty() => return None,
            Event::Eof if depth == 0 => {
                return text
                    .get(inside?)
                    .map(str::trim)
                    .filter(|all| !all.is_empty() && all.chars().all(is_allowed));
            }
            Event::Eof => return None,
            Event::Decl(_) if at == 0 => {}
            event => check_content(&event).ok()?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::about_containers;

    #[test]
    fn what_a_harvest_keeps_comes_out_again_and_nothing_else_does() {
        let around = |inside: &str| {
            format!(
                "<?xml version=\"1.0\"?>\n<record xmlns=\"http://www.openarchives.org/OAI/2.0/\">\n{inside}</record>\n"
            )
        };
        let two = "<about><r:x xmlns:r=\"urn:r\">1 &amp; 2</r:x></about>\n<about><b xmlns=\"\"/></about>";
        assert_eq!(about_containers(&around(&format!("{two}\n"))), Some(two));
        for other in ["", "text", "<about/>", "<metadata><a/></metadata>", "<about><x:y/></about>", "<about>"]
        {
            assert_eq!(about_containers(&around(other)), None, "{other}");
        }
        assert_eq!(about_containers("<record><about><a/></about></record>"), None);
        assert_eq!(
            about_containers(
                "<record xmlns='http://www.openarchives.org/OAI/2.0/' xmlns:a='b'><about><a:a/></about></record>"
            ),
            None
        );
    }
}
