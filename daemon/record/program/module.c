/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/program/module.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include "base/array.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "record/program/source-line.h"

void modules_done(Modules *modules) {
        for (size_t i = 0; i < modules->n; i++) {
                Module *module = modules->all[i];

                (void) elf_end(module->elf);
                (void) fd_close(module->fd);
                (void) fd_close(module->lines_fd);
                symbol_table_done(&module->symbols);
                symbol_table_done(&module->data);
                free(module->path);
                free(module);
        }
        free(modules->all);
        *modules = (Modules){};
}

/* There are some hundred, and a process asks once for each of its own. */
size_t modules_find(const Modules *modules, uint64_t dev, uint64_t inode, Span path) {
        for (size_t i = 0; i < modules->n; i++)
                if (modules->all[i]->inode == inode && modules->all[i]->dev == dev &&
                    span_is(path, modules->all[i]->path))
                        return i;
        return SIZE_MAX;
}

/* "" where there is none. */
static void read_build_id(Elf *elf, char ret[static 2 * BUILD_ID_MAX_BYTES + 1]) {
        const void *id;
        ssize_t n = dwelf_elf_gnu_build_id(elf, &id);

        ret[0] = '\0';
        if (n > 0 && (size_t) n <= BUILD_ID_MAX_BYTES)
                for (ssize_t i = 0; i < n; i++)
                        (void) snprintf(ret + 2 * i, 3, "%02x", ((const unsigned char *) id)[i]);
}

/*
 * libdw finds the frame of an address by the table of .eh_frame_hdr only if that section comes
 * before .eh_frame, where GNU ld puts it. Else it reads all frames of the file, for each process
 * anew: a tenth of a second and more for compilers and browsers, which lld and gold link the other
 * way round. The two change places in memory; nothing names either by its number.
 */
static void put_table_first(Elf *elf) {
        Elf_Scn *section = NULL, *frames = NULL;
        GElf_Shdr header, of_frames;
        size_t names;

        if (!elf || elf_getshdrstrndx(elf, &names) != 0)
                return;
        while ((section = elf_nextscn(elf, section)) && gelf_getshdr(section, &header)) {
                const char *name = elf_strptr(elf, names, header.sh_name);

                if (name && strcmp(name, ".eh_frame") == 0) {
                        frames = section;
                        of_frames = header;
                } else if (name && strcmp(name, ".eh_frame_hdr") == 0) {
                        if (frames && gelf_update_shdr(frames, &header))
                                (void) gelf_update_shdr(section, &of_frames);
                        return;
                }
        }
}

/* Linked files have some dozens. libelf keeps room for as many as a file says that it has. */
#define HEADERS_MAX 4096u

static bool has_few_headers(int fd) {
        union {
                Elf32_Ehdr narrow;
                Elf64_Ehdr wide;
        } head;
        size_t n_sections, n_segments, n;
        bool has_sections;

        if (file_read_at(fd, (char *) &head, sizeof(head), 0, &n) != 0 || n < sizeof(head))
                return false;
        if (head.wide.e_ident[EI_CLASS] == ELFCLASS64) {
                n_segments = head.wide.e_phnum;
                n_sections = head.wide.e_shnum;
                has_sections = head.wide.e_shoff != 0;
        } else {
                n_segments = head.narrow.e_phnum;
                n_sections = head.narrow.e_shnum;
                has_sections = head.narrow.e_shoff != 0;
        }
        /* More than the header has room for are counted elsewhere, and it has none then. */
        return n_segments <= HEADERS_MAX && n_sections <= HEADERS_MAX &&
               (n_sections > 0 || !has_sections);
}

/*
 * libelf reads all headers when the first one is asked for. Where it cannot, as a file ends before
 * them, it tries again for each of them, every time that somebody looks through them.
 */
static bool can_read_headers(Elf *elf) {
        size_t n_sections, n_segments;
        GElf_Phdr segment;
        GElf_Shdr section;

        return elf_kind(elf) == ELF_K_ELF && elf_getphdrnum(elf, &n_segments) == 0 &&
               elf_getshdrnum(elf, &n_sections) == 0 &&
               (n_segments == 0 || gelf_getphdr(elf, 0, &segment)) &&
               (n_sections == 0 || gelf_getshdr(elf_getscn(elf, 0), &section));
}

/* NULL where it is none that is worth looking into. */
static Elf *open_elf(int fd) {
        Elf *elf = has_few_headers(fd) ? elf_begin(fd, ELF_C_READ, NULL) : NULL;

        if (elf && !can_read_headers(elf)) {
                (void) elf_end(elf);
                elf = NULL;
        }
        return elf;
}

static void take_elf(Module *module, Elf *elf) {
        module->elf = elf;
        if (elf)
                read_build_id(elf, module->build_id);
}

int modules_add(Modules *modules, uint64_t dev, uint64_t inode, Span path, int fd, size_t *ret) {
        _cleanup_(fd_closep) int owned = fd;
        _cleanup_(freep) Module *module = NULL;
        int r;

        if (modules->n >= MODULES_MAX)
                return -E2BIG;
        r = ARRAY_RESERVE(modules->all, modules->n_allocated, modules->n + 1);
        if (r != 0)
                return r;
        module = calloc(1, sizeof(*module));
        if (!module)
                return -ENOMEM;
        *module = (Module){ .path = strndup(path.bytes ? path.bytes : "", path.n),
                            .dev = dev,
                            .inode = inode,
                            .lines_fd = -EBADF };
        if (!module->path)
                return -ENOMEM;
        if (owned >= 0) {
                take_elf(module, open_elf(owned));
                put_table_first(module->elf);
        }
        module->fd = owned;
        owned = -EBADF;
        *ret = modules->n;
        modules->all[modules->n++] = module;
        module = NULL;
        return 0;
}

void module_take_vdso(Module *module) {
        char *image = (char *) getauxval(AT_SYSINFO_EHDR);
        const ElfW(Ehdr) *head = (const ElfW(Ehdr) *) (const void *) image;

        /* It ends with the table of its sections. */
        if (image)
                take_elf(module, elf_memory(image, head->e_shoff + (size_t) head->e_shnum *
                                                                           head->e_shentsize));
}

void module_name_debug_file(const Module *module, DebugFileName *ret) {
        const char *link;
        GElf_Word crc;

        *ret = (DebugFileName){};
        if (!module->elf || module->fd < 0 ||
            (symbol_table_is_whole(module->elf) &&
             (!module->wants_lines || source_lines_are_in(module->elf))))
                return;
        memcpy(ret->build_id, module->build_id, sizeof(ret->build_id));
        link = dwelf_elf_gnu_debuglink(module->elf, &crc);
        if (link && strlen(link) < sizeof(ret->link))
                memcpy(ret->link, link, strlen(link));
}

/* Once: those of the file itself, or of the one that has what was taken out of it. */
static int read_symbols(SymbolTable *table, bool *is_read, Elf *elf, SymbolKind kind) {
        int r = 0;

        if (*is_read)
                return 0;
        *is_read = true;
        if (elf)
                r = symbol_table_add_elf(table, elf, kind);
        symbol_table_sort(table);
        return r;
}

int module_take_debug_file(Module *module, int fd) {
        _cleanup_(fd_closep) int owned = fd;
        Elf *elf = open_elf(owned);
        char build_id[sizeof(module->build_id)] = "";
        bool is_own, has_lines;
        int r = 0;

        if (elf)
                read_build_id(elf, build_id);
        is_own = build_id[0] != '\0' && strcmp(build_id, module->build_id) == 0;
        has_lines =
                is_own && module->wants_lines && module->lines_fd < 0 && source_lines_are_in(elf);
        if (is_own && symbol_table_is_whole(elf)) {
                r = read_symbols(&module->symbols, &module->has_symbols, elf, SYMBOL_FUNCTION);
                if (r == 0)
                        r = read_symbols(&module->data, &module->has_data, elf, SYMBOL_DATA);
        }
        (void) elf_end(elf);
        if (has_lines)
                module->lines_fd = TAKE_FD(owned);
        return r;
}

int module_lines_fd(const Module *module) {
        return module->lines_fd >= 0 || !source_lines_are_in(module->elf) ? module->lines_fd
                                                                          : module->fd;
}

int module_find_symbol(Module *module, uint64_t vaddr, const Symbol **ret) {
        int r = read_symbols(&module->symbols, &module->has_symbols, module->elf, SYMBOL_FUNCTION);

        *ret = symbol_table_find(&module->symbols, vaddr);
        return r;
}

int module_find_data(Module *module, uint64_t vaddr, const Symbol **ret) {
        int r = read_symbols(&module->data, &module->has_data, module->elf, SYMBOL_DATA);

        *ret = symbol_table_find(&module->data, vaddr);
        return r;
}
