/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <string.h>

#include "check-main.h"
#include "ctl-answers.h"

/* Threads of an interval in the form of denet. */

#define CSW(n) "\"metrics\":{\"voluntary_csw\":{\"work\":" n "},\"nonvoluntary_csw\":{\"work\":1}}"
#define TIME(lock)                                                         \
        "\"time\":{\"waitingNs\":1000000,\"storageNs\":0,\"blockedNs\":0," \
        "\"reasons\":{\"lock\":" lock ",\"poll\":0}}"
#define SHOWN(kind, groups)                                                         \
        REPLIES("{\"parameters\":{\"kind\":\"" kind "\",\"after\":{\"name\":\"r\"," \
                "\"endRealtimeNs\":1714000000000123456}},\"continues\":true}\0"     \
                "{\"parameters\":{\"groups\":[" groups "],\"hiddenRows\":0,\"hiddenGroups\":0}}")

/* The last two have no numbers, because they ended, and no reasons. */
static const Exchange interval[] = { { SHOWN(
        "interval", "{\"pid\":12,\"tid\":13," TIME("2000000") "," CSW(
                            "2") "},"
                                 "{\"pid\":12,\"tid\":12," TIME(
                                         "5000000") ",\"metrics\":{}},"
                                                    "{\"process\":\"gone\"," TIME("0") "," CSW(
                                                            "0") "},"
                                                                 "{\"pid\":14,\"tid\":14,\"time\":{"
                                                                 "\"waitingNs\":5,\"storageNs\":0,"
                                                                 "\"blockedNs\":0,"
                                                                 "\"reasons\":null}}") } };

START_TEST(threads_are_those_of_denet) {
        begin(interval, 1);
        CTL_RUN(&ctl, "export", "--format", "denet", "r", "-");
        expect(0,
               "{\"ts_ms\":1714000000000,\"ebpf\":{\"offcpu\":{\"total_time_ns\":10000000,"
               "\"total_events\":null,\"avg_time_ns\":null,\"max_time_ns\":null,"
               "\"min_time_ns\":null,\"top_blocking_threads\":["
               "{\"pid\":12,\"tid\":12,\"time_ms\":6,\"percentage\":60},"
               "{\"pid\":12,\"tid\":13,\"time_ms\":3,\"percentage\":30}],"
               "\"thread_stats\":{\"12:12\":{\"tid\":12,\"total_time_ns\":6000000,"
               "\"count\":null,\"avg_time_ns\":null,\"max_time_ns\":null,\"min_time_ns\":null},"
               "\"12:13\":{\"tid\":13,\"total_time_ns\":3000000,\"count\":3,"
               "\"avg_time_ns\":1000000,\"max_time_ns\":null,\"min_time_ns\":null}}}}}\n",
               "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"groupBy\":\"thread\""));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"limit\":0"));
        CTL_RUN(&ctl, "export", "--format", "denet", "r");
        expect(0, "exported \"r\" to \"./r.denet.json\"\n", "");
        end();
}
END_TEST

static const Exchange state[] = { { SHOWN("state", "") } };
static const Exchange without[] = { { SHOWN("interval", "{\"pid\":1,\"tid\":1}") } };

START_TEST(what_has_no_waits_is_refused) {
        begin(state, 1);
        CTL_RUN(&ctl, "export", "--format", "denet", "r", "-");
        expect(2, "",
               "\"r\" is a snapshot: --format denet is for an interval (A..B) or a recording.\n");
        end();
        begin(without, 1);
        CTL_RUN(&ctl, "export", "--format", "denet", "a..b", "-");
        expect(1, "",
               "What threads waited for is not known in \"a..b\": it is counted from a "
               "capture on (--reasons yes), and in a recording.\n");
        end();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("denet-export");
        TCase *threads = tcase_create("threads");

        tcase_add_test(threads, threads_are_those_of_denet);
        tcase_add_test(threads, what_has_no_waits_is_refused);
        suite_add_tcase(suite, threads);
        return check_main(suite);
}
