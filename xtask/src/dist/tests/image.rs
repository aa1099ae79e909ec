//! The container image, read by other tools, and run with its user, a read-only root and nothing but its own files.

use std::fs;

use super::{are_there, bash, release};
use crate::dist::{digest, oci};

#[test]
fn an_image_is_read_and_unpacked_by_other_tools() {
    if !are_there(["skopeo", "umoci"]) {
        return;
    }
    let (release, folder) = release("image");
    let image = oci::image(&release, &folder).unwrap();
    let about = bash("skopeo inspect oci-archive:$(ls *.oci.tar)", &folder);
    let about: serde_json::Value = serde_json::from_str(&about).unwrap();
    assert_eq!(about["Os"], "linux");
    assert_eq!(about["Layers"].as_array().unwrap().len(), 1);
    assert_eq!(about["Labels"]["org.opencontainers.image.version"], release.version.as_str());
    let config = bash("skopeo inspect --config oci-archive:$(ls *.oci.tar)", &folder);
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Entrypoint"], serde_json::json!(["/usr/bin/instep"]));
    assert!(config["config"]["Volumes"].get("/data").is_some(), "{config}");
    // Copying verifies each digest; unpacking applies the layer.
    bash("skopeo copy --quiet --insecure-policy oci-archive:$(ls *.oci.tar) oci:layout:test", &folder);
    bash("umoci unpack --rootless --image layout:test bundle", &folder);
    assert!(bash("bundle/rootfs/usr/bin/instep --version", &folder).starts_with("instep "));
    let runtime = fs::read_to_string(folder.join("bundle/config.json")).unwrap();
    assert!(runtime.contains("\"/usr/bin/instep\""), "{runtime}");

    let first = digest(&image).unwrap();
    assert_eq!(digest(&oci::image(&release, &folder).unwrap()).unwrap(), first);
}

/// Runs the root of the image as a container engine does: read-only, with `/data` to write to and a name to look up.
const CONTAINED: &str = r#"
mkdir root layout; tar -xf *.oci.tar -C layout; mkdir -p data/letters
layer=$(grep -o '"layers":\[{[^]]*' layout/blobs/sha256/$(grep -o 'sha256:[0-9a-f]*' layout/index.json | cut -d: -f2) | grep -o 'sha256:[0-9a-f]*' | cut -d: -f2)
tar -xzf layout/blobs/sha256/$layer -C root --same-owner --numeric-owner
test "$(stat -c %u root/data)" = 65532
echo "Dear Noether," > data/letters/a.txt
echo "127.0.0.1 source.test" > hosts
chown -R 65532:65532 data
cat > contained <<'END'
set -eu
mount --bind root root
mount --bind data root/data
mount --bind hosts root/etc/hosts
mount -t proc proc root/proc
mount -o remount,ro,bind root
chroot=$(command -v chroot)
run() { exec env -i HOME=/data "$chroot" --userspec=65532:65532 root /usr/bin/instep "$@"; }
touch root/usr/bin/x 2> /dev/null && exit 70
run serve /data/letters --quiet --listen 127.0.0.1:$1 --base-url http://source.test:$1/ &
server=$!
until (exec 3<> /dev/tcp/127.0.0.1/$1) 2> /dev/null; do sleep 0.1; done
(run sync http://source.test:$1/ /data/copy --json)
(run status /data/copy > /dev/null)
kill $server
wait $server || test $? = 143
END
"#;

#[test]
fn an_image_runs_without_rights_with_a_read_only_root_and_looks_names_up() {
    if !are_there(["unshare", "chroot"]) {
        return;
    }
    let (release, folder) = release("contained");
    let may = "test $(id -u) = 0 && unshare --mount --pid --fork true && echo yes || echo no";
    if bash(may, &folder).trim() != "yes" {
        instep_testkit::peers::left_out("root, and a mount namespace");
        return;
    }
    oci::image(&release, &folder).unwrap();
    let port = instep_testkit::free_port().unwrap();
    let script = format!("{CONTAINED}\nunshare --mount --pid --fork bash contained {port}");
    let shown = bash(&script, &folder);
    assert!(shown.contains("\"in_step\":true"), "{shown}");
    assert_eq!(fs::read_to_string(folder.join("data/copy/a.txt")).unwrap(), "Dear Noether,\n");
}
