/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <stdio.h>

#include "analysis/group/member-list.h"
#include "colliding.h"
#include "json-text.h"

static const char *written(MemberList *list) {
        JsonWriter writer;

        member_list_sort(list);
        json_write_object(json_text_begin(&writer));
        member_list_write_json(&writer, "members", list);
        json_write_end(&writer);
        return json_text_end(&writer);
}

static void add(MemberList *list, const char *name) {
        ck_assert_int_eq(member_list_add(list, span_of(name), 1), 0);
}

START_TEST(members_stand_by_threads_then_name) {
        MemberList list = { .members = NULL };

        add(&list, "w2");
        add(&list, "w1");
        add(&list, "w3");
        add(&list, "w3");
        ck_assert_str_eq(written(&list), "{\"members\":[{\"name\":\"w3\",\"threads\":2},"
                                         "{\"name\":\"w1\",\"threads\":1},"
                                         "{\"name\":\"w2\",\"threads\":1}]}");
        member_list_done(&list);
}
END_TEST

START_TEST(names_are_bytes_and_may_be_empty) {
        MemberList list = { .members = NULL };

        ck_assert_int_eq(member_list_add(&list, (Span){ NULL, 0 }, 1), 0);
        add(&list, "");
        add(&list, "\xff");
        ck_assert_str_eq(written(&list), "{\"members\":[{\"name\":\"\",\"threads\":2},"
                                         "{\"name\":\"\xee\xbf\xbf\",\"threads\":1}]}");
        member_list_done(&list);
}
END_TEST

START_TEST(names_whose_hashes_collide_are_two_members) {
        MemberList list = { .members = NULL };

        ck_assert_colliding();
        ck_assert_int_eq(member_list_add(&list, COLLIDING_A, 1), 0);
        ck_assert_int_eq(member_list_add(&list, COLLIDING_B, 1), 0);
        ck_assert_uint_eq(list.n_members, 2);
        member_list_done(&list);
}
END_TEST

START_TEST(names_past_the_bound_are_counted) {
        MemberList list = { .members = NULL };
        uint64_t n_threads = 0;
        char name[16];

        for (unsigned i = 0; i < MEMBER_LIST_MAX_NAMES + 3; i++) {
                (void) snprintf(name, sizeof(name), "w%u", i);
                add(&list, name);
        }
        ck_assert_uint_eq(list.n_members, MEMBER_LIST_MAX_NAMES);
        ck_assert_uint_eq(list.n_omitted, 3);
        add(&list, "w0"); /* a listed name still counts as itself */
        add(&list, name);
        for (size_t i = 0; i < list.n_members; i++)
                n_threads += list.members[i].n_threads;
        ck_assert_uint_eq(n_threads, MEMBER_LIST_MAX_NAMES + 1);
        ck_assert_uint_eq(list.n_omitted, 4);
        ck_assert_ptr_nonnull(strstr(written(&list), "\"membersOmitted\":4}"));
        member_list_done(&list);
}
END_TEST

START_TEST(merged_lists_count_all_threads) {
        MemberList list = { .members = NULL }, from = { .members = NULL };
        char name[16];

        ck_assert_int_eq(member_list_add(&list, span_of("n0"), 1), 0);
        for (unsigned i = 0; i < MEMBER_LIST_MAX_NAMES + 3; i++) {
                (void) snprintf(name, sizeof(name), "n%u", i);
                ck_assert_int_eq(member_list_add(&from, span_of(name), 1), 0);
        }
        ck_assert_int_eq(member_list_add(&list, span_of("other"), 1), 0);
        ck_assert_int_eq(member_list_merge(&list, &from), 0);
        ck_assert_uint_eq(list.n_members, MEMBER_LIST_MAX_NAMES);
        ck_assert_uint_eq(list.members[0].n_threads, 2);
        ck_assert_uint_eq(list.n_omitted, 4); /* three that were, and one for the other */
        ck_assert_uint_eq(from.n_members, MEMBER_LIST_MAX_NAMES);
        member_list_done(&from);
        member_list_done(&list);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("member-list");
        TCase *members = tcase_create("members");

        tcase_add_test(members, merged_lists_count_all_threads);
        tcase_add_test(members, members_stand_by_threads_then_name);
        tcase_add_test(members, names_are_bytes_and_may_be_empty);
        tcase_add_test(members, names_whose_hashes_collide_are_two_members);
        tcase_add_test(members, names_past_the_bound_are_counted);
        suite_add_tcase(suite, members);
        return check_main(suite);
}
