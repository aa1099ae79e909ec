//! README and the book: each command that they show runs, each link leads somewhere, each page is in the table of contents.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

#[path = "book/pages.rs"]
mod pages;
#[path = "book/sandbox.rs"]
mod sandbox;
#[path = "book/servers.rs"]
mod servers;
#[path = "book/storage.rs"]
mod storage;

use std::{collections::BTreeSet, process::Command};

use instep_testkit::{Run, free_port, instep};
use pages::{arguments, commands, linked, links, mentioned, root, text};
use sandbox::Sandbox;
use storage::Storage;

/// The address of the files of the project.
const FORGE: &str = "https://github.com/instep-sync/instep/blob/main/";

/// Runs the commands of a page, one after the other, in a folder of their own.
fn run(page: &str) {
    let commands = commands(&text(page));
    assert!(!commands.is_empty(), "{page} shows no command");
    let Some(storage) = Storage::wanted_by(&commands) else { return };
    Sandbox::new(storage).run(page, &commands);
}

/// A test for each page that shows commands.
macro_rules! pages {
    ($($test:ident: $page:literal,)*) => {
        $(#[test]
        fn $test() {
            run($page);
        })*

        #[test]
        fn each_page_with_commands_has_a_test() {
            let tested: BTreeSet<&str> = [$($page),*].into();
            let pages = linked().into_iter().chain(["README.md".to_owned()]);
            let with_commands: BTreeSet<String> = pages.filter(|page| !commands(&text(page)).is_empty()).collect();
            let untested: Vec<_> = with_commands.iter().filter(|page| !tested.contains(page.as_str())).collect();
            assert!(untested.is_empty(), "add these pages to tests/book.rs: {untested:?}");
        }
    };
}

pages! {
    the_commands_of_the_readme_run: "README.md",
    the_commands_of_the_tutorial_for_a_source_run: "docs/tutorial/source.md",
    the_commands_of_the_tutorial_for_a_mirror_run: "docs/tutorial/mirror.md",
    the_commands_about_web_servers_run: "docs/how-to/web-server.md",
    the_commands_about_static_hosting_run: "docs/how-to/static-hosting.md",
    the_commands_about_fleets_run: "docs/how-to/fleet.md",
    the_commands_about_object_storage_run: "docs/how-to/object-storage.md",
    the_commands_about_copies_in_object_storage_run: "docs/how-to/copy-in-object-storage.md",
    the_commands_about_state_in_postgresql_run: "docs/how-to/state-in-postgresql.md",
    the_commands_about_a_catalogue_in_postgresql_run: "docs/how-to/catalogue-in-postgresql.md",
    the_commands_about_many_workers_run: "docs/how-to/many-workers.md",
    the_commands_about_backups_run: "docs/how-to/backup.md",
    the_commands_about_rotation_run: "docs/how-to/rotation.md",
    the_commands_about_moving_run: "docs/how-to/move.md",
    the_commands_about_private_sources_run: "docs/how-to/private.md",
    the_commands_about_relays_run: "docs/how-to/relay.md",
    the_commands_about_monitoring_run: "docs/how-to/monitoring.md",
    the_commands_about_pages_run: "docs/how-to/pages.md",
    the_commands_about_applications_run: "docs/how-to/application.md",
    the_commands_about_sitemaps_run: "docs/how-to/sitemap.md",
    the_commands_about_web_archives_run: "docs/how-to/web-archive.md",
    the_commands_about_oai_pmh_run: "docs/how-to/oai-pmh.md",
    the_commands_about_iiif_run: "docs/how-to/iiif.md",
    the_commands_about_testing_clients_run: "docs/how-to/simulate.md",
    the_commands_about_other_tools_run: "docs/how-to/from-other-tools.md",
    the_commands_about_following_run: "docs/how-to/follow.md",
    the_commands_about_troubles_run: "docs/how-to/troubleshoot.md",
}

#[test]
fn the_commands_in_scripts_and_configurations_have_options_that_exist() {
    let mut found = 0;
    for page in linked().into_iter().chain(["README.md".to_owned()]) {
        for command in mentioned(&text(&page)) {
            let run = Run::of(instep(arguments(&command)).arg("--help"));
            assert_eq!(run.code, Some(0), "{page}: {command}\n{}", run.stderr);
            found += 1;
        }
    }
    assert!(found >= 3, "{found} commands outside of consoles");
}

#[test]
fn the_page_about_exit_codes_is_what_the_program_prints() {
    let printed = Run::of(&mut instep(["help", "exit-codes"])).with_code(0).stdout;
    let is_code = |code: &str| !code.is_empty() && code.bytes().all(|digit| digit.is_ascii_digit());
    let code = |line: &str| {
        let (code, meaning) = line.trim().split_once("  ")?;
        is_code(code).then(|| format!("| {code} | {meaning} |"))
    };
    let printed: Vec<String> = printed.lines().filter_map(code).collect();
    let page = text("docs/reference/exit-codes.md");
    let listed: Vec<&str> = page.lines().filter(|line| line.split(' ').nth(1).is_some_and(is_code)).collect();
    assert_eq!(listed, printed);
}

#[test]
fn the_tour_comes_to_its_end() {
    let mut tour = Command::new("bash");
    let tour = tour.arg(root().join("docs/tour.sh")).env("INSTEP", instep([""; 0]).get_program());
    let run = Run::of(tour.env("PORT", free_port().unwrap().to_string())).with_code(0);
    assert_eq!(run.stdout.matches("The copy equals the folder.").count(), 2, "{}", run.stdout);
}

#[test]
fn each_link_of_the_documents_leads_to_a_file() {
    let files =
        ["README.md", "CONTRIBUTING.md", "SECURITY.md", "STYLE.md", "ARCHITECTURE.md", "docs/SUMMARY.md"];
    let mut broken = Vec::new();
    for page in linked().into_iter().chain(files.map(str::to_owned)) {
        let folder = root().join(&page);
        let folder = folder.parent().unwrap();
        for link in links(&text(&page)) {
            let path = link.split('#').next().unwrap_or_default();
            // Pages of the book name files that are not in it by their address on the forge.
            let file = match path.strip_prefix(FORGE) {
                Some(path) => root().join(path),
                None if path.is_empty() || path.contains("://") || path.starts_with("mailto:") => continue,
                None => folder.join(path),
            };
            if !file.exists() {
                broken.push(format!("{page}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "links that lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn each_page_of_the_folder_is_in_the_table_of_contents() {
    let linked: BTreeSet<String> = linked().into_iter().collect();
    let all = walkdir::WalkDir::new(root().join("docs")).into_iter().filter_map(Result::ok);
    let pages = all.filter(|entry| entry.path().extension().is_some_and(|end| end == "md"));
    let names = pages.map(|page| page.path().strip_prefix(root()).unwrap().to_string_lossy().into_owned());
    let missing: Vec<_> = names
        .filter(|name| {
            name != "docs/SUMMARY.md" && !name.starts_with("docs/dialects/") && !linked.contains(name)
        })
        .collect();
    assert!(missing.is_empty(), "add these pages to docs/SUMMARY.md: {missing:?}");
}
