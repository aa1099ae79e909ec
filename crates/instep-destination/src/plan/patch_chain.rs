//! Chains of patches: each patch makes a version from the one before, so that several lead from the held version to the
//! desired one (§14.3).

use super::{Desired, PatchStep};

/// The most versions on the way to the desired one. Each costs a request.
const MOST: usize = 8;

/// Returns a desired state that follows an earlier one. Its way begins with that of the earlier one, because its patch
/// applies to no other version.
pub(crate) fn following(mut desired: Desired, earlier: &Desired) -> Desired {
    if desired.retrieval().patches.is_empty() {
        return desired;
    }
    let (before, mut retrieval) = (earlier.retrieval(), desired.retrieval().clone());
    let is_same_version = earlier.metadata.digests.agrees_with(&desired.metadata.digests) == Some(true);
    let goes_on = is_same_version || !before.patches.is_empty();
    retrieval.steps = if goes_on { before.steps.clone() } else { Vec::new() };
    if !is_same_version {
        let (hash, patches) = (earlier.metadata.digests.to_string(), before.patches.clone());
        retrieval.steps.push(PatchStep { hash, patches });
    }
    // A copy that holds an earlier version than these steps fetches the complete resource.
    let surplus = retrieval.steps.len().saturating_sub(MOST);
    retrieval.steps.drain(..surplus);
    if let Some(first) = retrieval.steps.first_mut().filter(|_| surplus > 0) {
        // The patches of the first step apply to a version that was just dropped.
        first.patches.clear();
    }
    desired.set_retrieval(retrieval);
    desired
}

#[cfg(test)]
mod tests {
    use resourcesync::{Digests, Uri};

    use super::*;
    use crate::plan::Retrieval;

    /// Returns the version with a number, with a patch of that number, if any.
    fn version(number: u8, has_patch: bool) -> Desired {
        let mut desired = Desired::new(Uri::parse("http://h/a").unwrap());
        desired.metadata.digests = Digests::parse(&format!("md5:{number:032x}"), |_| {});
        let patch = (format!("http://h/a.{number}"), "application/vcdiff".to_owned()).into();
        let patches = Vec::from_iter(has_patch.then_some(patch));
        desired.set_retrieval(Retrieval { patches, ..Retrieval::default() });
        desired
    }

    /// Returns the numbers of the versions on the way to the last of these, and of their patches.
    fn way(versions: impl IntoIterator<Item = Desired>) -> Vec<(u8, Option<u8>)> {
        let last = versions.into_iter().reduce(|earlier, next| following(next, &earlier)).unwrap();
        let number = |text: &str, radix| u8::from_str_radix(&text[text.len() - 2..].replace('.', "0"), radix);
        let step = |PatchStep { hash, patches }: &PatchStep| {
            (number(hash, 16).unwrap(), patches.first().map(|patch| number(&patch.href, 10).unwrap()))
        };
        last.retrieval().steps.iter().map(step).collect()
    }

    #[test]
    fn each_patch_leads_on_from_the_one_before() {
        assert_eq!(way([version(1, true)]), []);
        assert_eq!(way([version(1, true), version(2, true), version(3, true)]), [(1, Some(1)), (2, Some(2))]);
    }

    #[test]
    fn the_way_begins_where_a_version_came_whole_and_ends_where_the_last_one_does() {
        let whole = [version(1, true), version(2, false), version(3, true), version(4, true)];
        assert_eq!(way(whole), [(2, None), (3, Some(3))]);
        assert_eq!(way([version(1, true), version(2, false)]), []);
    }

    #[test]
    fn what_is_said_twice_is_one_step_and_a_long_way_is_cut_at_its_beginning() {
        assert_eq!(way([version(1, true), version(2, true), version(2, true)]), [(1, Some(1))]);
        let long = way((1..=12).map(|number| version(number, true)));
        assert_eq!((long.len(), long[0], long[7]), (MOST, (4, None), (11, Some(11))));
    }
}
