/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/memory/thread-pointer.h"

#include <errno.h>
#include <string.h>

#include "kernel/memory/elf-file.h"

/* Debuggers are told so of a member of a struct: its bits, how many it is, its offset. */
typedef struct Member {
        uint32_t n_bits;
        uint32_t n_elements;
        uint32_t offset;
} Member;

/* struct pthread goes on from the thread's number: a number not in use, "previous", the head. */
#define HEAD_BEHIND_TID 16

typedef struct Constants {
        bool has_size, has_tid;
        uint32_t size;
        Member tid;
} Constants;

static int read_constants(ElfFile *elf, Constants *ret) {
        const struct {
                const char *name;
                void *to;
                size_t n;
                bool *has;
        } rows[] = {
                { "_thread_db_sizeof_pthread", &ret->size, sizeof(ret->size), &ret->has_size },
                { "_thread_db_pthread_tid", &ret->tid, sizeof(ret->tid), &ret->has_tid },
        };
        ElfSymbols symbols;
        Elf64_Sym symbol;
        int r = elf_symbols_find(elf, SHT_DYNSYM, &symbols);

        while (r == 0 && (r = elf_symbols_next(elf, &symbols, &symbol)) == 0) {
                char name[sizeof("_thread_db_sizeof_pthread")];

                if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF ||
                    (symbol.st_size != sizeof(ret->size) && symbol.st_size != sizeof(ret->tid)))
                        continue;
                r = elf_symbols_name(elf, &symbols, &symbol, name, sizeof(name));
                for (size_t i = 0; r == 0 && i < ELEMENTSOF(rows); i++) {
                        if (strcmp(name, rows[i].name) != 0 || symbol.st_size != rows[i].n)
                                continue;
                        r = elf_file_read_vaddr(elf, symbol.st_value, rows[i].to, rows[i].n);
                        *rows[i].has = r == 0;
                }
                /* A name without an end is none of these, and a constant may be cut away. */
                if (r == ELF_FILE_E_END || r == ELF_FILE_E_UNMAPPED)
                        r = 0;
        }
        return r == ELF_FILE_E_END ? 0 : r;
}

int thread_layout_find(int fd, uint64_t size, ThreadLayout *ret) {
        _cleanup_(elf_file_freep) ElfFile *elf = NULL;
        ThreadLayout layout = {};
        Constants constants = {};
        int r = elf_file_open(fd, size, &elf);

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
