/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stack/stack-text.h"

#include <check.h>
#include <locale.h>
#include <string.h>

#include "check-main.h"
#include "stacks.h"

#define LOCK "\"start_thread\",\"work\",\"flush\",\"pthread_mutex_lock\",\"__lll_lock_wait\""

static const struct {
        const char *place, *frames, *leaves;
} leaf_rows[] = {
        /* who waits says more than how */
        { "lock", LOCK "," KERNEL("futex_wait"), "pthread_mutex_lock \u2190 flush \u2190 work" },
        { "run_queue", "\"main\",\"spin\",\"asm_sysvec_apic_timer_interrupt\",\"schedule\"",
          "spin \u2190 main" },
        /* what the kernel does, and for whom */
        { "running", "\"main\",\"save\",\"write\"," KERNEL("ext4_file_write_iter"),
          "ext4_file_write_iter \u2190 write \u2190 save" },
        { "storage", "\"a\",\"b\",\"c\"," KERNEL("folio_wait_bit"), "c \u2190 b \u2190 a" },
        { "running", "\"main\",\"f\",\"g\",\"h\"", "h \u2190 g \u2190 f" },
        /* functions of a program may have the kernel's names */
        { "running", "\"main\",\"schedule_jobs\"", "schedule_jobs \u2190 main" },
        /* threads of the kernel */
        { "idle", "\"ret_from_fork_asm\",\"ret_from_fork\",\"kthread\",\"a\",\"b\",\"schedule\"",
          "b \u2190 a" },
        /* better than nothing */
        { "sleep", "\"_start\"," KERNEL("futex_wait"), "_start" },
        { "idle", "\"ret_from_fork\",\"schedule\"", "schedule" },
        { "running", "\"[too short to be sampled]\"", "[too short to be sampled]" },
        { "running", "", "-" },
        { "running", "\"a\\u001b[2J\"", "a\\x1b[2J" },
};

START_TEST(three_functions_tell_what_a_stack_is_about) {
        _cleanup_(buffer_done) Buffer json = {}, cell = {};
        StackStore store = {};
        const char *text;

        buffer_append_format(&json, "[" STACK("p", "%s", "1", "%s") "]", leaf_rows[_i].place,
                             leaf_rows[_i].frames);
        ck_assert_int_eq(buffer_terminate(&json, &text), 0);
        fill(&store, text);
        ck_assert_int_eq(stack_append_leaves(&cell, &store, &store.rows[0], false), 0);
        ck_assert_int_eq(buffer_terminate(&cell, &text), 0);
        ck_assert_str_eq(text, leaf_rows[_i].leaves);
        stack_store_done(&store);
}
END_TEST

#define FIRST                                                                                   \
        "{\"recording\":{\"samples\":700,\"lostRing\":2,\"lostBusy\":1},\"places\":{\"sleep\":" \
        "800000000000,\"poll\":12000000000,\"child\":0,\"lock\":6000000000,\"running\":"        \
        "2000000000}}"
// clang-format off
#define STACKS                                                                                     \
        "[" STACK_OF("app", "worker", "lock", "6000000000", "0", "true",                           \
                     LOCK "," KERNEL("futex_wait")) ","                                            \
        STACK_OF("app", "app", "running", "1500000000", "30000000", "false",                       \
                 "\"start_thread\",\"work\",\"compute\"") ","                                      \
        STACK_OF("db", "db", "running", "500000000", "40000000", "false", "\"main\"") "]"
// clang-format on

static const struct {
        bool has_rest, is_chatty;
        uint64_t n_hidden;
        size_t columns; /* 0: a pipe */
        const char *text;
} list_rows[] = {
        { false, true, 12, 80,
          "stacks\n"
          "PROCESS    PLACE    TIME SHARE STACK\n"
          "app/worker lock    6.00s  75 % pthread_mutex_lock \u2190 flush \u2190 work\n"
          "app        running 1.50s  19 % compute \u2190 work\n"
          "db         running 500ms   6 % main\n"
          "waiting for work: 13min 32s in sleep, poll\n"
          "3 samples were lost, and 700 were taken\n"
          "12 more stacks (--stacks)\n" },
        { false, false, 1, 50,
          "stacks\n"
          "PROCESS    PLACE    TIME SHARE STACK\n"
          "app/worker lock    6.00s  75 % pthread_mutex_lock \u2026\n"
          "app        running 1.50s  19 % compute \u2190 work\n"
          "db         running 500ms   6 % main\n"
          "waiting for work: 13min 32s in sleep, poll\n"
          "3 samples were lost, and 700 were taken\n" },
        { true, true, 1, 0,
          "stacks\n"
          "PROCESS    PLACE    TIME SHARE STACK\n"
          "app/worker lock    6.00s   1 % pthread_mutex_lock \u2190 flush \u2190 work\n"
          "app        running 1.50s  <1 % compute \u2190 work\n"
          "db         running 500ms  <1 % main\n"
          "3 samples were lost, and 700 were taken\n"
          "1 more stack (--stacks)\n" },
};

START_TEST(the_heaviest_are_a_line_each) {
        const Terminal terminal = { .out = list_rows[_i].columns > 0,
                                    .columns = list_rows[_i].columns };
        StackText text = { .terminal = &terminal,
                           .firsts = { parsed(FIRST) },
                           .n_hidden = list_rows[_i].n_hidden,
                           .has_rest = list_rows[_i].has_rest,
                           .is_chatty = list_rows[_i].is_chatty };
        StackStore store = {};
        Written written;

        fill(&store, STACKS);
        written_begin(&written);
        text.out = written.file;
        ck_assert_int_eq(stack_text_print_list(&text, &store), 0);
        written_end(&written);
        ck_assert_str_eq(written.text, list_rows[_i].text);
        free(written.text);
        (void) json_object_put(text.firsts[0]);
        stack_store_done(&store);
}
END_TEST

static const struct {
        const char *reply, *label, *word, *text;
} gap_rows[] = {
        { "{\"recording\":{\"endedBy\":\"time\"}}", "recorded", "", "" },
        { "{\"recording\":{\"endedBy\":\"moon\"}}", "recorded", "", "" },
        { "{}", "", "", "" },
        { "{\"recording\":{\"endedBy\":\"bytes\"}}", "recorded", "",
          "recorded    ended early: RecordingBytes= of ctprofd.conf(5) has no room for more\n" },
        { "{\"recording\":{\"endedBy\":\"memory\"}}", "recorded", "A",
          "recorded    A ended early: the job that adds samples up may have no more memory\n" },
        { "{\"recording\":{\"cpusWithoutClock\":\"1,3\",\"withoutClockNs\":1500000000}}",
          "recorded", "",
          "recorded    without samples of 1.50s on CPU 1,3, switched on after ctprofd began "
          "(restart it)\n" },
        { "{\"threadsThroughout\":40,\"threadsAddingUp\":38}", "recorded", "", "" },
        { "{\"threadsThroughout\":40,\"threadsAddingUp\":37}", "recorded", "B",
          "recorded    B times of 3 of 40 threads do not add up to it\n" },
        { "{\"threadsThroughout\":1,\"threadsAddingUp\":18446744073709551615}", "", "", "" },
};

START_TEST(what_was_not_observed_is_told) {
        const Terminal terminal = {};
        Lines lines = { .terminal = &terminal, .label_columns = 10 };
        json_object *reply = parsed(gap_rows[_i].reply);
        Written written;

        written_begin(&written);
        lines.out = written.file;
        ck_assert_int_eq(stack_print_gaps(&lines, gap_rows[_i].label, gap_rows[_i].word, reply), 0);
        written_end(&written);
        ck_assert_str_eq(written.text, gap_rows[_i].text);
        free(written.text);
        (void) json_object_put(reply);
}
END_TEST

static const char trees[] = "stacks\n"
                            " TIME ERROR SHARE STACK\n"
                            "7.50s \u00b130ms  94 % app\n"
                            "7.50s \u00b130ms  94 %   start_thread\n"
                            "                    work\n"
                            "6.00s        75 %     flush\n"
                            "                      pthread_mutex_lock\n"
                            "                      __lll_lock_wait\n"
                            "                      [lock]\n"
                            "1.50s \u00b130ms  19 %     compute\n"
                            "                      [running]\n"
                            "500ms \u00b140ms   6 % db\n"
                            "500ms \u00b140ms   6 %   main\n"
                            "                    [running]\n"
                            "waiting for work: 13min 32s in sleep, poll (--all-rows)\n"
                            "3 samples were lost, and 700 were taken\n"
                            "2 more stacks (--limit 0)\n";

// clang-format off
static const char mixed[] =
        "[" STACK_OF("db", "db", "running", "500000000", "40000000", "false", "\"main\"") ","
        STACK_OF("app", "app", "running", "1500000000", "30000000", "false",
                 "\"start_thread\",\"work\",\"compute\"") ","
        STACK_OF("app", "one", "lock", "2000000000", "0", "true", LOCK) ","
        STACK_OF("app", "two", "lock", "4000000000", "0", "true", LOCK) "]";
// clang-format on

#define WOKEN(thread, ns, waker)                                                             \
        "{\"process\":\"app\",\"thread\":\"" thread "\",\"place\":\"lock\",\"ns\":" ns ","   \
        "\"samples\":3,\"maxNs\":1,\"standardErrorNs\":0,\"exact\":true,\"frames\":[\"f\"]," \
        "\"wokenBy\":" waker "}"
#define BY(thread, ns) \
        "{\"kind\":\"thread\",\"process\":\"app\",\"thread\":\"" thread "\",\"ns\":" ns "}"

static const struct {
        const char *stacks, *told; /* NULL: nobody */
        bool is_pair;
} woken_rows[] = {
        { "[" WOKEN("a", "400", BY("w", "300")) "," WOKEN("b", "600", BY("w", "500")) "]",
          "woken by app/w 80 %", false },
        { "[" WOKEN("a", "400", BY("w", "400")) "," WOKEN("b", "600", BY("v", "300")) "]",
          "woken by app/w 40 %", false },
        { "[" WOKEN("a", "400", "null") "," WOKEN("b", "600", BY("v", "300")) "]",
          "woken by app/v 30 %", false },
        { "[" WOKEN("a", "400", "{\"kind\":\"interrupt\",\"ns\":400}") "," WOKEN("b", "600",
                                                                                 "null") "]",
          "woken by [interrupt] 40 %", false },
        { "[" WOKEN("a", "400", BY("w", "400")) "," WOKEN("b", "600", BY("w", "300")) "]", NULL,
          true },
};

/* Threads of one process that wait in the same stack are one line. */
START_TEST(many_threads_have_one_waker) {
        static const Terminal terminal = {};
        StackText text = { .terminal = &terminal };
        StackStore store = {};
        Written written;

        fill(&store, woken_rows[_i].stacks);
        if (woken_rows[_i].is_pair) {
                store.elapsed_ns[0] = store.elapsed_ns[1] = 1000;
                text.words[0] = text.words[1] = "x";
                fill_side(&store, 1, woken_rows[_i].stacks);
        }
        ck_assert_int_eq(stack_store_match(&store), 0);
        ck_assert_uint_eq(store.n, 1);
        written_begin(&written);
        text.out = written.file;
        ck_assert_int_eq(stack_text_print_list(&text, &store), 0);
        written_end(&written);
        if (woken_rows[_i].told)
                ck_assert_ptr_nonnull(strstr(written.text, woken_rows[_i].told));
        else
                ck_assert_ptr_null(strstr(written.text, "woken by"));
        free(written.text);
        stack_store_done(&store);
}
END_TEST

START_TEST(a_tree_divides_where_stacks_do) {
        static const Terminal terminal = { .out = true, .columns = 80 };
        StackText text = {
                .terminal = &terminal, .firsts = { parsed(FIRST) }, .n_hidden = 2, .is_chatty = true
        };
        StackStore store = {};
        Written written;

        /* They come in any order, and two threads in one function are one branch. */
        fill(&store, mixed);
        written_begin(&written);
        text.out = written.file;
        ck_assert_int_eq(stack_text_print_trees(&text, &store), 0);
        written_end(&written);
        ck_assert_str_eq(written.text, trees);
        free(written.text);
        (void) json_object_put(text.firsts[0]);
        stack_store_done(&store);
}
END_TEST

START_TEST(exact_times_have_no_error) {
        static const Terminal terminal = {};
        StackText text = { .terminal = &terminal };
        StackStore store = {};
        Written written;

        fill(&store, "[" STACK("p", "lock", "3000000000", "\"a\"") "," STACK(
                             "p", "lock", "1000000000",
                             "\"a\",\"b\"") "," STACK("p", "poll", "1000000000", "\"a\"") "]");
        written_begin(&written);
        text.out = written.file;
        ck_assert_int_eq(stack_text_print_trees(&text, &store), 0);
        written_end(&written);
        ck_assert_str_eq(written.text, "stacks\n"
                                       " TIME SHARE STACK\n"
                                       "5.00s 100 % p\n"
                                       "5.00s 100 %   a\n"
                                       "3.00s  60 %     [lock]\n"
                                       "1.00s  20 %     [poll]\n"
                                       "1.00s  20 %     b\n"
                                       "                [lock]\n");
        free(written.text);
        stack_store_done(&store);
}
END_TEST

/* Both are ten seconds long. */
#define TEN_SECONDS \
        { 10000000000, 10000000000 }

static void fill_two(StackStore *store) {
        fill_side(store, 0,
                  "[" STACK_OF("app", "one", "lock", "500000000", "200000000", "false",
                               LOCK) "," STACK("app", "running", "9000000000",
                                               "\"main\"") "," STACK("db", "storage", "4000000000",
                                                                     "\"read\"") "]");
        fill_side(store, 1,
                  "[" STACK_OF("app", "two", "lock", "68000000000", "0", "true", LOCK) "," STACK(
                          "app", "running", "9000000000",
                          "\"main\"") "," STACK("new", "running", "20000000", "\"x\"") "]");
        ck_assert_int_eq(stack_store_match(store), 0);
}

START_TEST(two_recordings_are_told_by_what_changed) {
        static const Terminal terminal = {};
        StackText text = { .terminal = &terminal,
                           .words = { "A", "B" },
                           .is_chatty = true,
                           .firsts = { parsed(FIRST), parsed("{}") } };
        StackStore store = { .elapsed_ns = TEN_SECONDS };
        Written written;

        fill_two(&store);
        ck_assert_uint_eq(store.n, 4);
        written_begin(&written);
        text.out = written.file;
        ck_assert_int_eq(stack_text_print_list(&text, &store), 0);
        written_end(&written);
        ck_assert_str_eq(written.text,
                         "stacks: how many threads were in each on average\n"
                         "PROCESS PLACE      A    B CHANGE ERROR STACK\n"
                         "app     lock    0.05  6.8   +6.8 \u00b10.02 pthread_mutex_lock \u2190 "
                         "flush \u2190 work\n"
                         "db      storage 0.40    -  \u22120.40       read\n"
                         "new     running    -    0      0       x\n"
                         "app     running 0.90 0.90      0       main\n"
                         "without places in which threads wait for work\n"
                         "A: 3 samples were lost, and 700 were taken\n");
        free(written.text);
        written_begin(&written);
        text.out = written.file;
        ck_assert_int_eq(stack_text_print_trees(&text, &store), 0);
        written_end(&written);
        ck_assert_str_eq(written.text,
                         "stacks: how many threads were in each on average\n"
                         "   A    B CHANGE ERROR STACK\n"
                         "0.95  7.7   +6.8 \u00b10.02 app\n"
                         "0.05  6.8   +6.8 \u00b10.02   start_thread\n"
                         "                         work\n"
                         "                         flush\n"
                         "                         pthread_mutex_lock\n"
                         "                         __lll_lock_wait\n"
                         "                         [lock]\n"
                         "0.90 0.90      0         main\n"
                         "                         [running]\n"
                         "0.40    -  \u22120.40       db\n"
                         "0.40    -  \u22120.40         read\n"
                         "                         [storage]\n"
                         "   -    0      0       new\n"
                         "   -    0      0         x\n"
                         "                         [running]\n"
                         "without places in which threads wait for work (--all-rows)\n"
                         "A: 3 samples were lost, and 700 were taken\n");
        free(written.text);
        (void) json_object_put(text.firsts[0]);
        (void) json_object_put(text.firsts[1]);
        stack_store_done(&store);
}
END_TEST

// clang-format off
#define WAITING                                                                                    \
        "[" STACK("pool", "futex", "90000000000", "\"next\"") ","                                  \
        STACK("idler", "poll", "90000000000", "\"p\"") ","                                         \
        STACK("app", "running", "90000000000", "\"r\"") ","                                        \
        STACK_OF("app", "one", "lock", "34000000000", "0", "true", LOCK) ","                       \
        STACK_OF("app", "two", "lock", "34000000000", "0", "true", LOCK) ","                       \
        STACK("app", "storage", "30000000000", "\"s\"") ","                                        \
        STACK("light", "lock", "990000000", "\"l\"") "]"
// clang-format on

START_TEST(each_process_that_waits_has_a_line) {
        static const Terminal terminal = { .out = true, .columns = 80 };
        StackStore store = { .elapsed_ns = { 10000000000 } };
        Written written;

        fill(&store, WAITING);
        ck_assert_int_eq(stack_store_match(&store), 0);
        written_begin(&written);
        ck_assert_int_eq(
                stack_text_print_waits(
                        &(Lines){ .out = written.file, .terminal = &terminal, .label_columns = 8 },
                        &store, 3),
                0);
        written_end(&written);
        ck_assert_str_eq(written.text,
                         "waits     app lock 6.8: work \u2192 flush \u2192 pthread_mutex_lock\n"
                         "waits     pool futex 9.0: next\n");
        free(written.text);
        stack_store_done(&store);
}
END_TEST

/* What runs more counts, too; what is within its error does not. */
START_TEST(each_process_that_changed_has_a_line) {
        static const Terminal terminal = { .out = true, .columns = 80 };
        StackStore store = { .elapsed_ns = TEN_SECONDS };
        Written written;

        fill_side(&store, 0,
                  "[" STACK("db", "running", "9000000000", "\"scan\"") "," STACK_OF(
                          "vague", "vague", "running", "9000000000", "5000000000", "false",
                          "\"v\"") "," STACK("idler", "poll", "90000000000", "\"p\"") "]");
        fill_side(&store, 1,
                  "[" STACK("db", "running", "1000000000", "\"scan\"") "," STACK(
                          "app", "lock", "20000000000", "\"work\",\"pthread_mutex_lock\"") "]");
        ck_assert_int_eq(stack_store_match(&store), 0);
        written_begin(&written);
        ck_assert_int_eq(
                stack_text_print_waits(
                        &(Lines){ .out = written.file, .terminal = &terminal, .label_columns = 8 },
                        &store, 3),
                0);
        written_end(&written);
        ck_assert_str_eq(written.text,
                         "changed   app lock 0 \u2192 2.0: work \u2192 pthread_mutex_lock\n"
                         "changed   db running 0.90 \u2192 0.10: scan\n");
        free(written.text);
        stack_store_done(&store);
}
END_TEST

/* The line above the groups has the holder of a lock, too. */
START_TEST(a_holder_has_a_line) {
        static const Terminal terminal = { .out = true, .columns = 40 };
        StackStore store = { .elapsed_ns = { 1000 } };
        Written written;

        fill(&store, "[" WOKEN("a", "1000",
                               "{\"kind\":\"thread\",\"process\":\"app\",\"thread\":\"w\",\"ns\":"
                               "900,\"held\":{\"place\":\"sleep\",\"frames\":[\"rest\",\"nap\","
                               "\"nanosleep\"]}}") "]");
        ck_assert_int_eq(stack_store_match(&store), 0);
        written_begin(&written);
        ck_assert_int_eq(stack_text_print_waits(&(Lines){ .out = written.file,
                                                          .terminal = &terminal,
                                                          .label_columns = 8,
                                                          .max_lines = 1 },
                                                &store, 3),
                         0);
        written_end(&written);
        ck_assert_str_eq(written.text, "waits     app lock 1.0: f, held by app/w\n"
                                       "          90 % in [sleep] rest \u2192 nap\n");
        free(written.text);
        stack_store_done(&store);
}
END_TEST

/* Where there is no room for three functions, the innermost stay. */
START_TEST(the_innermost_function_has_room) {
        static const Terminal terminal = { .out = true, .columns = 52 };
        StackStore store = { .elapsed_ns = { 1000000000 } };
        Written written;

        fill(&store, "[" STACK("app", "lock", "2000000000",
                               "\"a_long_way_outside\",\"flush_everything\","
                               "\"pthread_mutex_lock\"") "]");
        ck_assert_int_eq(stack_store_match(&store), 0);
        written_begin(&written);
        ck_assert_int_eq(stack_text_print_waits(&(Lines){ .out = written.file,
                                                          .terminal = &terminal,
                                                          .label_columns = 8,
                                                          .max_lines = 1 },
                                                &store, 3),
                         0);
        written_end(&written);
        ck_assert_str_eq(written.text, "waits     app lock 2.0: pthread_mutex_lock\n");
        free(written.text);
        stack_store_done(&store);
}
END_TEST

#define ON(thread, ns, objects)                                                               \
        "{\"process\":\"app\",\"thread\":\"" thread "\",\"place\":\"storage\",\"ns\":" ns     \
        ",\"samples\":3,\"maxNs\":1,\"standardErrorNs\":0,\"exact\":true,\"frames\":[\"f\"]," \
        "\"objects\":[" objects "]}"
#define OBJECT(name, ns) "{\"kind\":\"file\",\"name\":\"" name "\",\"ns\":" ns "}"

static const struct {
        const char *stacks, *told; /* NULL: nothing */
        bool is_most, is_pair;
} object_rows[] = {
        { "[" ON("a", "1000", OBJECT("/x", "830") "," OBJECT("/y", "170")) "]", ", on /x 83 %",
          true, false },
        { "[" ON("a", "1000", OBJECT("/x", "400") "," OBJECT("/y", "300")) "]", ", on /x 40 %",
          false, false },
        /* Threads that have one stack are added up: what is second in each may be first in all. */
        { "[" ON("a", "500", OBJECT("/x", "260") "," OBJECT("/z", "240")) "," ON(
                  "b", "500", OBJECT("/y", "260") "," OBJECT("/z", "240")) "]",
          ", on /z 48 %", false, false },
        { "[" ON("a", "500", "") "," ON("b", "500", OBJECT("/y\\u001b[2J", "500")) "]",
          ", on /y\\x1b[2J 50 %", true, false },
        { "[" ON("a", "1000", "") "]", NULL, false, false },
        { "[" ON("a", "1000", OBJECT("/x", "1000")) "]", NULL, false, true },
};

/* In a list and behind the place in a tree; above the groups where it is most of the time. */
START_TEST(what_waits_were_on_is_behind_them) {
        static const Terminal terminal = {};
        const char *told = object_rows[_i].told;
        StackText text = { .terminal = &terminal, .words = { "x", "x" } };
        StackStore store = { .elapsed_ns = { 1000 } };

        fill(&store, object_rows[_i].stacks);
        if (object_rows[_i].is_pair) {
                store.elapsed_ns[1] = 1000;
                fill_side(&store, 1, object_rows[_i].stacks);
        }
        /* A tree has a row of each thread; for a list they are matched. */
        for (int form = object_rows[_i].is_pair; form < 3; form++) {
                bool is_told = told && (form < 2 || object_rows[_i].is_most);
                Written written;

                if (form == 1)
                        ck_assert_int_eq(stack_store_match(&store), 0);
                written_begin(&written);
                text.out = written.file;
                if (form == 0)
                        ck_assert_int_eq(stack_text_print_trees(&text, &store), 0);
                else if (form == 1)
                        ck_assert_int_eq(stack_text_print_list(&text, &store), 0);
                else
                        ck_assert_int_eq(stack_text_print_waits(&(Lines){ .out = written.file,
                                                                          .terminal = &terminal },
                                                                &store, 3),
                                         0);
                written_end(&written);
                ck_assert_msg((strstr(written.text, is_told ? told : ", on ") != NULL) == is_told,
                              "%s", written.text);
                free(written.text);
        }
        stack_store_done(&store);
}
END_TEST

/* Time without a sample is in no stack of a list, and is told below. */
START_TEST(what_has_no_sample_is_below_the_list) {
        static const Terminal terminal = {};
        StackText text = { .terminal = &terminal };
        StackStore store = {};
        Written written;

        fill(&store,
             "[" STACK(
                     "app", "running", "3000000000",
                     "\"[before or after the recording]\"") "," STACK("app", "lock", "2000000000",
                                                                      "\"f\"") "," STACK("app",
                                                                                         "lock",
                                                                                         "100000000"
                                                                                         "0",
                                                                                         "\"[too "
                                                                                         "short to "
                                                                                         "be "
                                                                                         "sampled]"
                                                                                         "\"") "]");
        stack_store_drop_unsampled(&store);
        ck_assert_int_eq(stack_store_match(&store), 0);
        written_begin(&written);
        text.out = written.file;
        ck_assert_int_eq(stack_text_print_list(&text, &store), 0);
        written_end(&written);
        ck_assert_str_eq(written.text, "stacks\n"
                                       "PROCESS PLACE  TIME SHARE STACK\n"
                                       "app     lock  2.00s 100 % f\n"
                                       "without a sample: 3.00s before or after the recording, "
                                       "1.00s too short to be sampled\n");
        free(written.text);
        stack_store_done(&store);
}
END_TEST

START_TEST(without_stacks_there_is_a_word) {
        static const Terminal terminal = {};
        StackText text = { .terminal = &terminal };
        StackStore store = {};
        Written written;

        written_begin(&written);
        text.out = written.file;
        ck_assert_int_eq(stack_text_print_list(&text, &store), 0);
        ck_assert_int_eq(stack_text_print_trees(&text, &store), 0);
        written_end(&written);
        ck_assert_str_eq(written.text, "no stacks\nno stacks\n");
        free(written.text);
        stack_store_done(&store);
}
END_TEST

static const struct {
        const char *filter, *heading;
} scope_rows[] = {
        { "{}", "no stacks\n" },
        { "{\"descendants\":true}", "no stacks of the command and what it started\n" },
        { "{\"pids\":[12],\"uids\":[0,7]}", "no stacks of process 12 of uids 0, 7\n" },
        { "{\"pids\":[1,2],\"threads\":\"user\"}", "no stacks of processes 1, 2 of programs\n" },
        { "{\"threads\":\"kernel\",\"comm\":\"k*\\u001b\",\"cgroup\":\"/a\"}",
          "no stacks of the kernel called k*\\x1b in /a\n" },
        { "{\"minNs\":1000000}", "no stacks of waits of 1.0ms and more\n" },
        { "{\"maxNs\":2000000000}", "no stacks of waits of 2.00s and less\n" },
        { "{\"minNs\":1000000,\"maxNs\":2000000000}", "no stacks of waits of 1.0ms to 2.00s\n" },
        { "{\"pids\":7,\"uids\":{},\"comm\":[],\"threads\":1,\"minNs\":\"x\"}", NULL },
};

START_TEST(the_heading_says_of_what_they_are) {
        static const Terminal terminal = {};
        char *first = NULL;
        StackText text = { .terminal = &terminal };
        StackStore store = {};
        Written written;

        ck_assert_int_gt(asprintf(&first, "{\"recording\":{\"filter\":%s}}", scope_rows[_i].filter),
                         0);
        text.firsts[0] = parsed(first);
        written_begin(&written);
        text.out = written.file;
        ck_assert_int_eq(stack_text_print_list(&text, &store), 0);
        written_end(&written);
        if (scope_rows[_i].heading)
                ck_assert_str_eq(written.text, scope_rows[_i].heading);
        free(written.text);
        free(first);
        (void) json_object_put(text.firsts[0]);
        stack_store_done(&store);
}
END_TEST

#define RECORDED(filter) "{\"recording\":{\"samples\":5,\"lostRing\":1" filter "}}"
#define UID_7 ",\"filter\":{\"uids\":[7]}"
#define OF_SETS(other)                                                                            \
        "{\"recordedBefore\":[" RECORDED(UID_7) "," RECORDED(                                     \
                other) "],\"recordedAfter\":[" RECORDED(UID_7) "],\"alpha\":0.05,\"tested\":2,"   \
                                                               "\"significant\":1,"               \
                                                               "\"samplesNeeded\":null,"          \
                                                               "\"overflowStacks\":3,"            \
                                                               "\"unsampled\":{\"before\":{"      \
                                                               "\"median\":500000000},\"after\":" \
                                                               "null}}"
#define SIDE_OF(median, least, most) \
        "{\"n\":4,\"median\":" median ",\"min\":" least ",\"max\":" most "}"
#define STACK_OF_SETS(process, before, after, tail)                          \
        "{\"process\":\"" process "\",\"place\":\"lock\",\"before\":" before \
        ",\"after\":" after tail ",\"frames\":[\"main\",\"take\"]}"

static const char stacks_of_sets[] = "[" STACK_OF_SETS(
        "app", SIDE_OF("0", "0", "10000000"), SIDE_OF("1500000000", "1400000000", "1600000000"),
        ",\"pAdjusted\":0.0286,\"significant\":true") "," STACK_OF_SETS("db",
                                                                        SIDE_OF("900000000"
                                                                                "0",
                                                                                "100000000",
                                                                                "990000000"
                                                                                "0"),
                                                                        "null",
                                                                        ",\"pAdjusted\":"
                                                                        "null,"
                                                                        "\"significant\":"
                                                                        "false") "]";

static const struct {
        const char *first, *heading, *end;
} set_rows[] = {
        { OF_SETS(UID_7), "stacks of uid 7: how many threads were in each on average, medians\n",
          "" },
        { OF_SETS(""), "stacks: how many threads were in each on average, medians\n",
          "not all recordings took samples of the same threads\n" },
};

START_TEST(sets_are_told_by_what_is_more_than_chance) {
        static const Terminal terminal = {};
        StackText text = { .terminal = &terminal,
                           .firsts = { parsed(set_rows[_i].first) },
                           .words = { "BEFORE", "AFTER" },
                           .of_sets = true,
                           .is_alone = true,
                           .is_chatty = true,
                           .n_hidden = 2 };
        json_object *stacks = parsed(stacks_of_sets);
        StackStore store = { .elapsed_ns = { NSEC_PER_SEC, NSEC_PER_SEC } };
        char expected[2048];
        Written written;

        for (size_t i = 0; i < json_object_array_length(stacks); i++)
                ck_assert_int_eq(
                        stack_store_add_of_sets(&store, json_object_array_get_idx(stacks, i)), 0);
        (void) snprintf(expected, sizeof(expected),
                        "%sPROCESS PLACE BEFORE AFTER CHANGE P (ADJ)           MIN..MAX STACK\n"
                        "app     lock       0   1.5   +1.5   0.029 0..0.01 \u2192 1.4..1.6 take "
                        "\u2190 main\n"
                        "db      lock     9.0     -      -       -      0.10..9.9 \u2192 - take "
                        "\u2190 main\n"
                        "without places in which threads wait for work (--all-rows)\n"
                        "2 stacks tested, adjusted for as many: 1 has an adjusted p below 0.05\n"
                        "%sBEFORE: 2 samples were lost, and 10 were taken\n"
                        "AFTER: 1 samples were lost, and 5 were taken\n"
                        "3 stacks of a recording had no room, and are [others]\n"
                        "threads without a sample: BEFORE 0.50\n"
                        "2 more stacks (--limit 0)\n",
                        set_rows[_i].heading, set_rows[_i].end);
        written_begin(&written);
        text.out = written.file;
        ck_assert_int_eq(stack_text_print_list(&text, &store), 0);
        written_end(&written);
        ck_assert_str_eq(written.text, expected);
        free(written.text);
        /* What is not certain is no line, however large it is. */
        written_begin(&written);
        ck_assert_int_eq(
                stack_text_print_waits(
                        &(Lines){ .out = written.file, .terminal = &terminal, .label_columns = 10 },
                        &store, 3),
                0);
        written_end(&written);
        ck_assert_str_eq(written.text, "changed     app lock 0 \u2192 1.5: main \u2192 take\n");
        free(written.text);
        (void) json_object_put(stacks);
        (void) json_object_put(text.firsts[0]);
        stack_store_done(&store);
}
END_TEST

START_TEST(what_is_no_stack_is_harmless) {
        static const char *const odd[] = { "{}", "[]", "3", "{\"frames\":[1,null,[]]}",
                                           "{\"frames\":{},\"process\":[],\"ns\":-1}" };
        static const Terminal terminal = {};
        StackText text = { .terminal = &terminal };
        StackStore store = {};
        Written written;

        for (size_t i = 0; i < ELEMENTSOF(odd); i++) {
                json_object *stack = parsed(odd[i]);

                ck_assert_int_eq(stack_store_add(&store, 0, stack), 0);
                (void) json_object_put(stack);
        }
        written_begin(&written);
        text.out = written.file;
        ck_assert_int_eq(stack_text_print_list(&text, &store), 0);
        ck_assert_int_eq(stack_text_print_trees(&text, &store), 0);
        written_end(&written);
        free(written.text);
        stack_store_done(&store);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("stack-text");
        TCase *print = tcase_create("print");

        (void) setlocale(LC_CTYPE, "C.UTF-8");
        tcase_add_loop_test(print, three_functions_tell_what_a_stack_is_about, 0,
                            ELEMENTSOF(leaf_rows));
        tcase_add_loop_test(print, the_heaviest_are_a_line_each, 0, ELEMENTSOF(list_rows));
        tcase_add_loop_test(print, what_was_not_observed_is_told, 0, ELEMENTSOF(gap_rows));
        tcase_add_loop_test(print, many_threads_have_one_waker, 0, ELEMENTSOF(woken_rows));
        tcase_add_test(print, a_tree_divides_where_stacks_do);
        tcase_add_test(print, exact_times_have_no_error);
        tcase_add_test(print, two_recordings_are_told_by_what_changed);
        tcase_add_test(print, each_process_that_waits_has_a_line);
        tcase_add_test(print, each_process_that_changed_has_a_line);
        tcase_add_test(print, a_holder_has_a_line);
        tcase_add_test(print, the_innermost_function_has_room);
        tcase_add_loop_test(print, what_waits_were_on_is_behind_them, 0, ELEMENTSOF(object_rows));
        tcase_add_test(print, what_has_no_sample_is_below_the_list);
        tcase_add_test(print, without_stacks_there_is_a_word);
        tcase_add_loop_test(print, the_heading_says_of_what_they_are, 0, ELEMENTSOF(scope_rows));
        tcase_add_loop_test(print, sets_are_told_by_what_is_more_than_chance, 0,
                            ELEMENTSOF(set_rows));
        tcase_add_test(print, what_is_no_stack_is_harmless);
        suite_add_tcase(suite, print);
        return check_main(suite);
}
