#compdef snapwalk
# SPDX-License-Identifier: LGPL-2.1-or-later
# Completion of snapwalk for zsh. Commands, options and their values come from snapwalk --help, so that they are those of
# the installed version.

# The lines "--long<TAB>-s<TAB>ARGUMENT<TAB>description" of the options of a command; without one it is a dump.
_snapwalk_options() {
	command "$1" "${2:-dump}" --help 2>/dev/null | awk '
		function out() { if (long != "") print long "\t" short "\t" argument "\t" text; long = "" }
		/^  -/ {
			out()
			line = substr($0, 3); text = ""; short = ""
			if (match(line, /  +/)) {
				text = substr(line, RSTART + RLENGTH)
				line = substr(line, 1, RSTART - 1)
			}
			if (line ~ /^-[A-Za-z], /) { short = substr(line, 1, 2); line = substr(line, 5) }
			n = index(line, " ")
			long = n ? substr(line, 1, n - 1) : line
			sub(/\[.*/, "", long) # a value that may be left away
			argument = n ? substr(line, n + 1) : ""
			next
		}
		/^        / { sub(/^ +/, ""); text = text (text == "" ? "" : " ") $0; next }
		{ out() }
		END { out() }'
}

# The lines "command:description" between "Commands:" and "Targets:".
_snapwalk_commands() {
	command "$1" --help 2>/dev/null | awk '
		function out() { if (name != "") print name ":" text; name = "" }
		/^Targets:/ { exit }
		inside && /^  [a-z]/ { out(); name = $1; sub(/^  [a-z]+/, ""); text = ""
			if (match($0, /  +/)) text = substr($0, RSTART + RLENGTH)
			next }
		inside && /^        / { sub(/^ +/, ""); text = text (text == "" ? "" : " ") $0 }
		/^Commands:/ { inside = 1 }
		END { out() }'
}

_snapwalk_pids() {
	local place name
	local -a shown
	# Kernel threads have no program.
	for place in /proc/<->(N); do
		[[ -e $place/exe ]] || continue
		name=$(<$place/comm) 2>/dev/null
		shown+=("${place:t}:${name//[^[:print:]]/?}")
	done
	_describe -V 'process' shown
}

_snapwalk_names() {
	local -a names
	local place
	for place in /proc/<->/comm(N); do
		names+=("$(<$place)") 2>/dev/null
	done
	compadd -- ${(u)names//[^[:print:]]/?}
}

# Of each process the line of its control group, which has the unit and the container.
_snapwalk_cgroups() {
	sed -n 's/^0:://p; s/^[0-9]*:name=systemd://p' /proc/[0-9]*/cgroup 2>/dev/null | sort -u
}

_snapwalk_dumps() {
	local -a ids
	ids=(${(f)"$(command "$1" list 2>/dev/null | sed -n '2,$s/ .*//p')"})
	compadd -- $ids
}

_snapwalk_value() {
	local option=$1 argument=$2
	local -a found
	case $option:$argument in
	--unit:*)
		found=(${(f)"$(_snapwalk_cgroups | grep -oE '[^/]+\.(service|scope)' | sort -u)"})
		compadd -- $found
		;;
	--cgroup:*)
		found=(${(f)"$(_snapwalk_cgroups)"})
		compadd -- $found
		;;
	--container:*)
		found=(${(f)"$(_snapwalk_cgroups | grep -oE '[0-9a-f]{64}' | sort -u)"})
		compadd -- $found
		;;
	*:DIR) _files -/ ;;
	*:FILE | *:PATH) _files ;;
	*:NAME) _snapwalk_names ;;
	*:PID) _snapwalk_pids ;;
	--then:*) compadd dump ;;
	*'|'*)
		found=(${(s:|:)argument})
		compadd -- ${found:#*[A-Z]*}
		;;
	*) _message "$argument" ;;
	esac
}

_snapwalk() {
	local program=$words[1] command='' option='' line long short argument text
	local -a commands lines shown
	commands=(${(f)"$(_snapwalk_commands $program)"})
	if ((CURRENT > 2)) && ((${commands[(I)${(b)words[2]}:*]})); then
		command=$words[2]
	fi
	# Behind -- is a program with its arguments.
	local dashes=${words[(i)--]}
	if ((dashes < CURRENT)); then
		((dashes + 1 < CURRENT)) && _files || _command_names -e
		return
	fi
	lines=(${(f)"$(_snapwalk_options $program $command)"})
	if [[ $words[CURRENT] == --*=* ]]; then
		option=${words[CURRENT]%%=*}
		compset -P 1 '*='
	elif [[ $words[CURRENT-1] == -* ]]; then
		option=$words[CURRENT-1]
	fi
	for line in $lines; do
		long=${line%%$'\t'*} line=${line#*$'\t'}
		short=${line%%$'\t'*} line=${line#*$'\t'}
		argument=${line%%$'\t'*} text=${line#*$'\t'}
		if [[ -n $argument && -n $option && ($option == $long || $option == $short) ]]; then
			_snapwalk_value $long $argument
			return
		fi
		shown+=("$long:$text")
		[[ -z $short ]] || shown+=("$short:$text")
	done
	if [[ $words[CURRENT] == -* ]]; then
		_describe -o 'option' shown
		return
	fi
	((CURRENT > 2)) || _describe 'command' commands
	# A core file is a target, and a minidump.
	if [[ $words[CURRENT] == (core|*/)* && $command == (|dump|explain|verify) ]]; then
		_files
	elif [[ -n $words[CURRENT] && $command == (|dump) ]]; then
		compadd -f -- *.dmp(N)
	fi
	case $command in
	show | symbolize | pin | diff | merge)
		compadd latest
		_snapwalk_dumps $program
		[[ $command == pin ]] || _files
		;;
	delete) _snapwalk_dumps $program ;;
	hook) ((CURRENT != 3)) || compadd monit alertmanager nagios collectd systemd ;;
	on)
		((CURRENT != 3)) || compadd syscall:accept4 syscall:connect syscall:openat syscall:write func: usdt: death thread process exec mmap blocked fault
		_snapwalk_pids
		;;
	watch | mcp) ;;
	*) _snapwalk_pids ;;
	esac
}

_snapwalk "$@"
