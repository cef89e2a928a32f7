/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/name.h"
#include "base/number.h"
#include "render/cell.h"
#include "render/lines.h"
#include "render/printable.h"
#include "render/when.h"
#include "session/command.h"
#include "session/complain.h"
#include "session/snapshot-call.h"
#include "verb/verb-view.h"
#include "verb/verb.h"
#include "wire/message-object.h"

#define RUSAGE_BLOCK_BYTES 512 /* the kernel counts 512 bytes as a block, whatever the disk has */
#define NAME_BYTES (SNAPSHOT_NAME_MAX_CHARS + 16)

/* A run has its command and the snapshots around it. */
typedef struct Run {
        Session *session;
        char *const *words;
        CommandResult result;
        const char *tags[2]; /* NULL: untagged */
        char tag_texts[2][NAME_BYTES];
        char names[2][SNAPSHOT_NAME_MAX_CHARS + 1]; /* of the snapshots */
} Run;

static uint64_t peak_bytes(const struct rusage *usage) {
        return number_multiply_saturating((uint64_t) usage->ru_maxrss, 1024);
}

/* Appends the words of the command, quoted for a shell. */
static void append_words(const Run *run, Buffer *line) {
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                    "_-./:=,@%+";

        for (size_t i = 0; run->words[i]; i++) {
                const char *word = run->words[i];
                bool quotes = word[0] == '\0' || word[strspn(word, plain)] != '\0';

                buffer_append_format(line, "%s%s", i > 0 ? " " : "", quotes ? "'" : "");
                for (; *word != '\0'; word += strcspn(word, "'")) {
                        if (*word == '\'') {
                                buffer_append_text(line, "'\\''");
                                word++;
                        }
                        printable_append(line, (Span){ word, strcspn(word, "'") });
                }
                if (quotes)
                        buffer_append_byte(line, '\'');
        }
}

/* "make -j4: exit 0, 1min 2.345s elapsed, 58.123s user, 3.456s system" */
static int print_account(const Run *run, FILE *file) {
        const Lines lines = { .out = file ? file : stderr, .terminal = &run->session->terminal };
        const struct rusage *usage = &run->result.usage;
        char elapsed[WHEN_CHARS], user[WHEN_CHARS], system[WHEN_CHARS], peak[QUANTITY_CHARS];
        _cleanup_(buffer_done) Buffer line = {};

        append_words(run, &line);
        when_format_span(run->result.elapsed_ns, WHEN_EXACT, elapsed);
        when_format_span(clock_timeval_ns(usage->ru_utime), WHEN_EXACT, user);
        when_format_span(clock_timeval_ns(usage->ru_stime), WHEN_EXACT, system);
        buffer_append_format(&line, ": %s %d, %s elapsed, %s user, %s system",
                             run->result.signalled ? "signal" : "exit", run->result.code, elapsed,
                             user, system);
        /* The output has rows, and none for the rest of what wait4() told: it goes to stderr. */
        if (!file) {
                (void) quantity_format((Quantity){ .whole = peak_bytes(usage) },
                                       QUANTITY_LADDER_BYTES, QUANTITY_FORM_VALUE, peak);
                buffer_append_format(&line,
                                     ", %s peak, %ld minor and %ld major faults, %ld voluntary and "
                                     "%ld involuntary switches, %ld blocks in, %ld out",
                                     peak, usage->ru_minflt, usage->ru_majflt, usage->ru_nvcsw,
                                     usage->ru_nivcsw, usage->ru_inblock, usage->ru_oublock);
        }
        return lines_print_buffer(&lines, "", &line);
}

static int on_lead(void *userdata, FILE *file, JsonOut *out) {
        const Run *run = userdata;
        const struct rusage *usage = &run->result.usage;
        const struct {
                const char *key;
                uint64_t value;
        } members[] = {
                { "elapsedNs", run->result.elapsed_ns },
                { "userNs", clock_timeval_ns(usage->ru_utime) },
                { "systemNs", clock_timeval_ns(usage->ru_stime) },
                { "peakRssBytes", peak_bytes(usage) },
                { "minorFaults", (uint64_t) usage->ru_minflt },
                { "majorFaults", (uint64_t) usage->ru_majflt },
                { "voluntarySwitches", (uint64_t) usage->ru_nvcsw },
                { "involuntarySwitches", (uint64_t) usage->ru_nivcsw },
                { "blocksIn", (uint64_t) usage->ru_inblock },
                { "blocksOut", (uint64_t) usage->ru_oublock },
        };

        if (!out)
                return file || !options_have(run->session->options, OPTION_QUIET)
                               ? print_account(run, file)
                               : 0;
        json_out_key(out, "command");
        json_out_object(out);
        json_out_key(out, "words");
        json_out_array(out);
        for (size_t i = 0; run->words[i]; i++)
                json_out_name(out, span_of(run->words[i]));
        json_out_end(out);
        json_out_member_u64(out, run->result.signalled ? "signal" : "exitStatus",
                            (uint64_t) run->result.code);
        for (size_t i = 0; i < ELEMENTSOF(members); i++)
                json_out_member_u64(out, members[i].key, members[i].value);
        json_out_end(out);
        return 0;
}

/*
 * COMMAND began after one capture and ended before the other. Its threads are in the groups of
 * their names only where exits were counted, and together nowhere else.
 */
static json_object *on_command(void *userdata) {
        const Run *run = userdata;
        const struct rusage *usage = &run->result.usage;
        const struct {
                const char *key;
                uint64_t value;
        } figures[] = {
                { "elapsedNs", run->result.elapsed_ns },
                { "runningNs",
                  clock_timeval_ns(usage->ru_utime) + clock_timeval_ns(usage->ru_stime) },
                { "switches", (uint64_t) usage->ru_nvcsw + (uint64_t) usage->ru_nivcsw },
                { "readBytes", (uint64_t) usage->ru_inblock * RUSAGE_BLOCK_BYTES },
                { "writeBytes", (uint64_t) usage->ru_oublock * RUSAGE_BLOCK_BYTES },
                { "majorFaults", (uint64_t) usage->ru_majflt },
                { "peakRssBytes", peak_bytes(usage) },
        };
        json_object *row = json_object_new_object(), *accounts = json_object_new_array();
        _cleanup_(buffer_done) Buffer words = {};

        append_words(run, &words);
        /* The same on both sides, if there are two: it is printed once then. */
        for (size_t side = 0; accounts && side < 2; side++) {
                json_object *account = json_object_new_object();

                for (size_t i = 0; account && i < ELEMENTSOF(figures); i++)
                        (void) json_object_object_add(account, figures[i].key,
                                                      json_object_new_uint64(figures[i].value));
                (void) json_object_array_add(accounts, account);
        }
        if (!row || !accounts || buffer_failure(&words) < 0) {
                (void) json_object_put(row);
                (void) json_object_put(accounts);
                return NULL;
        }
        (void) json_object_object_add(row, "key",
                                      json_object_new_string_len(words.bytes, (int) words.n));
        (void) json_object_object_add(row, "accounts", accounts);
        return row;
}

/*
 * Checks both names, and that they are free, before anything is done, because COMMAND may take
 * hours.
 */
static int prepare_tags(Run *run) {
        static const char *const sides[] = { "before", "after" };
        const char *prefix = run->session->options->tag;
        _cleanup_(message_object_freep) json_object *reply = NULL;
        json_object *heads;
        char quoted[QUOTE_BYTES];
        int r;

        if (!prefix)
                return 0;
        for (size_t side = 0; side < 2; side++) {
                const char *complaint;

                (void) snprintf(run->tag_texts[side], NAME_BYTES, "%s-%s", prefix, sides[side]);
                run->tags[side] = run->tag_texts[side];
                complaint = snapshot_name_new_complaint(span_of(run->tags[side]));
                if (complaint)
                        return complain(STATUS_USAGE, "The tag %s %s.",
                                        quote(run->tags[side], quoted), complaint);
        }
        r = list_snapshots(run->session, false, &reply);
        if (r != 0)
                return r;
        heads = cell_member(reply, "snapshots");
        for (size_t i = 0; i < cell_length(heads); i++) {
                json_object *name = cell_member(cell_element(heads, i), "name");

                for (size_t side = 0; name && side < 2; side++)
                        if (strcmp(json_object_get_string(name), run->tags[side]) == 0)
                                return complain(
                                        STATUS_FAILED,
                                        "The name %s is taken: choose another with --tag, or "
                                        "remove that snapshot first.",
                                        quote(run->tags[side], quoted));
        }
        return 0;
}

static int capture_side(Run *run, size_t side) {
        _cleanup_(message_object_freep) json_object *reply = NULL;
        json_object *name;
        int r;

        r = take_snapshot(run->session, run->tags[side], &reply, NULL);
        if (r != 0)
                return r;
        name = cell_member(cell_member(reply, "snapshot"), "name");
        if (!json_object_is_type(name, json_type_string) ||
            json_object_get_string_len(name) > SNAPSHOT_NAME_MAX_CHARS)
                return complain(STATUS_FAILED, "ctprofd did not say how the snapshot is named.");
        (void) snprintf(run->names[side], sizeof(run->names[side]), "%s",
                        json_object_get_string(name));
        return 0;
}

int verb_run(Session *session) {
        _cleanup_(group_view_freep) GroupView *view = NULL;
        Run run = { .session = session, .words = session->options->arguments + 1 };
        SubjectReference subjects[2];
        int r;

        r = options_have(session->options, OPTION_TOTALS)
                    ? 0
                    : refuse_sides_of_interval(session->options);
        if (r != 0)
                return r;
        r = group_view_new(&(GroupForm){ .session = session,
                                         .kind = REPORT_PAIR,
                                         .lead = on_lead,
                                         .command = on_command,
                                         .lead_userdata = &run },
                           &view);
        if (r != 0)
                return r;
        r = command_check(run.words[0]);
        if (r != 0)
                return r;
        r = prepare_tags(&run);
        if (r != 0)
                return r;
        session->captures_ends = true;
        r = capture_side(&run, 0);
        if (r != 0)
                return r;
        r = command_run(run.words,
                        session->is_machine ? COMMAND_STDOUT_STDERR : COMMAND_STDOUT_OURS,
                        &run.result);
        if (r != 0)
                return r;
        r = capture_side(&run, 1);
        if (r != 0)
                return r;
        session->captures_ends = false;
        session->left_status = command_status(&run.result);
        for (size_t i = 0; i < 2; i++)
                subjects[i] =
                        (SubjectReference){ .text = run.names[i],
                                            .ends = { { .text = run.names[i], .fd = -EBADF } } };
        r = compare_subjects(session, view, subjects);
        return r == 0 ? command_status(&run.result) : r;
}
