/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Option list
 *
 * Every option of the command line in one place: how it is typed, what it takes, where its value
 * goes and its line of help. The help, the completions and the manual page follow from these rows.
 * Every verb takes the common options; verbs.h names the others that it takes.
 *
 * Columns: id, long name, short name or 0, kind of argument, its name, how it is taken, help. It is
 * taken in one of these ways:
 *
 *     GIVEN                 being given is all there is to know
 *     VIEW_FLAG(MEMBER, B)  sets a flag of the view to B
 *     VIEW_NUMBER(MEMBER)   puts its value into a number of the view
 *     VIEW_PART(MEMBER)     sets a member of the view that has a form of its own
 *     TEXT(MEMBER, NOUN)    keeps its value, which must not be empty where there is a noun for it
 *     TIME(MEMBER)          reads its value as a time
 *     SPAN(MEMBER)          reads its value as an amount of time above 0
 *     CHOICE(MEMBER)        is one of a list of words
 *     VALUE(NAME)           has a function of its own, take_NAME() in options.c
 */

#include <stdint.h>
#include "metric/metric.h"
#include "view/section-list.h"
#include "view/view.h"

/* The names of a list within a line of help. */
#define OPTION_NAMED(id, name, ...) " " name
#define OPTION_TYPED(id, name, typed, ...) " " typed

// clang-format off
#define OPTIONS_COMMON(O)                                                                       \
        O(SOCKET, "socket", 0, REQUIRED, "PATH", TEXT(socket_path, "path"),                     \
          "Socket of the daemon (default: $CTPROF_SOCKET, or "                                  \
          "/run/ctprof/io.ctprof.Profiler)")                                                    \
        O(LOCAL, "local", 0, NONE, "", GIVEN,                                                   \
          "Use no daemon: start a private ctprofd for this one command")                        \
        O(SPOOL, "spool", 0, REQUIRED, "DIR", TEXT(spool_path, "path"),                         \
          "With --local: use this spool directory")                                             \
        O(HOST, "host", 'H', REQUIRED, "HOST", VALUE(host),                                     \
          "Ask the daemon of HOST through ssh: [USER@]HOST[:PORT], or several as "              \
          "web[01-40,50],db1; may be given several times")                                      \
        O(HOSTS_FILE, "hosts-file", 0, REQUIRED, "FILE", TEXT(hosts_path, "path"),              \
          "Ask the hosts that FILE (\"-\": stdin) names, such a list a line")                   \
        O(FANOUT, "fanout", 0, REQUIRED, "N", VALUE(fanout),                                    \
          "Ask so many of several hosts at a time (default: 16)")                               \
        O(JSON, "json", 'j', OPTIONAL, "STYLE", CHOICE(json),                                    \
          "Print the result as JSON: short, pretty or off")                                     \
        O(TIMEOUT, "timeout", 0, REQUIRED, "SECONDS", VALUE(timeout),                           \
          "Give up after so many seconds in all (default: when the daemon sends nothing for "   \
          "60)")                                                                                \
        O(NO_PAGER, "no-pager", 0, NONE, "", GIVEN,                                             \
          "Do not pipe what is longer than the screen into a pager")                            \
        O(NO_LEGEND, "no-legend", 0, NONE, "", GIVEN,                                           \
          "Print no header lines and no closing hints")                                         \
        O(QUIET, "quiet", 'q', NONE, "", GIVEN,                                                 \
          "Print only results and errors")                                                      \
        O(HELP, "help", 'h', NONE, "", GIVEN,                                                   \
          "Show the help of the program or of a verb")                                          \
        O(VERSION, "version", 0, NONE, "", GIVEN,                                               \
          "Show the version")

#define OPTIONS_OF_VERBS(O)                                                                     \
        O(TAG, "tag", 0, REQUIRED, "NAME", VALUE(tag),                                          \
          "Name of the snapshot (default: the time of the capture)")                            \
        O(REPLACE, "replace", 0, NONE, "", GIVEN,                                               \
          "Replace the snapshot that has this name")                                            \
        O(SMAPS, "smaps", 0, OPTIONAL, "WHICH", CHOICE(smaps),                                   \
          "Read smaps_rollup of these processes: all (also without WHICH), small or none; "     \
          "reading it stalls large ones (default: ctprofd.conf(5), there small)")               \
        O(NO_SMAPS, "no-smaps", 0, NONE, "", GIVEN,                                             \
          "The same as --smaps=none")                                                           \
        O(NO_HEAP, "no-heap", 0, NONE, "", GIVEN,                                               \
          "Do not read the counters of jemalloc, which are in the memory of processes")         \
        O(REASONS, "reasons", 0, REQUIRED, "WHETHER", CHOICE(reasons),                           \
          "Whether waits are counted by reason from this capture on, for as long as "           \
          "ctprofd.conf(5) says, there 1h: yes (default) or no")                                \
        O(BACKEND, "backend", 0, REQUIRED, "HOW", CHOICE(backend),                               \
          "Read threads through BPF (bpf), from files (procfs), or auto: through BPF where "    \
          "that works (default: ctprofd.conf(5), there auto)")                                    \
        O(AT, "at", 0, REQUIRED, "TIME", VALUE(at),                                             \
          "Wait until TIME (\"2026-11-20 15:30\", +30s), by the clock of the host that is "      \
          "captured")                                                                           \
        O(OUTPUT, "output", 0, REQUIRED, "FILE", TEXT(output_path, "path"),                     \
          "Write the snapshot to FILE (\"-\": stdout) instead of the spool")                    \
        O(FOR, "for", 0, REQUIRED, "TIME", SPAN(for_ns),                                        \
          "Record for so long: 10s, 2min, 500ms (default: until COMMAND or Ctrl-C ends it, at "   \
          "most as long as ctprofd.conf(5) says, there 1h)")                                    \
        O(EVERY, "every", 0, REQUIRED, "TIME", SPAN(every_ns),                                  \
          "Keep what each group of threads does in each step of this length, too: 1s, 100ms "   \
          "(show --course; up to 3600 steps)")                                                  \
        O(STACK_KINDS, "stack-kinds", 0, REQUIRED, "WHICH", CHOICE(stack_kinds),                \
          "Take the stacks of the kernel (kernel), of user mode (user), of both (default) or "   \
          "none")                                                                               \
        O(ON_CPU, "on-cpu", 0, NONE, "", GIVEN,                                                 \
          "Take stacks of running threads only")                                                \
        O(OFF_CPU, "off-cpu", 0, NONE, "", GIVEN,                                               \
          "Take stacks of waiting threads only")                                                \
        O(PERIOD, "period", 0, REQUIRED, "TIME", SPAN(period_ns),                               \
          "Take a sample of a thread for so much of its time: 10ms, 500us (default: the daemon " \
          "chooses)")                                                                           \
        O(USER_STACK, "user-stack", 0, REQUIRED, "SIZE", VALUE(user_stack),                     \
          "Copy at most so much of a stack of user mode: 16K (the default), at most 32K; "      \
          "fp: follow frame pointers; none: take none")                                         \
        O(PID, "pid", 0, REQUIRED, "LIST", VALUE(pid),                                          \
          "Take samples of these processes only: 12,13")                                        \
        O(UID, "uid", 0, REQUIRED, "LIST", VALUE(uid),                                          \
          "Take samples of processes of these users only, by number or name")                   \
        O(COMM, "comm", 0, REQUIRED, "GLOB", VALUE(comm),                                       \
          "Take samples of threads only that are called so, or whose process is")               \
        O(CGROUP, "cgroup", 0, REQUIRED, "PATH", TEXT(cgroup, "path"),                          \
          "Take samples in this cgroup only, and in those below it: /system.slice/x.service")   \
        O(USER_THREADS, "user-threads", 0, NONE, "", GIVEN,                                     \
          "Take samples of threads of programs only")                                           \
        O(KERNEL_THREADS, "kernel-threads", 0, NONE, "", GIVEN,                                 \
          "Take samples of threads of the kernel only")                                         \
        O(MIN, "min", 0, REQUIRED, "TIME", SPAN(min_ns),                                        \
          "Take stacks of waits only that last at least so long")                               \
        O(MAX, "max", 0, REQUIRED, "TIME", SPAN(max_ns),                                        \
          "Take stacks of waits only that last at most so long")                                \
        O(SINCE, "since", 0, REQUIRED, "TIME", TIME(since_realtime_ns),                         \
          "Only snapshots captured at TIME or later: \"2026-11-20 15:30\", today, "             \
          "yesterday, -2h")                                                                     \
        O(UNTIL, "until", 0, REQUIRED, "TIME", TIME(until_realtime_ns),                         \
          "Only snapshots captured at TIME or earlier")                                         \
        O(ALL, "all", 0, NONE, "", GIVEN,                                                       \
          "Check all snapshots of the spool")                                                   \
        O(CHANGES, "changes", 0, NONE, "", GIVEN,                                               \
          "Instead of a snapshot: what was done between each two of this host that follow "     \
          "each other, as rows, the oldest first (ctprof-rows(5))")                             \
        O(PRESENT, "present", 0, NONE, "", GIVEN,                                               \
          "With --changes: only rows that have a value")                                        \
        O(TOP, "top", 0, REQUIRED, "N", VIEW_NUMBER(limit),                                     \
          "With --changes: only the N groups of each interval that weigh most")

#define OPTIONS_OF_VIEWS(O)                                                                     \
        O(FORMAT, "format", 0, REQUIRED, "FORMAT", CHOICE(format),                               \
          "table (default), csv or ndjson (a row for each group and metric, see "               \
          "ctprof-rows(5)), or html (one page for a browser: redirect it into a file)")         \
        O(FORMULAS, "formulas", 0, NONE, "", GIVEN,                                             \
          "With csv and ndjson: keep = + - @ in front of texts, which spreadsheets take for "   \
          "formulas")                                                                           \
        O(GROUP_BY, "group-by", 0, REQUIRED, "AXIS", VIEW_PART(axis),                       \
          "Group threads by one of:" VIEW_AXES(OPTION_TYPED) " (default: process)")             \
        O(NO_THREAD_NORMALIZE, "no-thread-normalize", 0, NONE, "",                              \
          VIEW_FLAG(thread_normalize, false),                                                   \
          "Literal names of processes and threads: no patterns for digits")                     \
        O(CGROUP_FLATTEN, "cgroup-flatten", 0, REQUIRED, "GLOB", VIEW_PART(cgroup_flatten), \
          "Make one group of all cgroups whose path matches; may be given several times")       \
        O(NO_CG_NORMALIZE, "no-cg-normalize", 0, NONE, "", VIEW_FLAG(cgroup_normalize, false),  \
          "Literal cgroups: no patterns for instances and numbers")                             \
        O(PAIR, "pair", 0, REQUIRED, "OLD=NEW", VIEW_PART(pairs),                            \
          "Compare the cgroup OLD of BEFORE with NEW of AFTER; may be given several times")     \
        O(NO_PAIRING, "no-pairing", 0, NONE, "", VIEW_FLAG(pairing, false),                     \
          "Do not look for renamed cgroups by the threads in them")                             \
        O(WINDOW, "window", 0, NONE, "", VIEW_FLAG(window, true),                               \
          "What was done between the two snapshots: the default for two of one boot")           \
        O(TOTALS, "totals", 0, NONE, "", VIEW_FLAG(totals, true),                               \
          "What threads did in their whole lives, side by side, also for two of one boot")      \
        O(FILTER, "filter", 0, REQUIRED, "GLOB", VIEW_PART(filter),                         \
          "Only groups whose label matches")                                                    \
        O(SORT_BY, "sort-by", 0, REQUIRED, "SPEC", VIEW_PART(sort),                         \
          "Order of groups and rows: weight (default), impact, delta, percent, name, or "       \
          "METRIC[:asc|desc][,...]; also by columns:" VIEW_COLUMNS(OPTION_NAMED))               \
        O(BEFORE, "before", 0, REQUIRED, "LIST", TEXT(before, "list"),                          \
          "Compare sets: the snapshots and intervals before, separated by commas; a name may be " \
          "a glob, KEY=GLOB chooses by host, kernel, machine, boot, user or version, and DIR/ "   \
          "stands for the files in it")                                                           \
        O(AFTER, "after", 0, REQUIRED, "LIST", TEXT(after, "list"),                             \
          "Compare sets: the snapshots after, likewise")                                        \
        O(ALPHA, "alpha", 0, REQUIRED, "P", VALUE(alpha),                                       \
          "Compare sets: the adjusted p below which a row is significant (default: 0.05)")      \
        O(THRESHOLD, "threshold", 0, REQUIRED, "PCT", VIEW_PART(threshold),                 \
          "Only rows that changed by more percent; growth from zero counts as more")            \
        O(SECTIONS, "sections", 0, REQUIRED, "LIST", VIEW_PART(sections),                   \
          "Only these sections, separated by commas:"                                           \
          METRIC_SECTIONS(OPTION_NAMED) SECTIONS(OPTION_NAMED))                                 \
        O(METRICS, "metrics", 0, REQUIRED, "LIST", VIEW_PART(metrics),                      \
          "Only these metrics and derived values, separated by commas; globs are allowed, and " \
          "columns stand for what they are made of:" VIEW_COLUMNS(OPTION_NAMED))                \
        O(COLUMNS, "columns", 0, REQUIRED, "LIST", TEXT(columns, NULL),                         \
          "These columns, of the overview or of rows, in this order; \"+\" in front adds them "  \
          "to the default ones")                                                                \
        O(LIMIT, "limit", 0, REQUIRED, "N", VIEW_NUMBER(limit),                                 \
          "At most N groups, and N cgroups or processes in each section, 0 for all "            \
          "(default: 40)")                                                                      \
        O(STACKS, "stacks", 0, NONE, "", GIVEN,                                                 \
          "Of a recording: the stacks of each process as a tree")                               \
        O(WAKERS, "wakers", 0, NONE, "", GIVEN,                                                 \
          "Of a recording: who woke threads that waited, which \"record\" takes and \"show\" "    \
          "tells")                                                                              \
        O(LINES, "lines", 0, NONE, "", GIVEN,                                                   \
          "Of a recording: lines of the source, which \"record\" looks for in debugging "        \
          "information and \"show --stacks\" tells")                                             \
        O(STANDARD_ERRORS, "standard-errors", 0, NONE, "", GIVEN,                               \
          "With --format folded: behind each time its standard error")                          \
        O(COURSE, "course", 0, NONE, "", GIVEN,                                                 \
          "Of a recording that was made with --every: what ran and waited in each step")         \
        O(HISTOGRAM, "histogram", 0, NONE, "", GIVEN,                                           \
          "Of a recording: how many waits there were of each length, and their time, by what "   \
          "they were for")                                                                       \
        O(ROWS, "rows", 0, NONE, "", GIVEN,                                                     \
          "Also each metric of each group, and the sections, below the overview")               \
        O(ALL_ROWS, "all-rows", 0, NONE, "", GIVEN,                                             \
          "Also rows that did not change")                                                      \
        O(SELF, "self", 0, NONE, "", VIEW_FLAG(self, true),                                     \
          "Also the threads of ctprof itself")                                                  \
        O(VERBOSE, "verbose", 0, NONE, "", GIVEN,                                               \
          "Also why readings are missing, and what to do about it: a line for each source")     \
        O(RAW, "raw", 0, NONE, "", GIVEN,                                                       \
          "Plain numbers in base units")                                                        \
        O(WRAP, "wrap", 0, NONE, "", GIVEN,                                                     \
          "On a terminal: wrap long names instead of cutting them")
// clang-format on

#define OPTIONS(O) OPTIONS_COMMON(O) OPTIONS_OF_VERBS(O) OPTIONS_OF_VIEWS(O)

#define OPTION_ID(id, ...) OPTION_##id,
typedef enum OptionId { OPTIONS(OPTION_ID) _OPTION_MAX } OptionId;

/* A bit for each option. */
typedef unsigned __int128 OptionBits;

#define OPTION_BIT(id) ((OptionBits) 1 << OPTION_##id)

#define OPTION_COMMON_BIT(id, ...) OPTION_BIT(id) |
#define OPTION_COMMON_BITS (OPTIONS_COMMON(OPTION_COMMON_BIT) 0)

/* With these show, compare and run group, filter and lay out. */
#define OPTION_VIEW_BITS                                                                        \
        (OPTION_BIT(GROUP_BY) | OPTION_BIT(NO_THREAD_NORMALIZE) | OPTION_BIT(SECTIONS) |        \
         OPTION_BIT(METRICS) | OPTION_BIT(COLUMNS) | OPTION_BIT(LIMIT) | OPTION_BIT(ALL_ROWS) | \
         OPTION_BIT(SELF) | OPTION_BIT(RAW) | OPTION_BIT(FORMAT) | OPTION_BIT(WRAP) |           \
         OPTION_BIT(CGROUP_FLATTEN) | OPTION_BIT(NO_CG_NORMALIZE) | OPTION_BIT(FILTER) |        \
         OPTION_BIT(SORT_BY) | OPTION_BIT(FORMULAS) | OPTION_BIT(VERBOSE) | OPTION_BIT(ROWS))

/* An interval takes these, too. */
#define OPTION_INTERVAL_BITS (OPTION_BIT(PAIR) | OPTION_BIT(NO_PAIRING) | OPTION_BIT(WINDOW))

/* Two snapshots, of compare and run, take these. */
#define OPTION_PAIR_BITS (OPTION_INTERVAL_BITS | OPTION_BIT(THRESHOLD) | OPTION_BIT(TOTALS))

typedef enum OptionArgument {
        OPTION_ARGUMENT_NONE,
        OPTION_ARGUMENT_REQUIRED,
        OPTION_ARGUMENT_OPTIONAL, /* of the long name, after '='; the short name takes none */
} OptionArgument;

typedef struct OptionRow {
        const char *name;
        char letter;
        OptionArgument argument;
        const char *argument_name;
        const char *help;
} OptionRow;

extern const OptionRow option_table[_OPTION_MAX];
