/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HostTree
 *
 * A directory with files of the host, made for one test, and the JSON object that one of the
 * readers made of it.
 */

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/buffer.h"
#include "json/json-writer.h"
#include "temporary.h"
#include "kernel/procfs/host-files.h"

typedef struct HostTree {
        Temporary directory;
        int fd;
        uint64_t counts[_SOURCE_OUTCOME_MAX];
        Buffer text, json;
        JsonWriter writer;
} HostTree;

static inline void host_tree_make(HostTree *tree) {
        *tree = (HostTree){};
        temporary_init(&tree->directory);
        tree->fd = open(tree->directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(tree->fd, 0);
}

static inline void host_tree_remove(HostTree *tree) {
        (void) close(tree->fd);
        temporary_done(&tree->directory);
        buffer_done(&tree->text);
        buffer_done(&tree->json);
}

/* Makes the directories of @name, too. */
static inline void host_tree_put(const HostTree *tree, const char *name, const char *text) {
        char path[256];
        int fd;

        for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
                (void) snprintf(path, sizeof(path), "%.*s", (int) (slash - name), name);
                ck_assert(mkdirat(tree->fd, path, 0700) == 0 || errno == EEXIST);
        }
        fd = openat(tree->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t) strlen(text));
        (void) close(fd);
}

static inline void host_tree_begin(HostTree *tree) {
        memset(tree->counts, 0, sizeof(tree->counts));
        buffer_clear(&tree->json);
        json_writer_init(&tree->writer, &tree->json);
        json_write_object(&tree->writer);
}

static inline const char *host_tree_end(HostTree *tree) {
        const char *text;

        json_write_end(&tree->writer);
        ck_assert_int_eq(json_writer_finish(&tree->writer), 0);
        ck_assert_int_eq(buffer_terminate(&tree->json, &text), 0);
        return text;
}

static inline void host_tree_check(const HostTree *tree, unsigned n_ok, unsigned n_denied,
                                   unsigned n_unsupported, unsigned n_malformed) {
        ck_assert_uint_eq(tree->counts[SOURCE_OUTCOME_ok], n_ok);
        ck_assert_uint_eq(tree->counts[SOURCE_OUTCOME_denied], n_denied);
        ck_assert_uint_eq(tree->counts[SOURCE_OUTCOME_unsupported], n_unsupported);
        ck_assert_uint_eq(tree->counts[SOURCE_OUTCOME_malformed], n_malformed);
        ck_assert_uint_eq(tree->counts[SOURCE_OUTCOME_other], 0);
}
