# SPDX-License-Identifier: LGPL-2.1-or-later
# Completion of snapwalk for bash. Commands, options and their values come from snapwalk --help, so
# that they are those of the installed version.

_snapwalk_help() {
	command "$1" ${2:+"$2"} --help 2>/dev/null
}

# The commands: the first words of the lines from "Commands:" to "Targets:".
_snapwalk_commands() {
	_snapwalk_help "$1" | sed -n '/^Commands:/,/^Targets:/s/^  \([a-z][a-z]*\)\( .*\)\{0,1\}$/\1/p'
}

# All options of a command.
_snapwalk_options() {
	_snapwalk_help "$1" "$2" |
		sed -n 's/^  \(-[A-Za-z]\), \(--[a-z-]*\).*/\1\n\2/p; s/^  \(--[a-z-]*\).*/\1/p'
}

# The argument of a command's option: "FILE", "text|json|folded"... nothing for a flag.
_snapwalk_argument() {
	local long=$2
	case $2 in
	-?) long=$(_snapwalk_help "$1" "$3" | sed -n "s/^  $2, \(--[a-z-]*\).*/\1/p") ;;
	esac
	_snapwalk_help "$1" "$3" |
		sed -n "s/^  \(-[A-Za-z], \)\{0,1\}$long \([^ ][^ ]*\).*/\2/p"
}

_snapwalk_pids() {
	local path
	for path in /proc/[0-9]*; do
		# Kernel threads have no program.
		[ -e "$path/exe" ] && echo "${path#/proc/}"
	done
}

_snapwalk_names() {
	cat /proc/[0-9]*/comm 2>/dev/null | sort -u
}

# The control groups of all processes, whose names have the unit and the container.
_snapwalk_cgroups() {
	sed -n 's/^0:://p; s/^[0-9]*:name=systemd://p' /proc/[0-9]*/cgroup 2>/dev/null | sort -u
}

# The ids of the dumps that the daemon keeps, when it answers.
_snapwalk_dumps() {
	command "$1" list 2>/dev/null | sed -n '2,$s/ .*//p'
}

# The words that are no options.
_snapwalk_words() {
	case $2 in
	show | symbolize | pin | diff | merge)
		echo latest
		_snapwalk_dumps "$1"
		;;
	delete) _snapwalk_dumps "$1" ;;
	hook) [ "$3" != 2 ] || printf '%s\n' monit alertmanager nagios collectd systemd ;;
	on)
		[ "$3" != 2 ] || printf '%s\n' syscall:accept4 syscall:connect syscall:openat syscall:write func: usdt: death thread process exec mmap blocked fault
		_snapwalk_pids
		;;
	watch | mcp) ;;
	*) _snapwalk_pids ;;
	esac
}

# The lines of standard input that go on from the current word. A process chooses its name: it must not be expanded,
# as compgen -W would, and it is quoted for the command line.
_snapwalk_beginning_with() {
	local word
	while IFS= read -r word; do
		printf -v word %q "$word"
		[[ $word == "$1"* ]] && printf '%s\n' "$word"
	done
}

_snapwalk() {
	local program=$1 current=$2 previous=$3 command='' argument choices word kind=-f files=''
	COMPREPLY=()
	# bash splits words at "=": --format=te is --format, =, te
	if [ "$current" = "=" ]; then
		current=''
	elif [ "$previous" = "=" ]; then
		previous=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if [ "$COMP_CWORD" -gt 1 ] &&
		_snapwalk_commands "$program" | grep -qxF -e "${COMP_WORDS[1]}"; then
		command=${COMP_WORDS[1]}
	fi
	case $previous in
	-*[!a-zA-Z-]*) ;;
	-*) argument=$(_snapwalk_argument "$program" "$previous" "${command:-dump}") ;;
	esac
	# Behind -- is a program with its arguments.
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		[ "$word" = -- ] || continue
		compopt -o filenames 2>/dev/null
		[ "$previous" != -- ] || kind=-c
		mapfile -t COMPREPLY < <(compgen $kind -- "$current")
		return
	done
	case ${argument:+$previous}:${argument:-} in
	:) ;;
	--unit:*)
		mapfile -t COMPREPLY < <(_snapwalk_cgroups | grep -oE '[^/]+\.(service|scope)' | sort -u |
			_snapwalk_beginning_with "$current")
		return
		;;
	--cgroup:*)
		mapfile -t COMPREPLY < <(_snapwalk_cgroups | _snapwalk_beginning_with "$current")
		return
		;;
	--container:*)
		mapfile -t COMPREPLY < <(_snapwalk_cgroups | grep -oE '[0-9a-f]{64}' | sort -u |
			_snapwalk_beginning_with "$current")
		return
		;;
	*:FILE | *:DIR | *:PATH)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	*:NAME)
		mapfile -t COMPREPLY < <(_snapwalk_names | _snapwalk_beginning_with "$current")
		return
		;;
	--then:*)
		mapfile -t COMPREPLY < <(_snapwalk_beginning_with "$current" <<<dump)
		return
		;;
	*:PID)
		mapfile -t COMPREPLY < <(_snapwalk_pids | _snapwalk_beginning_with "$current")
		return
		;;
	*'|'*)
		choices=${argument//'|'/$'\n'}
		mapfile -t COMPREPLY < <(grep -v '[A-Z]' <<<"$choices" | _snapwalk_beginning_with "$current")
		return
		;;
	*)
		return
		;;
	esac
	mapfile -t COMPREPLY < <(case $current in
		-*) _snapwalk_options "$program" "${command:-dump}" ;;
		*)
			[ "$COMP_CWORD" != 1 ] || _snapwalk_commands "$program"
			_snapwalk_words "$program" "$command" "$COMP_CWORD"
			;;
		esac | _snapwalk_beginning_with "$current")
	# Words that may also be files: dumps that are no longer with the daemon, core files, minidumps.
	case $command:$current in
	show:* | symbolize:* | diff:* | merge:*) files=yes ;;
	:core* | dump:core* | explain:core* | verify:core* | :*/* | dump:*/* | explain:*/* | verify:*/*) files=yes ;;
	:[!-]* | dump:[!-]*) files='*.dmp' ;;
	esac
	[ -z "$files" ] || compopt -o filenames 2>/dev/null
	case $files in
	yes) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current") ;;
	?*) mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -X "!$files" -- "$current") ;;
	esac
}

complete -F _snapwalk snapwalk
