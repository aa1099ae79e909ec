//! The number of a set in the catalogue.

use resourcesync::DateTime;

use super::published;
use crate::{
    Error, SetOptions,
    catalogue::{Catalogue, NamedValue, Snapshot},
    records::{ARCHIVE, PLACING, PUBLISHED, SETS},
};

/// Sorts the sets by their numbers: each keeps its number in any order of the configuration; a new set takes a free
/// one. If sets were removed, those behind them may move up, and their lists begin anew.
pub(super) fn number(sets: &mut Vec<SetOptions>, catalogue: &Catalogue) -> Result<(), Error> {
    let snapshot = catalogue.snapshot()?;
    let kept = SETS.read(&snapshot)?.unwrap_or_default();
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
        let mut values = lists_begun_anew(&names, &kept, &snapshot, catalogue.now())?;
        values.push(SETS.write(&names));
        catalogue.set_meta(values)?;
    }
    Ok(())
}

/// Returns the records with which the lists of published sets begin anew that have another number than before. Changes are
/// recorded with the numbers of their sets, so that a list which is written once more would have those of the set that had
/// the number then.
fn lists_begun_anew(
    names: &[String],
    kept: &[String],
    snapshot: &Snapshot,
    now: DateTime,
) -> Result<Vec<NamedValue>, Error> {
    let mut values = Vec::new();
    // A catalogue of an early version keeps no numbers: its sets are in the order of the configuration.
    if kept.is_empty() {
        return Ok(values);
    }
    let before = published::load(snapshot)?;
    let mut published = before.published;
    for (number, name) in names.iter().enumerate() {
        if kept.get(number) != Some(name)
            && let Some(set) = published.sets.get_mut(name)
        {
            published::begin_anew(set, now, snapshot.head().sequence);
            values.push(ARCHIVE.forget_part(name));
        }
    }
    if values.is_empty() {
        return Ok(values);
    }
    if before.repair {
        // With another mark than that of the next publication each document is written again.
        let base = published.written_for.split(' ').next().unwrap_or_default();
        published.written_for = format!("{base} interrupted");
    }
    values.extend([PUBLISHED.write(&published), PLACING.forget()]);
    Ok(values)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{MaxDeletions, NoMonitor, PublishOptions, publish};

    #[test]
    fn o821_a_set_that_gets_the_number_of_another_one_begins_its_lists_anew() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.org/");
        let set = |kind: &str| {
            let mut set = SetOptions::folder(folder.path());
            set.name = kind.to_owned();
            set.include = vec![format!("*.{kind}")];
            set
        };
        options.sets = ["txt", "pdf"].map(set).into();
        for text in ["one", "two"] {
            for name in ["a.txt", "b.pdf"] {
                fs::write(folder.path().join(name), text).unwrap();
            }
            publish(&options, &NoMonitor).unwrap();
        }
        options.sets.remove(0);
        options.guard.most = MaxDeletions::Percent(100);
        options.guard.allow_empty = true;
        let list =
            |name: &str| fs::read_to_string(folder.path().join("resourcesync/pdf").join(name)).unwrap();
        // The number that it has now stays.
        for _ in 0..2 {
            publish(&options, &NoMonitor).unwrap();
            let index = list("changelist.xml");
            assert!(
                index.contains("changelist-000002.xml") && !index.contains("changelist-000001.xml"),
                "{index}"
            );
        }
        // Nor has it the changes of the other set from before.
        assert!(!list("changelist-000002.xml").contains("\"updated\""));
        assert!(list("resourcelist.xml").contains("http://example.org/b.pdf"));
    }
}
