//! The number of a set in the catalogue.

use crate::{Error, SetOptions, catalogue::Catalogue, records::SETS};

/// Sorts the sets by their numbers: each keeps its number in any order of the configuration; a new set takes a free
/// one. If sets were removed, those behind them may move up.
pub(super) fn number(sets: &mut Vec<SetOptions>, catalogue: &Catalogue) -> Result<(), Error> {
    let kept = SETS.read(&catalogue.snapshot()?)?.unwrap_or_default();
    let (mut known, mut new): (Vec<_>, Vec<_>) = sets.drain(..).partition(|set| kept.contains(&set.name));
    let number = |set: &SetOptions| kept.iter().position(|name| *name == set.name);
    known.sort_by_key(|set| number(set));
    new.reverse();
    for set in known {
        while number(&set).is_some_and(|number| sets.len() < number) {
            let Some(new) = new.pop() else { break };
            sets.push(new);
        }
        sets.push(set);
    }
    sets.extend(new.into_iter().rev());
    let names: Vec<_> = sets.iter().map(|set| set.name.clone()).collect();
    if names != kept && !catalogue.is_beside() {
        catalogue.set_meta(vec![SETS.write(&names)])?;
    }
    Ok(())
}
