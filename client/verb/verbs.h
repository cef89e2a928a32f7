/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Verb list
 *
 * Every verb in one place: how it is typed, what it takes and its line of help, in the order of the
 * help. The function verb_ID() does what the verb says. The completions follow from these rows.
 *
 * Columns: id, name, the arguments as the help shows them, help, what too few arguments lack, least
 * and greatest number of arguments, options besides the common ones, formats where it takes
 * --format, hosts that it can ask with --host: NONE, ONE, or MANY.
 */

#include <stdint.h>
#include "report/group/group-columns.h"
#include "session/option-list.h"
#include "session/options.h"

#define VERB_ANY_ARGUMENTS SIZE_MAX

/* The formats of views. */
#define VERB_VIEW_FORMATS \
        (FORMAT_BIT(TABLE) | FORMAT_BIT(CSV) | FORMAT_BIT(NDJSON) | FORMAT_BIT(HTML))

/* The options that choose the threads of which "record" takes samples. */
#define VERB_FILTER_BITS                                                             \
        (OPTION_BIT(PID) | OPTION_BIT(UID) | OPTION_BIT(COMM) | OPTION_BIT(CGROUP) | \
         OPTION_BIT(USER_THREADS) | OPTION_BIT(KERNEL_THREADS))

/* "export" takes these beside --changes. */
#define VERB_CHANGES_BITS                                                                      \
        (OPTION_BIT(SINCE) | OPTION_BIT(UNTIL) | OPTION_BIT(AFTER) | OPTION_BIT(PRESENT) |     \
         OPTION_BIT(TOP) | OPTION_BIT(GROUP_BY) | OPTION_BIT(METRICS) | OPTION_BIT(SECTIONS) | \
         OPTION_BIT(FILTER) | OPTION_BIT(NO_THREAD_NORMALIZE) | OPTION_BIT(CGROUP_FLATTEN) |   \
         OPTION_BIT(NO_CG_NORMALIZE) | OPTION_BIT(SELF) | OPTION_BIT(FORMULAS))

// clang-format off
#define VERBS(V)                                                                                   \
        V(capture, "capture", "",                                                                  \
          "Take a snapshot of every thread of the host",                                           \
          NULL, 0, 0,                                                                              \
          OPTION_BIT(TAG) | OPTION_BIT(REPLACE) | OPTION_BIT(SMAPS) | OPTION_BIT(NO_SMAPS) |       \
          OPTION_BIT(NO_HEAP) | OPTION_BIT(REASONS) | OPTION_BIT(BACKEND) | OPTION_BIT(OUTPUT) |   \
          OPTION_BIT(AT) |                                                                         \
          OPTION_BIT(VERBOSE), 0, MANY)                                                            \
        V(list, "list", "",                                                                        \
          "List the snapshots of the spool, newest first",                                         \
          NULL, 0, 0, OPTION_BIT(SINCE) | OPTION_BIT(UNTIL), 0, MANY)                              \
        V(show, "show", "SNAPSHOT|A..B",                                                           \
          "Show a snapshot or a recording, or what was done between two of one boot",              \
          "a snapshot or an interval", 1, 1,                                                       \
          OPTION_VIEW_BITS | OPTION_INTERVAL_BITS | OPTION_BIT(STACKS) | OPTION_BIT(WAKERS) |      \
                  OPTION_BIT(LINES) | OPTION_BIT(STANDARD_ERRORS) | OPTION_BIT(COURSE) |           \
                  OPTION_BIT(HISTOGRAM),                                                           \
          VERB_VIEW_FORMATS | FORMAT_BIT(FOLDED) | FORMAT_BIT(PPROF) | FORMAT_BIT(SPEEDSCOPE),     \
          MANY)                                                                                    \
        V(compare, "compare", "BEFORE AFTER|A..B C..D|--before LIST --after LIST",                 \
          "Show what was done between two snapshots, or compare intervals, sets or hosts",         \
          "two snapshots", 0, VERB_ANY_ARGUMENTS,                                                  \
          OPTION_VIEW_BITS | OPTION_PAIR_BITS | OPTION_BIT(BEFORE) | OPTION_BIT(AFTER) |           \
          OPTION_BIT(ALPHA) | OPTION_BIT(STACKS) | OPTION_BIT(STANDARD_ERRORS),                    \
          VERB_VIEW_FORMATS | FORMAT_BIT(FOLDED), MANY)                                            \
        V(run, "run", "-- COMMAND...",                                                             \
          "Capture, run COMMAND, capture again, and compare",                                      \
          "a command", 1, VERB_ANY_ARGUMENTS,                                                      \
          OPTION_BIT(TAG) | OPTION_BIT(NO_HEAP) | OPTION_BIT(REASONS) | OPTION_BIT(BACKEND) |      \
          OPTION_PAIR_BITS | OPTION_VIEW_BITS,                                                     \
          VERB_VIEW_FORMATS, NONE)                                                                 \
        V(record, "record", "[-- COMMAND...]",                                                     \
          "Record where in their code threads run and wait, for a time or for COMMAND",            \
          NULL, 0, VERB_ANY_ARGUMENTS,                                                             \
          OPTION_BIT(TAG) | OPTION_BIT(REPLACE) | OPTION_BIT(FOR) | OPTION_BIT(EVERY) |            \
          OPTION_BIT(STACK_KINDS) | OPTION_BIT(LINES) |                                            \
          OPTION_BIT(ON_CPU) | OPTION_BIT(OFF_CPU) | OPTION_BIT(PERIOD) |                          \
          OPTION_BIT(USER_STACK) | OPTION_BIT(WAKERS) | VERB_FILTER_BITS | OPTION_BIT(ALL) |       \
          OPTION_BIT(MIN) | OPTION_BIT(MAX) | OPTION_BIT(OUTPUT) | OPTION_BIT(VERBOSE), 0, MANY)   \
        V(info, "info", "SNAPSHOT",                                                                \
          "Show where a snapshot comes from and how complete it is",                               \
          "a snapshot", 1, 1, 0, 0, MANY)                                                          \
        V(verify, "verify", "SNAPSHOT...|--all",                                                   \
          "Check snapshots against their digests and for structure",                               \
          NULL, 0, VERB_ANY_ARGUMENTS, OPTION_BIT(ALL), 0, MANY)                                   \
        V(remove, "remove", "SNAPSHOT...",                                                         \
          "Remove snapshots from the spool",                                                       \
          "snapshots", 1, VERB_ANY_ARGUMENTS, 0, 0, ONE)                                           \
        V(rename, "rename", "OLD NEW",                                                             \
          "Give a snapshot of the spool another name",                                             \
          "the old name and the new one", 2, 2, 0, 0, ONE)                                         \
        V(export, "export", "SNAPSHOT|A..B [FILE|-]|--changes [FILE|-]",                           \
          "Copy a snapshot out of the spool, or convert it or all that changed",                   \
          NULL, 0, 2, OPTION_BIT(FORMAT) | OPTION_BIT(CHANGES) | VERB_CHANGES_BITS,                \
          FORMAT_BIT(CTPROF) | FORMAT_BIT(KTSTR) | FORMAT_BIT(NDJSON) | FORMAT_BIT(CSV) |          \
                  FORMAT_BIT(DENET), MANY)                                                         \
        V(import, "import", "FILE",                                                                \
          "Put a snapshot file into the spool",                                                    \
          "a file", 1, 1, OPTION_BIT(TAG), 0, ONE)                                                 \
        V(metrics, "metrics", "",                                                                  \
          "Print the last interval as gauges for Prometheus",                                      \
          NULL, 0, 0,                                                                              \
          OPTION_BIT(OUTPUT) | OPTION_BIT(TOP) | OPTION_BIT(GROUP_BY) |                            \
          OPTION_BIT(NO_THREAD_NORMALIZE) | OPTION_BIT(CGROUP_FLATTEN) |                           \
          OPTION_BIT(NO_CG_NORMALIZE) | OPTION_BIT(SELF), 0, ONE)                                  \
        V(status, "status", "",                                                                    \
          "Show the state of the daemon and what it can read",                                     \
          NULL, 0, 0, 0, 0, MANY)                                                                  \
        V(metric_list, "metric-list", "[GLOB...]",                                                 \
          "List metrics and derived values, all or those whose name matches",                      \
          NULL, 0, VERB_ANY_ARGUMENTS, 0, 0, NONE)                                                 \
        V(help, "help", "[VERB]",                                                                  \
          "Show the help of the program or of a verb",                                             \
          NULL, 0, 1, 0, 0, NONE)

/* Verbs that programs use: no list shows them. */
#define VERBS_HIDDEN(V)                                                                            \
        V(bridge, "bridge", "",                                                                    \
          "Join stdin and stdout to the daemon, for ctprofctl --host on another host",             \
          NULL, 0, 0, 0, 0, NONE)

/* Names of columns, chosen by the number of sides that have them. */
#define VERB_COLUMNS_HELP \
        "Columns, separated by commas; \"+\" in front adds them to the default ones. Of the "      \
        "overview: group threads" VIEW_COLUMNS(OPTION_NAMED) "; of rows:"
#define VERB_ONE_ONE(name) " " name
#define VERB_ONE_TWO(name)
#define VERB_ONE_WORK(name) " " name
#define VERB_ONE_CHANGE(name) " " name
#define VERB_ONE_RATED(name) " " name
#define VERB_ONE_BOTH(name) " " name
#define VERB_TWO_ONE(name)
#define VERB_TWO_TWO(name) " " name
#define VERB_TWO_WORK(name) " " name
#define VERB_TWO_CHANGE(name) " " name
#define VERB_TWO_RATED(name) " " name
#define VERB_TWO_BOTH(name) " " name
#define VERB_COLUMN_OF_ONE(id, name, header, right, shrink, omit, sides) VERB_ONE_##sides(name)
#define VERB_COLUMN_OF_TWO(id, name, header, right, shrink, omit, sides) VERB_TWO_##sides(name)

/* An option that a verb refuses but its neighbours take: verb, option, a sentence that says why. */
#define VERB_REFUSALS(R)                                                                           \
        R(show, THRESHOLD,                                                                         \
          "--threshold needs two sides, which \"show\" does not have: \"compare\" takes two "      \
          "snapshots with --totals, or two intervals (A..B C..D).")                                \
        R(show, TOTALS,                                                                            \
          "--totals is for two snapshots, as in \"ctprofctl compare A B --totals\".")

/* Options that mean something else to one verb: verb, option, argument name or NULL, help. */
#define VERB_HELPS(H)                                                                              \
        H(show, COLUMNS, NULL, VERB_COLUMNS_HELP GROUP_COLUMNS(VERB_COLUMN_OF_ONE))                \
        H(compare, COLUMNS, NULL, VERB_COLUMNS_HELP GROUP_COLUMNS(VERB_COLUMN_OF_TWO))             \
        H(run, COLUMNS, NULL, VERB_COLUMNS_HELP GROUP_COLUMNS(VERB_COLUMN_OF_TWO))                 \
        H(show, FORMAT, NULL,                                                                      \
          "table (default), csv or ndjson (a row for each group and metric, see "                  \
          "ctprof-rows(5)), or html (one page for a browser: redirect it into a file); of a "      \
          "recording also folded, pprof or speedscope, which are stacks for other programs")       \
        H(show, ALL_ROWS, NULL,                                                                    \
          "Also rows without a value")                                                             \
        H(compare, FORMAT, NULL,                                                                   \
          "table (default), csv or ndjson (a row for each group and metric, see "                  \
          "ctprof-rows(5)), or html (one page for a browser: redirect it into a file); of two "    \
          "recordings also folded, which has both times of each stack for other programs")         \
        H(compare, STACKS, NULL,                                                                   \
          "Of two recordings: the stacks of each process as a tree, with what changed")            \
        H(compare, THRESHOLD, NULL,                                                                \
          "Only what changed by more percent; growth from zero, resets, new and ended groups "     \
          "count as more; exit 3 if there is anything")                                            \
        H(run, TAG, "PREFIX",                                                                      \
          "Name the snapshots PREFIX-before and PREFIX-after")                                     \
        H(record, TAG, NULL,                                                                       \
          "Name of the recording (default: the time of its end)")                                  \
        H(record, REPLACE, NULL,                                                                   \
          "Replace the snapshot or recording that has this name")                                  \
        H(record, ALL, NULL,                                                                       \
          "Take samples of all threads of the host (default: with COMMAND of it and what it "      \
          "starts, unless other options choose)")                                                  \
        H(record, OUTPUT, NULL,                                                                    \
          "Write the recording to FILE (\"-\": stdout) instead of the spool")                      \
        H(export, FORMAT, NULL,                                                                    \
          "ctprof (default: the file as it is), ktstr (for the prior tool), ndjson (one thread "   \
          "per line) or denet (of an interval or a recording: how long threads did not run, as "   \
          "that program has it); with --changes ndjson (default) or csv")                          \
        H(export, SINCE, NULL,                                                                     \
          "With --changes: only intervals that end at TIME or later: \"2026-11-20 15:30\", "       \
          "today, yesterday, -2h")                                                                 \
        H(export, UNTIL, NULL,                                                                     \
          "With --changes: only intervals that end at TIME or earlier")                            \
        H(export, AFTER, "NAME",                                                                   \
          "With --changes: only intervals behind the snapshot NAME, the last one of the export "   \
          "before")                                                                                \
        H(metrics, OUTPUT, NULL,                                                                   \
          "Replace FILE by the gauges, at once and readable for everybody, as the textfile "       \
          "collector of the node exporter wants it (default, and \"-\": stdout)")                  \
        H(metrics, TOP, NULL,                                                                      \
          "Only the N groups that weigh most, and of the last hour as many; \"other\" has the "    \
          "rest (default: 50)")                                                                    \
        H(import, TAG, NULL,                                                                       \
          "Name of the snapshot (default: the name of the file without its suffix)")
// clang-format on
