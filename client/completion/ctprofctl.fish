# SPDX-License-Identifier: GPL-2.0-or-later
# fish completion for ctprofctl(1). A unit test holds the lists in here against the program's own.

function __ctprofctl_verbs
        echo 'capture	Take a snapshot of every thread of the host'
        echo 'list	List the snapshots of the spool, newest first'
        echo 'show	Show one snapshot, grouped'
        echo 'compare	Show two snapshots, or two sets of them, side by side: what changed'
        echo 'run	Capture, run COMMAND, capture again, and compare'
        echo 'info	Show where a snapshot comes from and how complete it is'
        echo 'verify	Check snapshots against their digests and for structure'
        echo 'remove	Remove snapshots from the spool'
        echo 'rename	Give a snapshot of the spool another name'
        echo 'export	Copy a snapshot out of the spool, or into another format'
        echo 'import	Put a snapshot file into the spool'
        echo 'status	Show how the daemon is and what it can read'
        echo 'metric-list	List every metric and derived value, and what the words beside them mean'
        echo 'help	Show help for the program, or for a verb'
end

function __ctprofctl_options # VERB
    switch $argv[1]
        case capture; echo '--tag --replace --smaps --no-smaps --output'
        case list; echo '--since --until'
        case show; echo '--format --group-by --no-thread-normalize --cgroup-flatten --no-cg-normalize --filter --sort-by --sections --metrics --columns --limit --all-rows --self --raw --wrap'
        case compare; echo '--format --group-by --no-thread-normalize --cgroup-flatten --no-cg-normalize --pair --no-pairing --window --filter --sort-by --before --after --alpha --threshold --sections --metrics --columns --limit --all-rows --self --raw --wrap'
        case run; echo '--tag --format --group-by --no-thread-normalize --cgroup-flatten --no-cg-normalize --pair --no-pairing --window --filter --sort-by --threshold --sections --metrics --columns --limit --all-rows --self --raw --wrap'
        case info; echo ''
        case verify; echo '--all'
        case remove; echo ''
        case rename; echo ''
        case export; echo '--format'
        case import; echo '--tag'
        case status; echo ''
        case metric-list; echo ''
        case help; echo ''
    end
end

# Several of the names, with commas between.
function __ctprofctl_list # WORD NAMES...
    set -l front (string match -r '^.*[,+]' -- $argv[1])
    for name in $argv[2..]
        echo "$front$name"
    end
end

function __ctprofctl_metrics
    ctprofctl metric-list --no-legend 2>/dev/null | awk '/^[a-z]/ && $2 != "from" { print $1 }'
end

function __ctprofctl_names # OPTIONS...
    printf '%s\n' latest latest~1
    ctprofctl list --no-legend --timeout 2 $argv 2>/dev/null | awk '{ print $1 }'
end

function __ctprofctl_snapshots # WORD OPTIONS...
    __ctprofctl_names $argv[2..]
    __fish_complete_suffix $argv[1] .zst
end

function __ctprofctl_value # OPTION WORD VERB OPTIONS...
    switch $argv[1]
        case --socket --output
            __fish_complete_path $argv[2]
        case --spool
            __fish_complete_directories $argv[2] ''
        case --sections
            __ctprofctl_list $argv[2] (string split ' ' 'primary taskstats-delay taskstats-accounting derived smaps-rollup cgroup-stats cgroup-limits memory-stat memory-events pressure host-pressure sched-ext')
        case --before --after
            __ctprofctl_list $argv[2] (__ctprofctl_names $argv[4..])
        case --metrics
            __ctprofctl_list $argv[2] (__ctprofctl_metrics)
        case --columns
            if test "$argv[3]" = show
                __ctprofctl_list $argv[2] (string split ' ' 'group threads metric value top p50 p99 uptime tags unit')
            else
                __ctprofctl_list $argv[2] (string split ' ' 'group threads metric before after arrow delta % rate top p50 p99 uptime tags unit')
            end
        case --json
            string split ' ' 'short pretty off'
        case --sort-by
            string split ' ' 'impact delta percent name'
            __ctprofctl_metrics
        case --since --until
            string split ' ' -- 'today yesterday now -1h -1d'
        case --group-by
            string split ' ' 'pcomm comm comm-exact cgroup all thread'
        case --format
            if test "$argv[3]" = export
                string split ' ' 'ctprof ktstr ndjson'
            else
                string split ' ' 'table csv html ndjson'
            end
    end
end

function __ctprofctl_complete
    set -l common '--socket --local --spool --json --timeout --no-pager --no-legend --quiet --help --version'
    set -l valued (string split ' ' -- '--socket --spool --timeout --tag --output --since --until --format --group-by --cgroup-flatten --pair --filter --sort-by --before --after --alpha --threshold --sections --metrics --columns --limit')
    set -l before (commandline -opc)[2..]
    set -l cur (commandline -ct)
    set -l target
    set -l verb ''
    set -l option ''
    set -l n 0

    for word in $before
        if test -n "$option"
            contains -- $option --socket --spool; and set -a target $option $word
            set option ''
        else if test "$word" = --
            __fish_complete_path "$cur"
            return
        else if string match -qr '^--(local$|socket=|spool=)' -- $word
            set -a target $word
        else if string match -q -- '-*' $word
            contains -- $word $valued; and set option $word
        else if test -z "$verb"
            set verb $word
        else
            set n (math $n + 1)
        end
    end

    if test -n "$option"
        __ctprofctl_value $option "$cur" "$verb" $target
    else if string match -qr '^--[^=]+=' -- $cur
        set option (string replace -r '=.*' '' -- $cur)
        printf "$option=%s\n" (__ctprofctl_value $option (string replace -r '^[^=]*=' '' -- $cur) "$verb" $target)
    else if string match -q -- '-*' $cur
        string split ' ' -- (__ctprofctl_options $verb) $common
    else if test -z "$verb"
        __ctprofctl_verbs
    else
        switch $verb:$n
            case show:0 info:0 export:0 rename:0 compare:0 compare:1 'verify:*' 'remove:*'
                __ctprofctl_snapshots "$cur" $target
            case help:0
                __ctprofctl_verbs
            case import:0 export:1
                __fish_complete_path "$cur"
        end
    end
end

complete -c ctprofctl -f -a '(__ctprofctl_complete)'
