//! Detection of a login page or captive portal in front of the Source (D31).

use std::collections::BTreeMap;

use instep_net::{Client, Origin, Request};
use resourcesync::{MediaType, Uri};

use crate::{store::Staged, transfer::fetch::Mismatch};

/// The size up to which two bodies are compared. Larger bodies do not count as equal: pages with all their images and
/// scripts have some MiB, and each body is received for the comparison alone.
const COMPARED_BYTES: usize = 8 << 20;

/// Counts answers, to detect a login page: one wrong body that is returned for most requests.
#[derive(Debug, Default)]
pub(crate) struct LoginPage {
    answers: u64,
    wrong: BTreeMap<String, WrongBody>,
    /// The places that redirects led to, each with the number of resources.
    targets: BTreeMap<String, u64>,
}

/// A body that was returned instead of the expected one.
#[derive(Debug, Default)]
struct WrongBody {
    count: u64,
    /// The first two resources for which it was returned.
    samples: Vec<Uri>,
    /// `true` if all were the same body, by its digest or by comparing two of them; `None` before this is known.
    is_one: Option<bool>,
}

impl LoginPage {
    /// The number of answers that are needed before a page is detected.
    const ENOUGH: u64 = 20;
    /// The most different wrong bodies that are counted.
    const BODIES: usize = 64;
    /// The most resources that redirects may lead to one place. A page may have several names.
    const SAME_TARGET: u64 = 3;
    /// The most different targets of redirects that are counted.
    const TARGETS: usize = 4_096;

    /// Counts a right answer.
    pub(crate) fn right(&mut self) {
        self.answers += 1;
    }

    /// Counts a wrong answer. A wrong length alone does not distinguish one body from others (A13).
    pub(crate) fn wrong(&mut self, uri: &Uri, mismatch: &Mismatch) {
        match mismatch {
            Mismatch::Length { found, .. } => self.count(uri, format!("{found} bytes"), None),
            Mismatch::Digest { found, .. } => self.count(uri, found.to_string(), Some(true)),
            Mismatch::Moment { .. } => self.right(),
        }
    }

    /// Counts a resource that came from the target of a redirect, and whose entry has neither length nor digest.
    /// Returns `true` if several others came from there. A login page may get the requested URI as a query, so HTML is
    /// also recognised by the rest of its URI together with its digest.
    pub(crate) fn is_common_target(
        &mut self,
        target: &Uri,
        media_type: Option<&str>,
        staged: &Staged,
    ) -> bool {
        let target = target.as_str();
        let is_html = media_type.is_some_and(|text| MediaType::new(text).essence() == "text/html");
        let page = target.split_once('?').filter(|_| is_html).zip(staged.digests.strongest());
        let page = page.map(|((place, _), digest)| format!("{place} {digest}"));
        let mut most = 0;
        for place in [Some(target.to_owned()), page].into_iter().flatten() {
            if self.targets.len() >= Self::TARGETS {
                self.targets.retain(|_, count| *count > 1);
            }
            if self.targets.len() < Self::TARGETS || self.targets.contains_key(&place) {
                let count = self.targets.entry(place).or_default();
                *count += 1;
                most = most.max(*count);
            }
        }
        most > Self::SAME_TARGET
    }

    /// Counts a page that was returned instead of a resource whose entry has neither length nor digest.
    pub(crate) fn page(&mut self, uri: &Uri, length: u64) {
        self.count(uri, format!("{length} bytes of HTML"), None);
    }

    fn count(&mut self, uri: &Uri, body: String, is_one: Option<bool>) {
        self.answers += 1;
        if self.wrong.len() >= Self::BODIES && !self.wrong.contains_key(&body) {
            return;
        }
        let wrong = self.wrong.entry(body).or_insert_with(|| WrongBody { is_one, ..WrongBody::default() });
        wrong.count += 1;
        if wrong.samples.len() < 2 {
            wrong.samples.push(uri.clone());
        }
    }

    fn most_wrong(&self) -> Option<(&String, &WrongBody)> {
        let is_most = |count: u64| self.answers >= Self::ENOUGH && count * 2 > self.answers;
        self.wrong.iter().find(|(_, wrong)| is_most(wrong.count) && wrong.is_one != Some(false))
    }

    /// Returns `true` if [`LoginPage::compare`] has something to compare. Usually it has not, and the caller need not
    /// prepare for its requests.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.most_wrong().is_some_and(|(_, wrong)| wrong.is_one.is_none())
    }

    /// Requests two of the resources whose wrong answers have the same length, and compares the bodies. If they are
    /// equal, there is one page.
    pub(crate) async fn compare(&mut self, client: &Client) {
        let Some((body, wrong)) = self.most_wrong().filter(|(_, wrong)| wrong.is_one.is_none()) else {
            return;
        };
        let body = body.clone();
        let is_one = match &wrong.samples[..] {
            [one, other] => match (digest_of(client, one).await, digest_of(client, other).await) {
                (Some(one), Some(other)) => one == other,
                _ => false,
            },
            _ => false,
        };
        if let Some(wrong) = self.wrong.get_mut(&body) {
            wrong.is_one = Some(is_one);
        }
    }

    /// Returns `true` if a login page was detected.
    pub(crate) fn is_recognised(&self) -> bool {
        self.recognised().is_some()
    }

    /// Returns the value that identifies the body of the login page; `None` if there is none.
    pub(crate) fn recognised(&self) -> Option<&str> {
        self.most_wrong().filter(|(_, wrong)| wrong.is_one == Some(true)).map(|(body, _)| body.as_str())
    }
}

/// Returns the digest of the body that is returned for a resource; `None` if there is none, or it is too long.
async fn digest_of(client: &Client, uri: &Uri) -> Option<blake3::Hash> {
    let mut request = Request::get(uri.clone());
    request.speaker = Origin::parse(uri.as_str()).ok();
    let mut response = client.send(&request).await.ok()?.successful().ok()?;
    let (mut hasher, mut length) = (blake3::Hasher::new(), 0);
    while let Some(data) = response.body.chunk().await.ok()? {
        length += data.len();
        if length > COMPARED_BYTES {
            return None;
        }
        hasher.update(&data);
    }
    Some(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use resourcesync::{Algorithm, Digest};

    use super::*;

    fn uri() -> Uri {
        Uri::parse("http://example.com/a").unwrap()
    }

    #[test]
    fn one_wrong_body_for_most_answers_is_a_login_page_and_many_different_ones_are_not() {
        let digest =
            |number: u64| Box::new(Digest::new(Algorithm::Sha256, &number.to_be_bytes().repeat(4)).unwrap());
        let (mut one, mut many) = (LoginPage::default(), LoginPage::default());
        for number in 0..LoginPage::ENOUGH {
            assert_eq!(one.recognised(), None);
            one.wrong(&uri(), &Mismatch::Digest { found: digest(7), expected: digest(100 + number) });
            many.wrong(&uri(), &Mismatch::Digest { found: digest(number), expected: digest(100) });
        }
        assert!(one.is_recognised() && !many.is_recognised());
        (0..LoginPage::ENOUGH).for_each(|_| one.right());
        assert_eq!(one.recognised(), None);
    }

    #[test]
    fn a13_bodies_of_one_length_are_not_one_body_before_they_were_compared() {
        let mut page = LoginPage::default();
        for number in 0..2 * LoginPage::ENOUGH {
            page.wrong(&uri(), &Mismatch::Length { found: 120, expected: number });
        }
        assert!(!page.is_recognised() && page.is_in_doubt());
    }
}
