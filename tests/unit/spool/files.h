/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Files
 *
 * A directory for one test, removed with its contents, and snapshot files of a few hundred bytes.
 */

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/buffer.h"
#include "base/macro.h"
#include "snapshot/snapshot-writer.h"
#include "snapshot/thread-column.h"
#include "spool/snapshot-file.h"

typedef struct TestDir {
        char path[64];
        int fd;
} TestDir;

static inline TestDir test_dir_new(void) {
        TestDir dir = { .path = "/tmp/ctprof-test-XXXXXX" };

        ck_assert_ptr_nonnull(mkdtemp(dir.path));
        dir.fd = open(dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(dir.fd, 0);
        return dir;
}

static inline void test_dir_free(TestDir *dir) {
        struct dirent *entry;
        DIR *stream;

        (void) chmod(dir->path, 0700);
        stream = opendir(dir->path);
        ck_assert_ptr_nonnull(stream);
        while ((entry = readdir(stream)))
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                    unlinkat(dir->fd, entry->d_name, 0) < 0)
                        ck_assert_int_eq(unlinkat(dir->fd, entry->d_name, AT_REMOVEDIR), 0);
        (void) closedir(stream);
        (void) close(dir->fd);
        ck_assert_int_eq(rmdir(dir->path), 0);
}

static inline int test_dir_file(const TestDir *dir, const char *name) {
        int fd = openat(dir->fd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        ck_assert_msg(fd >= 0, "%s: %m", name);
        return fd;
}

/* The whole content of @fd. */
static inline void read_file(int fd, Buffer *ret) {
        struct stat st;
        char *bytes;

        ck_assert_int_eq(fstat(fd, &st), 0);
        buffer_init(ret, 0);
        ck_assert_int_eq(buffer_reserve(ret, (size_t) st.st_size, &bytes), 0);
        ck_assert_int_eq(pread(fd, bytes, (size_t) st.st_size, 0), st.st_size);
        ret->n = (size_t) st.st_size;
}

/* Replaces the content of @fd by @n bytes. */
static inline void fill_file(int fd, const void *bytes, size_t n) {
        ck_assert_int_eq(ftruncate(fd, 0), 0);
        ck_assert_int_eq(pwrite(fd, bytes, n, 0), (ssize_t) n);
}

/* The head of a test's snapshot. */
static inline Head test_head(const char *name, uint64_t start_ns, uid_t uid) {
        Head head = {
                .format_version = HEAD_FORMAT_VERSION,
                .has_start_realtime = true,
                .start_realtime_ns = start_ns,
                .has_uid = true,
                .uid = uid,
                .has_threads = true,
                .threads = 2,
                .has_processes = true,
                .processes = 1,
        };

        (void) snprintf(head.name, sizeof(head.name), "%s", name);
        return head;
}

/* Writes a snapshot of two threads to the empty @fd. Returns its length. */
static inline uint64_t write_snapshot(int fd, Head *head) {
        _cleanup_(snapshot_file_writer_freep) SnapshotFileWriter *file = NULL;
        _cleanup_(snapshot_writer_freep) SnapshotWriter *writer = NULL;
        SourceTable sources = {};
        ThreadSample sample;
        uint64_t n_bytes;
        Buffer rows;

        buffer_init(&rows, 0);
        thread_sample_clear(&sample);
        sample.tid = sample.tgid = 1;
        sample.comm = SPAN_LITERAL("one");
        ck_assert_int_eq(thread_row_encode(&rows, &sample, (Span){}), 0);
        ck_assert_int_eq(buffer_append_byte(&rows, ','), 0);
        sample.tid = 2;
        thread_sample_put(&sample, METRIC_run_time_ns, 4711);
        ck_assert_int_eq(thread_row_encode(&rows, &sample, (Span){}), 0);

        ck_assert_int_eq(snapshot_file_writer_new(fd, &file), 0);
        ck_assert_int_eq(snapshot_writer_new(snapshot_file_writer_write, file, &writer), 0);
        ck_assert_int_eq(snapshot_writer_begin(writer, head), 0);
        ck_assert_int_eq(snapshot_writer_rows(writer, SNAPSHOT_SECTION_THREADS, buffer_span(&rows)),
                         0);
        ck_assert_int_eq(snapshot_writer_end(writer, &sources, head), 0);
        ck_assert_int_eq(snapshot_file_writer_finish(file, head, &n_bytes), 0);
        buffer_done(&rows);
        return n_bytes;
}

/* Writes @text as one zstd frame, as the prior tool did. */
static inline void write_frame(int fd, const char *text, size_t n) {
        size_t n_space = ZSTD_compressBound(n);
        char *space = malloc(n_space);
        size_t n_frame;

        ck_assert_ptr_nonnull(space);
        n_frame = ZSTD_compress(space, n_space, text, n, 3);
        ck_assert(!ZSTD_isError(n_frame));
        ck_assert_int_eq(write(fd, space, n_frame), (ssize_t) n_frame);
        free(space);
}
