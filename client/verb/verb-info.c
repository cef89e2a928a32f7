/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "interface/error-list.h"
#include "json/json-writer.h"
#include "render/cell.h"
#include "render/compact.h"
#include "render/lines.h"
#include "render/printable.h"
#include "render/table.h"
#include "render/when.h"
#include "session/complain.h"
#include "report/overview/overview.h"
#include "session/reference.h"
#include "session/snapshot-call.h"
#include "stack/stack-text.h"
#include "report/overview/missing.h"
#include "verb/verb.h"
#include "wire/message-object.h"

#define LABEL_COLUMNS 12
#define HOST_LABEL_MAX_COLUMNS 44
#define HOST_MAX_DEPTH 8

/* A line of the head is printed in one of these ways. */
typedef enum FactKind {
        FACT_TEXT,
        FACT_NUMBER,
        FACT_NS,
        FACT_BYTES,
        FACT_WHEN,
        FACT_BOOL,
        FACT_FILE, /* of what kind the file is, unless that is a snapshot */
} FactKind;

static const struct {
        const char *label, *key;
        const char *inner_key; /* of an object in the head; NULL: none */
        FactKind kind;
} facts[] = {
        { "name", "name", NULL, FACT_TEXT },
        { "kind", "fileKind", NULL, FACT_FILE },
        { "tagged", "tagged", NULL, FACT_BOOL },
        { "captured", "startRealtimeNs", NULL, FACT_WHEN },
        { "host", "hostName", NULL, FACT_TEXT },
        { "kernel", "kernelRelease", NULL, FACT_TEXT },
        { "boot id", "bootId", NULL, FACT_TEXT },
        { "machine id", "machineId", NULL, FACT_TEXT },
        { "threads", "threads", NULL, FACT_NUMBER },
        { "processes", "processes", NULL, FACT_NUMBER },
        { "complete", "complete", NULL, FACT_BOOL },
        { "backend", "backend", NULL, FACT_TEXT },
        { "smaps of", "smapsMode", NULL, FACT_TEXT },
        { "small up to", "smapsMaxRssBytes", NULL, FACT_BYTES },
        { "the largest", "smapsMaxProcesses", NULL, FACT_NUMBER },
        { "heap wanted", "heapRequested", NULL, FACT_BOOL },
        { "size", "sizeBytes", NULL, FACT_BYTES },
        { "took", "cost", "wallNs", FACT_NS },
        { "CPU time", "cost", "cpuNs", FACT_NS },
        { "peak memory", "cost", "peakRssBytes", FACT_BYTES },
        { "made by uid", "uid", NULL, FACT_NUMBER },
        { "format", "formatVersion", NULL, FACT_NUMBER },
        { "written by", "toolVersion", NULL, FACT_TEXT },
        { "origin", "importedFrom", "name", FACT_TEXT },
        { "origin host", "importedFrom", "hostName", FACT_TEXT },
};

static int print_facts(const Lines *lines, json_object *head) {
        for (size_t i = 0; i < ELEMENTSOF(facts); i++) {
                json_object *value = cell_member(head, facts[i].key);
                _cleanup_(buffer_done) Buffer line = {};
                char when[WHEN_CHARS];
                int r;

                if (facts[i].inner_key)
                        value = cell_member(value, facts[i].inner_key);
                if (!value || (facts[i].kind == FACT_FILE && !head_is_of_recording(head)))
                        continue;
                switch (facts[i].kind) {
                case FACT_TEXT:
                case FACT_FILE:
                        cell_append_text(&line, value);
                        break;
                case FACT_NUMBER:
                        cell_append_number(&line, value, QUANTITY_LADDER_NONE);
                        break;
                case FACT_NS:
                        cell_append_number(&line, value, QUANTITY_LADDER_NS);
                        break;
                case FACT_BYTES:
                        cell_append_number(&line, value, QUANTITY_LADDER_BYTES);
                        break;
                case FACT_WHEN:
                        when_format(json_object_get_uint64(value), WHEN_FULL, when);
                        buffer_append_text(&line, when);
                        break;
                case FACT_BOOL:
                        buffer_append_text(&line, json_object_get_boolean(value) ? "yes" : "no");
                        break;
                }
                r = lines_print_buffer(lines, facts[i].label, &line);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The account of exits lacks this, of that many threads. */
static const struct {
        const char *key, *text;
} ledger_lacks[] = {
        { "unfinished", "of them not finished yet" },
        { "overflow_exits", "without a row of their own" },
        { "lost_marks", "without their last moments" },
        { "lost_records", "more in no row" },
        { "moved_lost", "with earlier names that are not listed" },
};

/* Prints the time of day of a moment by the clock of boots, of which the head has one of each. */
static void append_since(Buffer *line, json_object *head, json_object *since) {
        json_object *real = cell_member(head, "startRealtimeNs");
        json_object *boot = cell_member(head, "startBoottimeNs");
        uint64_t since_ns = json_object_get_uint64(since), boot_ns = json_object_get_uint64(boot);
        uint64_t real_ns = json_object_get_uint64(real);
        char when[WHEN_CHARS];

        if (!real || !boot || since_ns > boot_ns || boot_ns - since_ns > real_ns) {
                cell_append_number(line, since, QUANTITY_LADDER_NS);
                buffer_append_text(line, " after the boot");
                return;
        }
        when_format(real_ns - (boot_ns - since_ns), WHEN_FULL, when);
        buffer_append_text(line, when);
}

static int print_ledger(const Lines *lines, json_object *head, json_object *ledger) {
        json_object *since = cell_member(head, "ledgerSinceBoottimeNs");
        static const struct {
                const char *label, *since_key;
        } counted[] = { { "waits", "waitsSinceBoottimeNs" },
                        { "reasons", "reasonsSinceBoottimeNs" } };
        _cleanup_(buffer_done) Buffer ended = {};
        const char *between = ": ";
        int r = 0;

        if (ledger) {
                cell_append_number(&ended, cell_member(ledger, "exits"), QUANTITY_LADDER_NONE);
                buffer_append_text(&ended, " threads ended");
                if (since) {
                        buffer_append_text(&ended, " since ");
                        append_since(&ended, head, since);
                }
                for (size_t i = 0; i < ELEMENTSOF(ledger_lacks); i++) {
                        json_object *value = cell_member(ledger, ledger_lacks[i].key);

                        if (json_object_get_uint64(value) == 0)
                                continue;
                        buffer_append_text(&ended, between);
                        cell_append_number(&ended, value, QUANTITY_LADDER_NONE);
                        buffer_append_format(&ended, " %s", ledger_lacks[i].text);
                        between = ", ";
                }
                r = lines_print_buffer(lines, "ledger", &ended);
        }
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(counted); i++) {
                json_object *begin = cell_member(head, counted[i].since_key);
                _cleanup_(buffer_done) Buffer line = {};

                if (!begin)
                        continue;
                buffer_append_text(&line, "counted since ");
                append_since(&line, head, begin);
                r = lines_print_buffer(lines, counted[i].label, &line);
        }
        return r;
}

/*
 * Prints every member of the host context under its path. With @widest nothing is printed: it
 * becomes the width of the widest path that is not too wide for a column.
 */
static int visit_host(json_object *value, const char *path, unsigned depth, const Lines *lines,
                      size_t *widest) {
        _cleanup_(buffer_done) Buffer line = {};
        json_object_iter member;
        int r;

        if (json_object_is_type(value, json_type_object) && depth < HOST_MAX_DEPTH) {
                json_object_object_foreachC(value, member) {
                        _cleanup_(buffer_done) Buffer inner = {};
                        const char *inner_path;

                        buffer_append_format(&inner, "%s%s", path, path[0] != '\0' ? "." : "");
                        printable_append_name(&inner, span_of(member.key));
                        r = buffer_terminate(&inner, &inner_path);
                        if (r == 0)
                                r = visit_host(member.val, inner_path, depth + 1, lines, widest);
                        if (r < 0)
                                return r;
                }
                return 0;
        }
        if (widest) {
                if (printable_width(span_of(path)) <= HOST_LABEL_MAX_COLUMNS)
                        *widest = MAX_OF(*widest, printable_width(span_of(path)));
                return 0;
        }
        if (!value || json_object_is_type(value, json_type_string))
                cell_append_text(&line, value);
        else
                printable_append_name(
                        &line,
                        span_of(json_object_to_json_string_ext(
                                value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)));
        return lines_print_buffer(lines, path, &line);
}

/* recordings */

static int take_facts(void *userdata, Connection *connection, json_object *parameters, bool last) {
        json_object **reply = userdata;

        if (!*reply)
                *reply = json_object_get(parameters);
        return 0;
}

/* Prints of what a recording took samples, how, and what became of them. */
static int print_recording(Session *session, const Reference *recording, const Lines *lines) {
        _cleanup_(message_object_freep) json_object *reply = NULL;
        _cleanup_(buffer_done) Buffer scope = {}, line = {};
        _cleanup_(session_call_done) SessionCall call = {
                .request = { .method = PROFILER_INTERFACE ".Stacks", .more = true },
                .subject = recording->text,
        };
        json_object *told;
        JsonWriter *writer;
        uint64_t n_changes;
        int r;

        reference_address_call(recording, &call);
        writer = session_call_begin(&call);
        json_write_key(writer, "recording");
        reference_write_json(writer, recording);
        json_write_member_u64(writer, "limit", 1);
        r = session_call(session, &call, take_facts, &reply);
        if (r != 0)
                return r;
        told = cell_member(reply, "recording");
        n_changes = cell_u64(told, "periodChanges");
        buffer_append_text(&scope, "samples");
        r = stack_append_scope(&scope, told);
        buffer_append_text(&scope,
                           scope.n == strlen("samples") ? " of all threads, every " : ", every ");
        compact_append_span(&scope, (double) cell_u64(told, "periodNs"));
        if (n_changes > 0)
                buffer_append_format(&scope, ", to which it doubled in %llu step%s",
                                     (unsigned long long) n_changes, n_changes == 1 ? "" : "s");
        if (r == 0)
                r = lines_print_buffer(lines, "recorded", &scope);
        if (r == 0)
                r = stack_print_gaps(lines, "", "", reply);
        cell_append_number(&line, cell_member(told, "samples"), QUANTITY_LADDER_NONE);
        buffer_append_format(&line, " samples, and %llu lost; of the stacks of programs ",
                             (unsigned long long) stack_count_lost(told));
        cell_append_number(&line, cell_member(told, "completeStacks"), QUANTITY_LADDER_NONE);
        buffer_append_text(&line, " are whole and ");
        cell_append_number(&line, cell_member(told, "cutStacks"), QUANTITY_LADDER_NONE);
        buffer_append_text(&line, " are cut");
        if (r == 0)
                r = lines_print_buffer(lines, "stacks", &line);
        return r < 0 ? complain_errno(r, "print the result") : r;
}

int verb_info(Session *session) {
        const Lines lines = { .out = stdout,
                              .terminal = &session->terminal,
                              .label_columns = LABEL_COLUMNS };
        Lines host_lines = { .out = stdout, .terminal = &session->terminal };
        _cleanup_(reference_done) Reference snapshot = REFERENCE_EMPTY;
        _cleanup_(message_object_freep) json_object *reply = NULL;
        json_object *head, *host;
        int r;

        r = reference_open(session->options->arguments[1], &snapshot);
        if (r == 0)
                r = describe_snapshot(session, &snapshot, &reply);
        if (r != 0)
                return r;
        if (session->json != JSON_STYLE_OFF)
                return session_print_json(session, reply);
        r = session_page(session);
        if (r != 0)
                return r;
        head = cell_member(reply, "snapshot");
        r = print_facts(&lines, head);
        if (r == 0 && head_is_of_recording(head)) {
                r = print_recording(session, &snapshot, &lines);
                if (r != 0)
                        return r;
        }
        if (r == 0)
                r = print_ledger(&lines, head, cell_member(reply, "ledger"));
        if (r == 0) {
                (void) putchar('\n');
                r = source_report_print(session, cell_member(reply, "sources"));
        }
        host = cell_member(reply, "host");
        if (r == 0 && json_object_is_type(host, json_type_object)) {
                (void) fputs("\nhost\n", stdout);
                r = visit_host(host, "", 0, NULL, &host_lines.label_columns);
                if (r == 0)
                        r = visit_host(host, "", 0, &host_lines, NULL);
        }
        return r < 0 ? complain_errno(r, "print the result") : 0;
}
