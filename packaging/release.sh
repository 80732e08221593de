#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# packaging/release.sh VERSION: writes the version into each file that has it, and the fragments of news/ into NEWS. The
# same version again adds the fragments that came later. The packages of Debian and rpm take theirs from make.
set -euo pipefail
version=${1:-}
if ! [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]; then
	echo "snapwalk: packaging/release.sh takes a version of three numbers, such as 0.2.0" >&2
	exit 2
fi
cd "$(dirname "$0")/.."

# put FILE PATTERN: writes the version behind what matches the pattern, which has to be there.
put() {
	grep -qE "$2" "$1" || {
		echo "snapwalk: $1 has no line like '$2'" >&2
		exit 1
	}
	sed -i -E "s|($2)[0-9]+\.[0-9]+\.[0-9]+|\1$version|" "$1"
}

put Makefile '^VERSION +:= '
put Containerfile '^ARG VERSION='
put docs/kubernetes.md 'REGISTRY/snapwalk:'
put packaging/arch/PKGBUILD '^pkgver='
put packaging/chart/Chart.yaml '^version: '
put packaging/chart/Chart.yaml '^appVersion: "'
put packaging/kubernetes/snapwalk.yaml 'image: "localhost/snapwalk:'
put packaging/packaging.mk '^NEXT \?= '
put packaging/rpm/snapwalk.spec 'global version_of_make '
packaging/news.py release "$version"
