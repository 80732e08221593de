#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Checks for what a compiler does not see: man pages, shell scripts, comments and words that must not be there, faults
# of tests/mutate that no longer apply.
set -uo pipefail
status=0

complain() {
	echo "lint: $1" >&2
	status=1
}

for page in man/*.[1-8]; do
	[ -e "$page" ] || continue
	# snapwalk(1) has its examples first, which is not the order of other manual pages.
	warnings=$(mandoc -T lint -W warning "$page")
	mandoc_status=$?
	warnings=$(grep -v '^mandoc: man/snapwalk\.1:.*sections out of conventional order: Sh ENVIRONMENT$' <<<"$warnings")
	[ -z "$warnings" ] || complain "$page: mandoc has warnings: $warnings"
	# Up to 2 those are its warnings: mandoc(1), EXIT STATUS.
	[ "$mandoc_status" -le 2 ] || complain "$page: mandoc ended with status $mandoc_status"
done

# shellcheck disable=SC2046
shellcheck $(git ls-files '*.sh' '.ci/*') || complain "shellcheck has warnings"

packaging/news.py check || complain "a fragment of NEWS is not right"
tests/hacking.sh || complain "HACKING.md names what is not there"

code=(libwalk symbolizer protocol confine daemon cli)
if grep -nE '(^|[^:"])//' -r "${code[@]}" --include='*.[ch]' | grep -v 'http'; then
	complain "'//' comments mean 'not for commit'"
fi
if grep -nE '\b(TODO|FIXME|XXX|HACK)\b' -r "${code[@]}" tests/unit tests/fuzz --include='*.[ch]'; then
	complain "unfinished business"
fi
if grep -nE 'PTRACE_ATTACH|PTRACE_O_EXITKILL|waitpid\(-1|SIGSTOP\)' -r "${code[@]}" --include='*.[ch]' |
	grep -vE '^[^:]+:[0-9]+:\s*(\*|/\*)'; then
	complain "ways to hurt a target"
fi
# A description names its subject and begins with it.
if grep -noE '"description": *"(What|Those|One|Who|Whom|Of|Until|Likewise)\b[^"]{0,60}' protocol/*.json; then
	complain "descriptions of schemas that do not begin with their subject"
fi
# A comment names its subject and begins with it.
unnamed=$(python3 tests/comments.py) || complain "$unnamed"
# Every file, in the way of its kind. Without a line of their own are plain texts, which have no
# comments, published definitions of others, and recorded bytes: the README beside those says whose they are
# (tests/live/test_licences.py).
while read -r file; do
	complain "$file: no SPDX line"
done < <(git ls-files --cached --others --exclude-standard |
	grep -vE '^(LICENSE|NEWS|news/[0-9].*|packaging/debian/source/format|tests/fuzz/corpus/.*|tests/fixtures/.*/[^.]*|tests/targets/otlp/opentelemetry/.*|.*\.(xz|dll))$' |
	xargs -d '\n' grep -aLE 'SPDX-License-Identifier: [A-Z]')
# Reads with privileges are public: SECURITY.md lists each runtime that looks before the copy.
while read -r runtime; do
	grep -q "^| \`$runtime\` |" SECURITY.md ||
		complain "SECURITY.md does not say what $runtime reads before the copy"
done < <(grep -lE '\.before = ' libwalk/runtimes/*/runtime.c | cut -d / -f 3)
# The same of those that follow pointers during the copy.
followed=$(sed -n '/^## What is followed during the copy/,/^## What is not/p' SECURITY.md)
while read -r runtime; do
	grep -q "^| \`$runtime\` |" <<<"$followed" ||
		complain "SECURITY.md does not say what $runtime follows during the copy"
done < <(grep -lE '\.in_window = |sw_capture_of_threads\(' libwalk/runtimes/*/*.c | cut -d / -f 3 | sort -u)
# A test of the soak that cannot be imported is found by nobody until the soak runs.
names=$(python3 tests/imports.py 2>&1) || complain "$names"
# A fault that cannot be put in is found by nobody until make check-mutants runs.
patches=$(python3 tests/mutants.py --applies 2>&1) || complain "$patches"
[ $status = 0 ] && echo "lint: ok"
exit $status
