/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/host-disk.h"

#include <dirent.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/number.h"

#define NAME_BYTES 64 /* DISK_NAME_LEN is 32 */

/* text */

bool disk_line_parse(Span line, DiskLine *ret) {
        Cursor words = cursor_over(line);
        Span major, minor;

        return cursor_word(&words, &major) && cursor_word(&words, &minor) &&
               cursor_word(&words, &ret->name) && number_parse_u32(major, &ret->major) &&
               number_parse_u32(minor, &ret->minor) &&
               host_row_parse(HOST_PART_DISK, &words, HOST_DISK_LEAST_COLUMNS, &ret->row);
}

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

/* Takes the digits at the beginning of @text off; false when there are none. */
static bool take_number(Span *text) {
        size_t n = 0;

        while (n < text->n && is_digit(text->bytes[n]))
                n++;
        *text = (Span){ text->bytes + n, text->n - n };
        return n > 0;
}

static bool take(Span *text, Span beginning) {
        if (text->n < beginning.n || memcmp(text->bytes, beginning.bytes, beginning.n) != 0)
                return false;
        *text = (Span){ text->bytes + beginning.n, text->n - beginning.n };
        return true;
}

bool disk_is_partition_of(Span name, Span disk) {
        Span rest = name;

        if (disk.n == 0 || !take(&rest, disk))
                return false;
        if (is_digit(disk.bytes[disk.n - 1]) && !take(&rest, SPAN_LITERAL("p")))
                return false;
        return take_number(&rest) && rest.n == 0;
}

/* Drivers whose disks are never the storage itself. */
static HostKind find_kind_by_name(Span name) {
        static const struct {
                Span beginning;
                HostKind kind;
        } rows[] = {
                { SPAN_LITERAL("loop"), HOST_KIND_LOOP },
                { SPAN_LITERAL("ram"), HOST_KIND_MEMORY },
                { SPAN_LITERAL("zram"), HOST_KIND_MEMORY },
                { SPAN_LITERAL("dm-"), HOST_KIND_STACKED },
                { SPAN_LITERAL("md"), HOST_KIND_STACKED },
                { SPAN_LITERAL("bcache"), HOST_KIND_STACKED },
                { SPAN_LITERAL("drbd"), HOST_KIND_STACKED },
                { SPAN_LITERAL("zd"), HOST_KIND_STACKED },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                Span rest = name;

                /* An array of md may have a name: "md_home". */
                if (take(&rest, rows[i].beginning) && rest.n > 0 &&
                    (is_digit(rest.bytes[0]) || rest.bytes[0] == '_'))
                        return rows[i].kind;
        }
        return HOST_KIND_UNKNOWN;
}

/* "nvme0n1" is the head of the paths "nvme0c0n1", "nvme0c1n1" that other lines are of. */
static bool has_paths(Span name, Span text) {
        Cursor lines = cursor_over(text);
        Span subsystem = name, rest, line;
        DiskLine disk;

        if (!take(&subsystem, SPAN_LITERAL("nvme")) || !take_number(&subsystem))
                return false;
        rest = subsystem; /* "n1" */
        subsystem = (Span){ name.bytes, name.n - rest.n };
        if (rest.n == 0 || rest.bytes[0] != 'n')
                return false;
        while (cursor_line(&lines, &line)) {
                if (!disk_line_parse(line, &disk))
                        continue;
                if (take(&disk.name, subsystem) && take(&disk.name, SPAN_LITERAL("c")) &&
                    take_number(&disk.name) && span_equal(disk.name, rest))
                        return true;
        }
        return false;
}

/* /sys */

static DIR *closedir_safe(DIR *dir) {
        if (dir)
                (void) closedir(dir);
        return NULL;
}
DEFINE_CLEANUP(DIR *, closedir_safe);

static bool is_empty(int dir_fd, const char *path) {
        _cleanup_(closedir_safep) DIR *dir = NULL;
        const struct dirent *entry;
        int fd;

        if (text_file_open_directory(dir_fd, path, &fd) != 0)
                return true;
        dir = fdopendir(fd);
        if (!dir) {
                (void) fd_close(fd);
                return true;
        }
        do
                entry = readdir(dir);
        while (entry && entry->d_name[0] == '.');
        return !entry;
}

/* /sys writes the slashes in the name of a disk ("cciss/c0d0") as exclamation marks. */
static bool has_slaves(Span name, int block_fd) {
        char path[NAME_BYTES + sizeof("/slaves")];

        if (block_fd < 0 || name.n >= NAME_BYTES || name.bytes[0] == '.')
                return false;
        (void) snprintf(path, sizeof(path), "%.*s/slaves", (int) name.n, name.bytes);
        for (size_t i = 0; i < name.n; i++)
                if (path[i] == '/')
                        path[i] = '!';
        return !is_empty(block_fd, path);
}

HostKind disk_find_kind(Span name, Span text, int block_fd) {
        HostKind kind = find_kind_by_name(name);

        if (kind != HOST_KIND_UNKNOWN)
                return kind;
        return has_slaves(name, block_fd) || has_paths(name, text) ? HOST_KIND_STACKED
                                                                   : HOST_KIND_DISK;
}

static void write_disk(JsonWriter *json, const DiskLine *disk, HostKind kind) {
        json_write_array(json);
        json_write_name(json, disk->name);
        json_write_text(json, host_kind_name(kind));
        json_write_u64(json, disk->major);
        json_write_u64(json, disk->minor);
        host_row_write(json, HOST_PART_DISK, &disk->row);
        json_write_end(json);
}

static void write_disks(Span text, int block_fd, JsonWriter *json, HostFile *file) {
        Cursor lines = cursor_over(text);
        DiskLine disk;
        Span line, whole = {};

        while (cursor_line(&lines, &line)) {
                HostKind kind = HOST_KIND_PARTITION;

                if (!disk_line_parse(line, &disk)) {
                        file->n_bad++;
                        continue;
                }
                file->n_good++;
                /* The partitions of a disk follow it. */
                if (!disk_is_partition_of(disk.name, whole)) {
                        whole = disk.name;
                        kind = disk_find_kind(disk.name, text, block_fd);
                }
                write_disk(json, &disk, kind);
        }
        file->n_bad += !cursor_is_at_end(&lines);
        file->n_good += text.n == 0; /* a host without disks */
}

void host_disk_read(int proc_fd, int sys_fd, Buffer *text, JsonWriter *json,
                    uint64_t counts[static _SOURCE_OUTCOME_MAX]) {
        static const char *const more[] = { "kind", "major", "minor", NULL };
        _cleanup_(fd_closep) int block_fd = -EBADF;
        HostFile file = {};
        Span content;
        int r;

        r = host_file_read(proc_fd, "diskstats", text, &content);
        if (sys_fd >= 0 && text_file_open_directory(sys_fd, "class/block", &block_fd) != 0)
                block_fd = -EBADF; /* kinds follow from names alone */
        host_columns_write(json, HOST_PART_DISK, more);
        json_write_key(json, "rows");
        json_write_array(json);
        write_disks(content, block_fd, json, &file);
        json_write_end(json);
        host_file_count(&file, r, counts);
}
