/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Check spools
 *
 * Reads paths of directories, one a line. With each does what a daemon does when it starts and is
 * asked to list and to verify everything, and answers in one line of JSON: what is left in the
 * directory besides snapshots ("left"), and of every snapshot that is listed what is wrong with it
 * ("snapshots"; "" for nothing). {} for a directory that is not there.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "spool/snapshot-file.h"
#include "spool/spool.h"

#define SUFFIX ".ctprof.zst"

static void give_up(const char *path, int r) {
        (void) fprintf(stderr, "%s: %s\n", path, r < 0 ? strerror(-r) : "not a usable spool");
        exit(EXIT_FAILURE);
}

static bool is_snapshot(const char *file) {
        size_t n = strlen(file), n_suffix = strlen(SUFFIX);

        return n > n_suffix && strcmp(file + n - n_suffix, SUFFIX) == 0 && file[0] != '.';
}

static void put_left(const char *path) {
        const char *separator = "";
        DIR *stream = opendir(path);
        const struct dirent *entry;

        if (!stream)
                give_up(path, -errno);
        (void) printf("{\"left\": [");
        while ((entry = readdir(stream))) {
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                    is_snapshot(entry->d_name))
                        continue;
                (void) printf("%s\"%s\"", separator, entry->d_name);
                separator = ", ";
        }
        (void) closedir(stream);
        (void) printf("], ");
}

/* Of a file that is listed: its head could be read. */
static const char *find_fault(Spool *spool, const SpoolEntry *entry) {
        _cleanup_(fd_closep) int fd = -EBADF;
        SnapshotFault fault = {};

        if (entry->damaged)
                return "its head cannot be read";
        if (spool_open_snapshot(spool, entry->head.name, &fd, NULL) != 0)
                return "it cannot be opened";
        return snapshot_file_check_digest(fd, &fault) == 0 ? "" : "its digest is wrong";
}

static void check(const char *path) {
        _cleanup_(spool_freep) Spool *spool = NULL;
        SpoolEntry *entries = NULL;
        size_t n_entries = 0;
        int r;

        r = spool_open(path, &spool);
        if (r == SPOOL_E_UNAVAILABLE) {
                (void) puts("{}");
                return;
        }
        if (r == 0)
                r = spool_clean(spool);
        if (r == 0)
                r = spool_list(spool, &entries, &n_entries);
        if (r != 0)
                give_up(path, r);
        put_left(path);
        (void) printf("\"snapshots\": {");
        for (size_t i = 0; i < n_entries; i++)
                (void) printf("%s\"%s\": \"%s\"", i > 0 ? ", " : "", entries[i].head.name,
                              find_fault(spool, &entries[i]));
        (void) puts("}}");
        spool_entries_free(entries, n_entries);
}

int main(void) {
        _cleanup_(freep) char *line = NULL;
        size_t n_line = 0;
        ssize_t n;

        while ((n = getline(&line, &n_line, stdin)) > 0) {
                line[n - 1] = '\0';
                check(line);
        }
        return EXIT_SUCCESS;
}
