/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "check-main.h"
#include "view/view.h"
#include "metric/metric.h"
#include "report/group/group-columns.h"
#include "verb/verb.h"

#define FILE_BYTES (64 * 1024)
#define LIST_BYTES 2048

/* How each shell has the options of a verb, and the verb itself. */
static const struct {
        const char *path, *options, *verb;
} shells[] = {
        { COMPLETION_DIR "/ctprofctl", "        [%s]='%s'\n", NULL },
        { COMPLETION_DIR "/_ctprofctl", "        %s '%s'\n", "        '%s:%s'\n" },
        { COMPLETION_DIR "/ctprofctl.fish", "        case %s; echo '%s'\n",
          "        echo '%s\t%s'\n" },
};

static char file[FILE_BYTES];

static void read_shell(int shell) {
        FILE *stream = fopen(shells[shell].path, "re");
        size_t n;

        ck_assert_ptr_nonnull(stream);
        n = fread(file, 1, sizeof(file) - 1, stream);
        (void) fclose(stream);
        ck_assert_uint_lt(n, sizeof(file) - 1);
        file[n] = '\0';
}

static void assert_has(const char *text) {
        ck_assert_msg(strstr(file, text) != NULL, "it lacks: %s", text);
}

static void append(char list[static LIST_BYTES], const char *before, const char *word) {
        size_t n = strlen(list);

        ck_assert_int_lt(
                snprintf(list + n, LIST_BYTES - n, "%s%s%s", n > 0 ? " " : "", before, word),
                (int) (LIST_BYTES - n));
}

/* "--tag --replace" */
static void list_options(OptionBits bits, char list[static LIST_BYTES]) {
        list[0] = '\0';
        for (unsigned id = 0; id < _OPTION_MAX; id++)
                if (bits >> id & 1)
                        append(list, "--", option_table[id].name);
}

/* Between quotes, so that nothing stands beside it. */
static void assert_has_list(const char *list) {
        char quoted[LIST_BYTES + 2];

        (void) snprintf(quoted, sizeof(quoted), "'%s'", list);
        assert_has(quoted);
}

START_TEST(every_verb_has_its_options) {
        char list[LIST_BYTES], line[LIST_BYTES + 64];

        read_shell(_i);
        for (size_t i = 0; i < _VERB_LISTED; i++) {
                list_options(verb_table[i].options, list);
                /* The formats are those of the table: only lists come in here. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
                (void) snprintf(line, sizeof(line), shells[_i].options, verb_table[i].name, list);
                assert_has(line);
                if (!shells[_i].verb)
                        continue;
                (void) snprintf(line, sizeof(line), shells[_i].verb, verb_table[i].name,
                                verb_table[i].summary);
#pragma GCC diagnostic pop
                assert_has(line);
        }
}
END_TEST

START_TEST(options_of_all_verbs_and_those_with_values_are_known) {
        char list[LIST_BYTES];
        OptionBits valued = 0;

        read_shell(_i);
        list_options(OPTION_COMMON_BITS, list);
        assert_has_list(list);
        for (unsigned id = 0; id < _OPTION_MAX; id++)
                if (option_table[id].argument == OPTION_ARGUMENT_REQUIRED)
                        valued |= (OptionBits) 1 << id;
        list_options(valued, list);
        assert_has_list(list);
}
END_TEST

/* bash has no place for what a verb does. */
START_TEST(bash_knows_the_verbs) {
        char list[LIST_BYTES] = "";

        read_shell(0);
        for (size_t i = 0; i < _VERB_LISTED; i++)
                append(list, "", verb_table[i].name);
        assert_has_list(list);
}
END_TEST

#define TYPED_AXIS(id, name, typed, header) typed,
START_TEST(every_axis_is_known) {
        const char *axes, *end;

        read_shell(_i);
        axes = strstr(file, "'process ");
        ck_assert_ptr_nonnull(axes);
        end = strchr(axes + 1, '\'');
        for (unsigned id = 0; id < _VIEW_AXIS_MAX; id++) {
                static const char *const typed[] = { VIEW_AXES(TYPED_AXIS) };
                size_t n = strlen(typed[id]);
                const char *at = axes + 1;

                while (at < end && !(strncmp(at, typed[id], n) == 0 && strcspn(at, " '") == n))
                        at += strcspn(at, " '") + 1;
                ck_assert_msg(at < end, "it lacks %s", typed[id]);
        }
}
END_TEST

#define ONE_COLUMN(id, name, header, right, shrink, omit, kinds) \
        if (strcmp(#kinds, "TWO") != 0)                          \
                append(list, "", name);
#define TWO_COLUMNS(id, name, header, right, shrink, omit, kinds) \
        if (strcmp(#kinds, "ONE") != 0)                           \
                append(list, "", name);

#define OVERVIEW_COLUMN(id, name, ...) append(list, "", name);

START_TEST(names_of_values_are_the_programs) {
        char list[LIST_BYTES] = "";

        read_shell(_i);
        for (unsigned id = 0; id < _METRIC_SECTION_MAX; id++)
                append(list, "", metric_section_names[(MetricSection) id]);
        for (unsigned id = 0; id < _SECTION_MAX; id++)
                append(list, "", view_table_names[(SectionId) id]);
        assert_has_list(list);
        list[0] = '\0';
        GROUP_COLUMNS(ONE_COLUMN)
        VIEW_COLUMNS(OVERVIEW_COLUMN)
        assert_has_list(list);
        list[0] = '\0';
        GROUP_COLUMNS(TWO_COLUMNS)
        VIEW_COLUMNS(OVERVIEW_COLUMN)
        assert_has_list(list);
}
END_TEST

START_TEST(formats_are_those_of_the_verbs) {
        const Verb *const verbs[] = { &verb_table[VERB_show], &verb_table[VERB_export] };

        read_shell(_i);
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++) {
                char list[LIST_BYTES] = "";

                for (unsigned id = 0; id < _FORMAT_MAX; id++)
                        if (verbs[i]->formats >> id & 1)
                                append(list, "", format_name((Format) id));
                assert_has_list(list);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("completion");
        TCase *table = tcase_create("table");

        tcase_add_loop_test(table, every_verb_has_its_options, 0, ELEMENTSOF(shells));
        tcase_add_loop_test(table, options_of_all_verbs_and_those_with_values_are_known, 0,
                            ELEMENTSOF(shells));
        tcase_add_test(table, bash_knows_the_verbs);
        tcase_add_loop_test(table, every_axis_is_known, 0, ELEMENTSOF(shells));
        tcase_add_loop_test(table, names_of_values_are_the_programs, 0, ELEMENTSOF(shells));
        tcase_add_loop_test(table, formats_are_those_of_the_verbs, 0, ELEMENTSOF(shells));
        suite_add_tcase(suite, table);
        return check_main(suite);
}
