//! Packs files into a package with a manifest, and lists what is in one:
//! `cargo run -p resourcesync --example package -- NEW.zip FILE...` or `... --example package -- OLD.zip`
#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use std::{
    env,
    error::Error,
    fs,
    io::{Cursor, Read, Seek, Write},
};

use resourcesync::{
    Algorithm, Entry, Hasher, PackagePath, ReadOptions,
    document::ResourceDumpManifest,
    package::{Package, PackageLimits, PackageWriter},
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let zip = arguments.next().ok_or("usage: package ZIP [FILE...]")?;
    let mut files = Vec::new();
    for name in arguments {
        let bytes = fs::read(&name)?;
        files.push((name.rsplit('/').next().unwrap_or_default().to_owned(), bytes));
    }
    if !files.is_empty() {
        let mut packed = pack(&files, Cursor::new(Vec::new()))?;
        packed.flush()?;
        fs::write(&zip, packed.into_inner())?;
    }
    for (uri, length) in list(fs::File::open(&zip)?)? {
        println!("{length:>12} {uri}");
    }
    Ok(())
}

/// Writes a package. Its manifest comes first and names each bitstream with length and digest.
fn pack<W: Write + Seek>(files: &[(String, Vec<u8>)], sink: W) -> Result<W, Box<dyn Error>> {
    let mut manifest =
        ResourceDumpManifest::new("2013-01-03T09:00:00Z".parse()?, "http://example.com/caps.xml".parse()?);
    for (name, bytes) in files {
        let mut hasher = Hasher::new(&[Algorithm::Sha256]);
        hasher.update(bytes);
        let entry = Entry::new(format!("http://example.com/{name}").parse()?)
            .with_path(PackagePath::new(&format!("/{name}")))
            .with_length(bytes.len() as u64)
            .with_digests(hasher.finish());
        manifest = manifest.push(entry);
    }
    let mut package = PackageWriter::new(sink, manifest.to_xml()?.as_bytes())?;
    for (name, bytes) in files {
        package.add(&PackagePath::new(&format!("/{name}")), None, bytes.len() as u64, &bytes[..])?;
    }
    Ok(package.finish()?)
}

/// Verifies each bitstream of a package, and returns the URIs with their lengths.
fn list<R: Read + Seek>(source: R) -> Result<Vec<(String, u64)>, Box<dyn Error>> {
    let mut package = Package::open(source, PackageLimits::new())?;
    let manifest = package.read_manifest(ReadOptions::new())?;
    let mut listed = Vec::new();
    for entry in manifest.entries() {
        let Some(path) = &entry.metadata.path else { continue };
        let mut hasher = Hasher::new(entry.strongest_digest().map(|digest| &digest.algorithm));
        let length = hasher.take_all(&mut package.bitstream(path)?, &mut [0; 4096])?;
        if hasher.finish().agrees_with(&entry.metadata.hash) == Some(false) {
            return Err(format!("{} has another digest", entry.loc).into());
        }
        listed.push((entry.loc.to_string(), length));
    }
    Ok(listed)
}

#[test]
fn the_example_runs() -> Result<(), Box<dyn Error>> {
    let files = [("res1".to_owned(), b"hello".to_vec()), ("res2".to_owned(), vec![7; 3000])];
    let zip = pack(&files, Cursor::new(Vec::new()))?;
    let expected = [("http://example.com/res1".to_owned(), 5), ("http://example.com/res2".to_owned(), 3000)];
    assert_eq!(list(zip)?, expected);
    Ok(())
}
