/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/options.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check-main.h"
#include "verb/verb.h"

#define NOW (UINT64_C(1795188901) * NSEC_PER_SEC)
#define MAX_WORDS 8

/* getopt_long() moves the words about, so each parse has its own. */
static int parse(const char *const words[], Options *ret, char *complaint) {
        static char *argv[MAX_WORDS + 2];
        int argc = 0;

        argv[argc++] = (char[]){ "ctprofctl" };
        for (size_t i = 0; i < MAX_WORDS && words[i]; i++) {
                static char copies[MAX_WORDS][128];

                (void) snprintf(copies[i], sizeof(copies[i]), "%s", words[i]);
                argv[argc++] = copies[i];
        }
        argv[argc] = NULL;
        return options_parse(argc, argv, NOW, ret, complaint);
}

#define PARSE(options, complaint, ...) \
        parse((const char *const[MAX_WORDS + 1]){ __VA_ARGS__ }, (options), (complaint))

START_TEST(options_may_stand_anywhere) {
        char complaint[OPTIONS_COMPLAINT_BYTES];
        Options options;

        ck_assert_int_eq(
                PARSE(&options, complaint, "--socket", "/s", "show", "-q", "a", "--limit=3"), 0);
        ck_assert_uint_eq(options.n_arguments, 2);
        ck_assert_str_eq(options.arguments[0], "show");
        ck_assert_str_eq(options.arguments[1], "a");
        ck_assert_str_eq(options.socket_path, "/s");
        ck_assert_uint_eq(options.view.limit, 3);
        ck_assert(options.given == (OPTION_BIT(SOCKET) | OPTION_BIT(QUIET) | OPTION_BIT(LIMIT)));
}
END_TEST

START_TEST(two_dashes_end_the_options) {
        char complaint[OPTIONS_COMPLAINT_BYTES];
        Options options;

        ck_assert_int_eq(
                PARSE(&options, complaint, "run", "--tag", "x", "--", "ls", "-l", "--json"), 0);
        ck_assert_uint_eq(options.n_arguments, 4);
        ck_assert_str_eq(options.arguments[1], "ls");
        ck_assert_str_eq(options.arguments[3], "--json");
        ck_assert(options.given == OPTION_BIT(TAG));
}
END_TEST

START_TEST(nothing_given_is_the_defaults) {
        char complaint[OPTIONS_COMPLAINT_BYTES];
        Options options;

        ck_assert_int_eq(PARSE(&options, complaint, NULL), 0);
        ck_assert(options.given == 0);
        ck_assert_uint_eq(options.n_arguments, 0);
        ck_assert_int_eq(options.json, JSON_WISH_OFF);
        ck_assert_uint_eq(options.view.limit, VIEW_DEFAULT_LIMIT);
        ck_assert(options.view.thread_normalize);
        ck_assert_int_eq(options.view.axis, VIEW_AXIS_PCOMM);
        ck_assert_uint_eq(options.timeout_ns, 0);
}
END_TEST

static const struct {
        const char *word;
        JsonWish wish;
} json_rows[] = {
        { "--json", JSON_WISH_AUTO },        { "-j", JSON_WISH_AUTO },
        { "--json=short", JSON_WISH_SHORT }, { "--json=pretty", JSON_WISH_PRETTY },
        { "--json=off", JSON_WISH_OFF },     { "-qj", JSON_WISH_AUTO },
};

START_TEST(json_takes_a_style_after_an_equals_sign_only) {
        char complaint[OPTIONS_COMPLAINT_BYTES];
        Options options;

        ck_assert_int_eq(PARSE(&options, complaint, "list", json_rows[_i].word, "short"), 0);
        ck_assert_int_eq(options.json, json_rows[_i].wish);
        ck_assert_uint_eq(options.n_arguments, 2);
}
END_TEST

START_TEST(values_are_read) {
        char complaint[OPTIONS_COMPLAINT_BYTES];
        Options options;

        ck_assert_int_eq(PARSE(&options, complaint, "--timeout", "2.5", "--group-by", "comm",
                               "--no-thread-normalize", "--self", "--sections=derived"),
                         0);
        ck_assert_uint_eq(options.timeout_ns, 2500 * NSEC_PER_MSEC);
        ck_assert_int_eq(options.view.axis, VIEW_AXIS_COMM);
        ck_assert(!options.view.thread_normalize && options.view.self);
        ck_assert(options.view.sections[METRIC_SECTION_DERIVED]);
        ck_assert(!options.view.sections[METRIC_SECTION_PRIMARY]);

        ck_assert_int_eq(PARSE(&options, complaint, "--since", "-5min", "--until=now", "--tag",
                               "a-b", "--format", "ndjson"),
                         0);
        ck_assert_uint_eq(options.since_realtime_ns, NOW - 300 * NSEC_PER_SEC);
        ck_assert_uint_eq(options.until_realtime_ns, NOW);
        ck_assert_str_eq(options.tag, "a-b");
        ck_assert_int_eq(options.format, FORMAT_NDJSON);
}
END_TEST

START_TEST(pairs_add_up) {
        char complaint[OPTIONS_COMPLAINT_BYTES];
        Options options;

        ck_assert_int_eq(PARSE(&options, complaint, "--pair", "/a=/b", "--pair=/c=/d=e",
                               "--no-pairing", "--window"),
                         0);
        ck_assert_uint_eq(options.view.pairs.n, 4);
        ck_assert(span_is(view_texts_get(&options.view.pairs, 3), "/d=e"));
        ck_assert(!options.view.pairing && options.view.window);
}
END_TEST

START_TEST(the_last_of_two_counts) {
        char complaint[OPTIONS_COMPLAINT_BYTES];
        Options options;

        ck_assert_int_eq(
                PARSE(&options, complaint, "--limit", "1", "--limit=0", "-j", "--json=off"), 0);
        ck_assert_uint_eq(options.view.limit, 0);
        ck_assert_int_eq(options.json, JSON_WISH_OFF);
}
END_TEST

static const struct {
        const char *words[3];
        const char *sentence;
} refusals[] = {
        { { "--jsn" }, "Unknown option \"--jsn\", did you mean \"--json\"?" },
        { { "--limt=3" }, "Unknown option \"--limt\", did you mean \"--limit\"?" },
        { { "--group" }, "Unknown option \"--group\", did you mean \"--group-by\"?" },
        { { "--group=x" }, "Unknown option \"--group\", did you mean \"--group-by\"?" },
        { { "--group", "x" }, "Unknown option \"--group\", did you mean \"--group-by\"?" },
        { { "--all-" }, "Unknown option \"--all-\", did you mean \"--all-rows\"?" },
        { { "--baseline" }, "Unknown option \"--baseline\": \"ctprofctl --help\" lists them all." },
        { { "--no-page" }, "Unknown option \"--no-page\", did you mean \"--no-pager\"?" },
        { { "--window=1" }, "\"--window\" takes no value." },
        { { "--pair" }, "--pair needs a value." },
        { { "--pair", "/a" }, "\"/a\" is no pair of cgroups: write OLD=NEW." },
        { { "--pair", "/a=/a" }, "A pair of cgroups is two different paths, OLD=NEW." },
        { { "-X", "host" }, "Unknown option \"-X\": \"ctprofctl --help\" lists them all." },
        { { "-H" }, "-H needs a value." },
        { { "--host" }, "--host needs a value." },
        { { "--hosts" }, "Unknown option \"--hosts\", did you mean \"--hosts-file\"?" },
        { { "--host=" }, "--host is given an empty name." },
        { { "--hosts-file=" }, "--hosts-file is given an empty path." },
        { { "--fanout", "0" }, "--fanout \"0\" is not a number of hosts above 0." },
        { { "--fanout", "many" }, "--fanout \"many\" is not a number of hosts above 0." },
        { { "--at", "+soon" },
          "--at \"+soon\" is not a time: write YYYY-MM-DD HH:MM[:SS], +30s or +5min." },
        { { "-qx" }, "Unknown option \"-x\": \"ctprofctl --help\" lists them all." },
        { { "-\033[2J" }, "Unknown option \"-\\x1b\": \"ctprofctl --help\" lists them all." },
        { { "--local=1" }, "\"--local\" takes no value." },
        { { "--tag" }, "--tag needs a value." },
        { { "--tag=" }, "The tag \"\" is empty." },
        { { "--tag", "a b" }, "The tag \"a b\" has a character other than A-Z a-z 0-9 . _ -." },
        { { "--tag", "x\033[2J" },
          "The tag \"x\\x1b[2J\" has a character other than A-Z a-z 0-9 . _ -." },
        { { "--smaps=some" },
          "--smaps=\"some\" does not say of which processes: it is all, small or none." },
        { { "--json=long" }, "--json=\"long\" is not a style: it is short, pretty or off." },
        { { "--limit", "-1" },
          "--limit takes a number of groups up to 4294967295, 0 for all: \"-1\" is none." },
        { { "--limit", "4294967296" },
          "--limit takes a number of groups up to 4294967295, 0 for all: \"4294967296\" is "
          "none." },
        { { "--timeout", "0" }, "--timeout \"0\" is not a number of seconds above 0." },
        { { "--timeout", "0.000" }, "--timeout \"0.000\" is not a number of seconds above 0." },
        { { "--timeout", "1." }, "--timeout \"1.\" is not a number of seconds above 0." },
        { { "--timeout", ".5" }, "--timeout \".5\" is not a number of seconds above 0." },
        { { "--timeout", "1e3" }, "--timeout \"1e3\" is not a number of seconds above 0." },
        { { "--since", "someday" },
          "--since \"someday\" is not a time: write YYYY-MM-DD[ HH:MM[:SS]], today, yesterday, "
          "-5min, -2h or -3d." },
        { { "--format", "pdf" },
          "--format \"pdf\" is not a format: views are table, csv, ndjson or html, of a "
          "recording also folded, pprof or speedscope, exports are ctprof, ktstr, ndjson or "
          "denet." },
        { { "--socket=" }, "--socket is given an empty path." },
};

START_TEST(what_is_wrong_is_one_sentence) {
        char complaint[OPTIONS_COMPLAINT_BYTES];
        Options options = { .given = 77 };

        ck_assert_int_eq(parse(refusals[_i].words, &options, complaint), OPTIONS_E_INVALID);
        ck_assert_str_eq(complaint, refusals[_i].sentence);
        ck_assert(options.given == 77);
}
END_TEST

START_TEST(lists_are_checked_by_the_registry) {
        char complaint[OPTIONS_COMPLAINT_BYTES];
        Options options;

        ck_assert_int_eq(PARSE(&options, complaint, "--metrics", "run_time"), OPTIONS_E_INVALID);
        ck_assert_ptr_nonnull(strstr(complaint, "\"run_time_ns\""));
        ck_assert_int_eq(PARSE(&options, complaint, "--sections", "primry"), OPTIONS_E_INVALID);
        ck_assert_ptr_nonnull(strstr(complaint, "\"primary\""));
        ck_assert_int_eq(PARSE(&options, complaint, "--group-by", "pid"), OPTIONS_E_INVALID);
        ck_assert_ptr_nonnull(strstr(complaint, "\"pid\""));
}
END_TEST

START_TEST(every_option_has_help_and_a_name_of_its_own) {
        for (unsigned id = 0; id < _OPTION_MAX; id++) {
                ck_assert_uint_gt(strlen(option_table[id].help), 0);
                ck_assert_int_ne(option_table[id].help[strlen(option_table[id].help) - 1], '.');
                ck_assert_int_eq(option_table[id].argument == OPTION_ARGUMENT_NONE,
                                 option_table[id].argument_name[0] == '\0');
                for (unsigned other = 0; other < id; other++)
                        ck_assert_str_ne(option_table[id].name, option_table[other].name);
        }
}
END_TEST

/* As the page has it: dashes and dots in roff's spelling. */
static bool is_in_page(const char *page, const char *prefix, const char *name) {
        char word[128];
        size_t n = (size_t) snprintf(word, sizeof(word), "%s", prefix);

        for (; *name != '\0' && n < sizeof(word) - 3; name++) {
                if (*name == '-')
                        word[n++] = '\\';
                word[n++] = *name;
        }
        word[n] = '\0';
        return strstr(page, word) != NULL;
}

START_TEST(the_manual_has_every_verb_and_option) {
        FILE *file = fopen(MAN_DIR "/ctprofctl.1", "re");
        static char page[128 * 1024];

        ck_assert_ptr_nonnull(file);
        page[fread(page, 1, sizeof(page) - 1, file)] = '\0';
        (void) fclose(file);
        for (unsigned id = 0; id < _OPTION_MAX; id++)
                ck_assert_msg(is_in_page(page, "\\-\\-", option_table[id].name), "--%s",
                              option_table[id].name);
        for (size_t i = 0; i < _VERB_MAX; i++)
                ck_assert_msg(is_in_page(page, ".TP\n\\fB", verb_table[i].name) ||
                                      is_in_page(page, ".TP\n.B ", verb_table[i].name),
                              "%s", verb_table[i].name);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("options");
        TCase *parse_case = tcase_create("parse");
        TCase *refuse = tcase_create("refuse");

        (void) setenv("TZ", "UTC", 1);
        tcase_add_test(parse_case, options_may_stand_anywhere);
        tcase_add_test(parse_case, two_dashes_end_the_options);
        tcase_add_test(parse_case, nothing_given_is_the_defaults);
        tcase_add_loop_test(parse_case, json_takes_a_style_after_an_equals_sign_only, 0,
                            ELEMENTSOF(json_rows));
        tcase_add_test(parse_case, values_are_read);
        tcase_add_test(parse_case, pairs_add_up);
        tcase_add_test(parse_case, the_last_of_two_counts);
        tcase_add_test(parse_case, every_option_has_help_and_a_name_of_its_own);
        tcase_add_test(parse_case, the_manual_has_every_verb_and_option);
        tcase_add_loop_test(refuse, what_is_wrong_is_one_sentence, 0, ELEMENTSOF(refusals));
        tcase_add_test(refuse, lists_are_checked_by_the_registry);
        suite_add_tcase(suite, parse_case);
        suite_add_tcase(suite, refuse);
        return check_main(suite);
}
