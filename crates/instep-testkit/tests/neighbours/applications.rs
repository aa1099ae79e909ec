//! Applications that report changes: line by line, and over HTTP by the clients of the book.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use instep_testkit::{Run, instep, peers, wait_until};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The URL of the files; records of applications lie beside it.
const BASE: &str = "https://example.org/data/";
const SITE: &str = "https://example.org/";

fn published(dir: &Path) -> PathBuf {
    let data = dir.join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("file.txt"), "a file").unwrap();
    _ = Run::of(&mut instep(["publish", data.to_str().unwrap(), "--base-url", BASE])).with_code(0);
    data
}

/// Returns the kinds of change and the URIs of the open Change List.
fn listed(documents: &Path) -> BTreeSet<(String, String)> {
    let list = fs::read_to_string(documents.join("resourcesync/changelist-000001.xml")).unwrap();
    let entry = |entry: &str| {
        let between =
            |from: &str, to: &str| entry.split_once(from).unwrap().1.split(to).next().unwrap().to_owned();
        (between("change=\"", "\""), between("<loc>", "</loc>"))
    };
    list.split("<url>").skip(1).map(entry).collect()
}

#[test]
fn o87_a_line_that_is_no_text_or_too_long_costs_itself_and_no_other() {
    let dir = TempDir::new().unwrap();
    let data = published(dir.path());
    let good = |number: u8| format!("{{\"uri\":\"{SITE}records/{number}\",\"change\":\"created\"}}");
    let lines: [Vec<u8>; 7] = [
        format!("\u{feff}{}\r", good(1)).into_bytes(),
        b"{\"uri\":\"https://example.org/caf\xe9\",\"change\":\"created\"}".to_vec(),
        good(3).into_bytes(),
        format!("{{\"uri\":\"{SITE}x\",\"more\":\"{}\"}}", "x".repeat(5_000_000)).into_bytes(),
        good(5).into_bytes(),
        format!("[\"{SITE}y\",null,null,null,null,null,null,null,\"created\",null]").into_bytes(),
        good(7).into_bytes(),
    ];
    let input = dir.path().join("lines");
    fs::write(&input, lines.join(&b'\n')).unwrap();
    let mut command = instep(["change", "--stdin", "--dir", data.to_str().unwrap()]);
    let run = Run::of(command.stdin(fs::File::open(&input).unwrap())).with_code(3);
    let answers: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let refused = ["", "not UTF-8", "", "longer than", "", "not a JSON object", ""];
    assert_eq!(answers.len(), refused.len(), "{}", run.stdout);
    for ((number, answer), reason) in (1..).zip(&answers).zip(refused) {
        assert_eq!(
            (&answer["line"], answer["sequence"].is_null()),
            (&json!(number), !reason.is_empty()),
            "{answer}"
        );
        assert!(answer["what"].as_str().unwrap_or_default().contains(reason), "{answer}");
    }
    let mut publish = instep(["publish", data.to_str().unwrap(), "--base-url", BASE]);
    _ = Run::of(&mut publish).with_code(0);
    assert_eq!(listed(&data).iter().filter(|(_, uri)| uri.contains("/records/")).count(), 4);
}

#[test]
fn each_line_is_answered_in_order_once_it_is_durable() {
    let dir = TempDir::new().unwrap();
    let data = published(dir.path());
    let mut command = instep(["change", "--stdin", "--dir", data.to_str().unwrap()]);
    let mut running =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = running.stdin.take().unwrap();
    let mut answers = BufReader::new(running.stdout.take().unwrap()).lines();
    let mut ask = |line: String| -> Value {
        writeln!(input, "{line}").unwrap();
        serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap()
    };
    let change = |path: &str, kind: &str| {
        json!({ "uri": format!("{SITE}{path}"), "change": kind, "length": 3 }).to_string()
    };
    // The answer comes while the input goes on.
    let first = ask(change("records/1", "created"));
    assert_eq!(
        (&first["type"], &first["line"], &first["what"]),
        (&json!("acknowledged"), &json!(1), &Value::Null)
    );
    let wrong = ask("{\"uri\":\"no uri\"}".to_owned());
    assert_eq!((&wrong["line"], &wrong["sequence"]), (&json!(2), &Value::Null));
    assert!(wrong["what"].as_str().unwrap().contains("no uri"), "{wrong}");
    let second = ask(change("records/2", "updated"));
    assert!(second["sequence"].as_u64() > first["sequence"].as_u64(), "{first} {second}");
    ask(change("records/1", "deleted"));
    drop(input);
    assert_eq!(running.wait().unwrap().code(), Some(3), "a line was refused");
    _ = Run::of(&mut instep(["publish", data.to_str().unwrap(), "--base-url", BASE])).with_code(0);
    let expected = [("created", "records/1"), ("created", "records/2"), ("deleted", "records/1")];
    let expected = expected.map(|(kind, path)| (kind.to_owned(), format!("{SITE}{path}")));
    assert_eq!(listed(&data), BTreeSet::from(expected));
}

/// A Source that is served, with its listener for applications.
struct Served {
    child: Child,
    data: PathBuf,
}

impl Served {
    fn start(dir: &Path) -> Self {
        let data = published(dir);
        let child = instep(["serve", data.to_str().unwrap(), "--base-url", BASE, "--listen", "127.0.0.1:0"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let served = Self { child, data };
        wait_until("the listener", || served.admin_file().is_file());
        served
    }

    fn admin_file(&self) -> PathBuf {
        self.data.join(".instep/admin.json")
    }

    fn admin(&self) -> Value {
        serde_json::from_slice(&fs::read(self.admin_file()).unwrap()).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

const PAGE: &str = include_str!("../../../../docs/how-to/application.md");

/// Returns the block of a language on the page about applications.
fn block(language: &str) -> String {
    let begin = format!("```{language}\n");
    let (_, rest) = PAGE.split_once(&begin).unwrap_or_else(|| panic!("no block of {language}"));
    rest.split("\n```").next().unwrap().to_owned() + "\n"
}

/// Runs a client of the book, which reports a change of one record.
fn client(language: &str, interpreter: &'static str, file: &str, record: &str) {
    let Some([interpreter]) = peers::find([interpreter]) else { return };
    let dir = TempDir::new().unwrap();
    let served = Served::start(dir.path());
    let program = block(language).replace("/srv/data", served.data.to_str().unwrap());
    assert!(program.contains(record), "{program}");
    let path = dir.path().join(file);
    fs::write(&path, program).unwrap();
    let run = Run::of(Command::new(interpreter).arg(&path).current_dir(dir.path())).with_code(0);
    assert!(run.stdout.contains("sequence"), "{run:?}");
    let uri = format!("{SITE}{record}");
    let documents = served.data.join(".instep/documents");
    wait_until(&uri, || {
        documents.join("resourcesync/changelist-000001.xml").is_file()
            && listed(&documents).iter().any(|(_, listed)| *listed == uri)
    });
}

#[test]
fn the_client_for_curl_reports_a_change() {
    if peers::find(["curl"]).is_some() {
        client("bash", "bash", "report.sh", "records/17");
    }
}

#[test]
fn the_client_in_python_reports_a_change() {
    client("python", "python3", "report.py", "records/18");
}

#[test]
fn the_client_in_ruby_reports_a_change() {
    client("ruby", "ruby", "report.rb", "records/19");
}

#[test]
fn the_client_in_php_reports_a_change() {
    client("php", "php", "report.php", "records/20");
}

#[test]
fn the_client_in_java_reports_a_change() {
    client("java", "java", "Report.java", "records/21");
}

#[test]
fn the_listener_answers_as_its_openapi_document_says() {
    let Some([curl]) = peers::find(["curl"]) else { return };
    let document: Value =
        serde_json::from_str(include_str!("../../../../docs/reference/changes.openapi.json")).unwrap();
    let dir = TempDir::new().unwrap();
    let served = Served::start(dir.path());
    let admin = served.admin();
    let (url, token) =
        (admin["url"].as_str().unwrap().trim_end_matches('/'), admin["token"].as_str().unwrap());
    let ask = |method: &str, path: &str, token: &str, body: Option<&str>| {
        let mut command = Command::new(&curl);
        command.args([
            "-s",
            "-X",
            method,
            "-w",
            "\n%{http_code}",
            "-H",
            &format!("Authorization: Bearer {token}"),
        ]);
        if let Some(body) = body {
            command.args(["-H", "Content-Type: application/json", "--data", body]);
        }
        let run = Run::of(command.arg(format!("{url}{path}"))).with_code(0);
        let (body, status) = run.stdout.rsplit_once('\n').unwrap();
        (status.to_owned(), body.to_owned())
    };
    let mut tried = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let method = method.to_uppercase();
            let responses = operation["responses"].as_object().unwrap();
            assert_eq!(ask(&method, path, "wrong", None).0, "401");
            assert!(responses.contains_key("401"), "{path}");
            let examples = operation["requestBody"]["content"]["application/json"]["examples"].as_object();
            let bodies: Vec<Option<String>> = match examples {
                Some(examples) => {
                    examples.values().map(|example| Some(example["value"].to_string())).collect()
                }
                None => vec![None],
            };
            for body in bodies {
                let (status, answer) = ask(&method, path, token, body.as_deref());
                let response =
                    responses.get(&status).unwrap_or_else(|| panic!("{path} answers {status}: {answer}"));
                assert!(status.starts_with('2'), "{path}: {status} {answer}");
                let required = response["content"]["application/json"]["schema"]["required"].as_array();
                if let Some(required) = required {
                    let answer: Value = serde_json::from_str(&answer).unwrap();
                    assert!(
                        required.iter().all(|name| answer.get(name.as_str().unwrap()).is_some()),
                        "{path}: {answer}"
                    );
                }
                tried += 1;
            }
        }
    }
    assert!(tried >= 5, "{tried}");
    let (status, answer) = ask("POST", "/changes", token, Some("[{\"uri\":\"relative\"}]"));
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert!(status == "400" && answer["error"].as_str().unwrap().contains("item 0"), "{status} {answer}");
}
