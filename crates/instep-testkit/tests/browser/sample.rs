//! A folder with a little of everything, the same in every run.

use std::{fs, path::Path};

use tempfile::TempDir;

use crate::serving::{Serving, escaped};

/// A picture of one pixel.
const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0,
    0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 0x0d, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63,
    0x64, 0x60, 0xf8, 0x5f, 0x0f, 0, 2, 0x87, 1, 0x80, 0xeb, 0x47, 0xba, 0x92, 0, 0, 0, 0, 0x49, 0x45, 0x4e,
    0x44, 0xae, 0x42, 0x60, 0x82,
];

/// Makes the folder.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for year in 2019..2027 {
        for number in 0..(year - 2010) {
            let name = |kind: &str, end: &str| format!("{kind}/{year}/paper-{year}-{number:02}.{end}");
            let paper = format!("%PDF-1.4\n{}", "x".repeat(1_000 * (number as usize + 1)));
            put(folder.path(), &name("papers", "pdf"), paper.as_bytes());
            put(folder.path(), &name("metadata", "json"), format!("{{\n  \"year\": {year}\n}}\n").as_bytes());
        }
    }
    for number in 0..12 {
        put(folder.path(), &format!("pictures/plate {number:02}.png"), PNG);
        put(
            folder.path(),
            &format!("notes/note-{number:02}.txt"),
            b"One line\nAnother line\nThe last line\n",
        );
    }
    put(folder.path(), "names/c <&> d.txt", b"odd\n");
    put(folder.path(), "README.txt", b"Papers, their metadata, pictures and notes.\n");
    folder
}

/// Changes some of it, in each of the three ways.
pub(crate) fn change(folder: &Path) {
    for number in 0..7 {
        put(folder, &format!("notes/note-{number:02}.txt"), b"One line\nA line that is new\nThe last line\n");
        put(folder, &format!("notes/later-{number:02}.txt"), b"New\n");
    }
    for number in 8..11 {
        fs::remove_file(folder.join(format!("notes/note-{number:02}.txt"))).unwrap();
    }
}

/// Returns the addresses of all kinds of pages of a Source over this folder, by their names.
pub(crate) fn pages(serving: &Serving) -> Vec<(&'static str, String)> {
    let resource =
        |path: &str| format!("resourcesync/resource?uri={}", escaped(&format!("{}{path}", serving.base)));
    vec![
        ("overview", String::new()),
        ("a year", "?range=1y".to_owned()),
        ("folders", "resourcesync/browse".to_owned()),
        ("a folder", "resourcesync/browse?path=papers/2026/&sort=size&order=desc".to_owned()),
        ("search", "resourcesync/search?q=paper+2024".to_owned()),
        ("empty search", "resourcesync/search?q=".to_owned()),
        ("text", resource("notes/note-01.txt")),
        ("picture", resource("pictures/plate%2003.png")),
        ("set", "resourcesync/set?name=".to_owned()),
        ("document", "resourcesync/document?name=resourcesync/changelist.xml".to_owned()),
        ("entries", "resourcesync/document?name=resourcesync/changelist-000001.xml".to_owned()),
        ("batch", "resourcesync/batch".to_owned()),
        ("connected", "resourcesync/connected".to_owned()),
        ("status", "status".to_owned()),
        ("nothing", "papers/2026/paper-2026-99.pdf".to_owned()),
    ]
}

fn put(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}
