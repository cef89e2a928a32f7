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

/* What somebody sets, in the order in which a change of it matters. */
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

/* What a snapshot has of a cgroup. */
typedef struct Record {
        bool has;
        Reading counts[_LIMIT_MAX];
        Reading throttled_usec;
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

void limit_tally_init(LimitTally *tally) {
        *tally = (LimitTally){};
        key_tree_init(&tally->cgroups, sizeof(Cgroup));
}

void limit_tally_done(LimitTally *tally) {
        key_tree_done(&tally->cgroups, NULL);
}

/* reading */

/* Where the members of a controller go. */
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

/* Full protection is the largest number in format version 0, and a word since. */
static int scan_setting(Reading *ret, JsonScanner *scanner, ReadingKind kind) {
        int r = reading_scan(ret, scanner, kind);

        if (r == 0 && kind == READING_KIND_LIMIT && ret->state == READING_NUMBER &&
            ret->magnitude == UINT64_MAX)
                *ret = (Reading){ .state = READING_MAX };
        return r;
}

static int scan_member(void *userdata, JsonScanner *scanner, Span key) {
        const ControllerScan *scan = userdata;
        bool is_cpu = strcmp(scan->controller, "cpu") == 0;

        for (unsigned i = 0; i < _SETTING_MAX; i++)
                if (strcmp(settings[i].controller, scan->controller) == 0 &&
                    span_is(key, settings[i].member))
                        return scan_setting(&scan->record->settings[i], scanner, settings[i].kind);
        if (is_cpu && span_is(key, "nr_throttled"))
                return reading_scan(&scan->record->counts[LIMIT_CPU], scanner, READING_KIND_COUNT);
        if (is_cpu && span_is(key, "throttled_usec"))
                return reading_scan(&scan->record->throttled_usec, scanner, READING_KIND_COUNT);
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
        r = key_tree_put(&tally->cgroups, path, &node);
        if (r != 0)
                return r;
        cgroup_of(node)->sides[side] = record;
        tally->seen[side] = true;
        return 0;
}

/* what happened inside */

/* How far a counter rose; not known where it fell, or where it is not in both snapshots. */
static Amount risen(const Cgroup *cgroup, Reading before, Reading after) {
        Reading rise;

        if (!cgroup->sides[SIDE_BEFORE].has || !cgroup->sides[SIDE_AFTER].has)
                return (Amount){ .known = false };
        rise = reading_delta(before, after);
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
                Amount ns = throttled_ns(cgroup_of(node));

                if (ns.n == 0 && count_of(cgroup_of(node), LIMIT_CPU).n == 0)
                        continue;
                *ret = (Throttling){ .cgroup = node->key, .ns = ns };
                return true;
        }
        return false;
}

static void add_up(LimitTally *tally) {
        for (KeyNode *node = tally->cgroups.first; node; node = node->next)
                memset(cgroup_of(node)->below, 0, sizeof(cgroup_of(node)->below));
        for (KeyNode *node = tally->cgroups.first; node; node = node->next) {
                KeyNode *above = find_above(tally, node->key);
                uint64_t *below = above ? cgroup_of(above)->below : NULL;

                for (unsigned i = 0; above && i < _LIMIT_MAX; i++)
                        below[i] = number_add_saturating(below[i],
                                                         count_of(cgroup_of(node), (Limit) i).n);
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

/* what was set anew */

/* A setting of one cgroup that differs. */
typedef struct Change {
        Span cgroup;
        Setting setting;
        Reading before, after;
        /* Of the first one of the cgroup, which is where all of them stand. */
        Setting first_setting;
        double first_factor;
} Change;

static Reading setting_of(const Record *record, Setting setting) {
        const Reading *all = record->settings;

        return setting == SETTING_CPU_MAX
                       ? cgroup_cpus(all[SETTING_CPU_MAX], all[SETTING_CPU_PERIOD])
                       : all[setting];
}

/* How many times the smaller one the larger one is; no limit is beyond all numbers. */
static double factor_of(const Change *change) {
        double before = (double) change->before.magnitude, after = (double) change->after.magnitude;

        if (change->before.state == READING_MAX || change->after.state == READING_MAX)
                return INFINITY;
        return MAX_OF(before, after) / MIN_OF(before, after);
}

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

typedef struct ChangeList {
        Change *changes;
        size_t n, n_allocated;
} ChangeList;

/* What one of the two snapshots does not tell has not changed. */
static int list_changes(ChangeList *list, Span cgroup, const Record *before, const Record *after) {
        size_t first = list->n;
        int r = 0;

        for (unsigned i = 0; i < _SETTING_MAX && r == 0; i++) {
                Change change = { .cgroup = cgroup, .setting = (Setting) i };

                change.before = setting_of(before, change.setting);
                change.after = setting_of(after, change.setting);
                if (!settings[i].name || change.before.state == READING_ABSENT ||
                    change.after.state == READING_ABSENT ||
                    reading_equal(change.before, change.after))
                        continue;
                r = ARRAY_RESERVE(list->changes, list->n_allocated, list->n + 1);
                if (r != 0)
                        break;
                list->changes[list->n++] = change;
                list->changes[list->n - 1].first_setting = list->changes[first].setting;
                list->changes[list->n - 1].first_factor = factor_of(&list->changes[first]);
        }
        return r;
}

static void write_setting(JsonWriter *writer, const char *key, Setting setting, Reading value) {
        json_write_key(writer, key);
        if (setting == SETTING_CPU_MAX)
                cgroup_cpus_write(writer, value);
        else
                reading_write(writer, value);
}

static void write_changes(const ChangeList *list, JsonWriter *writer) {
        for (size_t i = 0; i < list->n && i < LIMIT_TALLY_MAX_CHANGES; i++) {
                const Change *change = &list->changes[i];

                json_write_object(writer);
                json_write_member_name(writer, "cgroup", change->cgroup);
                json_write_member_text(writer, "what", settings[change->setting].name);
                write_setting(writer, "before", change->setting, change->before);
                write_setting(writer, "after", change->setting, change->after);
                json_write_end(writer);
        }
}

int limit_tally_write_changes(const LimitTally *before, Side before_side, const LimitTally *after,
                              Side after_side, JsonWriter *writer) {
        ChangeList list = {};
        int r = 0;

        for (KeyNode *node = after->cgroups.first; node && r == 0; node = node->next) {
                KeyNode *earlier = key_tree_find(&before->cgroups, node->key);

                if (earlier)
                        r = list_changes(&list, node->key, &cgroup_of(earlier)->sides[before_side],
                                         &cgroup_of(node)->sides[after_side]);
        }
        if (r == 0) {
                if (list.n > 1)
                        qsort(list.changes, list.n, sizeof(*list.changes), compare_changes);
                write_changes(&list, writer);
        }
        free(list.changes);
        return r;
}
