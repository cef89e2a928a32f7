/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/limit-tally.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/number.h"
#include "analysis/section/reading.h"

/* In the order in which they matter. */
typedef enum Limit {
        LIMIT_OOM_KILL,
        LIMIT_CPU,
        LIMIT_MEMORY_MAX,
        LIMIT_MEMORY_HIGH,
        LIMIT_PIDS,
        _LIMIT_MAX
} Limit;

static const struct {
        const char *name;
        const char *controller, *event; /* a key of its events; NULL: it has none */
} limits[_LIMIT_MAX] = {
        [LIMIT_OOM_KILL] = { "oom_kill", "memory", "oom_kill" },
        [LIMIT_CPU] = { "cpu.max", "cpu", NULL },
        [LIMIT_MEMORY_MAX] = { "memory.max", "memory", "max" },
        [LIMIT_MEMORY_HIGH] = { "memory.high", "memory", "high" },
        [LIMIT_PIDS] = { "pids.max", "pids", "max" },
};

typedef struct Counters {
        bool has; /* the snapshot has a record of the cgroup */
        Reading counts[_LIMIT_MAX];
        Reading throttled_usec;
} Counters;

/* The payload of a cgroup. */
typedef struct Cgroup {
        Counters sides[SIDES];
        uint64_t below[_LIMIT_MAX]; /* what cgroups right below it counted in the interval */
} Cgroup;

/* One thing that happened to one cgroup. */
typedef struct Line {
        Span cgroup;
        Limit limit;
        Amount count, ns;
} Line;

static Cgroup *cgroup_of(KeyNode *node) {
        return (Cgroup *) (void *) node->payload;
}

void limit_tally_init(LimitTally *tally) {
        *tally = (LimitTally){};
        key_tree_init(&tally->cgroups, sizeof(Cgroup));
}

void limit_tally_done(LimitTally *tally) {
        key_tree_done(&tally->cgroups, NULL);
}

/* reading */

/* Where the events of a controller go. */
typedef struct EventScan {
        Counters *counters;
        const char *controller;
} EventScan;

static int scan_cpu(void *userdata, JsonScanner *scanner, Span key) {
        Counters *counters = userdata;

        if (span_is(key, "nr_throttled"))
                return reading_scan(&counters->counts[LIMIT_CPU], scanner, READING_KIND_COUNT);
        if (span_is(key, "throttled_usec"))
                return reading_scan(&counters->throttled_usec, scanner, READING_KIND_COUNT);
        return json_scanner_skip(scanner);
}

static int scan_event(void *userdata, JsonScanner *scanner, Span key) {
        const EventScan *scan = userdata;

        for (unsigned i = 0; i < _LIMIT_MAX; i++)
                if (limits[i].event && strcmp(limits[i].controller, scan->controller) == 0 &&
                    span_is(key, limits[i].event))
                        return reading_scan(&scan->counters->counts[i], scanner,
                                            READING_KIND_COUNT);
        return json_scanner_skip(scanner);
}

static int scan_controller(void *userdata, JsonScanner *scanner, Span key) {
        if (span_is(key, "events"))
                return member_scan_value(scanner, scan_event, userdata);
        return json_scanner_skip(scanner);
}

static int scan_record(void *userdata, JsonScanner *scanner, Span key) {
        static const char *const controllers[] = { "memory", "pids" };

        if (span_is(key, "cpu"))
                return member_scan_value(scanner, scan_cpu, userdata);
        for (size_t i = 0; i < ELEMENTSOF(controllers); i++) {
                EventScan scan = { userdata, controllers[i] };

                if (span_is(key, controllers[i]))
                        return member_scan_value(scanner, scan_controller, &scan);
        }
        return json_scanner_skip(scanner);
}

int limit_tally_add(LimitTally *tally, Side side, Span path, Span stats_json) {
        char complaint[MEMBER_COMPLAINT_BYTES] = "";
        Counters counters = { .has = true };
        KeyNode *node;
        int r;

        r = member_scan_text(stats_json, scan_record, &counters, complaint);
        if (r == JSON_E_MALFORMED) {
                (void) snprintf(tally->complaint, sizeof(tally->complaint),
                                "its record of a cgroup: %s", complaint);
                return -EBADMSG;
        }
        if (r != 0)
                return err_fold(r);
        r = key_tree_put(&tally->cgroups, path, &node);
        if (r != 0)
                return r;
        cgroup_of(node)->sides[side] = counters;
        tally->seen[side] = true;
        return 0;
}

/* what happened inside */

/* How far a counter rose; not known where it fell, or where a record lacks it. */
static Amount risen(const Cgroup *cgroup, Reading before, Reading after) {
        Reading rise;

        if (!cgroup->sides[SIDE_AFTER].has)
                return (Amount){ .known = false };
        rise = reading_delta(cgroup->sides[SIDE_BEFORE].has ? before : READING(0), after);
        if (rise.state != READING_NUMBER || rise.negative)
                return (Amount){ .known = false };
        return amount_of(rise.magnitude);
}

static Amount count_of(const Cgroup *cgroup, Limit limit) {
        return risen(cgroup, cgroup->sides[SIDE_BEFORE].counts[limit],
                     cgroup->sides[SIDE_AFTER].counts[limit]);
}

static Amount throttled_ns(const Cgroup *cgroup) {
        Amount usec = risen(cgroup, cgroup->sides[SIDE_BEFORE].throttled_usec,
                            cgroup->sides[SIDE_AFTER].throttled_usec);

        usec.n = number_multiply_saturating(usec.n, NSEC_PER_USEC);
        return usec;
}

/* The next cgroup above @path that has a record, or NULL. */
static Cgroup *find_above(const LimitTally *tally, Span path) {
        while (path.n > 1) {
                const char *slash = memrchr(path.bytes, '/', path.n);
                KeyNode *node;

                if (!slash)
                        return NULL;
                path.n = slash > path.bytes ? (size_t) (slash - path.bytes) : 1;
                node = key_tree_find(&tally->cgroups, path);
                if (node)
                        return cgroup_of(node);
                if (path.n == 1)
                        return NULL;
        }
        return NULL;
}

static void add_up(LimitTally *tally) {
        for (KeyNode *node = tally->cgroups.first; node; node = node->next)
                memset(cgroup_of(node)->below, 0, sizeof(cgroup_of(node)->below));
        for (KeyNode *node = tally->cgroups.first; node; node = node->next) {
                Cgroup *above = find_above(tally, node->key);

                for (unsigned i = 0; above && i < _LIMIT_MAX; i++)
                        above->below[i] = number_add_saturating(
                                above->below[i], count_of(cgroup_of(node), (Limit) i).n);
        }
}

/* Throttling is counted in the cgroup with the limit alone; for events see limit-tally.h. */
static bool is_explained(const Cgroup *cgroup, Limit limit, uint64_t count) {
        return limit != LIMIT_CPU && cgroup->below[limit] >= count;
}

/* What happened in @cgroup and in none below it. */
static uint64_t own_count(const Cgroup *cgroup, Limit limit) {
        uint64_t count = count_of(cgroup, limit).n;

        return count > cgroup->below[limit] ? count - cgroup->below[limit] : 0;
}

/* What the host counted and no cgroup: each event of a cgroup is one of the host as well. */
static Amount left_for_host(LimitTally *tally, Limit limit, Amount host) {
        for (KeyNode *node = tally->cgroups.first; node; node = node->next) {
                uint64_t own = own_count(cgroup_of(node), limit);

                host.n = host.n > own ? host.n - own : 0;
        }
        return host;
}

/* choosing */

typedef struct LineList {
        Line *lines;
        size_t n, n_allocated;
} LineList;

static int add_line(LineList *list, Line line) {
        int r;

        if (line.count.n == 0 && line.ns.n == 0)
                return 0;
        r = ARRAY_RESERVE(list->lines, list->n_allocated, list->n + 1);
        if (r == 0)
                list->lines[list->n++] = line;
        return r;
}

static int list_cgroup(LineList *list, const Cgroup *cgroup, Span path) {
        int r = 0;

        for (unsigned i = 0; i < _LIMIT_MAX && r == 0; i++) {
                Line line = { path, (Limit) i, count_of(cgroup, (Limit) i), {} };

                if (is_explained(cgroup, line.limit, line.count.n))
                        continue;
                if (line.limit == LIMIT_CPU)
                        line.ns = throttled_ns(cgroup);
                r = add_line(list, line);
        }
        return r;
}

static int compare_u64(uint64_t a, uint64_t b) {
        return (a > b) - (a < b);
}

static int compare_lines(const void *a, const void *b) {
        const Line *x = a, *y = b;
        int order;

        if (x->limit != y->limit)
                return x->limit < y->limit ? -1 : 1;
        order = compare_u64(y->ns.n, x->ns.n);
        if (order == 0)
                order = compare_u64(y->count.n, x->count.n);
        return order == 0 ? span_compare(x->cgroup, y->cgroup) : order;
}

static void write_lines(const LineList *list, JsonWriter *writer) {
        json_write_array(writer);
        for (size_t i = 0; i < list->n && i < LIMIT_TALLY_MAX_WRITTEN; i++) {
                const Line *line = &list->lines[i];

                json_write_object(writer);
                json_write_member_name(writer, "cgroup", line->cgroup);
                json_write_member_text(writer, "what", limits[line->limit].name);
                amount_write_json(writer, "count", line->count);
                amount_write_json(writer, "ns", line->ns);
                json_write_end(writer);
        }
        json_write_end(writer);
}

int limit_tally_write_json(LimitTally *tally, Amount host_oom_kills, JsonWriter *writer) {
        bool has_cgroups = tally->seen[SIDE_BEFORE] && tally->seen[SIDE_AFTER];
        LineList list = {};
        int r;

        if (!has_cgroups && !host_oom_kills.known) {
                json_write_null(writer);
                return 0;
        }
        if (has_cgroups) {
                add_up(tally);
                host_oom_kills = left_for_host(tally, LIMIT_OOM_KILL, host_oom_kills);
        }
        r = add_line(&list, (Line){ SPAN_LITERAL(""), LIMIT_OOM_KILL, host_oom_kills, {} });
        for (KeyNode *node = tally->cgroups.first; has_cgroups && node && r == 0; node = node->next)
                r = list_cgroup(&list, cgroup_of(node), node->key);
        if (r == 0) {
                if (list.n > 1)
                        qsort(list.lines, list.n, sizeof(*list.lines), compare_lines);
                write_lines(&list, writer);
        }
        free(list.lines);
        return r;
}
