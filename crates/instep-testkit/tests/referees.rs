//! Publications of our Source, judged by programs that share no code with it: a Python verifier that replays lists and
//! packages against the files, `unzip`, `openssl`, `xmllint` and the reference implementation `resync`.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

#[path = "referees/random.rs"]
mod random;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use instep_testkit::{Run, Server, Tree, free_port, instep, peers, wait_for};
use tempfile::TempDir;

/// A way to publish that the documentation describes: its name, options of the command line, and `instep.toml`.
type Configuration = (&'static str, &'static [&'static str], &'static str);

/// A damage to what is published, and a part of what the verifier says of it.
type Damage = (&'static str, fn(&Place));

const SETS: &str =
    "[[set]]\nname = \"texts\"\ncontent = \"texts\"\n[[set]]\nname = \"data\"\ncontent = \"data\"\n";
const LINKS: &str = "[[link]]\nresource = \"texts/*.txt\"\nrel = \"duplicate\"\ntarget = \"https://mirror.example.org/*\"\npri = 2\n\
    [[link]]\nresource = \"data/*.json\"\nrel = \"describedby\"\ntarget = \"data/*.xml\"\nback = \"describes\"\n\
    [[changefreq]]\nresource = \"texts/*\"\nfrequency = \"auto\"\n";
const CODED: &str = "[[coded]]\nresource = \"data/*.gz\"\ncoding = \"gzip\"\n";
const GENERIC: &str =
    "[[generic]]\nresource = \"data/*\"\nspecific = [\"data/*.json\", \"data/*.xml\"]\ndefault = true\n";

const PUBLISHED: &[Configuration] = &[
    ("plain", &[], ""),
    ("single list", &["--single-changelist"], ""),
    ("gzip and sitemap", &["--gzip", "--sitemap"], ""),
    ("dump", &["--dump", "always"], ""),
    ("change dump", &["--dump", "never", "--change-dump"], ""),
    ("patches", &["--patches"], ""),
    ("archives", &["--archives", "--snapshot"], ""),
    ("digests", &["--hash", "md5,sha-1,sha-256,sha-384,sha-512"], ""),
    ("1.0", &["--spec-version", "1.0", "--dump", "always", "--change-dump"], ""),
    ("snapshots", &["--snapshot", "--dump", "always", "--no-robots"], ""),
    ("sets", &["--dump", "always", "--change-dump"], SETS),
    ("links", &["--dump", "always"], LINKS),
    (
        "everything",
        &[
            "--dump",
            "always",
            "--change-dump",
            "--patches",
            "--archives",
            "--gzip",
            "--sitemap",
            "--snapshot",
            "--hash",
            "md5,sha-256",
        ],
        LINKS,
    ),
];

const SERVED: &[Configuration] = &[
    ("served", &[], ""),
    ("served with everything", &["--dump", "always", "--change-dump", "--patches", "--archives"], LINKS),
    ("served versions", &["--versions", "--hash", "md5,sha-256"], ""),
    ("served sets", &["--change-dump"], SETS),
    ("served coded", &["--dump", "always"], CODED),
    ("served generic", &[], GENERIC),
];

const ROUNDS: usize = 4;

/// A folder that is published in one configuration.
struct Place {
    place: TempDir,
    configuration: Configuration,
}

fn oracle(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/oracle").join(name)
}

impl Place {
    fn new(configuration: Configuration) -> Self {
        let place = TempDir::new().unwrap();
        for folder in ["files/texts/deep", "files/data"] {
            fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        fs::write(place.path().join("instep.toml"), configuration.2).unwrap();
        let place = Self { place, configuration };
        for number in 0..12 {
            place.write(&format!("texts/{number}.txt"), &format!("text {number}\n").repeat(number * 40));
        }
        place.write("texts/deep/a & b <é> %20#?.txt", "a name");
        place.write("data/7.json", &json(0));
        place.write("data/7.xml", "<record n=\"0\"/>");
        fs::write(place.files().join("data/coded.gz"), gzip("coded text")).unwrap();
        place
    }

    fn files(&self) -> PathBuf {
        self.place.path().join("files")
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.files().join(path), text).unwrap();
    }

    /// Creates, updates and deletes: in the last round something that was created before.
    fn change(&self, round: usize) {
        self.write(&format!("texts/new-{round}.txt"), &format!("created in round {round}"));
        self.write(&format!("texts/{round}.txt"), &format!("updated in round {round}\n").repeat(20));
        self.write("data/7.json", &json(round));
        self.write("data/7.xml", &format!("<record n=\"{round}\"/>"));
        fs::write(self.files().join("data/coded.gz"), gzip(&format!("coded text {round}"))).unwrap();
        fs::remove_file(self.files().join(format!("texts/{}.txt", 11 - round))).unwrap();
        if round > 1 {
            fs::remove_file(self.files().join(format!("texts/new-{}.txt", round - 1))).unwrap();
        }
    }

    /// Publishes the state of a round; each but the first changes the files before.
    fn publish(&self, round: usize) {
        if round > 0 {
            self.change(round);
        }
        let mut command = instep(["publish", "--base-url", "http://source.example.org/"]);
        command.arg("--config").arg(self.place.path().join("instep.toml")).args(self.configuration.1);
        let run = Run::of(command.arg(self.files()));
        assert_eq!(run.code, Some(0), "{}: {}{}", self.configuration.0, run.stdout, run.stderr);
    }

    /// Files below the documents' folder with this ending.
    fn documents(&self, ending: &str) -> Vec<PathBuf> {
        let files = walkdir::WalkDir::new(self.files().join("resourcesync")).sort_by_file_name();
        let files = files.into_iter().map(|file| file.unwrap().into_path());
        files.filter(|file| file.to_string_lossy().ends_with(ending)).collect()
    }

    /// Runs a referee that must have nothing to say.
    fn ask(&self, command: &mut Command, round: usize) -> Run {
        let run = Run::of(command);
        assert_eq!(
            run.code,
            Some(0),
            "{}, round {round}: {}{}",
            self.configuration.0,
            run.stdout,
            run.stderr
        );
        run
    }
}

fn json(round: usize) -> String {
    format!("{{\"round\": {round}, \"text\": \"{}\"}}\n", "the same ".repeat(60))
}

fn gzip(text: &str) -> Vec<u8> {
    let mut coder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut coder, text.as_bytes()).unwrap();
    coder.finish().unwrap()
}

#[test]
fn every_published_configuration_replays_to_the_files() {
    let Some([python, xmllint, unzip, openssl]) = peers::find(["python3", "xmllint", "unzip", "openssl"])
    else {
        return;
    };
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../resourcesync/schema/sitemap.xsd");
    for configuration in PUBLISHED {
        let place = Place::new(*configuration);
        for round in 0..ROUNDS {
            place.publish(round);
            let mut verify = Command::new(&python);
            verify.arg(oracle("verify.py")).args(["--base", "http://source.example.org/", "--root"]);
            place.ask(verify.arg(place.files()).arg("--tree").arg(place.files()), round);
        }
        let mut lint = Command::new(&xmllint);
        lint.args(["--noout", "--schema"]).arg(&schema).args(place.documents(".xml"));
        place.ask(&mut lint, ROUNDS);
        for package in place.documents(".zip") {
            place.ask(Command::new(&unzip).args(["-tqq"]).arg(&package), ROUNDS);
        }
        assert_digests(&place, &openssl);
    }
}

/// Asserts that the digests of each Resource List are those that `openssl` computes.
fn assert_digests(place: &Place, openssl: &Path) {
    let mut checked = 0;
    for list in place.documents("resourcelist.xml") {
        let text = fs::read_to_string(list).unwrap();
        for entry in text.split("<url>").skip(1) {
            let between =
                |start: &str, end: &str| entry.split(start).nth(1)?.split(end).next().map(str::to_owned);
            let path = between("<loc>http://source.example.org/", "</loc>").unwrap();
            // Names that are escaped are for the verifier.
            if path.contains('%') {
                continue;
            }
            for digest in between(" hash=\"", "\"").unwrap().split(' ') {
                let (algorithm, value) = digest.split_once(':').unwrap();
                let mut command = Command::new(openssl);
                command.args(["dgst", &format!("-{}", algorithm.replace('-', "")), "-r"]);
                let run = place.ask(command.arg(place.files().join(&path)), ROUNDS);
                assert_eq!(run.stdout.split(' ').next(), Some(value), "{path}");
                checked += 1;
            }
        }
    }
    assert!(checked >= 10, "{}: {checked} digests", place.configuration.0);
}

#[test]
fn the_reference_implementation_reads_every_published_document() {
    let Some([client]) = peers::find(["resync-sync"]) else { return };
    let python = client.parent().unwrap().join("python3");
    for configuration in PUBLISHED {
        let place = Place::new(*configuration);
        (0..ROUNDS).for_each(|round| place.publish(round));
        let mut read = Command::new(&python);
        place.ask(read.arg(oracle("read_lists.py")).args(place.documents(".xml")), ROUNDS);
    }
}

#[test]
fn every_served_configuration_replays_to_the_files() {
    let Some([python]) = peers::find(["python3"]) else { return };
    for configuration in SERVED {
        let place = Place::new(*configuration);
        let port = free_port().unwrap();
        let mut command =
            instep(["serve", "--interval", "50ms", "--listen", &format!("127.0.0.1:{port}"), "--config"]);
        command.arg(place.place.path().join("instep.toml")).args(configuration.1);
        let server = Server::start(command.arg(place.files()), port).unwrap();
        for round in 0..ROUNDS {
            if round > 0 {
                place.change(round);
            }
            let mut verify = Command::new(&python);
            verify.arg(oracle("verify.py")).args(["--base", &server.url(), "--tree"]).arg(place.files());
            // Changes are published after a moment; then nothing may differ.
            wait_for(|| match Run::of(&mut verify) {
                Run { code: Some(0), .. } => Ok(()),
                run => Err(format!("{}, round {round}: {}{}", configuration.0, run.stdout, run.stderr)),
            });
        }
        drop(server);
        assert!(!Tree::of(&place.files()).names().is_empty());
    }
}

#[test]
fn the_verifier_finds_what_is_wrong() {
    let Some([python]) = peers::find(["python3"]) else { return };
    let damages: [Damage; 5] = [
        ("is listed, and no such file exists", |place| {
            fs::remove_file(place.files().join("texts/3.txt")).unwrap()
        }),
        ("exists, and is not listed", |place| place.write("texts/stray.txt", "")),
        ("is listed, it is", |place| place.write("texts/4.txt", &"TEXT 4\n".repeat(160))),
        ("which is not there", |place| {
            fs::remove_file(place.files().join("resourcesync/changelist.xml")).unwrap()
        }),
        ("no package", |place| {
            place.documents(".zip").iter().for_each(|file| fs::write(file, "PK").unwrap())
        }),
    ];
    for (what, damage) in damages {
        let place = Place::new(("damaged", &["--dump", "always"], ""));
        place.publish(0);
        damage(&place);
        let mut verify = Command::new(&python);
        verify.arg(oracle("verify.py")).args(["--base", "http://source.example.org/", "--root"]);
        let run = Run::of(verify.arg(place.files()).arg("--tree").arg(place.files())).with_code(1);
        assert!(run.stdout.contains(what), "{what}: {}", run.stdout);
    }
}
