//! The changes of a Source as a collection of activities (IIIF Change Discovery 1.0, level 2). It is made from the
//! published lists and has the newest activity of each resource, in the order of time.
//!
//! The collection is rebuilt as a whole; the pages of the one before are read only for what the lists no longer say.

mod gateway;
mod newest;

use std::{
    fs::{self, File},
    io::{self, BufReader, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use resourcesync::{Change, DateTime, DocumentReader, Entry, Form, ReadOptions};
use serde_json::{Value, json};

pub(crate) use gateway::ActivityGateway;
use newest::{NewestActivities, ResourceActivity};

/// The folder of the collection beside the lists, its name, and the collection in it.
const FOLDER: &str = "resourcesync/activities";
pub(crate) const FOLDER_NAME: &str = "activities";
const COLLECTION: &str = "collection.json";

/// The number of activities in a page.
const PAGE: usize = 1_000;

const CONTEXT: &str = "http://iiif.io/api/discovery/1/context.json";

/// Writes the collection of a Source whose documents lie in `out`, served at `base_url`, with the resources of all its
/// sets. `kind` is the type of its objects. Only changed files are written, the pages before the collection. Returns
/// their number.
///
/// Errors: a list cannot be read, or a file not written.
pub(crate) fn write(out: &Path, base_url: &str, sets: &[String], kind: &str) -> anyhow::Result<usize> {
    let slash = if base_url.ends_with('/') { "" } else { "/" };
    let base_url = format!("{base_url}{slash}");
    let newest = NewestActivities::begin()?;
    read_former(&out.join(FOLDER), &newest)?;
    for (number, set) in sets.iter().enumerate() {
        // A set without a name has its lists beside the folders of the others.
        see_set(&out.join("resourcesync").join(set), (out, &base_url), number, &newest)?;
    }
    newest.settle()?;
    newest.note_former_deletions()?;
    place(&out.join(FOLDER), &format!("{base_url}{FOLDER}/"), kind, &newest)
}

/// Reads the lists of a set.
///
/// Errors: a list cannot be read.
fn see_set(lists: &Path, place: (&Path, &str), set: usize, newest: &NewestActivities) -> anyhow::Result<()> {
    each(&lists.join("resourcelist.xml"), place, &mut |entry, at| {
        // The time of a file may lie in the future; then the time of the list is used.
        let time = entry.lastmod.filter(|time| at.is_none_or(|at| time.instant() <= at.instant())).or(at);
        let uri = entry.loc.as_str();
        let precedes =
            |gone: &ResourceActivity| time.is_none_or(|time| time.instant() <= gone.time.instant());
        match (newest.former(uri)?, time) {
            // It is there again, with an older file, and the Change Lists may not say any more since when.
            (Some(gone), _) if gone.change == Change::Deleted && precedes(&gone) => {
                at.map_or(Ok(()), |at| newest.see(set, uri, at, &Change::Updated))?;
            }
            // A resource keeps its former time: a renewed list does not mean that its resources have changed.
            (Some(known), _) if known.change != Change::Deleted => {
                newest.see(set, uri, known.time, &known.change)?;
            }
            (_, Some(time)) => newest.see(set, uri, time, &Change::Updated)?,
            (_, None) => {}
        }
        Ok(())
    })?;
    each(&lists.join("changelist.xml"), place, &mut |entry, _| {
        if let (Some(change), Some(time)) = (&entry.metadata.change, entry.metadata.datetime) {
            newest.see(set, entry.loc.as_str(), time, change)?;
        }
        Ok(())
    })
}

/// Removes the collection that earlier publications wrote into `out`, the collection before its pages. Returns `false` if
/// there is none. Other files stay.
///
/// Errors: a file cannot be removed.
pub(crate) fn withdraw(out: &Path) -> anyhow::Result<bool> {
    let folder = out.join(FOLDER);
    let mut removed = false;
    let mut remove = |path: PathBuf, name: &str| -> anyhow::Result<bool> {
        let is_written_here = match fs::read(&path) {
            Err(error) if is_no_file(&error) => false,
            // Without the fault this could be a file of ours, which would be served and never updated.
            text => has_id_of(name, &text.with_context(|| format!("Cannot read {}", path.display()))?),
        };
        if is_written_here {
            fs::remove_file(&path).with_context(|| format!("Cannot remove {}", path.display()))?;
            removed = true;
        }
        Ok(is_written_here)
    };
    remove(folder.join(COLLECTION), COLLECTION)?;
    for name in (0..).map(page_name) {
        if !remove(folder.join(&name), &name)? {
            break;
        }
    }
    // A later collection would count the deletions on these pages as its own.
    for path in staged_pages(&folder)? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        remove(path, &name)?;
    }
    if removed {
        // The result is ignored: a folder with other files must stay.
        let _ = fs::remove_dir(&folder);
    }
    Ok(removed)
}

/// Returns `true` for the error of reading a name that no file has.
fn is_no_file(error: &io::Error) -> bool {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | IsADirectory)
}

/// Returns `true` if a text is a file of a collection that has this name.
fn has_id_of(name: &str, text: &[u8]) -> bool {
    let json: Value = serde_json::from_slice(text).unwrap_or_default();
    let id = json["id"].as_str().unwrap_or_default();
    json["@context"] == CONTEXT && id.ends_with(&format!("/{FOLDER}/{name}"))
}

/// Reads the activities that the pages in place have, up to the first page that does not exist, and those of pages that
/// were about to take their places.
///
/// Errors: a page cannot be read, or one in place is damaged.
fn read_former(folder: &Path, newest: &NewestActivities) -> anyhow::Result<()> {
    for number in 0.. {
        let path = folder.join(page_name(number));
        let page = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            // Without this page, the deletions on it would be lost for good.
            page => page.with_context(|| format!("Cannot read {}", path.display()))?,
        };
        let page: Value = serde_json::from_slice(&page).with_context(|| {
            let path = path.display();
            format!("{path} is damaged: restore it, or remove it to go on without the deletions on it and on later pages")
        })?;
        newest.take_former_page(&page)?;
    }
    for path in staged_pages(folder)? {
        let page = match fs::read(&path) {
            Err(error) if is_no_file(&error) => continue,
            page => page.with_context(|| format!("Cannot read {}", path.display()))?,
        };
        newest.take_former_page(&serde_json::from_slice(&page).unwrap_or_default())?;
    }
    Ok(())
}

/// Returns the pages that were written beside their places and have not taken them, as after a kill.
///
/// Errors: the folder cannot be read.
fn staged_pages(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let unreadable = || format!("Cannot read {}", folder.display());
    let entries = match fs::read_dir(folder) {
        Err(error) if is_no_file(&error) => return Ok(Vec::new()),
        entries => entries.with_context(unreadable)?,
    };
    let mut staged = Vec::new();
    for entry in entries {
        let entry = entry.with_context(unreadable)?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("page-")?.strip_suffix(".json.new"));
        if number.is_some_and(|number| number.parse::<usize>().is_ok()) {
            staged.push(entry.path());
        }
    }
    Ok(staged)
}

fn page_name(number: usize) -> String {
    format!("page-{number}.json")
}

/// Passes on each entry of a list, or of the lists of an index, with the time of the list. A list that does not exist
/// has no entries.
fn each(
    path: &Path,
    (out, base_url): (&Path, &str),
    take: &mut dyn FnMut(&Entry, Option<DateTime>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file.with_context(|| format!("Cannot read {}", path.display()))?,
    };
    let mut reader = DocumentReader::open(BufReader::new(file), ReadOptions::new())?;
    let (form, at) = (reader.header().form, reader.header().metadata.as_ref().and_then(|root| root.at));
    let (mut entry, mut members) = (Entry::default(), Vec::new());
    while reader.read_entry(&mut entry)? {
        match (form, entry.loc.as_str().strip_prefix(base_url)) {
            (Form::List, _) => take(&entry, at)?,
            (Form::Index, Some(name)) => members.push(out.join(name)),
            (Form::Index, None) => {}
        }
    }
    members.iter().try_for_each(|member: &PathBuf| each(member, (out, base_url), take))
}

fn place(folder: &Path, base: &str, kind: &str, newest: &NewestActivities) -> anyhow::Result<usize> {
    // The publication follows no link to a folder of documents either.
    if fs::symlink_metadata(folder).is_ok_and(|found| found.is_symlink()) {
        bail!("Cannot write {}: it is a link, which is not followed; move it away", folder.display());
    }
    fs::create_dir_all(folder).with_context(|| format!("Cannot write {}", folder.display()))?;
    let count = newest.count()?;
    let pages = count.div_ceil(PAGE);
    let leads_to = |number: usize| json!({ "id": format!("{base}{}", page_name(number)), "type": "OrderedCollectionPage" });
    let collection_id = format!("{base}{COLLECTION}");
    let (mut staged, mut number) = (Vec::new(), 0);
    newest.pages(PAGE, &mut |page| {
        let items: Vec<Value> = page.iter().map(|activity| item(activity, kind)).collect();
        let mut json = json!({
            "@context": CONTEXT, "id": format!("{base}{}", page_name(number)), "type": "OrderedCollectionPage",
            "partOf": { "id": collection_id, "type": "OrderedCollection" }, "startIndex": number * PAGE,
        });
        if number > 0 {
            json["prev"] = leads_to(number - 1);
        }
        if number + 1 < pages {
            json["next"] = leads_to(number + 1);
        }
        json["orderedItems"] = items.into();
        staged.extend(stage(folder.join(page_name(number)), &json)?);
        number += 1;
        Ok(())
    })?;
    let mut json = json!({
        "@context": CONTEXT, "id": collection_id, "type": "OrderedCollection", "totalItems": count,
    });
    if let Some(last) = pages.checked_sub(1) {
        (json["first"], json["last"]) = (leads_to(0), leads_to(last));
    }
    staged.extend(stage(folder.join(COLLECTION), &json)?);
    // Only when all are on the disk: an activity may move from one page to the next, and if the one were replaced and the
    // other not, as on a full disk, nothing would have it any more.
    for path in &staged {
        let failed = || format!("Cannot write {}", path.display());
        fs::rename(beside(path), path).with_context(failed)?;
    }
    // Removes the pages that a longer collection had after these.
    let mut number = pages;
    while fs::remove_file(folder.join(page_name(number))).is_ok() {
        number += 1;
    }
    for path in staged_pages(folder)? {
        fs::remove_file(&path).with_context(|| format!("Cannot remove {}", path.display()))?;
    }
    Ok(staged.len())
}

fn item(activity: &ResourceActivity, kind: &str) -> Value {
    let what = match activity.change {
        Change::Created => "Create",
        Change::Deleted => "Delete",
        _ => "Update",
    };
    json!({ "type": what, "object": { "id": activity.uri, "type": kind }, "endTime": activity.time.to_string() })
}

/// Writes a file beside its place, unless the one there has these bytes; `None` then. It takes its place by a rename, so
/// that a concurrent reader gets the old one or the new one.
fn stage(path: PathBuf, json: &Value) -> anyhow::Result<Option<PathBuf>> {
    let text = format!("{json}\n");
    if fs::read(&path).is_ok_and(|held| held == text.as_bytes()) {
        return Ok(None);
    }
    let failed = || format!("Cannot write {}", path.display());
    // A page that is beside its place since a kill may be all that has its activities, so it is replaced as a whole.
    let part = path.with_extension("json.part");
    // A killed run can leave one behind. Anybody who may write to the folder can put a link there.
    let _ = fs::remove_file(&part);
    let mut file = File::create_new(&part).with_context(failed)?;
    file.write_all(text.as_bytes()).with_context(failed)?;
    // Otherwise the new name could lead to an empty file after a power failure, and the former one would be gone.
    file.sync_all().with_context(failed)?;
    fs::rename(part, beside(&path)).with_context(failed)?;
    Ok(Some(path))
}

/// Returns the place of a file before it takes its own.
fn beside(path: &Path) -> PathBuf {
    path.with_extension("json.new")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn d47_o1112_links_that_were_planted_among_the_activities_are_not_followed() {
        let out = tempfile::tempdir().unwrap();
        let [folder, other, elsewhere] = [FOLDER, "other", "elsewhere"].map(|name| out.path().join(name));
        fs::create_dir_all(&folder).unwrap();
        fs::write(&other, "of somebody else").unwrap();
        symlink(&other, folder.join("collection.json.part")).unwrap();
        assert_eq!(write(out.path(), "http://h/", &[], "Manifest").unwrap(), 1);
        assert_eq!(fs::read_to_string(&other).unwrap(), "of somebody else");
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, &folder).unwrap();
        let refused = write(out.path(), "http://h/", &[], "Manifest").unwrap_err();
        assert!(refused.to_string().contains("it is a link"), "{refused}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn o190_a_page_of_activities_that_cannot_be_read_costs_no_deletion() {
        let out = tempfile::tempdir().unwrap();
        let folder = out.path().join(FOLDER);
        fs::create_dir_all(&folder).unwrap();
        let page_of = |gone: &str| {
            let item =
                json!({ "type": "Delete", "object": { "id": gone }, "endTime": "2026-01-01T00:00:00Z" });
            json!({ "orderedItems": [item] }).to_string()
        };
        fs::write(folder.join(page_name(0)), page_of("http://x/a")).unwrap();
        // A folder can no more be read than a file on a damaged disk.
        fs::create_dir(folder.join(page_name(1))).unwrap();
        let refused = write(out.path(), "http://x/", &[String::new()], "Manifest").unwrap_err().to_string();
        assert!(refused.contains("page-1.json"), "{refused}");
        fs::remove_dir(folder.join(page_name(1))).unwrap();
        fs::write(folder.join(page_name(1)), page_of("http://x/b")).unwrap();
        write(out.path(), "http://x/", &[String::new()], "Manifest").unwrap();
        let page = fs::read_to_string(folder.join(page_name(0))).unwrap();
        assert!(page.contains("http://x/a") && page.contains("http://x/b"), "{page}");
    }

    #[test]
    fn o987_a_deletion_that_moves_to_the_next_page_is_not_lost_if_that_page_cannot_be_written() {
        let out = tempfile::tempdir().unwrap();
        let folder = out.path().join(FOLDER);
        fs::create_dir_all(&folder).unwrap();
        let uri = |number: usize| format!("http://x/{number}");
        let time = |second: usize| DateTime::from_unix_seconds(second as i64).to_string();
        let activity = |kind: &str, number: usize| {
            let object = json!({ "id": uri(number) });
            json!({ "type": kind, "object": object, "endTime": time(number) })
        };
        let mut items: Vec<Value> = (1..PAGE).map(|number| activity("Update", number)).collect();
        items.push(activity("Delete", PAGE));
        fs::write(folder.join(page_name(0)), json!({ "orderedItems": items }).to_string()).unwrap();
        // The new resource 0 has the oldest file, so that all others move on by one.
        let entries: String = (0..PAGE)
            .map(|number| format!("<url><loc>{}</loc><lastmod>{}</lastmod></url>", uri(number), time(number)))
            .collect();
        let list = format!(
            "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" xmlns:rs=\"http://www.openarchives.org/rs/terms/\">\
             <rs:md capability=\"resourcelist\" at=\"2026-03-01T00:00:00Z\"/>{entries}</urlset>"
        );
        fs::write(out.path().join("resourcesync/resourcelist.xml"), list).unwrap();
        let has_deletion = |page: &str| fs::read_to_string(folder.join(page)).unwrap().contains("\"Delete\"");
        let write = || write(out.path(), "http://x/", &[String::new()], "Manifest");
        // As on a full disk.
        let blocked = beside(&folder.join(page_name(1)));
        fs::create_dir(&blocked).unwrap();
        assert!(write().is_err());
        assert!(has_deletion(&page_name(0)));
        fs::remove_dir(&blocked).unwrap();
        write().unwrap();
        assert!(has_deletion(&page_name(1)));
        // As after a kill between the two renames.
        fs::rename(folder.join(page_name(1)), &blocked).unwrap();
        write().unwrap();
        assert!(has_deletion(&page_name(1)) && !blocked.exists());
    }

    #[test]
    fn o938_pages_that_a_kill_left_beside_their_places_go_with_their_collection() {
        let out = tempfile::tempdir().unwrap();
        let folder = out.path().join(FOLDER);
        fs::create_dir_all(&folder).unwrap();
        let item =
            json!({ "type": "Delete", "object": { "id": "http://x/a" }, "endTime": "2026-01-01T00:00:00Z" });
        fs::write(folder.join(page_name(0)), json!({ "orderedItems": [item] }).to_string()).unwrap();
        write(out.path(), "http://x/", &[String::new()], "Manifest").unwrap();
        fs::rename(folder.join(page_name(0)), beside(&folder.join(page_name(0)))).unwrap();
        assert!(withdraw(out.path()).unwrap());
        assert!(!folder.exists());
    }

    #[test]
    fn o673_the_resources_of_all_sets_are_in_the_collection() {
        let out = tempfile::tempdir().unwrap();
        let sets = ["", "museum"].map(str::to_owned);
        for set in &sets {
            let lists = out.path().join("resourcesync").join(set);
            fs::create_dir_all(&lists).unwrap();
            let list = format!(
                "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" xmlns:rs=\"http://www.openarchives.org/rs/terms/\">\
                 <rs:md capability=\"resourcelist\" at=\"2026-03-01T00:00:00Z\"/><url><loc>http://x/a{set}</loc></url></urlset>"
            );
            fs::write(lists.join("resourcelist.xml"), list).unwrap();
        }
        write(out.path(), "http://x/", &sets, "Manifest").unwrap();
        let page = fs::read_to_string(out.path().join(FOLDER).join(page_name(0))).unwrap();
        assert!(page.contains("\"http://x/a\"") && page.contains("\"http://x/amuseum\""), "{page}");
    }

    #[test]
    fn o680_a_resource_that_came_back_with_an_older_file_is_not_reported_as_deleted() {
        let out = tempfile::tempdir().unwrap();
        let page = out.path().join(FOLDER).join(page_name(0));
        fs::create_dir_all(out.path().join(FOLDER)).unwrap();
        let gone =
            json!({ "type": "Delete", "object": { "id": "http://x/a" }, "endTime": "2026-02-01T00:00:00Z" });
        let list_at = |at: &str| {
            format!(
                "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" xmlns:rs=\"http://www.openarchives.org/rs/terms/\">\
                 <rs:md capability=\"resourcelist\" at=\"{at}\"/><url><loc>http://x/a</loc><lastmod>2026-01-01T00:00:00Z</lastmod>\
                 </url></urlset>"
            )
        };
        // The second list is older than the deletion.
        for (at, newest) in [("2026-03-01T00:00:00Z", "Update"), ("2026-01-15T00:00:00Z", "Delete")] {
            fs::write(&page, json!({ "orderedItems": [gone] }).to_string()).unwrap();
            fs::write(out.path().join("resourcesync/resourcelist.xml"), list_at(at)).unwrap();
            write(out.path(), "http://x/", &[String::new()], "Manifest").unwrap();
            let written: Value = serde_json::from_slice(&fs::read(&page).unwrap()).unwrap();
            let items = written["orderedItems"].as_array().unwrap();
            assert_eq!((items.len(), items[0]["type"].as_str()), (1, Some(newest)), "{written}");
        }
    }

    #[test]
    fn o603_a_page_of_activities_that_is_damaged_is_named_and_costs_no_deletion() {
        let out = tempfile::tempdir().unwrap();
        let page = out.path().join(FOLDER).join(page_name(0));
        fs::create_dir_all(out.path().join(FOLDER)).unwrap();
        for damaged in ["", "{\"orderedItems\": [{\"type\": \"Delete\""] {
            fs::write(&page, damaged).unwrap();
            let refused =
                write(out.path(), "http://x/", &[String::new()], "Manifest").unwrap_err().to_string();
            assert!(refused.contains("page-0.json is damaged"), "{refused}");
            assert_eq!(fs::read_to_string(&page).unwrap(), damaged);
        }
        fs::remove_file(&page).unwrap();
        assert_eq!(write(out.path(), "http://x/", &[String::new()], "Manifest").unwrap(), 1);
    }

    #[test]
    fn o604_a_collection_that_cannot_be_read_is_not_taken_for_none_when_it_is_to_be_removed() {
        let out = tempfile::tempdir().unwrap();
        let folder = out.path().join(FOLDER);
        assert!(!withdraw(out.path()).unwrap());
        write(out.path(), "http://x/", &[String::new()], "Manifest").unwrap();
        fs::rename(folder.join(COLLECTION), folder.join("mine.json")).unwrap();
        // A link to itself can no more be read than a file on a damaged disk.
        symlink(COLLECTION, folder.join(COLLECTION)).unwrap();
        assert!(withdraw(out.path()).is_err());
        fs::rename(folder.join("mine.json"), folder.join(COLLECTION)).unwrap();
        assert!(withdraw(out.path()).unwrap());
        assert!(!folder.exists());
    }
}
