/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/process-map.h"

#include <string.h>
#include <sys/sysmacros.h>

#include "base/number.h"

#define NEWLINE_ESCAPE "\\012"

/* "START-END", "MAJOR:MINOR" */
static bool parse_pair(Span text, char separator, uint64_t max, uint64_t *ret_a, uint64_t *ret_b) {
        const char *at = text.n > 0 ? memchr(text.bytes, separator, text.n) : NULL;
        size_t n;

        if (!at)
                return false;
        n = (size_t) (at - text.bytes);
        return number_parse_hex((Span){ text.bytes, n }, ret_a) && *ret_a <= max &&
               number_parse_hex((Span){ at + 1, text.n - n - 1 }, ret_b) && *ret_b <= max;
}

/* "START-END PERMISSIONS OFFSET MAJOR:MINOR INODE", padded with blanks, and the path if any. */
static int parse_line(Span line, ProcessMapping *ret) {
        static const char *const letters[] = { "r-", "w-", "x-", "ps" };
        Span range, permissions, offset, device, inode;
        uint64_t major, minor;
        Cursor words = line;
        ProcessMapping mapping;

        if (!cursor_word(&words, &range) || !cursor_word(&words, &permissions) ||
            !cursor_word(&words, &offset) || !cursor_word(&words, &device) ||
            !cursor_word(&words, &inode) ||
            !parse_pair(range, '-', UINT64_MAX, &mapping.start, &mapping.end) ||
            mapping.start >= mapping.end || permissions.n != ELEMENTSOF(letters) ||
            !number_parse_hex(offset, &mapping.offset) ||
            !parse_pair(device, ':', UINT32_MAX, &major, &minor) ||
            !number_parse_u64(inode, &mapping.inode))
                return TEXT_E_MALFORMED;
        for (size_t i = 0; i < permissions.n; i++)
                if (permissions.bytes[i] != letters[i][0] && permissions.bytes[i] != letters[i][1])
                        return TEXT_E_MALFORMED;
        mapping.is_executable = permissions.bytes[2] == 'x';
        mapping.dev = makedev((unsigned) major, (unsigned) minor);
        mapping.path = words;
        while (mapping.path.n > 0 && mapping.path.bytes[0] == ' ') {
                mapping.path.bytes++;
                mapping.path.n--;
        }
        *ret = mapping;
        return 0;
}

int process_map_next(Cursor *cursor, ProcessMapping *ret, uint64_t *ret_n_lines) {
        ProcessMapping mapping;
        Span line;

        while (cursor_line(cursor, &line)) {
                int r = parse_line(line, &mapping);

                ++*ret_n_lines;
                if (r != 0)
                        return r;
                if (mapping.inode == 0 && !mapping.is_executable)
                        continue; /* data of no file */
                *ret = mapping;
                return 0;
        }
        return TEXT_E_ABSENT;
}

int process_map_find(Span text, uint64_t address, ProcessMapping *ret) {
        ProcessMapping mapping;
        Cursor cursor = text;
        Span line;

        while (cursor_line(&cursor, &line)) {
                int r = parse_line(line, &mapping);

                if (r != 0)
                        return r;
                if (mapping.end <= address)
                        continue;
                if (mapping.start > address)
                        break;
                *ret = mapping;
                return 0;
        }
        return TEXT_E_ABSENT;
}

bool process_map_path(const ProcessMapping *mapping, char ret_path[static PROCESS_MAP_PATH_BYTES]) {
        const size_t n_escape = strlen(NEWLINE_ESCAPE),
                     n_suffix = strlen(PROCESS_MAP_DELETED_SUFFIX);
        Span path = mapping->path;
        size_t n = 0;

        if (path.n == 0 || path.bytes[0] != '/' || memchr(path.bytes, '\0', path.n))
                return false;
        if (path.n >= n_suffix &&
            memcmp(path.bytes + path.n - n_suffix, PROCESS_MAP_DELETED_SUFFIX, n_suffix) == 0)
                return false;
        for (size_t i = 0; i < path.n; n++) {
                if (n == PROCESS_MAP_PATH_BYTES - 1)
                        return false;
                if (path.n - i >= n_escape &&
                    memcmp(path.bytes + i, NEWLINE_ESCAPE, n_escape) == 0) {
                        ret_path[n] = '\n';
                        i += n_escape;
                } else
                        ret_path[n] = path.bytes[i++];
        }
        ret_path[n] = '\0';
        return true;
}
