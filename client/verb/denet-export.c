/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verb/denet-export.h"

#include <errno.h>
#include <stdlib.h>

#include "base/number.h"
#include "render/cell.h"
#include "session/complain.h"
#include "verb/verb-view.h"
#include "view/view.h"

#define MAX_THREADS ((size_t) 1 << 24) /* more would be those of no host */
#define MAX_TOP 10u

void denet_export_done(DenetExport *export) {
        (void) json_object_put(export->head);
        free(export->threads);
}

/*
 * Reads how long the threads of a group waited. Returns false if a part of that time is not known.
 */
static bool read_time(json_object *group, uint64_t *ret) {
        static const char *const parts[] = { "waitingNs", "storageNs", "blockedNs" };
        json_object *time = cell_member(group, "time"), *reasons = cell_member(time, "reasons");
        json_object_iter reason;
        uint64_t ns = 0;

        if (!json_object_is_type(reasons, json_type_object))
                return false;
        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                json_object *part = cell_member(time, parts[i]);

                if (!part)
                        return false;
                ns = number_add_saturating(ns, json_object_get_uint64(part));
        }
        json_object_object_foreachC(reasons, reason) {
                if (!reason.val)
                        return false;
                ns = number_add_saturating(ns, json_object_get_uint64(reason.val));
        }
        *ret = ns;
        return true;
}

static bool read_events(json_object *group, uint64_t *ret) {
        static const char *const names[] = { "voluntary_csw", "nonvoluntary_csw" };
        uint64_t n = 0;

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                json_object *row = cell_member(cell_member(group, "metrics"), names[i]);
                json_object *work = cell_member(row, "work");

                if (!work)
                        return false;
                n = number_add_saturating(n, json_object_get_uint64(work));
        }
        *ret = n;
        return true;
}

static int add(DenetExport *export, json_object *group) {
        DenetThread thread = { .pid = cell_u64(group, "pid"), .tid = cell_u64(group, "tid") };
        int r;

        if (!read_time(group, &thread.ns))
                return 0;
        thread.has_events = read_events(group, &thread.n_events);
        export->ns = number_add_saturating(export->ns, thread.ns);
        export->n_events = number_add_saturating(export->n_events, thread.n_events);
        export->has_events = thread.has_events && (export->n_groups == 0 || export->has_events);
        export->n_groups++;
        /* Those that ended are known by their names alone. */
        if (thread.tid == 0)
                return 0;
        if (export->n >= MAX_THREADS)
                return -EMSGSIZE;
        r = ARRAY_RESERVE(export->threads, export->n_allocated, export->n + 1);
        if (r == 0)
                export->threads[export->n++] = thread;
        return r;
}

static int on_reply(void *userdata, Connection *connection, json_object *parameters, bool last) {
        static const char *const lists[] = { "groups", "onlyBefore", "onlyAfter" };
        DenetExport *export = userdata;
        int r = 0;

        if (!export->head) {
                export->head = json_object_get(cell_member(parameters, "after"));
                export->is_interval =
                        span_is(cell_string(cell_member(parameters, "kind")), "interval");
        }
        for (size_t i = 0; i < ELEMENTSOF(lists); i++) {
                json_object *groups = cell_member(parameters, lists[i]);

                for (size_t k = 0; r == 0 && k < cell_length(groups); k++)
                        r = add(export, cell_element(groups, k));
        }
        return r < 0 ? complain_errno(r, "read the threads") : r;
}

int denet_export_read(Session *session, const SubjectReference *subject, DenetExport *export) {
        View view;
        char quoted[QUOTE_BYTES];
        int r;

        view_init(&view);
        view.axis = VIEW_AXIS_THREAD;
        view.limit = 0;
        view.has_metrics = true;
        view.metrics[METRIC_voluntary_csw] = view.metrics[METRIC_nonvoluntary_csw] = true;
        view.has_sections = true;
        for (unsigned id = 0; id < _METRIC_SECTION_MAX; id++)
                view.sections[id] = true;
        for (unsigned id = 0; id < _SECTION_MAX; id++)
                view.tables[id] = false;
        r = call_show(session, subject, &view, on_reply, export);
        if (r != 0)
                return r;
        if (!export->is_interval)
                return complain(STATUS_USAGE,
                                "%s is a snapshot: --format denet is for an interval (A..B) or a "
                                "recording.",
                                quote(subject->text, quoted));
        if (export->n_groups == 0)
                return complain(STATUS_FAILED,
                                "What threads waited for is not known in %s: it is counted from a "
                                "capture on (--reasons yes), and in a recording.",
                                quote(subject->text, quoted));
        return 0;
}

static int by_time(const void *a_, const void *b_) {
        const DenetThread *a = a_, *b = b_;

        if (a->ns != b->ns)
                return a->ns < b->ns ? 1 : -1;
        return (a->tid > b->tid) - (a->tid < b->tid);
}

/* @count: the name of the number of events there. */
static void write_sums(JsonOut *out, const char *count, uint64_t ns, uint64_t n_events,
                       bool has_events) {
        json_out_member_u64(out, "total_time_ns", ns);
        json_out_key(out, count);
        if (has_events)
                json_out_u64(out, n_events);
        else
                json_out_value(out, NULL);
        json_out_key(out, "avg_time_ns");
        if (has_events && n_events > 0)
                json_out_u64(out, ns / n_events);
        else
                json_out_value(out, NULL);
        json_out_member(out, "max_time_ns", NULL);
        json_out_member(out, "min_time_ns", NULL);
}

int denet_export_write(DenetExport *export, JsonOut *out) {
        size_t n_top = export->n < MAX_TOP ? export->n : MAX_TOP;
        char key[64];

        if (export->n > 1)
                qsort(export->threads, export->n, sizeof(*export->threads), by_time);
        json_out_object(out);
        json_out_member_u64(out, "ts_ms", cell_u64(export->head, "endRealtimeNs") / NSEC_PER_MSEC);
        json_out_key(out, "ebpf");
        json_out_object(out);
        json_out_key(out, "offcpu");
        json_out_object(out);
        write_sums(out, "total_events", export->ns, export->n_events, export->has_events);
        json_out_key(out, "top_blocking_threads");
        json_out_array(out);
        for (size_t i = 0; i < n_top; i++) {
                const DenetThread *thread = &export->threads[i];

                json_out_object(out);
                json_out_member_u64(out, "pid", thread->pid);
                json_out_member_u64(out, "tid", thread->tid);
                json_out_member_double(out, "time_ms", (double) thread->ns / NSEC_PER_MSEC);
                json_out_member_double(
                        out, "percentage",
                        export->ns > 0 ? 100 * (double) thread->ns / (double) export->ns : 0);
                json_out_end(out);
        }
        json_out_end(out);
        json_out_key(out, "thread_stats");
        json_out_object(out);
        for (size_t i = 0; i < export->n && out->error == 0; i++) {
                const DenetThread *thread = &export->threads[i];

                (void) snprintf(key, sizeof(key), "%llu:%llu", (unsigned long long) thread->pid,
                                (unsigned long long) thread->tid);
                json_out_key(out, key);
                json_out_object(out);
                json_out_member_u64(out, "tid", thread->tid);
                write_sums(out, "count", thread->ns, thread->n_events, thread->has_events);
                json_out_end(out);
        }
        for (size_t i = 0; i < 4; i++)
                json_out_end(out);
        return json_out_finish(out);
}
