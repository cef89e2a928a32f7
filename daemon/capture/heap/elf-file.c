/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/elf-file.h"

#include <endian.h>
#include <errno.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#if __BYTE_ORDER == __LITTLE_ENDIAN
#define OWN_BYTE_ORDER ELFDATA2LSB
#else
#define OWN_BYTE_ORDER ELFDATA2MSB
#endif

/* True when @n bytes from @at lie within a whole that is @n_whole long. */
static bool is_within(uint64_t at, uint64_t n, uint64_t n_whole) {
        return at <= n_whole && n <= n_whole - at;
}

/* reading */

static bool fail(ElfFile *elf, int failure) {
        if (elf->failure == 0)
                elf->failure = failure;
        return false;
}

bool elf_file_read(ElfFile *elf, uint64_t offset, void *ret, size_t n) {
        uint64_t charge = MAX_OF((uint64_t) n, (uint64_t) ELF_READ_CHARGE_BYTES);
        size_t n_read;
        int r;

        if (elf->failure != 0)
                return false;
        if (!is_within(offset, n, elf->size))
                return fail(elf, ELF_FILE_E_MALFORMED);
        if (charge > elf->n_left)
                return fail(elf, ELF_FILE_E_TOO_MUCH);
        elf->n_left -= charge;
        r = file_read_at(elf->fd, ret, n, offset, &n_read);
        /* It may have been longer when it was opened. */
        return r == 0 && n_read == n ? true : fail(elf, r < 0 ? r : ELF_FILE_E_MALFORMED);
}

/* Finds the place in the file of the @n bytes (at least 1) at @vaddr. */
static bool locate(const ElfFile *elf, uint64_t vaddr, uint64_t n, uint64_t *ret) {
        for (unsigned i = 0; i < elf->n_loads; i++) {
                const Elf64_Phdr *load = &elf->loads[i];

                if (n > 0 && vaddr >= load->p_vaddr &&
                    is_within(vaddr - load->p_vaddr, n, load->p_filesz)) {
                        *ret = load->p_offset + (vaddr - load->p_vaddr);
                        return true;
                }
        }
        return false;
}

bool elf_file_read_vaddr(ElfFile *elf, uint64_t vaddr, void *ret, size_t n) {
        uint64_t offset;

        return locate(elf, vaddr, n, &offset) && elf_file_read(elf, offset, ret, n);
}

bool elf_file_view(ElfFile *elf, uint64_t offset, uint64_t end, size_t unit, Span *ret) {
        uint64_t n = end - offset, at;

        if (elf->failure != 0 || offset > end || n < unit)
                return false;
        if (offset < elf->window_offset ||
            !is_within(offset - elf->window_offset, unit, elf->n_window)) {
                size_t n_window = (size_t) MIN_OF(n, (uint64_t) ELF_WINDOW_BYTES);

                elf->n_window = 0;
                if (!elf_file_read(elf, offset, elf->window, n_window))
                        return false;
                elf->window_offset = offset;
                elf->n_window = n_window;
        }
        at = offset - elf->window_offset;
        *ret = (Span){ elf->window + at, (size_t) MIN_OF(n, elf->n_window - at) };
        return true;
}

bool elf_file_search(ElfFile *elf, const Elf64_Phdr *segment, Span needle, uint64_t *at,
                     uint64_t *ret_vaddr) {
        uint64_t end = segment->p_offset + segment->p_filesz;
        Span view;

        while (elf_file_view(elf, segment->p_offset + *at, end, needle.n, &view)) {
                const char *found = memmem(view.bytes, view.n, needle.bytes, needle.n);

                if (found) {
                        *at += (uint64_t) (found - view.bytes);
                        *ret_vaddr = segment->p_vaddr + (*at)++;
                        return true;
                }
                /* One that lies across the end of the view begins in its last bytes. */
                *at += view.n - (needle.n - 1);
        }
        return false;
}

/* The next entry, of @n bytes. */
static bool table_next(ElfFile *elf, ElfTable *table, void *ret, size_t n) {
        Span view;

        if (!elf_file_view(elf, table->at, table->end, n, &view))
                return false;
        memcpy(ret, view.bytes, n);
        table->at += n;
        return true;
}

/* headers */

static bool is_segment_sound(const ElfFile *elf, const Elf64_Phdr *segment) {
        return is_within(segment->p_offset, segment->p_filesz, elf->size) &&
               segment->p_filesz <= segment->p_memsz &&
               is_within(segment->p_vaddr, segment->p_memsz, ELF_ADDRESS_MAX);
}

static bool is_sound(const ElfFile *elf) {
        for (unsigned i = 0; i < elf->n_loads; i++)
                if (!is_segment_sound(elf, &elf->loads[i]) ||
                    (i > 0 &&
                     elf->loads[i].p_vaddr < elf->loads[i - 1].p_vaddr + elf->loads[i - 1].p_memsz))
                        return false;
        return elf->n_loads > 0 &&
               (elf->tls.p_type == PT_NULL || is_segment_sound(elf, &elf->tls)) &&
               (elf->dynamic.p_type == PT_NULL || is_segment_sound(elf, &elf->dynamic));
}

/*
 * Tells why libelf failed. Its own codes are no part of its interface, but errno is as malloc() or
 * pread(2) left it where they were the cause. Other values are those of calls that the sandbox
 * refuses and libelf does without: fcntl(2) tells it that a descriptor is good, and fstat(3) how
 * long a file is, so that without it reading behind the end is what fails.
 */
static int libelf_failure(void) {
        return errno == ENOMEM || errno == EIO ? -errno : ELF_FILE_E_MALFORMED;
}

static int read_headers(ElfFile *elf) {
        size_t n_ident = (size_t) MIN_OF(elf->size, (uint64_t) sizeof(Elf64_Ehdr)), n_headers;
        unsigned char ident[sizeof(Elf64_Ehdr)];
        const Elf64_Ehdr *file;
        const Elf64_Phdr *headers;

        if (n_ident < SELFMAG)
                return ELF_FILE_E_NOT_ELF;
        if (!elf_file_read(elf, 0, ident, n_ident))
                return elf->failure;
        if (memcmp(ident, ELFMAG, SELFMAG) != 0)
                return ELF_FILE_E_NOT_ELF;
        if (n_ident <= EI_DATA)
                return ELF_FILE_E_MALFORMED;
        if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != OWN_BYTE_ORDER)
                return ELF_FILE_E_FOREIGN;
        if (n_ident < sizeof(Elf64_Ehdr))
                return ELF_FILE_E_MALFORMED;

        (void) elf_version(EV_CURRENT);
        errno = 0;
        elf->elf = elf_begin(elf->fd, ELF_C_READ, NULL);
        file = elf->elf ? elf64_getehdr(elf->elf) : NULL;
        if (!file)
                return libelf_failure();
        if (file->e_type != ET_EXEC && file->e_type != ET_DYN)
                return ELF_FILE_E_NOT_ELF;
        elf->type = file->e_type;
        elf->machine = file->e_machine;
        if (file->e_phentsize != sizeof(*headers) || file->e_phnum > ELF_SEGMENTS_MAX ||
            !is_within(file->e_phoff, file->e_phnum * sizeof(*headers), elf->size))
                return ELF_FILE_E_MALFORMED;
        n_headers = file->e_phoff > 0 ? file->e_phnum : 0;
        errno = 0;
        headers = n_headers > 0 ? elf64_getphdr(elf->elf) : NULL;
        if (n_headers > 0 && !headers)
                return libelf_failure();
        for (size_t i = 0; i < n_headers; i++)
                switch (headers[i].p_type) {
                case PT_LOAD:
                        elf->loads[elf->n_loads++] = headers[i];
                        break;
                case PT_TLS:
                        elf->tls = headers[i];
                        break;
                case PT_DYNAMIC:
                        elf->dynamic = headers[i];
                        break;
                case PT_INTERP:
                        elf->has_interpreter = true;
                        break;
                default:
                        break;
                }
        elf->is_sound = is_sound(elf);
        return 0;
}

int elf_file_open(int fd, uint64_t size, ElfFile **ret) {
        _cleanup_(elf_file_freep) ElfFile *elf = calloc(1, sizeof(*elf));
        int r;

        if (!elf)
                return -ENOMEM;
        elf->fd = fd;
        elf->size = size;
        elf->n_left = ELF_READ_BYTES_MAX;
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
        if (!elf)
                return NULL;
        (void) elf_end(elf->elf);
        free(elf->window);
        free(elf);
        return NULL;
}

/* the dynamic section */

void elf_dynamic_read(ElfFile *elf, ElfDynamic *ret) {
        ElfTable table = { elf->dynamic.p_offset, elf->dynamic.p_offset + elf->dynamic.p_filesz };
        ElfDynamic dynamic = {};
        Elf64_Dyn entry;

        for (unsigned i = 0; elf->dynamic.p_type != PT_NULL; i++) {
                if (!table_next(elf, &table, &entry, sizeof(entry)) || entry.d_tag == DT_NULL)
                        break;
                if (i == ELF_DYNAMIC_MAX) {
                        (void) fail(elf, ELF_FILE_E_TOO_MUCH);
                        break;
                }
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
}

/* relocations */

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

void elf_relocations_find(ElfFile *elf, const ElfDynamic *dynamic, ElfRelocations *ret) {
        const uint64_t n_bytes[] = { dynamic->n_rela_bytes,
                                     dynamic->plt_is_rela ? dynamic->n_plt_bytes : 0 };
        const uint64_t vaddr[] = { dynamic->rela, dynamic->plt };

        *ret = (ElfRelocations){};
        for (unsigned i = 0; i < ELEMENTSOF(ret->tables); i++) {
                ElfTable *table = &ret->tables[i];

                if (n_bytes[i] / sizeof(Elf64_Rela) > ELF_RELOCATIONS_MAX)
                        (void) fail(elf, ELF_FILE_E_TOO_MUCH);
                else if (n_bytes[i] > 0 && !locate(elf, vaddr[i], n_bytes[i], &table->at))
                        (void) fail(elf, ELF_FILE_E_MALFORMED);
                table->end = table->at + n_bytes[i];
        }
}

bool elf_relocations_next(ElfFile *elf, ElfRelocations *relocations, ElfRelocation *ret) {
        Elf64_Rela entry;

        if (!table_next(elf, &relocations->tables[0], &entry, sizeof(entry)) &&
            !table_next(elf, &relocations->tables[1], &entry, sizeof(entry)))
                return false;
        *ret = (ElfRelocation){
                .vaddr = entry.r_offset,
                .kind = relocation_kind(elf->machine, (uint32_t) ELF64_R_TYPE(entry.r_info)),
                .symbol = (uint32_t) ELF64_R_SYM(entry.r_info),
                .addend = entry.r_addend,
        };
        return true;
}

/* symbols */

void elf_symbols_find(ElfFile *elf, uint32_t section_type, ElfSymbols *ret) {
        const Elf64_Ehdr *file = elf64_getehdr(elf->elf);
        Elf_Scn *section = NULL;

        *ret = (ElfSymbols){};
        if (file->e_shentsize != sizeof(Elf64_Shdr))
                return;
        while ((section = elf_nextscn(elf->elf, section))) {
                const Elf64_Shdr *table, *names;

                errno = 0;
                table = elf64_getshdr(section);
                if (!table) {
                        /* libelf reads the headers of all sections at once */
                        int r = libelf_failure();

                        if (r < 0)
                                (void) fail(elf, r);
                        return;
                }
                if (table->sh_type != section_type ||
                    !is_within(table->sh_offset, table->sh_size, elf->size))
                        continue;
                names = elf64_getshdr(elf_getscn(elf->elf, table->sh_link));
                if (!names || names->sh_type != SHT_STRTAB ||
                    !is_within(names->sh_offset, names->sh_size, elf->size) ||
                    table->sh_entsize != sizeof(Elf64_Sym))
                        return;
                if (table->sh_size / sizeof(Elf64_Sym) > ELF_SYMBOLS_MAX)
                        (void) fail(elf, ELF_FILE_E_TOO_MUCH);
                ret->entries = (ElfTable){ table->sh_offset, table->sh_offset + table->sh_size };
                ret->names = (ElfTable){ names->sh_offset, names->sh_offset + names->sh_size };
                return;
        }
}

bool elf_symbols_next(ElfFile *elf, ElfSymbols *symbols, Elf64_Sym *ret) {
        return table_next(elf, &symbols->entries, ret, sizeof(*ret));
}

bool elf_symbols_name(ElfFile *elf, const ElfSymbols *symbols, const Elf64_Sym *symbol, char *ret,
                      size_t n) {
        uint64_t at = symbols->names.at + symbol->st_name;

        if (at >= symbols->names.end)
                return false;
        n = (size_t) MIN_OF((uint64_t) n, symbols->names.end - at);
        return elf_file_read(elf, at, ret, n) && memchr(ret, '\0', n);
}
