//! Exports of copies in object storage, with both servers: to a folder, to a bag, to objects under their names, and
//! as an index for readers of web archives.

use std::{fs, process::Command};

use instep_testkit::{Run, S3Server};

use super::copies::Kept;

/// Reads an index as pywb does: its lines are sorted, and each leads to the record of its URI, whose digest is
/// correct and equals that of the line. Prints the number of lines.
const REFEREE: &str = r#"
import io, json, os, sys
from warcio.archiveiterator import ArchiveIterator
objects, lines = sys.argv[1], open(sys.argv[2], "rb").read().splitlines()
assert lines == sorted(lines)
for line in lines:
    key, time, fields = line.decode().split(" ", 2)
    fields = json.loads(fields)
    with open(os.path.join(objects, fields["filename"]), "rb") as pack:
        pack.seek(int(fields["offset"]))
        record = next(iter(ArchiveIterator(io.BytesIO(pack.read(int(fields["length"]))), check_digests="raise")))
    assert record.rec_headers.get_header("WARC-Target-URI") == fields["url"], line
    assert record.rec_headers.get_header("WARC-Payload-Digest") == fields["digest"], line
    assert record.rec_headers.get_header("WARC-Date").translate({45: None, 58: None, 84: None, 90: None}) == time, line
    record.content_stream().read()
print(len(lines))
"#;

fn is_exported_from(server: &S3Server) {
    for (prefix, layout) in [("exported-packs", ""), ("exported-names", "?layout=names")] {
        let Some(kept) = Kept::new(server, prefix, layout) else { return };
        kept.synced();
        fs::write(kept.files.join("d/f3.txt"), "another").unwrap();
        kept.publish();
        kept.synced();
        let expected = kept.files_of(&kept.files);
        let path = |name: &str| kept.room.path().join(name);
        let export = |more: &[&str], code: i32| {
            let mut command = kept.command(&["export"]);
            Run::of(command.arg(kept.state()).args(more)).with_code(code)
        };
        let named = |name: &str| path(name).display().to_string();

        _ = export(&["--folder", &named("out")], 0);
        for file in ["large.bin", "empty", "d/f3.txt", "d/f19.txt"] {
            assert!(
                fs::read(path("out").join(file)).unwrap() == fs::read(kept.files.join(file)).unwrap(),
                "{file}"
            );
        }
        assert!(expected.is_superset(&kept.files_of(&path("out"))), "bytes of nothing that is published");
        let again = export(&["--folder", &named("out")], 2);
        assert!(again.stderr.contains("is there already"), "{}", again.stderr);

        let objects = format!("s3://{}/{prefix}-objects", S3Server::BUCKET);
        _ = export(&["--objects", &objects], 0);
        let put = server.objects(kept.room.path(), &format!("{prefix}-objects/"));
        assert_eq!(put.len(), 22);
        assert_eq!(put["d/f3.txt"], b"another");
        let refused = export(&["--objects", &objects], 6);
        assert!(refused.stderr.contains("has objects"), "{}", refused.stderr);

        _ = export(&["--bagit", &named("bag"), "--as-of", "2099-01-01"], 0);
        assert_eq!(kept.files_of(&path("bag/data")).len(), 4);
        let nothing = export(&["--bagit", &named("before"), "--as-of", "1999-01-01"], 0);
        assert!(nothing.stdout.contains("Exported: 0 files"), "{}", nothing.stdout);

        let index = named("index.cdxj");
        if !layout.is_empty() {
            let refused = export(&["--cdxj", &index], 2);
            assert!(refused.stderr.contains("has no packs"), "{}", refused.stderr);
            continue;
        }
        _ = export(&["--cdxj", &index], 0);
        kept.judged();
        let judged =
            Run::of(Command::new(&kept.python).args(["-c", REFEREE]).arg(path("objects")).arg(&index));
        // The large resource is a separate object.
        assert_eq!(judged.with_code(0).stdout.trim(), "21");
        let one = export(&["--folder", &named("x"), "--cdxj", &index], 2);
        assert!(one.stderr.contains("cannot be used with"), "{}", one.stderr);
    }
}

#[test]
fn a_copy_in_moto_is_exported_in_each_form() {
    let Some(server) = S3Server::moto() else { return };
    is_exported_from(&server);
}

#[test]
fn a_copy_in_s3s_is_exported_in_each_form() {
    let Some(server) = S3Server::s3s() else { return };
    is_exported_from(&server);
}

#[test]
fn objects_under_names_have_the_media_types_of_their_resources() {
    let Some(server) = S3Server::moto() else { return };
    let Some(kept) = Kept::new(&server, "typed", "?layout=names") else { return };
    kept.synced();
    assert_eq!(server.media_type("typed/d/f0.txt"), "text/plain");
    let objects = format!("s3://{}/typed-objects", S3Server::BUCKET);
    let mut export = kept.command(&["export", "--objects", &objects]);
    _ = Run::of(export.arg(kept.state())).with_code(0);
    assert_eq!(server.media_type("typed-objects/d/f0.txt"), "text/plain");
}
