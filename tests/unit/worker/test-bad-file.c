/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/worker.h"

#include <sys/mman.h>
#include <time.h>
#include "check-main.h"
#include "conversation.h"
#include "snapshot-fixture.h"

/* Every way to read a bad file must end in one error, never in half an answer. */
static const struct {
        const char *method, *parameters;
        size_t n_fds;
} readers[] = {
        { "io.ctprof.Profiler.Show", "{\"snapshot\":{\"fileDescriptor\":0,\"label\":\"bad\"}}", 1 },
        { "io.ctprof.Profiler.Info", "{\"snapshot\":{\"fileDescriptor\":0,\"label\":\"bad\"}}", 1 },
        { "io.ctprof.Profiler.Compare",
          "{\"before\":{\"fileDescriptor\":1},\"after\":{\"fileDescriptor\":0,\"label\":\"bad\"}}",
          2 },
};

/* The same with an order of the main process, whose output is the third file. */
static const struct {
        OrderMethod method;
        OrderFormat format;
} obeying_readers[] = {
        { ORDER_CONVERT, ORDER_FORMAT_KTSTR },
        { ORDER_CONVERT, ORDER_FORMAT_NDJSON },
        { ORDER_IMPORT, 0 },
        { ORDER_TELL_SOURCES, 0 },
};

static void obey_reader(size_t i, const int *fds, WorkerConfinement confinement,
                        Conversation *ret) {
        _cleanup_(freep) Order *order = order_new(obeying_readers[i].method);
        OrderFile *file = &order->analysis.subjects[0].from;

        order->analysis.n[0] = 1;
        order->analysis.format = obeying_readers[i].format;
        order->analysis.output = 3;
        (void) snprintf(order->analysis.name.text, sizeof(order->analysis.name.text), "x");
        file->fd = 1;
        ck_assert(order_set_label(&order->analysis, file, "bad"));
        obey(order, fds, 3, confinement, ret);
}

#define N_READERS (ELEMENTSOF(readers) + ELEMENTSOF(obeying_readers))

static void read_one(size_t reader, int fd, const char *what, WorkerConfinement confinement) {
        FixtureSnapshot good = FIXTURE_SNAPSHOT;
        int fds[] = { fd, fixture_snapshot(&good), fixture_file("", 0) };
        bool obeys = reader >= ELEMENTSOF(readers);
        Conversation answer;
        json_object *last;

        if (obeys)
                obey_reader(reader - ELEMENTSOF(readers), fds, confinement, &answer);
        else
                converse(readers[reader].method, readers[reader].parameters, true, fds,
                         readers[reader].n_fds, confinement, &answer);
        ck_assert_msg(answer.status == 0 && answer.finished, "%s: %zu: no answer, status %d", what,
                      reader, answer.status);
        ck_assert_msg(answer.error &&
                              strcmp(answer.error, "io.ctprof.Profiler.SnapshotUnreadable") == 0,
                      "%s: %zu: %s", what, reader, answer.error);
        last = answer.replies[answer.n - 1];
        ck_assert_ptr_nonnull(json_string_at(last, "name"));
        ck_assert_msg(json_string_at(last, "reason") && json_string_at(last, "reason")[0],
                      "%s: %zu: no reason", what, reader);
        /* No content of a file is answered before the whole file was checked. */
        for (size_t i = 0; i + 1 < answer.n; i++)
                ck_assert_ptr_nonnull(json_path(answer.replies[i], "progress", NULL));
        conversation_done(&answer);
        (void) close(fds[1]);
        (void) close(fds[2]);
}

static void verify_one(int fd, const char *what, WorkerConfinement confinement) {
        json_object *row;
        Conversation answer;

        converse("io.ctprof.Profiler.Verify",
                 "{\"snapshots\":[{\"fileDescriptor\":0,\"label\":\"bad\"}]}", false, &fd, 1,
                 confinement, &answer);
        ck_assert_msg(!answer.error && answer.finished, "%s: %s", what, answer.error);
        row = json_object_array_get_idx(json_path(answer.replies[0], "results", NULL), 0);
        ck_assert_msg(!json_object_get_boolean(json_path(row, "ok", NULL)), "%s: is ok", what);
        ck_assert_msg(json_string_at(row, "error")[0] != '\0', "%s: no reason", what);
        conversation_done(&answer);
}

/* Tries every reader, inside and outside the sandbox. */
static void must_be_refused(int fd, const char *what) {
        for (size_t i = 0; i < N_READERS; i++)
                read_one(i, fd, what, WORKER_FREE);
        verify_one(fd, what, WORKER_FREE);
        if (!check_lacks_filters()) {
                for (size_t i = 0; i < N_READERS; i++)
                        read_one(i, fd, what, WORKER_CONFINED);
                verify_one(fd, what, WORKER_CONFINED);
        }
        (void) close(fd);
}

START_TEST(an_empty_file_is_refused) {
        must_be_refused(fixture_file("", 0), "empty");
}
END_TEST

START_TEST(what_is_not_zstd_is_refused) {
        must_be_refused(fixture_file("hello, world\n", 13), "text");
}
END_TEST

START_TEST(garbage_in_zstd_is_refused) {
        char garbage[1000];

        for (size_t i = 0; i < sizeof(garbage); i++)
                garbage[i] = (char) (i * 2654435761u >> 13);
        must_be_refused(fixture_zstd(garbage, sizeof(garbage)), "garbage");
}
END_TEST

START_TEST(a_bomb_is_refused) {
        static const char starts[] = { ' ', '0', '[', '"', '\0' };
        size_t n = 64u << 20;
        char *bomb = malloc(n);

        ck_assert_ptr_nonnull(bomb);
        memset(bomb, starts[_i], n);
        bomb[0] = '{';
        must_be_refused(fixture_zstd(bomb, n), "bomb");
        free(bomb);
}
END_TEST

START_TEST(a_descriptor_that_is_no_file_is_refused) {
        int pair[2], directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
        must_be_refused(pair[0], "pipe");
        must_be_refused(directory, "directory");
        (void) close(pair[1]);
}
END_TEST

/*
 * A good file whose body is stretched by a hole, to more than any snapshot may have: reading it to
 * check its digest would take an hour.
 */
START_TEST(a_file_longer_than_any_snapshot_is_refused_at_once) {
        FixtureSnapshot good = FIXTURE_SNAPSHOT;
        const off_t length = (off_t) 16 << 40;
        int from = fixture_snapshot(&good), fd = memfd_create("long", MFD_CLOEXEC);
        struct timespec begin, end;
        size_t n;
        char *bytes = fixture_bytes(from, &n);

        ck_assert_int_eq(pwrite(fd, bytes, n / 2, 0), (ssize_t) (n / 2));
        ck_assert_int_eq(pwrite(fd, bytes, n, length - (off_t) n), (ssize_t) n);
        (void) clock_gettime(CLOCK_MONOTONIC, &begin);
        must_be_refused(fd, "16 TiB");
        (void) clock_gettime(CLOCK_MONOTONIC, &end);
        ck_assert_int_lt(end.tv_sec - begin.tv_sec, 10);
        free(bytes);
        (void) close(from);
}
END_TEST

/* A job for each byte takes minutes. The last byte is always among them. */
static size_t stride(void) {
        return getenv("CTPROF_THOROUGH") ? 1 : 3;
}

START_TEST(a_file_cut_anywhere_is_refused) {
        FixtureSnapshot good = FIXTURE_SNAPSHOT;
        char what[64], *bytes;
        int fd = fixture_snapshot(&good), cut;
        size_t n;

        bytes = fixture_bytes(fd, &n);
        for (size_t i = (n - 1) % stride(); i < n; i += stride()) {
                (void) snprintf(what, sizeof(what), "cut at %zu of %zu", i, n);
                cut = fixture_file(bytes, i);
                read_one(i / stride() % N_READERS, cut, what, WORKER_FREE);
                verify_one(cut, what, WORKER_FREE);
                (void) close(cut);
        }
        free(bytes);
        (void) close(fd);
}
END_TEST

START_TEST(a_flipped_bit_is_noticed) {
        FixtureSnapshot good = FIXTURE_SNAPSHOT;
        char what[64], *bytes;
        int fd = fixture_snapshot(&good), flipped;
        size_t n;

        bytes = fixture_bytes(fd, &n);
        for (size_t i = (n - 1) % stride(); i < n; i += stride()) {
                char bit = (char) (1 << i % 8);

                (void) snprintf(what, sizeof(what), "bit %zu of byte %zu of %zu", i % 8, i, n);
                bytes[i] = (char) (bytes[i] ^ bit);
                flipped = fixture_file(bytes, n);
                bytes[i] = (char) (bytes[i] ^ bit);
                read_one(i / stride() % N_READERS, flipped, what, WORKER_FREE);
                verify_one(flipped, what, WORKER_FREE);
                (void) close(flipped);
        }
        free(bytes);
        (void) close(fd);
}
END_TEST

#define THREAD(members) \
        "{\"captured_at_unix_ns\":1,\"threads\":[{\"tid\":1,\"tgid\":1," members "}]}"

static const struct {
        const char *name, *text;
} documents[] = {
        { "no object", "[]" },
        { "no threads", "{}" },
        { "null", "null" },
        { "a number for threads", "{\"threads\":7}" },
        { "two documents", "{\"threads\":[]}{}" },
        { "a comma too many", "{\"threads\":[],}" },
        { "not finished", "{\"threads\":[" },
        { "a number for a thread", "{\"threads\":[7]}" },
        { "NaN", THREAD("\"run_time_ns\":NaN") },
        { "single quotes", "{'threads':[]}" },
        { "text for a count", THREAD("\"run_time_ns\":\"7\"") },
        { "2^64", THREAD("\"run_time_ns\":18446744073709551616") },
        { "2^64 in a cgroup", "{\"threads\":[],\"cgroup_stats\":{\"/"
                              "\":{\"cpu\":{\"usage_usec\":18446744073709551616}}}}" },
        { "a negative count", THREAD("\"run_time_ns\":-1") },
        { "a fraction", THREAD("\"run_time_ns\":1.5") },
        { "a tid of 0", "{\"threads\":[{\"tid\":\"1\",\"tgid\":1}]}" },
        { "a member twice", THREAD("\"comm\":\"a\",\"comm\":\"b\"") },
        { "threads twice", "{\"threads\":[],\"threads\":[]}" },
        { "a lone surrogate", THREAD("\"comm\":\"\\ud800\"") },
        { "a NUL", THREAD("\"comm\":\"\\u0000\"") },
        { "invalid UTF-8", THREAD("\"comm\":\"\xff\"") },
        { "host is a number", "{\"host\":7,\"threads\":[]}" },
        { "a newer format", "{\"formatVersion\":99,\"threads\":{\"columns\":[],\"rows\":[]}}" },
        { "our format without a head",
          "{\"formatVersion\":1,\"threads\":{\"columns\":[\"tid\",\"tgid\"],\"rows\":[]},"
          "\"cgroup_stats\":{}}" },
};

START_TEST(a_document_out_of_its_grammar_is_refused) {
        must_be_refused(fixture_zstd(documents[_i].text, strlen(documents[_i].text)),
                        documents[_i].name);
}
END_TEST

START_TEST(nesting_without_end_is_refused) {
        size_t n = 10000;
        char *text = malloc(2 * n + 32);
        int length;

        ck_assert_ptr_nonnull(text);
        length = snprintf(text, 32, "{\"threads\":[],\"x\":");
        memset(text + length, '[', n);
        memset(text + length + n, ']', n);
        text[(size_t) length + 2 * n] = '}';
        must_be_refused(fixture_zstd(text, (size_t) length + 2 * n + 1), "10,000 deep");
        free(text);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("bad-file");
        TCase *file = tcase_create("file");
        TCase *damage = tcase_create("damage");
        TCase *document = tcase_create("document");

        tcase_add_test(file, an_empty_file_is_refused);
        tcase_add_test(file, what_is_not_zstd_is_refused);
        tcase_add_test(file, garbage_in_zstd_is_refused);
        tcase_add_loop_test(file, a_bomb_is_refused, 0, 5);
        tcase_add_test(file, a_descriptor_that_is_no_file_is_refused);
        tcase_add_test(file, a_file_longer_than_any_snapshot_is_refused_at_once);
        tcase_add_test(damage, a_file_cut_anywhere_is_refused);
        tcase_add_test(damage, a_flipped_bit_is_noticed);
        tcase_add_loop_test(document, a_document_out_of_its_grammar_is_refused, 0,
                            ELEMENTSOF(documents));
        tcase_add_test(document, nesting_without_end_is_refused);
        suite_add_tcase(suite, file);
        suite_add_tcase(suite, damage);
        suite_add_tcase(suite, document);
        return check_main(suite);
}
