//! Random rounds of changes, published with random options, and replayed by the verifier after each round.
//!
//! The verifier also continues from the states of earlier rounds, as readers do that were away for some of them. A second
//! test kills publications before.
//! `INSTEP_SEED=n` or `n..m` runs these Sources; `INSTEP_LONG=1` runs 300.

use std::{
    env, fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
    process::Command,
};

use instep_testkit::{Dice, Run, instep, peers, wrap};
use tempfile::TempDir;
use walkdir::WalkDir;

use super::oracle;

/// Names that differ in case or normalization alone, that XML, URIs, shells or ZIP treat in a special way, and that are
/// not UTF-8.
const NAMES: &[&[u8]] = &[
    b"a",
    b"A",
    b"a.txt",
    b"page.json",
    b"page.xml",
    b"manifest.xml",
    b"resourcesync2",
    b"x&y",
    b"lt<gt>",
    b"q'\"q",
    b"p%20",
    b"%",
    b"%41",
    b"ha#sh",
    b"qu?s;e",
    b"new\nline",
    b"tab\tx",
    b"cr\rx",
    b" lead",
    b"trail ",
    b"a:b",
    b"\\b",
    b"[b]",
    b"{c}",
    b"-rf",
    b"$HOME",
    b"*",
    b"=",
    b"a..b",
    b"dot.",
    b"\x7f",
    b"\x01",
    b"\xff\xfe",
    b"lat\xe9n",
    b"\xed\xa0\x80",
    "\u{fc}.txt".as_bytes(),
    "u\u{308}.txt".as_bytes(),
    "\u{200b}".as_bytes(),
    "\u{fffe}".as_bytes(),
    "\u{1f600}".as_bytes(),
    &[b'z'; 255],
];

/// Options, each with the number of Sources of which one has it.
const OPTIONS: &[(u64, &[&str])] = &[
    (2, &["--rotate-entries", "2"]),
    (4, &["--closed-lists", "2"]),
    (2, &["--dump", "always"]),
    (3, &["--dump-every", "0s"]),
    (5, &["--dump-every", "1s"]),
    (2, &["--change-dump"]),
    (2, &["--patches"]),
    (2, &["--archives"]),
    (3, &["--gzip"]),
    (5, &["--single-changelist"]),
    (4, &["--snapshot"]),
    (4, &["--hash", "md5,sha-1"]),
];

const ROUNDS: usize = 7;

/// Calls that change something on the disk.
const CALLS: &[&str] =
    &["renameat2", "renameat", "rename", "fdatasync", "fsync", "pwrite64", "unlinkat", "unlink"];

/// A Source that a seed decides.
struct RandomSource {
    place: TempDir,
    dice: Dice,
    options: Vec<&'static str>,
}

impl RandomSource {
    fn of(seed: u64) -> Self {
        let (place, mut dice) = (TempDir::new().unwrap(), Dice::of(seed));
        let chosen = OPTIONS.iter().filter(|(one_in, _)| dice.one_in(*one_in));
        let mut options: Vec<_> = chosen.flat_map(|(_, options)| options.iter().copied()).collect();
        if options.contains(&"--archives") && dice.one_in(4) {
            options.extend(["--archive-count", "2"]);
        }
        fs::create_dir(place.path().join("files")).unwrap();
        fs::write(place.path().join("instep.toml"), "").unwrap();
        Self { place, dice, options }
    }

    fn files(&self) -> PathBuf {
        self.place.path().join("files")
    }

    /// Returns a path of up to three names, which may be in use as a file or folder.
    fn any_path(&mut self) -> PathBuf {
        let depth = 1 + self.dice.below(3);
        (0..depth).fold(self.files(), |path, _| {
            let name = NAMES[usize::try_from(self.dice.below(NAMES.len() as u64)).unwrap()];
            path.join(std::ffi::OsStr::from_bytes(name))
        })
    }

    fn any_bytes(&mut self) -> Vec<u8> {
        let (line, count) = (self.dice.below(9), self.dice.below(200));
        let count = usize::try_from(count).unwrap();
        match self.dice.below(4) {
            0 => Vec::new(),
            1 => format!("{{\"line\": {line}, \"text\": \"{}\"}}", "same ".repeat(count)).into_bytes(),
            2 => (0..count * 9).map(|_| u8::try_from(self.dice.below(256)).unwrap()).collect(),
            _ => format!("line {line}\n").repeat(count).into_bytes(),
        }
    }

    fn any_file(&mut self) -> Option<PathBuf> {
        let files = WalkDir::new(self.files()).min_depth(1).sort_by_file_name().into_iter();
        let published = |path: &Path| {
            let names = [".instep", ".well-known", "resourcesync", "robots.txt"];
            names.iter().any(|name| path.starts_with(self.files().join(name)))
        };
        let files: Vec<_> = files
            .map(|file| file.unwrap())
            .filter(|file| file.file_type().is_file() && !published(file.path()))
            .collect();
        let chosen = self.dice.below(files.len().max(1) as u64);
        files.get(usize::try_from(chosen).unwrap()).map(|file| file.path().to_owned())
    }

    /// Changes something; an operation that the names in use do not allow changes nothing.
    fn change(&mut self) -> Option<()> {
        let (file, other) = (self.any_file(), self.any_path());
        let bytes = self.any_bytes();
        match self.dice.below(12) {
            0..4 => create(&other, &bytes),
            4 => fs::write(file?, bytes).ok(),
            5 => self.keep_times(&file?),
            6 => fs::File::options().append(true).open(file?).ok()?.set_modified(std::time::UNIX_EPOCH).ok(),
            7 => fs::remove_file(file?).ok(),
            8 => {
                let file = file?;
                fs::remove_file(&file).ok()?;
                create(&file.join("inside"), &bytes)
            }
            9 => {
                let folder = file?.parent()?.to_owned();
                (folder != self.files()).then(|| fs::remove_dir_all(&folder).ok())??;
                fs::write(folder, bytes).ok()
            }
            10 => {
                fs::create_dir_all(other.parent()?).ok()?;
                fs::rename(file?, other).ok()
            }
            _ => {
                let file = file?;
                fs::remove_file(&file).ok()?;
                // Nothing can be written through a link that leads nowhere.
                symlink("/nowhere/at/all", file).ok()
            }
        }
    }

    /// Replaces a byte, and sets the time of modification back to what it was.
    fn keep_times(&mut self, file: &Path) -> Option<()> {
        let modified = fs::metadata(file).ok()?.modified().ok()?;
        let mut bytes = fs::read(file).ok()?;
        let place = usize::try_from(self.dice.below(bytes.len().max(1) as u64)).ok()?;
        *bytes.get_mut(place)? ^= 1;
        fs::write(file, bytes).ok()?;
        fs::File::options().append(true).open(file).ok()?.set_modified(modified).ok()
    }

    /// Kills publications at one of the first calls that change something; none if there are fewer. More is changed after
    /// each.
    fn interrupt(&mut self, strace: &Path) {
        for _ in 0..self.dice.below(3) {
            let call = CALLS[usize::try_from(self.dice.below(CALLS.len() as u64)).unwrap()];
            let inject = format!("inject={call}:signal=SIGKILL:when={}", 1 + self.dice.below(40));
            let mut traced = Command::new(strace);
            traced.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject]);
            Run::of(&mut wrap(traced, &self.publish()));
            for _ in 0..self.dice.below(4) {
                self.change();
            }
        }
    }

    fn publish(&self) -> Command {
        let mut command = instep(["publish", "--base-url", "http://source.example.org/a%20b/"]);
        command
            .args(["--max-delete", "100%", "--allow-empty", "--config"])
            .arg(self.place.path().join("instep.toml"))
            .args(&self.options)
            .arg(self.files());
        command
    }

    /// Publishes and replays; returns what the verifier says if something differs.
    fn round(&mut self, python: &Path, strace: Option<&Path>) -> Result<(), String> {
        for _ in 0..self.dice.below(14) {
            self.change();
        }
        if let Some(strace) = strace {
            self.interrupt(strace);
        }
        let run = Run::of(&mut self.publish());
        // A link is reported, and is no resource.
        if !matches!(run.code, Some(0 | 3)) {
            return Err(format!("{:?}: {}{}", run.code, run.stdout, run.stderr));
        }
        let mut verify = Command::new(python);
        verify.arg(oracle("verify.py")).args(["--base", "http://source.example.org/a%20b/", "--root"]);
        verify.arg(self.files()).arg("--tree").arg(self.files());
        let run = Run::of(verify.arg("--history").arg(self.place.path().join("history.json")));
        if run.code == Some(0) { Ok(()) } else { Err(format!("{}{}", run.stdout, run.stderr)) }
    }
}

fn create(path: &Path, bytes: &[u8]) -> Option<()> {
    fs::create_dir_all(path.parent()?).ok()?;
    fs::write(path, bytes).ok()
}

fn seeds() -> std::ops::Range<u64> {
    match env::var("INSTEP_SEED") {
        Ok(seed) => {
            let (first, last) = seed.split_once("..").unwrap_or((&seed, ""));
            let first = first.parse().unwrap();
            first..last.parse().unwrap_or(first + 1)
        }
        Err(_) if env::var_os("INSTEP_LONG").is_some() => 0..300,
        Err(_) => 0..5,
    }
}

fn play(python: &Path, strace: Option<&Path>) {
    for seed in seeds() {
        let mut source = RandomSource::of(seed);
        for round in 0..ROUNDS {
            let verdict = source.round(python, strace);
            assert!(verdict.is_ok(), "INSTEP_SEED={seed}, round {round}, {:?}: {verdict:?}", source.options);
        }
        let options = ["validate", "--strict"];
        let run = Run::of(instep(options).arg(source.files().join("resourcesync")));
        assert_eq!(run.code, Some(0), "INSTEP_SEED={seed}, {:?}: {}", source.options, run.stdout);
    }
}

#[test]
fn random_rounds_of_changes_replay_to_the_files_from_every_earlier_state() {
    let Some([python]) = peers::find(["python3"]) else { return };
    play(&python, None);
}

#[test]
fn random_rounds_with_killed_publications_replay_to_the_files_from_every_earlier_state() {
    let Some([python, strace]) = peers::find(["python3", "strace"]) else { return };
    play(&python, Some(&strace));
}
