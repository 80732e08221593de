#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# packaging/dist.sh DIRECTORY VERSION STATIC: makes the files of a release there, the same bytes wherever and whenever:
# the sources; the static file with its manual pages and completions; a bill of materials; checksums. With MINISIGN_KEY,
# the file of a secret key without a password, the checksums are signed.
set -euo pipefail
directory=$1 version=$2 static=$3
export LC_ALL=C TZ=UTC
date=$(packaging/date.sh)
sources=snapwalk-$version
program=snapwalk-$version-linux-x86_64

rm -rf "$directory"
mkdir -p "$directory"
work=$(mktemp -d)
finish() {
	rm -rf "$work"
}
trap finish EXIT

packaging/sources.sh "$work/$sources"
install -D -m 755 "$static" "$work/$program/bin/snapwalk"
for page in man/*.1 man/snapwalk-dump.5 man/snapwalk-profile.5; do
	install -D -m 644 "$page" "$work/$program/share/man/man${page##*.}/${page#man/}"
done
install -D -m 644 cli/completion.bash "$work/$program/share/bash-completion/completions/snapwalk"
install -D -m 644 cli/completion.zsh "$work/$program/share/zsh/site-functions/_snapwalk"
install -D -m 644 cli/completion.fish "$work/$program/share/fish/vendor_completions.d/snapwalk.fish"
install -D -m 644 -t "$work/$program/share/doc/snapwalk" LICENSE NEWS README.md SECURITY.md
install -D -m 644 -t "$work/$program/share/doc/snapwalk/docs" docs/*.md docs/*.svg
# Permissions of files are those of the tree, not what umask made of them on this machine.
chmod -R u=rwX,go=rX "$work/$sources" "$work/$program"

for name in "$sources" "$program"; do
	tar -C "$work" --format=ustar --sort=name --mtime="@$date" --owner=0 --group=0 --numeric-owner -c "$name" |
		gzip -9 -n >"$directory/$name.tar.gz"
done
packaging/sbom.py "$version" "$date" "$directory/$sources.tar.gz" "$directory/$program.tar.gz" \
	>"$directory/snapwalk-$version.spdx.json"
(cd "$directory" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
if [ -n "${MINISIGN_KEY:-}" ]; then
	minisign -S -W -s "$MINISIGN_KEY" -t "snapwalk $version" -m "$directory/SHA256SUMS" </dev/null >/dev/null 2>&1 || {
		echo "snapwalk: minisign cannot sign with $MINISIGN_KEY: it takes a key without a password" >&2
		exit 1
	}
fi
