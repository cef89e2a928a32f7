/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>
#include <string.h>

#include "analysis/account/account.h"
#include "analysis/account/weight.h"
#include "json-text.h"
#include "thread.h"

#define NONE UINT64_MAX /* no value */

/* What a group of threads did, in ns. */
typedef struct Made {
        uint64_t alive, run, wait, blkio, iowait, block;
} Made;

static const HostUse no_host;
static const LifeCounts lives = { .survived = 2, .born = 1, .vanished = 4 };
static const Period interval = {
        .known = true, .is_interval = true, .begin_ns = 1000, .end_ns = 2000, .tick_ns = 1
};

/* What an account is made of. */
typedef struct Basis {
        Aggregate *work; /* at the end; NULL: no thread is there */
        const LifeCounts *lives;
        GroupExited *exited;
        Figures figures;
        const LifeTally *tally;
        const Period *period;
        const char *no_reasons;
        bool is_of_kernel;
        KernelDefects defects;
        const HostUse *host;
} Basis;

static Account account_from(const Basis *basis) {
        const Column column = { .setup.defects = basis->defects,
                                .period = *basis->period,
                                .host = *basis->host,
                                .no_reasons = basis->no_reasons };
        ColumnWork work = { .lives = basis->lives ? *basis->lives : (LifeCounts){} };
        const GroupColumn of = { .ends = { [SIDE_AFTER] = basis->work },
                                 .tally = *basis->tally,
                                 .exited = basis->exited,
                                 .work = basis->lives ? &work : NULL };

        return account_of(&column, &of, basis->is_of_kernel, basis->figures);
}

static void put(ThreadSample *sample, MetricId id, uint64_t value) {
        if (value != NONE)
                thread_sample_put(sample, id, value);
}

static Aggregate *work_of(const Made *made) {
        ThreadSample sample = thread_of("p", "t", 1);
        Aggregate *work = NULL;

        put(&sample, METRIC_run_time_ns, made->run);
        put(&sample, METRIC_wait_time_ns, made->wait);
        put(&sample, METRIC_blkio_delay_total_ns, made->blkio);
        put(&sample, METRIC_iowait_sum, made->iowait);
        put(&sample, METRIC_block_sum, made->block);
        ck_assert_int_eq(aggregate_add(&work, &sample), 0);
        return work;
}

static const char *text_of(const Account *account, bool time_only) {
        JsonWriter writer;

        json_text_begin(&writer);
        if (time_only) {
                json_write_object(&writer);
                account_write_times(&writer, account);
                json_write_end(&writer);
        } else {
                account_write_json(&writer, account);
        }
        return json_text_end(&writer);
}

/* The kernel's release decides whether delays of block I/O are exact. */
#define GOOD "6.8.0"
#define BAD "6.12.5"

static const struct {
        const char *what, *release;
        Made made;
        /* alive, running, waiting, storage, blocked, asleep, exact */
        const char *time;
} time_rows[] = {
        { "the rest is asleep or blocked",
          GOOD,
          { 1000, 300, 100, 200, NONE, NONE },
          "1000,300,100,200,null,400,true" },
        { "schedstats tell what is blocked",
          GOOD,
          { 1000, 300, 100, NONE, 150, 250 },
          "1000,300,100,150,100,350,true" },
        { "schedstats come before delay accounting",
          BAD,
          { 1000, 300, 100, 900, 150, 250 },
          "1000,300,100,150,100,350,true" },
        { "blocked needs both of schedstats",
          GOOD,
          { 1000, 300, 100, NONE, NONE, 250 },
          "1000,300,100,null,null,600,null" },
        { "waits for storage that overtook the others",
          GOOD,
          { 1000, 300, 100, NONE, 150, 140 },
          "1000,300,100,150,0,450,true" },
        { "an approximate delay is cut to what is left",
          BAD,
          { 1000, 300, 100, 900, NONE, NONE },
          "1000,300,100,600,null,0,false" },
        { "and stays if there is room",
          BAD,
          { 1000, 300, 100, 550, NONE, NONE },
          "1000,300,100,550,null,50,false" },
        { "even if nothing is left",
          BAD,
          { 1000, 900, 200, 550, NONE, NONE },
          "1100,900,200,0,null,0,false" },
        { "an exact delay is not cut",
          GOOD,
          { 1000, 300, 100, 900, NONE, NONE },
          "1300,300,100,900,null,0,true" },
        { "without waiting nobody knows who slept",
          GOOD,
          { 1000, 300, NONE, 200, NONE, NONE },
          "1000,300,null,200,null,null,true" },
        { "without running neither",
          BAD,
          { 1000, NONE, 100, 950, NONE, NONE },
          "1000,null,100,900,null,null,false" },
        { "nothing is known but the time",
          GOOD,
          { 1000, NONE, NONE, NONE, NONE, NONE },
          "1000,null,null,null,null,null,null" },
};

#define NO_REASONS                                                                        \
        "\"syncNs\":null,\"reasons\":null,\"reasonsReason\":\"none of these threads was " \
        "counted all the time\""

/* Shares by this scale are in ns, and in MB. */
#define MB 1000000
static const WeightScale scale = { .known = true, .cpu_ns = 1, .storage_bytes = MB };

START_TEST(parts_of_time_do_not_overlap) {
        static const char *const keys[] = { "\"aliveNs\":",   "\"runningNs\":", "\"waitingNs\":",
                                            "\"storageNs\":", "\"blockedNs\":", "\"asleepNs\":",
                                            "\"exact\":" };
        Aggregate *work = work_of(&time_rows[_i].made);
        const LifeTally tally = { .alive_ns = time_rows[_i].made.alive };
        Account account = account_from(&(Basis){
                .work = work,
                .lives = &lives,
                .tally = &tally,
                .period = &interval,
                .defects = kernel_defects_of(time_rows[_i].release),
                .host = &no_host,
        });
        char text[512] = "", *values = strdup(time_rows[_i].time), *rest = values;

        for (unsigned i = 0; i < ELEMENTSOF(keys); i++)
                (void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%s",
                                i > 0 ? "," : "{", keys[i], strsep(&rest, ","));
        (void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "," NO_REASONS "}");
        ck_assert_msg(strcmp(text_of(&account, true), text) == 0, "%s: %s", time_rows[_i].what,
                      text_of(&account, true));
        free(values);
        aggregate_free(work);
}
END_TEST

START_TEST(without_a_period_there_is_no_time_alive) {
        const Period unknown = { .is_interval = true };
        Aggregate *work = work_of(&(Made){ 0, 300, 100, 900, NONE, NONE });
        Account account = account_from(&(Basis){ .work = work,
                                                 .tally = &(LifeTally){ .alive_ns = 0 },
                                                 .period = &unknown,
                                                 .defects = kernel_defects_of(BAD),
                                                 .host = &no_host });

        ck_assert_str_eq(text_of(&account, true),
                         "{\"aliveNs\":null,\"runningNs\":300,\"waitingNs\":100,\"storageNs\":900,"
                         "\"blockedNs\":null,\"asleepNs\":null,\"exact\":false,\"syncNs\":null,"
                         "\"reasons\":null,\"reasonsReason\":\"these threads began before waits "
                         "were counted by reason\"}");
        aggregate_free(work);
}
END_TEST

START_TEST(a_corrected_delay_is_not_exact) {
        ThreadSample sample = thread_of("p", "t", 1);
        Aggregate *work = NULL;
        Account account;

        thread_sample_correct(&sample, METRIC_blkio_delay_total_ns, 40);
        ck_assert_int_eq(aggregate_add(&work, &sample), 0);
        account = account_from(&(Basis){ .work = work,
                                         .tally = &(LifeTally){ .alive_ns = 1000 },
                                         .period = &interval,
                                         .defects = kernel_defects_of(GOOD),
                                         .host = &no_host });
        ck_assert(account.storage_ns.known && !account.storage_exact);
        ck_assert_uint_eq(account.storage_ns.n, 40);
        aggregate_free(work);
}
END_TEST

START_TEST(the_whole_account_is_written) {
        ThreadSample sample = thread_of("p", "t", 1);
        const LifeTally tally = { .alive_ns = 500,
                                  .risen_rss_bytes = amount_of(4096),
                                  .rss_bytes = { amount_of(2000), amount_of(3000) },
                                  .has_heap = true,
                                  .allocated_bytes = 900,
                                  .freed_bytes = 200 };
        Aggregate *work = NULL;
        Account account;

        put(&sample, METRIC_voluntary_csw, 3);
        put(&sample, METRIC_nonvoluntary_csw, 4);
        put(&sample, METRIC_read_bytes, 5);
        put(&sample, METRIC_write_bytes, 6);
        put(&sample, METRIC_majflt, 7);
        put(&sample, METRIC_run_time_ns, 100);
        put(&sample, METRIC_wait_time_ns, 50);
        ck_assert_int_eq(aggregate_add(&work, &sample), 0);
        work->n_threads = 3;
        account = account_from(&(Basis){ .work = work,
                                         .lives = &lives,
                                         .tally = &tally,
                                         .period = &interval,
                                         .host = &no_host });
        ck_assert_str_eq(text_of(&account, false),
                         "{\"threads\":3,\"born\":1,\"ended\":4,\"bornAndEnded\":null,"
                         "\"leftOut\":null,\"startedBy\":null,\"aliveNs\":500,\"runningNs\":100,"
                         "\"waitingNs\":50,\"storageNs\":null,\"blockedNs\":null,\"asleepNs\":350,"
                         "\"exact\":null," NO_REASONS
                         ",\"switches\":7,\"readBytes\":5,\"writeBytes\":6,"
                         "\"writeExact\":true,\"majorFaults\":7,\"peakRssBytes\":4096,"
                         "\"rssBytes\":3000,\"rssBeforeBytes\":2000,\"heapGrowthBytes\":700}");
        ck_assert_uint_eq(account.rss_growth_bytes.n, 1000);
        ck_assert_double_eq(shares_of(&scale, &account).time, 150);
        ck_assert_double_eq(shares_of(&scale, &account).storage, 11.0 / MB);
        aggregate_free(work);
}
END_TEST

#define METRIC_OF_REASON(reason, text, ...) METRIC_##reason##_wait_ns,
static const MetricId reason_metrics[] = { WAIT_REASONS(METRIC_OF_REASON) };

/* Each reason has 10 ns more than the one before it, the first 10; together they are 1710 ns. */
static Account account_with_reasons(MetricId without, uint64_t alive_ns, bool is_of_kernel,
                                    const char *no_reasons) {
        ThreadSample sample = thread_of("p", "t", 1);
        const LifeTally tally = { .alive_ns = alive_ns };
        Aggregate *work = NULL;
        Account account;

        put(&sample, METRIC_run_time_ns, 100);
        put(&sample, METRIC_wait_time_ns, 50);
        put(&sample, METRIC_storage_wait_ns, 30);
        put(&sample, METRIC_uninterruptible_ns, 20);
        for (unsigned i = 0; i < ELEMENTSOF(reason_metrics); i++)
                if (reason_metrics[i] != without)
                        put(&sample, reason_metrics[i], (i + 1) * 10);
        ck_assert_int_eq(aggregate_add(&work, &sample), 0);
        account = account_from(&(Basis){ .work = work,
                                         .lives = &lives,
                                         .tally = &tally,
                                         .period = &interval,
                                         .no_reasons = no_reasons,
                                         .is_of_kernel = is_of_kernel,
                                         .host = &no_host });
        aggregate_free(work);
        return account;
}

/* What storage took is told, with too much of it, and not for how long all blocked. */
START_TEST(what_is_not_known_is_not_cut) {
        GroupExited exited = { .exits = 1 };
        ThreadSample sample = thread_of("p", "t", 1);
        const LifeTally tally = { .alive_ns = 1000 };
        Aggregate *work = NULL;
        Account account;

        put(&sample, METRIC_iowait_sum, 300);
        exited.excess[METRIC_iowait_sum] = 100;
        ck_assert_int_eq(aggregate_add(&work, &sample), 0);
        account = account_from(&(Basis){ .work = work,
                                         .lives = &(LifeCounts){ .born = 1 },
                                         .exited = &exited,
                                         .figures = FIGURES_CUT,
                                         .tally = &tally,
                                         .period = &interval,
                                         .host = &no_host });
        aggregate_free(work);
        ck_assert(account.storage_ns.known && account.storage_ns.n == 200);
        ck_assert(account.is_cut[ACCOUNT_STORAGE]);
        ck_assert(!account.blocked_ns.known && !account.is_cut[ACCOUNT_BLOCKED]);
}
END_TEST

START_TEST(reasons_are_parts_of_what_is_asleep) {
        Account account = account_with_reasons(_METRIC_MAX, 2000, false, NULL);

        ck_assert(account.sync_ns.known && account.sync_ns.n == 190);
        ck_assert_uint_eq(account.asleep_ns.n, 1800);
        ck_assert_ptr_nonnull(strstr(text_of(&account, true),
                                     "\"syncNs\":190,\"reasons\":{\"lock\":10,\"futex\":20,"));
        ck_assert_ptr_nonnull(strstr(text_of(&account, true), "\"idle\":170,\"other\":180}}"));

        /* They were not read at one moment: a little more than the time alive is all of it. */
        account = account_with_reasons(_METRIC_MAX, 1900, false, NULL);
        ck_assert_uint_eq(account.alive_ns.n, 1910);
        ck_assert_uint_eq(account.asleep_ns.n, 1710);
}
END_TEST

START_TEST(all_reasons_are_known_or_none) {
        Account account = account_with_reasons(METRIC_fault_wait_ns, 2000, false, "a text");

        ck_assert(!account.sync_ns.known && !account.reasons_ns[WAIT_REASON_lock].known);
        ck_assert_uint_eq(account.asleep_ns.n, 1800);
        ck_assert_ptr_nonnull(
                strstr(text_of(&account, true), "\"reasons\":null,\"reasonsReason\":\"a text\"}"));
}
END_TEST

/* Threads of the kernel idle uninterruptibly. */
START_TEST(locks_weigh_and_waits_in_the_kernel_of_programs) {
        Account account = account_with_reasons(_METRIC_MAX, 2000, false, NULL);

        ck_assert_double_eq(shares_of(&scale, &account).time, 100 + 50 + 30 + 20 + 10);
        account = account_with_reasons(_METRIC_MAX, 2000, true, NULL);
        ck_assert_double_eq(shares_of(&scale, &account).time, 100 + 50 + 30 + 10);
}
END_TEST

/* A group whose threads all ended. */
START_TEST(of_unknown_work_nothing_is_known) {
        const LifeCounts ended = { .vanished = 4 };
        Account account = account_from(&(Basis){ .lives = &ended,
                                                 .tally = &(LifeTally){ .alive_ns = 0 },
                                                 .period = &interval,
                                                 .host = &no_host });

        ck_assert_str_eq(text_of(&account, false),
                         "{\"threads\":0,\"born\":0,\"ended\":4,\"bornAndEnded\":null,"
                         "\"leftOut\":null,\"startedBy\":null,\"aliveNs\":null,"
                         "\"runningNs\":null,\"waitingNs\":null,\"storageNs\":null,"
                         "\"blockedNs\":null,\"asleepNs\":null,\"exact\":null," NO_REASONS
                         ",\"switches\":null,"
                         "\"readBytes\":null,\"writeBytes\":null,\"writeExact\":null,"
                         "\"majorFaults\":null,\"peakRssBytes\":null,\"rssBytes\":null,"
                         "\"rssBeforeBytes\":null,\"heapGrowthBytes\":null}");
        ck_assert(!shares_of(&scale, &account).has_time &&
                  !shares_of(&scale, &account).has_storage);
}
END_TEST

START_TEST(switches_need_both_kinds) {
        static const MetricId ids[] = { METRIC_voluntary_csw, METRIC_nonvoluntary_csw };

        for (size_t i = 0; i < ELEMENTSOF(ids); i++) {
                ThreadSample sample = thread_with(ids[i], 9);
                Aggregate *work = NULL;
                Account account;

                ck_assert_int_eq(aggregate_add(&work, &sample), 0);
                account = account_from(&(Basis){ .work = work,
                                                 .tally = &(LifeTally){ .alive_ns = 1 },
                                                 .period = &interval,
                                                 .host = &no_host });
                ck_assert(!account.switches.known);
                ck_assert(!account.born.known && !account.ended.known); /* whole lives */
                aggregate_free(work);
        }
}
END_TEST

/* Bytes that a group says it wrote, and what the disks and dirty memory say; NONE: not known. */
static const struct {
        uint64_t written, disks, dirty;
        bool exact;
} write_rows[] = {
        { 110, 100, 0, true },   { 111, 100, 0, false },   { 110, 60, 40, true },
        { 111, 60, 40, false },  { 1, 0, 0, false },       { 0, 0, 0, true },
        { 1000, NONE, 0, true }, { 1000, 10, NONE, true }, { UINT64_MAX - 1, 10, 0, false },
};

/* What is shown of 1000 bytes that are claimed; NONE: all of them, as the disks saw as many. */
static const struct {
        uint64_t wchar, disks, at_most;
} at_most_rows[] = {
        { 30, 10, 30 },     { 2000, 10, 1000 }, { 0, 10, 1000 }, /* it maps files */
        { NONE, 10, 1000 }, { 30, 1000, NONE },
};

START_TEST(what_calls_were_handed_bounds_writes_that_are_not_exact) {
        ThreadSample sample = thread_with(METRIC_write_bytes, 1000);
        const HostUse host = { .disk_written_bytes = amount_of(at_most_rows[_i].disks),
                               .dirty_growth_bytes = amount_of(0) };
        bool bounded = at_most_rows[_i].at_most != NONE;
        Aggregate *work = NULL;
        Account account;

        if (at_most_rows[_i].wchar != NONE)
                thread_sample_put(&sample, METRIC_wchar, at_most_rows[_i].wchar);
        ck_assert_int_eq(aggregate_add(&work, &sample), 0);
        account = account_from(&(Basis){ .work = work,
                                         .tally = &(LifeTally){ .alive_ns = 1 },
                                         .period = &interval,
                                         .host = &host });
        ck_assert_uint_eq(account.write_bytes.n, 1000);
        ck_assert_int_eq(account.write_at_most_bytes.known, bounded);
        ck_assert_double_eq(shares_of(&scale, &account).storage,
                            (double) (bounded ? at_most_rows[_i].at_most : 1000) / MB);
        ck_assert_uint_eq(account_figure(&account, VIEW_COLUMN_WRITE).n,
                          bounded ? at_most_rows[_i].at_most : 1000);
        ck_assert_int_eq(strstr(text_of(&account, false), "writeAtMostBytes") != NULL, bounded);
        aggregate_free(work);
}
END_TEST

START_TEST(more_writes_than_the_disks_saw_are_not_exact) {
        ThreadSample sample = thread_with(METRIC_write_bytes, write_rows[_i].written);
        HostUse host = {};
        Aggregate *work = NULL;
        Account account;

        if (write_rows[_i].disks != NONE)
                host.disk_written_bytes = amount_of(write_rows[_i].disks);
        if (write_rows[_i].dirty != NONE)
                host.dirty_growth_bytes = amount_of(write_rows[_i].dirty);
        ck_assert_int_eq(aggregate_add(&work, &sample), 0);
        account = account_from(&(Basis){ .work = work,
                                         .tally = &(LifeTally){ .alive_ns = 1 },
                                         .period = &interval,
                                         .host = &host });
        ck_assert_int_eq(account.write_exact, write_rows[_i].exact);
        aggregate_free(work);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("account");
        TCase *time = tcase_create("time"), *rest = tcase_create("rest");

        tcase_add_loop_test(time, parts_of_time_do_not_overlap, 0, ELEMENTSOF(time_rows));
        tcase_add_test(time, without_a_period_there_is_no_time_alive);
        tcase_add_test(time, a_corrected_delay_is_not_exact);
        suite_add_tcase(suite, time);
        tcase_add_test(rest, the_whole_account_is_written);
        tcase_add_test(rest, what_is_not_known_is_not_cut);
        tcase_add_test(rest, reasons_are_parts_of_what_is_asleep);
        tcase_add_test(rest, all_reasons_are_known_or_none);
        tcase_add_test(rest, locks_weigh_and_waits_in_the_kernel_of_programs);
        tcase_add_test(rest, of_unknown_work_nothing_is_known);
        tcase_add_test(rest, switches_need_both_kinds);
        tcase_add_loop_test(rest, what_calls_were_handed_bounds_writes_that_are_not_exact, 0,
                            ELEMENTSOF(at_most_rows));
        tcase_add_loop_test(rest, more_writes_than_the_disks_saw_are_not_exact, 0,
                            ELEMENTSOF(write_rows));
        suite_add_tcase(suite, rest);
        return check_main(suite);
}
