#!/usr/bin/env bash
# A tour of instep in a minute: publish a folder, copy it, change it, follow the change, damage the copy and repair it.
# Everything happens in a temporary folder. INSTEP names the program if it is not in the path.
set -euo pipefail
instep=${INSTEP:-instep}
port=${PORT:-8077}
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2> /dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"

say() { printf '\n\033[1m# %s\033[0m\n' "$*"; }
equal() { diff -r letters copy --exclude .instep; }
run() { printf '$ %s\n' "$*"; "$@"; }

say "A folder of letters"
mkdir -p letters/1912
for name in Noether Hilbert Klein; do echo "Dear $name," > "letters/1912/$name.txt"; done
run find letters -type f

say "Publish it, and serve it"
"$instep" serve letters --quiet --listen "127.0.0.1:$port" &
until (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; do sleep 0.1; done
run "$instep" explore "http://127.0.0.1:$port/"

say "Copy it: every file is verified"
run "$instep" sync "http://127.0.0.1:$port/" copy --delete

say "Change something, and copy again: only the changes are fetched"
echo "Dear Weyl," > letters/1912/Weyl.txt
rm letters/1912/Klein.txt
until equal > /dev/null; do
    sleep 0.5
    run "$instep" sync "http://127.0.0.1:$port/" copy --delete
done
echo "The copy equals the folder."

say "Damage the copy: an audit finds it, a repair mends it"
echo "Dear nobody," > copy/1912/Weyl.txt
run "$instep" audit "http://127.0.0.1:$port/" copy || echo "(exit code $?)"
run "$instep" sync "http://127.0.0.1:$port/" copy --repair
equal
echo "The copy equals the folder."
