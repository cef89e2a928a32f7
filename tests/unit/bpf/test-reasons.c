/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/number.h"
#include "kernel/bpf/ledger-record.h"
#include "kernel/bpf/ledger.h"

/* the table of system calls */

static const struct {
        const char *name;
        int x86_64, aarch64;
        unsigned decides;
} calls[] = {
#define ROW(name, x86_64, aarch64, decides) { #name, x86_64, aarch64, decides },
        REASON_CALLS(ROW)
};

START_TEST(no_number_is_there_twice) {
        for (size_t i = 0; i < ELEMENTSOF(calls); i++)
                for (size_t k = 0; k < i; k++) {
                        ck_assert_str_ne(calls[i].name, calls[k].name);
                        ck_assert_int_ne(calls[i].x86_64, calls[k].x86_64);
                        ck_assert(calls[i].aarch64 < 0 || calls[i].aarch64 != calls[k].aarch64);
                }
}
END_TEST

START_TEST(every_number_has_a_place) {
        for (size_t i = 0; i < ELEMENTSOF(calls); i++) {
                ck_assert_int_ge(calls[i].x86_64, 0);
                ck_assert_int_lt(calls[i].x86_64, (int) CALL_NUMBERS);
                ck_assert_int_lt(calls[i].aarch64, (int) CALL_NUMBERS);
                ck_assert_uint_lt(CALL_REASON(calls[i].decides), _CALL_DECIDES_MAX);
        }
}
END_TEST

/* Some reasons follow from the state alone, or from there being no call that is known. */
static bool is_of_a_call(WaitReason reason) {
        return reason != WAIT_REASON_stopped && reason != WAIT_REASON_idle &&
               reason != WAIT_REASON_fault && reason != WAIT_REASON_other &&
               reason != WAIT_REASON_sync;
}

static bool is_found_by(WaitReason reason, unsigned decides) {
        switch (CALL_REASON(decides)) {
        case CALL_DECIDES_FUTEX:
        case CALL_DECIDES_FUTEX_VALUE:
                return reason == WAIT_REASON_lock || reason == WAIT_REASON_futex;
        case CALL_DECIDES_FILE:
                return reason == WAIT_REASON_pipe || reason == WAIT_REASON_socket ||
                       reason == WAIT_REASON_terminal || reason == WAIT_REASON_file;
        case CALL_DECIDES_FCNTL:
                return reason == WAIT_REASON_file_lock;
        default:
                return CALL_REASON(decides) == reason;
        }
}

START_TEST(every_reason_has_a_call_that_leads_to_it) {
        unsigned n = 0;

        for (size_t i = 0; i < ELEMENTSOF(calls); i++)
                n += is_found_by((WaitReason) _i, calls[i].decides);
        ck_assert_int_eq(n > 0, is_of_a_call((WaitReason) _i));
}
END_TEST

START_TEST(six_calls_write_back) {
        unsigned n = 0;

        for (size_t i = 0; i < ELEMENTSOF(calls); i++) {
                bool writes = strstr(calls[i].name, "sync") != NULL;

                ck_assert_int_eq((calls[i].decides & CALL_SYNCS) != 0, writes);
                n += writes;
        }
        ck_assert_uint_eq(n, 6);
}
END_TEST

/* What decides what the reason is also is what the wait is on. */
START_TEST(waits_for_sockets_and_locks_of_files_have_a_descriptor) {
        for (size_t i = 0; i < ELEMENTSOF(calls); i++) {
                unsigned reason = CALL_REASON(calls[i].decides);
                bool has_one = calls[i].decides & CALL_ON_FILE;

                if (reason == WAIT_REASON_socket || reason == WAIT_REASON_file_lock ||
                    reason == CALL_DECIDES_FCNTL || reason == WAIT_REASON_ioctl)
                        ck_assert_msg(has_one, "%s", calls[i].name);
                else
                        ck_assert_msg(!has_one || reason == WAIT_REASON_file, "%s", calls[i].name);
        }
}
END_TEST

/* the switch: a file in memory stands for the page of the programs */

static TaskObjects objects;
static LedgerControl *control;

static void setup(void) {
        int fd = memfd_create("control", MFD_CLOEXEC);

        objects = TASK_OBJECTS_NONE;
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(ftruncate(fd, sizeof(*control)), 0);
        control = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ck_assert(control != MAP_FAILED);
        objects.fds[TASK_OBJECT_CONTROL] = fd;
        /* It is no iterator. */
        objects.fds[TASK_OBJECT_SEED] = memfd_create("seed", MFD_CLOEXEC);
}

static void teardown(void) {
        (void) munmap(control, sizeof(*control));
        task_objects_done(&objects);
}

static uint64_t now_ns(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * NSEC_PER_SEC + (uint64_t) now.tv_nsec;
}

static void switch_on(uint64_t left_ns) {
        control->reasons.epoch = control->reasons.last_epoch = 7;
        control->reasons.since_ns = now_ns() - 5;
        control->reasons.since_boottime_ns = 3;
        control->reasons.n_switches = 4;
        control->reasons.until_ns = number_add_saturating(now_ns(), left_ns);
}

#define HOUR_NS (3600 * NSEC_PER_SEC)

START_TEST(without_programs_there_is_none) {
        ReasonState state;

        objects.fds[TASK_OBJECT_SEED] = fd_close(objects.fds[TASK_OBJECT_SEED]);
        ck_assert_int_eq(reasons_start(&objects, HOUR_NS, 0), REASONS_E_ABSENT);
        ck_assert_int_eq(reasons_prolong(&objects, HOUR_NS), REASONS_E_ABSENT);
        ck_assert_int_eq(reasons_limit(&objects, 0), REASONS_E_ABSENT);
        ck_assert_int_eq(reasons_look(&objects, &state), REASONS_E_ABSENT);
}
END_TEST

START_TEST(it_tells_how_it_stands) {
        ReasonState state;

        ck_assert_int_eq(reasons_look(&objects, &state), 0);
        ck_assert(!state.is_on);
        switch_on(HOUR_NS);
        ck_assert_int_eq(reasons_look(&objects, &state), 0);
        ck_assert(state.is_on && state.has_end);
        ck_assert_uint_eq(state.epoch, 7);
        ck_assert_uint_eq(state.since_boottime_ns, 3);
        ck_assert_uint_eq(state.n_switches, 4);
        ck_assert_uint_ge(state.for_ns, 5);
        ck_assert_uint_le(state.left_ns, HOUR_NS);
        ck_assert_uint_gt(state.left_ns, HOUR_NS - 60 * NSEC_PER_SEC);
        switch_on(REASONS_FOREVER);
        ck_assert_int_eq(reasons_look(&objects, &state), 0);
        ck_assert(state.is_on && !state.has_end);
}
END_TEST

/* Nothing has blocked since then, so that no program has switched it off. */
START_TEST(past_its_end_it_is_off) {
        ReasonState state;

        switch_on(0);
        ck_assert_int_eq(reasons_look(&objects, &state), 0);
        ck_assert(!state.is_on);
        ck_assert_uint_eq(state.left_ns, 0);
        /* And nobody makes it longer. */
        ck_assert_int_eq(reasons_prolong(&objects, HOUR_NS), 0);
        ck_assert_int_eq(reasons_look(&objects, &state), 0);
        ck_assert(!state.is_on);
}
END_TEST

START_TEST(an_end_moves_only_away_from_who_measures) {
        uint64_t end_ns;

        switch_on(HOUR_NS);
        end_ns = control->reasons.until_ns;
        ck_assert_int_eq(reasons_start(&objects, NSEC_PER_SEC, 9), 0);
        ck_assert_int_eq(reasons_prolong(&objects, NSEC_PER_SEC), 0);
        ck_assert_uint_eq(control->reasons.until_ns, end_ns);
        ck_assert_int_eq(reasons_start(&objects, 2 * HOUR_NS, 9), 0);
        ck_assert_uint_gt(control->reasons.until_ns, end_ns);
        ck_assert_int_eq(reasons_prolong(&objects, 3 * HOUR_NS), 0);
        ck_assert_uint_gt(control->reasons.until_ns, end_ns + HOUR_NS);
        ck_assert_int_eq(reasons_start(&objects, REASONS_FOREVER, 9), 0);
        ck_assert_uint_eq(control->reasons.until_ns, REASONS_FOREVER);
        /* The epoch goes on. */
        ck_assert_uint_eq(control->reasons.epoch, 7);
        ck_assert_uint_eq(control->reasons.n_switches, 4);
}
END_TEST

START_TEST(a_limit_moves_it_near) {
        switch_on(REASONS_FOREVER);
        ck_assert_int_eq(reasons_limit(&objects, HOUR_NS), 0);
        ck_assert_uint_le(control->reasons.until_ns, now_ns() + HOUR_NS);
        ck_assert_int_eq(reasons_limit(&objects, 2 * HOUR_NS), 0);
        ck_assert_uint_le(control->reasons.until_ns, now_ns() + HOUR_NS);
        ck_assert_uint_eq(control->reasons.epoch, 7);
        ck_assert_int_eq(reasons_limit(&objects, 0), 0);
        ck_assert_uint_eq(control->reasons.epoch, 0);
}
END_TEST

/* Without seeds, waits in progress would be missing: better none at all. */
START_TEST(who_cannot_seed_does_not_switch_it_on) {
        ck_assert_int_lt(reasons_start(&objects, HOUR_NS, 9), 0);
        ck_assert_uint_eq(control->reasons.epoch, 0);
        /* The next one is another epoch all the same: threads may have been met in this one. */
        ck_assert_uint_eq(control->reasons.last_epoch, 1);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("reasons");
        TCase *table = tcase_create("table"), *tcase = tcase_create("switch");

        tcase_add_test(table, no_number_is_there_twice);
        tcase_add_test(table, every_number_has_a_place);
        tcase_add_loop_test(table, every_reason_has_a_call_that_leads_to_it, 0, _WAIT_REASON_MAX);
        tcase_add_test(table, six_calls_write_back);
        tcase_add_test(table, waits_for_sockets_and_locks_of_files_have_a_descriptor);
        suite_add_tcase(suite, table);
        tcase_add_checked_fixture(tcase, setup, teardown);
        tcase_add_test(tcase, without_programs_there_is_none);
        tcase_add_test(tcase, it_tells_how_it_stands);
        tcase_add_test(tcase, past_its_end_it_is_off);
        tcase_add_test(tcase, an_end_moves_only_away_from_who_measures);
        tcase_add_test(tcase, a_limit_moves_it_near);
        tcase_add_test(tcase, who_cannot_seed_does_not_switch_it_on);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
