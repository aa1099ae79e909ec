//! A container image in the layout of the Open Container Initiative, made without a daemon: one layer with the program
//! and nothing else, for a user without rights and a root that may be read-only.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{HOMEPAGE, Release, SUMMARY, commit_time, digest, files, host};
use crate::run::{checked, output};

/// User and group that the program runs as, by number: a cluster that refuses root cannot look up a name.
const USER: &str = "65532";

const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// Writes `NAME.oci.tar` into a folder.
///
/// A static program is alone in the image. For one that needs the C library, the loader and the libraries it names are
/// taken from this machine, which then has to be of its platform.
pub(super) fn image(release: &Release, folder: &Path) -> Result<PathBuf> {
    let stage = folder.join("image");
    drop(fs::remove_dir_all(&stage));
    let root = stage.join("root");
    fill(release, &root)?;
    let layout = stage.join("layout");
    let blobs = layout.join("blobs/sha256");
    fs::create_dir_all(&blobs)?;
    let tar = stage.join("layer.tar");
    pack(&root, &tar)?;
    let unpacked = digest(&tar)?;
    output(Command::new("gzip").args(["-n", &format!("-{}", release.compression.max(1))]).arg(&tar))?;
    let layer = described(LAYER, &stage.join("layer.tar.gz"), &blobs)?;
    let config = written(CONFIG, &config(release, &unpacked), &blobs)?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config,
        "layers": [layer],
        "annotations": labels(release),
    });
    let mut manifest = written(MANIFEST, &manifest, &blobs)?;
    manifest["platform"] = json!({ "architecture": architecture(&release.platform), "os": "linux" });
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": release.version });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest],
    });
    files::write(&layout.join("index.json"), &index.to_string())?;
    files::write(&layout.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#)?;
    let file = folder.join(format!("{}.oci.tar", release.name()));
    pack(&layout, &file)?;
    fs::remove_dir_all(&stage)?;
    Ok(file)
}

/// Fills the root of the image.
fn fill(release: &Release, to: &Path) -> Result<()> {
    files::place(&release.program, &to.join("usr/bin/instep"))?;
    files::executable(&to.join("usr/bin/instep"))?;
    for library in libraries(release)? {
        files::place(Path::new(&library), &to.join(library.trim_start_matches('/')))?;
    }
    for (file, text) in [
        ("etc/passwd", format!("root:x:0:0::/:/sbin/nologin\ninstep:x:{USER}:{USER}::/data:/sbin/nologin\n")),
        ("etc/group", format!("root:x:0:\ninstep:x:{USER}:\n")),
        ("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n".to_owned()),
        ("etc/nsswitch.conf", "hosts: files dns\n".to_owned()),
        ("etc/resolv.conf", String::new()),
    ] {
        files::write(&to.join(file), &text)?;
    }
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE"] {
        files::place(&crate::run::root().join(file), &to.join("usr/share/doc/instep").join(file))?;
    }
    // Mount points for a container engine, so that the root can be read-only.
    for folder in ["data", "dev", "proc", "sys", "tmp"] {
        fs::create_dir_all(to.join(folder))?;
    }
    output(Command::new("chmod").arg("1777").arg(to.join("tmp"))).map(drop)
}

/// Returns the libraries that a program needs, the loader among them; none if it is static.
fn libraries(release: &Release) -> Result<Vec<String>> {
    if release.platform.ends_with("-musl") {
        return Ok(Vec::new());
    }
    ensure!(
        host()? == release.platform,
        "an image for {} needs a static program, or a machine of that platform",
        release.platform
    );
    let listed = output(Command::new("ldd").arg(&release.program))?;
    let path = |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(str::to_owned);
    Ok(listed.lines().filter_map(path).collect())
}

/// Packs a folder so that the same files make the same bytes. Everything is root's but `data`.
fn pack(folder: &Path, to: &Path) -> Result<()> {
    let tar = |mode: &str, owner: &str, names: &[String]| {
        let mut tar = Command::new("tar");
        tar.args(["--sort=name", "--numeric-owner", "--format=gnu", &format!("--mtime=@{}", commit_time())]);
        tar.args([format!("--owner={owner}"), format!("--group={owner}")]).arg("-C").arg(folder);
        checked(tar.arg(mode).arg(to).args(names))
    };
    let names = files::paths(folder)?;
    let names = names.iter().filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let (data, others): (Vec<_>, Vec<_>) = names.partition(|name| name == "data");
    tar("-cf", "0", &others)?;
    if data.is_empty() { Ok(()) } else { tar("-rf", USER, &data) }
}

/// Returns the configuration of the image: the command, its user and its folder.
fn config(release: &Release, layer: &str) -> Value {
    json!({
        "created": created(),
        "author": "The instep project",
        "architecture": architecture(&release.platform),
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "WorkingDir": "/data",
            "Env": ["PATH=/usr/bin", "HOME=/data"],
            "Entrypoint": ["/usr/bin/instep"],
            "Cmd": ["--help"],
            "Volumes": { "/data": {} },
            "ExposedPorts": { "8080/tcp": {} },
            "StopSignal": "SIGTERM",
            "Labels": labels(release),
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer}")] },
        "history": [{ "created": created(), "created_by": "cargo xtask dist" }],
    })
}

fn labels(release: &Release) -> Value {
    json!({
        "org.opencontainers.image.title": "instep",
        "org.opencontainers.image.description": SUMMARY,
        "org.opencontainers.image.version": release.version,
        "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
        "org.opencontainers.image.source": HOMEPAGE,
        "org.opencontainers.image.created": created(),
    })
}

/// Returns the time of the commit as images have it.
fn created() -> String {
    let time = format!("@{}", commit_time());
    let date = Command::new("date").args(["--utc", "--date", &time, "+%Y-%m-%dT%H:%M:%SZ"]).output();
    date.ok().and_then(|date| String::from_utf8(date.stdout).ok()).unwrap_or_default().trim().to_owned()
}

fn architecture(platform: &str) -> &str {
    match platform.split('-').next() {
        Some("x86_64") => "amd64",
        Some("aarch64") => "arm64",
        Some("riscv64gc") => "riscv64",
        Some(other) => other,
        None => platform,
    }
}

/// Writes a document among the blobs; returns its descriptor.
fn written(media_type: &str, document: &Value, blobs: &Path) -> Result<Value> {
    let file = blobs.join("document");
    files::write(&file, &document.to_string())?;
    described(media_type, &file, blobs)
}

/// Moves a file among the blobs, where its digest is its name; returns its descriptor.
fn described(media_type: &str, file: &Path, blobs: &Path) -> Result<Value> {
    let (size, digest) = (fs::metadata(file)?.len(), digest(file)?);
    fs::rename(file, blobs.join(&digest)).with_context(|| file.display().to_string())?;
    Ok(json!({ "mediaType": media_type, "digest": format!("sha256:{digest}"), "size": size }))
}
