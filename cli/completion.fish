# SPDX-License-Identifier: LGPL-2.1-or-later
# Completion of snapwalk for fish. Commands, options and their values come from snapwalk --help, so that they are those of
# the installed version.

# The lines "--long<TAB>-s<TAB>ARGUMENT<TAB>description" of the options of a command; without one it is a dump.
function __snapwalk_options
    set -q argv[2]; or set argv $argv dump
    command $argv --help 2>/dev/null | awk '
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
end

# The lines "command<TAB>description" between "Commands:" and "Targets:".
function __snapwalk_commands
    command $argv[1] --help 2>/dev/null | awk '
        function out() { if (name != "") print name "\t" text; name = "" }
        /^Targets:/ { exit }
        inside && /^  [a-z]/ { out(); name = $1; sub(/^  [a-z]+/, ""); text = ""
            if (match($0, /  +/)) text = substr($0, RSTART + RLENGTH)
            next }
        inside && /^        / { sub(/^ +/, ""); text = text (text == "" ? "" : " ") $0 }
        /^Commands:/ { inside = 1 }
        END { out() }'
end

# Kernel threads have no program.
function __snapwalk_pids
    for place in (find /proc -maxdepth 1 -name '[0-9]*' 2>/dev/null | sort -V)
        test -e $place/exe
        and printf '%s\t%s\n' (string replace /proc/ '' $place) (cat $place/comm 2>/dev/null | tr -cd '[:print:]')
    end
end

# Of each process the line of its control group, which has the unit and the container.
function __snapwalk_cgroups
    cat /proc/*/cgroup 2>/dev/null | sed -n 's/^0:://p; s/^[0-9]*:name=systemd://p' | sort -u
end

function __snapwalk_dumps
    command $argv[1] list 2>/dev/null | sed -n '2,$s/ .*//p'
end

# The values of an option: its name, its argument, what is typed.
function __snapwalk_values
    switch $argv[1]
        case --unit
            __snapwalk_cgroups | grep -oE '[^/]+\.(service|scope)' | sort -u
            return
        case --cgroup
            __snapwalk_cgroups
            return
        case --container
            __snapwalk_cgroups | grep -oE '[0-9a-f]{64}' | sort -u
            return
    end
    switch $argv[2]
        case DIR
            __fish_complete_directories $argv[3] ''
        case FILE PATH
            __fish_complete_path $argv[3]
        case NAME
            cat /proc/*/comm 2>/dev/null | tr -cd '[:print:]\n' | sort -u
        case PID
            __snapwalk_pids
        case dump
            echo dump
        case '*|*'
            string split '|' -- $argv[2] | string match -rv '[A-Z]'
    end
end

function __snapwalk
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l program $before[1]
    set -l commands (__snapwalk_commands $program)
    set -l command
    if test (count $before) -gt 1; and string match -q -- $before[2]\t'*' $commands
        set command $before[2]
    end
    # Behind -- is a program with its arguments.
    if set -l at (contains -i -- -- $before)
        if test $at = (count $before)
            __fish_complete_command
        else
            __fish_complete_path $current
        end
        return
    end
    set -l option $before[-1]
    set -l typed $current
    set -l prefix ''
    if string match -qr '^--[^=]+=' -- $current
        set option (string split -m 1 = -- $current)[1]
        set typed (string split -m 1 = -- $current)[2]
        set prefix $option=
    end
    for line in (__snapwalk_options $program $command)
        set -l parts (string split \t -- $line)
        if test -n "$parts[3]"; and contains -- $option $parts[1] $parts[2]
            for value in (__snapwalk_values $parts[1] $parts[3] $typed)
                printf '%s\n' $prefix$value
            end
            return
        end
        if string match -q -- '-*' $current
            printf '%s\t%s\n' $parts[1] $parts[4]
            test -z "$parts[2]"; or printf '%s\t%s\n' $parts[2] $parts[4]
        end
    end
    string match -q -- '-*' $current; and return
    test (count $before) -gt 1; or printf '%s\n' $commands
    # A core file is a target, and a minidump.
    if string match -qr '^core|/' -- $current; and contains -- "$command" '' dump explain verify
        __fish_complete_path $current
    else if test -n "$current"; and contains -- "$command" '' dump
        __fish_complete_path $current | string match '*.dmp*'
    end
    switch "$command"
        case show symbolize pin diff merge
            echo latest
            __snapwalk_dumps $program
            test "$command" = pin; or __fish_complete_path $current
        case delete
            __snapwalk_dumps $program
        case hook
            test (count $before) = 2; and printf '%s\n' monit alertmanager nagios collectd systemd
        case on
            test (count $before) = 2; and printf '%s\n' syscall:accept4 syscall:connect syscall:openat syscall:write func: usdt: death thread process exec mmap blocked fault
            __snapwalk_pids
        case watch mcp
        case '*'
            __snapwalk_pids
    end
end

complete -c snapwalk -f -a '(__snapwalk)'
