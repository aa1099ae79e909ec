//! Patches, packages and digests, held against programs that share no code with ours.

use std::{
    fs,
    io::{Cursor, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use instep_testkit::peers::find;
use resourcesync::{
    Algorithm, Digests, Hasher, MediaType, PackagePath,
    package::{Package, PackageLimits, PackageWriter},
    patch::{PatchFormat, patch_between},
};
use serde_json::{Value, json};

const MOST: usize = 1 << 24;

fn digests(bytes: &[u8]) -> Digests {
    let mut hasher = Hasher::new(&[Algorithm::Sha256]);
    hasher.update(bytes);
    hasher.finish()
}

fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Passes cases to a script, one a line, and returns its results.
fn ask(python: &Path, script: &str, cases: &[Value]) -> Vec<Value> {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/oracle").join(script);
    let mut command = Command::new(python);
    let mut child = command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines: String = cases.iter().map(|case| format!("{case}\n")).collect();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let results: Vec<Value> = output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    assert_eq!(results.len(), cases.len());
    results
}

/// Numbers that look random, and are the same in each run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Pairs of versions: bytes with parts changed, moved, repeated and removed.
fn versions() -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut draw = Draw(7);
    let mut pairs = vec![
        (Vec::new(), b"from nothing".to_vec()),
        (b"to almost nothing".to_vec(), b"x".to_vec()),
        (vec![7; 10], vec![7; 100_000]),
    ];
    for case in 0..14 {
        let held: Vec<u8> = (0..draw.below(60_000) + 100)
            .map(|_| draw.below(if case % 2 == 0 { 256 } else { 4 }) as u8)
            .collect();
        let mut next = held.clone();
        for _ in 0..draw.below(6) + 1 {
            let at = draw.below(next.len());
            let end = (at + draw.below(5_000)).min(next.len());
            match draw.below(4) {
                0 => drop(next.drain(at..end)),
                1 => next.extend_from_within(at..end),
                2 => drop(next.splice(at..at, *b"something new")),
                _ => next[at] ^= 1,
            }
            next.push(b'.');
        }
        pairs.push((held, next));
    }
    pairs
}

#[test]
fn xdelta3_and_we_apply_the_deltas_of_each_other() {
    let Some([xdelta3]) = find(["xdelta3"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let [held_file, next_file, delta_file] = ["held", "next", "delta"].map(|name| folder.path().join(name));
    for (held, next) in versions() {
        fs::write(&held_file, &held).unwrap();
        fs::write(&next_file, &next).unwrap();
        let (format, ours) = patch_between(&held, &next, None, MOST).unwrap();
        assert_eq!(format, PatchFormat::Delta);
        fs::write(&delta_file, &ours).unwrap();
        let made =
            run(Command::new(&xdelta3).args(["-d", "-c", "-f", "-s"]).arg(&held_file).arg(&delta_file));
        assert!(made == next, "xdelta3 makes something else of our delta of {} bytes", ours.len());
        for options in [&["-S", "none"][..], &["-S", "none", "-A"], &["-S", "none", "-n", "-9"]] {
            let mut command = Command::new(&xdelta3);
            let theirs =
                run(command.args(["-e", "-c", "-f"]).args(options).arg("-s").arg(&held_file).arg(&next_file));
            let made = PatchFormat::Delta.apply(&held, &theirs, &digests(&next), MOST).unwrap();
            assert!(made == next, "{options:?}");
        }
    }
}

/// Returns a value of some depth.
fn value(draw: &mut Draw, depth: usize) -> Value {
    match draw.below(if depth == 0 { 4 } else { 6 }) {
        0 => json!(draw.below(1_000)),
        1 => json!(format!("text/~{}", draw.below(50))),
        2 => json!(draw.below(2) == 0),
        3 => Value::Null,
        4 => (0..draw.below(5)).map(|_| value(draw, depth - 1)).collect(),
        _ => {
            let member = |draw: &mut Draw| (format!("a/{}~", draw.below(6)), value(draw, depth - 1));
            Value::Object((0..draw.below(5)).map(|_| member(draw)).collect())
        }
    }
}

#[test]
fn the_jsonpatch_of_python_and_we_apply_the_patches_of_each_other() {
    let Some([python]) = find(["python3"]) else { return };
    let json = MediaType::new("application/json");
    let mut draw = Draw(11);
    let (mut ours, mut pairs) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        let (held, next) = (value(&mut draw, 4), value(&mut draw, 4));
        let bytes = (held.to_string().into_bytes(), next.to_string().into_bytes());
        if let Some((PatchFormat::Json, patch)) = patch_between(&bytes.0, &bytes.1, Some(&json), MOST) {
            let patch: Value = serde_json::from_slice(&patch).unwrap();
            ours.push((json!({ "do": "apply", "held": held, "patch": patch }), next.clone()));
        }
        pairs.push((bytes, json!({ "do": "make", "held": held, "next": next })));
    }
    assert!(ours.len() > 150, "{}", ours.len());
    let cases: Vec<Value> = ours.iter().map(|(case, _)| case.clone()).collect();
    for ((case, next), result) in ours.iter().zip(ask(&python, "json_patch.py", &cases)) {
        assert_eq!(*next, result, "{case}");
    }
    let cases: Vec<Value> = pairs.iter().map(|(_, case)| case.clone()).collect();
    for (((held, next), case), theirs) in pairs.iter().zip(ask(&python, "json_patch.py", &cases)) {
        let made = PatchFormat::Json.apply(held, theirs.to_string().as_bytes(), &digests(next), MOST);
        assert_eq!(made.as_deref(), Ok(&next[..]), "{case}: {theirs}");
    }
}

/// Returns an element with attributes, text and children.
fn element(draw: &mut Draw, depth: usize) -> String {
    let name = ["a", "b", "d:c"][draw.below(3)];
    let attributes = if draw.below(2) == 0 { format!(" n=\"{}\"", draw.below(9)) } else { String::new() };
    let text = |draw: &mut Draw| ["", "", "\n ", "text", "x &amp; y"][draw.below(5)];
    let mut inner = text(draw).to_owned();
    for _ in 0..if depth == 0 { 0 } else { draw.below(4) } {
        inner += &match draw.below(8) {
            0 => "<!--comment-->".to_owned(),
            _ => element(draw, depth - 1),
        };
        inner += text(draw);
    }
    if inner.is_empty() {
        format!("<{name}{attributes}/>")
    } else {
        format!("<{name}{attributes}>{inner}</{name}>")
    }
}

#[test]
fn lxml_makes_the_same_of_our_xml_patches() {
    let Some([python]) = find(["python3"]) else { return };
    let xml = MediaType::new("application/xml");
    let mut draw = Draw(13);
    let root = |inner: &str| format!("<root xmlns:d=\"urn:d\">{inner}</root>");
    let (mut patches, mut wanted) = (Vec::new(), Vec::new());
    for _ in 0..300 {
        let parts: Vec<String> = (0..draw.below(6) + 1).map(|_| element(&mut draw, 3)).collect();
        let mut changed = parts.clone();
        for _ in 0..draw.below(3) + 1 {
            let (at, new) = (draw.below(changed.len() + 1), element(&mut draw, 2));
            match draw.below(3) {
                0 if at < changed.len() => drop(changed.remove(at)),
                1 if at < changed.len() => changed[at] = new,
                _ => changed.insert(at, new),
            }
        }
        let (held, next) = (root(&parts.concat()), root(&changed.concat()));
        if let Some((PatchFormat::Xml, patch)) =
            patch_between(held.as_bytes(), next.as_bytes(), Some(&xml), MOST)
        {
            patches.push(json!({ "held": held, "patch": String::from_utf8(patch).unwrap() }));
            wanted.push(json!({ "next": next }));
        }
    }
    assert!(patches.len() > 200, "{}", patches.len());
    let made = ask(&python, "xml_patch.py", &patches);
    let wanted = ask(&python, "xml_patch.py", &wanted);
    for ((case, made), wanted) in patches.iter().zip(made).zip(wanted) {
        assert_eq!(made, wanted, "{case}");
    }
}

#[test]
fn zipfile_and_unzip_read_our_packages_and_we_read_those_of_zipfile() {
    let Some([python, unzip]) = find(["python3", "unzip"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (folder.path().join("ours.zip"), folder.path().join("theirs.zip"));
    let members: Vec<(String, Vec<u8>)> = (0..80)
        .map(|n| (format!("/sub{}/ä {n}.txt", n % 7), vec![b'a' + (n % 26) as u8; n * 20_011 % 1_400_000]))
        .collect();
    let mut writer = PackageWriter::new(fs::File::create(&ours).unwrap(), b"<urlset/>").unwrap();
    for (number, (path, bytes)) in members.iter().enumerate() {
        let media_type = MediaType::new(if number % 2 == 0 { "text/plain" } else { "image/png" });
        writer.add(&PackagePath::new(path), Some(&media_type), bytes.len() as u64, &bytes[..]).unwrap();
    }
    drop(writer.finish().unwrap());
    run(Command::new(&unzip).args(["-tqq"]).arg(&ours));
    let copy = "import sys, zipfile\n\
                source = zipfile.ZipFile(sys.argv[1])\n\
                assert source.testzip() is None\n\
                with zipfile.ZipFile(sys.argv[2], 'w', zipfile.ZIP_DEFLATED) as copy:\n\
                \x20   for name in source.namelist():\n\
                \x20       copy.writestr(name, source.read(name))\n";
    run(Command::new(&python).args(["-c", copy]).args([&ours, &theirs]));
    let mut limits = PackageLimits::new();
    limits.ratio = 2_000;
    for file in [&ours, &theirs] {
        let mut package = Package::open(Cursor::new(fs::read(file).unwrap()), limits).unwrap();
        for (path, bytes) in &members {
            let mut read = Vec::new();
            package.bitstream(&PackagePath::new(path)).unwrap().read_to_end(&mut read).unwrap();
            assert!(read == *bytes, "{path} of {}", file.display());
        }
    }
}

#[test]
fn openssl_computes_the_same_digests() {
    let Some([openssl]) = find(["openssl"]) else { return };
    let file = tempfile::NamedTempFile::new().unwrap();
    for bytes in [Vec::new(), b"text".to_vec(), vec![0x5a; 1_000_003]] {
        fs::write(file.path(), &bytes).unwrap();
        for algorithm in Algorithm::KNOWN {
            let mut hasher = Hasher::new([&algorithm]);
            let length = hasher.take_all(&mut &bytes[..], &mut [0; 1_000]).unwrap();
            assert_eq!(length, bytes.len() as u64);
            let option = format!("-{}", algorithm.as_str().replace('-', ""));
            let line = run(Command::new(&openssl).args(["dgst", &option, "-r"]).arg(file.path()));
            let theirs = String::from_utf8(line).unwrap().split_whitespace().next().unwrap().to_owned();
            assert_eq!(hasher.finish().to_string(), format!("{algorithm}:{theirs}"));
        }
    }
}
