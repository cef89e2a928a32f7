/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdlib.h>

#include "compared.h"
#include "thread.h"
#include "view/view-part.h"

#define S(seconds) ((uint64_t) ((seconds) *1e9))
#define TICK_NS (NSEC_PER_SEC / 100)

#define METRIC_OF_REASON(reason, text, ...) METRIC_##reason##_wait_ns,
static const MetricId counted[] = { METRIC_run_time_ns, METRIC_wait_time_ns, METRIC_storage_wait_ns,
                                    METRIC_uninterruptible_ns, WAIT_REASONS(METRIC_OF_REASON) };

/* What a group of one thread did in each of two intervals of 10 s. */
typedef struct Part {
        const char *group;
        MetricId id;
        double seconds[SIDES];
} Part;

static const SourceTable *const no_sources[SIDES] = { NULL, NULL };

static View by_process(void) {
        View view;

        view_init(&view);
        view.axis = VIEW_AXIS_PCOMM;
        view.thread_normalize = false;
        return view;
}

static SideSetup two_intervals(void) {
        SideSetup setup = { .n_sides = 2, .boots = BOOTS_SAME };

        for (unsigned side = 0; side < SIDES; side++) {
                setup.interval_of_ns[side] = S(10);
                setup.begins[side] = (JudgeTime){
                        .known = true, .start_ns = S(100), .end_ns = S(101), .tick_ns = TICK_NS
                };
                setup.times[side] = (JudgeTime){
                        .known = true, .start_ns = S(110), .end_ns = S(111), .tick_ns = TICK_NS
                };
        }
        return setup;
}

static void fold(Comparison *comparison, Side side, const Part *parts, size_t n, bool kthread,
                 MetricId without) {
        for (size_t i = 0; i < n; i++) {
                ThreadSample before = thread_of(parts[i].group, parts[i].group, (pid_t) i + 1);
                ThreadSample after;
                bool is_first = i == 0 || strcmp(parts[i].group, parts[i - 1].group) != 0;

                if (!is_first)
                        continue;
                before.has_kthread = true;
                before.kthread = kthread;
                for (size_t j = 0; j < ELEMENTSOF(counted); j++)
                        if (counted[j] != without)
                                thread_sample_put(&before, counted[j], 0);
                after = before;
                for (size_t j = i; j < n && strcmp(parts[i].group, parts[j].group) == 0; j++)
                        thread_sample_put(&after, parts[j].id, S(parts[j].seconds[side]));
                ck_assert_int_eq(side_setup_add(comparison, side, &before, &after), 0);
        }
}

/* "app: lock 1.0>68.0; …": the shifts that are told, in order. */
static char *shifts_of(const Part *parts, size_t n, bool kthread, MetricId without) {
        SideSetup setup = two_intervals();
        Compared compared = { .comparison = NULL };
        View view = by_process();
        static char text[1024];
        json_object *reply, *list;
        JsonWriter writer;

        view.window = false;
        ck_assert_int_eq(side_setup_compare(&view, &setup, &compared.comparison), 0);
        for (unsigned side = 0; side < SIDES; side++)
                fold(compared.comparison, (Side) side, parts, n, kthread, without);
        compared_end(&compared, no_sources);
        json_write_object(json_text_begin(&writer));
        ck_assert_int_eq(comparison_write_waits(compared.comparison, &writer), 0);
        json_write_end(&writer);
        reply = json_tokener_parse(json_text_end(&writer));
        ck_assert(json_object_object_get_ex(reply, "waits", &list));
        text[0] = '\0';
        for (size_t i = 0; i < json_object_array_length(list); i++) {
                json_object *shift = json_object_array_get_idx(list, i);

                (void) snprintf(text + strlen(text), sizeof(text) - strlen(text),
                                "%s%s: %s %.1f>%.1f", i > 0 ? "; " : "",
                                json_object_get_string(json_object_object_get(shift, "key")),
                                json_object_get_string(json_object_object_get(shift, "reason")),
                                json_object_get_double(json_object_object_get(shift, "aNs")) / 1e9,
                                json_object_get_double(json_object_object_get(shift, "bNs")) / 1e9);
        }
        json_object_put(reply);
        compared_done(&compared);
        return text;
}

static const struct {
        Part parts[6];
        size_t n;
        bool kthread;
        const char *shifts;
} rows[] = {
        /* A lock takes time from idleness; how much of it moved does not depend on what it was. */
        { { { "app", METRIC_lock_wait_ns, { 1, 68 } },
            { "app", METRIC_futex_wait_ns, { 79, 12 } } },
          2,
          false,
          "app: lock 1.0>68.0" },
        /* and gives it back, which is told of what nobody chooses to be in */
        { { { "app", METRIC_lock_wait_ns, { 68, 1 } }, { "app", METRIC_poll_wait_ns, { 12, 79 } } },
          2,
          false,
          "app: lock 68.0>1.0" },
        /* Of waits that may be idleness what grew is told. */
        { { { "app", METRIC_poll_wait_ns, { 79, 13 } },
            { "app", METRIC_sleep_wait_ns, { 0, 66 } } },
          2,
          false,
          "app: sleep 0.0>66.0" },
        /* Time of threads that came to be moved nowhere. */
        { { { "app", METRIC_poll_wait_ns, { 40, 80 } } }, 1, false, "" },
        { { { "app", METRIC_poll_wait_ns, { 40, 80 } }, { "app", METRIC_run_time_ns, { 6, 5 } } },
          2,
          false,
          "" },
        /* One word for what fsync waits for, storage or not; it comes before larger idleness. */
        { { { "pg", METRIC_storage_wait_ns, { 0, 2 } },
            { "pg", METRIC_sync_wait_ns, { 0, 2 } },
            { "pg", METRIC_socket_wait_ns, { 10, 8 } },
            { "z", METRIC_socket_wait_ns, { 80, 10 } },
            { "z", METRIC_futex_wait_ns, { 0, 70 } } },
          5,
          false,
          "pg: sync 0.0>2.0; z: futex 0.0>70.0" },
        /* Those who stand in line behind it are told of, too, if they are more. */
        { { { "pg", METRIC_storage_wait_ns, { 0, 2 } },
            { "pg", METRIC_sync_wait_ns, { 0, 2 } },
            { "pg", METRIC_futex_wait_ns, { 0, 4 } },
            { "pg", METRIC_socket_wait_ns, { 10, 4 } } },
          4,
          false,
          "pg: sync 0.0>2.0; pg: futex 0.0>4.0" },
        { { { "pg", METRIC_storage_wait_ns, { 0, 4 } },
            { "pg", METRIC_futex_wait_ns, { 0, 4.5 } },
            { "pg", METRIC_socket_wait_ns, { 10, 1.5 } } },
          3,
          false,
          "pg: storage 0.0>4.0" },
        { { { "dd", METRIC_storage_wait_ns, { 1, 5 } }, { "dd", METRIC_run_time_ns, { 9, 5 } } },
          2,
          false,
          "dd: storage 1.0>5.0" },
        /* Too little, and too little of what it is. */
        { { { "a", METRIC_lock_wait_ns, { 0, 0.4 } },
            { "a", METRIC_poll_wait_ns, { 10, 9.6 } },
            { "b", METRIC_futex_wait_ns, { 800, 804 } },
            { "b", METRIC_poll_wait_ns, { 10, 6 } } },
          4,
          false,
          "" },
        /* Threads of the kernel. */
        { { { "kworker", METRIC_uninterruptible_ns, { 0, 9 } },
            { "kworker", METRIC_idle_wait_ns, { 10, 1 } } },
          2,
          true,
          "" },
};

START_TEST(what_moved_is_told) {
        ck_assert_str_eq(shifts_of(rows[_i].parts, rows[_i].n, rows[_i].kthread, _METRIC_MAX),
                         rows[_i].shifts);
}
END_TEST

START_TEST(without_reasons_nothing_is_told) {
        ck_assert_str_eq(shifts_of(rows[0].parts, rows[0].n, false, METRIC_fault_wait_ns), "");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("wait-shift");
        TCase *tcase = tcase_create("shifts");

        tcase_add_loop_test(tcase, what_moved_is_told, 0, ELEMENTSOF(rows));
        tcase_add_test(tcase, without_reasons_nothing_is_told);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
