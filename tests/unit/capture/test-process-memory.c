/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "capture/batch/process-memory.h"
#include "tree.h"

/* Two threads of process 7, whose leader is in another batch: it has too many for one. */
static const pid_t tids[] = { 8, 9 };
#define BACKEND_PEAK 4096u
#define STATUS_PEAK 8192u

static Tree tree;
static CaptureHost host;
static Batch batch;
static Readings *readings;

static void setup(void) {
        tree_make(&tree);
        host = (CaptureHost){ .proc_fd = tree.proc_fd };
        host.gates.has_file[SOURCE_STATUS] = true;
        readings = calloc(1, sizeof(*readings));
        ck_assert_ptr_nonnull(readings);
        readings->host = &host;
        memset(&batch, 0, sizeof(batch));
        batch.n_processes = 1;
        batch.n_tids = ELEMENTSOF(tids);
        batch.processes[0] = (BatchProcess){ .tgid = 7, .n = ELEMENTSOF(tids), .is_split = true };
        for (size_t i = 0; i < ELEMENTSOF(tids); i++) {
                char path[64];

                batch.tids[i] = tids[i];
                tree_add_thread(&tree, &(TreeThread){ .tgid = 7, .tid = tids[i] });
                (void) snprintf(path, sizeof(path), "proc/7/task/%d/status", tids[i]);
                tree_write_text(&tree, path, "Name:\tthread\nVmHWM:\t%u kB\n", STATUS_PEAK / 1024);
        }
        readings_begin(readings, &batch);
        for (size_t i = 0; i < ELEMENTSOF(tids); i++) {
                ThreadSample *sample = &readings->slots[i].sample;

                thread_sample_clear(sample);
                readings->slots[i].kept = readings->slots[i].has_space = true;
                readings->slots[i].state = 'S';
                sample->start_ticks = 1000 + (uint64_t) tids[i];
                thread_sample_put(sample, METRIC_hiwater_vm_bytes, BACKEND_PEAK);
                thread_sample_put(sample, METRIC_hiwater_rss_bytes, BACKEND_PEAK);
        }
}

static void teardown(void) {
        for (size_t i = 0; i < ELEMENTSOF(tids); i++)
                (void) fd_close(readings->slots[i].fd);
        (void) blocking_thread_free(readings->blocking.thread);
        buffer_done(&readings->texts);
        free(readings);
        tree_remove(&tree);
}

static void read_and_expect(uint64_t peak, bool opens) {
        process_memory_read(readings, &batch.processes[0]);
        for (size_t i = 0; i < ELEMENTSOF(tids); i++) {
                const ThreadSample *sample = &readings->slots[i].sample;

                ck_assert_uint_eq(thread_sample_get(sample, METRIC_hiwater_rss_bytes), peak);
                ck_assert(!thread_sample_has(sample, METRIC_rss_anon_bytes));
        }
        ck_assert_int_eq(readings->slots[0].fd >= 0, opens);
}

/* Such files were a fifth of what a capture of ten thousand threads in 16 processes took. */
START_TEST(what_the_backend_told_is_not_read_again) {
        for (size_t i = 0; i < ELEMENTSOF(tids); i++)
                thread_sample_put(&readings->slots[i].sample, METRIC_rss_anon_bytes, 1024);
        read_and_expect(BACKEND_PEAK, false);
}
END_TEST

START_TEST(a_peak_that_is_only_in_status_is_read_for_all) {
        read_and_expect(STATUS_PEAK, true);
}
END_TEST

START_TEST(a_thread_that_has_ended_is_passed_over) {
        tree_delete(&tree, "proc/7/task/8/stat");
        read_and_expect(STATUS_PEAK, false);
        ck_assert_int_ge(readings->slots[1].fd, 0);
}
END_TEST

/* A thread that could not be opened: its slot has what the batch before left there. */
START_TEST(the_sample_of_another_batch_tells_nothing) {
        ThreadSlot *slot = &readings->slots[0];

        thread_sample_put(&slot->sample, METRIC_rss_anon_bytes, 1024);
        slot->kept = false;
        process_memory_read(readings, &batch.processes[0]);
        ck_assert_uint_eq(thread_sample_get(&readings->slots[1].sample, METRIC_hiwater_rss_bytes),
                          STATUS_PEAK);
        ck_assert_int_lt(slot->fd, 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("process-memory");
        TCase *peak = tcase_create("peak");

        tcase_add_checked_fixture(peak, setup, teardown);
        tcase_add_test(peak, what_the_backend_told_is_not_read_again);
        tcase_add_test(peak, a_peak_that_is_only_in_status_is_read_for_all);
        tcase_add_test(peak, a_thread_that_has_ended_is_passed_over);
        tcase_add_test(peak, the_sample_of_another_batch_tells_nothing);
        suite_add_tcase(suite, peak);
        return check_main(suite);
}
