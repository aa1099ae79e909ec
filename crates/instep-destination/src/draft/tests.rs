//! A draft is bounded: in time by its run, in memory by the weight of what it holds.

use instep_net::{Client, HttpOptions, Scope};
use resourcesync::{DateTime, Uri};
use tokio_util::sync::CancellationToken;

use super::{Draft, Policy};
use crate::{
    Error, LastmodTrust, SelectionOptions,
    clock::Clocks,
    documents::{Document, Documents},
    plan::{Desired, Selection},
    records::kept::KeptResources,
    state::{ActionKind, Actions, StatePlace},
};

const URL: &str = "http://example.com/";

fn draft(folder: &std::path::Path) -> Draft {
    let mut state = StatePlace::open_file(&folder.join("state.sqlite")).unwrap();
    let set = state.set(URL).unwrap();
    let policy = Policy {
        selection: Selection::new(&SelectionOptions::default(), URL).unwrap(),
        scope: Scope::for_source(URL).unwrap(),
        limit: None,
        as_of: None,
        with_links: Vec::new(),
        delete: true,
        lastmod: LastmodTrust::default(),
        condition: None,
        prefer_types: Vec::new(),
    };
    let actions = Actions::create(&folder.join("plan")).unwrap();
    Draft::new(state.reader().unwrap(), set, policy, actions, Clocks::default()).unwrap()
}

fn document(folder: &std::path::Path, capability: &str) -> Document {
    document_of(folder, (capability, 100), "</urlset>")
}

fn document_of(folder: &std::path::Path, (capability, number): (&str, u32), end: &str) -> Document {
    let entries: String = (0..number).map(|n| format!("<url><loc>{URL}{n}</loc></url>")).collect();
    document_with(folder, capability, &format!("{entries}{end}"))
}

fn document_with(folder: &std::path::Path, capability: &str, rest: &str) -> Document {
    let client = Client::new(HttpOptions::new(Scope::for_source(URL).unwrap())).unwrap();
    let text = format!(
        "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" xmlns:rs=\"http://www.openarchives.org/rs/terms/\">\
         <rs:md capability=\"{capability}\"/>{rest}"
    );
    Documents::new(client, folder).keep(&Uri::parse(URL).unwrap(), text.as_bytes()).unwrap()
}

#[test]
fn b12_a_document_is_read_no_further_once_the_run_is_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut draft = draft(folder.path());
    let (list, changes) = (document(folder.path(), "resourcelist"), document(folder.path(), "changelist"));
    draft.read_list(&list, None, false).unwrap();
    assert_eq!(draft.account.read, 100);
    let over = CancellationToken::new();
    over.cancel();
    draft.end_with(over);
    assert!(matches!(draft.read_list(&list, None, false), Err(Error::Interrupted)));
    assert!(matches!(draft.read_changes(&changes, None, None, None, 0), Err(Error::Interrupted)));
    assert!(matches!(draft.infer_deletions(None), Err(Error::Interrupted)));
    assert_eq!(draft.account.read, 100, "no entry was read after the end");
}

#[test]
fn o169_the_resources_kept_before_are_read_only_if_they_are_not_counted_anew() {
    let folder = tempfile::tempdir().unwrap();
    let draft = draft(folder.path());
    let kept = draft.kept(|| panic!("all known deletions are read for nothing"), true).unwrap();
    assert_eq!(kept, KeptResources::default());
    let before = KeptResources { all: 3, undated: 2 };
    assert_eq!(draft.kept(|| Ok(before), false).unwrap(), before);
}

#[test]
fn o455_a_list_that_breaks_off_takes_no_earlier_action_from_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let mut draft = draft(folder.path());
    draft.want(ActionKind::Create, Desired::new(Uri::parse(&format!("{URL}7")).unwrap())).unwrap();
    draft.may_hold_earlier = true;
    let list = document_of(folder.path(), ("resourcelist", 3_000), "");
    assert!(draft.read_list(&list, None, false).unwrap_err().loses_document());
    assert_eq!(draft.actions().count_of(ActionKind::Create), 1);
    draft.check_account().unwrap();
}

#[test]
fn o770_an_inventory_without_a_time_takes_back_no_change_of_newer_bytes_without_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let entry = |name: &str, second: u32, md: &str| {
        format!(
            "<url><loc>{URL}{name}</loc><lastmod>2024-01-01T00:00:{second:02}Z</lastmod><rs:md {md}/></url>"
        )
    };
    let list = entry("a", 3, "length=\"5\"") + "</urlset>";
    let list = document_with(folder.path(), "resourcelist", &list);
    let other = entry("b", 2, "change=\"created\" datetime=\"2024-01-01T00:00:02Z\" length=\"1\"");
    let changes = other + &entry("a", 17, "change=\"updated\" length=\"7\"") + "</urlset>";
    let changes = document_with(folder.path(), "changelist", &changes);
    let length_of_a = |draft: &mut Draft| {
        let planned = draft.fetch_of(&format!("{URL}a")).unwrap();
        planned.and_then(|action| action.desired.metadata.length)
    };
    let mut after_the_list = draft(folder.path());
    after_the_list.read_list(&list, None, false).unwrap();
    after_the_list.read_changes(&changes, None, None, None, 0).unwrap();
    assert_eq!(length_of_a(&mut after_the_list), Some(7));
    after_the_list.check_account().unwrap();
    drop(after_the_list);
    let mut before_the_list = draft(folder.path());
    before_the_list.read_changes(&changes, None, None, None, 0).unwrap();
    before_the_list.history.applied_changes = true;
    before_the_list.read_list(&list, None, false).unwrap();
    assert_eq!(length_of_a(&mut before_the_list), Some(7));
    before_the_list.check_account().unwrap();
}

#[test]
fn o773_a_resource_that_is_listed_twice_takes_the_room_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut draft = draft(folder.path());
    draft.policy.limit = Some(2);
    let entries = ["a", "a", "b", "c"].map(|name| format!("<url><loc>{URL}{name}</loc></url>")).concat();
    let list = document_with(folder.path(), "resourcelist", &(entries + "</urlset>"));
    draft.read_list(&list, None, false).unwrap();
    assert_eq!((draft.actions().count_of(ActionKind::Create), draft.inventory.selected), (2, 2));
    draft.check_account().unwrap();
}

#[test]
fn o774_an_impossible_time_in_a_list_without_order_leaves_it_open_if_an_inventory_is_newer() {
    let folder = tempfile::tempdir().unwrap();
    let is_doubtful = |years: [u32; 3]| {
        let entry = |year: u32| {
            format!(
                "<url><loc>{URL}{year}</loc><rs:md change=\"updated\" datetime=\"{year}-01-01T00:00:00Z\"/></url>"
            )
        };
        let entries = years.map(entry).concat();
        let changes = document_with(folder.path(), "changelist", &(entries + "</urlset>"));
        let mut draft = draft(folder.path());
        draft.read_changes(&changes, None, None, None, 0).unwrap();
        draft.met.doubtful
    };
    assert!(is_doubtful([9_000, 2_021, 2_020]));
    assert!(!is_doubtful([9_000, 2_020, 2_021]), "their order tells");
    assert!(!is_doubtful([2_022, 2_021, 2_020]), "their times tell");
}

#[test]
fn o944_a_change_from_before_its_list_began_is_newer_than_the_inventory_that_was_applied() {
    let folder = tempfile::tempdir().unwrap();
    let day = Some(DateTime::parse("2024-01-06").unwrap());
    let entry = format!("<url><loc>{URL}a</loc></url></urlset>");
    let list = document_with(folder.path(), "resourcelist", &entry);
    let brings = |was_applied: bool, days: &[u32]| {
        let entry = |day: &u32| {
            let name = if *day < 6 { "b".to_owned() } else { day.to_string() };
            format!(
                "<url><loc>{URL}{name}</loc><rs:md change=\"created\" datetime=\"2024-01-{day:02}\"/></url>"
            )
        };
        let entries: String = days.iter().map(entry).collect();
        let changes = document_with(folder.path(), "changelist", &(entries + "</urlset>"));
        let mut draft = draft(folder.path());
        draft.read_list(&list, day, was_applied).unwrap();
        draft.read_changes(&changes, None, day, day, 0).unwrap();
        draft.check_account().unwrap();
        (draft.fetch_of(&format!("{URL}b")).unwrap().is_some(), draft.met.doubtful)
    };
    assert_eq!(brings(true, &[3]), (true, false));
    assert_eq!(brings(true, &[7, 8, 3]), (true, false), "it came last");
    assert_eq!(brings(true, &[8, 7, 3]), (false, true), "nothing shows if the inventory has it");
    assert_eq!(brings(false, &[3]), (false, false), "a new inventory would list it");
}
