/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/program/module.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <link.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/number.h"
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

void modules_drop_code(Modules *modules) {
        for (size_t i = 0; i < modules->n; i++) {
                Module *module = modules->all[i];

                (void) elf_end(module->elf);
                module->elf = NULL;
                symbol_table_done(&module->symbols);
                symbol_table_done(&module->data);
        }
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

/* Linked files have some dozens of both. */
#define HEADERS_MAX 4096u
/*
 * The most bytes of a section that has neither frames nor symbols. Such sections, which hold names,
 * notes and links, are not read if they are larger.
 */
#define OTHER_MAX_BYTES (1u << 20)
/* The most bytes that are searched for the names of all sections, if none of these names ends. */
#define TITLES_MAX_BYTES (64u << 20)
/* The most bytes of frames that libdw reads from one file. The frames of a browser are 20 MiB. */
#define FRAMES_MAX_BYTES (64u << 20)
/* About as many bytes libelf takes for each section, for as long as the file is kept. */
#define SECTION_BYTES 280u
/* The most bytes of one file that are read for names, and the most that are kept of these names. */
#define SECTIONS_MAX_BYTES (UINT64_C(256) << 20)
#define SYMBOLS_MAX_BYTES (UINT64_C(96) << 20)
#define UNPACKER_MAX_BYTES (UINT64_C(72) << 20) /* of memory; what xz -9 has made takes 65 MiB */

/* Returns how much is left of @max, the bound for all files together, after @spent. */
static uint64_t left_of(uint64_t max, uint64_t spent) {
        return max - MIN_OF(max, spent);
}

typedef union ElfHead {
        Elf32_Ehdr narrow;
        Elf64_Ehdr wide;
} ElfHead;

/* libelf keeps room for as many as a file says that it has. */
static bool has_few_headers(const ElfHead *head) {
        size_t n_sections, n_segments;
        bool has_sections;

        if (head->wide.e_ident[EI_CLASS] == ELFCLASS64) {
                n_segments = head->wide.e_phnum;
                n_sections = head->wide.e_shnum;
                has_sections = head->wide.e_shoff != 0;
        } else {
                n_segments = head->narrow.e_phnum;
                n_sections = head->narrow.e_shnum;
                has_sections = head->narrow.e_shoff != 0;
        }
        /* More than the header has room for are counted elsewhere, and it has none then. */
        return n_segments <= HEADERS_MAX && n_sections <= HEADERS_MAX &&
               (n_sections > 0 || !has_sections);
}

/*
 * libelf reads all headers when the first one is asked for. Where it cannot, as a file ends before
 * them, it tries again for each of them, every time that somebody looks through them. A segment of
 * notes is read whole.
 */
static bool can_read_headers(Elf *elf) {
        size_t n_sections, n_segments, names;
        GElf_Phdr segment;
        GElf_Shdr section;

        if (elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &n_segments) != 0 ||
            elf_getshdrnum(elf, &n_sections) != 0)
                return false;
        for (size_t i = 0; i < n_segments; i++)
                if (!gelf_getphdr(elf, (int) i, &segment) ||
                    (segment.p_type == PT_NOTE && segment.p_filesz > OTHER_MAX_BYTES))
                        return false;
        return n_sections == 0 || (elf_getshdrstrndx(elf, &names) == 0 &&
                                   gelf_getshdr(elf_getscn(elf, names), &section) &&
                                   section.sh_size <= OTHER_MAX_BYTES &&
                                   section.sh_size * n_sections <= TITLES_MAX_BYTES);
}

/* NULL where it is none that is worth looking into. Takes over @elf. */
static Elf *take_readable(Elf *elf) {
        if (elf && !can_read_headers(elf)) {
                (void) elf_end(elf);
                elf = NULL;
        }
        return elf;
}

static Elf *open_elf(int fd) {
        ElfHead head;
        size_t n;

        if (file_read_at(fd, (char *) &head, sizeof(head), 0, &n) != 0 || n < sizeof(head) ||
            !has_few_headers(&head))
                return NULL;
        return take_readable(elf_begin(fd, ELF_C_READ, NULL));
}

/* How much of a section with frames is kept where it is read. */
static uint64_t bytes_of(Elf_Scn *section, const GElf_Shdr *header) {
        GElf_Chdr compressed;

        if (header->sh_type == SHT_NOBITS)
                return 0;
        if (!(header->sh_flags & SHF_COMPRESSED) || header->sh_size > FRAMES_MAX_BYTES)
                return header->sh_size;
        return gelf_getchdr(section, &compressed)
                       ? number_add_saturating(header->sh_size, compressed.ch_size)
                       : UINT64_MAX;
}

/*
 * How much libelf keeps of all segments. *ret_frames: without a section for frames libdw finds them
 * by one of these, and reads the file from there.
 */
static uint64_t bytes_of_segments(Elf *elf, bool *ret_frames) {
        uint64_t n_bytes = 0;
        GElf_Phdr segment;
        size_t n;

        *ret_frames = false;
        for (int i = 0; elf_getphdrnum(elf, &n) == 0 && (size_t) i < n; i++) {
                if (!gelf_getphdr(elf, i, &segment))
                        continue;
                *ret_frames = *ret_frames || segment.p_type == PT_GNU_EH_FRAME;
                n_bytes += sizeof(segment);
                if (segment.p_type == PT_NOTE)
                        n_bytes += segment.p_filesz;
        }
        return n_bytes;
}

static void hide_section(Elf_Scn *section, GElf_Shdr *header) {
        header->sh_type = SHT_NOBITS;
        (void) gelf_update_shdr(section, header);
}

/*
 * Makes of the sections, in memory, what libdw is to see of them. Returns how much memory it may
 * take with what it reads of the file.
 *
 * It finds the frame of an address by the table of .eh_frame_hdr only if that section comes before
 * .eh_frame, where GNU ld puts it. Else it reads all frames of the file, for each process anew: a
 * tenth of a second and more for compilers and browsers, which lld and gold link the other way
 * round. The two change places; nothing names either by its number.
 *
 * Where an address has no frame it reads all that debuggers want, of large programs some gigabytes,
 * of which it needs no more than .debug_frame.
 */
static uint64_t prepare_sections(Module *module, Elf *elf, int fd) {
        Elf_Scn *section = NULL, *frames = NULL;
        GElf_Shdr header, of_frames = {};
        bool has_frame_segment;
        uint64_t n_bytes = bytes_of_segments(elf, &has_frame_segment);
        size_t names;

        if (elf_getshdrstrndx(elf, &names) != 0)
                names = 0;
        while ((section = elf_nextscn(elf, section)) && gelf_getshdr(section, &header)) {
                const char *found = elf_strptr(elf, names, header.sh_name);
                const char *name = found ? found : "";
                bool is_frames = strcmp(name, ".eh_frame") == 0;
                bool is_table = strcmp(name, ".eh_frame_hdr") == 0;

                n_bytes = number_add_saturating(n_bytes, SECTION_BYTES);
                /* These are read, too, unless they are hidden below. */
                if (header.sh_size <= OTHER_MAX_BYTES &&
                    (header.sh_type == SHT_NOTE || elf_ndxscn(section) == names ||
                     strcmp(name, ".gnu_debuglink") == 0))
                        n_bytes = number_add_saturating(n_bytes, header.sh_size);
                if (strcmp(name, ".gnu_debugdata") == 0) {
                        module->packed_at = header.sh_offset;
                        module->n_packed = header.sh_size;
                }
                if (!is_frames && !is_table && strcmp(name, ".debug_frame") != 0) {
                        /* That there are symbols is to be seen; they are read elsewhere. */
                        if (strncmp(name, ".debug_", strlen(".debug_")) == 0 ||
                            strncmp(name, ".zdebug_", strlen(".zdebug_")) == 0 ||
                            (header.sh_size > OTHER_MAX_BYTES && header.sh_type != SHT_SYMTAB))
                                hide_section(section, &header);
                        continue;
                }
                n_bytes = number_add_saturating(n_bytes, bytes_of(section, &header));
                if (is_frames) {
                        frames = section;
                        of_frames = header;
                } else if (is_table && frames && gelf_update_shdr(frames, &header))
                        (void) gelf_update_shdr(section, &of_frames);
        }
        if ((!frames || of_frames.sh_type == SHT_NOBITS) && has_frame_segment) {
                off_t end = lseek(fd, 0, SEEK_END);

                n_bytes = number_add_saturating(n_bytes, end < 0 ? UINT64_MAX : (uint64_t) end);
        }
        return n_bytes;
}

static void take_elf(Module *module, Elf *elf) {
        module->elf = elf;
        if (elf)
                read_build_id(elf, module->build_id);
}

/* A file that says too much of itself, or is one too many, is left out; its build id is known. */
static void take_file(Module *module, int fd) {
        Elf *elf = open_elf(fd);
        uint64_t n_bytes;

        if (!elf)
                return;
        module->has_lines = source_lines_are_in(elf);
        n_bytes = prepare_sections(module, elf, fd);
        take_elf(module, elf);
        if (fd < MODULE_FD_END && n_bytes <= FRAMES_MAX_BYTES &&
            n_bytes <= left_of(ALL_FRAMES_MAX_BYTES, module->costs->n_frame_bytes)) {
                module->costs->n_frame_bytes += n_bytes;
                return;
        }
        (void) elf_end(elf);
        module->elf = NULL;
        module->has_lines = false;
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
                            .fd = -EBADF,
                            .lines_fd = -EBADF,
                            .costs = &modules->costs };
        if (!module->path)
                return -ENOMEM;
        if (owned >= 0)
                take_file(module, owned);
        /* Any file may be mapped as code: of one that is no ELF file nothing is read later. */
        if (module->elf)
                module->fd = TAKE_FD(owned);
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
            (symbol_table_is_whole(module->elf) && (!module->wants_lines || module->has_lines)))
                return;
        memcpy(ret->build_id, module->build_id, sizeof(ret->build_id));
        link = dwelf_elf_gnu_debuglink(module->elf, &crc);
        if (link && strlen(link) < sizeof(ret->link))
                memcpy(ret->link, link, strlen(link));
}

/*
 * Nothing, unless all of it is there and not too much. Few bytes may say that they are many, or
 * nothing over and over, each time with memory of another size: work without a result.
 */
static int unpack(const Module *module, Buffer *ret) {
        _cleanup_(lzma_end) lzma_stream stream = LZMA_STREAM_INIT;
        ModuleCosts *costs = module->costs;
        uint64_t max_bytes = MIN_OF(UNPACKED_MAX_BYTES,
                                    left_of(ALL_UNPACKED_MAX_BYTES, costs->n_unpacked_bytes));
        uint64_t max_ns = left_of(ALL_UNPACKED_MAX_NS, costs->unpack_ns);
        uint64_t begun_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID), ns = 0;
        uint8_t input[256], output[16384]; /* as much before a look at the clock */
        lzma_ret status = lzma_stream_decoder(&stream, UNPACKER_MAX_BYTES, 0);
        int r = 0;

        while (status == LZMA_OK && r == 0 && stream.total_out <= max_bytes && ns < max_ns) {
                if (stream.avail_in == 0) {
                        size_t n = MIN_OF(module->n_packed - stream.total_in, sizeof(input));

                        if (file_read_at(module->fd, input, n, module->packed_at + stream.total_in,
                                         &stream.avail_in) != 0 ||
                            stream.avail_in == 0)
                                break;
                        stream.next_in = input;
                }
                stream.next_out = output;
                stream.avail_out = sizeof(output);
                status = lzma_code(&stream, LZMA_RUN);
                r = buffer_append(ret, output, sizeof(output) - stream.avail_out);
                ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
        }
        costs->unpack_ns += ns;
        if (status == LZMA_STREAM_END && stream.total_out <= max_bytes)
                costs->n_unpacked_bytes += stream.total_out;
        else
                buffer_clear(ret);
        return r;
}

/*
 * Adds the functions that .dynsym lacks. Fedora and similar distributions leave these in the files
 * that they strip: the section .gnu_debugdata is a file of its own, compressed by xz. The parts of
 * it that cannot be read are treated as if they were not there.
 */
static int add_packed_functions(Module *module, uint64_t max_bytes) {
        _cleanup_(buffer_done) Buffer bytes = {};
        uint64_t rest = UNPACKED_MAX_BYTES;
        Elf *elf = NULL;
        ElfHead head;
        int r;

        if (module->n_packed == 0 || symbol_table_is_whole(module->elf))
                return 0;
        r = unpack(module, &bytes);
        if (r == 0 && bytes.n >= sizeof(head)) {
                memcpy(&head, bytes.bytes, sizeof(head));
                if (has_few_headers(&head))
                        elf = take_readable(elf_memory(bytes.bytes, bytes.n));
        }
        if (elf && symbol_table_is_whole(elf))
                r = symbol_table_add_elf(&module->symbols, elf, SYMBOL_FUNCTION, max_bytes, &rest);
        (void) elf_end(elf);
        return r;
}

/*
 * Once: those of @elf, the file that has what was taken out of the module's own, or of that one
 * where it is NULL.
 */
static int read_symbols(Module *module, SymbolKind kind, Elf *elf) {
        SymbolTable *table = kind == SYMBOL_FUNCTION ? &module->symbols : &module->data;
        bool *is_read = kind == SYMBOL_FUNCTION ? &module->has_symbols : &module->has_data;
        ModuleCosts *costs = module->costs;
        uint64_t max_bytes =
                MIN_OF(SYMBOLS_MAX_BYTES, left_of(ALL_SYMBOLS_MAX_BYTES, costs->n_symbol_bytes));
        uint64_t max_read =
                MIN_OF(SECTIONS_MAX_BYTES, left_of(ALL_SECTIONS_MAX_BYTES, costs->n_section_bytes));
        uint64_t rest = max_read;
        Elf *own = NULL;
        int r = 0;

        if (*is_read)
                return 0;
        *is_read = true;
        if (!elf && module->elf && kind == SYMBOL_FUNCTION)
                r = add_packed_functions(module, max_bytes);
        /* libelf keeps all that it has read of a file for as long as the file is open. */
        if (!elf && module->elf && module->fd >= 0)
                elf = own = open_elf(module->fd);
        else if (!elf)
                elf = module->elf;
        if (r == 0 && elf)
                r = symbol_table_add_elf(table, elf, kind, max_bytes, &rest);
        (void) elf_end(own);
        costs->n_section_bytes += max_read - rest;
        costs->n_symbol_bytes += symbol_table_bytes(table);
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
                r = read_symbols(module, SYMBOL_FUNCTION, elf);
                if (r == 0)
                        r = read_symbols(module, SYMBOL_DATA, elf);
        }
        (void) elf_end(elf);
        if (has_lines && owned < MODULE_FD_END)
                module->lines_fd = TAKE_FD(owned);
        return r;
}

int module_lines_fd(const Module *module) {
        return module->lines_fd >= 0 || !module->has_lines ? module->lines_fd : module->fd;
}

int module_find_symbol(Module *module, uint64_t vaddr, const Symbol **ret) {
        int r = read_symbols(module, SYMBOL_FUNCTION, NULL);

        *ret = symbol_table_find(&module->symbols, vaddr);
        return r;
}

int module_find_data(Module *module, uint64_t vaddr, const Symbol **ret) {
        int r = read_symbols(module, SYMBOL_DATA, NULL);

        *ret = symbol_table_find(&module->data, vaddr);
        return r;
}
