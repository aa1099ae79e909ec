//! Options from the command line, the environment and `instep.toml`: which one counts, and the errors of each.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::{fs, path::Path};

use assert_cmd::Command;
use tempfile::TempDir;

/// Makes a folder with one resource and a configuration file.
fn folder(configuration: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("data/a.txt"), "a").unwrap();
    fs::write(folder.path().join("instep.toml"), configuration).unwrap();
    folder
}

fn instep(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("instep").unwrap();
    command.current_dir(folder).env_clear().env("HOME", folder);
    command
}

fn source_description(command: &mut Command) -> String {
    let output = command.args(["publish", "data", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let summary: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    summary["source_description"].as_str().unwrap().to_owned()
}

#[test]
fn a_flag_wins_over_the_environment_and_the_environment_over_the_file() {
    let folder = folder("[publish]\nbase-url = \"http://file.example/\"\n");
    let found = source_description(&mut instep(folder.path()));
    assert_eq!(found, "http://file.example/.well-known/resourcesync");

    // Each run needs a new Source, because another base URL for the same state is refused.
    let start_anew = || {
        for own in [".instep", "resourcesync", ".well-known"] {
            fs::remove_dir_all(folder.path().join("data").join(own)).unwrap();
        }
    };
    start_anew();
    let found =
        source_description(instep(folder.path()).env("INSTEP_BASE_URL", "http://environment.example/"));
    assert_eq!(found, "http://environment.example/.well-known/resourcesync");

    start_anew();
    let mut command = instep(folder.path());
    command.env("INSTEP_BASE_URL", "http://environment.example/");
    let output =
        command.args(["publish", "data", "--json", "--base-url", "http://flag.example/"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("http://flag.example/.well-known/resourcesync"));
}

#[test]
fn a_key_that_the_command_does_not_have_is_named() {
    let folder = folder("[publish]\nbase-url = \"http://file.example/\"\ncolour = \"red\"\n");
    let output = instep(folder.path()).args(["publish", "data"]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("instep.toml line 3: [publish] has no key colour"), "{message}");
}

#[test]
fn o296_a_global_option_in_the_file_is_named_with_the_places_where_it_can_be_set() {
    let folder = folder("[publish]\nbase-url = \"http://file.example/\"\nverbose = 1\n");
    let output = instep(folder.path()).args(["publish", "data"]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    let said =
        "instep.toml line 3: [publish] no file sets verbose; use --verbose or the variable INSTEP_VERBOSE";
    assert!(message.contains(said), "{message}");
}

#[test]
fn o267_a_wrong_value_of_the_environment_is_named_and_a_switch_is_true_or_false() {
    let folder = folder("[publish]\nbase-url = \"http://file.example/\"\n");
    let refused = |variable: &str, value: &str, part: &str| {
        let output = instep(folder.path()).env(variable, value).args(["publish", "data"]).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(&format!("{variable}: ")) && message.contains(part), "{message}");
        assert!(!message.contains("instep.toml"), "{message}");
    };
    refused("INSTEP_ALLOW_EMPTY", "nonsense", "write true or false");
    refused("INSTEP_MAX_DELETE", "all", "--max-delete");
    for value in ["", "0", "No", "TRUE", "1"] {
        let mut command = instep(folder.path());
        let output = command.env("INSTEP_ALLOW_EMPTY", value).args(["publish", "data"]).output().unwrap();
        assert!(output.status.success(), "{value:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    // A typed value replaces that of the environment, so its fault does not name the variable.
    let mut command = instep(folder.path());
    command.env("INSTEP_MAX_DELETE", "5").args(["publish", "data", "--max-delete", "all"]);
    let message = String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned();
    assert!(message.contains("--max-delete") && !message.contains("INSTEP_MAX_DELETE"), "{message}");
}

#[test]
fn o479_an_empty_variable_names_no_configuration_file() {
    let folder = folder("[publish]\nbase-url = \"http://file.example/\"\n");
    for variable in ["INSTEP_CONFIG", "XDG_CONFIG_HOME"] {
        let mut command = instep(folder.path());
        let output = command.env(variable, "").args(["publish", "data", "--dry-run"]).output().unwrap();
        assert!(output.status.success(), "{variable}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn o561_an_empty_variable_leaves_an_option_to_the_file() {
    let folder =
        folder("[publish]\nbase-url = \"http://file.example/\"\ndry-run = true\nmax-delete = \"5\"\n");
    for variable in ["INSTEP_DRY_RUN", "INSTEP_MAX_DELETE", "INSTEP_BASE_URL"] {
        let output = instep(folder.path()).env(variable, "").args(["publish", "data"]).output().unwrap();
        assert!(output.status.success(), "{variable}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!folder.path().join("data/.instep").exists(), "{variable}");
    }
}

#[test]
fn o329_the_variables_of_the_log_are_used_or_named() {
    let folder = folder("[publish]\nbase-url = \"http://file.example/\"\n");
    let said = |variable: &str, value: &str| {
        let mut command = instep(folder.path());
        let output = command.env(variable, value).args(["publish", "data", "--dry-run"]).output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(said("INSTEP_LOG", "a=b=c").contains("INSTEP_LOG=\"a=b=c\" is not used: "));
    assert_eq!(said("INSTEP_LOG", "instep_source=error"), "");
    let wrong = said("INSTEP_VERBOSE", "x");
    assert!(wrong.contains("INSTEP_VERBOSE: ") && wrong.contains("write 0, 1 or 2"), "{wrong}");
    assert_eq!(said("INSTEP_VERBOSE", ""), "");
}

#[test]
fn a_table_that_no_command_owns_is_named() {
    let folder = folder("[publsh]\n");
    let output =
        instep(folder.path()).args(["publish", "data", "--base-url", "http://x.example/"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no command publsh"));
}

#[test]
fn an_option_that_is_missing_or_wrong_ends_with_2() {
    let folder = folder("");
    for arguments in
        [&["publish", "data"][..], &["sync"], &["sync", "http://x.example/", "--timeout", "soon"], &["dance"]]
    {
        let output = instep(folder.path()).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn o123_a_timeout_of_0_is_refused() {
    let folder = folder("");
    let output =
        instep(folder.path()).args(["sync", "http://x.example/", "--timeout", "0s"]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("leaves no time for an answer"), "{message}");
}

#[test]
fn help_prints_the_table_of_all_exit_codes() {
    let folder = folder("");
    let help = instep(folder.path()).args(["help", "exit-codes"]).output().unwrap();
    let text = String::from_utf8(help.stdout).unwrap();
    for code in ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "20", "130", "143"] {
        assert!(text.lines().any(|line| line.split_whitespace().next() == Some(code)), "{code}");
    }
    let table = instep(folder.path()).arg("exit-codes").output().unwrap().stdout;
    let book = fs::read_to_string("../../docs/reference/exit-codes.md").unwrap();
    let words = |line: &str| line.replace('|', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let rows = book.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let listed: Vec<_> = String::from_utf8(table).unwrap().lines().skip(2).map(words).collect();
    assert_eq!(rows.map(words).collect::<Vec<_>>(), listed, "the table of the book");
}

#[test]
fn rules_of_the_file_describe_resources_by_their_path() {
    let rules = "[publish]\nbase-url = \"http://x.example/\"\n\
        [[link]]\nresource = \"*.txt\"\nrel = \"describedby\"\ntarget = \"*.xml\"\nback = \"describes\"\n\
        [[link]]\nresource = \"*.txt\"\nrel = \"duplicate\"\ntarget = \"http://mirror.example/*.txt\"\npri = 3\n\
        [[link]]\nresource = \"*\"\nrel = \"collection\"\ntarget = \"http://x.example/all\"\n\
        [[link]]\nresource = \"*.xml\"\nrel = \"profile\"\ntarget = \"http://profiles.example/p\"\n\
        [[changefreq]]\nresource = \"a*\"\nfrequency = \"daily\"\n\
        [[coded]]\nresource = \"*.gz\"\n\
        [[generic]]\nresource = \"*\"\nspecific = [\"*.txt\", \"*.xml\"]\n";
    let folder = folder(rules);
    for name in ["a.xml", "b.xml.gz"] {
        fs::write(folder.path().join("data").join(name), "<a/>").unwrap();
    }
    source_description(&mut instep(folder.path()));
    let list = fs::read_to_string(folder.path().join("data/resourcesync/resourcelist.xml")).unwrap();
    let entry = |name: &str| list.split("<url>").find(|it| it.contains(&format!("/{name}</loc>"))).unwrap();
    for (name, parts) in [
        (
            "a.txt",
            vec![
                "rel=\"describedby\" href=\"http://x.example/a.xml\"",
                "rel=\"duplicate\" href=\"http://mirror.example/a.txt\" pri=\"3\"",
                "rel=\"collection\" href=\"http://x.example/all\"",
                "rel=\"canonical\" href=\"http://x.example/a\"",
                "rel=\"alternate\" href=\"http://x.example/a.xml\" type=\"text/xml\"",
                "<changefreq>daily</changefreq>",
            ],
        ),
        (
            "a.xml",
            vec![
                "rel=\"describes\" href=\"http://x.example/a.txt\"",
                "rel=\"profile\" href=\"http://profiles.example/p\"",
            ],
        ),
        ("b.xml.gz", vec!["encoding=\"gzip\" ", "length=\"4\"", "type=\"text/xml\""]),
    ] {
        for part in parts {
            assert!(entry(name).contains(part), "{name}: {part} in {}", entry(name));
        }
    }
}

#[test]
fn a_rule_that_cannot_be_read_says_where_and_what() {
    for (rule, said) in [
        ("[[changefreq]]\nresource = \"*\"\nfrequency = \"often\"\n", "write auto"),
        ("[[link]]\nresource = \"*\"\n", "[[link]]"),
        ("[[generic]]\nresource = \"*/*\"\nspecific = [\"*\"]\n", "more than one *"),
        (
            "[[link]]\nresource = \"*\"\nrel = \"up\"\ntarget = \"a\"\npri = \"1\"\n",
            "write a whole number without quotes",
        ),
    ] {
        let folder = folder(&format!("[publish]\nbase-url = \"http://x.example/\"\n{rule}"));
        let output = instep(folder.path()).args(["publish", "data"]).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && message.contains(said), "{message}");
    }
}

#[test]
fn o1046_a_credential_without_its_origin_is_answered_with_where_it_belongs() {
    for table in ["[credentials]\nbearer-file = \"token\"\n", "[credentials.\"a\"]\nbearer = \"token\"\n"] {
        let folder = folder(table);
        let output = instep(folder.path()).args(["sync", "http://127.0.0.1:1/"]).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2));
        assert!(message.contains("write [credentials.\"https://HOST\"] for each origin"), "{message}");
        assert!(message.contains("instep.toml line 1"), "{message}");
    }
}

#[test]
fn o1047_a_link_that_no_document_may_have_is_refused_before_anything_is_published() {
    for (values, said) in [
        ("rel = \"friend\"", "\"friend\" is neither registered nor a URI"),
        ("rel = \"duplicate\"\nback = \"\"", "\"\" is neither registered nor a URI"),
        ("rel = \"duplicate\"\ntype = \"html\"", "type \"html\" is not a media type such as text/html"),
        ("rel = \"duplicate\"\npri = 0", "pri 0 is not a number from 1 to 999999"),
        ("rel = \"duplicate\"\npri = 1000000", "pri 1000000 is not a number from 1 to 999999"),
        ("rel = \"duplicate\"\npri = -1", "pri -1 is not a number from 1 to 999999"),
        ("rel = \"duplicate\"\npri = 5000000000", "pri 5000000000 is not a number from 1 to 999999"),
    ] {
        let link = "[[link]]\nresource = \"*\"\ntarget = \"http://mirror.example/*\"";
        let folder = folder(&format!("[publish]\nbase-url = \"http://x.example/\"\n{link}\n{values}\n"));
        let output = instep(folder.path()).args(["publish", "data"]).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("instep.toml line 3: [[link]]: ") && message.contains(said), "{message}");
        assert!(!folder.path().join("data/resourcesync").exists());
    }
}

#[test]
fn p15_a_wrong_value_in_the_file_names_the_file() {
    let folder = folder("[sync]\ntransfers = \"many\"\n");
    let said = |arguments: &[&str]| {
        let output =
            instep(folder.path()).args(["sync", "http://127.0.0.1:1/"]).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let message = said(&[]);
    assert!(message.contains("instep.toml line 2: [sync] transfers: invalid value 'many'"), "{message}");
    // A typed value replaces that of the file, so its fault does not name the file.
    let message = said(&["--transfers", "few"]);
    assert!(message.contains("'few'") && !message.contains("instep.toml"), "{message}");
}

#[test]
fn p15_the_error_of_an_incomplete_command_does_not_show_options_of_the_file() {
    let folder = folder("[sync]\ndelete = true\ntransfers = 16\nmax-delete = \"10%\"\nevents = \"log\"\n");
    let said = |arguments: &[&str]| {
        let output = instep(folder.path()).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let message = said(&["sync"]);
    assert!(message.contains("<URL>") && message.contains("Usage: instep sync [OPTIONS]"), "{message}");
    assert!(!message.contains("--delete") && !message.contains("--transfers"), "{message}");
    // Two options exclude each other, and one of them is in the file.
    let message = said(&["sync", "http://127.0.0.1:1/", "--on-change", "cat"]);
    assert!(message.contains("instep.toml line 5: [sync] events: "), "{message}");
}

#[test]
fn p7_wrong_usage_is_reported_as_json_if_json_was_requested() {
    let folder = folder("");
    let output = instep(folder.path()).args(["sync", "--json", "--log-format", "json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let line = |bytes: &[u8]| -> serde_json::Value {
        let text = String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text.lines().count(), 1, "{text}");
        serde_json::from_str(&text).unwrap()
    };
    let error = line(&output.stdout);
    assert_eq!((error["type"].as_str(), error["exit_code"].as_u64()), (Some("error"), Some(2)));
    assert!(error["message"].as_str().unwrap().contains("<URL>"), "{error}");
    assert!(error["hint"].as_str().unwrap().starts_with("Usage: instep sync"), "{error}");
    let log = line(&output.stderr);
    assert_eq!(log["level"], "ERROR");
    assert!(log["message"].as_str().unwrap().contains("<URL>"), "{log}");
}

#[test]
fn c1_c2_a_refused_publication_exits_6_and_says_what_to_do() {
    let folder = folder("");
    let publish = |arguments: &[&str]| {
        let output = instep(folder.path()).args(["publish", "data"]).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(publish(&["--base-url", "http://old.example/"]).0, Some(0));
    let (code, message) = publish(&["--base-url", "http://new.example/"]);
    assert_eq!(code, Some(6), "{message}");
    assert!(message.contains("http://old.example/") && message.contains("--rebase OLD NEW"), "{message}");
    let (code, message) = publish(&["--rebase", "http://old.example/", "http://new.example/"]);
    assert_eq!(code, Some(0), "{message}");
    assert!(message.contains("redirect (301) each path below http://old.example/"), "{message}");

    fs::remove_file(folder.path().join("data/a.txt")).unwrap();
    let (code, message) = publish(&["--base-url", "http://new.example/"]);
    assert_eq!(code, Some(6), "{message}");
    assert!(message.contains("--allow-empty"), "{message}");
    let (code, message) = publish(&["--base-url", "http://new.example/", "--allow-empty"]);
    assert_eq!(code, Some(0), "{message}");
}
