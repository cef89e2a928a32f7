/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/memory/heap-image.h"

#include <string.h>

#include "base/span.h"

#define WORD sizeof(uint64_t)
#define CACHE_BYTES (HEAP_CACHE_ENTRIES * 2 * WORD)
#define COUNTERS_BYTES (CACHE_BYTES + 4 * WORD) /* state, allocated, another, deallocated */

/* What the struct of 5.0 to 5.2 has at least; within it five words that may be all ones. */
#define OLD_BYTES 4000
#define OLD_ONES_AT 456
#define OLD_ONES_BYTES 40

static uint64_t word_at(const char *bytes, size_t at) {
        uint64_t word;

        memcpy(&word, bytes + at, sizeof(word));
        return word;
}

/* tsd_state_uninitialized, as the versions number it. */
static bool is_state(uint64_t word) {
        return word == 5 || word == 6;
}

static bool has_counters(const char *bytes) {
        for (size_t at = 0; at < CACHE_BYTES; at += 2 * WORD)
                if (word_at(bytes, at) != 1 || word_at(bytes, at + WORD) != 0)
                        return false;
        return is_state(word_at(bytes, CACHE_BYTES)) && word_at(bytes, CACHE_BYTES + WORD) == 0 &&
               word_at(bytes, CACHE_BYTES + 3 * WORD) == 0;
}

static bool has_old_struct(const char *bytes) {
        if (!is_state(word_at(bytes, 0)))
                return false;
        for (size_t at = WORD; at < OLD_BYTES; at += WORD)
                if (word_at(bytes, at) != 0 &&
                    (at < OLD_ONES_AT || at >= OLD_ONES_AT + OLD_ONES_BYTES))
                        return false;
        return true;
}

/* Every place of @n bytes with @has, which is told from the front; twice is enough. */
static int find(ElfFile *elf, size_t n, bool (*has)(const char *bytes), HeapFound *ret) {
        uint64_t start = elf->tls.offset, end = start + elf->tls.file_bytes, at = start;

        *ret = (HeapFound){};
        if (elf->tls.file_bytes > HEAP_IMAGE_BYTES_MAX)
                return ELF_FILE_E_TOO_MUCH;
        for (;;) {
                size_t i = 0;
                Span view;
                int r = elf_file_view(elf, at, end, n, &view);

                if (r != 0)
                        return r == ELF_FILE_E_END ? 0 : r;
                for (; view.n - i >= n && ret->n < 2; i += WORD)
                        if (has(view.bytes + i))
                                heap_found_add(ret, at + i - start);
                if (ret->n == 2)
                        return 0;
                at += i;
        }
}

int heap_image_find_counters(ElfFile *elf, HeapFound *ret) {
        int r = find(elf, COUNTERS_BYTES, has_counters, ret);

        if (r == 0 && ret->n > 0)
                ret->at += CACHE_BYTES + WORD;
        return r;
}

int heap_image_find_struct(ElfFile *elf, HeapFound *ret) {
        return find(elf, OLD_BYTES, has_old_struct, ret);
}

int heap_image_read(ElfFile *elf, uint64_t at, uint64_t *ret) {
        *ret = 0;
        if (at > elf->tls.file_bytes || elf->tls.file_bytes - at < sizeof(*ret))
                return 0;
        return elf_file_read(elf, elf->tls.offset + at, ret, sizeof(*ret));
}

int heap_image_has_state(ElfFile *elf, uint64_t tsd, uint64_t allocated, bool *ret) {
        *ret = false;
        for (uint64_t back = WORD; back <= 2 * WORD && back <= allocated && !*ret; back += WORD) {
                uint64_t word;
                int r = heap_image_read(elf, tsd + allocated - back, &word);

                if (r != 0)
                        return r;
                *ret = is_state(word);
        }
        return 0;
}
