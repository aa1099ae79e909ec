//! Puts a file into a folder safely: `cargo run -p instep-store --example place -- FOLDER NAME TEXT`.
//!
//! The name holds the old file or the new one at every instant, and the new one survives a power loss once this has
//! ended.

use std::{env, error::Error, io::Write as _, path::Path};

use instep_store::{Lock, RootFolder, Staging};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [folder, name, text] = &arguments[..] else { return Err("usage: place FOLDER NAME TEXT".into()) };
    place(Path::new(folder), name, text)
}

/// Writes `text` into the file `name` below `folder`.
pub(crate) fn place(folder: &Path, name: &str, text: &str) -> Result<(), Box<dyn Error>> {
    let root = RootFolder::open_or_make(folder)?;
    let _lock = Lock::take(&root, &format!("process {}", std::process::id()))?;
    let staging = Staging::open(&root, ".staging")?;
    let (number, mut file) = staging.create()?;
    file.write_all(text.as_bytes())?;
    // The bytes before the name: else a power loss could leave the name without them.
    staging.sync(number)?;
    let (below, last) = name.rsplit_once('/').unwrap_or(("", name));
    root.make_folder(below, 0o777, &mut |_| {})?;
    let target = root.root(below)?;
    staging.place(number, &target, last)?;
    target.entry("")?.sync_all()?;
    Ok(())
}
