/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/memory/tls-slot.h"

#include <elf.h>

static bool is_slot_kind(ElfRelocationKind kind) {
        return kind == ELF_RELOCATION_TPOFF || kind == ELF_RELOCATION_DTPMOD ||
               kind == ELF_RELOCATION_TLSDESC;
}

/* Whether the loader has two words to write at @vaddr. */
static bool is_writable(const ElfFile *elf, uint64_t vaddr) {
        for (unsigned i = 0; i < elf->n_loads; i++) {
                const ElfSegment *load = &elf->loads[i];

                if ((load->flags & PF_W) && vaddr % 8 == 0 && vaddr >= load->vaddr &&
                    vaddr - load->vaddr < load->memory_bytes &&
                    load->memory_bytes - (vaddr - load->vaddr) >= 16)
                        return true;
        }
        return false;
}

int tls_slots_init(TlsSlots *slots, ElfFile *elf, const ElfDynamic *dynamic) {
        return elf_relocations_init(&slots->relocations, elf, dynamic);
}

int tls_slots_next(TlsSlots *slots, TlsSlot *ret) {
        for (;;) {
                ElfRelocation relocation;
                int r = elf_relocations_next(&slots->relocations, &relocation);

                if (r != 0)
                        return r;
                if (!is_slot_kind(relocation.kind) || relocation.symbol != 0 ||
                    !is_writable(slots->relocations.elf, relocation.vaddr))
                        continue;
                *ret = (TlsSlot){ relocation.kind, relocation.vaddr, (uint64_t) relocation.addend };
                return 0;
        }
}
