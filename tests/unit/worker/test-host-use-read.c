/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>
#include <string.h>

#include "analysis/subject/host-view.h"

#define NONE UINT64_MAX /* not known */

static HostTotals before, after;

static void setup(void) {
        before = after = (HostTotals){ .user_hz = 100 };
}

static void teardown(void) {
        host_totals_done(&before);
        host_totals_done(&after);
}

static void scan(HostTotals *totals, HostPartId part, const char *json) {
        char complaint[HOST_COMPLAINT_BYTES] = "";
        int r = host_totals_scan(totals, part, span_of(json), complaint);

        ck_assert_msg(r == 0, "%s", complaint);
}

/* One second has 100 ticks; two CPUs are online. */
static void scan_host(HostTotals *totals, unsigned ticks, unsigned sectors, unsigned dirty_kib) {
        char text[512];

        (void) snprintf(text, sizeof(text),
                        "{\"columns\":[\"cpu\",\"user_clock_ticks\",\"nice_clock_ticks\","
                        "\"system_clock_ticks\",\"idle_clock_ticks\",\"irq_clock_ticks\","
                        "\"softirq_clock_ticks\",\"steal_clock_ticks\"],"
                        "\"rows\":[[\"all\",%u,1,2,5000,3,4,900],[\"0\",%u,1,2,2000,3,4,900],"
                        "[\"1\",0,0,0,3000,0,0,0]]}",
                        ticks, ticks);
        scan(totals, HOST_PART_CPU, text);
        (void) snprintf(text, sizeof(text),
                        "{\"columns\":[\"disk\",\"kind\",\"read_sectors\",\"written_sectors\"],"
                        "\"rows\":[[\"sda\",\"disk\",10,%u],[\"sda1\",\"partition\",10,%u],"
                        "[\"dm-0\",\"stacked\",10,%u]]}",
                        sectors, sectors, sectors);
        scan(totals, HOST_PART_DISK, text);
        (void) snprintf(text, sizeof(text), "{\"levels_kib\":{\"Dirty\":%u,\"Writeback\":7}}",
                        dirty_kib);
        scan(totals, HOST_PART_MEMORY, text);
}

static HostUse use_between(void) {
        HostTotals difference;
        HostUse use;

        ck_assert_int_eq(host_totals_difference(&before, &after, &difference), 0);
        use = host_use_of(&before, &after, &difference);
        host_totals_done(&difference);
        return use;
}

static void check_amount(const char *what, Amount amount, uint64_t wanted) {
        ck_assert_msg(amount.known == (wanted != NONE), "%s", what);
        if (wanted != NONE)
                ck_assert_msg(amount.n == wanted, "%s: %llu", what, (unsigned long long) amount.n);
}

static void check(const HostUse *use, const uint64_t wanted[static 5]) {
        check_amount("CPUs", use->n_cpus, wanted[0]);
        check_amount("used", use->cpu_used_ns, wanted[1]);
        check_amount("read", use->disk_read_bytes, wanted[2]);
        check_amount("written", use->disk_written_bytes, wanted[3]);
        check_amount("dirty", use->dirty_growth_bytes, wanted[4]);
}

START_TEST(since_the_boot_all_counts) {
        HostUse use;

        scan_host(&after, 90, 40, 3);
        use = host_use_of(NULL, &after, NULL);
        /* 90 + 1 + 2 + 3 + 4 ticks; sectors of 512 bytes of whole disks; 3 + 7 KiB. */
        check(&use, (uint64_t[]){ 2, 1000000000, 5120, 20480, 10240 });
}
END_TEST

START_TEST(between_two_snapshots_differences_count) {
        HostUse use;

        scan_host(&before, 90, 40, 3);
        scan_host(&after, 140, 50, 5);
        use = use_between();
        check(&use, (uint64_t[]){ 2, 500000000, 0, 5120, 2048 });
}
END_TEST

START_TEST(memory_that_was_written_back_did_not_grow) {
        HostUse use;

        scan_host(&before, 90, 40, 300);
        scan_host(&after, 90, 40, 5);
        use = use_between();
        check(&use, (uint64_t[]){ 2, 0, 0, 0, 0 });
}
END_TEST

START_TEST(what_one_side_lacks_is_not_known) {
        const uint64_t nothing[] = { NONE, NONE, NONE, NONE, NONE };
        HostUse use = host_use_of(NULL, &after, NULL);

        check(&use, nothing);
        scan_host(&after, 140, 50, 5);
        use = use_between();
        check(&use, (uint64_t[]){ 2, NONE, NONE, NONE, NONE });
}
END_TEST

/* A file of an earlier version: its host context alone. */
START_TEST(the_context_tells_the_number_of_cpus) {
        static const struct {
                const char *json;
                uint64_t n;
        } rows[] = {
                { "{\"online_cpus\":12,\"a\":1}", 12 },
                { "{\"online_cpus\":0}", NONE },
                { "{\"online_cpus\":null}", NONE },
                { "{\"online_cpus\":\"many\"}", NONE },
                { "{\"a\":{\"online_cpus\":3}}", NONE },
                { "[]", NONE },
                { "", NONE },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                Subject subject, *culprit;
                HostUse use;

                subject_init(&subject);
                buffer_append(&subject.host, rows[i].json, strlen(rows[i].json));
                ck_assert_int_eq(subject_host_use(NULL, &subject, &culprit, &use, NULL), 0);
                check_amount(rows[i].json, use.n_cpus, rows[i].n);
                check_amount("used", use.cpu_used_ns, NONE);
                subject_done(&subject);
        }
}
END_TEST

START_TEST(a_part_that_no_capture_writes_is_refused) {
        Subject earlier, later, *culprit = NULL;
        HostUse use;

        subject_init(&earlier);
        subject_init(&later);
        buffer_append(&earlier.host_parts[HOST_PART_DISK], "7", 1);
        ck_assert_int_eq(subject_host_use(&earlier, &later, &culprit, &use, NULL),
                         SUBJECT_E_UNREADABLE);
        ck_assert_ptr_eq(culprit, &earlier);
        subject_done(&earlier);
        subject_done(&later);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("host-use-read");
        TCase *totals = tcase_create("totals"), *subjects = tcase_create("subjects");

        tcase_add_checked_fixture(totals, setup, teardown);
        tcase_add_test(totals, since_the_boot_all_counts);
        tcase_add_test(totals, between_two_snapshots_differences_count);
        tcase_add_test(totals, memory_that_was_written_back_did_not_grow);
        tcase_add_test(totals, what_one_side_lacks_is_not_known);
        suite_add_tcase(suite, totals);
        tcase_add_test(subjects, the_context_tells_the_number_of_cpus);
        tcase_add_test(subjects, a_part_that_no_capture_writes_is_refused);
        suite_add_tcase(suite, subjects);
        return check_main(suite);
}
