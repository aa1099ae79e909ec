//! Runs of the program that a signal ends.

use std::process::{Command, Stdio};

use instep_testkit::{FakeSource, Fault, Run, Tree, instep, wait_for_part};

#[test]
fn p9_half_a_resource_outlives_every_signal_and_the_rest_is_asked_for() {
    for (signal, code) in [("-KILL", None), ("-TERM", Some(143)), ("-INT", Some(130))] {
        let folder = tempfile::tempdir().unwrap();
        let (copy, truth) = (folder.path().join("copy"), folder.path().join("truth"));
        let source = FakeSource::start().with_resources([("large", vec![7; 8 << 20])]);
        source.fail("large", [Fault::Stall(4 << 20)]);
        let mut command = instep(["sync", "--retries", "0"]);
        let command = command.arg(source.url("")).arg(&copy).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        wait_for_part(&copy, 4 << 20);
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), code, "{signal}");
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(said.contains("Stopping: what has arrived is saved"), code.is_some(), "{signal}: {said}");
        let _ = Run::of(instep(["sync"]).arg(source.url("")).arg(&copy)).with_code(0);
        let last = source.requests().into_iter().rfind(|request| request.path == "large").unwrap();
        assert_eq!(last.header("range"), Some("bytes=4194304-"), "{signal}");
        assert!(last.header("if-range").is_some(), "{signal}");
        source.write_to(&truth).unwrap();
        assert_eq!(Tree::of(&truth), Tree::of(&copy), "{signal}");
    }
}
