/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <string.h>

#include "check-main.h"
#include "ctl-answers.h"

/* list */

static const Exchange listed[] = { { REPLIES("{\"parameters\":{\"snapshots\":[" HEAD(
        "newest") "," HEAD("a-name") "],"
                                     "\"unreadable\":[{\"name\":\"bad\",\"ok\":false,"
                                     "\"error\":\"Its head is cut off.\","
                                     "\"offset\":null}]}}") } };

START_TEST(list_is_a_table) {
        begin(listed, 1);
        CTL_RUN(&ctl, "list", "--since", "2026-11-20", "--until", "2026-11-21 00:00");
        ck_assert_str_eq(ctl.err, "\"bad\" cannot be read: Its head is cut off.\n");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "NAME"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "newest"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "a-name"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "2026-11-20 15:35:01"));
        ck_assert_ptr_nonnull(strstr(ctl.out, " h    6.1        213        98 48.126KiB root\n"));
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"sinceRealtimeNs\":1795132800000000000,"
                                                "\"untilRealtimeNs\":1795219200000000000"));
        end();
}
END_TEST

static const Exchange with_imports[] = {
        { REPLIES("{\"parameters\":{\"snapshots\":["
                  "{\"name\":\"future\",\"startRealtimeNs\":9214646400000000000,"
                  "\"importedFrom\":{\"hostName\":\"far\"}},"
                  "{\"name\":\"bare\",\"importedFrom\":{}}," HEAD("ours") "]}}") },
        { REPLIES("{\"parameters\":{\"snapshots\":[]}}") },
};

/* A long list comes in several replies. */
START_TEST(a_list_in_parts_is_one_list) {
        static const Exchange parts[] = {
                { REPLIES("{\"parameters\":{\"snapshots\":[" HEAD(
                        "c") "],\"unreadable\":[]},"
                             "\"continues\":true}\0"
                             "{\"parameters\":{\"snapshots\":[" HEAD("b") "," HEAD(
                                     "a") "],"
                                          "\"unreadable\":[]}}") },
        };

        begin(parts, 1);
        CTL_RUN(&ctl, "list", "-j");
        expect(0, "{\"snapshots\":[" HEAD("c") "," HEAD("b") "," HEAD("a") "]}\n", "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"more\":true"));
        end();
}
END_TEST

START_TEST(list_marks_what_was_imported) {
        begin(with_imports, 1);
        CTL_RUN(&ctl, "list");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "future 2262-"));
        ck_assert_ptr_nonnull(strstr(ctl.out, " imported "));
        ck_assert_ptr_nonnull(strstr(ctl.out, "bare   imported "));
        ck_assert_ptr_nonnull(strstr(ctl.out, "ours   2026-11-20 15:35:01  "));
        end();
}
END_TEST

static const Exchange with_recording[] = { { REPLIES(
        "{\"parameters\":{\"snapshots\":[{\"name\":\"r\",\"fileKind\":\"recording\"},"
        "{\"name\":\"s\",\"fileKind\":\"snapshot\"},{\"name\":\"older\"}]}}") } };

START_TEST(list_tells_kinds_where_there_are_two) {
        begin(with_recording, 1);
        CTL_RUN(&ctl, "list");
        ck_assert_msg(strstr(ctl.out, "NAME  KIND      CAPTURED ") == ctl.out, "%s", ctl.out);
        ck_assert_ptr_nonnull(strstr(ctl.out, "\nr     recording - "));
        ck_assert_ptr_nonnull(strstr(ctl.out, "\ns     snapshot  - "));
        ck_assert_ptr_nonnull(strstr(ctl.out, "\nolder snapshot  - "));
        end();
        begin(listed, 1);
        CTL_RUN(&ctl, "list");
        ck_assert_ptr_null(strstr(ctl.out, "KIND"));
        end();
}
END_TEST

START_TEST(an_import_is_never_the_latest) {
        begin(with_imports, 2);
        CTL_RUN(&ctl, "remove", "latest");
        expect(0, "removed ours\n", "");
        end();
        begin(with_imports, 1);
        CTL_RUN(&ctl, "remove", "latest~1");
        expect(1, "", "There is no snapshot \"latest~1\": the spool has 1 beside imported ones.\n");
        end();
}
END_TEST

START_TEST(list_json_is_the_contract) {
        begin(listed, 1);
        CTL_RUN(&ctl, "list", "-j");
        expect(0, "{\"snapshots\":[" HEAD("newest") "," HEAD("a-name") "]}\n",
               "\"bad\" cannot be read: Its head is cut off.\n");
        end();
}
END_TEST

/* Where each reply has the names of snapshots; %s stands for one. */
static const struct {
        const char *words[4];
        const char *reply;
} named[] = {
        { { "list" }, "{\"snapshots\":[{\"name\":\"good\"},{\"name\":%s}],\"unreadable\":[]}" },
        { { "list", "-j" }, "{\"snapshots\":[{\"name\":%s}]}" },
        { { "list" }, "{\"snapshots\":[],\"unreadable\":[{\"name\":%s,\"error\":\"e\"}]}" },
        { { "remove", "latest" }, "{\"snapshots\":[{\"name\":%s}]}" },
        { { "remove", "a" }, "{\"snapshots\":[{\"name\":%s}]}" },
        { { "rename", "a", "b" }, "{\"snapshots\":[],\"oldName\":%s}" },
        { { "compare", "--before=*", "--after=a" }, "{\"snapshots\":[{\"name\":%s}]}" },
        { { "capture" }, "{\"snapshot\":{\"name\":%s}}" },
        { { "capture", "-j" }, "{\"snapshot\":{\"name\":\"a\"},\"rotated\":[\"b\",%s]}" },
        { { "capture", "-j" }, "{\"snapshot\":{},\"replaced\":{\"name\":%s}}" },
        { { "run", "--", "true" }, "{\"snapshot\":{\"name\":%s}}" },
        { { "run", "--tag=t", "--", "true" }, "{\"snapshots\":[{\"name\":%s}]}" },
        { { "info", "a" }, "{\"snapshot\":{\"name\":%s}}" },
        { { "export", "a" }, "{\"snapshot\":{\"name\":%s},\"fileDescriptor\":0}" },
        { { "verify", "--all" }, "{\"results\":[{\"name\":%s,\"ok\":true}]}" },
        { { "show", "a" }, "{\"snapshot\":{\"name\":%s}}" },
        { { "compare", "a", "b" }, "{\"before\":{\"name\":\"a\"},\"after\":{\"name\":%s}}" },
        { { "compare", "--before=a,b", "--after=c" }, "{\"before\":[{\"name\":%s}]}" },
};

START_TEST(a_name_that_is_none_is_refused_wherever_it_stands) {
        static const char *const names[][2] = {
                { "\"$(touch run)\"",
                  "\"$(touch run)\" in it has a character other than A-Z a-z 0-9 . _ -.\n" },
                { "\"-rf\"", "\"-rf\" in it starts with a dash.\n" },
                { "\"e\\u001b[31m\"",
                  "\"e\\x1b[31m\" in it has a character other than A-Z a-z 0-9 . _ -.\n" },
                { "\"latest\"", "\"latest\" in it is reserved for the newest snapshot.\n" },
                { "[5]", "\"?\" in it is not a text.\n" },
                { "true", "\"?\" in it is not a text.\n" },
        };
        static const char start[] = "The reply of ctprofd is not used: the snapshot name ";

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                char parameters[512], frame[sizeof(parameters) + 32];
                Exchange exchange = { .replies = frame };

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
                (void) snprintf(parameters, sizeof(parameters), named[_i].reply, names[i][0]);
#pragma GCC diagnostic pop
                (void) snprintf(frame, sizeof(frame), "{\"parameters\":%s}", parameters);
                exchange.n_replies = strlen(frame) + 1;
                begin(&exchange, 1);
                ctl_run(&ctl, named[_i].words);
                ck_assert_int_eq(ctl.status, 1);
                ck_assert_str_eq(ctl.out, "");
                ck_assert_msg(strncmp(ctl.err, start, strlen(start)) == 0, "%s", ctl.err);
                ck_assert_str_eq(ctl.err + strlen(start), names[i][1]);
                end();
        }
}
END_TEST

START_TEST(a_name_that_is_not_there_matches_no_glob) {
        begin((const Exchange[]){ { REPLIES(
                      "{\"parameters\":{\"snapshots\":[{},{\"name\":null}]}}") } },
              1);
        CTL_RUN(&ctl, "compare", "--before=*", "--after=a");
        expect(1, "",
               "No snapshot of the spool has a name that matches \"*\": \"ctprofctl list\" shows "
               "all names.\n");
        end();
}
END_TEST

/* the small ones */

static const Exchange verified[] = { { REPLIES("{\"parameters\":{\"results\":[{\"name\":\"a\","
                                               "\"ok\":true,\"error\":null,\"offset\":null}]},"
                                               "\"continues\":true}\0"
                                               "{\"parameters\":{\"results\":[{\"name\":\"b\","
                                               "\"ok\":false,\"error\":\"the digest differs\","
                                               "\"offset\":512}]}}") } };

START_TEST(verify_says_what_and_where) {
        begin(verified, 1);
        CTL_RUN(&ctl, "verify", "--all");
        expect(1, "a: ok\nb: damaged at byte 512: the digest differs\n",
               "1 of 2 snapshots is damaged.\n");
        CTL_RUN(&ctl, "verify", "--all", "--json");
        expect(1,
               "{\"results\":[{\"name\":\"a\",\"ok\":true,\"error\":null,\"offset\":null},"
               "{\"name\":\"b\",\"ok\":false,\"error\":\"the digest differs\",\"offset\":512}]}\n",
               "1 of 2 snapshots is damaged.\n");
        end();
}
END_TEST

static const Exchange one_missing[] = {
        { REPLIES("{\"error\":\"io.ctprof.Profiler.NoSuchSnapshot\",\"parameters\":"
                  "{\"name\":\"nosuch\"}}") },
        { REPLIES("{\"parameters\":{\"results\":[{\"name\":\"a\",\"ok\":true,\"error\":null,"
                  "\"offset\":null}]}}") },
};

START_TEST(verify_goes_on_behind_what_is_not_there) {
        begin(one_missing, 2);
        CTL_RUN(&ctl, "verify", "nosuch", "nofile.zst", "a");
        expect(1, "a: ok\n",
               "There is no snapshot \"nosuch\": \"ctprofctl list\" shows all names.\n"
               "\"nofile.zst\" cannot be opened: No such file or directory.\n");
        CTL_RUN(&ctl, "verify", "nosuch", "a", "--json");
        expect(1,
               "{\"results\":[{\"name\":\"nosuch\",\"ok\":false,\"error\":\"it cannot be "
               "opened\"},"
               "{\"name\":\"a\",\"ok\":true,\"error\":null,\"offset\":null}]}\n",
               "There is no snapshot \"nosuch\": \"ctprofctl list\" shows all names.\n");
        end();
}
END_TEST

START_TEST(verify_stops_where_nobody_answers) {
        begin(NULL, 0);
        CTL_RUN(&ctl, "verify", "a", "b", "--socket", "none");
        ck_assert_int_eq(ctl.status, 1);
        ck_assert_ptr_null(strchr(strchr(ctl.err, '\n') + 1, '\n'));
        end();
}
END_TEST

START_TEST(remove_looks_latest_up_once) {
        begin((const Exchange[]){ { REPLIES("{\"parameters\":{\"snapshots\":[" HEAD(
                                          "newest") "]}}") },
                                  { REPLIES("{\"parameters\":{\"snapshots\":[]}}") } },
              2);
        CTL_RUN(&ctl, "remove", "old", "latest");
        expect(0, "removed old\nremoved newest\n", "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"names\":[\"old\",\"newest\"]"));
        CTL_RUN(&ctl, "remove", "latest~1");
        expect(1, "", "There is no snapshot \"latest~1\": the spool has 1.\n");
        CTL_RUN(&ctl, "remove", "./f");
        expect(2, "", "\"./f\" is a file, and remove is for snapshots of the spool.\n");
        end();
}
END_TEST

START_TEST(rename_checks_the_new_name_first) {
        begin((const Exchange[]){ { REPLIES("{\"parameters\":{\"snapshots\":[" HEAD("n") "]}}") } },
              1);
        CTL_RUN(&ctl, "rename", "o", "n");
        expect(0, "renamed o to n\n", "");
        CTL_RUN(&ctl, "rename", "o", "latest");
        expect(2, "", "The new name \"latest\" is reserved for the newest snapshot.\n");
        ck_assert_str_eq(ctl.asked, "");
        end();
}
END_TEST

static const Exchange exported[] = { {
        REPLIES("{\"parameters\":{\"snapshot\":" HEAD("a") ",\"fileDescriptor\":0}}"),
        .file = "bytes",
} };

START_TEST(export_never_overwrites) {
        begin(exported, 1);
        CTL_RUN(&ctl, "export", "latest");
        expect(0, "exported \"a\" to \"./a.ctprof.zst\"\n", "");
        CTL_RUN(&ctl, "export", "latest");
        expect(1, "",
               "\"./a.ctprof.zst\" exists, and export never overwrites a file: remove it or "
               "name another file.\n");
        CTL_RUN(&ctl, "export", "a", "a.ctprof.zst");
        ck_assert_int_eq(ctl.status, 1);
        ck_assert_str_eq(ctl.asked, ""); /* known before anything was asked for */
        CTL_RUN(&ctl, "export", "a", "-");
        expect(0, "bytes", "");
        CTL_RUN(&ctl, "export", "a", "--json", "--format", "ndjson");
        expect(0, "{\"snapshots\":[" HEAD("a") "]}\n", "");
        ck_assert_ptr_nonnull(strstr(ctl.asked, "\"format\":\"ndjson\""));
        end();
}
END_TEST

static const Exchange exported_nowhere[] = { {
        REPLIES("{\"parameters\":{\"snapshot\":{\"name\":\"../../x\"},\"fileDescriptor\":0}}"),
        .file = "bytes",
} };

START_TEST(a_name_from_the_daemon_is_no_path) {
        begin(exported_nowhere, 1);
        CTL_RUN(&ctl, "export", "a");
        expect(1, "",
               "The reply of ctprofd is not used: the snapshot name \"../../x\" in it starts with "
               "a "
               "dot.\n");
        end();
}
END_TEST

static const Exchange imported[] = { { REPLIES(
        "{\"parameters\":{\"snapshots\":[" HEAD("a") "]}}") } };

START_TEST(import_sends_the_file) {
        char path[TEMPORARY_PATH_BYTES];

        begin(imported, 1);
        (void) fclose(fopen(temporary_path(&ctl.temporary, "f.ctprof.zst", path), "we"));
        CTL_RUN(&ctl, "import", "f.ctprof.zst", "--tag", "t");
        expect(0, "imported \"a\": 213 threads of 98 processes\n", "");
        ck_assert_str_eq(ctl.asked, "{\"method\":\"io.ctprof.Profiler.Import\",\"parameters\":"
                                    "{\"fileDescriptor\":0,\"tag\":\"t\",\"label\":\"f\"},"
                                    "\"more\":true} +1\n");
        end();
}
END_TEST

START_TEST(import_asks_for_a_name_where_the_files_is_none) {
        char path[TEMPORARY_PATH_BYTES];

        begin(imported, 1);
        (void) fclose(fopen(temporary_path(&ctl.temporary, "a b.ctprof.zst", path), "we"));
        CTL_RUN(&ctl, "import", "a b.ctprof.zst");
        expect(2, "",
               "The file's name \"a b\" has a character other than A-Z a-z 0-9 . _ -: name the "
               "snapshot with --tag NAME.\n");
        ck_assert_str_eq(ctl.asked, "");
        CTL_RUN(&ctl, "import", "a b.ctprof.zst", "--tag=t");
        ck_assert_int_eq(ctl.status, 0);
        end();
}
END_TEST

static const Exchange informed[] = { { REPLIES("{\"parameters\":{\"snapshot\":" HEAD(
        "a") ",\"host\":{\"cpus\":4,\"tunables\":"
             "{\"kernel.x\":\"1\",\"none\":null}},\"sources\":" SOME_SOURCES "}}") } };

START_TEST(info_tells_all_there_is) {
        begin(informed, 1);
        CTL_RUN(&ctl, "info", "a");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "name          a\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "complete      no\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "took          52.301ms\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "io       partial      12    201"));
        ck_assert_ptr_nonnull(strstr(
                ctl.out, "jemalloc          this version does not read allocator counters\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "tunables.kernel.x  1\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "tunables.none      -\n"));
        end();
}
END_TEST

static const Exchange of_small[] = { { REPLIES(
        "{\"parameters\":{\"snapshot\":{\"name\":\"a\","
        "\"smapsMode\":\"small\",\"smapsMaxRssBytes\":"
        "268435456,\"smapsMaxProcesses\":64,\"heapRequested\":true},\"host\":null,"
        "\"sources\":" SOME_SOURCES "}}") } };

static const struct {
        Exchange exchanges[2];
        unsigned n;
} kind_rows[] = {
        { { { REPLIES("{\"parameters\":{\"snapshot\":{\"name\":\"a\",\"fileKind\":\"recording\"},"
                      "\"host\":null,\"sources\":[]}}") },
            { REPLIES("{\"parameters\":{\"recording\":{\"periodNs\":10000000,\"samples\":7,"
                      "\"lostRing\":2,\"lostBusy\":1,\"periodChanges\":3,\"endedBy\":\"bytes\","
                      "\"completeStacks\":5,\"cutStacks\":1}}}") } },
          2 },
        { { { REPLIES("{\"parameters\":{\"snapshot\":{\"name\":\"a\",\"fileKind\":\"snapshot\"},"
                      "\"host\":null,\"sources\":[]}}") } },
          1 },
};

START_TEST(info_tells_what_is_no_snapshot) {
        bool is_recording = kind_rows[_i].n > 1;

        begin(kind_rows[_i].exchanges, kind_rows[_i].n);
        CTL_RUN(&ctl, "info", "a");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_int_eq(strstr(ctl.out, "name          a\nkind          recording\n") != NULL,
                         is_recording);
        ck_assert_int_eq(strstr(ctl.out, "kind ") != NULL, is_recording);
        ck_assert_int_eq(strstr(ctl.out,
                                "recorded      samples of all threads, every 10ms, to which "
                                "it doubled in 3 steps\n"
                                "              ended early: RecordingBytes= of ctprofd.conf(5) has "
                                "no room for more\n") != NULL,
                         is_recording);
        ck_assert_int_eq(strstr(ctl.out, "stacks        7 samples, and 3 lost; of the stacks of "
                                         "programs 5 are whole and 1 are cut\n") != NULL,
                         is_recording);
        end();
}
END_TEST

START_TEST(info_tells_what_the_capture_was_asked_to_read) {
        begin(of_small, 1);
        CTL_RUN(&ctl, "info", "a");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "smaps of      small\nsmall up to   256.000MiB\n"
                                              "the largest   64\n"
                                              "heap wanted   yes\n"));
        end();
}
END_TEST

#define WITH_LEDGER(start, ledger)                                                         \
        "{\"parameters\":{\"snapshot\":{\"name\":\"a\"," start "\"startBoottimeNs\":"      \
        "7000000000000,\"ledgerId\":\"00112233445566778899aabbccddeeff\","                 \
        "\"ledgerSinceBoottimeNs\":3400000000000,\"waitsSinceBoottimeNs\":3401000000000}," \
        "\"ledger\":{\"generation\":9,\"exits\":1200,\"folded_rows\":4," ledger            \
        "},\"host\":null,\"sources\":" SOME_SOURCES "}}"

static const struct {
        Exchange exchange;
        const char *text;
} ledger_rows[] = {
        { { REPLIES(WITH_LEDGER("\"startRealtimeNs\":1795255200000000000,",
                                "\"unfinished\":0,\"overflow_exits\":0,\"lost_marks\":0,"
                                "\"lost_records\":0")) },
          "ledger        1200 threads ended since 2026-11-21 09:00:00 UTC\n"
          "waits         counted since 2026-11-21 09:00:01 UTC\n" },
        { { REPLIES(WITH_LEDGER("", "\"unfinished\":1,\"overflow_exits\":2,\"lost_marks\":3,"
                                    "\"lost_records\":4,\"moved_lost\":5")) },
          "ledger        1200 threads ended since 3400.000s after the boot: 1 of them not "
          "finished yet, 2 without a row of their own, 3 without their last moments, 4 more in no "
          "row, 5 with earlier names that are not listed\n"
          "waits         counted since 3401.000s after the boot\n" },
};

START_TEST(info_tells_of_the_ledger) {
        begin(&ledger_rows[_i].exchange, 1);
        CTL_RUN(&ctl, "info", "a");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_msg(strstr(ctl.out, ledger_rows[_i].text) != NULL, "%s", ctl.out);
        end();
}
END_TEST

START_TEST(metric_list_has_no_legend_where_none_is_wanted) {
        begin(NULL, 0);
        CTL_RUN(&ctl, "metric-list");
        ck_assert_ptr_nonnull(strstr(ctl.out, "MEANING"));
        CTL_RUN(&ctl, "metric-list", "--no-legend");
        ck_assert_ptr_null(strstr(ctl.out, "rules: "));
        ck_assert_ptr_nonnull(strstr(ctl.out, "run_time_ns"));
        end();
}
END_TEST

static const Exchange status_of[] = { { REPLIES(
        "{\"parameters\":{\"daemon\":{\"version\":\"0.1.0\",\"uptimeNs\":61000000000,\"uid\":0,"
        "\"capabilities\":[\"cap_net_admin\"]},\"sources\":" SOME_SOURCES
        ",\"sample\":{\"threads\":3,\"processes\":1},\"ended\":{\"owners\":[{\"owner\":60001,"
        "\"folded_rows\":15,\"overflow_exits\":7,\"folded_grew_boottime_ns\":1},{\"owner\":null,"
        "\"folded_rows\":1,\"overflow_exits\":0,\"folded_grew_boottime_ns\":1}]},"
        "\"spool\":{\"path\":\"/"
        "s\",\"snapshots\":2,\"bytes\":2048,\"maxBytes\":1073741824,\"keepFreeBytes\":0,"
        "\"freeBytes\":4096,\"freeFiles\":70,\"keepFreeFiles\":7},"
        "\"jobs\":{\"running\":1,\"waiting\":0}}}") } };

START_TEST(status_tells_how_the_daemon_is) {
        begin(status_of, 1);
        CTL_RUN(&ctl, "status");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "ctprofd       0.1.0, up 1min 1.000s, uid 0\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "capabilities  cap_net_admin\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "spool         /s\n"));
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "2 snapshots, 2.000KiB of 1.000GiB used; nothing of"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "4.000KiB and 70 inodes are free there; 7 inodes"));
        ck_assert_ptr_nonnull(strstr(ctl.out,
                                     "jobs          1 running, 0 waiting\n"
                                     "names lost    uid 60001: 15 rows of ended threads were put "
                                     "together, 7 threads found none of their own\n"
                                     "              others: 1 rows of ended threads were put "
                                     "together, 0 threads found none of their own\n"
                                     "sources       tried on a sample, 3 threads of 1 process "
                                     "(ctprofd itself and process 1); a capture tries every "
                                     "thread\n\n"));
        end();
}
END_TEST

static const Exchange status_after_capture[] = { { REPLIES(
        "{\"parameters\":{\"daemon\":{\"version\":\"0.1.0\",\"uptimeNs\":1,\"uid\":0,"
        "\"capabilities\":[]},\"sources\":" SOME_SOURCES
        ",\"capture\":{\"name\":\"before\",\"startRealtimeNs\":1763652901000000000},"
        "\"sample\":null,\"spool\":{\"path\":\"/s\",\"snapshots\":2,\"bytes\":2048,"
        "\"maxBytes\":0,\"keepFreeBytes\":0,\"freeBytes\":4096,\"freeFiles\":70,"
        "\"keepFreeFiles\":7},\"jobs\":{\"running\":0,\"waiting\":0}}}") } };

START_TEST(status_names_the_capture_that_tells_of_sources) {
        begin(status_after_capture, 1);
        CTL_RUN(&ctl, "status");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "sources       as the last capture found them, before (20"));
        ck_assert_ptr_null(strstr(ctl.out, "sample"));
        end();
}
END_TEST

static const Exchange status_without_inodes[] = { { REPLIES(
        "{\"parameters\":{\"daemon\":{\"version\":\"0.1.0\",\"uptimeNs\":1,\"uid\":0,"
        "\"capabilities\":[]},\"sources\":[],\"spool\":{\"path\":\"/s\",\"snapshots\":0,"
        "\"bytes\":0,\"maxBytes\":0,\"keepFreeBytes\":0,\"freeBytes\":4096,\"freeFiles\":null,"
        "\"keepFreeFiles\":0},\"jobs\":{\"running\":0,\"waiting\":0}}}") } };

START_TEST(status_does_not_call_uncounted_inodes_none) {
        begin(status_without_inodes, 1);
        CTL_RUN(&ctl, "status");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "free there; it does not count inodes\n"));
        ck_assert_ptr_null(strstr(ctl.out, "sample"));
        end();
}
END_TEST

static const Exchange status_of_root[] = { { REPLIES(
        "{\"parameters\":{\"daemon\":{\"version\":\"0.1.0\",\"uptimeNs\":1,\"uid\":0,"
        "\"capabilities\":[\"cap_chown\",\"cap_net_admin\",\"cap_sys_ptrace\",\"cap_bpf\"]},"
        "\"sources\":[],\"spool\":{\"path\":\"/s\",\"snapshots\":null,\"bytes\":null,"
        "\"reason\":\"/s is not a directory\",\"maxBytes\":0,\"keepFreeBytes\":0},"
        "\"jobs\":{\"running\":0,\"waiting\":0}}}") } };

START_TEST(status_names_the_capabilities_that_matter) {
        begin(status_of_root, 1);
        CTL_RUN(&ctl, "status");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(
                strstr(ctl.out, "capabilities  cap_net_admin, cap_sys_ptrace, and 2 others\n"));
        end();
}
END_TEST

static const struct {
        const char *backend, *line;
} backend_rows[] = {
        { "{\"name\":\"bpf\",\"loadedRealtimeNs\":1795188901000000000,\"outdated\":0}",
          "backend       bpf, loaded 2026-11-20 15:35:01 UTC\n" },
        { "{\"name\":\"bpf\",\"outdated\":2}",
          "backend       bpf; 2 objects of another version of ctprofd were closed\n" },
        { "{\"name\":\"bpf\",\"outdated\":1}",
          "backend       bpf; 1 object of another version of ctprofd was closed\n" },
        { "{\"name\":\"procfs\",\"reason\":\"no \\u001b[31mBTF\",\"outdated\":0}",
          "backend       procfs (no \\x1b[31mBTF)\n" },
        { "{\"name\":\"procfs\",\"reason\":\"no\",\"loadedRealtimeNs\":5,\"outdated\":0}",
          "backend       procfs (no)\n" },
        { "{\"name\":null,\"reason\":\"later\",\"outdated\":0}", "backend       none (later)\n" },
};

START_TEST(status_tells_how_threads_are_read) {
        char text[512];
        Exchange exchange[] = { { .replies = text } };

        (void) snprintf(text, sizeof(text),
                        "{\"parameters\":{\"daemon\":{},\"backend\":%s,\"sources\":[]}}",
                        backend_rows[_i].backend);
        exchange[0].n_replies = strlen(text) + 1;
        begin(exchange, 1);
        CTL_RUN(&ctl, "status");
        ck_assert_msg(strstr(ctl.out, backend_rows[_i].line), "no %s in %s", backend_rows[_i].line,
                      ctl.out);
        end();
}
END_TEST

START_TEST(status_does_not_call_an_unusable_spool_empty) {
        begin(status_of_root, 1);
        CTL_RUN(&ctl, "status");
        ck_assert_ptr_nonnull(strstr(ctl.out, "/s is not a directory\n"));
        ck_assert_ptr_null(strstr(ctl.out, "0 snapshots"));
        end();
}
END_TEST

START_TEST(an_empty_list_says_how_to_begin) {
        static const Exchange nothing[] = { { REPLIES(
                "{\"parameters\":{\"snapshots\":[],\"unreadable\":[]}}") } };
        static const char header[] = "NAME CAPTURED AGE HOST KERNEL THREADS PROCESSES SIZE BY\n";

        begin(nothing, 1);
        CTL_RUN(&ctl, "list");
        expect(0, header,
               "The spool has no snapshots: begin with \"ctprofctl capture --tag before\".\n");
        end();
        begin(nothing, 1);
        CTL_RUN(&ctl, "list", "--since", "today");
        expect(0, header, "No snapshot of the spool is of that time.\n");
        end();
        begin(nothing, 1);
        CTL_RUN(&ctl, "list", "--quiet");
        expect(0, header, "");
        end();
        begin(nothing, 1);
        CTL_RUN(&ctl, "list", "-j");
        expect(0, "{\"snapshots\":[]}\n", "");
        end();
}
END_TEST

/* Half a year apart, where summer and winter time differ: no header could tell both. */
START_TEST(a_list_tells_the_zone_of_its_times) {
        static const Exchange seasons[] = { { REPLIES(
                "{\"parameters\":{\"snapshots\":["
                "{\"name\":\"w\",\"startRealtimeNs\":1795188901000000000},"
                "{\"name\":\"s\",\"startRealtimeNs\":1783942500000000000},"
                "{\"name\":\"unknown\"}]}}") } };

        begin(listed, 1);
        CTL_RUN(&ctl, "list");
        ck_assert_ptr_nonnull(strstr(ctl.out, "NAME   CAPTURED (UTC)  "));
        ck_assert_ptr_nonnull(strstr(ctl.out, " 2026-11-20 15:35:01 "));
        ck_assert_ptr_null(strstr(ctl.out, "15:35:01 UTC"));
        end();
        begin(listed, 1);
        CTL_RUN(&ctl, "list", "--no-legend");
        ck_assert_ptr_nonnull(strstr(ctl.out, " 2026-11-20 15:35:01 UTC "));
        end();
        begin(seasons, 1);
        ctl.zone = "CET-1CEST,M3.5.0,M10.5.0/3";
        CTL_RUN(&ctl, "list");
        ck_assert_ptr_nonnull(strstr(ctl.out, "NAME    CAPTURED  "));
        ck_assert_ptr_nonnull(strstr(ctl.out, " 2026-11-20 16:35:01 CET "));
        ck_assert_ptr_nonnull(strstr(ctl.out, " 2026-07-13 13:35:00 CEST "));
        end();
}
END_TEST

START_TEST(metric_list_takes_globs) {
        begin(NULL, 0);
        CTL_RUN(&ctl, "metric-list", "run_time_*", "avg_slice_ns");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "\nrun_time_ns "));
        ck_assert_ptr_nonnull(strstr(ctl.out, "\n\nderived from the values of a group\n"));
        ck_assert_ptr_nonnull(strstr(ctl.out, "\navg_slice_ns "));
        ck_assert_ptr_null(strstr(ctl.out, "wait_time_ns "));
        ck_assert_ptr_null(strstr(ctl.out, "MEANING"));
        CTL_RUN(&ctl, "metric-list", "avg_slice_ns");
        ck_assert_int_eq(strncmp(ctl.out, "derived from", strlen("derived from")), 0);
        CTL_RUN(&ctl, "metric-list", "run_time_ns");
        ck_assert_ptr_null(strstr(ctl.out, "derived from"));
        CTL_RUN(&ctl, "metric-list", "nice", "--json");
        ck_assert_ptr_nonnull(strstr(ctl.out, "{\"metrics\":[{\"name\":\"nice\","));
        ck_assert_ptr_nonnull(strstr(ctl.out, "}],\"derived\":[]"));
        ck_assert_ptr_null(strstr(ctl.out, "run_time_ns"));
        end();
}
END_TEST

START_TEST(metric_list_refuses_a_glob_that_matches_nothing) {
        begin(NULL, 0);
        CTL_RUN(&ctl, "metric-list", "nice", "foo*");
        expect(2, "",
               "No metric and no derived value has a name that matches \"foo*\": \"ctprofctl "
               "metric-list\" lists all.\n");
        CTL_RUN(&ctl, "metric-list", "[a");
        expect(2, "", "\"[a\" is not a glob: a [ in it is never closed.\n");
        end();
}
END_TEST

START_TEST(metric_list_needs_no_daemon) {
        begin(NULL, 0);
        CTL_RUN(&ctl, "metric-list");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "run_time_ns"));
        CTL_RUN(&ctl, "metric-list", "--json");
        ck_assert_int_eq(ctl.status, 0);
        ck_assert_ptr_nonnull(strstr(ctl.out, "{\"metrics\":[{\"name\":\"thread_count\","));
        ck_assert_str_eq(ctl.asked, "");
        end();
}
END_TEST

int main(void) {
        Suite *suite = suite_create("verb-spool");
        TCase *keep = tcase_create("keep");

        tcase_add_test(keep, list_is_a_table);
        tcase_add_test(keep, a_list_in_parts_is_one_list);
        tcase_add_test(keep, list_marks_what_was_imported);
        tcase_add_test(keep, list_tells_kinds_where_there_are_two);
        tcase_add_test(keep, an_import_is_never_the_latest);
        tcase_add_test(keep, list_json_is_the_contract);
        tcase_add_loop_test(keep, a_name_that_is_none_is_refused_wherever_it_stands, 0,
                            ELEMENTSOF(named));
        tcase_add_test(keep, a_name_that_is_not_there_matches_no_glob);
        tcase_add_test(keep, verify_says_what_and_where);
        tcase_add_test(keep, verify_goes_on_behind_what_is_not_there);
        tcase_add_test(keep, verify_stops_where_nobody_answers);
        tcase_add_test(keep, remove_looks_latest_up_once);
        tcase_add_test(keep, rename_checks_the_new_name_first);
        tcase_add_test(keep, export_never_overwrites);
        tcase_add_test(keep, a_name_from_the_daemon_is_no_path);
        tcase_add_test(keep, import_sends_the_file);
        tcase_add_test(keep, import_asks_for_a_name_where_the_files_is_none);
        tcase_add_test(keep, info_tells_all_there_is);
        tcase_add_loop_test(keep, info_tells_what_is_no_snapshot, 0, ELEMENTSOF(kind_rows));
        tcase_add_test(keep, info_tells_what_the_capture_was_asked_to_read);
        tcase_add_loop_test(keep, info_tells_of_the_ledger, 0, ELEMENTSOF(ledger_rows));
        tcase_add_test(keep, status_tells_how_the_daemon_is);
        tcase_add_test(keep, status_names_the_capture_that_tells_of_sources);
        tcase_add_test(keep, status_does_not_call_uncounted_inodes_none);
        tcase_add_test(keep, status_names_the_capabilities_that_matter);
        tcase_add_loop_test(keep, status_tells_how_threads_are_read, 0, ELEMENTSOF(backend_rows));
        tcase_add_test(keep, status_does_not_call_an_unusable_spool_empty);
        tcase_add_test(keep, an_empty_list_says_how_to_begin);
        tcase_add_test(keep, a_list_tells_the_zone_of_its_times);
        tcase_add_test(keep, metric_list_takes_globs);
        tcase_add_test(keep, metric_list_refuses_a_glob_that_matches_nothing);
        tcase_add_test(keep, metric_list_needs_no_daemon);
        tcase_add_test(keep, metric_list_has_no_legend_where_none_is_wanted);
        suite_add_tcase(suite, keep);
        return check_main(suite);
}
