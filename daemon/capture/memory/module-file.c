/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/memory/module-file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"

/* Of the directory of a thread, which is PID/task/TID: its ".." is race-free, PID is not. */
#define PROCESS_FROM_THREAD "../../"

static int64_t time_ns(struct statx_timestamp time) {
        return (int64_t) ((uint64_t) time.tv_sec * NSEC_PER_SEC + time.tv_nsec);
}

static int code_of(int error) {
        return error == ENOENT || error == ESRCH ? MODULE_FILE_E_GONE : MODULE_FILE_E_REFUSED;
}

/*
 * AT_STATX_DONT_SYNC: what the kernel has cached will do, so that a file system that does not
 * answer is not waited for.
 */
static int identify(int dir_fd, const char *path, int flags, FileIdentity *ret) {
        const unsigned wanted = STATX_TYPE | STATX_INO | STATX_SIZE | STATX_MTIME | STATX_CTIME;
        struct statx file;

        if (statx(dir_fd, path, flags | AT_STATX_DONT_SYNC, wanted, &file) < 0)
                return code_of(errno);
        if (!S_ISREG(file.stx_mode))
                return MODULE_FILE_E_REFUSED;
        *ret = (FileIdentity){
                .dev = makedev(file.stx_dev_major, file.stx_dev_minor),
                .inode = file.stx_ino,
                .size = file.stx_size,
                .modified_ns = time_ns(file.stx_mtime),
                .changed_ns = time_ns(file.stx_ctime),
        };
        return 0;
}

static void format_map_file(const ProcessMapping *mapping,
                            char path[static MODULE_FILE_PATH_BYTES]) {
        (void) snprintf(path, MODULE_FILE_PATH_BYTES,
                        PROCESS_FROM_THREAD "map_files/%" PRIx64 "-%" PRIx64, mapping->start,
                        mapping->end);
}

/* The root of the thread, not of the process: a leader that has exited has neither root nor map. */
static bool format_root_file(const ProcessMapping *mapping,
                             char path[static MODULE_FILE_PATH_BYTES]) {
        static const char before[] = "root";

        memcpy(path, before, sizeof(before));
        return process_map_path(mapping, path + sizeof(before) - 1);
}

/* Which of the two ways leads to the file, in @path, and what is there. */
static int find(int dir_fd, const ProcessMapping *mapping, char path[static MODULE_FILE_PATH_BYTES],
                FileIdentity *ret) {
        int r;

        format_map_file(mapping, path);
        r = identify(dir_fd, path, 0, ret);
        if (r == 0)
                return 0;
        /* A path names the file of the mapping where its file system tells one device for both. */
        if (format_root_file(mapping, path) && identify(dir_fd, path, 0, ret) == 0 &&
            ret->dev == mapping->dev && ret->inode == mapping->inode)
                return 0;
        return r;
}

int module_file_identify(int dir_fd, const ProcessMapping *mapping, FileIdentity *ret) {
        char path[MODULE_FILE_PATH_BYTES];

        return find(dir_fd, mapping, path, ret);
}

/* Opens the very file that @path_fd, an O_PATH, is. This thread may have a table of its own. */
static int open_for_reading(int path_fd) {
        char path[64];

        (void) snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", path_fd);
        return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

int module_file_open(int dir_fd, const ProcessMapping *mapping, const FileIdentity *identity,
                     int *ret_fd) {
        _cleanup_(fd_closep) int path_fd = -EBADF;
        char path[MODULE_FILE_PATH_BYTES];
        FileIdentity found;
        int fd, r;

        r = find(dir_fd, mapping, path, &found);
        if (r != 0)
                return r;
        /* A stranger's path may lead to a device by now. O_PATH touches nothing. */
        path_fd = openat(dir_fd, path, O_PATH | O_CLOEXEC);
        if (path_fd < 0)
                return code_of(errno);
        if (identify(path_fd, "", AT_EMPTY_PATH, &found) != 0 ||
            memcmp(&found, identity, sizeof(found)) != 0)
                return MODULE_FILE_E_GONE;
        fd = open_for_reading(path_fd);
        if (fd < 0)
                return code_of(errno);
        *ret_fd = fd;
        return 0;
}

int module_file_program(int dir_fd, FileIdentity *ret) {
        return identify(dir_fd, "exe", 0, ret);
}
