/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/memory/heap-version.h"

#include <elf.h>
#include <string.h>

#define TEXT_BYTES 64

static const struct {
        const char *start;
        uint64_t allocated;
        uint64_t deallocated;
} rows[] = {
        { "5.0.", 8, 16 },
        { "5.1.", 16, 24 },
        { "5.2.", 16, 24 },
};

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

static bool is_hexadecimal(char c) {
        return is_digit(c) || (c >= 'a' && c <= 'f');
}

/*
 * What follows "5.2.": "1-0-gea6b3e973b477b8061e0076bb257dbd7f3faa756", and the end. The number in
 * the middle counts the changes since the release.
 */
static bool is_rest_of_release(const char *text) {
        static const char none[] = "-0-g";
        size_t n_digits = 0;

        if (!is_digit(*text++) || strncmp(text, none, strlen(none)) != 0)
                return false;
        text += strlen(none);
        while (is_hexadecimal(text[n_digits]))
                n_digits++;
        return n_digits >= 7 && text[n_digits] == '\0';
}

/* 0 and whether a version like @start is in @load; or as elf_search_next(). */
static int find_version(ElfFile *elf, const ElfSegment *load, Span start, bool *ret) {
        uint64_t end = load->vaddr + load->file_bytes;
        ElfSearch search;
        uint64_t vaddr;
        int r;

        elf_search_init(&search, elf, load, start);
        while ((r = elf_search_next(&search, &vaddr)) == 0) {
                char text[TEXT_BYTES] = {};
                uint64_t at = vaddr + start.n;
                size_t n = (size_t) MIN_OF(end - at, (uint64_t) sizeof(text) - 1);

                /* The text may be the last of its segment. */
                r = n > 0 ? elf_file_read_vaddr(elf, at, text, n) : 0;
                if (r != 0 && r != ELF_FILE_E_UNMAPPED)
                        return r;
                *ret |= is_rest_of_release(text);
        }
        return r == ELF_FILE_E_END ? 0 : r;
}

int heap_version_find(ElfFile *elf, HeapVersion *ret) {
        HeapVersion version = {};
        unsigned n = 0;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                bool is_named = false;

                for (unsigned j = 0; j < elf->n_loads; j++) {
                        int r = 0;

                        if (!(elf->loads[j].flags & PF_W))
                                r = find_version(elf, &elf->loads[j], span_of(rows[i].start),
                                                 &is_named);
                        if (r != 0)
                                return r;
                }
                if (is_named)
                        version = (HeapVersion){ ++n == 1, rows[i].allocated, rows[i].deallocated };
        }
        *ret = version;
        return 0;
}
