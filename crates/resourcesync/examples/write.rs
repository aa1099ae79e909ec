//! Writes a Source Description, a Capability List, a Resource List and a Change List into a folder:
//! `cargo run -p resourcesync --example write -- FOLDER`

use std::{env, error::Error, fs, fs::File, path::Path};

use resourcesync::{
    Capability, Change, Entry, MediaType, Uri,
    document::{CapabilityList, ChangeList, ResourceList, SourceDescription},
};

const BASE: &str = "http://example.com/";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).ok_or("usage: write FOLDER")?;
    write_all(Path::new(&folder))
}

fn write_all(folder: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let file = |name: &str| File::create(folder.join(name));

    SourceDescription::new()
        .with_capability_list(uri("capabilitylist.xml")?, Some(uri("about.html")?))
        .write_to(file("description.xml")?)?;

    CapabilityList::new(uri(".well-known/resourcesync")?)
        .with_capability(Capability::ResourceList, uri("resourcelist.xml")?)
        .with_capability(Capability::ChangeList, uri("changelist.xml")?)
        .write_to(file("capabilitylist.xml")?)?;

    ResourceList::new("2013-01-03T09:00:00Z".parse()?, uri("capabilitylist.xml")?)
        .push(
            Entry::new(uri("res1")?)
                .with_lastmod("2013-01-02T13:00:00Z".parse()?)
                .with_digests("md5:1584abdf8ebdc9802ac0c6a7402c03b6".parse()?)
                .with_length(8876)
                .with_media_type(MediaType::new("text/html")),
        )
        .push(Entry::new(uri("res2")?))
        .write_to(file("resourcelist.xml")?)?;

    ChangeList::new("2013-01-03T09:00:00Z".parse()?, uri("capabilitylist.xml")?)
        .push(Entry::changed(uri("res2")?, Change::Updated, "2013-01-03T11:00:00Z".parse()?))
        .push(Entry::changed(uri("res3")?, Change::Deleted, "2013-01-03T12:00:00Z".parse()?))
        .write_to(file("changelist.xml")?)?;
    Ok(())
}

fn uri(path: &str) -> Result<Uri, resourcesync::UriError> {
    format!("{BASE}{path}").parse()
}

#[test]
fn the_example_runs() -> Result<(), Box<dyn Error>> {
    use resourcesync::{ReadOptions, validate::Validator};
    let folder = env::temp_dir().join(format!("resourcesync-write-{}", std::process::id()));
    write_all(&folder)?;
    for name in ["description.xml", "capabilitylist.xml", "resourcelist.xml", "changelist.xml"] {
        let bytes = fs::read(folder.join(name))?;
        assert_eq!(Validator::default().document(&bytes[..])?.summary.errors, 0, "{name}");
    }
    let list = ResourceList::read(&fs::read(folder.join("resourcelist.xml"))?[..], ReadOptions::new())?;
    assert_eq!(list.entries.len(), 2);
    fs::remove_dir_all(folder)?;
    Ok(())
}
