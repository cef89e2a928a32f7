/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/memory/thread-layout.h"

#include <elf.h>
#include <string.h>

#include "base/err.h"
#include "kernel/memory/elf-file.h"

/* What describes a member of a struct for debuggers: its bits, how many it is, its offset. */
typedef struct Member {
        uint32_t n_bits;
        uint32_t n_elements;
        uint32_t offset;
} Member;

/* struct pthread goes on from the thread's number: a number not in use, "previous", the head. */
#define HEAD_BEHIND_TID 16
#define HEAD_BYTES 24

typedef struct Constants {
        bool has_size, has_tid;
        uint32_t size;
        Member tid;
} Constants;

/* Exactly what the symbol says it is. 0, or as elf_file_read(); what is not there is left out. */
static int read_constant(ElfFile *elf, const ElfSymbol *symbol, void *ret, size_t n, bool *has) {
        int r;

        if (symbol->n_bytes != n)
                return 0;
        r = elf_file_read_vaddr(elf, symbol->value, ret, n);
        *has = r == 0;
        return r == ELF_FILE_E_UNMAPPED ? 0 : r;
}

static int read_constants(ElfFile *elf, Constants *constants) {
        ElfSymbols symbols;
        ElfSymbol symbol;
        int r = elf_symbols_init(&symbols, elf, SHT_DYNSYM);

        if (r != 0)
                return r;
        while ((r = elf_symbols_next(&symbols, &symbol)) == 0) {
                char name[sizeof("_thread_db_sizeof_pthread")];

                if (symbol.type != STT_OBJECT || !symbol.is_defined ||
                    (symbol.n_bytes != sizeof(constants->size) &&
                     symbol.n_bytes != sizeof(constants->tid)))
                        continue;
                r = elf_symbols_name(&symbols, &symbol, name, sizeof(name));
                if (r == ELF_FILE_E_END)
                        continue;
                if (r == 0 && strcmp(name, "_thread_db_sizeof_pthread") == 0)
                        r = read_constant(elf, &symbol, &constants->size, sizeof(constants->size),
                                          &constants->has_size);
                else if (r == 0 && strcmp(name, "_thread_db_pthread_tid") == 0)
                        r = read_constant(elf, &symbol, &constants->tid, sizeof(constants->tid),
                                          &constants->has_tid);
                if (r != 0)
                        return r;
        }
        return r == ELF_FILE_E_END ? 0 : r;
}

int thread_layout_find(const ByteSource *file, ThreadLayout *ret) {
        _cleanup_(elf_file_freep) ElfFile *elf = NULL;
        ThreadLayout layout = {};
        Constants constants = {};
        int r = elf_file_open(file, &elf);

        if (r == 0)
                r = read_constants(elf, &constants);
        if (r < 0 && r != -EIO)
                return r;
        if (r == 0 && constants.has_size && constants.has_tid && constants.tid.n_bits == 32 &&
            constants.tid.n_elements == 1 && constants.tid.offset <= THREAD_STRUCT_BYTES_MAX)
                layout = (ThreadLayout){
                        .is_known = 1,
                        .sizeof_pthread = constants.size,
                        .tid_offset = constants.tid.offset,
                        .robust_offset = constants.tid.offset + HEAD_BEHIND_TID,
                };
        *ret = thread_layout_is_valid(&layout) ? layout : (ThreadLayout){};
        return 0;
}

bool thread_layout_is_valid(const ThreadLayout *layout) {
        if (!layout->is_known)
                return layout->sizeof_pthread == 0 && layout->tid_offset == 0 &&
                       layout->robust_offset == 0;
        return layout->is_known == 1 && layout->sizeof_pthread <= THREAD_STRUCT_BYTES_MAX &&
               layout->sizeof_pthread >= HEAD_BYTES && layout->tid_offset % 4 == 0 &&
               layout->robust_offset % 8 == 0 && layout->tid_offset < layout->robust_offset &&
               layout->robust_offset <= layout->sizeof_pthread - HEAD_BYTES;
}
