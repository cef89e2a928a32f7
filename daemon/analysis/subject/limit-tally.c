/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/limit-tally.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/number.h"
#include "analysis/section/cgroup-record.h"
#include "analysis/section/count-map.h"
#include "wire/limits.h"

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

/* Somebody sets these; they stand in the order in which a change of them matters. */
typedef enum Setting {
        SETTING_CPU_MAX, /* the quota; in changes it is in thousandths of a CPU */
        SETTING_CPU_PERIOD,
        SETTING_MEMORY_MAX,
        SETTING_MEMORY_HIGH,
        SETTING_PIDS_MAX,
        SETTING_CPU_WEIGHT,
        SETTING_MEMORY_LOW,
        SETTING_MEMORY_MIN,
        _SETTING_MAX
} Setting;

static const struct {
        const char *name; /* NULL: a part of another one */
        const char *controller, *member;
        ReadingKind kind;
} settings[_SETTING_MAX] = {
        [SETTING_CPU_MAX] = { "cpu.max", "cpu", "max_quota_us", READING_KIND_LIMIT },
        [SETTING_CPU_PERIOD] = { NULL, "cpu", "max_period_us", READING_KIND_COUNT },
        [SETTING_MEMORY_MAX] = { "memory.max", "memory", "max", READING_KIND_LIMIT },
        [SETTING_MEMORY_HIGH] = { "memory.high", "memory", "high", READING_KIND_LIMIT },
        [SETTING_PIDS_MAX] = { "pids.max", "pids", "max", READING_KIND_LIMIT },
        [SETTING_CPU_WEIGHT] = { "cpu.weight", "cpu", "weight", READING_KIND_COUNT },
        [SETTING_MEMORY_LOW] = { "memory.low", "memory", "low", READING_KIND_LIMIT },
        [SETTING_MEMORY_MIN] = { "memory.min", "memory", "min", READING_KIND_LIMIT },
};

/* This count stands behind those of the limits. */
enum { COUNT_THROTTLED_USEC = _LIMIT_MAX, _COUNT_MAX };

/* A snapshot has this of a cgroup. */
typedef struct Record {
        bool has;
        Reading counts[_COUNT_MAX]; /* of each limit, and one more */
        Reading settings[_SETTING_MAX];
} Record;

/* The payload of a cgroup. */
typedef struct Cgroup {
        Record sides[SIDES];
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

/* reading */

/* The members of a controller go into @record. */
typedef struct ControllerScan {
        Record *record;
        const char *controller;
} ControllerScan;

static int scan_event(void *userdata, JsonScanner *scanner, Span key) {
        const ControllerScan *scan = userdata;

        for (unsigned i = 0; i < _LIMIT_MAX; i++)
                if (limits[i].event && strcmp(limits[i].controller, scan->controller) == 0 &&
                    span_is(key, limits[i].event))
                        return reading_scan(&scan->record->counts[i], scanner, READING_KIND_COUNT);
        return json_scanner_skip(scanner);
}

static int scan_member(void *userdata, JsonScanner *scanner, Span key) {
        const ControllerScan *scan = userdata;
        bool is_cpu = strcmp(scan->controller, "cpu") == 0;

        for (unsigned i = 0; i < _SETTING_MAX; i++) {
                Reading *value = &scan->record->settings[i];
                int r;

                if (strcmp(settings[i].controller, scan->controller) != 0 ||
                    !span_is(key, settings[i].member))
                        continue;
                r = reading_scan(value, scanner, settings[i].kind);
                /* Full protection is the largest number in format version 0, and a word since. */
                if (r == 0 && settings[i].kind == READING_KIND_LIMIT &&
                    value->state == READING_NUMBER && value->magnitude == UINT64_MAX)
                        *value = (Reading){ .state = READING_MAX };
                return r;
        }
        if (is_cpu && span_is(key, "nr_throttled"))
                return reading_scan(&scan->record->counts[LIMIT_CPU], scanner, READING_KIND_COUNT);
        if (is_cpu && span_is(key, "throttled_usec"))
                return reading_scan(&scan->record->counts[COUNT_THROTTLED_USEC], scanner,
                                    READING_KIND_COUNT);
        if (!is_cpu && span_is(key, "events"))
                return member_scan_value(scanner, scan_event, userdata);
        return json_scanner_skip(scanner);
}

static int scan_record(void *userdata, JsonScanner *scanner, Span key) {
        static const char *const controllers[] = { "cpu", "memory", "pids" };

        for (size_t i = 0; i < ELEMENTSOF(controllers); i++) {
                ControllerScan scan = { userdata, controllers[i] };

                if (span_is(key, controllers[i]))
                        return member_scan_value(scanner, scan_member, &scan);
        }
        return json_scanner_skip(scanner);
}

int limit_tally_add(LimitTally *tally, Side side, Span path, Span stats_json) {
        char complaint[MEMBER_COMPLAINT_BYTES] = "";
        Record record = { .has = true };
        KeyNode *node;
        int r;

        r = member_scan_text(stats_json, scan_record, &record, complaint);
        if (r == JSON_E_MALFORMED) {
                (void) snprintf(tally->complaint, sizeof(tally->complaint),
                                "its record of a cgroup: %s", complaint);
                return -EBADMSG;
        }
        if (r != 0)
                return err_fold(r);
        r = key_tree_put(&tally->cgroups, sizeof(Cgroup), path, &node);
        if (r != 0)
                return r;
        cgroup_of(node)->sides[side] = record;
        tally->seen[side] = true;
        return 0;
}

/* what happened inside */

/* The rise of a count; not known where it fell, or where it is not in both snapshots. */
static Amount count_of(const Cgroup *cgroup, unsigned count) {
        const Record *before = &cgroup->sides[SIDE_BEFORE], *after = &cgroup->sides[SIDE_AFTER];
        Reading rise;

        if (!before->has || !after->has)
                return (Amount){ .known = false };
        rise = reading_delta(before->counts[count], after->counts[count]);
        if (rise.state != READING_NUMBER || rise.negative)
                return (Amount){ .known = false };
        return amount_of(rise.magnitude);
}

/* The next cgroup above @path that has a record, or NULL. */
static KeyNode *find_above(const LimitTally *tally, Span path) {
        while (path.n > 1) {
                const char *slash = memrchr(path.bytes, '/', path.n);
                KeyNode *node;

                if (!slash)
                        return NULL;
                path.n = slash > path.bytes ? (size_t) (slash - path.bytes) : 1;
                node = key_tree_find(&tally->cgroups, path);
                if (node || path.n == 1)
                        return node;
        }
        return NULL;
}

bool limit_tally_throttling(const LimitTally *tally, Span cgroup, Throttling *ret) {
        KeyNode *node = key_tree_find(&tally->cgroups, cgroup);

        for (node = node ? node : find_above(tally, cgroup); node;
             node = find_above(tally, node->key)) {
                Amount ns = count_of(cgroup_of(node), COUNT_THROTTLED_USEC);

                ns.n = number_multiply_saturating(ns.n, NSEC_PER_USEC);
                if (ns.n == 0 && count_of(cgroup_of(node), LIMIT_CPU).n == 0)
                        continue;
                *ret = (Throttling){ .cgroup = node->key, .ns = ns };
                return true;
        }
        return false;
}

/* choosing */

static int compare_lines(const void *a, const void *b) {
        const Line *x = a, *y = b;

        if (x->limit != y->limit)
                return x->limit < y->limit ? -1 : 1;
        if (x->ns.n != y->ns.n)
                return x->ns.n > y->ns.n ? -1 : 1;
        if (x->count.n != y->count.n)
                return x->count.n > y->count.n ? -1 : 1;
        return span_compare(x->cgroup, y->cgroup);
}

int limit_tally_write_json(LimitTally *tally, Amount host_oom_kills, JsonWriter *writer) {
        bool has_cgroups = tally->seen[SIDE_BEFORE] && tally->seen[SIDE_AFTER];
        size_t n = 0, n_allocated = 0, first_byte = writer->buffer->n;
        Line *lines = NULL;
        int r;

        if (!has_cgroups && !host_oom_kills.known) {
                json_write_null(writer);
                return 0;
        }
        for (KeyNode *node = tally->cgroups.first; has_cgroups && node; node = node->next)
                memset(cgroup_of(node)->below, 0, sizeof(cgroup_of(node)->below));
        for (KeyNode *node = tally->cgroups.first; has_cgroups && node; node = node->next) {
                KeyNode *above = find_above(tally, node->key);
                uint64_t *below = above ? cgroup_of(above)->below : NULL;

                for (unsigned i = 0; above && i < _LIMIT_MAX; i++)
                        below[i] = number_add_saturating(below[i], count_of(cgroup_of(node), i).n);
        }
        /* The host keeps what no cgroup counted: each event of a cgroup is one of the host too. */
        for (KeyNode *node = tally->cgroups.first; has_cgroups && node; node = node->next) {
                uint64_t count = count_of(cgroup_of(node), LIMIT_OOM_KILL).n;
                uint64_t below = cgroup_of(node)->below[LIMIT_OOM_KILL];
                uint64_t own = count > below ? count - below : 0;

                host_oom_kills.n = host_oom_kills.n > own ? host_oom_kills.n - own : 0;
        }
        r = ARRAY_RESERVE(lines, n_allocated, 1);
        if (r == 0 && host_oom_kills.n > 0)
                lines[n++] = (Line){ SPAN_LITERAL(""), LIMIT_OOM_KILL, host_oom_kills, {} };
        for (KeyNode *node = tally->cgroups.first; r == 0 && has_cgroups && node;
             node = node->next) {
                r = ARRAY_RESERVE(lines, n_allocated, n + _LIMIT_MAX);
                for (unsigned i = 0; r == 0 && i < _LIMIT_MAX; i++) {
                        const Cgroup *cgroup = cgroup_of(node);
                        Line line = { node->key, (Limit) i, count_of(cgroup, i), {} };

                        /* Throttling is counted in the cgroup with the limit alone. */
                        if (i == LIMIT_CPU) {
                                line.ns = count_of(cgroup, COUNT_THROTTLED_USEC);
                                line.ns.n = number_multiply_saturating(line.ns.n, NSEC_PER_USEC);
                        } else if (cgroup->below[i] >= line.count.n) {
                                continue;
                        }
                        if (line.count.n > 0 || line.ns.n > 0)
                                lines[n++] = line;
                }
        }
        if (r != 0) {
                free(lines);
                return r;
        }
        qsort(lines, n, sizeof(*lines), compare_lines);
        json_write_array(writer);
        for (size_t i = 0; i < MIN_OF(n, (size_t) LIMIT_TALLY_MAX_WRITTEN) &&
                           writer->buffer->n - first_byte < LIMIT_BATCH_BYTES;
             i++) {
                const Line *line = &lines[i];

                json_write_object(writer);
                json_write_member_name(writer, "cgroup", line->cgroup);
                json_write_member_text(writer, "what", limits[line->limit].name);
                amount_write_json(writer, "count", line->count);
                amount_write_json(writer, "ns", line->ns);
                json_write_end(writer);
        }
        json_write_end(writer);
        free(lines);
        return 0;
}

/* what was set anew */

/* A setting of one cgroup that differs. */
typedef struct Change {
        Span cgroup;
        Setting setting;
        Reading before, after;
        /* All changes of a cgroup stand where its first one does. */
        Setting first_setting;
        double first_factor;
} Change;

static int compare_changes(const void *a, const void *b) {
        const Change *x = a, *y = b;
        int order;

        if (x->first_setting != y->first_setting)
                return x->first_setting < y->first_setting ? -1 : 1;
        if (x->first_factor > y->first_factor || x->first_factor < y->first_factor)
                return x->first_factor > y->first_factor ? -1 : 1;
        order = span_compare(x->cgroup, y->cgroup);
        return order == 0 ? (x->setting > y->setting) - (x->setting < y->setting) : order;
}

/* Appends those of one cgroup; a setting that one of the two does not tell has not changed. */
static size_t list_changes(Change *changes, Span cgroup, const Reading *old, const Reading *new) {
        size_t n = 0;

        for (unsigned i = 0; i < _SETTING_MAX; i++) {
                bool is_cpus = i == SETTING_CPU_MAX;
                Reading before = is_cpus ? cgroup_cpus(old[i], old[SETTING_CPU_PERIOD]) : old[i];
                Reading after = is_cpus ? cgroup_cpus(new[i], new[SETTING_CPU_PERIOD]) : new[i];
                double factor = INFINITY; /* no limit is beyond all numbers */

                if (!settings[i].name || before.state == READING_ABSENT ||
                    after.state == READING_ABSENT || reading_equal(before, after))
                        continue;
                /* The larger one in terms of the smaller. */
                if (before.state != READING_MAX && after.state != READING_MAX)
                        factor = (double) MAX_OF(before.magnitude, after.magnitude) /
                                 (double) MIN_OF(before.magnitude, after.magnitude);
                changes[n] = (Change){ .cgroup = cgroup,
                                       .setting = (Setting) i,
                                       .before = before,
                                       .after = after,
                                       .first_setting = n > 0 ? changes[0].setting : (Setting) i,
                                       .first_factor = n > 0 ? changes[0].first_factor : factor };
                n++;
        }
        return n;
}

int limit_tally_write_changes(const LimitTally *before, Side before_side, const LimitTally *after,
                              Side after_side, JsonWriter *writer) {
        size_t n = 0, n_allocated = 0, first_byte = writer->buffer->n;
        Change *changes = NULL;
        int r = ARRAY_RESERVE(changes, n_allocated, 1);

        for (KeyNode *node = after->cgroups.first; r == 0 && node; node = node->next) {
                KeyNode *earlier = key_tree_find(&before->cgroups, node->key);

                r = ARRAY_RESERVE(changes, n_allocated, n + _SETTING_MAX);
                if (r == 0 && earlier)
                        n += list_changes(changes + n, node->key,
                                          cgroup_of(earlier)->sides[before_side].settings,
                                          cgroup_of(node)->sides[after_side].settings);
        }
        if (r != 0) {
                free(changes);
                return r;
        }
        qsort(changes, n, sizeof(*changes), compare_changes);
        for (size_t i = 0; i < MIN_OF(n, (size_t) LIMIT_TALLY_MAX_CHANGES) &&
                           writer->buffer->n - first_byte < LIMIT_BATCH_BYTES;
             i++) {
                const Change *change = &changes[i];
                const Reading values[SIDES] = { change->before, change->after };

                json_write_object(writer);
                json_write_member_name(writer, "cgroup", change->cgroup);
                json_write_member_text(writer, "what", settings[change->setting].name);
                for (unsigned side = 0; side < SIDES; side++) {
                        json_write_key(writer, side == SIDE_BEFORE ? "before" : "after");
                        if (change->setting == SETTING_CPU_MAX)
                                cgroup_cpus_write(writer, values[side]);
                        else
                                reading_write(writer, values[side]);
                }
                json_write_end(writer);
        }
        free(changes);
        return 0;
}
