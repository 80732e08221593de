# SPDX-License-Identifier: LGPL-2.1-or-later
# Completion of snapwalk for bash. Commands, options and their values come from snapwalk --help, so
# that they are those of the installed version.

_snapwalk_help() {
	command "$1" ${2:+"$2"} --help 2>/dev/null
}

# The commands: the first words of the lines between "Commands:" and "Targets:".
_snapwalk_commands() {
	_snapwalk_help "$1" | sed -n '/^Commands:/,/^Targets:/s/^  \([a-z][a-z]*\)\( .*\)\{0,1\}$/\1/p'
}

# All options of a command, or of all commands.
_snapwalk_options() {
	_snapwalk_help "$1" "$2" |
		sed -n 's/^  \(-[A-Za-z]\), \(--[a-z-]*\).*/\1 \2/p; s/^  \(--[a-z-]*\).*/\1/p'
}

# What an option of a command takes: "FILE", "text|json|folded"... nothing for a flag.
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

# What the daemon keeps, when it answers.
_snapwalk_dumps() {
	command "$1" list 2>/dev/null | sed -n '2,$s/ .*//p'
}

# The words that are no options.
_snapwalk_words() {
	case $2 in
	show | pin | diff)
		echo latest
		_snapwalk_dumps "$1"
		;;
	delete) _snapwalk_dumps "$1" ;;
	hook) [ "$3" != 2 ] || echo monit alertmanager nagios collectd systemd ;;
	watch) ;;
	*) _snapwalk_pids ;;
	esac
}

_snapwalk() {
	local program=$1 current=$2 previous=$3 command='' argument choices
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
	-*) argument=$(_snapwalk_argument "$program" "$previous" "${command:-dump}") ;;
	esac
	case ${argument:-} in
	'') ;;
	FILE | DIR | PATH)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	NAME)
		mapfile -t COMPREPLY < <(compgen -W "$(_snapwalk_names)" -- "$current")
		return
		;;
	PID)
		mapfile -t COMPREPLY < <(compgen -W "$(_snapwalk_pids)" -- "$current")
		return
		;;
	*'|'*)
		choices=${argument//|/ }
		mapfile -t COMPREPLY < <(compgen -W "${choices/TID,.../}" -- "$current")
		return
		;;
	*)
		return
		;;
	esac
	case $current in
	-*) choices=$(_snapwalk_options "$program" "$command") ;;
	*)
		choices=$(_snapwalk_words "$program" "$command" "$COMP_CWORD")
		[ "$COMP_CWORD" = 1 ] && choices="$(_snapwalk_commands "$program") $choices"
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
}

complete -F _snapwalk snapwalk
