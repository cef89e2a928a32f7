/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Unwinder
 *
 * Finds the callers in a copy of a stack: registers and bytes from the stack pointer on, without
 * touching the process, which may have gone on or ended since. libdwfl does it by the call frame
 * information of the files (.eh_frame), so that programs need no frame pointers.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/span.h"
#include "record/program/module.h"

#define UNWIND_MAX_FRAMES 128u
#define UNWIND_REGISTERS 34u /* as RecordSample has them */
#if defined(__x86_64__)
#define UNWIND_PC 16
#define UNWIND_SP 19
#else /* aarch64 */
#define UNWIND_PC 32
#define UNWIND_SP 31
#endif

/* A range of addresses at which a process has mapped an executable part of a file. */
typedef struct Mapping {
        uint64_t begin, end; /* addresses */
        uint64_t offset;     /* in the file, of @begin */
        size_t module;
} Mapping;

typedef struct UnwoundFrame {
        size_t module;    /* SIZE_MAX: nothing is mapped there */
        uint64_t vaddr;   /* of the file, if it is one */
        uint64_t address; /* of the process: it is not to be told */
} UnwoundFrame;

typedef struct UnwoundStack {
        size_t n;
        bool is_complete; /* down to the first function; else it was cut, or is not to be read */
        UnwoundFrame frames[UNWIND_MAX_FRAMES]; /* innermost first */
} UnwoundStack;

/* A process as the unwinder knows it. */
typedef struct UnwindProcess UnwindProcess;

/*
 * Borrows @modules as long as it lives; @mappings are copied, and have to be in ascending order.
 * -ENOMEM.
 */
_must_check_ int unwind_process_new(const Modules *modules, const Mapping *mappings, size_t n,
                                    UnwindProcess **ret);
UnwindProcess *unwind_process_free(UnwindProcess *process);
DEFINE_CLEANUP(UnwindProcess *, unwind_process_free);

/*
 * @registers: of user mode, in the order of RecordSample; @stack: from its stack pointer on. There
 * is at least the innermost frame. -ENOMEM.
 */
_must_check_ int unwind_stack(UnwindProcess *process,
                              const uint64_t registers[static UNWIND_REGISTERS], Span stack,
                              UnwoundStack *ret);
/*
 * @callers: addresses, as words of 8 bytes: where the thread is, and to where functions return, the
 * innermost first. Frame pointers led to them, which end wherever a function keeps none: the stack
 * is complete only where it ends at the entry of a program.
 */
void unwind_callers(const UnwindProcess *process, Span callers, UnwoundStack *ret);
/*
 * Finds the module that is mapped at @address in the process, data included, and the address in the
 * file. Returns false if no module is mapped there.
 */
bool unwind_find_data(const UnwindProcess *process, uint64_t address, size_t *ret_module,
                      uint64_t *ret_vaddr);
