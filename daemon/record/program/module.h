/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Modules
 *
 * The files that recorded processes execute: each once, whatever number of processes has it mapped.
 * A file belongs to somebody else, who may change it while it is read: nothing of it is mapped, and
 * what libelf cannot read has no names and no frames.
 */

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>
#include "base/clock.h"
#include "base/macro.h"
#include "base/span.h"
#include "record/program/symbol-table.h"

#define MODULES_MAX 16384u
#define BUILD_ID_MAX_BYTES 32u
#define DEBUG_FILES_MAX 4u /* that may be the one of a module */
/*
 * A descriptor from this number on is not kept. The kernel gives the lowest number that is free, so
 * as many descriptors are open then, and the process may not have many more: it needs room for
 * those that it reads at once, and for the file into which the document is written.
 */
#define MODULE_FD_END 3800

#define MODULE_PATH_VDSO "[vdso]" /* what the kernel maps into each process */
#define MODULE_PATH_JIT "[jit]"   /* all memory of no file: code that was made at run time */

/* How a file with the symbols that were taken out of another one is found. */
typedef struct DebugFileName {
        char build_id[2 * BUILD_ID_MAX_BYTES + 1]; /* hexadecimal; "": none is looked for */
        char link[256];                            /* of .gnu_debuglink; "": there is none */
} DebugFileName;

/*
 * The amounts that were read from files and kept. The files belong to strangers, and a file with
 * holes can have any size, so there are bounds for one file and for all files.
 */
#define ALL_FRAMES_MAX_BYTES (UINT64_C(128) << 20)
#define ALL_SECTIONS_MAX_BYTES (UINT64_C(1) << 30)
#define ALL_SYMBOLS_MAX_BYTES (UINT64_C(192) << 20)
#define UNPACKED_MAX_BYTES (UINT64_C(32) << 20) /* of one file */
#define ALL_UNPACKED_MAX_BYTES (UINT64_C(128) << 20)
#define ALL_UNPACKED_MAX_NS (5 * NSEC_PER_SEC)
typedef struct ModuleCosts {
        uint64_t n_frame_bytes;   /* call frame information, which libdw keeps whole, and headers */
        uint64_t n_section_bytes; /* of symbols and their names, read once */
        uint64_t n_symbol_bytes;  /* of tables that are made of these */
        uint64_t n_unpacked_bytes; /* of functions that files have compressed */
        uint64_t unpack_ns;        /* CPU time for these */
} ModuleCosts;

typedef struct Module {
        char *path; /* owned; as the process names it */
        Elf *elf;   /* owned; NULL: it could not be opened, is no ELF file, or one too many */
        int fd;     /* owned; negative: likewise, or it is no file */
        uint64_t dev, inode;
        char build_id[2 * BUILD_ID_MAX_BYTES + 1]; /* hexadecimal; "" when there is none */
        bool has_symbols, has_data;                /* they have been read */
        SymbolTable symbols;                       /* functions */
        SymbolTable data;                          /* variables */
        bool has_lines;                            /* of the source */
        bool wants_lines; /* likewise; told before its debug file is looked for */
        int lines_fd;     /* owned; of the debug file that has them; negative: none has */
        uint64_t packed_at, n_packed; /* where in the file .gnu_debugdata is */
        ModuleCosts *costs;           /* borrowed; of all modules */
} Module;

typedef struct Modules {
        Module **all; /* owned, each at its place for as long as they live */
        size_t n, n_allocated;
        ModuleCosts costs;
} Modules;

void modules_done(Modules *modules);
/*
 * Frees frames, functions and variables once nobody looks for any: of each file there are the path,
 * the build id and the lines.
 */
void modules_drop_code(Modules *modules);
/*
 * Adds one; takes over @fd in any case. *ret is its number. @modules stays where it is then.
 * -ENOMEM; -E2BIG: there are MODULES_MAX.
 */
_must_check_ int modules_add(Modules *modules, uint64_t dev, uint64_t inode, Span path, int fd,
                             size_t *ret);
/*
 * Makes the module that of the kernel's image which is mapped into this process, as it is into
 * every one of this architecture.
 */
void module_take_vdso(Module *module);
/* Sets *ret to the name of the debug file of the module, if the module needs one. */
void module_name_debug_file(const Module *module, DebugFileName *ret);
/*
 * Takes over @fd, and takes symbols from it if it is the debug file: if it has the same build id.
 * Its lines are looked for later. -ENOMEM.
 */
_must_check_ int module_take_debug_file(Module *module, int fd);
/* The file that has the lines of the module, borrowed; negative: none has. */
int module_lines_fd(const Module *module);
/* The function at @vaddr, an address of the file; NULL when there is none. -ENOMEM. */
_must_check_ int module_find_symbol(Module *module, uint64_t vaddr, const Symbol **ret);
/* The variable there, likewise. */
_must_check_ int module_find_data(Module *module, uint64_t vaddr, const Symbol **ret);
