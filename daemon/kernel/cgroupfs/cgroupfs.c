/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/cgroupfs/cgroupfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/number.h"
#include "kernel/text/cursor.h"

#define MOUNTINFO_MAX_BYTES (16 * 1024 * 1024) /* thousands of mounts on container hosts */
#define TYPE_BYTES 64
#define COMPONENT_BYTES 256 /* NAME_MAX and a NUL */

/* mounts */

/* Undoes the octal escapes of mountinfo ("\040"; fs/proc_namespace.c, mangle()). */
static bool decode_path(Span text, char ret[static CGROUPFS_PATH_BYTES]) {
        size_t n = 0;

        for (size_t i = 0; i < text.n; i++) {
                const char *at = text.bytes + i;
                char c = *at;

                if (c == '\\' && text.n - i > 3 && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' &&
                    at[2] <= '7' && at[3] >= '0' && at[3] <= '7') {
                        c = (char) ((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
                        i += 3;
                }
                if (c == '\0' || n == CGROUPFS_PATH_BYTES - 1)
                        return false;
                ret[n++] = c;
        }
        ret[n] = '\0';
        return n > 0 && ret[0] == '/';
}

/*
 * "36 35 98:0 /root /point options [optional fields] - type source options" (proc(5)): the fourth
 * and fifth field of lines for cgroup v2 mounts.
 */
int cgroup_mount_parse(Span mountinfo, size_t nth, CgroupMount *ret) {
        for (unsigned pass = 0; pass < 2; pass++) {
                Cursor lines = mountinfo;
                Span line, word, root, point;

                while (cursor_line(&lines, &line)) {
                        root = point = (Span){};
                        for (unsigned field = 1; cursor_word(&line, &word); field++) {
                                if (field == 4)
                                        root = word;
                                else if (field == 5)
                                        point = word;
                                else if (field > 6 && span_is(word, "-"))
                                        break;
                        }
                        if (!span_is(word, "-") || !cursor_word(&line, &word) ||
                            !span_is(word, "cgroup2") || !decode_path(root, ret->root) ||
                            !decode_path(point, ret->point) ||
                            (strcmp(ret->root, "/") == 0) != (pass == 0))
                                continue;
                        /* It shows cgroups above our namespace, which no path of it names. */
                        if (strcmp(ret->root, "/..") == 0 || strncmp(ret->root, "/../", 4) == 0)
                                continue;
                        if (nth == 0)
                                return 0;
                        nth--;
                }
        }
        return CGROUPFS_E_NO_MOUNT;
}

/* the hierarchy */

Cgroupfs *cgroupfs_free(Cgroupfs *cgroupfs) {
        if (!cgroupfs)
                return NULL;
        (void) fd_close(cgroupfs->root_fd);
        free(cgroupfs);
        return NULL;
}

int cgroupfs_open(int proc_fd, Cgroupfs **ret) {
        _cleanup_(cgroupfs_freep) Cgroupfs *cgroupfs = NULL;
        _cleanup_(buffer_done) Buffer mountinfo;
        int r, failure = CGROUPFS_E_NO_MOUNT;

        buffer_init(&mountinfo, MOUNTINFO_MAX_BYTES);
        cgroupfs = malloc(sizeof(*cgroupfs));
        if (!cgroupfs)
                return -ENOMEM;
        *cgroupfs = (Cgroupfs){ .root_fd = -EBADF };
        r = text_file_read_all(proc_fd, "self/mountinfo", &mountinfo);
        if (r != 0)
                return r;
        /* The first one that no other mount covers. */
        for (size_t nth = 0; cgroupfs->root_fd < 0; nth++) {
                _cleanup_(fd_closep) int fd = -EBADF;
                CgroupMount mount;
                struct statfs fs;

                if (cgroup_mount_parse(buffer_span(&mountinfo), nth, &mount) != 0)
                        return failure;
                fd = open(mount.point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (fd < 0 && text_file_code(errno) == TEXT_E_DENIED)
                        failure = TEXT_E_DENIED;
                if (fd < 0 || fstatfs(fd, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
                        continue;
                cgroupfs->root_fd = TAKE_FD(fd);
                memcpy(cgroupfs->root, mount.root, sizeof(mount.root));
        }
        *ret = TAKE_PTR(cgroupfs);
        return 0;
}

/* Stands in for openat2(2) before 5.6 and in sandboxes without it. Overwrites @path. */
static int open_by_component(int dir_fd, char *path, int *ret_fd) {
        _cleanup_(fd_closep) int fd = -EBADF;
        char *rest = path;

        do {
                char *name = strsep(&rest, "/");
                int below = openat(fd < 0 ? dir_fd : fd, name,
                                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

                if (below < 0)
                        return -errno;
                (void) fd_close(fd);
                fd = below;
        } while (rest);
        *ret_fd = TAKE_FD(fd);
        return 0;
}

int cgroupfs_open_group(const Cgroupfs *cgroupfs, Span path, int *ret_fd) {
        const struct open_how how = {
                .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
        };
        size_t n = strlen(cgroupfs->root), start = 1;
        char name[CGROUPFS_PATH_BYTES];
        Span below;
        long fd;
        int r;

        /* "/", or names joined by single slashes, none of which leads elsewhere. */
        if (path.n == 0 || path.bytes[0] != '/' || path.n >= CGROUPFS_PATH_BYTES)
                return TEXT_E_MALFORMED;
        for (size_t i = 1; path.n > 1 && i <= path.n; i++) {
                Span part = { path.bytes + start, i - start };

                if (i < path.n && path.bytes[i] != '/')
                        continue;
                if (part.n == 0 || part.n >= COMPONENT_BYTES || span_is(part, ".") ||
                    span_is(part, "..") || memchr(part.bytes, '\0', part.n))
                        return TEXT_E_MALFORMED;
                start = i + 1;
        }
        /* Relative to the mounted cgroup, without a leading slash. */
        if (span_is((Span){ cgroupfs->root, n }, "/"))
                n = 0;
        if (path.n < n || memcmp(path.bytes, cgroupfs->root, n) != 0 ||
            (path.n > n && path.bytes[n] != '/'))
                return CGROUPFS_E_OUTSIDE;
        if (path.n > n)
                n++;
        below = (Span){ path.bytes + n, path.n - n };
        if (below.n == 0)
                below = SPAN_LITERAL(".");
        memcpy(name, below.bytes, below.n);
        name[below.n] = '\0';

        fd = syscall(SYS_openat2, cgroupfs->root_fd, name, &how, sizeof(how));
        if (fd >= 0) {
                *ret_fd = (int) fd;
                return 0;
        }
        r = -errno;
        if (r == -ENOSYS || r == -EPERM || r == -EINVAL)
                r = open_by_component(cgroupfs->root_fd, name, ret_fd);
        if (r == 0)
                return 0;
        /* A symbolic link or another file system is not a cgroup: no cgroup has that name. */
        if (r == -ELOOP || r == -EXDEV)
                return TEXT_E_VANISHED;
        r = text_file_code(-r);
        return r == TEXT_E_ABSENT ? TEXT_E_VANISHED : r;
}

bool cgroup_path_parent(Span path, Span *ret) {
        size_t n = path.n;

        if (n <= 1)
                return false;
        while (n > 0 && path.bytes[n - 1] != '/')
                n--;
        *ret = (Span){ path.bytes, n > 1 ? n - 1 : n };
        return true;
}

int cgroup_is_threaded(int group_fd, bool *ret) {
        char buffer[TYPE_BYTES];
        size_t n = 0;
        Span type;
        int r;

        r = text_file_read(group_fd, "cgroup.type", buffer, sizeof(buffer), &n);
        if (r != 0 && r != TEXT_E_ABSENT)
                return r;
        type = text_trim((Span){ buffer, n });
        *ret = span_is(type, "threaded") || span_is(type, "domain threaded");
        return 0;
}

int cgroup_has_threaded_child(int group_fd, bool *ret) {
        _cleanup_(listing_closep) DIR *dir = NULL;
        bool is_threaded = false;
        int r;

        r = text_file_open_listing(group_fd, ".", &dir);
        if (r != 0)
                return r;
        while (!is_threaded) {
                char path[COMPONENT_BYTES + sizeof("/cgroup.type")], buffer[TYPE_BYTES];
                const struct dirent *entry;
                size_t n;

                errno = 0;
                entry = readdir(dir);
                if (!entry && errno != 0)
                        return text_file_code(errno);
                if (!entry)
                        break;
                if (entry->d_name[0] == '.' ||
                    (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
                        continue;
                (void) snprintf(path, sizeof(path), "%s/cgroup.type", entry->d_name);
                r = text_file_read(group_fd, path, buffer, sizeof(buffer), &n);
                if (r == TEXT_E_ABSENT || r == TEXT_E_VANISHED)
                        continue; /* it was removed meanwhile */
                if (r != 0)
                        return r;
                is_threaded = span_is(text_trim((Span){ buffer, n }), "threaded");
        }
        *ret = is_threaded;
        return 0;
}

/* version 1 */

#define V1_FILE_BYTES 4096

void cgroup_v1_read(int proc_fd, char ret_names[static CGROUP_V1_TEXT_BYTES]) {
        static const char *const read[] = { "cpu", "cpuacct", "cpuset", "memory", "blkio", "pids" };
        bool found[ELEMENTSOF(read)] = {};
        char text[V1_FILE_BYTES];
        Span lines, line, name, hierarchy;
        uint64_t number;
        size_t n;

        if (text_file_read(proc_fd, "cgroups", text, sizeof(text), &n) != 0)
                n = 0;
        lines = (Span){ text, n };
        /* "memory  4  15  1": name, hierarchy, cgroups, enabled. */
        while (cursor_line(&lines, &line)) {
                if (!cursor_word(&line, &name) || !cursor_word(&line, &hierarchy) ||
                    !number_parse_u64(hierarchy, &number) || number == 0)
                        continue;
                for (size_t i = 0; i < ELEMENTSOF(read); i++)
                        found[i] |= span_is(name, read[i]);
        }
        ret_names[0] = '\0';
        n = 0;
        for (size_t i = 0; i < ELEMENTSOF(read); i++)
                if (found[i])
                        n += (size_t) snprintf(ret_names + n, CGROUP_V1_TEXT_BYTES - n, "%s%s",
                                               n > 0 ? ", " : "", read[i]);
}
