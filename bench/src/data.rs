//! Data of the measurements, made once from a fixed seed, on a tmpfs.

use std::{
    fs,
    io::BufWriter,
    path::{Path, PathBuf},
};

use anyhow::Result;
use instep_testkit::generate;
use rand::Rng;
use resourcesync::{
    Algorithm, Capability, DateTime, Digest, DocumentWriter, Entry, Form, Header, Link, MediaType, Relation,
    Uri, WriteOptions,
};

/// The folder of all data, in memory: the time to create and delete trees on a disk varies with the file system.
const ROOT: &str = "/dev/shm/instep-bench";

/// Returns a folder of this name, as it is.
pub fn folder(name: &str) -> Result<PathBuf> {
    let folder = Path::new(ROOT).join(name);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Returns a folder of this name, empty.
pub fn empty(name: &str) -> Result<PathBuf> {
    remove(&Path::new(ROOT).join(name))?;
    folder(name)
}

/// Removes a folder, if it is there.
pub fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Returns a folder for files of the measurement itself.
pub fn scratch() -> Result<PathBuf> {
    folder("scratch")
}

/// Returns a folder with `count` text files of 200 to 2,000 bytes, a hundred in each subfolder.
pub fn small_files(count: usize) -> Result<PathBuf> {
    made(&format!("small-{count}"), |folder| {
        generate::tree(folder, count, 200..2000, 1)?;
        Ok(())
    })
}

/// Returns the same as files of a type that does not compress.
pub fn opaque_files(count: usize) -> Result<PathBuf> {
    made(&format!("opaque-{count}"), |folder| {
        let mut random = generate::seeded(4);
        for number in 0..count {
            let directory = folder.join(format!("d{:04}", number / 100));
            fs::create_dir_all(&directory)?;
            let mut bytes = vec![0_u8; random.random_range(200..2000)];
            random.fill(bytes.as_mut_slice());
            fs::write(directory.join(format!("f{number:07}.jpg")), bytes)?;
        }
        Ok(())
    })
}

/// Returns the same folder without the documents of an earlier job.
pub fn small_files_alone(count: usize) -> Result<PathBuf> {
    let folder = small_files(count)?;
    for document in ["resourcesync", ".well-known", ".instep"] {
        remove(&folder.join(document))?;
    }
    match fs::remove_file(folder.join("robots.txt")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(folder),
    }
}

/// Returns a folder with `count` files of `size` bytes.
pub fn large_files(count: usize, size: usize) -> Result<PathBuf> {
    made(&format!("large-{count}x{size}"), |folder| {
        let mut random = generate::seeded(2);
        let mut bytes = vec![0_u8; size];
        for number in 0..count {
            random.fill(bytes.as_mut_slice());
            fs::write(folder.join(format!("f{number:05}.bin")), &bytes)?;
        }
        Ok(())
    })
}

/// Discards the small files after a job has changed them.
pub fn discard_small_files(count: usize) -> Result<()> {
    Ok(fs::remove_file(Path::new(ROOT).join(format!("small-{count}.complete")))?)
}

/// Returns a Resource List whose entries have `loc` with an entity, `lastmod`, both digests, `length` and `type`.
pub fn resource_list(entries: usize) -> Result<PathBuf> {
    let folder =
        made(&format!("list-{entries}"), |folder| write_list(&folder.join("resourcelist.xml"), entries))?;
    Ok(folder.join("resourcelist.xml"))
}

fn write_list(file: &Path, entries: usize) -> Result<()> {
    let mut random = generate::seeded(3);
    let sink = BufWriter::new(fs::File::create(file)?);
    let mut writer = DocumentWriter::new(sink, &list_header()?, WriteOptions::new())?;
    for number in 0..entries {
        writer.write_entry(&list_entry(number, &mut random)?)?;
    }
    writer.finish()?;
    Ok(())
}

/// Returns the header of that list.
pub fn list_header() -> Result<Header> {
    let mut header = Header::new(Form::List, Capability::ResourceList);
    let now = DateTime::from_unix_seconds(1_767_225_600);
    header.metadata.get_or_insert_default().at = Some(now);
    let up = Uri::parse("http://example.com/capabilitylist.xml")?;
    header.links.push(Link::new(Relation::Up, up));
    Ok(header)
}

/// Returns an entry of that list.
pub fn list_entry(number: usize, random: &mut impl Rng) -> Result<Entry> {
    let folder = number / 100;
    let uri = format!("http://source.example.com/d{folder:04}/f{number:07}.txt?set=a&version={}", number % 7);
    let mut entry = Entry::new(Uri::parse(&uri)?);
    entry.lastmod = Some(generate::datetime(random));
    entry.metadata.length = Some(random.random_range(200..2000));
    entry.metadata.media_type = Some(MediaType::new("text/plain"));
    for (algorithm, length) in [(Algorithm::Md5, 16), (Algorithm::Sha256, 32)] {
        let bytes: Vec<u8> = (0..length).map(|_| random.random()).collect();
        Digest::new(algorithm, &bytes).into_iter().for_each(|digest| entry.metadata.hash.insert(digest));
    }
    Ok(entry)
}

/// Returns the data of a name. It is made the first time, and found there later.
fn made(name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let complete = Path::new(ROOT).join(format!("{name}.complete"));
    if !complete.exists() {
        make(&empty(name)?)?;
        fs::write(complete, "")?;
    }
    folder(name)
}
