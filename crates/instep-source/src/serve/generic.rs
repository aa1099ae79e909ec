//! Generic URIs: which of several resources answers (§14.3; RFC 9110 §12). PURE.

use http::{HeaderMap, header};
use resourcesync::MediaType;

use crate::{
    Error, SetOptions,
    content::{MediaTypes, Pattern},
};

/// The generic URIs of a Source.
#[derive(Debug)]
pub(crate) struct Generics(Vec<Generic>);

#[derive(Debug)]
struct Generic {
    pattern: Pattern,
    specific: Vec<String>,
    default: bool,
}

/// A resource that may answer.
#[derive(Debug, PartialEq)]
pub(crate) struct GenericCandidate {
    /// Its path below the base URL.
    pub(crate) path: String,
    /// `true` if the client accepts it.
    pub(crate) acceptable: bool,
}

impl Generics {
    /// Reads the generic URIs of all sets.
    ///
    /// # Errors
    /// If a pattern cannot be read.
    pub(crate) fn new(sets: &[SetOptions]) -> Result<Self, Error> {
        let rules = sets.iter().flat_map(|set| &set.generics);
        let generic = |rule: &crate::GenericRule| {
            let pattern = Pattern::new("generics", &rule.generic)?;
            let specific = rule.specific.iter().map(|path| path.trim_start_matches('/').to_owned()).collect();
            Ok(Generic { pattern, specific, default: rule.default })
        };
        rules.map(generic).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the resources that a path may represent, in the client's order of preference; equal ones in the operator's
    /// order.
    pub(crate) fn candidates(&self, path: &str, headers: &HeaderMap) -> Vec<GenericCandidate> {
        let found = self.0.iter().find_map(|generic| Some((generic, generic.pattern.matches(path)?)));
        let Some((generic, part)) = found else { return Vec::new() };
        let accept = Accept::read(headers);
        let weighed = generic.specific.iter().map(|path| {
            let path = path.replacen('*', part, 1);
            (accept.quality(&MediaTypes::default().of(path.as_bytes())), path)
        });
        let mut weighed: Vec<_> = weighed.collect();
        weighed.sort_by_key(|(quality, _)| std::cmp::Reverse(*quality));
        let candidate =
            |(quality, path)| GenericCandidate { path, acceptable: quality > 0 || generic.default };
        weighed.into_iter().map(candidate).collect()
    }
}

/// The media ranges that a client accepts, with their quality in thousandths.
struct Accept(Vec<(String, u16)>);

impl Accept {
    fn read(headers: &HeaderMap) -> Self {
        let fields = headers.get_all(header::ACCEPT).iter().filter_map(|field| field.to_str().ok());
        let ranges = fields.flat_map(|field| field.split(',')).filter(|range| !range.trim().is_empty());
        Self(ranges.map(range).collect())
    }

    /// Returns the quality of a media type in thousandths, by the most specific range that matches; 1,000 for each if the
    /// client states no preference (RFC 9110 §12.5.1).
    fn quality(&self, media_type: &MediaType) -> u16 {
        if self.0.is_empty() {
            return 1_000;
        }
        let essence = media_type.essence().to_ascii_lowercase();
        let kind = essence.split('/').next().unwrap_or_default();
        let ranges = [essence.clone(), format!("{kind}/*"), "*/*".to_owned()];
        let quality = |wanted: &String| self.0.iter().find(|(range, _)| range == wanted).map(|(_, it)| *it);
        ranges.iter().find_map(quality).unwrap_or_default()
    }
}

fn range(text: &str) -> (String, u16) {
    let mut parts = text.split(';').map(str::trim);
    let range = parts.next().unwrap_or_default().to_ascii_lowercase();
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    let weight = weight.and_then(|weight| weight.parse::<f32>().ok()).unwrap_or(1.0);
    (range, (weight.clamp(0.0, 1.0) * 1_000.0) as u16)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::GenericRule;

    fn chosen(accept: &'static str) -> Vec<(String, bool)> {
        let mut set = SetOptions::new();
        let specific = ["res*.html", "res*.pdf", "res*.json"].map(str::to_owned);
        set.generics = vec![GenericRule::new("res*", specific)];
        let mut headers = HeaderMap::new();
        if !accept.is_empty() {
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        }
        let candidates = Generics::new(&[set]).unwrap().candidates("res1", &headers);
        candidates.into_iter().map(|candidate| (candidate.path, candidate.acceptable)).collect()
    }

    #[test]
    fn the_client_chooses_by_quality_and_the_operator_by_order() {
        for (accept, first, acceptable) in [
            ("", "res1.html", 3),
            ("*/*", "res1.html", 3),
            ("application/pdf", "res1.pdf", 1),
            ("text/html;q=0.5, application/*;q=0.8", "res1.pdf", 3),
            ("application/json, */*;q=0.1", "res1.json", 3),
            ("application/*;q=0.3, application/pdf;q=0", "res1.json", 1),
            ("image/png", "res1.html", 0),
        ] {
            let candidates = chosen(accept);
            assert_eq!(candidates[0].0, first, "{accept}");
            assert_eq!(candidates.iter().filter(|(_, it)| *it).count(), acceptable, "{accept}");
        }
    }
}
