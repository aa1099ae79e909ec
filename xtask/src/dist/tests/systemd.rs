//! The units of the Debian package under a real systemd: in a container that has the programs of this machine, the files
//! of the package, and a network of its own.

use std::fs;

use super::{are_there, bash, release};
use crate::dist::deb;

/// Makes the root of a system that has nothing but `/usr`, and a name for itself.
const BOX: &str = r#"
dpkg-deb -x *.deb package
mkdir -p box/usr box/etc/systemd/system
dpkg-deb --control *.deb box/control
for folder in bin sbin lib lib64; do test ! -L /$folder || ln -s usr/$folder box/$folder; done
cp /etc/ld.so.cache /etc/nsswitch.conf /etc/os-release box/etc/
systemd-id128 new > box/etc/machine-id
# The network is the loopback device, which is there from the start.
for what in systemd-networkd NetworkManager ifupdown; do ln -s /dev/null box/etc/systemd/system/$what-wait-online.service; done
cat > box/etc/systemd/system/trial.service <<'END'
[Unit]
Wants=basic.target
After=basic.target
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/bin/bash -eux /trial
StandardOutput=append:/trial.log
StandardError=inherit
END
"#;

/// Starts a program in that system.
const ENTER: &str = "systemd-nspawn --quiet --directory=box --register=no --keep-unit --private-network --console=pipe \
                     --machine=instep-units --overlay-ro=/usr:$PWD/package/usr:/usr";

/// Uses the units as the book describes it, with the examples of the package.
const TRIAL: &str = r#"
trap 'journalctl --no-pager --output=cat --unit="instep*"' EXIT
until_true() { local -; set +x; for try in $(seq 600); do ! "$@" || return 0; sleep 0.1; done; echo "never: $*"; return 1; }
fails() { if "$@"; then echo "has not failed: $*"; return 1; fi; }
property() { systemctl show --value --property="$2" "instep-$1"; }
is() { test "$(property "$1" "$2")" = "$3"; }
shows_state() { test -n "$(property "$1" StatusText)"; }
says() { journalctl --no-pager --unit="instep-$1" | grep -qF "$2"; }
serves() { curl --silent --fail http://127.0.0.1:8080/readyz; }
state=/var/lib/instep
mkdir -p /srv/data /etc/instep
echo "Dear Noether," > /srv/data/a.txt
for name in source mirror fleet; do
    sed 's#https://example.org/[a-z]*/#http://127.0.0.1:8080/#' /usr/share/doc/instep/examples/$name.toml > /etc/instep/$name.toml
done
cp /etc/instep/mirror.toml /etc/instep/followed.toml
echo DIR=/srv/data > /etc/instep/source.env
for name in mirror followed; do printf 'URL=http://127.0.0.1:8080/\nDIR=%s\n' $state/$name > /etc/instep/$name.env; done

: A name without a configuration is refused, and not tried again.
fails systemctl start instep-serve@absent
is serve@absent ActiveState inactive

: Another web server can read the documents that a timer publishes.
systemctl start instep-publish@source
setpriv --reuid=65534 --regid=65534 --clear-groups cat $state/data/documents/resourcesync/capabilitylist.xml

: Units are active when they serve, and when they have copied.
systemctl start instep-serve@source
serves
systemctl start instep-sync@mirror
cat $state/mirror/a.txt
systemctl start instep-follow@followed instep-run@fleet
cat $state/followed/a.txt
until_true test -e $state/fleet/letters/a.txt
echo more > /srv/data/b.txt
until_true test -e $state/followed/b.txt
for unit in serve@source follow@followed run@fleet; do until_true shows_state $unit; done

: A configuration that cannot be used changes nothing in a unit that runs, and starts none.
for name in source followed fleet; do cp /etc/instep/$name.toml /tmp/; echo nonsense = 1 >> /etc/instep/$name.toml; done
for unit in serve@source follow@followed run@fleet; do
    systemctl reload instep-$unit
    until_true says $unit "SIGHUP: the old configuration stays in use"
    is $unit ActiveState active
done
fails systemctl restart instep-run@fleet
is run@fleet ExecMainStatus 2
cp /tmp/*.toml /etc/instep/
systemctl restart instep-run@fleet

: Units write nowhere else.
sed -i s#/var/lib/instep/#/srv/# /etc/instep/followed.env
fails systemctl restart instep-follow@followed
is follow@followed ExecMainStatus 8
says follow@followed "Read-only file system"
sed -i s#/srv/#/var/lib/instep/# /etc/instep/followed.env
systemctl restart instep-follow@followed

: A server that is killed is started again, and so is one that hangs.
systemctl kill --signal=KILL instep-serve@source
until_true is serve@source NRestarts 1
until_true serves
mkdir -p /run/systemd/system/instep-serve@source.service.d
printf '[Service]\nWatchdogSec=3s\n' > /run/systemd/system/instep-serve@source.service.d/watchdog.conf
systemctl daemon-reload
systemctl restart instep-serve@source
kill -STOP $(property serve@source MainPID)
until_true says serve@source "Watchdog timeout"
until_true serves

: Units end with success.
systemctl stop instep-serve@source instep-follow@followed instep-run@fleet
for unit in serve@source follow@followed run@fleet; do is $unit Result success; done

: They are stopped when the package is removed, and not when it is replaced by a newer one.
systemctl start instep-serve@source
systemctl enable --now instep-sync@mirror.timer instep-publish@source.timer
sh /control/prerm upgrade 9.9
serves
sh /control/prerm remove
for unit in serve@source.service sync@mirror.timer publish@source.timer; do is $unit ActiveState inactive; done
: The units have worked.
"#;

#[test]
fn o957_o959_the_units_of_the_package_start_reload_restart_and_stop_under_systemd() {
    if !are_there(["dpkg-deb", "systemd-nspawn", "curl", "setpriv"]) {
        return;
    }
    let (release, folder) = release("systemd");
    deb::package(&release, &folder).unwrap();
    bash(BOX, &folder);
    let may = format!("test $(id -u) = 0 && {ENTER} true < /dev/null > /dev/null && echo yes || echo no");
    if bash(&may, &folder).trim() != "yes" {
        instep_testkit::peers::left_out("root, and a container of systemd");
        return;
    }
    fs::write(folder.join("box/trial"), TRIAL).unwrap();
    // It ends by itself; its own exit code says nothing about the trial.
    bash(&format!("timeout 280 {ENTER} --boot systemd.unit=trial.service < /dev/null || true"), &folder);
    let log = fs::read_to_string(folder.join("box/trial.log")).unwrap_or_default();
    assert!(log.contains("\n+ : The units have worked.\n"), "{log}");
}
