/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * TlsSlots
 *
 * Goes through the words that the dynamic loader fills in for a module's own use of its
 * thread-local block. One whose relocation has a symbol may lead to the block of another module, so
 * it is left out. There may be hundreds, and none is kept.
 */

#include <stdint.h>
#include "base/macro.h"
#include "kernel/memory/elf-file.h"

typedef struct TlsSlot {
        ElfRelocationKind kind; /* _TPOFF, _DTPMOD, _TLSDESC */
        uint64_t vaddr;         /* of two words that are mapped and written */
        uint64_t addend;        /* the variable's place in the block; of no use for _DTPMOD */
} TlsSlot;

typedef struct TlsSlots {
        ElfRelocations relocations;
} TlsSlots;

/* As elf_relocations_init(). */
_must_check_ int tls_slots_init(TlsSlots *slots, ElfFile *elf, const ElfDynamic *dynamic);
/* As elf_relocations_next(). */
_must_check_ int tls_slots_next(TlsSlots *slots, TlsSlot *ret);
