/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SpoolFixture
 *
 * A spool for one test, and functions that make snapshots in it.
 */

#include "check-main.h"
#include "files.h"
#include "spool/spool.h"

static TestDir dir;
static Spool *spool;

static inline void set_up(void) {
        dir = test_dir_new();
        ck_assert_int_eq(spool_open(dir.path, &spool), 0);
}

static inline void tear_down(void) {
        spool = spool_free(spool);
        test_dir_free(&dir);
}

/* An unnamed snapshot, ready to be published. */
static inline int make_of(Head *head) {
        int fd;

        ck_assert_int_eq(spool_temporary(spool, &fd), 0);
        (void) write_snapshot(fd, head);
        return fd;
}

static inline int make_snapshot(const char *name, uint64_t start_ns, uid_t uid, bool tagged) {
        Head head = test_head(name, start_ns, uid);

        head.tagged = tagged;
        return make_of(&head);
}

static inline void put(const char *name, uint64_t start_ns, uid_t uid, bool tagged) {
        int fd = make_snapshot(name, start_ns, uid, tagged);

        ck_assert_int_eq(spool_publish(spool, fd, name, false, uid, NULL), 0);
        (void) close(fd);
}

/* As an import leaves it. */
static inline void put_import(const char *name, uint64_t start_ns, uid_t uid) {
        char origin[] = "{\"name\":\"elsewhere\"}";
        Head head = test_head(name, start_ns, uid);
        int fd;

        head.tagged = true;
        head.imported_from = origin;
        fd = make_of(&head);
        ck_assert_int_eq(spool_publish(spool, fd, name, false, uid, NULL), 0);
        (void) close(fd);
}

static inline int remove_one(Spool *from, const char *name, uid_t uid) {
        Head head = {};
        size_t culprit;
        int r;

        (void) snprintf(head.name, sizeof(head.name), "%s", name);
        r = spool_remove(from, &head, 1, uid, &culprit);
        ck_assert_uint_eq(culprit, 0);
        head_done(&head);
        return r;
}

static inline bool exists(const char *name) {
        char file[128];
        struct stat st;

        (void) snprintf(file, sizeof(file), "%s" SNAPSHOT_FILE_SUFFIX, name);
        return fstatat(dir.fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline unsigned count_files(void) {
        DIR *stream = opendir(dir.path);
        unsigned n = 0;

        ck_assert_ptr_nonnull(stream);
        for (struct dirent *entry; (entry = readdir(stream));)
                n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
        (void) closedir(stream);
        return n;
}

/* The listed names, each followed by a blank, or by "!" when damaged. */
static inline void check_list(const char *expected) {
        SpoolEntry *entries;
        char names[1024] = "";
        size_t n_entries;

        ck_assert_int_eq(spool_list(spool, &entries, &n_entries), 0);
        for (size_t i = 0; i < n_entries; i++) {
                (void) strcat(names, entries[i].head.name);
                (void) strcat(names, entries[i].damaged ? "! " : " ");
                ck_assert(entries[i].head.has_size);
                ck_assert_int_eq(entries[i].fault.text[0] != '\0', entries[i].damaged);
        }
        spool_entries_free(entries, n_entries);
        ck_assert_str_eq(names, expected);
}

static inline void put_garbage(const char *file) {
        int fd = test_dir_file(&dir, file);

        ck_assert_int_eq(write(fd, "garbage", 7), 7);
        (void) close(fd);
}

static inline TCase *case_new(Suite *suite, const char *name) {
        TCase *tcase = tcase_create(name);

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        suite_add_tcase(suite, tcase);
        return tcase;
}
