//! Options that have no effect without another one, or contradict each other, are refused and not ignored.

use crate::support::{BASE, ServedSource, folder, run};

#[test]
fn o203_options_of_a_source_are_refused_for_a_copy_that_is_not_published_again() {
    let folder = folder(&[("copy.toml", "[sync]\nbase-url = 'http://mirror.example/'\n")]);
    for arguments in [
        &["--base-url", "http://mirror.example/"][..],
        &["--follow", "--base-url", "http://mirror.example/"],
        // The pages of a copy are served without a certificate, so this one would be ignored.
        &["--follow", "--listen", "127.0.0.1:0", "--tls-cert", "chain.pem", "--tls-key", "key.pem"],
        &["--follow", "--no-hub"],
        &["--versions"],
        &["--config", "copy.toml"],
    ] {
        let said = run(folder.path(), &[&["sync", "http://127.0.0.1:1/", "copy"], arguments].concat(), 2);
        assert!(said.contains("add --follow --republish"), "{arguments:?}: {said}");
    }
    assert!(!folder.path().join("copy").exists());
}

#[test]
fn o204_a_limit_of_something_that_is_not_offered_is_refused() {
    let folder = folder(&[("data/a.txt", "a")]);
    for (option, value, needed) in [
        ("--archive-count", "3", "--archives"),
        ("--archive-age", "30d", "--archives"),
        ("--patch-share", "10%", "--patches"),
        ("--patch-max", "1MiB", "--patches"),
        ("--change-dump-every", "1h", "--change-dump"),
    ] {
        let publish = ["publish", "data", "--base-url", BASE, option, value];
        let said = run(folder.path(), &publish, 2);
        assert!(said.contains(needed), "{said}");
        run(folder.path(), &[&publish[..], &[needed, "--dry-run"]].concat(), 0);
    }
    let said = run(folder.path(), &["serve", "data", "--versions-count", "3"], 2);
    assert!(said.contains("--versions"), "{said}");
}

#[test]
fn o332_a_size_of_web_archive_files_without_a_web_archive_is_refused() {
    let folder = folder(&[]);
    let said = run(folder.path(), &["sync", "http://127.0.0.1:1/", "copy", "--warc-size", "5MiB"], 2);
    assert!(said.contains("--warc <DIR>"), "{said}");
}

#[test]
fn o205_a_manifest_beside_sets_is_refused_and_not_passed_over() {
    let folder = folder(&[
        ("data/papers/a.txt", "a"),
        ("list.jsonl", "{\"uri\":\"http://source.example/data/b\"}\n"),
        ("instep.toml", "[[set]]\nname = 'papers'\ncontent = 'papers'\n"),
    ]);
    let said = run(folder.path(), &["publish", "data", "--base-url", BASE, "--from", "list.jsonl"], 2);
    assert!(said.contains("write from = \"list.jsonl\" in one of them"), "{said}");
}

#[test]
fn o206_a_round_without_a_pause_is_refused() {
    let folder = folder(&[]);
    let said = run(folder.path(), &["sync", "http://127.0.0.1:1/", "copy", "--follow", "--poll", "0s"], 2);
    assert!(said.contains("leaves no pause; write 1s"), "{said}");
}

#[test]
fn o207_a_folder_without_documents_does_not_conform() {
    let folder = folder(&[("copy/a.txt", "a"), ("copy/sub/b.html", "b")]);
    for link in ["copy/one", "copy/two"] {
        std::os::unix::fs::symlink(".", folder.path().join(link)).unwrap();
    }
    let said = run(folder.path(), &["validate", "copy"], 2);
    assert!(said.contains("copy has nothing to check"), "{said}");
}

#[test]
fn o208_a_file_in_the_place_of_the_folder_of_documents_is_named_with_what_helps() {
    for name in ["resourcesync", ".well-known", ".instep"] {
        let folder = folder(&[("data/a.txt", "a"), (&format!("data/{name}"), "a file")]);
        let publish = std::process::Command::new(crate::support::PROGRAM)
            .args(["publish", "data", "--base-url", BASE])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&publish.stderr).into_owned();
        assert!(!publish.status.success(), "{said}");
        assert!(said.contains(name) && said.contains("move that file away"), "{said}");
    }
}

#[test]
fn o209_the_note_about_an_empty_list_of_resources_does_not_speak_of_a_folder_only() {
    let folder = folder(&[("data/a.txt", "a"), ("list.jsonl", "")]);
    let said = run(folder.path(), &["publish", "data", "--base-url", BASE, "--from", "list.jsonl"], 0);
    assert!(said.contains("the folder or the list of resources has none"), "{said}");
}

#[test]
fn o219_a_fleet_is_not_put_into_the_folder_of_a_copy_or_a_source() {
    let folder = folder(&[("data/a.txt", "a")]);
    run(folder.path(), &["publish", "data", "--base-url", BASE], 0);
    let said = run(folder.path(), &["run", "--fleet", "data"], 2);
    assert!(said.contains("data is the folder of a Source; give the fleet a folder of its own"), "{said}");
    let said = run(folder.path(), &["source", "list", "--fleet", "none"], 2);
    assert!(said.contains("There is no fleet in none; add a Source"), "{said}");
    assert!(!folder.path().join("none").exists());
}

#[test]
fn o222_a_source_of_a_copy_is_known_in_any_spelling_of_its_url() {
    let folder = folder(&[("data/a.txt", "a")]);
    let source = ServedSource::start(folder.path());
    run(folder.path(), &["sync", &source.url, "copy"], 0);
    let spelt = source.url.trim_end_matches('/').replacen("http", "HTTP", 1);
    run(folder.path(), &["status", "copy", "--source", &spelt], 0);
    run(folder.path(), &["status", "copy", "--source", "http://127.0.0.1:1/"], 2);
}

#[test]
fn o224_maps_that_differ_from_those_of_the_last_run_are_noted_once() {
    let folder = folder(&[("data/papers/a.txt", "a")]);
    let source = ServedSource::start(folder.path());
    let map = |path: &str| format!("{}papers/={path}", source.url);
    let said = |more: &[&str]| run(folder.path(), &[&["sync", &source.url, "copy"][..], more].concat(), 0);
    const NOTE: &str = "The maps of URIs are not those of the last run";
    assert!(!said(&["--map", &map("P")]).contains(NOTE));
    assert!(!said(&["--map", &map("P")]).contains(NOTE));
    assert!(said(&["--map", &map("Q"), "--dry-run"]).contains(NOTE));
    assert!(said(&["--map", &map("Q")]).contains(NOTE));
    assert!(!said(&["--map", &map("Q")]).contains(NOTE));
    assert!(said(&[]).contains(NOTE), "a map that was forgotten");
    assert!(folder.path().join("copy/P/a.txt").exists());
}

#[test]
fn o1057_an_audit_does_not_take_its_lack_of_maps_for_other_ones() {
    let folder = folder(&[("data/papers/a.txt", "a")]);
    let source = ServedSource::start(folder.path());
    let map = format!("{}papers/=P", source.url);
    run(folder.path(), &["sync", &source.url, "copy", "--map", &map], 0);
    let said = run(folder.path(), &["audit", &source.url, "copy"], 0);
    assert!(said.contains("1 same") && !said.contains("maps of URIs"), "{said}");
}

#[test]
fn o223_a_condition_on_metadata_that_nothing_meets_is_reported() {
    let folder = folder(&[("data/a.txt", "a")]);
    let source = ServedSource::start(folder.path());
    let sync = ["sync", &source.url, "copy", "--where-metadata", "titel ~ Noether"];
    let said = run(folder.path(), &sync, 0);
    assert!(said.contains("1 resource listed, 0 selected: no metadata record matches"), "{said}");
}

#[test]
fn o232_options_of_a_harvest_are_refused_if_nothing_is_harvested() {
    let folder = folder(&[
        ("data/papers/a.txt", "a"),
        ("list.jsonl", "{\"uri\":\"http://source.example/data/b\"}\n"),
        ("content.toml", "[[set]]\nname = 'papers'\ncontent = 'papers'\nfull-text = true\n"),
        ("manifest.toml", "[[set]]\nname = 'papers'\nfrom = 'list.jsonl'\nfull-text = true\n"),
    ]);
    let publish = |more: &[&str]| {
        let said = run(folder.path(), &[&["publish", "data", "--base-url", BASE][..], more].concat(), 2);
        assert!(!folder.path().join("data/resourcesync").exists());
        said
    };
    for option in [
        &["--full-text"][..],
        &["--full-text-from", "https://files.example"],
        &["--harvest-every", "1h"],
        &["--inventory-every", "1h"],
        &["--full-text", "--from", "list.jsonl"],
    ] {
        let said = publish(option);
        assert!(said.contains(option[0]) && said.contains("--from oai+https://"), "{said}");
    }
    let hosts = ["--from", "oai+http://127.0.0.1:1/", "--full-text-from", "https://files.example"];
    assert!(publish(&hosts).contains("add --full-text"));
    for config in ["content.toml", "manifest.toml"] {
        let said = publish(&["--config", config]);
        assert!(said.contains("full-text") && said.contains("repository"), "{said}");
    }
}

#[test]
fn o245_an_origin_in_a_form_that_is_not_read_is_named_with_what_to_do() {
    let folder = folder(&[("data/a.txt", "a"), ("x.wacz", "PK"), ("x.warc.zst", "x"), ("X.ARC.gz", "x")]);
    for (from, advice) in [
        ("https://repo.example/oai", "write oai+https://repo.example/oai"),
        ("x.wacz", "unzip FILE"),
        ("x.warc.zst", "zstd -d FILE"),
        ("X.ARC.gz", "warcio recompress"),
    ] {
        let said = run(folder.path(), &["publish", "data", "--base-url", BASE, "--from", from], 2);
        assert!(said.contains(advice), "{said}");
    }
}

#[test]
fn o244_an_empty_command_and_a_secret_without_a_webhook_are_refused() {
    let folder = folder(&[("secret", "whsec_")]);
    for option in [&["--on-change", ""][..], &["--webhook-secret-file", "secret"]] {
        let sync = [&["sync", "http://127.0.0.1:1/", "copy"][..], option].concat();
        assert!(run(folder.path(), &sync, 2).contains(option[0]), "{option:?}");
    }
}

#[test]
fn o295_republish_refuses_options_that_have_no_effect_on_copies() {
    let folder = folder(&[("shared.toml", "[publish]\nfrom = 'list.csv'\n[serve]\nversions = true\n")]);
    let republish = ["republish", "copy", "--base-url", BASE];
    for (option, needed) in [
        (&["--from", "list.csv"][..], "with publish"),
        (&["--listen", "127.0.0.1:0", "--from=list.csv"], "with publish"),
        (&["--versions"], "add --listen"),
        (&["--activities", "Manifest"], "add --listen"),
        (&["--no-hub"], "add --listen"),
        (&["--no-admin"], "add --listen"),
    ] {
        let said = run(folder.path(), &[&republish[..], option].concat(), 2);
        assert!(said.contains(needed), "{option:?}: {said}");
    }
    // Options in the file are accepted: they may be meant for `publish` and `serve`.
    let said = run(folder.path(), &[&republish[..], &["--config", "shared.toml"]].concat(), 2);
    assert!(said.contains("is not a folder"), "{said}");
}

#[test]
fn o373_a_place_of_a_web_archive_that_is_not_a_folder_is_refused() {
    let folder = folder(&[("file", "x")]);
    for place in ["file", "/dev/null", ""] {
        let said = run(folder.path(), &["sync", "http://127.0.0.1:1/", "copy", "--warc", place], 2);
        assert!(said.contains("--warc") && said.contains("folder"), "{said}");
    }
}

#[test]
fn o576_a_login_in_the_url_of_a_webhook_is_refused_and_not_shown() {
    let folder = folder(&[("secret", "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0")]);
    let webhook = ["--webhook", "http://me:hush@127.0.0.1:1/", "--webhook-secret-file", "secret"];
    let said = run(folder.path(), &[&["sync", "http://127.0.0.1:1/", "copy"][..], &webhook].concat(), 2);
    assert!(said.contains("has a login") && !said.contains("hush"), "{said}");
}
