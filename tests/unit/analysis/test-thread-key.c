/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include "analysis/key/thread-key.h"
#include "thread.h"
#include "vectors.h"

#define MAX_NAMES 64

typedef struct Named {
        Span name;
        char label[128];
} Named;

static void keys_of(ViewAxis axis, bool normalize, Named *names, size_t n_names) {
        ThreadKeys keys;
        View view;

        view_init(&view);
        view.axis = axis;
        view.thread_normalize = normalize;
        thread_keys_init(&keys, &view, BOOTS_UNKNOWN);
        for (size_t i = 0; i < n_names; i++) {
                ThreadSample sample = { .comm = names[i].name, .pcomm = names[i].name };

                for (unsigned j = 0; j < keys.n_parts; j++)
                        ck_assert_int_eq(key_part_census(&keys.parts[j],
                                                         key_part_name(&keys.parts[j], &sample)),
                                         0);
        }
        for (size_t i = 0; i < n_names; i++) {
                ThreadSample sample = { .comm = names[i].name, .pcomm = names[i].name };
                ThreadKey key;

                ck_assert_int_eq(thread_keys_make(&keys, SIDE_BEFORE, &sample, &key), 0);
                ck_assert(span_equal(key.id, key.label));
                ck_assert(span_equal(key.name, names[i].name));
                ck_assert(key.is_pattern || span_equal(key.label, names[i].name));
                (void) snprintf(names[i].label, sizeof(names[i].label), "%.*s", (int) key.label.n,
                                key.label.n > 0 ? key.label.bytes : "");
        }
        thread_keys_done(&keys);
}

static size_t split_names(const char *begin, const char *end, Named *ret_names) {
        size_t n = 0;

        for (const char *at = begin;; at++) {
                if (at < end && *at != ',')
                        continue;
                ck_assert_uint_lt(n, MAX_NAMES);
                ret_names[n++].name = vectors_word(begin, (size_t) (at - begin));
                if (at == end)
                        return n;
                begin = at + 1;
        }
}

static const char *smallest_label(const Named *names, size_t n_names, const char *above) {
        const char *smallest = NULL;

        for (size_t i = 0; i < n_names; i++)
                if ((!above || strcmp(names[i].label, above) > 0) &&
                    (!smallest || strcmp(names[i].label, smallest) < 0))
                        smallest = names[i].label;
        return smallest;
}

/* "label <- member|member ; label <- member" */
static void format_buckets(const Named *names, size_t n_names, Buffer *buffer) {
        const char *label = NULL, *terminated;

        while ((label = smallest_label(names, n_names, label))) {
                const char *joint = " <- ";

                if (buffer->n > 0)
                        ck_assert_int_eq(buffer_append_text(buffer, " ; "), 0);
                ck_assert_int_eq(buffer_append_text(buffer, label[0] ? label : "<empty>"), 0);
                for (size_t i = 0; i < n_names; i++) {
                        Span name = names[i].name.n > 0 ? names[i].name : span_of("<empty>");

                        if (strcmp(names[i].label, label) != 0)
                                continue;
                        ck_assert_int_eq(buffer_append_text(buffer, joint), 0);
                        ck_assert_int_eq(buffer_append(buffer, name.bytes, name.n), 0);
                        joint = "|";
                }
        }
        ck_assert_int_eq(buffer_terminate(buffer, &terminated), 0);
}

/* Names may contain tabs, so the column ends at the tab that makes the line true. */
static void check_buckets(const char *line) {
        for (const char *tab = strchr(line, '\t'); tab; tab = strchr(tab + 1, '\t')) {
                Named names[MAX_NAMES];
                size_t n_names = split_names(line, tab, names);
                Buffer buffer;
                bool same;

                buffer_init(&buffer, 0);
                keys_of(VIEW_AXIS_COMM, true, names, n_names);
                format_buckets(names, n_names, &buffer);
                same = span_is(buffer_span(&buffer), tab + 1);
                buffer_done(&buffer);
                if (same)
                        return;
        }
        ck_abort_msg("%s", line);
}

START_TEST(buckets_follow_the_vectors) {
        ck_assert_uint_gt(vectors_each("vectors-pattern.tsv", check_buckets), 80);
}
END_TEST

START_TEST(literal_axes_keep_names) {
        static const struct {
                ViewAxis axis;
                bool normalize;
        } rows[] = {
                { VIEW_AXIS_COMM_EXACT, true },
                { VIEW_AXIS_COMM, false },
                { VIEW_AXIS_PCOMM, false },
        };
        Named names[] = { { .name = SPAN_LITERAL("w1") }, { .name = SPAN_LITERAL("w2") } };

        keys_of(rows[_i].axis, rows[_i].normalize, names, 2);
        ck_assert_str_eq(names[0].label, "w1");
        ck_assert_str_eq(names[1].label, "w2");
}
END_TEST

START_TEST(an_axis_takes_its_own_name) {
        static const struct {
                ViewAxis axis;
                const char *key;
        } rows[] = {
                { VIEW_AXIS_PCOMM, "proc" },
                { VIEW_AXIS_COMM, "thr" },
                { VIEW_AXIS_COMM_EXACT, "thr" },
                { VIEW_AXIS_CGROUP, "/a" },
                { VIEW_AXIS_ALL, "/a\x1fproc\x1fthr" },
                { VIEW_AXIS_THREAD, "100\x1f"
                                    "123\x1f"
                                    "130\x1fproc\x1fthr" },
        };
        ThreadSample sample = thread_of("proc", "thr", 123);
        ThreadKeys keys;
        ThreadKey key;
        View view;

        sample.cgroup = SPAN_LITERAL("/a");
        view_init(&view);
        view.axis = rows[_i].axis;
        thread_keys_init(&keys, &view, BOOTS_UNKNOWN);
        ck_assert_int_eq(thread_keys_make(&keys, SIDE_BEFORE, &sample, &key), 0);
        ck_assert(span_is(key.label, rows[_i].key));
        thread_keys_done(&keys);
}
END_TEST

START_TEST(a_joint_in_a_name_joins_nothing) {
        ThreadSample one = thread_of("a\x1f"
                                     "b",
                                     "c", 1),
                     other = thread_of("a",
                                       "b\x1f"
                                       "c",
                                       2);
        char id[64], label[64];
        size_t n_id, n_label;
        ThreadKeys keys;
        ThreadKey key;
        View view;

        view_init(&view);
        view.axis = VIEW_AXIS_ALL;
        view.cgroup_normalize = view.thread_normalize = false;
        thread_keys_init(&keys, &view, BOOTS_SAME);
        ck_assert_int_eq(thread_keys_make(&keys, SIDE_BEFORE, &one, &key), 0);
        n_id = key.id.n;
        n_label = key.label.n;
        ck_assert_uint_lt(n_id, sizeof(id));
        memcpy(id, key.id.bytes, n_id);
        memcpy(label, key.label.bytes, n_label);
        ck_assert_int_eq(thread_keys_make(&keys, SIDE_BEFORE, &other, &key), 0);
        ck_assert(span_equal((Span){ label, n_label }, key.label));
        ck_assert(!span_equal((Span){ id, n_id }, key.id));
        thread_keys_done(&keys);
}
END_TEST

START_TEST(an_unknown_cgroup_is_the_empty_key) {
        ThreadSample sample = thread_of("p", "t", 1);
        ThreadKeys keys;
        ThreadKey key;
        View view;

        sample.cgroup = (Span){ NULL, 0 };
        view_init(&view);
        view.axis = VIEW_AXIS_CGROUP;
        thread_keys_init(&keys, &view, BOOTS_SAME);
        ck_assert_int_eq(key_part_census(keys.cgroup, sample.cgroup), 0);
        ck_assert_int_eq(thread_keys_make(&keys, SIDE_AFTER, &sample, &key), 0);
        ck_assert_uint_eq(key.id.n, 0);
        thread_keys_done(&keys);
}
END_TEST

static const struct {
        Boots boots;
        const char *comm_after;
        bool same;
} life_rows[] = {
        { BOOTS_SAME, "t", true },           { BOOTS_SAME, "renamed", true },
        { BOOTS_DIFFERENT, "t", false },     { BOOTS_UNKNOWN, "t", true },
        { BOOTS_UNKNOWN, "renamed", false },
};

START_TEST(a_life_is_within_a_boot) {
        ThreadSample before = thread_of("p", "t", 5);
        ThreadSample after = thread_of("p", life_rows[_i].comm_after, 5);
        char id[64];
        ThreadKeys keys;
        ThreadKey key;
        size_t n_id;
        View view;

        view_init(&view);
        view.axis = VIEW_AXIS_THREAD;
        thread_keys_init(&keys, &view, life_rows[_i].boots);
        ck_assert_int_eq(thread_keys_make(&keys, SIDE_BEFORE, &before, &key), 0);
        n_id = key.id.n;
        ck_assert_uint_lt(n_id, sizeof(id));
        memcpy(id, key.id.bytes, n_id);
        ck_assert_int_eq(thread_keys_make(&keys, SIDE_AFTER, &after, &key), 0);
        ck_assert(span_equal((Span){ id, n_id }, key.id) == life_rows[_i].same);
        thread_keys_done(&keys);
}
END_TEST

START_TEST(another_start_is_another_life) {
        ThreadSample sample = thread_of("p", "t", 5);
        ThreadKeys keys;
        ThreadKey key;
        char id[64];
        size_t n_id;
        View view;

        view_init(&view);
        view.axis = VIEW_AXIS_THREAD;
        thread_keys_init(&keys, &view, BOOTS_SAME);
        ck_assert_int_eq(thread_keys_make(&keys, SIDE_BEFORE, &sample, &key), 0);
        n_id = key.id.n;
        memcpy(id, key.id.bytes, n_id);
        sample.start_ticks++;
        ck_assert_int_eq(thread_keys_make(&keys, SIDE_AFTER, &sample, &key), 0);
        ck_assert(!span_equal((Span){ id, n_id }, key.id));
        thread_keys_done(&keys);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("thread-key");
        TCase *names = tcase_create("names");
        TCase *lives = tcase_create("lives");

        tcase_add_test(names, buckets_follow_the_vectors);
        tcase_add_loop_test(names, literal_axes_keep_names, 0, 3);
        tcase_add_loop_test(names, an_axis_takes_its_own_name, 0, 6);
        tcase_add_test(names, a_joint_in_a_name_joins_nothing);
        tcase_add_test(names, an_unknown_cgroup_is_the_empty_key);
        suite_add_tcase(suite, names);
        tcase_add_loop_test(lives, a_life_is_within_a_boot, 0, ELEMENTSOF(life_rows));
        tcase_add_test(lives, another_start_is_another_life);
        suite_add_tcase(suite, lives);
        return check_main(suite);
}
