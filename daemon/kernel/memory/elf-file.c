/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/memory/elf-file.h"

#include <elf.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#if __BYTE_ORDER == __LITTLE_ENDIAN
#define OWN_BYTE_ORDER ELFDATA2LSB
#else
#define OWN_BYTE_ORDER ELFDATA2MSB
#endif

/* Whether a part of a whole that is @n_whole long begins at @at and is @n long. */
static bool is_within(uint64_t at, uint64_t n, uint64_t n_whole) {
        return at <= n_whole && n <= n_whole - at;
}

/* reading */

int elf_file_read(ElfFile *elf, uint64_t offset, void *ret, size_t n) {
        uint64_t charge = MAX_OF((uint64_t) n, (uint64_t) ELF_READ_CHARGE_BYTES);
        int r;

        if (!is_within(offset, n, elf->source->size))
                return ELF_FILE_E_MALFORMED;
        if (charge > elf->n_left)
                return ELF_FILE_E_TOO_MUCH;
        elf->n_left -= charge;
        r = elf->source->read(elf->source->userdata, offset, ret, n);
        if (r == BYTES_E_SHORT)
                return ELF_FILE_E_MALFORMED;
        return err_fold(r);
}

int elf_file_locate(const ElfFile *elf, uint64_t vaddr, uint64_t n, uint64_t *ret) {
        for (unsigned i = 0; i < elf->n_loads; i++) {
                const ElfSegment *load = &elf->loads[i];

                if (n > 0 && vaddr >= load->vaddr &&
                    is_within(vaddr - load->vaddr, n, load->file_bytes)) {
                        *ret = load->offset + (vaddr - load->vaddr);
                        return 0;
                }
        }
        return ELF_FILE_E_UNMAPPED;
}

int elf_file_read_vaddr(ElfFile *elf, uint64_t vaddr, void *ret, size_t n) {
        uint64_t offset;

        if (elf_file_locate(elf, vaddr, n, &offset) != 0)
                return ELF_FILE_E_UNMAPPED;
        return elf_file_read(elf, offset, ret, n);
}

static bool has_window(const ElfFile *elf, uint64_t offset, size_t n) {
        return offset >= elf->window_offset &&
               is_within(offset - elf->window_offset, n, elf->n_window);
}

static int move_window(ElfFile *elf, uint64_t offset, size_t n) {
        int r;

        elf->n_window = 0;
        r = elf_file_read(elf, offset, elf->window, n);
        if (r != 0)
                return r;
        elf->window_offset = offset;
        elf->n_window = n;
        return 0;
}

int elf_file_view(ElfFile *elf, uint64_t offset, uint64_t end, size_t unit, Span *ret) {
        uint64_t n = end - offset, at;
        int r = 0;

        if (offset > end || n < unit)
                return ELF_FILE_E_END;
        if (!has_window(elf, offset, unit))
                r = move_window(elf, offset, (size_t) MIN_OF(n, (uint64_t) ELF_WINDOW_BYTES));
        if (r != 0)
                return r;
        at = offset - elf->window_offset;
        *ret = (Span){ elf->window + at, (size_t) MIN_OF(n, elf->n_window - at) };
        return 0;
}

/* headers */

static ElfSegment segment_of(const Elf64_Phdr *header) {
        return (ElfSegment){
                .vaddr = header->p_vaddr,
                .offset = header->p_offset,
                .file_bytes = header->p_filesz,
                .memory_bytes = header->p_memsz,
                .align = header->p_align,
                .flags = header->p_flags,
        };
}

static bool is_segment_sound(const ElfFile *elf, const ElfSegment *segment) {
        return is_within(segment->offset, segment->file_bytes, elf->source->size) &&
               segment->file_bytes <= segment->memory_bytes &&
               is_within(segment->vaddr, segment->memory_bytes, ELF_ADDRESS_MAX);
}

static bool is_sound(const ElfFile *elf) {
        for (unsigned i = 0; i < elf->n_loads; i++)
                if (!is_segment_sound(elf, &elf->loads[i]) ||
                    (i > 0 && elf->loads[i].vaddr <
                                      elf->loads[i - 1].vaddr + elf->loads[i - 1].memory_bytes))
                        return false;
        return elf->n_loads > 0 && (!elf->has_tls || is_segment_sound(elf, &elf->tls)) &&
               (!elf->has_dynamic || is_segment_sound(elf, &elf->dynamic));
}

static void take_program_header(ElfFile *elf, const Elf64_Phdr *header) {
        ElfSegment segment = segment_of(header);

        switch (header->p_type) {
        case PT_LOAD:
                elf->loads[elf->n_loads++] = segment;
                break;
        case PT_TLS:
                elf->has_tls = true;
                elf->tls = segment;
                break;
        case PT_DYNAMIC:
                elf->has_dynamic = true;
                elf->dynamic = segment;
                break;
        case PT_INTERP:
                elf->has_interpreter = true;
                break;
        default:
                break;
        }
}

/* The first page has the program headers, too, unless somebody moved them. */
static int read_headers(ElfFile *elf) {
        char page[ELF_READ_CHARGE_BYTES];
        size_t n_page = (size_t) MIN_OF(elf->source->size, (uint64_t) sizeof(page));
        Elf64_Phdr headers[ELF_SEGMENTS_MAX];
        Elf64_Ehdr file = {};
        size_t n_headers;
        int r;

        if (n_page < SELFMAG)
                return ELF_FILE_E_NOT_ELF;
        r = elf_file_read(elf, 0, page, n_page);
        if (r != 0)
                return r;
        memcpy(&file, page, MIN_OF(n_page, sizeof(file)));
        if (memcmp(file.e_ident, ELFMAG, SELFMAG) != 0)
                return ELF_FILE_E_NOT_ELF;
        if (n_page <= EI_DATA)
                return ELF_FILE_E_MALFORMED;
        if (file.e_ident[EI_CLASS] != ELFCLASS64 || file.e_ident[EI_DATA] != OWN_BYTE_ORDER)
                return ELF_FILE_E_FOREIGN;
        if (n_page < sizeof(file))
                return ELF_FILE_E_MALFORMED;
        if (file.e_type != ET_EXEC && file.e_type != ET_DYN)
                return ELF_FILE_E_NOT_ELF;
        if (file.e_phentsize != sizeof(headers[0]) || file.e_phnum > ELF_SEGMENTS_MAX)
                return ELF_FILE_E_MALFORMED;

        n_headers = file.e_phnum * sizeof(headers[0]);
        if (is_within(file.e_phoff, n_headers, n_page)) {
                memcpy(headers, page + file.e_phoff, n_headers);
        } else {
                r = elf_file_read(elf, file.e_phoff, headers, n_headers);
                if (r != 0)
                        return r;
        }
        elf->type = file.e_type;
        elf->machine = file.e_machine;
        if (file.e_shentsize == sizeof(Elf64_Shdr)) {
                elf->sections_offset = file.e_shoff;
                elf->n_sections = file.e_shnum;
        }
        for (unsigned i = 0; i < file.e_phnum; i++)
                take_program_header(elf, &headers[i]);
        elf->is_sound = is_sound(elf);
        return 0;
}

int elf_file_open(const ByteSource *source, ElfFile **ret) {
        _cleanup_(elf_file_freep) ElfFile *elf = NULL;
        int r;

        elf = malloc(sizeof(*elf));
        if (!elf)
                return -ENOMEM;
        *elf = (ElfFile){ .source = source, .n_left = ELF_READ_BYTES_MAX };
        r = read_headers(elf);
        if (r != 0)
                return r;
        elf->window = malloc(ELF_WINDOW_BYTES);
        if (!elf->window)
                return -ENOMEM;
        *ret = TAKE_PTR(elf);
        return 0;
}

ElfFile *elf_file_free(ElfFile *elf) {
        if (elf)
                free(elf->window);
        free(elf);
        return NULL;
}

/* searching */

void elf_search_init(ElfSearch *search, ElfFile *elf, const ElfSegment *segment, Span needle) {
        *search = (ElfSearch){
                .elf = elf,
                .at = segment->offset,
                .end = segment->offset + segment->file_bytes,
                .to_vaddr = segment->vaddr - segment->offset,
                .needle = needle,
        };
}

int elf_search_next(ElfSearch *search, uint64_t *ret_vaddr) {
        for (;;) {
                const char *found;
                Span view;
                int r = elf_file_view(search->elf, search->at, search->end, search->needle.n,
                                      &view);

                if (r != 0)
                        return r;
                found = memmem(view.bytes, view.n, search->needle.bytes, search->needle.n);
                if (found) {
                        search->at += (uint64_t) (found - view.bytes);
                        *ret_vaddr = search->at++ + search->to_vaddr;
                        return 0;
                }
                /* One that lies across the end of the view begins in its last bytes. */
                search->at += view.n - (search->needle.n - 1);
        }
}

/* the dynamic section */

int elf_dynamic_read(ElfFile *elf, ElfDynamic *ret) {
        ElfDynamic dynamic = {};
        uint64_t at = elf->dynamic.offset, end = at + elf->dynamic.file_bytes;

        for (unsigned i = 0; elf->has_dynamic; i++) {
                Elf64_Dyn entry;
                Span view;
                int r = elf_file_view(elf, at, end, sizeof(entry), &view);

                if (r == ELF_FILE_E_END)
                        break;
                if (r != 0)
                        return r;
                memcpy(&entry, view.bytes, sizeof(entry));
                if (entry.d_tag == DT_NULL)
                        break;
                if (i == ELF_DYNAMIC_MAX)
                        return ELF_FILE_E_TOO_MUCH;
                at += sizeof(entry);

                switch (entry.d_tag) {
                case DT_RELA:
                        dynamic.rela = entry.d_un.d_ptr;
                        break;
                case DT_RELASZ:
                        dynamic.n_rela_bytes = entry.d_un.d_val;
                        break;
                case DT_JMPREL:
                        dynamic.plt = entry.d_un.d_ptr;
                        break;
                case DT_PLTRELSZ:
                        dynamic.n_plt_bytes = entry.d_un.d_val;
                        break;
                case DT_PLTREL:
                        dynamic.plt_is_rela = entry.d_un.d_val == DT_RELA;
                        break;
                case DT_FLAGS_1:
                        dynamic.is_pie = entry.d_un.d_val & DF_1_PIE;
                        break;
                default:
                        break;
                }
        }
        *ret = dynamic;
        return 0;
}

static ElfRelocationKind relocation_kind(uint16_t machine, uint32_t type) {
        static const struct {
                uint16_t machine;
                ElfRelocationKind kind;
                uint32_t type;
        } rows[] = {
                { EM_X86_64, ELF_RELOCATION_RELATIVE, R_X86_64_RELATIVE },
                { EM_X86_64, ELF_RELOCATION_TPOFF, R_X86_64_TPOFF64 },
                { EM_X86_64, ELF_RELOCATION_DTPMOD, R_X86_64_DTPMOD64 },
                { EM_X86_64, ELF_RELOCATION_TLSDESC, R_X86_64_TLSDESC },
                { EM_AARCH64, ELF_RELOCATION_RELATIVE, R_AARCH64_RELATIVE },
                { EM_AARCH64, ELF_RELOCATION_TPOFF, R_AARCH64_TLS_TPREL },
                { EM_AARCH64, ELF_RELOCATION_DTPMOD, R_AARCH64_TLS_DTPMOD },
                { EM_AARCH64, ELF_RELOCATION_TLSDESC, R_AARCH64_TLSDESC },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (rows[i].machine == machine && rows[i].type == type)
                        return rows[i].kind;
        return ELF_RELOCATION_OTHER;
}

int elf_relocations_init(ElfRelocations *relocations, ElfFile *elf, const ElfDynamic *dynamic) {
        uint64_t n_bytes[2] = { dynamic->n_rela_bytes,
                                dynamic->plt_is_rela ? dynamic->n_plt_bytes : 0 };
        uint64_t vaddr[2] = { dynamic->rela, dynamic->plt };

        *relocations = (ElfRelocations){ .elf = elf };
        for (unsigned i = 0; i < ELEMENTSOF(relocations->tables); i++) {
                if (n_bytes[i] == 0)
                        continue;
                if (n_bytes[i] / sizeof(Elf64_Rela) > ELF_RELOCATIONS_MAX)
                        return ELF_FILE_E_TOO_MUCH;
                if (elf_file_locate(elf, vaddr[i], n_bytes[i], &relocations->tables[i].at) != 0)
                        return ELF_FILE_E_MALFORMED;
                relocations->tables[i].end = relocations->tables[i].at + n_bytes[i];
        }
        return 0;
}

int elf_relocations_next(ElfRelocations *relocations, ElfRelocation *ret) {
        for (; relocations->table < ELEMENTSOF(relocations->tables); relocations->table++) {
                uint64_t *at = &relocations->tables[relocations->table].at;
                Elf64_Rela entry;
                Span view;
                int r = elf_file_view(relocations->elf, *at,
                                      relocations->tables[relocations->table].end, sizeof(entry),
                                      &view);

                if (r == ELF_FILE_E_END)
                        continue;
                if (r != 0)
                        return r;
                memcpy(&entry, view.bytes, sizeof(entry));
                *at += sizeof(entry);
                *ret = (ElfRelocation){
                        .vaddr = entry.r_offset,
                        .kind = relocation_kind(relocations->elf->machine,
                                                (uint32_t) ELF64_R_TYPE(entry.r_info)),
                        .symbol = (uint32_t) ELF64_R_SYM(entry.r_info),
                        .addend = entry.r_addend,
                };
                return 0;
        }
        return ELF_FILE_E_END;
}

/* symbols */

/* 0, ELF_FILE_E_END when there is no such section within the file, and as elf_file_view(). */
static int read_section(ElfFile *elf, unsigned number, Elf64_Shdr *ret) {
        uint64_t at, end;
        Span view;
        int r;

        if (number >= elf->n_sections ||
            __builtin_add_overflow(elf->sections_offset, number * sizeof(*ret), &at) ||
            __builtin_add_overflow(elf->sections_offset, elf->n_sections * sizeof(*ret), &end) ||
            end > elf->source->size)
                return ELF_FILE_E_END;
        r = elf_file_view(elf, at, end, sizeof(*ret), &view);
        if (r != 0)
                return r;
        memcpy(ret, view.bytes, sizeof(*ret));
        if (ret->sh_type != SHT_NOBITS &&
            !is_within(ret->sh_offset, ret->sh_size, elf->source->size))
                return ELF_FILE_E_END;
        return 0;
}

int elf_symbols_init(ElfSymbols *symbols, ElfFile *elf, uint32_t section_type) {
        Elf64_Shdr section, names;
        int r;

        *symbols = (ElfSymbols){ .elf = elf };
        for (unsigned i = 0; i < elf->n_sections; i++) {
                r = read_section(elf, i, &section);
                if (r == ELF_FILE_E_END || (r == 0 && section.sh_type != section_type))
                        continue;
                if (r == 0)
                        r = read_section(elf, section.sh_link, &names);
                if (r == ELF_FILE_E_END || (r == 0 && (names.sh_type != SHT_STRTAB ||
                                                       section.sh_entsize != sizeof(Elf64_Sym))))
                        return 0;
                if (r != 0)
                        return r;
                if (section.sh_size / sizeof(Elf64_Sym) > ELF_SYMBOLS_MAX)
                        return ELF_FILE_E_TOO_MUCH;
                symbols->at = section.sh_offset;
                symbols->end = section.sh_offset + section.sh_size;
                symbols->names = names.sh_offset;
                symbols->names_end = names.sh_offset + names.sh_size;
                return 0;
        }
        return 0;
}

int elf_symbols_next(ElfSymbols *symbols, ElfSymbol *ret) {
        Elf64_Sym entry;
        Span view;
        int r = elf_file_view(symbols->elf, symbols->at, symbols->end, sizeof(entry), &view);

        if (r != 0)
                return r;
        memcpy(&entry, view.bytes, sizeof(entry));
        symbols->at += sizeof(entry);
        *ret = (ElfSymbol){
                .value = entry.st_value,
                .n_bytes = entry.st_size,
                .name_offset = symbols->names + entry.st_name,
                .type = ELF64_ST_TYPE(entry.st_info),
                .is_defined = entry.st_shndx != SHN_UNDEF,
        };
        return 0;
}

int elf_symbols_name(const ElfSymbols *symbols, const ElfSymbol *symbol, char *ret, size_t n) {
        int r;

        if (symbol->name_offset >= symbols->names_end)
                return ELF_FILE_E_END;
        n = (size_t) MIN_OF((uint64_t) n, symbols->names_end - symbol->name_offset);
        r = elf_file_read(symbols->elf, symbol->name_offset, ret, n);
        if (r != 0)
                return r;
        return memchr(ret, '\0', n) ? 0 : ELF_FILE_E_END;
}
