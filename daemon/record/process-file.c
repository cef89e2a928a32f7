/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/process-file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/file.h"
#include "base/number.h"
#include "kernel/procfs/proc-task.h"
#include "kernel/text/cursor.h"
#include "kernel/text/keyed-numbers.h"
#include "kernel/text/text-file.h"

#define DEBUG_DIRECTORY "/usr/lib/debug"
#define DEBUG_SUFFIX ".debug"
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

typedef enum Mounted { MOUNTED_NOT, MOUNTED, MOUNTED_BY_PROGRAM } Mounted;

/* Says how the process @tgid sees the device @dev mounted. */
static Mounted find_mount(uint32_t tgid, uint64_t dev) {
        char path[32], device[32], *line = NULL;
        Mounted found = MOUNTED_NOT;
        size_t n = 0;
        FILE *mounts;

        (void) snprintf(path, sizeof(path), "/proc/%u/mountinfo", tgid);
        (void) snprintf(device, sizeof(device), " %u:%u ", major(dev), minor(dev));
        mounts = fopen(path, "re");
        while (mounts && found == MOUNTED_NOT && getline(&line, &n, mounts) > 0) {
                /* The paths before it have no space: it is written as \040. */
                const char *type = strstr(line, " - "), *its = strstr(line, device);

                if (type && its && its < type)
                        found = strncmp(type + 3, "fuse", 4) == 0 ? MOUNTED_BY_PROGRAM : MOUNTED;
        }
        free(line);
        if (mounts)
                (void) fclose(mounts);
        return found;
}

uint64_t process_file_find_memory(void) {
        _cleanup_(fd_closep) int fd = memfd_create("device", MFD_CLOEXEC);
        struct stat st;

        return fd >= 0 && fstat(fd, &st) == 0 ? st.st_dev : 0;
}

/*
 * Returns true if a program may answer for the files on the device @dev. It could keep a process
 * that opens or reads a file there waiting for ever. The process @tgid need not see the mount of a
 * file that it maps: kernels before 6.8 tell the device below an overlay, which the host has
 * mounted, and what is mounted nowhere any more may have been of any kind.
 */
static bool is_of_program(uint32_t tgid, uint64_t dev, uint64_t of_memory) {
        Mounted found = find_mount(tgid, dev);

        if (found == MOUNTED_NOT)
                found = find_mount(1, dev);
        return found == MOUNTED_BY_PROGRAM || (found == MOUNTED_NOT && dev != of_memory);
}

int process_file_read_maps(uint32_t tgid, char *space, size_t n_space, size_t *ret_n) {
        _cleanup_(fd_closep) int fd = -EBADF;
        char path[32];

        *ret_n = 0;
        (void) snprintf(path, sizeof(path), "/proc/%u/maps", tgid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : file_read_at(fd, space, n_space, 0, ret_n);
}

int process_file_open_mapped(uint32_t tgid, const ProcessMapping *mapping, ProcessDevice *last) {
        char path[64];

        if (!last->is_known || last->dev != mapping->dev)
                *last = (ProcessDevice){
                        .dev = mapping->dev,
                        .is_known = true,
                        .is_of_program = is_of_program(tgid, mapping->dev, last->of_memory),
                        .of_memory = last->of_memory,
                };
        if (last->is_of_program)
                return -EOPNOTSUPP;
        (void) snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", tgid,
                        (unsigned long long) mapping->start, (unsigned long long) mapping->end);
        return open(path, OPEN_FLAGS);
}

/*
 * Looks @path up, which is absolute, below @root. Through links it could lead out of there:
 * absolute ones begin at our own root.
 */
static int find_below(int root, const char *path) {
        int at = root;

        do {
                char name[NAME_MAX + 1];
                size_t n = strcspn(++path, "/");
                int next = -EBADF;

                if (n < sizeof(name)) {
                        memcpy(name, path, n);
                        name[n] = '\0';
                        next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
                }
                if (at != root)
                        (void) fd_close(at);
                at = next;
                path += n;
        } while (at >= 0 && *path == '/');
        return at;
}

/* Takes over @found. */
static int open_regular(int found, struct stat *ret) {
        _cleanup_(fd_closep) int owned = found;
        char path[32];

        if (owned < 0 || fstat(owned, ret) < 0 || !S_ISREG(ret->st_mode))
                return -EBADF;
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", owned);
        return open(path, OPEN_FLAGS);
}

int process_file_open_root(uint32_t tgid) {
        char path[32];

        (void) snprintf(path, sizeof(path), "/proc/%u/root", tgid);
        return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* debug files */

/*
 * Returns true if the link of @name may be looked up. It comes from the bytes of a foreign file, so
 * it must not lead to another directory, nor to a file that is not a debug file.
 */
static bool is_plain(const DebugFileName *name) {
        size_t n = strnlen(name->link, sizeof(name->link)), n_suffix = strlen(DEBUG_SUFFIX);

        return n > n_suffix && n < sizeof(name->link) && !strchr(name->link, '/') &&
               strcmp(name->link + n - n_suffix, DEBUG_SUFFIX) == 0;
}

static bool is_build_id(const DebugFileName *name) {
        size_t n = strnlen(name->build_id, sizeof(name->build_id));

        return n > 2 && n < sizeof(name->build_id) &&
               strspn(name->build_id, "0123456789abcdef") == n;
}

/* One that not everybody may read could be a secret by another name. */
static void add_debug(int found, int ret[static DEBUG_FILES_MAX], size_t *n) {
        struct stat status;
        int fd = open_regular(found, &status);

        if (fd >= 0 && status.st_mode & S_IROTH)
                ret[(*n)++] = fd;
        else
                (void) fd_close(fd);
}

/* The directory @path of one that has changed its root begins with that where we see it. */
static const char *path_below(int root, const char *path) {
        char link[32], prefix[PROCESS_MAP_PATH_BYTES];
        ssize_t n;

        (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", root);
        n = readlink(link, prefix, sizeof(prefix));
        return n > 1 && strncmp(path, prefix, (size_t) n) == 0 &&
                               (path[n] == '/' || path[n] == '\0')
                       ? path + n
                       : path;
}

size_t process_file_open_debug(int root, const ProcessMapping *mapping, const DebugFileName *name,
                               int ret[static DEBUG_FILES_MAX]) {
        static const struct {
                const char *before, *after; /* the directory of the file */
        } places[] = { { "", "/" }, { "", "/.debug/" }, { DEBUG_DIRECTORY, "/" } };
        _cleanup_(fd_closep) int own = -EBADF;
        char of_id[sizeof(DEBUG_DIRECTORY) + 32 + sizeof(name->build_id)];
        char path[PROCESS_MAP_PATH_BYTES], candidate[2 * PATH_MAX];
        size_t n = 0;
        bool is_found;

        if (!is_build_id(name))
                return 0;
        (void) snprintf(of_id, sizeof(of_id), DEBUG_DIRECTORY "/.build-id/%.2s/%s" DEBUG_SUFFIX,
                        name->build_id, name->build_id + 2);
        if (root >= 0)
                add_debug(find_below(root, of_id), ret, &n);
        is_found = n > 0;
        if (root >= 0 && is_plain(name) && process_map_path(mapping, path)) {
                const char *below;

                *strrchr(path, '/') = '\0';
                below = path_below(root, path);
                for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                        (void) snprintf(candidate, sizeof(candidate), "%s%s%s%s", places[i].before,
                                        below, places[i].after, name->link);
                        add_debug(find_below(root, candidate), ret, &n);
                }
        }
        if (!is_found)
                own = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        /* There links are those of the administrator. */
        if (own >= 0)
                add_debug(openat(own, of_id + 1, O_PATH | O_CLOEXEC), ret, &n);
        return n;
}

/* processes */

bool process_file_is_of_image(uint32_t tgid, uint64_t start_stack) {
        char path[32], text[1024];
        ProcStat stat;
        size_t n;

        (void) snprintf(path, sizeof(path), "/proc/%u/stat", tgid);
        return text_file_read(AT_FDCWD, path, text, sizeof(text), &n) == 0 &&
               proc_stat_parse((Span){ text, n }, &stat) == 0 && stat.start_stack == start_stack;
}

/* maps of compilers */

/* The effective user of a process, and its number in its own namespace. */
static bool read_status(uint32_t tgid, uint32_t *ret_uid, uint32_t *ret_number) {
        char path[32], text[4096];
        bool has_uid = false, has_number = false;
        Span key, value, word;
        Cursor lines;
        size_t n;

        (void) snprintf(path, sizeof(path), "/proc/%u/status", tgid);
        if (text_file_read(AT_FDCWD, path, text, sizeof(text), &n) != 0)
                return false;
        lines = (Span){ text, n };
        while (cursor_colon_pair(&lines, &key, &value)) {
                Cursor words = value;

                /* The second one is effective. */
                if (span_is(key, "Uid") && cursor_word(&words, &word))
                        has_uid = cursor_word(&words, &word) && number_parse_u32(word, ret_uid);
                else if (span_is(key, "NSpid"))
                        while (cursor_word(&words, &word))
                                has_number = number_parse_u32(word, ret_number);
        }
        return has_uid && has_number;
}

int process_file_open_jit_map(int root, uint32_t tgid) {
        _cleanup_(fd_closep) int fd = -EBADF;
        uint32_t uid, number;
        struct stat status;
        char path[32];

        if (root < 0 || !read_status(tgid, &uid, &number))
                return -EBADF;
        (void) snprintf(path, sizeof(path), "/tmp/perf-%u.map", number);
        fd = open_regular(find_below(root, path), &status);
        return fd >= 0 && status.st_uid == uid ? TAKE_FD(fd) : -EBADF;
}

/* descriptors */

size_t process_file_read_path(uint32_t tgid, uint32_t descriptor, uint64_t inode,
                              char ret[static PROCESS_FILE_PATH_BYTES]) {
        static const Span keys[] = { SPAN_LITERAL("ino") };
        uint64_t value;
        Fields fields = { .keys = keys, .n_keys = ELEMENTSOF(keys), .values = &value };
        char link[48], text[1024];
        size_t n_text = 0;
        Span key, word;
        Cursor lines;
        ssize_t n;
        int r;

        (void) snprintf(link, sizeof(link), "/proc/%u/fd/%u", tgid, descriptor);
        n = readlink(link, ret, PROCESS_FILE_PATH_BYTES);
        if (n <= 0 || (size_t) n >= PROCESS_FILE_PATH_BYTES || ret[0] != '/')
                return 0;
        /* After the path: the descriptor may stand for another file at any time. */
        (void) snprintf(link, sizeof(link), "/proc/%u/fdinfo/%u", tgid, descriptor);
        r = text_file_read(AT_FDCWD, link, text, sizeof(text), &n_text);
        if (r != 0 && r != TEXT_E_TOO_LARGE) /* locks of the file come behind it */
                return 0;
        lines = (Span){ text, n_text };
        while (fields.present == 0 && cursor_colon_pair(&lines, &key, &word))
                (void) fields_put(&fields, key, word);
        return fields.present != 0 && value == inode ? (size_t) n : 0;
}
