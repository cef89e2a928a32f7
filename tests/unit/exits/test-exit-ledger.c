/* SPDX-License-Identifier: GPL-2.0-or-later */

/* From messages about exits to rows of the ledger: what is told is there, and nothing else. */

#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "exits/exit-ledger.h"
#include "temporary.h"

#define FAMILY 31 /* of the guest that sent the messages */
#define BEGAN UINT64_C(1000000000000)
#define LEADER 992

/* messages of a real kernel */

static TaskstatsExit read_message(const char *name) {
        _Alignas(8) char bytes[4096];
        char path[512];
        TaskstatsExit told;
        size_t n;
        FILE *file;

        (void) snprintf(path, sizeof(path), TESTS_DIR "/fixtures/taskstats/6.18-exits/%s.bin",
                        name);
        file = fopen(path, "re");
        ck_assert_msg(file != NULL, "%s", path);
        n = fread(bytes, 1, sizeof(bytes), file);
        (void) fclose(file);
        ck_assert_int_eq(taskstats_exit_decode(bytes, n, FAMILY, &told), 0);
        return told;
}

static ExitLedger *make(int proc_fd, size_t max_rows) {
        ExitLedger *ledger;

        ck_assert_int_eq(exit_ledger_new(&(ExitLedgerSetup){ .proc_fd = proc_fd,
                                                             .max_rows = max_rows,
                                                             .now_ns = BEGAN },
                                         &ledger),
                         0);
        return ledger;
}

static void take(ExitLedger *ledger, const TaskstatsExit *told, bool is_empty) {
        ExitBatch *batch = calloc(1, sizeof(*batch));

        ck_assert_ptr_nonnull(batch);
        batch->n = told ? 1 : 0;
        if (told)
                batch->exits[0] = *told;
        batch->is_empty = is_empty;
        exit_ledger_take(ledger, batch, BEGAN + NSEC_PER_SEC);
        free(batch);
}

static const LedgerRow *find(const ExitLedger *ledger, const char *process, const char *thread) {
        const ExitTable *table = &ledger->table;

        for (size_t i = 0; i < table->n_rows; i++) {
                const LedgerKey *key = &table->rows[i].key;

                if (!(key->flags & LEDGER_OVERFLOW) && strcmp(key->process, process) == 0 &&
                    strcmp(key->thread, thread) == 0)
                        return &table->rows[i];
        }
        return NULL;
}

START_TEST(a_message_of_a_real_kernel_becomes_a_row) {
        TaskstatsExit told = read_message("exit-process");
        _cleanup_(exit_ledger_freep) ExitLedger *ledger = make(-EBADF, 64);
        uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);
        const LedgerValues *values;
        const LedgerRow *row;

        take(ledger, &told, true);
        row = find(ledger, "exit-process", "exit-process");
        ck_assert_ptr_nonnull(row);
        ck_assert_uint_eq(row->key.flags, 0);
        ck_assert_uint_eq(row->key.cgroup, 0);
        values = &row->values;
        ck_assert_uint_eq(values->exits, 1);
        ck_assert_uint_eq(values->lives_ns, UINT64_C(372185000));
        ck_assert_uint_eq(values->young, 1);
        ck_assert_uint_eq(values->young_run_ns, 43805362);
        ck_assert_uint_eq(values->accounted, 0);
        ck_assert_uint_eq(values->sums[LEDGER_run_time_ns], 43805362);
        ck_assert_uint_eq(values->sums[LEDGER_wait_time_ns], 300782271);
        ck_assert_uint_eq(values->sums[LEDGER_timeslices], 102);
        ck_assert_uint_eq(values->sums[LEDGER_voluntary_csw], 11);
        ck_assert_uint_eq(values->sums[LEDGER_nonvoluntary_csw], 90);
        ck_assert_uint_eq(values->sums[LEDGER_minflt], 1937);
        ck_assert_uint_eq(values->sums[LEDGER_majflt], 0);
        ck_assert_uint_eq(values->sums[LEDGER_USER_NS], 35987000);
        ck_assert_uint_eq(values->sums[LEDGER_SYSTEM_NS], 12000000);
        ck_assert_uint_eq(values->maxima[LEDGER_RUN_DELAY_MAX], 44501130);
        ck_assert_uint_eq(values->minima[LEDGER_RUN_DELAY_MIN], 4788);
        ck_assert_uint_eq(values->maxima[LEDGER_RSS_PEAK] * page, 13668 * 1024);
        ck_assert_uint_eq(values->maxima[LEDGER_VM_PEAK] * page, 229584 * 1024);
        /* As captures make megabyte-microseconds of it, what the kernel said comes back. */
        ck_assert_uint_eq(values->sums[LEDGER_RSS_INTEGRAL] * page / (1000 * 1024), 534461);
        ck_assert_uint_eq(values->sums[LEDGER_VM_INTEGRAL] * page / (1000 * 1024), 1843221);
        ck_assert_uint_eq(values->has &
                                  (TASK_IS_READ | TASK_HAS_RUN_DELAY | TASK_HAS_RUN_DELAY_PEAKS |
                                   TASK_HAS_INTEGRALS | TASK_HAS_IO_CALLS | TASK_HAS_IO_BYTES |
                                   LEDGER_HAS_SCHEDSTATS),
                          TASK_HAS_RUN_DELAY | TASK_HAS_RUN_DELAY_PEAKS | TASK_HAS_INTEGRALS);
}
END_TEST

/* What a struct of zeros does not tell is absent, not 0. */
START_TEST(a_kernel_that_counts_little_has_little) {
        TaskstatsExit told = { .tid = 5, .stats = { .version = 8, .n_bytes = 328 } };
        _cleanup_(exit_ledger_freep) ExitLedger *ledger = make(-EBADF, 64);

        take(ledger, &told, true);
        ck_assert_uint_eq(ledger->table.n_rows, 2);
        ck_assert_uint_eq(ledger->table.rows[1].values.has &
                                  (TASK_HAS_RUN_DELAY | TASK_HAS_RUN_DELAY_PEAKS |
                                   TASK_HAS_INTEGRALS | LEDGER_HAS_DELAY_PEAKS |
                                   LEDGER_HAS_DELAY(TASK_DELAY_IRQ)),
                          0);
}
END_TEST

/* names */

static TaskstatsExit thread_of(const TaskstatsExit *from, pid_t tid, uint32_t tgid,
                               const char *name) {
        TaskstatsExit told = *from;

        told.tid = tid;
        memcpy(told.stats.bytes + 368, &tgid, sizeof(tgid));
        memset(told.stats.bytes + 80, 0, 16);
        memcpy(told.stats.bytes + 80, name, MIN_OF(strlen(name), (size_t) 16));
        return told;
}

START_TEST(a_thread_gets_the_name_of_its_process_from_a_later_message) {
        TaskstatsExit thread = read_message("exit-thread1"), leader = read_message("exit-process");
        _cleanup_(exit_ledger_freep) ExitLedger *ledger = make(-EBADF, 64);

        take(ledger, &thread, false);
        ck_assert_uint_eq(ledger->table.n_rows, 1); /* it waits */
        take(ledger, &leader, true);
        ck_assert_ptr_nonnull(find(ledger, "exit-process", "exit-thread"));
        ck_assert_ptr_nonnull(find(ledger, "exit-process", "exit-process"));
}
END_TEST

START_TEST(a_thread_gets_the_name_of_its_process_from_an_earlier_message) {
        TaskstatsExit thread = read_message("exit-thread2"), leader = read_message("exit-process");
        _cleanup_(exit_ledger_freep) ExitLedger *ledger = make(-EBADF, 64);

        take(ledger, &leader, true);
        take(ledger, &thread, true);
        ck_assert_ptr_nonnull(find(ledger, "exit-process", "exit-thread"));
}
END_TEST

START_TEST(a_thread_gets_the_name_that_proc_has) {
        TaskstatsExit thread = read_message("exit-thread1");
        _cleanup_(temporary_done) Temporary root;
        char path[TEMPORARY_PATH_BYTES];
        _cleanup_(fd_closep) int proc_fd = -EBADF;
        ExitLedger *ledger;
        FILE *file;

        temporary_init(&root);
        ck_assert_int_eq(mkdir(temporary_path(&root, "992", path), 0700), 0);
        file = fopen(temporary_path(&root, "992/comm", path), "we");
        ck_assert_ptr_nonnull(file);
        ck_assert_int_ge(fputs("a\nname\n", file), 0);
        ck_assert_int_eq(fclose(file), 0);
        proc_fd = open(root.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ledger = make(proc_fd, 64);
        take(ledger, &thread, true);
        ck_assert_ptr_nonnull(find(ledger, "a\nname", "exit-thread"));
        (void) exit_ledger_free(ledger);
}
END_TEST

START_TEST(a_name_that_nobody_knows_is_said_to_be_unknown) {
        TaskstatsExit thread = read_message("exit-thread1");
        TaskstatsExit old = thread_of(&thread, 7, 0, "of-an-old-kernel");
        _cleanup_(exit_ledger_freep) ExitLedger *ledger = make(-EBADF, 64);

        take(ledger, &thread, false);
        ck_assert_ptr_null(find(ledger, "[unknown]", "exit-thread"));
        take(ledger, NULL, true);
        ck_assert_ptr_nonnull(find(ledger, "[unknown]", "exit-thread"));
        take(ledger, &old, false); /* nothing would come for it */
        ck_assert_uint_eq(ledger->table.n_rows, 3);
}
END_TEST

START_TEST(a_name_is_remembered_for_a_moment) {
        static const char name[TASK_COMM_BYTES] = "some";
        char found[TASK_COMM_BYTES] = "kept";
        ProcessNames *names = malloc(sizeof(*names));

        ck_assert_ptr_nonnull(names);
        *names = (ProcessNames){ .proc_fd = -EBADF };
        process_names_learn(names, 7, name, BEGAN);
        ck_assert(process_names_recall(names, 7, BEGAN + PROCESS_NAMES_AGE_NS, found));
        ck_assert_str_eq(found, "some");
        memcpy(found, "kept", 5);
        ck_assert(!process_names_recall(names, 7, BEGAN + PROCESS_NAMES_AGE_NS + 1, found));
        ck_assert(!process_names_find(names, 7 + PROCESS_NAMES_MAX, BEGAN, found));
        ck_assert(!process_names_find(names, 0, BEGAN, found));
        ck_assert_str_eq(found, "kept");
        free(names);
}
END_TEST

START_TEST(a_thread_that_waits_is_told_all_the_same) {
        TaskstatsExit thread = read_message("exit-thread1");
        _cleanup_(exit_ledger_freep) ExitLedger *ledger = make(-EBADF, 64);
        _cleanup_(ledger_file_freep) LedgerFile *file = NULL;
        _cleanup_(fd_closep) int fd = -EBADF;

        take(ledger, &thread, false);
        ck_assert_int_eq(exit_ledger_tell(ledger, BEGAN, &fd), 0);
        ck_assert_int_eq(ledger_file_open(fd, &file), 0);
        ck_assert_uint_eq(file->head->n_rows, 2);
        ck_assert_str_eq(file->rows[1].row.key.process, "[unknown]");
}
END_TEST

/* whose they are */

static const struct {
        pid_t tid;
        uint32_t ppid;
        uint64_t vm_kib;
        pid_t self;
        uint32_t flags;
} owner_rows[] = {
        { 50, 1, 1000, 0, 0 },
        { 50, 2, 0, 0, LEDGER_OF_KERNEL },
        { 2, 0, 0, 0, LEDGER_OF_KERNEL },
        { 50, 2, 1000, 0, 0 }, /* a helper that the kernel started */
        { 50, 1, 0, 0, 0 },    /* a process without memory */
        { LEADER, 1, 1000, LEADER, LEDGER_OF_SELF },
        { 50, 77, 1000, 77, LEDGER_OF_SELF },
        { 50, 78, 1000, 77, 0 },
};

START_TEST(threads_of_the_kernel_and_of_ctprof_are_known) {
        TaskstatsExit told = read_message("exit-process");
        ExitRecord record;

        told.tid = owner_rows[_i].tid;
        memcpy(told.stats.bytes + 132, &owner_rows[_i].ppid, 4);
        memcpy(told.stats.bytes + 208, &owner_rows[_i].vm_kib, 8);
        record = exit_record_of(&told,
                                &(ExitContext){ .now_ns = BEGAN, .self = owner_rows[_i].self });
        ck_assert_uint_eq(record.key.flags, owner_rows[_i].flags);
}
END_TEST

/* Whoever calls is ctprof's own while connected and for a moment, whatever others are called. */
START_TEST(a_caller_is_known_by_its_number) {
        static LedgerOwn own;
        const LedgerOwn none = {};
        LedgerOwnPlace *place = &own.places[LEADER + LEDGER_OWN_TRIES - 1];
        TaskstatsExit told = read_message("exit-process");
        ExitContext context = { .now_ns = BEGAN, .self = 1, .own = &own };

        own = none;
        ck_assert_uint_eq(exit_record_of(&told, &context).key.flags, 0);
        *place = (LedgerOwnPlace){ LEADER, 1, LEDGER_OWN_FOR_EVER };
        ck_assert_uint_eq(exit_record_of(&told, &context).key.flags, LEDGER_OF_SELF);
        place->until_ns = BEGAN + 1;
        ck_assert_uint_eq(exit_record_of(&told, &context).key.flags, LEDGER_OF_SELF);
        place->until_ns = BEGAN;
        ck_assert_uint_eq(exit_record_of(&told, &context).key.flags, 0);
        *place = (LedgerOwnPlace){ LEADER + LEDGER_OWN_HOMES, 1, LEDGER_OWN_FOR_EVER };
        ck_assert_uint_eq(exit_record_of(&told, &context).key.flags, 0);
}
END_TEST

/* Everybody can take the name of the client. */
START_TEST(a_name_makes_nobody_ours) {
        TaskstatsExit message = read_message("exit-process");
        TaskstatsExit told = thread_of(&message, LEADER, LEADER, "ctprofctl");
        _cleanup_(exit_ledger_freep) ExitLedger *ledger = make(-EBADF, 8);
        const LedgerRow *row;

        take(ledger, &told, true);
        row = find(ledger, "ctprofctl", "ctprofctl");
        ck_assert_ptr_nonnull(row);
        ck_assert_uint_eq(row->key.flags, 0);
}
END_TEST

START_TEST(who_was_born_before_the_last_telling_is_not_young) {
        TaskstatsExit told = read_message("exit-process");
        uint64_t life_ns = UINT64_C(372185000);
        ExitContext context = { .now_ns = BEGAN, .begun_ns = BEGAN - life_ns };
        ExitRecord record = exit_record_of(&told, &context);

        ck_assert_uint_eq(record.values.young, 1);
        ck_assert_uint_eq(record.values.young_run_ns, record.values.sums[LEDGER_run_time_ns]);
        context.begun_ns++;
        record = exit_record_of(&told, &context);
        ck_assert_uint_eq(record.values.young, 0);
        ck_assert_uint_eq(record.values.young_run_ns, 0);
}
END_TEST

/* the table */

static void add(ExitTable *table, uint32_t owner, const char *name, uint64_t now_ns) {
        LedgerKey key = { .owner = owner };

        memcpy(key.process, name, strlen(name));
        exit_table_add(table, &key,
                       &(LedgerValues){ .exits = 1, .lives_ns = 10, .grew_ns = now_ns });
}

/* As many names as there are numbers, without any digit. */
static void add_many(ExitTable *table, uint32_t owner, unsigned n, uint64_t now_ns) {
        for (unsigned i = 0; i < n; i++) {
                char name[TASK_COMM_BYTES] = "aaaa-";

                for (unsigned k = 0, left = i; k < 4; k++, left /= 26)
                        name[k] = (char) ('a' + left % 26);
                add(table, owner, name, now_ns);
        }
}

static uint64_t count_exits(const ExitTable *table, uint32_t owner) {
        uint64_t exits = 0;

        for (size_t i = 0; i < table->n_rows; i++)
                if (table->rows[i].key.owner == owner)
                        exits += table->rows[i].values.exits;
        return exits;
}

static size_t count_named(const ExitTable *table, uint32_t owner) {
        size_t n = 0;

        for (size_t i = 0; i < table->n_rows; i++)
                n += table->rows[i].key.owner == owner && table->rows[i].key.flags == 0;
        return n;
}

static uint64_t count_overflow(const ExitTable *table, uint32_t owner) {
        uint64_t n = 0;

        for (size_t i = 0; i < table->n_rows; i++)
                if (table->rows[i].key.owner == owner)
                        n += table->rows[i].values.n_overflow;
        return n;
}

/* Shares are an eighth, and root's is a half; the last quarter is for who has little. */
START_TEST(who_fills_the_table_fills_it_for_nobody_else) {
        ExitTable table;

        ck_assert_int_eq(exit_table_init(&table, 512), 0);
        add_many(&table, 60001, 1000, 1);
        ck_assert_uint_eq(count_named(&table, 60001), 64);
        ck_assert_uint_eq(count_exits(&table, 60001), 1000);
        ck_assert_uint_eq(count_overflow(&table, 60001), 1000 - 64);
        add_many(&table, 0, 1000, 1);
        ck_assert_uint_eq(count_named(&table, 0), 256);
        for (uint32_t uid = 60002; uid < 60005; uid++)
                add_many(&table, uid, 1000, 1);
        add_many(&table, 1000, 30, 1);
        ck_assert_uint_eq(count_named(&table, 1000), 30);
        ck_assert_uint_eq(count_overflow(&table, 1000), 0);
        ck_assert_uint_le(table.n_counted, 512);
        exit_table_done(&table);
}
END_TEST

START_TEST(a_table_recovers_from_a_storm) {
        const uint64_t second = NSEC_PER_SEC, hour = 3600 * second;
        ExitTable table;

        ck_assert_int_eq(exit_table_init(&table, EXIT_TABLE_MAX_ROWS), 0);
        table.tidied_ns = second;
        add_many(&table, 1000, 64, second);
        add_many(&table, 60001, 30000, 2 * second);
        ck_assert_uint_eq(count_named(&table, 60001), EXIT_TABLE_MAX_ROWS / 8);
        exit_table_tidy(&table, 3 * second);
        ck_assert_uint_lt(count_named(&table, 60001), EXIT_TABLE_MAX_ROWS / 16);
        ck_assert_uint_eq(count_named(&table, 1000), 64);
        ck_assert_uint_eq(count_exits(&table, 60001), 30000);

        /* New names have rows again, and what has a row is found. */
        add(&table, 60001, "zzzz", 4 * second);
        add(&table, 60001, "zzzz", 4 * second);
        add_many(&table, 1000, 64, 4 * second);
        ck_assert_uint_eq(count_named(&table, 1000), 64);
        ck_assert_uint_eq(count_exits(&table, 1000), 128);
        ck_assert_uint_eq(count_overflow(&table, 60001), 30000 - EXIT_TABLE_MAX_ROWS / 8);

        /* An hour later. */
        exit_table_tidy(&table, 5 * second + hour);
        ck_assert_uint_le(count_named(&table, 60001), EXIT_TABLE_MAX_ROWS / 64);
        ck_assert_uint_eq(count_named(&table, 1000), 64);
        ck_assert_uint_eq(count_exits(&table, 60001), 30002);
        exit_table_done(&table);
}
END_TEST

START_TEST(owners_beyond_the_bound_share_a_row) {
        uint64_t exits = 0;
        ExitTable table;

        _Static_assert(EXIT_TABLE_MAX_ROWS + LEDGER_OVERFLOW_ROWS / 2 <= LEDGER_FILE_MAX_ROWS,
                       "a full table can be told");
        ck_assert_int_eq(exit_table_init(&table, 64), 0);
        for (uint32_t uid = 5000; uid < 5000 + LEDGER_MAX_OWNERS + 50; uid++)
                add(&table, uid, "one", 1);
        add(&table, 5000 + LEDGER_MAX_OWNERS + 7, "two", 1);
        ck_assert_uint_gt(count_overflow(&table, LEDGER_OTHERS), 0);
        ck_assert_uint_le(table.n_rows, 64 + LEDGER_MAX_OWNERS + 1);
        for (size_t i = 0; i < table.n_rows; i++)
                exits += table.rows[i].values.exits;
        ck_assert_uint_eq(exits, LEDGER_MAX_OWNERS + 51);
        exit_table_done(&table);
}
END_TEST

START_TEST(subordinate_uids_belong_to_whom_they_were_lent) {
        static const char subuid[] = "alice:100000:65536\n1002:165536:65536\nnobody-known:1:2\n"
                                     "broken\nalice:x:1\nbob:231072:65536",
                          passwd[] = "root:x:0:0:root:/root:/bin/sh\nalice:x:1001:1001::/:/bin/sh\n"
                                     "bob:x:1003:1003::/:/bin/sh\n";
        static const struct {
                uint32_t uid, owner;
        } all[] = {
                { 0, 0 },         { 1, 1 },         { 1001, 1001 },     { 99999, 99999 },
                { 100000, 1001 }, { 165535, 1001 }, { 165536, 1002 },   { 231071, 1002 },
                { 231072, 1003 }, { 296607, 1003 }, { 296608, 296608 }, { UINT32_MAX, UINT32_MAX },
        };
        Subordinates subordinates = {};

        ck_assert_int_eq(
                subordinates_parse(&subordinates, SPAN_LITERAL(subuid), SPAN_LITERAL(passwd)), 0);
        for (size_t i = 0; i < ELEMENTSOF(all); i++)
                ck_assert_uint_eq(subordinates_find_owner(&subordinates, all[i].uid), all[i].owner);
        subordinates_done(&subordinates);
}
END_TEST

START_TEST(a_message_is_charged_to_its_uid) {
        TaskstatsExit told = read_message("exit-process");
        Subordinates held = {};
        ExitContext context = { .now_ns = BEGAN, .subordinates = &held };
        uint64_t uid;

        ck_assert(taskstats_get(&told.stats, TASKSTATS_UID, &uid));
        ck_assert_uint_eq(exit_record_of(&told, &context).key.owner, uid);
        ck_assert_int_eq(subordinates_parse(&held, SPAN_LITERAL("4321:0:4000000000"), (Span){}), 0);
        ck_assert_uint_eq(exit_record_of(&told, &context).key.owner, 4321);
        ck_assert_uint_eq(exit_record_of(&told, &context).values.grew_ns, BEGAN);
        subordinates_done(&held);
}
END_TEST

START_TEST(what_is_told_is_the_ledger_with_its_losses) {
        TaskstatsExit told = read_message("exit-process");
        ExitLedger *ledger = make(-EBADF, 64), *other = make(-EBADF, 64);
        ExitBatch *batch = calloc(1, sizeof(*batch));
        LedgerFile *files[3];
        int fd;

        ck_assert_ptr_nonnull(batch);
        *batch = (ExitBatch){ .n_unreadable = 2, .has_lost = true, .is_empty = true };
        exit_ledger_take(ledger, batch, BEGAN);
        free(batch);
        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                take(ledger, &told, true);
                ck_assert_int_eq(exit_ledger_tell(i < 2 ? ledger : other, BEGAN, &fd), 0);
                ck_assert_int_eq(ledger_file_open(fd, &files[i]), 0);
                (void) fd_close(fd);
        }
        for (size_t i = 0; i < 2; i++) {
                const LedgerFileHead *head = files[i]->head;

                ck_assert_uint_eq(head->origin, LEDGER_FROM_TASKSTATS);
                ck_assert_uint_eq(head->since_ns, BEGAN);
                ck_assert_uint_eq(head->n_losses, 3);
                ck_assert_uint_eq(LEDGER_CAPTURES(head->generation), i + 1);
                ck_assert_uint_eq(files[i]->rows[1].row.values.exits, i + 1);
        }
        ck_assert_mem_eq(files[0]->head->id, files[1]->head->id, 16);
        ck_assert_mem_ne(files[0]->head->id, files[2]->head->id, 16);
        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                (void) ledger_file_free(files[i]);
        (void) exit_ledger_free(ledger);
        (void) exit_ledger_free(other);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("exit-ledger");
        TCase *rows = tcase_create("rows");
        TCase *names = tcase_create("names");
        TCase *table = tcase_create("table");

        tcase_add_test(rows, a_message_of_a_real_kernel_becomes_a_row);
        tcase_add_test(rows, a_kernel_that_counts_little_has_little);
        tcase_add_loop_test(rows, threads_of_the_kernel_and_of_ctprof_are_known, 0,
                            ELEMENTSOF(owner_rows));
        tcase_add_test(rows, a_caller_is_known_by_its_number);
        tcase_add_test(rows, a_name_makes_nobody_ours);
        tcase_add_test(rows, who_was_born_before_the_last_telling_is_not_young);
        tcase_add_test(names, a_thread_gets_the_name_of_its_process_from_a_later_message);
        tcase_add_test(names, a_thread_gets_the_name_of_its_process_from_an_earlier_message);
        tcase_add_test(names, a_thread_gets_the_name_that_proc_has);
        tcase_add_test(names, a_name_that_nobody_knows_is_said_to_be_unknown);
        tcase_add_test(names, a_name_is_remembered_for_a_moment);
        tcase_add_test(names, a_thread_that_waits_is_told_all_the_same);
        tcase_add_test(table, who_fills_the_table_fills_it_for_nobody_else);
        tcase_add_test(table, a_table_recovers_from_a_storm);
        tcase_add_test(table, owners_beyond_the_bound_share_a_row);
        tcase_add_test(table, subordinate_uids_belong_to_whom_they_were_lent);
        tcase_add_test(table, a_message_is_charged_to_its_uid);
        tcase_add_test(table, what_is_told_is_the_ledger_with_its_losses);
        suite_add_tcase(suite, rows);
        suite_add_tcase(suite, names);
        suite_add_tcase(suite, table);
        return check_main(suite);
}
