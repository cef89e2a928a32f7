/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "fuzz.h"

#define MAX_FILES 128

static struct {
        char path[256]; /* "" before the first call */
        int fd;
        char *files[MAX_FILES]; /* owned */
        size_t n_files;
} tree;

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *ftw) {
        return remove(path);
}

static void remove_tree(void) {
        tree_clear();
        (void) nftw(tree.path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
        tree.fd = fd_close(tree.fd);
}

static void make_tree(void) {
        const char *below = getenv("TMPDIR");

        if (tree.path[0] != '\0')
                return;
        (void) snprintf(tree.path, sizeof(tree.path), "%s/ctprof-fuzz-XXXXXX",
                        below ? below : "/tmp");
        fuzz_expect(mkdtemp(tree.path), "there is a directory %s", tree.path);
        tree.fd = open(tree.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fuzz_expect(tree.fd >= 0 && atexit(remove_tree) == 0, "the directory can be used");
}

const char *tree_path(void) {
        make_tree();
        return tree.path;
}

int tree_fd(void) {
        make_tree();
        return tree.fd;
}

static void make_parents(const char *name) {
        char path[256];

        for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
                (void) snprintf(path, sizeof(path), "%.*s", (int) (slash - name), name);
                (void) mkdirat(tree_fd(), path, 0700);
        }
}

void tree_put(const char *name, Span content) {
        const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
        _cleanup_(fd_closep) int fd = openat(tree_fd(), name, flags, 0600);

        if (fd < 0) {
                make_parents(name);
                fd = openat(tree_fd(), name, flags, 0600);
        }
        fuzz_expect(fd >= 0 && write(fd, content.bytes, content.n) == (ssize_t) content.n,
                    "the file %s can be written", name);
        fuzz_expect(tree.n_files < MAX_FILES, "there are few files");
        tree.files[tree.n_files] = strdup(name);
        fuzz_expect(tree.files[tree.n_files], "there is memory for a name");
        tree.n_files++;
}

void tree_clear(void) {
        while (tree.n_files > 0) {
                char *name = tree.files[--tree.n_files];

                (void) unlinkat(tree_fd(), name, 0);
                free(name);
        }
}
