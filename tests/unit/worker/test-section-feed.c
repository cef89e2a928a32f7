/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analysis/subject/section-feed.h"

#include "check-main.h"
#include "conversation.h"
#include "snapshot-fixture.h"

#define SHOW "io.ctprof.Profiler.Show"
#define COMPARE "io.ctprof.Profiler.Compare"
#define COMPARE_SETS "io.ctprof.Profiler.CompareSets"
#define SHOW_BY_CGROUP "{\"snapshot\":{\"fileDescriptor\":0},\"view\":{\"groupBy\":\"cgroup\"}}"

/* A file of format version 0. */
static int document(const char *threads, const char *rest) {
        Buffer text;
        int fd;

        buffer_init(&text, 0);
        ck_assert_int_eq(
                buffer_append_format(&text, "{\"threads\":[%s],\"host\":null%s}", threads, rest),
                0);
        fd = fixture_zstd(text.bytes, text.n);
        buffer_done(&text);
        return fd;
}

#define THREAD(id, pcomm, cgroup, rss)                                                          \
        "{\"tid\":" id ",\"tgid\":" id ",\"start_time_clock_ticks\":1,\"pcomm\":\"" pcomm       \
        "\",\"comm\":\"" pcomm "\",\"cgroup\":\"" cgroup "\",\"smaps_rollup_kb\":{\"Rss\":" rss \
        "}}"

static void analyse(const char *method, const char *parameters, const int *fds, size_t n_fds,
                    Conversation *ret) {
        converse(method, parameters, true, fds, n_fds, WORKER_FREE, ret);
        ck_assert_int_eq(ret->status, 0);
}

/* All rows of a section in all replies, as one array that the caller puts. */
static json_object *rows_of(const Conversation *answer, const char *section) {
        json_object *all = json_object_new_array();

        for (size_t i = 0; i < answer->n; i++) {
                json_object *rows = json_path(answer->replies[i], "sections", section, NULL);

                for (size_t j = 0; rows && j < json_object_array_length(rows); j++)
                        json_object_array_add(all,
                                              json_object_get(json_object_array_get_idx(rows, j)));
        }
        return all;
}

static const char *text_of(json_object *value) {
        return json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN |
                                                             JSON_C_TO_STRING_NOSLASHESCAPE);
}

START_TEST(records_have_the_keys_of_the_groups) {
        int fd = document(
                THREAD("1", "a", "/w-1.slice", "1") "," THREAD("2", "b", "/w-2.slice", "2"),
                ",\"cgroup_stats\":{\"/\":{\"cpu\":{\"usage_usec\":5}},"
                "\"/w-1.slice\":{\"cpu\":{\"usage_usec\":1}},"
                "\"/w-2.slice\":{\"cpu\":{\"usage_usec\":2}}}");
        Conversation answer;
        json_object *rows;

        analyse(SHOW, SHOW_BY_CGROUP, &fd, 1, &answer);
        ck_assert_ptr_null(answer.error);
        rows = rows_of(&answer, "cgroup-stats");
        ck_assert_str_eq(text_of(rows),
                         "[{\"cgroup\":\"/\",\"cpu\":{\"usage_usec\":5,\"nr_throttled\":null,"
                         "\"throttled_usec\":null},\"memory\":{\"current\":null},"
                         "\"reason\":\"not recorded by this file\"},"
                         "{\"cgroup\":\"/w-{N}.slice\",\"cpu\":{\"usage_usec\":3,"
                         "\"nr_throttled\":null,\"throttled_usec\":null},"
                         "\"memory\":{\"current\":null},"
                         "\"reason\":\"not recorded by this file\"}]");
        json_object_put(rows);
        conversation_done(&answer);
        (void) close(fd);
}
END_TEST

/* The keys that a view makes of the names of two processes. */
static const struct {
        const char *view;
        const char *rows;
} process_rows[] = {
        { "{\"groupBy\":\"thread\"}",
          "[{\"process\":\"w{N}\",\"key\":\"Rss\",\"unit\":\"bytes\",\"value\":"
          "{\"before\":1024,\"after\":2048,\"delta\":1024}}]" },
        { "{\"threadNormalize\":false}",
          "[{\"process\":\"w2\",\"key\":\"Rss\",\"unit\":\"bytes\",\"value\":"
          "{\"before\":null,\"after\":2048,\"delta\":null},"
          "\"reason\":\"before: no process of this name has readable memory maps\"},"
          "{\"process\":\"w1\",\"key\":\"Rss\",\"unit\":\"bytes\",\"value\":"
          "{\"before\":1024,\"after\":null,\"delta\":null},"
          "\"reason\":\"after: no process of this name has readable memory maps\"}]" },
        { "{\"sections\":[\"primary\"]}", "[]" },
};

START_TEST(memory_maps_have_the_keys_of_processes) {
        const int fds[] = { document(THREAD("1", "w1", "/a", "1"), ""),
                            document(THREAD("1", "w2", "/a", "2"), "") };
        char parameters[256];
        Conversation answer;
        json_object *rows;

        (void) snprintf(parameters, sizeof(parameters),
                        "{\"before\":{\"fileDescriptor\":0},\"after\":{\"fileDescriptor\":1},"
                        "\"view\":%s}",
                        process_rows[_i].view);
        analyse(COMPARE, parameters, fds, 2, &answer);
        ck_assert_ptr_null(answer.error);
        rows = rows_of(&answer, "smaps-rollup");
        ck_assert_str_eq(text_of(rows), process_rows[_i].rows);
        json_object_put(rows);
        conversation_done(&answer);
        (void) close(fds[0]);
        (void) close(fds[1]);
}
END_TEST

/* A deployment: ten threads in /@root/web, one in /@root/db, and records of all three. */
static int deployment(const char *root, unsigned usec) {
        Buffer threads, rest;
        const char *texts[2];
        int fd;

        buffer_init(&threads, 0);
        buffer_init(&rest, 0);
        for (unsigned i = 0; i < 11; i++)
                ck_assert_int_eq(
                        buffer_append_format(&threads,
                                             "%s{\"tid\":%u,\"tgid\":%u,"
                                             "\"start_time_clock_ticks\":1,\"pcomm\":\"p\","
                                             "\"comm\":\"kind-%c\",\"cgroup\":\"/%s/%s\"}",
                                             i > 0 ? "," : "", i + 1, i + 1, 'g' + (int) i, root,
                                             i < 10 ? "web" : "db"),
                        0);
        ck_assert_int_eq(
                buffer_append_format(&rest,
                                     ",\"cgroup_stats\":{\"/%s\":{\"cpu\":{\"usage_usec\":%u}},"
                                     "\"/%s/db\":{\"cpu\":{\"usage_usec\":%u}},"
                                     "\"/%s/web\":{\"cpu\":{\"usage_usec\":%u}}}",
                                     root, usec, root, usec + 1, root, usec + 2),
                0);
        ck_assert_int_eq(buffer_terminate(&threads, &texts[0]), 0);
        ck_assert_int_eq(buffer_terminate(&rest, &texts[1]), 0);
        fd = document(texts[0], texts[1]);
        buffer_done(&threads);
        buffer_done(&rest);
        return fd;
}

static const struct {
        const char *view;
        const char *cgroups; /* and usage before and after of each */
        size_t n_pairings;
} deployment_rows[] = {
        { "", "/old 10 20; /old/db 11 21; /old/web 12 22", 2 },
        { ",\"pairing\":false",
          "/new null 20; /new/db null 21; /new/web null 22; "
          "/old 10 null; /old/db 11 null; /old/web 12 null",
          0 },
        { ",\"pairing\":false,\"pairs\":[{\"old\":\"/old/db\",\"new\":\"/new/db\"}]",
          "/new null 20; /new/web null 22; /old 10 null; /old/db 11 21; /old/web 12 null", 1 },
        { ",\"pairing\":false,\"pairs\":[{\"old\":\"/old\",\"new\":\"/new\"}]",
          "/old 10 20; /old/db 11 21; /old/web 12 22", 3 },
        { ",\"filter\":\"/old/*\"", "/old/db 11 21; /old/web 12 22", 2 },
};

START_TEST(records_of_renamed_cgroups_are_compared) {
        const int fds[] = { deployment("old", 10), deployment("new", 20) };
        char parameters[256], text[256] = "";
        json_object *rows, *pairings = NULL;
        Conversation answer;

        (void) snprintf(parameters, sizeof(parameters),
                        "{\"before\":{\"fileDescriptor\":0},\"after\":{\"fileDescriptor\":1},"
                        "\"view\":{\"groupBy\":\"%s\"%s}}",
                        _i % 2 ? "all" : "cgroup", deployment_rows[_i / 2].view);
        analyse(COMPARE, parameters, fds, 2, &answer);
        ck_assert_ptr_null(answer.error);
        rows = rows_of(&answer, "cgroup-stats");
        for (size_t i = 0; i < json_object_array_length(rows); i++) {
                json_object *row = json_object_array_get_idx(rows, i);
                json_object *usage = json_path(row, "cpu", "usage_usec", NULL);
                size_t n = strlen(text);

                (void) snprintf(text + n, sizeof(text) - n, "%s%s", n > 0 ? "; " : "",
                                json_string_at(row, "cgroup"));
                n = strlen(text);
                (void) snprintf(text + n, sizeof(text) - n, " %s",
                                text_of(json_object_object_get(usage, "before")));
                n = strlen(text);
                (void) snprintf(text + n, sizeof(text) - n, " %s",
                                text_of(json_object_object_get(usage, "after")));
        }
        ck_assert_str_eq(text, deployment_rows[_i / 2].cgroups);
        (void) json_object_object_get_ex(answer.replies[answer.n - 1], "pairings", &pairings);
        ck_assert_uint_eq(json_object_array_length(pairings), deployment_rows[_i / 2].n_pairings);
        json_object_put(rows);
        conversation_done(&answer);
        (void) close(fds[0]);
        (void) close(fds[1]);
}
END_TEST

#define UUID(digit) "550e8400-e29b-41d4-a716-44665544000" digit

/* One capture of pods: @n_own threads of distinct kinds in each of @containers, and the records. */
typedef struct Pods {
        const char *containers[4];
        const char *records[4];
        unsigned n_own;
} Pods;

static int pods(const Pods *at, unsigned usec) {
        Buffer threads, rest;
        const char *texts[2];
        unsigned tid = 0;
        int fd;

        buffer_init(&threads, 0);
        buffer_init(&rest, 0);
        for (size_t i = 0; i < ELEMENTSOF(at->containers) && at->containers[i]; i++)
                for (unsigned j = 0; j < at->n_own; j++, tid++)
                        ck_assert_int_eq(buffer_append_format(&threads,
                                                              "%s{\"tid\":%u,\"tgid\":%u,"
                                                              "\"start_time_clock_ticks\":1,"
                                                              "\"pcomm\":\"p%c\",\"comm\":\"k%c\","
                                                              "\"cgroup\":\"%s\"}",
                                                              tid > 0 ? "," : "", tid + 1, tid + 1,
                                                              'g' + (int) i, 'g' + (int) j,
                                                              at->containers[i]),
                                         0);
        for (size_t i = 0; i < ELEMENTSOF(at->records) && at->records[i]; i++)
                ck_assert_int_eq(
                        buffer_append_format(&rest,
                                             "%s\"%s\":{\"cpu\":{\"usage_usec\":%u},"
                                             "\"memory\":{\"max\":%u},"
                                             "\"psi\":{\"cpu\":{\"some\":{\"total_usec\":%u}}}}",
                                             i > 0 ? "," : ",\"cgroup_stats\":{", at->records[i],
                                             usec, 10 * usec, 100 * usec),
                        0);
        ck_assert_int_eq(buffer_append_text(&rest, "}"), 0);
        ck_assert_int_eq(buffer_terminate(&threads, &texts[0]), 0);
        ck_assert_int_eq(buffer_terminate(&rest, &texts[1]), 0);
        fd = document(texts[0] ? texts[0] : "", texts[1]);
        buffer_done(&threads);
        buffer_done(&rest);
        return fd;
}

/* "before after delta" of the row of @cgroup; "" when there is no such row. */
static void figures_of(const Conversation *answer, const char *section, const char *cgroup,
                       const char *const path[static 3], char *ret_text, size_t n_text) {
        json_object *rows = rows_of(answer, section), *figures;

        ret_text[0] = '\0';
        for (size_t i = 0; i < json_object_array_length(rows); i++) {
                json_object *row = json_object_array_get_idx(rows, i);

                if (strcmp(json_string_at(row, "cgroup"), cgroup) != 0)
                        continue;
                ck_assert_str_eq(ret_text, "");
                figures = json_path(row, path[0], path[1], path[2], NULL);
                ck_assert_ptr_nonnull(figures);
                (void) snprintf(ret_text, n_text, "%s",
                                text_of(json_object_object_get(figures, "before")));
                (void) snprintf(ret_text + strlen(ret_text), n_text - strlen(ret_text), " %s",
                                text_of(json_object_object_get(figures, "after")));
                (void) snprintf(ret_text + strlen(ret_text), n_text - strlen(ret_text), " %s",
                                text_of(json_object_object_get(figures, "delta")));
        }
        json_object_put(rows);
}

static const struct {
        Pods sides[2];
        const char *view;
        const char *key;
        const char *usage; /* of the key */
} pod_rows[] = {
        /* The slice of a pod has no threads, and it alone has two names. */
        { { { .records = { "/kubepods/pod" UUID("1") } },
            { .records = { "/kubepods/pod" UUID("2") } } },
          "",
          "/kubepods/pod{U}",
          "10 20 10" },
        /* The threads are in a container below it. */
        { { { { "/kubepods/pod" UUID("1") "/app" },
              { "/kubepods/pod" UUID("1"), "/kubepods/pod" UUID("1") "/app" },
              1 },
            { { "/kubepods/pod" UUID("2") "/app" },
              { "/kubepods/pod" UUID("2"), "/kubepods/pod" UUID("2") "/app" },
              1 } },
          "",
          "/kubepods/pod{U}",
          "10 20 10" },
        /* A neighbour with threads of its own makes no difference. */
        { { { { "/kubepods/pod" UUID("3") },
              { "/kubepods/pod" UUID("1"), "/kubepods/pod" UUID("3") },
              1 },
            { { "/kubepods/pod" UUID("3") }, { "/kubepods/pod" UUID("2") }, 1 } },
          "",
          "/kubepods/pod{U}",
          "20 20 0" },
        { { { .records = { "/kubepods/pod" UUID("1") } },
            { .records = { "/kubepods/pod" UUID("2") } } },
          ",\"cgroupNormalize\":false",
          "/kubepods/pod" UUID("1"),
          "10 null null" },
        /* One pod becomes another, and both their names are literal. */
        { { { { "/blue/pod" UUID("1") "/app" }, { "/blue/pod" UUID("1") }, 10 },
            { { "/green/pod" UUID("2") "/app" }, { "/green/pod" UUID("2") }, 10 } },
          "",
          "/blue/pod" UUID("1"),
          "10 20 10" },
        /* Two become two: the slices share a pattern, their containers have names of their own. */
        { { { { "/blue/pod" UUID("1") "/web", "/blue/pod" UUID("2") "/db" },
              { "/blue/pod" UUID("1"), "/blue/pod" UUID("2") },
              10 },
            { { "/green/pod" UUID("3") "/web", "/green/pod" UUID("4") "/db" },
              { "/green/pod" UUID("3"), "/green/pod" UUID("4") },
              10 } },
          "",
          "/blue/pod{U}",
          "20 40 20" },
        /* One becomes two of a pattern, and two of a pattern become one. */
        { { { { "/blue/pod" UUID("1") "/web" }, { "/blue/pod" UUID("1") }, 10 },
            { { "/green/pod" UUID("3") "/web", "/green/pod" UUID("4") "/db" },
              { "/green/pod" UUID("3"), "/green/pod" UUID("4") },
              10 } },
          "",
          "/blue/pod" UUID("1"),
          "10 40 30" },
        { { { { "/blue/pod" UUID("1") "/web", "/blue/pod" UUID("2") "/db" },
              { "/blue/pod" UUID("1"), "/blue/pod" UUID("2") },
              10 },
            { { "/green/pod" UUID("3") "/web" }, { "/green/pod" UUID("3") }, 10 } },
          "",
          "/blue/pod{U}",
          "20 20 0" },
};

START_TEST(a_pod_is_followed_over_a_deployment) {
        static const char *const usage[3] = { "cpu", "usage_usec" };
        const int fds[] = { pods(&pod_rows[_i / 2].sides[0], 10),
                            pods(&pod_rows[_i / 2].sides[1], 20) };
        char parameters[256], text[64];
        Conversation answer;

        (void) snprintf(parameters, sizeof(parameters),
                        "{\"before\":{\"fileDescriptor\":0},\"after\":{\"fileDescriptor\":1},"
                        "\"view\":{\"groupBy\":\"%s\"%s}}",
                        _i % 2 ? "all" : "cgroup", pod_rows[_i / 2].view);
        analyse(COMPARE, parameters, fds, 2, &answer);
        ck_assert_ptr_null(answer.error);
        figures_of(&answer, "cgroup-stats", pod_rows[_i / 2].key, usage, text, sizeof(text));
        ck_assert_str_eq(text, pod_rows[_i / 2].usage);
        conversation_done(&answer);
        (void) close(fds[0]);
        (void) close(fds[1]);
}
END_TEST

START_TEST(limits_and_pressure_of_a_pod_have_a_delta) {
        static const struct {
                const char *section;
                const char *path[3];
                const char *figures;
        } sections[] = {
                { "cgroup-stats", { "cpu", "usage_usec" }, "10 20 10" },
                { "cgroup-limits", { "memory", "max" }, "100 200 100" },
                { "pressure", { "total_usec" }, "1000 2000 1000" },
        };
        const int fds[] = { pods(&pod_rows[1].sides[0], 10), pods(&pod_rows[1].sides[1], 20) };
        Conversation answer;
        char text[64];

        analyse(COMPARE,
                "{\"before\":{\"fileDescriptor\":0},\"after\":{\"fileDescriptor\":1},"
                "\"view\":{\"groupBy\":\"cgroup\"}}",
                fds, 2, &answer);
        ck_assert_ptr_null(answer.error);
        for (size_t i = 0; i < ELEMENTSOF(sections); i++) {
                figures_of(&answer, sections[i].section, pod_rows[1].key, sections[i].path, text,
                           sizeof(text));
                ck_assert_str_eq(text, sections[i].figures);
        }
        conversation_done(&answer);
        (void) close(fds[0]);
        (void) close(fds[1]);
}
END_TEST

/* One of the two cgroups has a thread, the other only a record: the group is a pattern. */
START_TEST(groups_of_threads_count_cgroups_without_threads) {
        static const char *const calls[][2] = {
                { SHOW, "{\"snapshot\":{\"fileDescriptor\":0},\"view\":{\"groupBy\":\"cgroup\"}}" },
                { SHOW, "{\"snapshot\":{\"fileDescriptor\":0},\"view\":{\"groupBy\":\"cgroup\","
                        "\"sections\":[\"primary\"]}}" },
                { COMPARE_SETS, "{\"before\":[{\"fileDescriptor\":0},{\"fileDescriptor\":1}],"
                                "\"after\":[{\"fileDescriptor\":2},{\"fileDescriptor\":3}],"
                                "\"view\":{\"groupBy\":\"cgroup\",\"sections\":[\"primary\"]}}" },
        };
        const char *key = NULL;
        Conversation answer;
        int fds[4];

        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                fds[i] = document(THREAD("1", "a", "/w-1.slice", "1"),
                                  ",\"cgroup_stats\":{\"/w-1.slice\":{},\"/w-2.slice\":{}}");
        analyse(calls[_i][0], calls[_i][1], fds, _i == 2 ? 4 : 1, &answer);
        ck_assert_ptr_null(answer.error);
        for (size_t i = 0; i < answer.n; i++) {
                json_object *groups = json_path(answer.replies[i], "groups", NULL);

                if (groups && json_object_array_length(groups) > 0)
                        key = json_string_at(json_object_array_get_idx(groups, 0), "key");
        }
        ck_assert_str_eq(key, "/w-{N}.slice");
        conversation_done(&answer);
        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                (void) close(fds[i]);
}
END_TEST

static const char *const malformed_rows[] = {
        ",\"cgroup_stats\":{\"/a\":{\"cpu\":{\"usage_usec\":\"7\"}}}",
        ",\"psi\":{\"cpu\":7}",
        ",\"sched_ext\":{\"state\":7}",
};

START_TEST(a_record_of_another_shape_is_the_fault_of_the_file) {
        int fd = document(THREAD("1", "a", "/a", "1"), malformed_rows[_i]);
        Conversation answer;

        analyse(SHOW, SHOW_BY_CGROUP, &fd, 1, &answer);
        ck_assert_ptr_nonnull(answer.error);
        ck_assert_str_eq(answer.error, "io.ctprof.Profiler.SnapshotUnreadable");
        conversation_done(&answer);

        /* Who does not ask for it is not told. */
        analyse(SHOW,
                "{\"snapshot\":{\"fileDescriptor\":0},\"view\":{\"groupBy\":\"cgroup\","
                "\"sections\":[\"primary\"]}}",
                &fd, 1, &answer);
        ck_assert_ptr_null(answer.error);
        conversation_done(&answer);
        (void) close(fd);
}
END_TEST

#define N_CGROUPS 4000

START_TEST(many_rows_come_in_many_replies) {
        Conversation answer;
        json_object *rows;
        size_t n_parts = 0;
        Buffer text;
        int fd;

        buffer_init(&text, 0);
        ck_assert_int_eq(buffer_append_text(&text, ",\"cgroup_stats\":{"), 0);
        for (unsigned i = 0; i < N_CGROUPS; i++)
                ck_assert_int_eq(buffer_append_format(&text,
                                                      "%s\"/c%05u\":{\"pids\":{\"current\":%u}}",
                                                      i > 0 ? "," : "", i, i),
                                 0);
        ck_assert_int_eq(buffer_append(&text, "}\0", 2), 0);
        fd = document("", text.bytes);
        buffer_done(&text);

        analyse(SHOW,
                "{\"snapshot\":{\"fileDescriptor\":0},\"view\":{\"groupBy\":\"cgroup\","
                "\"cgroupNormalize\":false,\"sections\":[\"cgroup-limits\"],"
                "\"limit\":0}}",
                &fd, 1, &answer);
        ck_assert_ptr_null(answer.error);
        for (size_t i = 0; i < answer.n; i++) {
                json_object *part = json_path(answer.replies[i], "sections", NULL);

                if (!part)
                        continue;
                n_parts++;
                ck_assert_uint_lt(strlen(text_of(part)), 2 * LIMIT_BATCH_BYTES);
        }
        ck_assert_uint_gt(n_parts, 1);
        ck_assert_ptr_nonnull(json_path(answer.replies[answer.n - 1], "sections", NULL));
        rows = rows_of(&answer, "cgroup-limits");
        ck_assert_uint_eq(json_object_array_length(rows), N_CGROUPS);
        for (size_t i = 0; i < N_CGROUPS; i++)
                ck_assert_int_eq(json_object_get_int(json_path(json_object_array_get_idx(rows, i),
                                                               "pids", "current", NULL)),
                                 (int) i);
        json_object_put(rows);
        conversation_done(&answer);
        (void) close(fd);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("section-feed");
        TCase *sections = tcase_create("sections");

        tcase_add_test(sections, records_have_the_keys_of_the_groups);
        tcase_add_loop_test(sections, memory_maps_have_the_keys_of_processes, 0,
                            ELEMENTSOF(process_rows));
        tcase_add_loop_test(sections, records_of_renamed_cgroups_are_compared, 0,
                            2 * ELEMENTSOF(deployment_rows));
        tcase_add_loop_test(sections, a_pod_is_followed_over_a_deployment, 0,
                            2 * ELEMENTSOF(pod_rows));
        tcase_add_test(sections, limits_and_pressure_of_a_pod_have_a_delta);
        tcase_add_loop_test(sections, groups_of_threads_count_cgroups_without_threads, 0, 3);
        tcase_add_loop_test(sections, a_record_of_another_shape_is_the_fault_of_the_file, 0,
                            ELEMENTSOF(malformed_rows));
        tcase_add_test(sections, many_rows_come_in_many_replies);
        suite_add_tcase(suite, sections);
        return check_main(suite);
}
