/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/module.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/number.h"

/* As many mappings are kept of a run that has no executable one so far. */
#define RUN_MAX_PIECES 64

void module_list_begin(ModuleList *list) {
        list->n = list->n_pieces = list->n_path_bytes = 0;
        list->has_run = list->run_is_executable = list->is_full = false;
}

/* The run at hand becomes a module, or is forgotten. */
static void end_run(ModuleList *list) {
        const Module *run = &list->modules[list->n];

        if (!list->has_run)
                return;
        list->has_run = false;
        if (list->run_is_executable) {
                list->n++;
                return;
        }
        list->n_pieces = run->first;
        list->n_path_bytes = run->path_at;
}

void module_list_add(ModuleList *list, const ProcessMapping *mapping) {
        Module *run = &list->modules[list->n];

        if (list->has_run && (run->dev != mapping->dev || run->inode != mapping->inode)) {
                end_run(list);
                run = &list->modules[list->n];
        }
        if (list->n == MODULE_LIST_MAX) {
                list->is_full |= mapping->is_executable;
                return;
        }
        if (!list->has_run) {
                Span path = mapping->path;

                /* The first path names the module; the mappings after it have the same. */
                if (path.n > sizeof(list->paths) - list->n_path_bytes)
                        path.n = 0;
                *run = (Module){
                        .dev = mapping->dev,
                        .inode = mapping->inode,
                        .first = (uint32_t) list->n_pieces,
                        .path_at = (uint32_t) list->n_path_bytes,
                        .n_path = (uint32_t) path.n,
                };
                if (path.n > 0)
                        memcpy(list->paths + list->n_path_bytes, path.bytes, path.n);
                list->n_path_bytes += path.n;
                list->has_run = true;
                list->run_is_executable = false;
        }
        if (!list->run_is_executable && run->n == RUN_MAX_PIECES) {
                /* Windows onto a file that is read: the first of them are not a module's. */
                ModulePiece *pieces = &list->pieces[run->first];

                memmove(pieces, pieces + 1, --run->n * sizeof(*pieces));
                list->n_pieces--;
        }
        if (list->n_pieces == MODULE_LIST_MAX_PIECES) {
                list->is_full = true;
                return;
        }
        list->pieces[list->n_pieces++] = (ModulePiece){
                .start = mapping->start,
                .end = mapping->end,
                .offset = mapping->offset,
                .is_executable = mapping->is_executable,
        };
        run->n++;
        list->run_is_executable |= mapping->is_executable;
}

int module_list_end(ModuleList *list) {
        end_run(list);
        return list->is_full ? TEXT_E_TOO_LARGE : 0;
}

int module_list_read(ModuleList *list, int dir_fd) {
        _cleanup_(fd_closep) int fd = openat(dir_fd, "maps", O_RDONLY | O_CLOEXEC | O_NOCTTY);
        uint64_t n_lines = 0;
        size_t n = 0;

        module_list_begin(list);
        if (fd < 0)
                return text_file_code(errno);
        /* The kernel prints whole lines, about a page of them in one call. */
        for (;;) {
                ssize_t n_read = read(fd, list->text + n, sizeof(list->text) - n);
                ProcessMapping mapping;
                Cursor cursor;
                Span rest;
                int r;

                if (n_read < 0 && errno == EINTR)
                        continue;
                if (n_read < 0)
                        return text_file_code(errno);
                if (n_read == 0)
                        break;
                cursor = (Span){ list->text, n + (size_t) n_read };
                while ((r = process_map_next(&cursor, &mapping, &n_lines)) == 0 &&
                       n_lines <= MODULE_LIST_MAX_LINES)
                        if (mapping.inode != 0)
                                module_list_add(list, &mapping);
                if (r != 0 && r != TEXT_E_ABSENT)
                        return r;
                rest = cursor;
                memmove(list->text, rest.bytes, rest.n);
                n = rest.n;
                if (n == sizeof(list->text) || n_lines > MODULE_LIST_MAX_LINES)
                        return TEXT_E_TOO_LARGE;
        }
        if (n > 0)
                return TEXT_E_MALFORMED;
        return n_lines == 0 ? TEXT_E_VANISHED : module_list_end(list);
}

ProcessMapping module_list_mapping(const ModuleList *list, const Module *module) {
        const ModulePiece *piece = &list->pieces[module->first];

        return (ProcessMapping){
                .start = piece->start,
                .end = piece->end,
                .offset = piece->offset,
                .is_executable = piece->is_executable,
                .dev = module->dev,
                .inode = module->inode,
                .path = { list->paths + module->path_at, module->n_path },
        };
}

bool module_list_is_named(const ModuleList *list, const Module *module, const char *name) {
        const char *path = list->paths + module->path_at;
        size_t n = strlen(name);

        return module->n_path > n && path[module->n_path - n - 1] == '/' &&
               memcmp(path + module->n_path - n, name, n) == 0;
}

/* The piece at or behind number @i, of @n in order, that has @address; @n when there is none. */
static size_t find_piece(const ModulePiece *pieces, size_t i, size_t n, uint64_t address) {
        size_t low = i + ARRAY_FIRST(n - i, k, pieces[i + k].start > address);

        return low > i && address < pieces[low - 1].end ? low - 1 : n;
}

bool module_list_place(const ModuleList *list, const Module *module, const HeapLayout *layout,
                       uint64_t page_bytes, size_t *at, uint64_t *ret_bias) {
        const ModulePiece *pieces = &list->pieces[module->first];
        uint64_t first_vaddr = layout->first_vaddr & ~(page_bytes - 1);
        uint64_t first_offset = layout->first_offset & ~(page_bytes - 1);
        size_t code = *at;

        for (size_t i = *at; i < module->n; i++) {
                uint64_t bias = pieces[i].start - first_vaddr;
                size_t image;

                if (pieces[i].offset != first_offset || (layout->is_fixed && bias != 0))
                        continue;
                /* The next piece with code. It only goes forward: there can be many pieces. */
                while (code < module->n && (code < i || !pieces[code].is_executable))
                        code++;
                image = find_piece(pieces, i, module->n, bias + layout->tls_vaddr);
                if (image == module->n || code > image)
                        continue;
                *at = image + 1;
                *ret_bias = bias;
                return true;
        }
        return false;
}

/* files */

/* The directory of a thread is PID/task/TID: its ".." is race-free, PID is not. */
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

int module_file_find(int dir_fd, const ProcessMapping *mapping,
                     char path[static MODULE_FILE_PATH_BYTES], FileIdentity *ret) {
        static const char root[] = "root";
        int r;

        (void) snprintf(path, MODULE_FILE_PATH_BYTES,
                        PROCESS_FROM_THREAD "map_files/%" PRIx64 "-%" PRIx64, mapping->start,
                        mapping->end);
        r = identify(dir_fd, path, 0, ret);
        if (r == 0)
                return 0;
        /*
         * The root of the thread, not of the process: a leader that has exited has neither root nor
         * map. A path names the file of the mapping if its file system tells one device for both.
         */
        memcpy(path, root, sizeof(root));
        if (process_map_path(mapping, path + sizeof(root) - 1) &&
            identify(dir_fd, path, 0, ret) == 0 && ret->dev == mapping->dev &&
            ret->inode == mapping->inode)
                return 0;
        return r;
}

int module_file_open(int dir_fd, const ProcessMapping *mapping, const FileIdentity *identity,
                     int *ret_fd) {
        _cleanup_(fd_closep) int path_fd = -EBADF;
        char path[MODULE_FILE_PATH_BYTES];
        FileIdentity found;
        int fd, r;

        r = module_file_find(dir_fd, mapping, path, &found);
        if (r != 0)
                return r;
        /* A stranger's path may lead to a device by now. O_PATH touches nothing. */
        path_fd = openat(dir_fd, path, O_PATH | O_CLOEXEC);
        if (path_fd < 0)
                return code_of(errno);
        if (identify(path_fd, "", AT_EMPTY_PATH, &found) != 0 ||
            memcmp(&found, identity, sizeof(found)) != 0)
                return MODULE_FILE_E_GONE;
        /* The very file that the O_PATH is. This thread may have a table of its own. */
        (void) snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", path_fd);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0)
                return code_of(errno);
        *ret_fd = fd;
        return 0;
}

int module_file_program(int dir_fd, FileIdentity *ret) {
        return identify(dir_fd, "exe", 0, ret);
}
