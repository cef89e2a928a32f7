/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool-fixture.h"

#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "spool/spool-directory.h"
#include "spool/spool-index.h"

static SpoolIndex *spool_index;

/* Snapshots that were opened: in place of the C library's function in this program. */
static unsigned n_opened;

int openat(int directory, const char *path, int flags, ...) {
        mode_t mode = 0;
        va_list rest;

        if (flags & (O_CREAT | O_TMPFILE)) {
                va_start(rest, flags);
                mode = va_arg(rest, mode_t);
                va_end(rest);
        }
        n_opened += strstr(path, SNAPSHOT_FILE_SUFFIX) != NULL;
        return (int) syscall(SYS_openat, directory, path, flags, mode);
}

/* As a survey of the spool does. */
static void survey(void) {
        Buffer body = { .bytes = NULL };
        SpoolEntry *entries;
        SpoolStamp stamp;
        size_t n;

        ck_assert_int_eq(spool_list(spool, &entries, &n), 0);
        ck_assert_int_eq(spool_stamp_read(dir.fd, &stamp), 0);
        for (size_t i = 0; i < n; i++)
                ck_assert_int_eq(spool_entry_pack(&body, &entries[i]), 0);
        spool_entries_free(entries, n);
        ck_assert_int_eq(spool_index_begin(spool_index), 0);
        ck_assert_int_eq(spool_index_add(spool_index, buffer_span(&body)), 0);
        ck_assert_int_eq(
                spool_index_end(spool_index, (Span){ (const char *) &stamp, sizeof(stamp) }), 0);
        buffer_done(&body);
}

static bool has_change(Spool *job) {
        Buffer body = { .bytes = NULL };
        bool has;

        ck_assert_int_eq(spool_change_pack(job, &body), 0);
        has = body.n > 0;
        buffer_done(&body);
        return has;
}

static Spool *job_new(void) {
        Spool *job;

        ck_assert_int_eq(spool_open(dir.path, &job), 0);
        return job;
}

/* Ends the job, and the index follows what it did. */
static void job_end(Spool *job) {
        Buffer body = { .bytes = NULL };

        ck_assert_int_eq(spool_change_pack(job, &body), 0);
        ck_assert_uint_gt(body.n, 0);
        spool_index_follow(spool_index, buffer_span(&body));
        buffer_done(&body);
        (void) spool_free(job);
}

static bool is_current(void) {
        return spool_index_is_current(spool_index, dir.fd);
}

static void check_view(const SpoolView *view, const char *expected) {
        uint64_t size = 0, allocated = 0;
        char names[1024] = "";

        for (size_t i = 0; i < view->n; i++) {
                (void) strcat(names, view->entries[i]->name);
                (void) strcat(names, view->entries[i]->damaged ? "! " : " ");
                size += view->entries[i]->size_bytes;
                allocated += view->entries[i]->allocated_bytes;
        }
        ck_assert_str_eq(names, expected);
        ck_assert_uint_eq(view->size_bytes, size);
        ck_assert_uint_eq(view->allocated_bytes, allocated);
}

static void index_set_up(void) {
        set_up();
        ck_assert_int_eq(spool_index_new(&spool_index), 0);
}

static void index_tear_down(void) {
        spool_index = spool_index_free(spool_index);
        tear_down();
}

/* The clock of the file system may stand still for some milliseconds. */
static void pass_a_tick(void) {
        (void) usleep(30000);
}

START_TEST(an_index_is_current_from_its_survey_to_the_next_change) {
        ck_assert(!is_current());
        check_view(spool_index->view, "");
        put("a", 10, 1000, true);
        survey();
        ck_assert(is_current());
        pass_a_tick();
        put("b", 20, 1000, true);
        ck_assert(!is_current());
        check_view(spool_index->view, "a ");
        survey();
        ck_assert(is_current());
        check_view(spool_index->view, "b a ");
        pass_a_tick();
        ck_assert_int_eq(unlinkat(dir.fd, "a" SNAPSHOT_FILE_SUFFIX, 0), 0);
        ck_assert(!is_current());
        survey();
        spool_index_forget(spool_index);
        ck_assert(!is_current());
}
END_TEST

START_TEST(an_entry_has_what_the_file_has) {
        const IndexEntry *entry;
        struct stat st;

        put("t", 10, 1000, true);
        put_import("i", 20, 1001);
        put_garbage("bad" SNAPSHOT_FILE_SUFFIX);
        survey();
        check_view(spool_index->view, "i t bad! ");
        entry = spool_view_find(spool_index->view, SPAN_LITERAL("t"));
        ck_assert_int_eq(fstatat(dir.fd, "t" SNAPSHOT_FILE_SUFFIX, &st, 0), 0);
        ck_assert(entry->tagged && !entry->imported && !entry->damaged);
        ck_assert(entry->has_uid && entry->uid == 1000);
        ck_assert(entry->has_start && entry->start_realtime_ns == 10);
        ck_assert_uint_eq(entry->size_bytes, (uint64_t) st.st_size);
        ck_assert_uint_eq(entry->allocated_bytes, (uint64_t) st.st_blocks * 512);
        ck_assert_uint_eq(entry->published_realtime_ns,
                          (uint64_t) st.st_mtim.tv_sec * NSEC_PER_SEC +
                                  (uint64_t) st.st_mtim.tv_nsec);
        ck_assert_ptr_nonnull(strstr(entry->text, "\"name\":\"t\""));
        entry = spool_view_find(spool_index->view, SPAN_LITERAL("i"));
        ck_assert(entry->imported);
        entry = spool_view_find(spool_index->view, SPAN_LITERAL("bad"));
        ck_assert(entry->damaged && !entry->has_uid && entry->size_bytes == 7);
        ck_assert_ptr_null(strchr(entry->text, '{'));
        ck_assert_uint_gt(entry->n_text, 10);
        ck_assert_ptr_null(spool_view_find(spool_index->view, SPAN_LITERAL("c")));
}
END_TEST

START_TEST(references_resolve_as_in_the_spool) {
        static const char *const references[] = { "latest", "latest~1", "latest~2", "b",
                                                  "i",      "bad",      "none",     "" };
        char name[SNAPSHOT_NAME_MAX_CHARS + 1];

        put("a", 30, 0, false);
        put_import("i", 40, 0);
        put("b", 20, 0, false);
        put_garbage("bad" SNAPSHOT_FILE_SUFFIX);
        survey();
        for (size_t i = 0; i < ELEMENTSOF(references); i++) {
                const IndexEntry *entry =
                        spool_view_resolve(spool_index->view, span_of(references[i]));
                int r = spool_resolve(spool, span_of(references[i]), name);

                ck_assert_int_eq(r, entry ? 0 : SPOOL_E_NOT_FOUND);
                if (entry)
                        ck_assert_str_eq(entry->name, name);
        }
}
END_TEST

START_TEST(what_jobs_do_is_followed) {
        SpoolLimits limits = {};
        const SpoolNeed need = { .uid = 1000 };
        Buffer rotated = {};
        Spool *job;
        int fd;

        put("a", 10, 1000, false);
        put("b", 20, 1000, true);
        survey();

        job = job_new();
        fd = make_snapshot("c", 30, 1000, true);
        limits.max_bytes = 1;
        ck_assert_int_eq(spool_make_room(job, &limits, &need, &rotated), SPOOL_E_FULL);
        limits.max_bytes = UINT64_MAX;
        limits.max_age_ns = 1;
        ck_assert_int_eq(spool_make_room(job, &limits, &need, &rotated), 0);
        ck_assert_int_eq(spool_publish(job, fd, "c", false, 1000, NULL), 0);
        (void) close(fd);
        job_end(job);
        ck_assert(is_current());
        check_view(spool_index->view, "c b ");
        buffer_done(&rotated);

        job = job_new();
        fd = make_snapshot("b", 40, 1000, true);
        ck_assert_int_eq(spool_publish(job, fd, "b", true, 1000, NULL), 0); /* replaces */
        (void) close(fd);
        job_end(job);
        ck_assert(is_current());
        check_view(spool_index->view, "b c ");

        job = job_new();
        ck_assert_int_eq(spool_rename(job, &(SpoolLimits){}, "c", "d", 1000, NULL), 0);
        job_end(job);
        ck_assert(is_current());
        check_view(spool_index->view, "b d ");

        job = job_new();
        ck_assert_int_eq(remove_one(job, "b", 1000), 0);
        ck_assert_int_eq(remove_one(job, "d", 1000), 0);
        job_end(job);
        ck_assert(is_current());
        check_view(spool_index->view, "");
}
END_TEST

START_TEST(a_job_that_changed_nothing_tells_nothing) {
        Spool *job = job_new();

        put("a", 10, 1000, true);
        ck_assert(!has_change(job));
        ck_assert_int_eq(remove_one(job, "b", 1000), SPOOL_E_NOT_FOUND);
        ck_assert(!has_change(job));
        (void) spool_free(job);
}
END_TEST

/* A file that cannot be read when the job tells must not be missing from the index for good. */
START_TEST(what_cannot_be_told_is_surveyed) {
        Spool *job;
        int fd;

        survey();
        job = job_new();
        fd = make_snapshot("a", 10, 1000, true);
        ck_assert_int_eq(spool_publish(job, fd, "a", false, 1000, NULL), 0);
        (void) close(fd);
        ck_assert_int_eq(unlinkat(dir.fd, "a" SNAPSHOT_FILE_SUFFIX, 0), 0);
        job_end(job);
        ck_assert(!is_current());
        survey();
        check_view(spool_index->view, "");
}
END_TEST

/* The clock of the file system moves every few milliseconds: a change may leave the stamp alone. */
START_TEST(a_change_within_one_tick_is_told) {
        Spool *job = job_new();

        put("a", 10, 1000, true);
        survey();
        ck_assert_int_eq(remove_one(job, "a", 1000), 0);
        job->change.after = job->change.before;
        job_end(job);
        check_view(spool_index->view, "");
}
END_TEST

START_TEST(what_others_do_meanwhile_is_not_overlooked) {
        Spool *job = job_new();

        put("a", 10, 1000, true);
        put("b", 20, 1000, true);
        survey();
        pass_a_tick();
        ck_assert_int_eq(remove_one(job, "a", 1000), 0);
        pass_a_tick();
        put("x", 30, 1000, true); /* between two locks of the job */
        ck_assert_int_eq(remove_one(job, "b", 1000), 0);
        ck_assert(!has_change(job));
        (void) spool_free(job);
        ck_assert(!is_current());

        /* Before the job begins: what it did is true, but it is not all. */
        survey();
        pass_a_tick();
        put("y", 40, 1000, true);
        job = job_new();
        pass_a_tick();
        ck_assert_int_eq(remove_one(job, "x", 1000), 0);
        job_end(job);
        ck_assert(!is_current());
        survey();
        check_view(spool_index->view, "y ");
}
END_TEST

START_TEST(a_view_stays_as_it_is) {
        SpoolView *view;
        Spool *job;

        put("a", 10, 1000, true);
        put("b", 20, 1000, true);
        survey();
        view = spool_index->view;
        view->n_refs++;
        job = job_new();
        ck_assert_int_eq(remove_one(job, "a", 1000), 0);
        job_end(job);
        check_view(view, "b a ");
        check_view(spool_index->view, "b ");
        survey();
        check_view(view, "b a ");
        ck_assert_str_eq(spool_view_resolve(view, SPAN_LITERAL("latest~1"))->name, "a");
        ck_assert_uint_gt(view->memory, spool_index->view->memory);
        ck_assert_ptr_null(spool_view_unref(view));
}
END_TEST

static const struct {
        const char *name, *text;
        size_t n_text, n_cut; /* n_cut: bytes that are missing at the end */
} malformed[] = {
        { "a", "{}", 2, 1 },        { "a", "{}", 2, sizeof(IndexEntry) },
        { "a", "{}", SIZE_MAX, 0 }, { "a", "{\0}", 3, 0 },
        { "a", "{\xff}", 3, 0 },    { "", "{}", 2, 0 },
        { "../a", "{}", 2, 0 },     { "latest", "{}", 2, 0 },
        { NULL, "{}", 2, 0 }, /* as long as there is room, without an end */
};

START_TEST(malformed_entries_are_refused) {
        Buffer body = { .bytes = NULL };
        IndexEntry entry;
        Span bytes;

        memset(&entry, 0, sizeof(entry));
        if (malformed[_i].name)
                (void) snprintf(entry.name, sizeof(entry.name), "%s", malformed[_i].name);
        else
                memset(entry.name, 'a', sizeof(entry.name));
        entry.n_text = malformed[_i].n_text;
        buffer_append(&body, &entry, offsetof(IndexEntry, text));
        ck_assert_int_eq(buffer_append(&body, malformed[_i].text, MIN_OF(entry.n_text, (size_t) 3)),
                         0);
        bytes = (Span){ body.bytes, body.n - MIN_OF(body.n, malformed[_i].n_cut) };
        if (bytes.n == 0)
                bytes.n = 1;

        ck_assert_int_eq(spool_index_add(spool_index, bytes), -EBADMSG); /* nothing was begun */
        ck_assert_int_eq(spool_index_begin(spool_index), 0);
        ck_assert_int_eq(spool_index_add(spool_index, bytes), -EBADMSG);
        ck_assert_int_eq(spool_index_end(spool_index, bytes), -EBADMSG);
        ck_assert(!is_current());
        survey();
        spool_index_follow(spool_index, bytes);
        ck_assert(!is_current());
        buffer_done(&body);
}
END_TEST

/* As a job that makes room with what the main process lent it; what it removed. */
static void make_room(const SpoolLimits *limits, int expected, const char *rotated_names) {
        _cleanup_(spool_freep) Spool *job = NULL;
        Buffer rotated = {};
        int roll;

        ck_assert_int_eq(spool_index_lend(spool_index, dir.fd, &roll), 0);
        ck_assert_int_ge(roll, 0);
        ck_assert_int_eq(spool_adopt(fcntl(dir.fd, F_DUPFD_CLOEXEC, 0), dir.path, &job), 0);
        ck_assert_int_eq(spool_take_roll(job, roll), 0);
        n_opened = 0;
        ck_assert_int_eq(spool_make_room(job, limits, &(SpoolNeed){ .uid = 7 }, &rotated),
                         expected);
        ck_assert(span_is(buffer_span(&rotated), rotated_names));
        buffer_done(&rotated);
}

START_TEST(a_job_makes_room_without_opening_every_snapshot) {
        const SpoolLimits enough = { .max_snapshots = 21 }, few = { .max_snapshots = 19 };
        const SpoolLimits none = { .max_snapshots_per_uid = 20 };
        char name[32];
        int fd;

        for (unsigned i = 0; i < 20; i++) {
                (void) snprintf(name, sizeof(name), "s%02u", i);
                put(name, 10 + i, 7, i >= 2);
        }
        survey();
        make_room(&enough, 0, "");
        ck_assert_uint_eq(n_opened, 0);
        /* What cannot be is found out from the files. */
        make_room(&none, 0, "s00\n");
        ck_assert_uint_eq(n_opened, 1);
        survey();
        /* What goes is looked at first. */
        make_room(&few, 0, "s01\n");
        ck_assert_uint_eq(n_opened, 1);
        survey();
        make_room(&(SpoolLimits){ .max_snapshots = 1 }, SPOOL_E_FULL, "");
        ck_assert_uint_eq(n_opened, 18);

        /* The newest time is known, too: it is what a file that is published must be above. */
        fd = make_snapshot("t", 1, 7, true);
        n_opened = 0;
        ck_assert_int_eq(spool_publish(spool, fd, "t", false, 7, NULL), 0);
        ck_assert_uint_eq(n_opened, 0);
        (void) close(fd);
}
END_TEST

/* Within one tick of the clock the directory may have changed without showing it. */
START_TEST(a_roll_that_is_wrong_removes_nothing_of_others) {
        const SpoolLimits one = { .max_snapshots = 2 };
        SpoolStamp stamp;
        struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 5 } };
        int fd;

        put("a", 10, 7, false);
        put("b", 20, 7, false);
        survey();
        /* "a" is another's file by now, and the stamp is what it was. */
        fd = openat(dir.fd, "a" SNAPSHOT_FILE_SUFFIX, O_RDWR | O_TRUNC | O_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        {
                Head head = test_head("a", 10, 8);

                head.tagged = true;
                (void) write_snapshot(fd, &head);
        }
        (void) close(fd);
        ck_assert_int_eq(utimensat(dir.fd, "a" SNAPSHOT_FILE_SUFFIX, times, 0), 0);
        ck_assert_int_eq(spool_stamp_read(dir.fd, &stamp), 0);
        ck_assert(spool_index_is_current(spool_index, dir.fd));
        make_room(&one, 0, "b\n");
        ck_assert(exists("a"));
}
END_TEST

START_TEST(a_roll_of_another_state_is_not_used) {
        const SpoolLimits one = { .max_snapshots = 2 };
        _cleanup_(spool_freep) Spool *job = NULL;
        Buffer rotated = {};
        int roll;

        put("a", 10, 7, false);
        survey();
        ck_assert_int_eq(spool_index_lend(spool_index, dir.fd, &roll), 0);
        (void) usleep(20000); /* more than a tick */
        put("b", 20, 7, false);
        ck_assert_int_eq(spool_adopt(fcntl(dir.fd, F_DUPFD_CLOEXEC, 0), dir.path, &job), 0);
        ck_assert_int_eq(spool_take_roll(job, roll), 0);
        ck_assert_int_eq(spool_make_room(job, &one, &(SpoolNeed){ .uid = 7 }, &rotated), 0);
        ck_assert(span_is(buffer_span(&rotated), "a\n"));
        buffer_done(&rotated);
        ck_assert_int_eq(spool_index_lend(spool_index, dir.fd, &roll), 0);
        ck_assert_int_eq(roll, -EBADF);
}
END_TEST

static const struct {
        const char *bytes;
        size_t n;
} bad_rolls[] = { { "", 0 },
                  { "0123456789", 10 },
                  { "0123456789012345678901234567890", 31 },
                  { "01234567890123456789012345678901", 32 } };

START_TEST(a_roll_that_is_none_is_refused) {
        int fd = test_dir_file(&dir, "roll");

        ck_assert_int_eq(write(fd, bad_rolls[_i].bytes, bad_rolls[_i].n),
                         (ssize_t) bad_rolls[_i].n);
        ck_assert_int_eq(spool_take_roll(spool, fd), -EBADMSG);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("spool-index");
        TCase *tcase = tcase_create("index");

        tcase_add_checked_fixture(tcase, index_set_up, index_tear_down);
        suite_add_tcase(suite, tcase);
        tcase_add_test(tcase, an_index_is_current_from_its_survey_to_the_next_change);
        tcase_add_test(tcase, an_entry_has_what_the_file_has);
        tcase_add_test(tcase, references_resolve_as_in_the_spool);
        tcase_add_test(tcase, what_jobs_do_is_followed);
        tcase_add_test(tcase, a_job_that_changed_nothing_tells_nothing);
        tcase_add_test(tcase, what_cannot_be_told_is_surveyed);
        tcase_add_test(tcase, a_change_within_one_tick_is_told);
        tcase_add_test(tcase, what_others_do_meanwhile_is_not_overlooked);
        tcase_add_test(tcase, a_view_stays_as_it_is);
        tcase_add_test(tcase, a_job_makes_room_without_opening_every_snapshot);
        tcase_add_test(tcase, a_roll_that_is_wrong_removes_nothing_of_others);
        tcase_add_test(tcase, a_roll_of_another_state_is_not_used);
        tcase_add_loop_test(tcase, a_roll_that_is_none_is_refused, 0, ELEMENTSOF(bad_rolls));
        tcase_add_loop_test(tcase, malformed_entries_are_refused, 0, ELEMENTSOF(malformed));
        return check_main(suite);
}
