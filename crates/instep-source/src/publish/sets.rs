//! The number of a set in the catalogue.

use resourcesync::DateTime;

use super::published;
use crate::{
    Error, SetOptions,
    catalogue::{Catalogue, CatalogueMove, NamedValue, Snapshot},
    records::{ARCHIVE, PLACING, PUBLISHED, SETS, STATES_KEPT, VERSIONED},
};

/// Sorts the sets by their numbers: each keeps its number in any order of the configuration; a new set takes a free
/// one. If sets were removed, those behind them may move up, with their resources and changes.
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
    if names == kept {
        return Ok(());
    }
    let mut values = lists_begun_anew(&names, &kept, &snapshot, catalogue.now())?;
    values.push(SETS.write(&names));
    let moves = moves(&names, &kept);
    if moves.len() == kept.len() && moves.iter().all(|(before, now)| before == now) {
        catalogue.set_meta(values)?;
    } else {
        values.extend(renumbered_masks(&snapshot, &moves)?);
        catalogue.move_all(CatalogueMove::Sets(moves), values)?;
    }
    Ok(())
}

/// Sorts the sets by their numbers in the catalogue, which keeps them as they are: a set that was removed has its number, if
/// others are behind it, without content. Returns the configured sets, as a mask (O927).
pub(super) fn number_beside(sets: &mut Vec<SetOptions>, catalogue: &Catalogue) -> Result<u64, Error> {
    let kept = SETS.read(&catalogue.snapshot()?)?.unwrap_or_default();
    let (mut known, new): (Vec<_>, Vec<_>) = sets.drain(..).partition(|set| kept.contains(&set.name));
    let (mut new, mut configured) = (new.into_iter(), 0_u64);
    for name in kept {
        let place = known.iter().position(|set| set.name == name);
        let set = place.map(|place| known.swap_remove(place)).or_else(|| new.next());
        configured |= u64::from(set.is_some()) << sets.len();
        sets.push(set.unwrap_or_else(|| SetOptions { name, ..SetOptions::new() }));
    }
    for set in new {
        configured |= 1 << sets.len();
        sets.push(set);
    }
    // Empty sets behind the last configured one keep no number in place.
    sets.truncate((u64::BITS - configured.leading_zeros()) as usize);
    Ok(configured)
}

/// Gives the sets of a standby server the numbers and names that the catalogue has. The server that publishes may have other sets
/// by now: one that is new there takes the place of one that only this server has, since it may be the same under another name.
#[cfg(all(feature = "serve", feature = "postgres"))]
pub(super) fn as_published(sets: &mut Vec<SetOptions>, catalogue: &Catalogue) -> Result<(), Error> {
    let kept = SETS.read(&catalogue.snapshot()?)?.unwrap_or_default();
    if !kept.is_empty() {
        *sets = named_as(std::mem::take(sets), kept);
    }
    Ok(())
}

#[cfg(all(feature = "serve", feature = "postgres"))]
fn named_as(sets: Vec<SetOptions>, kept: Vec<String>) -> Vec<SetOptions> {
    let (mut known, new): (Vec<_>, Vec<_>) = sets.into_iter().partition(|set| kept.contains(&set.name));
    let mut new = new.into_iter();
    let named = |name: String| {
        let place = known.iter().position(|set| set.name == name);
        let set = place.map(|place| known.swap_remove(place)).or_else(|| new.next());
        SetOptions { name, ..set.unwrap_or_default() }
    };
    kept.into_iter().map(named).collect()
}

/// Returns the numbers of sets before and now. A removed set has no number now, so that a set which moves up gets neither its
/// resources nor its changes; a new set in its place may be the same one under another name, and gets both.
fn moves(names: &[String], kept: &[String]) -> Vec<(u8, u8)> {
    let now = |(before, name): (usize, &String)| {
        let is_new = |now: &&String| !kept.contains(*now);
        let renamed = || names.get(before).filter(is_new).map(|_| before);
        let now = names.iter().position(|now| now == name).or_else(renamed)?;
        Some((u8::try_from(before).ok()?, u8::try_from(now).ok()?))
    };
    kept.iter().enumerate().filter_map(now).collect()
}

/// Returns the records that know sets by their numbers, with the new numbers. Otherwise a new set with the number of a
/// removed one would count as a set whose present resources have versions.
fn renumbered_masks(snapshot: &Snapshot, moves: &[(u8, u8)]) -> Result<Vec<NamedValue>, Error> {
    let renumbered = |sets: u64| {
        let moved = moves.iter().filter(|(before, _)| sets >> before & 1 == 1);
        moved.fold(0_u64, |mask, (_, now)| mask | 1 << now)
    };
    let versioned = VERSIONED.read(snapshot)?;
    let versioned = versioned.map(|(sets, through)| VERSIONED.write(&(renumbered(sets), through)));
    let kept = STATES_KEPT.read(snapshot)?.map(|sets| STATES_KEPT.write(&renumbered(sets)));
    Ok(versioned.into_iter().chain(kept).collect())
}

/// Returns the records with which the lists of sets begin anew that are published and that the catalogue has forgotten: a
/// set was removed by mistake, and is back before a publication. Their changes until then are not known any more.
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
    for name in names.iter().filter(|name| !kept.contains(*name)) {
        if let Some(set) = published.sets.get_mut(name) {
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

    use resourcesync::{Change, Uri};

    use super::*;
    use crate::{
        NoMonitor, PublishOptions, Publisher, ReportedChange, VersionOptions, catalogue::CATALOGUE, publish,
    };

    #[test]
    fn o821_sets_move_up_and_one_with_another_name_stays() {
        let named = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        type MovedSets<'s> = (&'s [&'s str], &'s [&'s str], &'s [(u8, u8)]);
        let table: [MovedSets<'_>; 5] = [
            (&["a", "b", "c"], &["b", "c"], &[(1, 0), (2, 1)]),
            (&["a", "b"], &["a"], &[(0, 0)]),
            (&["a", "b"], &["z", "b"], &[(0, 0), (1, 1)]),
            (&[""], &["a", "b"], &[(0, 0)]),
            (&["a", "b"], &["b", "z"], &[(1, 0)]),
        ];
        for (kept, names, expected) in table {
            assert_eq!(moves(&named(names), &named(kept)), expected, "{kept:?} {names:?}");
        }
    }

    #[cfg(all(feature = "serve", feature = "postgres"))]
    #[test]
    fn o973_a_standby_server_has_the_sets_of_the_server_that_publishes() {
        let named = |own: &[&str], kept: &[&str]| {
            let set = |name: &&str| SetOptions {
                name: (*name).to_owned(),
                include: vec![format!("*.{name}")],
                ..SetOptions::folder("data")
            };
            let kept = kept.iter().map(|&name| name.to_owned()).collect();
            let sets = named_as(own.iter().map(set).collect(), kept);
            sets.into_iter().map(|set| (set.name, set.include.concat())).collect::<Vec<_>>()
        };
        let pair = |name: &str, of: &str| (name.to_owned(), of.to_owned());
        assert_eq!(named(&["a", "b"], &["b", "a"]), [pair("b", "*.b"), pair("a", "*.a")]);
        assert_eq!(named(&["a", "b"], &["z", "b"]), [pair("z", "*.a"), pair("b", "*.b")]);
        assert_eq!(named(&["a", "b"], &["b"]), [pair("b", "*.b")]);
        assert_eq!(named(&["b"], &["a", "b"]), [pair("a", ""), pair("b", "*.b")]);
    }

    #[test]
    fn o821_a_removed_set_leaves_nothing_to_the_set_that_gets_its_number() {
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
        let path = |name: &str| folder.path().join("resourcesync").join(name);
        let list = |name: &str| fs::read_to_string(path(name)).unwrap();
        let before = list("pdf/changelist-000001.xml");
        options.sets.remove(0);
        // So that it is written once more.
        fs::remove_file(path("pdf/changelist-000001.xml")).unwrap();
        let report = publish(&options, &NoMonitor).unwrap();
        assert_eq!((report.created, report.updated, report.deleted, report.resources), (0, 0, 0, 1));
        assert_eq!(list("pdf/changelist-000001.xml"), before);
        assert!(before.contains("\"updated\"") && !before.contains("a.txt"), "{before}");
        // A set that is new, or is back, begins with all that it has.
        options.sets.push(set("txt"));
        publish(&options, &NoMonitor).unwrap();
        assert!(list("txt/resourcelist.xml").contains("a.txt"));
        assert_eq!(list("pdf/changelist-000001.xml"), before);
    }

    #[test]
    fn o929_a_reported_change_is_one_of_its_set_after_an_attempt_to_publish_other_sets() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.org/");
        let set = |kind: &str| SetOptions {
            name: kind.to_owned(),
            include: vec![format!("*.{kind}")],
            ..SetOptions::folder(folder.path())
        };
        options.sets = ["txt", "pdf"].map(set).into();
        for name in ["a.txt", "b.pdf"] {
            fs::write(folder.path().join(name), "one").unwrap();
        }
        publish(&options, &NoMonitor).unwrap();
        // As far as an attempt comes whose other options cannot be used.
        let catalogue = Catalogue::open(&options.state.join(CATALOGUE)).unwrap();
        number(&mut vec![set("pdf")], &catalogue).unwrap();
        let before = catalogue.snapshot().unwrap().head().sequence;
        drop(catalogue);
        fs::write(folder.path().join("b.pdf"), "three").unwrap();
        let publisher = Publisher::reopen(&options.state).unwrap();
        let changed = ReportedChange::add(Uri::parse("http://example.org/b.pdf").unwrap());
        publisher.record(vec![changed], &NoMonitor).unwrap();
        let snapshot = publisher.catalogue().snapshot().unwrap();
        let logged = snapshot.changes(u64::MAX, before).map(|change| change.unwrap().change);
        assert_eq!(logged.collect::<Vec<_>>(), [Change::Updated]);
    }

    #[test]
    fn o909_the_resources_of_a_set_that_gets_the_number_of_another_have_versions() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.org/");
        options.versions = Some(VersionOptions::default());
        let set = |kind: &str| SetOptions {
            name: kind.to_owned(),
            include: vec![format!("*.{kind}")],
            ..SetOptions::folder(folder.path())
        };
        for name in ["a.txt", "b.pdf", "c.csv"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        options.sets = ["txt", "pdf"].map(set).into();
        publish(&options, &NoMonitor).unwrap();
        // As far as an attempt comes that cannot publish.
        let catalogue = Catalogue::open(&options.state.join(CATALOGUE)).unwrap();
        number(&mut vec![set("pdf")], &catalogue).unwrap();
        drop(catalogue);
        options.sets = ["pdf", "csv"].map(set).into();
        publish(&options, &NoMonitor).unwrap();
        let publisher = Publisher::open(options).unwrap();
        let snapshot = publisher.catalogue().snapshot().unwrap();
        let versions = snapshot.versions(&Uri::parse("http://example.org/c.csv").unwrap()).unwrap();
        assert_eq!(versions.len(), 1);
    }

    #[test]
    fn o821_a_set_that_is_back_before_a_publication_begins_its_lists_anew() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.txt"), "a").unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.org/");
        let set = |name: &str| SetOptions { name: name.to_owned(), ..SetOptions::folder(folder.path()) };
        options.sets = ["x", "y"].map(set).into();
        publish(&options, &NoMonitor).unwrap();
        let one = PublishOptions { sets: vec![set("y")], ..options.clone() };
        drop(Publisher::open(one).unwrap());
        publish(&options, &NoMonitor).unwrap();
        let index = |set: &str| {
            fs::read_to_string(folder.path().join(format!("resourcesync/{set}/changelist.xml"))).unwrap()
        };
        assert!(
            index("x").contains("changelist-000002.xml") && !index("x").contains("changelist-000001.xml")
        );
        assert!(index("y").contains("changelist-000001.xml"));
    }
}
