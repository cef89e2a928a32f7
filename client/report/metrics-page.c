/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/metrics-page.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/name-set.h"
#include "config.h"
#include "render/cell.h"
#include "report/sink.h"

/* A workload chooses the names of its groups: no label is longer. */
#define LABEL_BYTES 128

#define OTHER "other" /* the label of the group of all the rest */

/* families */

/* The value of a series stands in one of these places in a group. */
typedef enum Place {
        PLACE_MEMBER, /* a number of threads */
        PLACE_LIVES,  /* the same, with those that were born and have ended */
        PLACE_TIME,   /* of "time", by the length of the interval */
        PLACE_REASON, /* likewise, of its "reasons" */
        PLACE_RATE,   /* a metric a second */
        PLACE_LEVEL,  /* a metric as it was at the end */
        PLACE_PEAK,   /* likewise; not added up */
} Place;

// clang-format off
/*        name, without "ctprof_", help */
#define FAMILIES(F)                                                                                \
        F(CPU, "group_cpu_cores",                                                                  \
          "CPU seconds a second, also of threads that have ended.")                                \
        F(RUNQUEUE, "group_runqueue_wait_ratio",                                                   \
          "Threads that waited for a CPU, on average.")                                            \
        F(WAIT, "group_wait_ratio",                                                                \
          "Threads that were kept waiting, on average: for storage, uninterruptible otherwise, "   \
          "for a contended lock; sync, for data to be written, overlaps the first two.")           \
        F(DELAY, "group_block_delay_ratio",                                                        \
          "Threads that the kernel delayed, on average (delay accounting).")                       \
        F(SWITCHES, "group_context_switches_per_second", "Context switches.")                      \
        F(FAULTS, "group_page_faults_per_second", "Page faults.")                                  \
        F(IO, "group_io_bytes_per_second", "Bytes read from storage and written to it.")           \
        F(RESIDENT, "group_resident_bytes", "Resident memory at the end of the interval.")         \
        F(PEAK, "group_peak_resident_bytes",                                                       \
          "The highest peak of the resident memory of a process, in its whole life.")              \
        F(THREADS, "group_threads", "Threads at the end of the interval.")                         \
        F(BORN, "group_threads_born", "Threads that were born in the interval.")                   \
        F(ENDED, "group_threads_ended", "Threads that ended in the interval.")

#define FAMILY_ID(id, ...) FAMILY_##id,
typedef enum Family { FAMILIES(FAMILY_ID) _FAMILY_MAX } Family;

/*        family, label, its value, place, member or metric, what it is multiplied with */
#define SERIES(S)                                                                                  \
        S(CPU,      NULL,        NULL,              TIME,   runningNs,                1)           \
        S(RUNQUEUE, NULL,        NULL,              TIME,   waitingNs,                1)           \
        S(WAIT,     "reason",    "storage",         TIME,   storageNs,                1)           \
        S(WAIT,     "reason",    "uninterruptible", TIME,   blockedNs,                1)           \
        S(WAIT,     "reason",    "sync",            TIME,   syncNs,                   1)           \
        S(WAIT,     "reason",    "lock",            REASON, lock,                     1)           \
        S(DELAY,    "source",    "blkio",           RATE,   blkio_delay_total_ns,     1e-9)        \
        S(DELAY,    "source",    "swapin",          RATE,   swapin_delay_total_ns,    1e-9)        \
        S(DELAY,    "source",    "freepages",       RATE,   freepages_delay_total_ns, 1e-9)        \
        S(DELAY,    "source",    "thrashing",       RATE,   thrashing_delay_total_ns, 1e-9)        \
        S(DELAY,    "source",    "compact",         RATE,   compact_delay_total_ns,   1e-9)        \
        S(DELAY,    "source",    "wpcopy",          RATE,   wpcopy_delay_total_ns,    1e-9)        \
        S(DELAY,    "source",    "irq",             RATE,   irq_delay_total_ns,       1e-9)        \
        S(SWITCHES, "kind",      "voluntary",       RATE,   voluntary_csw,            1)           \
        S(SWITCHES, "kind",      "involuntary",     RATE,   nonvoluntary_csw,         1)           \
        S(FAULTS,   "kind",      "major",           RATE,   majflt,                   1)           \
        S(FAULTS,   "kind",      "minor",           RATE,   minflt,                   1)           \
        S(IO,       "direction", "read",            RATE,   read_bytes,               1)           \
        S(IO,       "direction", "write",           RATE,   write_bytes,              1)           \
        S(RESIDENT, "kind",      "anonymous",       LEVEL,  rss_anon_bytes,           1)           \
        S(RESIDENT, "kind",      "file",            LEVEL,  rss_file_bytes,           1)           \
        S(RESIDENT, "kind",      "shared",          LEVEL,  rss_shmem_bytes,          1)           \
        S(PEAK,     NULL,        NULL,              PEAK,   hiwater_rss_bytes,        1)           \
        S(THREADS,  NULL,        NULL,              MEMBER, threadsAfter,             1)           \
        S(BORN,     NULL,        NULL,              LIVES,  born,                     1)           \
        S(ENDED,    NULL,        NULL,              LIVES,  ended,                    1)
// clang-format on

#define SERIES_ID(family, label, value, place, member, factor) SERIES_##place##_##member,
enum { SERIES(SERIES_ID) _SERIES_MAX };

#define FAMILY_ROW(id, name, help) { "ctprof_" name, help },
static const struct { const char *name, *help; } families[_FAMILY_MAX] = { FAMILIES(FAMILY_ROW) };

#define SERIES_ROW(family, label, value, place, member, factor) \
        { FAMILY_##family, label, value, PLACE_##place, #member, factor },
static const struct {
        Family family;
        const char *label, *value;
        Place place;
        const char *member;
        double factor;
} series_table[_SERIES_MAX] = { SERIES(SERIES_ROW) };

/* The compiler refuses a member that is no metric. */
#define CHOOSE_MEMBER(view, member)
#define CHOOSE_LIVES(view, member)
#define CHOOSE_TIME(view, member)
#define CHOOSE_REASON(view, member)
#define CHOOSE_RATE(view, member) (view)->metrics[METRIC_##member] = true;
#define CHOOSE_LEVEL(view, member) (view)->metrics[METRIC_##member] = true;
#define CHOOSE_PEAK(view, member) (view)->metrics[METRIC_##member] = true;
#define CHOOSE(family, label, value, place, member, factor) CHOOSE_##place(view, member)

void metrics_page_choose(View *view) {
        view->has_metrics = true;
        SERIES(CHOOSE)
}

/* groups */

typedef struct Values {
        double of[_SERIES_MAX]; /* NAN: not measured */
} Values;

struct MetricsPage {
        size_t n_top;
        bool is_last;
        NameSet earlier; /* groups of earlier intervals, as the replies have them */
        size_t n_seen, n_kept_of_earlier; /* of the last interval */
        NameSet labels;                   /* of its groups that are shown, in their order */
        Values *values;                   /* owned: as many */
        Values other;
        size_t n_other;     /* groups in it */
        json_object *reply; /* owned; of the last interval; NULL: there is none */
};

int metrics_page_new(size_t n_top, MetricsPage **ret) {
        MetricsPage *page = calloc(1, sizeof(*page));

        if (!page)
                return -ENOMEM;
        page->n_top = n_top;
        for (unsigned i = 0; i < _SERIES_MAX; i++)
                page->other.of[i] = NAN;
        *ret = page;
        return 0;
}

MetricsPage *metrics_page_free(MetricsPage *page) {
        if (!page)
                return NULL;
        name_set_done(&page->earlier);
        name_set_done(&page->labels);
        free(page->values);
        (void) json_object_put(page->reply);
        free(page);
        return NULL;
}

void metrics_page_begin_last(MetricsPage *page) {
        page->is_last = true;
}

static double number(json_object *value) {
        return json_object_is_type(value, json_type_int) ||
                               json_object_is_type(value, json_type_double)
                       ? json_object_get_double(value)
                       : NAN;
}

static double find_value(json_object *group, unsigned id, double elapsed_ns) {
        const char *member = series_table[id].member;
        json_object *time = cell_member(group, "time"), *lives = cell_member(group, "lives"),
                    *entry = cell_member(cell_member(group, "metrics"), member);

        switch (series_table[id].place) {
        case PLACE_MEMBER:
                return number(cell_member(group, member));
        case PLACE_LIVES:
                return number(cell_member(lives, member)) +
                       number(cell_member(lives, "bornAndEnded"));
        case PLACE_TIME:
                return number(cell_member(time, member)) / elapsed_ns;
        case PLACE_REASON:
                return number(cell_member(cell_member(time, "reasons"), member)) / elapsed_ns;
        case PLACE_RATE:
                return number(cell_member(entry, "perSecond"));
        case PLACE_LEVEL:
        case PLACE_PEAK:
                return number(cell_member(entry, "after"));
        }
        return NAN;
}

/* labels */

/*
 * Writes a name as a label: every byte of a JSON text may stand there but three that are escaped.
 * The
 * parts of an axis of several are apart by a bar.
 */
static void put_label(const char *name, char ret[static LABEL_BYTES + 8]) {
        char *at = ret;

        while (*name != '\0') {
                size_t n = 1; /* of the next character: all of JSON is UTF-8 */

                while ((name[n] & 0xc0) == 0x80)
                        n++;
                if ((size_t) (at - ret) + n + 1 > LABEL_BYTES) {
                        memcpy(at, "…", sizeof("…"));
                        return;
                }
                if (*name == '\n' || *name == '\\' || *name == '"') {
                        *at++ = '\\';
                        *at++ = *name == '\n' ? 'n' : *name;
                } else if (*name == '\x1f') {
                        *at++ = '|';
                } else {
                        memcpy(at, name, n);
                        at += n;
                }
                name += n;
        }
        *at = '\0';
}

static int add_group(MetricsPage *page, json_object *group) {
        json_object *key = cell_member(group, "key");
        double elapsed_ns = number(cell_member(page->reply, "elapsedNs"));
        char label[LABEL_BYTES + 8];
        Values values, *all;
        bool is_top;
        size_t at;
        int r;

        if (!key)
                return 0;
        if (!page->is_last)
                return name_set_add(&page->earlier, cell_string(key), &at);
        for (unsigned i = 0; i < _SERIES_MAX; i++)
                values.of[i] = find_value(group, i, elapsed_ns) * series_table[i].factor;
        put_label(json_object_get_string(key), label);
        is_top = page->n_seen++ < page->n_top;
        /*
         * Two series of one name would make the whole file unreadable, so a group that has the
         * label of another is not shown by itself.
         */
        if ((!is_top && (page->n_kept_of_earlier == page->n_top ||
                         name_set_find(&page->earlier, cell_string(key)) == INDEX_NONE)) ||
            strcmp(label, OTHER) == 0 ||
            name_set_find(&page->labels, span_of(label)) != INDEX_NONE) {
                page->n_other++;
                for (unsigned i = 0; i < _SERIES_MAX; i++) {
                        double *sum = &page->other.of[i];

                        /* A peak of many processes says nothing. */
                        if (!isnan(values.of[i]) && series_table[i].place != PLACE_PEAK)
                                *sum = isnan(*sum) ? values.of[i] : *sum + values.of[i];
                }
                return 0;
        }
        page->n_kept_of_earlier += !is_top;
        all = reallocarray(page->values, page->labels.n + 1, sizeof(*all));
        if (!all)
                return -ENOMEM;
        page->values = all;
        r = name_set_add(&page->labels, span_of(label), &at);
        if (r == 0)
                all[at] = values;
        return r;
}

/* the text */

static void begin_family(FILE *out, const char *name, const char *help) {
        (void) fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void write_sample(FILE *out, unsigned id, Span label, double value) {
        const char *name = families[series_table[id].family].name;

        if (isnan(value))
                return;
        (void) fprintf(out, "%s{group=\"%.*s\"", name, (int) label.n, label.bytes);
        if (series_table[id].label)
                (void) fprintf(out, ",%s=\"%s\"", series_table[id].label, series_table[id].value);
        (void) fprintf(out, "} %.12g\n", value);
}

static void write_gauge(FILE *out, const char *name, const char *help, double value) {
        if (isnan(value))
                return;
        begin_family(out, name, help);
        (void) fprintf(out, "%s %.15g\n", name, value);
}

static void write_interval(const MetricsPage *page, FILE *out) {
        json_object *coverage = cell_member(page->reply, "coverage");
        double elapsed_ns = number(cell_member(page->reply, "elapsedNs"));

        write_gauge(out, "ctprof_interval_seconds", "The length of the interval.",
                    elapsed_ns / NSEC_PER_SEC);
        write_gauge(out, "ctprof_host_cpu_cores", "CPU seconds a second that the host used.",
                    number(cell_member(coverage, "cpuUsedNs")) / elapsed_ns);
        write_gauge(out, "ctprof_attributed_cpu_cores", "As many of them as are those of groups.",
                    number(cell_member(coverage, "attributedNs")) / elapsed_ns);
        write_gauge(out, "ctprof_groups_omitted", "Groups that \"other\" stands for.",
                    (double) page->n_other);
        for (unsigned family = 0; family < _FAMILY_MAX; family++) {
                begin_family(out, families[family].name, families[family].help);
                for (unsigned id = 0; id < _SERIES_MAX; id++) {
                        if (series_table[id].family != (Family) family)
                                continue;
                        for (size_t i = 0; i < page->labels.n; i++)
                                write_sample(out, id, name_set_get(&page->labels, i),
                                             page->values[i].of[id]);
                        if (page->n_other > 0)
                                write_sample(out, id, SPAN_LITERAL(OTHER), page->other.of[id]);
                }
        }
}

void metrics_page_write(const MetricsPage *page, json_object *head, const char *axis, FILE *out) {
        static const char info[] = "ctprof_info", available[] = "ctprof_source_available";
        json_object *sources = cell_member(page->reply, "sourcesAfter");

        begin_family(out, info, "Its version, and what the groups are by.");
        (void) fprintf(out, "%s{version=\"" CTPROF_VERSION "\",group_by=\"%s\"} 1\n", info, axis);
        if (head) {
                write_gauge(out, "ctprof_capture_timestamp_seconds",
                            "When the last capture ended, at the end of the interval.",
                            number(cell_member(head, "endRealtimeNs")) / NSEC_PER_SEC);
                write_gauge(out, "ctprof_capture_cpu_seconds", "What it cost.",
                            number(cell_member(cell_member(head, "cost"), "cpuNs")) / NSEC_PER_SEC);
                write_gauge(out, "ctprof_capture_complete",
                            "1: every source was read of every thread.",
                            json_object_get_boolean(cell_member(head, "complete")));
        }
        if (!page->reply) {
                (void) fputs("# There is no interval yet: it takes two captures of one boot.\n",
                             out);
                return;
        }
        if (cell_length(sources) > 0)
                begin_family(out, available,
                             "1: it was read, of some threads at least; 0: it has no value.");
        for (size_t i = 0; i < cell_length(sources); i++) {
                json_object *source = cell_element(sources, i);
                char label[LABEL_BYTES + 8];
                json_object *name = cell_member(source, "name");
                Span state = cell_string(cell_member(source, "state"));

                if (!name)
                        continue;
                put_label(json_object_get_string(name), label);
                (void) fprintf(out, "%s{source=\"%s\"} %d\n", available, label,
                               span_is(state, "ok") || span_is(state, "partial"));
        }
        write_interval(page, out);
}

/* the sink of a view, whose groups go into a page in the order of their weight */

static int begin(GroupSink *sink, json_object *reply) {
        MetricsPage *page = sink->form->metrics;

        if (page->is_last)
                page->reply = json_object_get(reply);
        return 0;
}

static int add_groups(GroupSink *sink, GroupList list, json_object *groups) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < cell_length(groups); i++)
                r = add_group(sink->form->metrics, cell_element(groups, i));
        return r;
}

const GroupSinkType sink_metrics = { .size = sizeof(GroupSink),
                                     .begin = begin,
                                     .groups = add_groups };
