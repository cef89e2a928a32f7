/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "capture/procfs/procfs-backend.h"
#include "tree.h"

/*
 * A guarded reader beside processes that do not come back from execve(2). Processes 7 and 8 hang in
 * one, so that nobody who opens the file named in each test has an answer; 9 is of another user.
 */

static const pid_t tids[] = { 7, 8, 9 };

static Tree tree;
static CaptureSystem fake;
static CaptureHost host;
static Batch batch;
static Readings *readings;
static void *reader;

static uint64_t now_ns(void *userdata) {
        return NSEC_PER_SEC;
}

static void setup(void) {
        tree_make(&tree);
        fake = (CaptureSystem){ .now_ns = now_ns };
        host = (CaptureHost){ .proc_fd = tree.proc_fd, .system = &fake, .gates.taskstats = -EPERM };
        for (unsigned i = 0; i < _SOURCE_MAX; i++)
                host.gates.has_file[i] = true;
        readings = calloc(1, sizeof(*readings));
        ck_assert_ptr_nonnull(readings);
        readings->host = &host;
        memset(&batch, 0, sizeof(batch));
        for (size_t i = 0; i < ELEMENTSOF(tids); i++) {
                tree_add_thread(&tree, &(TreeThread){ .tgid = tids[i], .tid = tids[i] });
                batch.processes[i] = (BatchProcess){ .tgid = tids[i], .first = i, .n = 1 };
                batch.tids[i] = tids[i];
        }
        tree_write_text(&tree, "proc/9/task/9/status",
                        "Name:\tx\nUid:\t43\t1\t1\t1\nGid:\t42\t1\t1\t1\n"
                        "voluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t2\n");
        batch.n_tids = batch.n_processes = ELEMENTSOF(tids);
        readings_begin(readings, &batch);
        ck_assert_int_eq(procfs_reader_new_guarded(readings, &reader), 0);
}

static void teardown(void) {
        procfs_backend.reader_free(reader);
        for (size_t i = 0; i < ELEMENTSOF(tids); i++)
                (void) fd_close(readings->slots[i].fd);
        (void) blocking_thread_free(readings->blocking.thread);
        buffer_done(&readings->texts);
        free(readings);
        tree_remove(&tree);
}

/* A pipe without a writer: whoever opens it waits. */
static void hang_in(pid_t tid, const char *name) {
        char path[64];

        (void) snprintf(path, sizeof(path), "proc/%d/task/%d/%s", tid, tid, name);
        tree_delete(&tree, path);
        ck_assert_int_eq(mkfifoat(tree.fd, path, 0600), 0);
}

/* The threads that were left behind come to the end of their calls. */
static void release(pid_t tid, const char *name) {
        char path[64];
        int fd;

        (void) snprintf(path, sizeof(path), "proc/%d/task/%d/%s", tid, tid, name);
        fd = openat(tree.fd, path, O_RDWR | O_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        tree_delete(&tree, path);
        (void) close(fd);
}

START_TEST(counts_of_io_that_are_not_told_are_lacking) {
        hang_in(7, "io");
        hang_in(8, "io");
        procfs_backend.read(reader);
        for (size_t i = 0; i < ELEMENTSOF(tids); i++) {
                const ThreadSlot *slot = &readings->slots[i];
                bool hangs = tids[i] != 9;

                ck_assert(slot->kept);
                ck_assert_int_eq(slot->outcomes[SOURCE_STAT], SOURCE_OUTCOME_ok + 1);
                ck_assert(thread_sample_has(&slot->sample, METRIC_voluntary_csw));
                ck_assert_int_eq(thread_sample_has(&slot->sample, METRIC_rchar), !hangs);
                ck_assert_int_eq(slot->outcomes[SOURCE_IO],
                                 (hangs ? SOURCE_OUTCOME_other : SOURCE_OUTCOME_ok) + 1);
                if (hangs)
                        release(tids[i], "io");
        }
}
END_TEST

START_TEST(a_process_whose_stat_is_not_told_is_left_out) {
        hang_in(7, "stat");
        procfs_backend.read(reader);
        for (size_t i = 0; i < ELEMENTSOF(tids); i++) {
                const ThreadSlot *slot = &readings->slots[i];

                ck_assert_int_eq(slot->kept, i > 0);
                ck_assert(!slot->vanished);
                ck_assert_int_eq(slot->outcomes[SOURCE_STAT],
                                 (i > 0 ? SOURCE_OUTCOME_ok : SOURCE_OUTCOME_other) + 1);
                ck_assert_int_eq(thread_sample_has(&slot->sample, METRIC_rchar), i > 0);
        }
        release(7, "stat");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("procfs-backend");
        TCase *guarded = tcase_create("guarded");

        tcase_add_checked_fixture(guarded, setup, teardown);
        tcase_add_test(guarded, counts_of_io_that_are_not_told_are_lacking);
        tcase_add_test(guarded, a_process_whose_stat_is_not_told_is_left_out);
        suite_add_tcase(suite, guarded);
        return check_main(suite);
}
