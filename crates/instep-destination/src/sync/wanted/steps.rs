//! How a version came to be: by a patch of the one before it, which came by a patch of another (§14.3).

use serde::{Deserialize, Serialize};

use super::Extra;
use crate::state::Wanted;

/// Most versions on the way to the one that is wanted: each costs a request.
const MOST: usize = 8;

/// A version on the way to the one that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// Its digests, as a `hash` attribute has them.
    pub(crate) hash: String,
    /// Patches against the version before it, each with its media type; none where the way begins with it.
    pub(crate) patches: Vec<(String, String)>,
}

/// A version that comes after another one that was promised before: what its patch needs, the way to that one leads to.
pub(crate) fn following(mut wanted: Wanted, earlier: &Wanted) -> Wanted {
    let mut extra = Extra::of(&wanted);
    if extra.patches.is_empty() {
        return wanted;
    }
    let Extra { steps, patches, .. } = Extra::of(earlier);
    let is_said_twice = earlier.facts.digests.agrees_with(&wanted.facts.digests) == Some(true);
    extra.steps = if is_said_twice || !patches.is_empty() { steps } else { Vec::new() };
    if !is_said_twice {
        extra.steps.push(Step { hash: earlier.facts.digests.to_string(), patches });
    }
    let surplus = extra.steps.len().saturating_sub(MOST);
    extra.steps.drain(..surplus);
    if let Some(first) = extra.steps.first_mut().filter(|_| surplus > 0) {
        first.patches.clear();
    }
    wanted.extra = extra.into_text();
    wanted
}

#[cfg(test)]
mod tests {
    use resourcesync::{Digests, Uri};

    use super::*;

    /// A version of a number, with a patch of that number or none.
    fn version(number: u8, has_patch: bool) -> Wanted {
        let mut wanted = Wanted::new(Uri::parse("http://h/a").unwrap());
        wanted.facts.digests = Digests::parse(&format!("md5:{number:032x}"), |_| {});
        let patch = (format!("http://h/a.{number}"), "application/vcdiff".to_owned());
        let patches = Vec::from_iter(has_patch.then_some(patch));
        wanted.extra = Extra { patches, ..Extra::default() }.into_text();
        wanted
    }

    /// The numbers of the versions on the way to the last of these, and of their patches.
    fn way(versions: impl IntoIterator<Item = Wanted>) -> Vec<(u8, Option<u8>)> {
        let last = versions.into_iter().reduce(|earlier, next| following(next, &earlier)).unwrap();
        let number = |text: &str, radix| u8::from_str_radix(&text[text.len() - 2..].replace('.', "0"), radix);
        let step = |Step { hash, patches }: Step| {
            (number(&hash, 16).unwrap(), patches.first().map(|(uri, _)| number(uri, 10).unwrap()))
        };
        Extra::of(&last).steps.into_iter().map(step).collect()
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
