//! A Source that answers OAI-PMH, harvested by ourselves.

mod served;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use instep_oai::{HarvestOptions, OaiGateway, RepositoryOptions};
use instep_source::{
    NoMonitor, PublishMonitor, PublishOptions, publish,
    serve::{ServeOptions, serve},
};
use instep_testkit::{FakeRecord, FakeRepository, Run};
use served::Served;
use tokio::sync::oneshot;

use crate::harvested;

/// Harvests a repository into a folder.
fn copy(url: &str, folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut options = PublishOptions::new(folder, "http://example.org/");
    options.sets[0].content = vec![harvested(url, folder.to_owned(), &HarvestOptions::default())];
    options.guard.most = instep_source::MaxDeletions::Percent(100);
    publish(&options, &NoMonitor).unwrap();
    records(folder)
}

fn records(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder.join("records/oai_dc")).unwrap() {
        let entry = entry.unwrap();
        found.insert(entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
    }
    found
}

#[test]
fn a_harvested_repository_that_is_served_and_harvested_again_is_the_same_and_stays_so() {
    let place = tempfile::tempdir().unwrap();
    let (middle, last) = (place.path().join("middle"), place.path().join("last"));
    let fake = FakeRepository::with_records(45);
    fake.edit(|layout| {
        layout.record("oai:fake:000003").sets = vec!["a:b".to_owned()];
        layout.record("oai:fake:000004").metadata =
            "<m:mods xmlns:m=\"http://www.loc.gov/mods/v3\"><m:note>A &amp; B \u{1f600}</m:note></m:mods>"
                .to_owned();
    });
    let mut options = HarvestOptions::default();
    options.every = Duration::from_millis(200);
    std::fs::create_dir_all(&middle).unwrap();
    let content = harvested(&fake.url(""), middle.clone(), &options);
    let served = Served::start(&middle, Some(content), 10);
    let url = format!("oai+{}oai", served.base_url);
    let copied = copy(&url, &last);
    assert_eq!(copied.len(), 45);
    assert_eq!(copied, records(&middle));

    fake.edit(|layout| {
        layout.record("oai:fake:000005").is_deleted = true;
        layout.record("oai:fake:000005").datestamp = "2026-02-02T00:00:00Z".to_owned();
        *layout.record("oai:fake:000006") =
            FakeRecord::new("oai:fake:000006", "2026-02-02T00:00:00Z", "Changed");
        layout.records.push(FakeRecord::new("oai:fake:new", "2026-02-02T00:00:00Z", "New"));
    });
    served.wait_for("verb=GetRecord&metadataPrefix=oai_dc&identifier=oai:fake:000005", "status=\"deleted\"");
    served.wait_for("verb=GetRecord&metadataPrefix=oai_dc&identifier=oai:fake:new", "<dc:title>New");
    let copied = copy(&url, &last);
    assert_eq!(copied.len(), 45);
    assert!(!copied.contains_key("oai:fake:000005.xml"));
    assert_eq!(copied, records(&middle));
    let only = copy(&format!("{url}?set=a"), &place.path().join("set"));
    assert_eq!(only.into_keys().collect::<Vec<_>>(), ["oai:fake:000003.xml"]);
}

#[test]
fn a_folder_of_xml_is_a_repository_with_the_uris_as_identifiers() {
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    file("a.xml", "<?xml version='1.0'?><mods xmlns='http://www.loc.gov/mods/v3'><note>1</note></mods>");
    file("b.xml", "<thing><part/></thing>");
    file("broken.xml", "<thing>");
    file("plain.txt", "text");
    let served = Served::start(place.path(), None, 10);
    let base = &served.base_url;
    let identify = served.oai("verb=Identify");
    assert!(identify.contains(&format!("<baseURL>{base}oai</baseURL>")), "{identify}");
    let formats = served.oai("verb=ListMetadataFormats");
    assert!(
        formats.contains("<metadataPrefix>mods<") && formats.contains("<metadataPrefix>thing<"),
        "{formats}"
    );
    let list = served.oai("verb=ListRecords&metadataPrefix=thing");
    assert_eq!(list.matches("<record>").count(), 1, "{list}");
    assert!(
        list.contains(&format!("<identifier>{base}b.xml</identifier>"))
            && list.contains("<thing><part/></thing>")
    );

    file("b.xml", "<thing><part/><another/></thing>");
    served.wait_for("verb=ListRecords&metadataPrefix=thing", "<another/>");
    std::fs::remove_file(place.path().join("b.xml")).unwrap();
    served.wait_for("verb=ListIdentifiers&metadataPrefix=thing", "<header status=\"deleted\">");
    file("b.xml", "<thing>back</thing>");
    served.wait_for("verb=ListRecords&metadataPrefix=thing", "back");

    let post = Run::of(
        std::process::Command::new("curl")
            .args(["-sS", "-d", "verb=ListIdentifiers&metadataPrefix=mods"])
            .arg(format!("{base}oai")),
    );
    assert!(post.stdout.contains(&format!("<identifier>{base}a.xml</identifier>")), "{}", post.stdout);
    for (query, code) in [
        ("verb=ListSets", "noSetHierarchy"),
        ("verb=ListRecords&metadataPrefix=mods&set=a", "noSetHierarchy"),
        ("verb=ListRecords&metadataPrefix=other", "cannotDisseminateFormat"),
        ("verb=ListRecords&metadataPrefix=mods&until=1999-01-01", "noRecordsMatch"),
        ("verb=ListRecords&resumptionToken=x", "badResumptionToken"),
        ("verb=GetRecord&metadataPrefix=mods&identifier=none", "idDoesNotExist"),
        ("verb=ListMetadataFormats&identifier=none", "idDoesNotExist"),
        ("verb=Nothing", "badVerb"),
        ("verb=ListRecords", "badArgument"),
    ] {
        let answer = served.oai(query);
        assert!(answer.contains(&format!("<error code=\"{code}\">")), "{query}: {answer}");
    }
    let get = format!("verb=GetRecord&metadataPrefix=thing&identifier={base}a.xml");
    assert!(served.oai(&get).contains("cannotDisseminateFormat"));
}

#[test]
fn o683_a_source_without_resources_is_a_repository_without_records() {
    let place = tempfile::tempdir().unwrap();
    let served = Served::start(place.path(), None, 10);
    let formats = served.oai("verb=ListMetadataFormats");
    assert!(formats.contains("<metadataPrefix>oai_dc<"), "{formats}");
    for (query, code) in [
        ("verb=ListRecords&metadataPrefix=oai_dc", "noRecordsMatch"),
        ("verb=ListIdentifiers&metadataPrefix=oai_dc", "noRecordsMatch"),
        ("verb=ListRecords&metadataPrefix=other", "cannotDisseminateFormat"),
    ] {
        let answer = served.oai(query);
        assert!(answer.contains(&format!("<error code=\"{code}\">")), "{query}: {answer}");
    }
}

#[test]
fn files_that_are_no_metadata_are_described_in_dublin_core() {
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    file("A & B.pdf", "%PDF-1.4");
    file("data.xml", "<thing/>");
    file("ready.xml", "<d:dc xmlns:d=\"http://www.openarchives.org/OAI/2.0/oai_dc/\"/>");
    let served = Served::start(place.path(), None, 10);
    let base = &served.base_url;
    let list = served.oai("verb=ListRecords&metadataPrefix=oai_dc");
    assert_eq!(list.matches("<record>").count(), 3, "{list}");
    let made = format!(
        "<dc:title>A &amp; B.pdf</dc:title>\n<dc:identifier>{base}A%20&amp;%20B.pdf</dc:identifier>\n<dc:date>"
    );
    assert!(list.contains(&made), "{list}");
    assert!(list.contains("<dc:type>Text</dc:type>\n<dc:format>application/pdf</dc:format>"), "{list}");
    assert!(list.contains("<d:dc xmlns:d="), "what is Dublin Core stays as it is: {list}");
    let formats = served.oai(&format!("verb=ListMetadataFormats&identifier={base}data.xml"));
    assert!(formats.contains(">oai_dc<") && formats.contains(">thing<"), "{formats}");

    file("data.xml", "<d:dc xmlns:d=\"http://www.openarchives.org/OAI/2.0/oai_dc/\">own</d:dc>");
    let get = format!("verb=GetRecord&metadataPrefix=oai_dc&identifier={base}data.xml");
    served.wait_for(&get, ">own</d:dc>");
    served.wait_for("verb=ListIdentifiers&metadataPrefix=thing", "<header status=\"deleted\">");
    std::fs::remove_file(place.path().join("data.xml")).unwrap();
    served.wait_for(&get, "<header status=\"deleted\">");
}

#[test]
fn what_a_repository_says_about_a_record_is_answered_with_it() {
    let place = tempfile::tempdir().unwrap();
    let fake = FakeRepository::with_records(3);
    let about = |text: &str| format!("<r:rights xmlns:r=\"urn:r\">{text}</r:rights>");
    fake.edit(|layout| layout.record("oai:fake:000001").about = about("free"));
    let mut options = HarvestOptions::default();
    options.every = Duration::from_millis(200);
    let folder = place.path().join("middle");
    let served = Served::start(&folder, Some(harvested(&fake.url(""), folder.clone(), &options)), 10);
    let list = served.oai("verb=ListRecords&metadataPrefix=oai_dc");
    assert_eq!(list.matches("<record>").count(), 3, "{list}");
    assert_eq!(list.matches(&format!("{}</about>\n</record>", about("free"))).count(), 1, "{list}");
    let get = "verb=GetRecord&metadataPrefix=oai_dc&identifier=oai:fake:000001";
    let datestamp = |answer: &str| answer.split("datestamp>").nth(1).unwrap().to_owned();
    let before = datestamp(&served.oai(get));

    // A harvester has to see it. Datestamps are seconds, so the first changes may be of the same one.
    let moved = (1..100).find(|number| {
        fake.edit(|layout| {
            layout.record("oai:fake:000001").about = about(&format!("until {number}"));
            layout.record("oai:fake:000001").datestamp = format!("2026-02-02T00:00:{:02}Z", number % 60);
        });
        served.wait_for(get, &format!(">until {number}<"));
        datestamp(&served.oai(get)) > before
    });
    assert!(moved.is_some());
    fake.edit(|layout| {
        layout.record("oai:fake:000001").about = String::new();
        layout.record("oai:fake:000001").datestamp = "2026-02-03T00:00:00Z".to_owned();
    });
    served.wait_for(get, "</metadata>\n</record>");
}

#[test]
fn the_index_catches_up_with_what_happened_while_it_was_not_there() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    write("a.xml", "<thing>1</thing>");
    write("b.xml", "<thing>1</thing>");
    let base_url = {
        let served = Served::start(place.path(), None, 10);
        assert_eq!(served.oai("verb=ListRecords&metadataPrefix=thing").matches("<record>").count(), 2);
        served.base_url.clone()
    };
    // Without OAI-PMH, and at the same URL: publications whose changes the index has to find.
    let mut options = ServeOptions::new(place.path()).publish;
    options.base_url = base_url;
    std::fs::remove_file(place.path().join("a.xml")).unwrap();
    write("c.xml", "<thing>1</thing>");
    options.guard.most = instep_source::MaxDeletions::Percent(100);
    publish(&options, &NoMonitor).unwrap();
    let mut serving = ServeOptions::new(place.path());
    serving.publish = options;
    // The former port may be taken; only the base URL has to be the same.
    serving.listen = "127.0.0.1:0".to_owned();
    let gateway = OaiGateway::new(&serving.publish.state, RepositoryOptions::default());
    serving.gateways.push(Arc::new(gateway));
    serving.admin = None;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (sender, told) = mpsc::channel();
    struct Address(Mutex<mpsc::Sender<SocketAddr>>);
    impl PublishMonitor for Address {
        fn serving(&self, _: &str, address: SocketAddr) {
            self.0.lock().unwrap().send(address).unwrap();
        }
    }
    let (end, ended) = oneshot::channel::<()>();
    let server =
        runtime.spawn(serve(serving, Arc::new(Address(Mutex::new(sender))), async { drop(ended.await) }));
    let address = told.recv_timeout(Duration::from_secs(120)).unwrap();
    let served = Served { base_url: format!("http://{address}/"), end: None, thread: None };
    let list = served.oai("verb=ListIdentifiers&metadataPrefix=thing");
    assert_eq!(list.matches("<header>").count(), 2, "{list}");
    assert_eq!(list.matches("<header status=\"deleted\">").count(), 1, "{list}");
    drop(end);
    runtime.block_on(server).unwrap().unwrap();
}

#[test]
fn o363_the_numbers_of_a_list_are_right_also_if_it_grows_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let write = |number: usize, text: &str| {
        std::fs::write(folder.path().join(format!("{number}.txt")), text).unwrap();
    };
    (0..4).for_each(|number| write(number, "old"));
    let served = Served::start(folder.path(), None, 2);
    let number = |answer: &str, name: &str| -> usize {
        let (_, rest) = answer.split_once(&format!("{name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    let token = |answer: &str| {
        let (_, rest) = answer.split_once("<resumptionToken")?;
        let (_, rest) = rest.split_once('>')?;
        Some(rest.split('<').next()?.to_owned()).filter(|token| !token.is_empty())
    };
    let mut answer = served.oai("verb=ListIdentifiers&metadataPrefix=oai_dc");
    let mut listed = 0;
    let mut round = 0;
    loop {
        assert_eq!(number(&answer, "cursor"), listed);
        listed += answer.matches("<header>").count();
        let size = number(&answer, "completeListSize");
        let Some(next) = token(&answer) else {
            assert_eq!(size, listed);
            break;
        };
        assert!(size > listed, "{size} {listed}");
        if round < 2 {
            // It comes behind the others.
            write(10 + round, "new");
            let new = format!("{}{}.txt", served.base_url, 10 + round);
            served.wait_for(&format!("verb=GetRecord&metadataPrefix=oai_dc&identifier={new}"), "<header>");
        }
        round += 1;
        answer = served.oai(&format!("verb=ListIdentifiers&resumptionToken={next}"));
    }
    assert_eq!(listed, 6);
}
