/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/section/sections.h"

#include <errno.h>
#include <stdio.h>

#include "check-main.h"
#include "sectioned.h"
#include "view/view-part.h"

/* A cgroup and how long it ran on each side; 0: it was not there. */
typedef struct Ran {
        const char *cgroup;
        unsigned before, after;
} Ran;

#define MAX_CGROUPS 4

static Sections *sections_of(const Ran *ran) {
        Sections *sections = sectioned_new(VIEW_AXIS_CGROUP, "cgroup-stats", 2);

        for (unsigned i = 0; i < MAX_CGROUPS && ran[i].cgroup; i++)
                for (unsigned side = 0; side < 2; side++) {
                        unsigned usec = side == 0 ? ran[i].before : ran[i].after;
                        char json[64];

                        (void) snprintf(json, sizeof(json), "{\"cpu\":{\"usage_usec\":%u}}", usec);
                        if (usec > 0)
                                sectioned_cgroup(sections, side, ran[i].cgroup, json);
                }
        return sections;
}

/* /new... was /old... */
static int old_name(void *userdata, Span name, Span *ret) {
        static char text[64];

        *ret = (Span){ NULL, 0 };
        if (userdata)
                return *(int *) userdata;
        if (name.n < 4 || memcmp(name.bytes, "/new", 4) != 0)
                return 0;
        (void) snprintf(text, sizeof(text), "/old%.*s", (int) name.n - 4, name.bytes + 4);
        *ret = span_of(text);
        return 0;
}

/* Every cgroup with its usage, "/a 1 2", "-" where there is none. */
static void rows_of(Sections *sections, char ret_text[static 256]) {
        const char *at = sectioned_text(sections);

        ret_text[0] = '\0';
        while ((at = strstr(at, "\"cgroup\":\""))) {
                const char *usage = strstr(at, "\"usage_usec\":");
                const char *before = strstr(usage, "\"before\":") + strlen("\"before\":");
                const char *after = strstr(usage, "\"after\":") + strlen("\"after\":");
                size_t n = strlen(ret_text);

                at += strlen("\"cgroup\":\"");
                (void) snprintf(ret_text + n, 256 - n, "%s%.*s %.*s %.*s", n > 0 ? "; " : "",
                                (int) strcspn(at, "\""), at, (int) strcspn(before, ",}"), before,
                                (int) strcspn(after, ",}"), after);
        }
}

static const struct {
        Ran ran[MAX_CGROUPS];
        const char *filter;
        const char *rows;
} rename_rows[] = {
        { { { "/old", 1, 0 }, { "/new", 0, 2 } }, "", "/old 1 2" },
        { { { "/old/x", 1, 0 }, { "/new/x", 0, 2 }, { "/a", 3, 4 } }, "", "/a 3 4; /old/x 1 2" },
        /* Each is used once, and nothing is overwritten. */
        { { { "/old", 1, 5 }, { "/new", 0, 2 } }, "", "/new null 2; /old 1 5" },
        { { { "/old", 1, 0 }, { "/new", 3, 2 } }, "", "/new 3 2; /old 1 null" },
        { { { "/new", 0, 2 } }, "", "/new null 2" },
        { { { "/old", 0, 1 }, { "/new", 0, 2 } }, "", "/new null 2; /old null 1" },
        /* A filter applies to the names that are shown. */
        { { { "/old", 1, 0 }, { "/new", 0, 2 } }, "/old*", "/old 1 2" },
        { { { "/old", 1, 0 }, { "/new", 0, 2 }, { "/newer", 0, 3 } }, "/new*", "/newer null 3" },
};

START_TEST(records_go_by_their_old_names) {
        Sections *sections = sections_of(rename_rows[_i].ran);
        char complaint[VIEW_COMPLAINT_BYTES], text[256];

        if (rename_rows[_i].filter[0] != '\0')
                ck_assert_int_eq(view_set(&sections->view, VIEW_PART_filter,
                                          span_of(rename_rows[_i].filter), complaint),
                                 VIEW_OK);
        ck_assert_int_eq(sections_rename(sections, old_name, NULL), 0);
        rows_of(sections, text);
        ck_assert_str_eq(text, rename_rows[_i].rows);
        sections_free(sections);
}
END_TEST

START_TEST(without_renaming_a_filter_drops_what_it_does_not_match) {
        static const Ran ran[MAX_CGROUPS] = { { "/a", 1, 2 }, { "/b", 1, 2 } };

        for (unsigned pairing = 0; pairing < 2; pairing++) {
                char complaint[VIEW_COMPLAINT_BYTES], text[256];
                Sections *sections = sections_of(&ran[2]);

                sections->view.pairing = pairing;
                ck_assert_int_eq(
                        view_set(&sections->view, VIEW_PART_filter, SPAN_LITERAL("/a"), complaint),
                        VIEW_OK);
                for (unsigned i = 0; i < 2; i++)
                        for (unsigned side = 0; side < 2; side++)
                                sectioned_cgroup(sections, side, ran[i].cgroup,
                                                 side ? "{\"cpu\":{\"usage_usec\":2}}"
                                                      : "{\"cpu\":{\"usage_usec\":1}}");
                rows_of(sections, text);
                ck_assert_str_eq(text, "/a 1 2");
                sections_free(sections);
        }
}
END_TEST

START_TEST(who_cannot_tell_names_ends_it) {
        static const Ran ran[MAX_CGROUPS] = { { "/old", 1, 0 }, { "/new", 0, 2 } };
        Sections *sections = sections_of(ran);
        int error = -ENOMEM;

        ck_assert_int_eq(sections_rename(sections, old_name, &error), -ENOMEM);
        sections_free(sections);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("section-rename");
        TCase *names = tcase_create("names");

        tcase_add_loop_test(names, records_go_by_their_old_names, 0, ELEMENTSOF(rename_rows));
        tcase_add_test(names, without_renaming_a_filter_drops_what_it_does_not_match);
        tcase_add_test(names, who_cannot_tell_names_ends_it);
        suite_add_tcase(suite, names);
        return check_main(suite);
}
