//! The configurations of the documentation: every option and table that changes documents (A7).

use std::{fs, io::Write as _, path::Path};

use flate2::{Compression, write::GzEncoder};

/// Returns a folder to publish, with the files that the tables of the configurations apply to.
pub(super) fn content() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    (1..=9).for_each(|n| write(&format!("f{n}.txt"), format!("text {n}\n").as_bytes()));
    write("data.json", br#"{"a": 1, "b": [1, 2, 3]}"#);
    write("papers/one.pdf", b"%PDF");
    write("papers/one.xml", b"<record><title>one</title></record>");
    write("papers/one.html", b"<html><body>one</body></html>");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(b"<record><title>coded</title></record>").unwrap();
    write("coded/a.xml.gz", &gzip.finish().unwrap());
    folder
}

/// Changes the folder: a resource updated, one deleted, one new.
pub(super) fn change(folder: &Path) {
    fs::write(folder.join("f1.txt"), "another text\n").unwrap();
    fs::write(folder.join("data.json"), r#"{"a": 2, "b": [1, 2, 3]}"#).unwrap();
    fs::remove_file(folder.join("f2.txt")).unwrap();
    fs::write(folder.join("new.txt"), "new\n").unwrap();
}

/// Options of `publish` or `serve`, and tables of the configuration file.
pub(super) type Configuration = (&'static [&'static str], &'static str);

pub(super) const PUBLISHED: [Configuration; 34] = [
    (&[], ""),
    (&["--sitemap"], ""),
    (&["--gzip"], ""),
    (&["--sitemap", "--gzip"], ""),
    (&["--dump", "always"], ""),
    (&["--change-dump"], ""),
    (&["--dump", "always", "--change-dump", "--gzip"], ""),
    (&["--archives"], ""),
    (&["--archives", "--dump", "always", "--change-dump", "--snapshot"], ""),
    (&["--single-changelist"], ""),
    (&["--patches"], ""),
    (&["--patches", "--change-dump"], ""),
    (&["--hash", "md5,sha-256"], ""),
    (&["--no-robots"], ""),
    (&["--describedby", "http://example.com/about", "--set-describedby", "http://example.com/set"], ""),
    (&["--exclude", "papers/**"], ""),
    (&["--dump", "always"], RECORDS_AND_MIRROR),
    (&["--dump", "always", "--change-dump"], CODED),
    (&[], GENERIC),
    (&["--dump", "always", "--change-dump"], SETS),
    (&["--archives", "--rotate-entries", "1", "--closed-lists", "1"], SETS),
    (&["--stylesheet"], ""),
    (&["--spec-version", "1.0"], ""),
    (&["--spec-version", "1.0", "--archives", "--dump", "always", "--change-dump"], ""),
    (&["--spec-version", "1.0", "--patches"], ""),
    (&["--rotate-entries", "1"], ""),
    (&["--archives", "--rotate-entries", "1", "--closed-lists", "2", "--snapshot"], ""),
    (&["--archives", "--rotate-entries", "1", "--closed-lists", "1", "--gzip", "--stylesheet"], ""),
    (&["--archives", "--archive-count", "1", "--snapshot-every", "0s"], ""),
    (RENEWED, ""),
    (&["--archives", "--single-changelist", "--change-dump"], ""),
    (&["--archives", "--patches", "--rotate-entries", "1", "--closed-lists", "1"], ""),
    (&["--hash", "sha-512,md5"], ""),
    (&["--dump", "never"], ""),
];

/// Everything new in each publication.
const RENEWED: &[&str] = &[
    "--archives",
    "--rotate-entries",
    "1",
    "--closed-lists",
    "2",
    "--snapshot",
    "--dump",
    "always",
    "--dump-every",
    "0s",
    "--change-dump",
    "--change-dump-every",
    "0s",
];

pub(super) const SERVED: [Configuration; 11] = [
    (&[], ""),
    (&["--dump", "always", "--change-dump", "--patches", "--gzip", "--sitemap"], RECORDS_AND_MIRROR),
    (&["--dump", "always"], CODED),
    (&["--archives"], GENERIC),
    (&["--versions"], ""),
    (&["--versions", "--dump", "always", "--change-dump", "--patches"], RECORDS_AND_MIRROR),
    (&["--no-batch", "--no-hub"], ""),
    (&["--hub", "http://127.0.0.1:1/hub"], ""),
    (&["--notifications", "0.8"], ""),
    (&["--spec-version", "1.0", "--versions"], ""),
    (&["--stylesheet", "--strict-host", "--cors", "true"], SETS),
];

const RECORDS_AND_MIRROR: &str = r#"
[[link]]
resource = "papers/*.pdf"
rel = "describedby"
target = "papers/*.xml"
back = "describes"

[[link]]
resource = "papers/*.xml"
rel = "profile"
target = "http://example.org/profile"

[[link]]
resource = "*"
rel = "duplicate"
target = "https://mirror.example.org/data/*"
pri = 2

[[changefreq]]
resource = "papers/*"
frequency = "auto"
"#;

const CODED: &str = r#"
[[coded]]
resource = "coded/*.xml.gz"
coding = "gzip"
"#;

const GENERIC: &str = r#"
[[generic]]
resource = "papers/*"
specific = ["papers/*.html", "papers/*.pdf"]
"#;

const SETS: &str = r#"
[[set]]
name = "papers"
content = "papers"

[[set]]
name = "all"
content = "."
"#;
