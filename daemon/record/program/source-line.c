/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/program/source-line.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"

/* The next section whose name begins with @prefix; NULL: there is none. */
static Elf_Scn *next_section(Elf *elf, Elf_Scn *section, const char *prefix, const char **ret_name,
                             GElf_Shdr *ret) {
        size_t names;

        if (elf_getshdrstrndx(elf, &names) != 0)
                return NULL;
        while ((section = elf_nextscn(elf, section)) && gelf_getshdr(section, ret)) {
                *ret_name = elf_strptr(elf, names, ret->sh_name);
                if (*ret_name && strncmp(*ret_name, prefix, strlen(prefix)) == 0)
                        return section;
        }
        return NULL;
}

static Elf_Scn *find_section(Elf *elf, const char *wanted, GElf_Shdr *ret) {
        Elf_Scn *section = NULL;
        const char *name;

        while ((section = next_section(elf, section, wanted, &name, ret)))
                if (strcmp(name, wanted) == 0)
                        return section;
        return NULL;
}

/*
 * Returns true if there are no two sections of that name. libdw takes the first one that has
 * content and is in no group, which may be another one than find_section() finds.
 */
static bool is_alone(Elf *elf, const char *wanted) {
        Elf_Scn *section = NULL;
        unsigned n = 0;
        const char *name;
        GElf_Shdr header;

        while ((section = next_section(elf, section, wanted, &name, &header)))
                n += strcmp(name, wanted) == 0;
        return n <= 1;
}

bool source_lines_are_in(Elf *elf) {
        GElf_Shdr header;

        return elf && find_section(elf, ".debug_info", &header) && header.sh_type != SHT_NOBITS &&
               header.sh_size > 0;
}

/* libdw makes up to 20 times as many bytes of the abbreviations of a file. */
#define ABBREVIATIONS_MAX_BYTES (UINT64_C(4) << 20)
#define MAX_UNITS 131072u
/* A byte may be a line, which takes 150 bytes while a unit is read, and 60 afterwards. */
#define UNIT_LINES_MAX_BYTES (UINT64_C(1) << 20)
#define ALL_LINES_MAX_BYTES (2 * UNIT_LINES_MAX_BYTES) /* until all of it is freed */
/*
 * libdw puts the name of each file together with that of its directory, which takes up to twice as
 * many bytes as both have. Few bytes name a file, and a directory may have a name of any length.
 */
#define UNIT_NAMES_MAX_BYTES (UINT64_C(16) << 20)
#define ALL_NAMES_MAX_BYTES (2 * UNIT_NAMES_MAX_BYTES)
#define NATIVE_ORDER (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

/*
 * Returns true if the file is small enough when its sections are decompressed, and can be one of a
 * program that runs here: numbers in it are read below as they are. @n_file is the size of the file
 * itself, which is in memory already. A compressed section says how large its content is.
 */
static bool fits(Elf *elf, uint64_t n_file) {
        static const char *const read[] = { ".debug_abbrev", ".debug_line", ".debug_line_str",
                                            ".debug_str" };
        const char *identity = elf_getident(elf, NULL), *name;
        uint64_t n_bytes = n_file;
        Elf_Scn *section = NULL;
        GElf_Shdr header;
        GElf_Chdr compressed;

        if (!identity || identity[EI_DATA] != NATIVE_ORDER)
                return false;
        for (size_t i = 0; i < ELEMENTSOF(read); i++)
                if (!is_alone(elf, read[i]))
                        return false;
        /* libdw also unpacks sections that are not called .debug_. */
        while ((section = next_section(elf, section, "", &name, &header))) {
                if (!(header.sh_flags & SHF_COMPRESSED))
                        continue;
                if (!gelf_getchdr(section, &compressed) ||
                    compressed.ch_size > SOURCE_FILE_MAX_BYTES - n_bytes)
                        return false;
                n_bytes += compressed.ch_size;
        }
        section = find_section(elf, ".debug_abbrev", &header);
        if (section && header.sh_flags & SHF_COMPRESSED && gelf_getchdr(section, &compressed))
                header.sh_size = compressed.ch_size;
        /* An earlier way to compress does not say how large it is where libelf looks. */
        return section && header.sh_size <= ABBREVIATIONS_MAX_BYTES &&
               !next_section(elf, NULL, ".zdebug_", &name, &header);
}

/* NULL: it is not there. */
static const Elf_Data *read_section(Elf *elf, const char *name) {
        GElf_Shdr header;
        Elf_Scn *section = find_section(elf, name, &header);

        return section ? elf_getdata(section, NULL) : NULL;
}

/* NULL: it is too large, or cannot be read. */
static char *read_file(int fd, size_t *ret_n) {
        _cleanup_(freep) char *bytes = NULL;
        off_t end = lseek(fd, 0, SEEK_END); /* the sandbox has no fstat(3) of every library */
        size_t n = 0, n_all;

        if (end <= 0 || (uint64_t) end > SOURCE_FILE_MAX_BYTES)
                return NULL;
        n_all = (size_t) end;
        bytes = malloc(n_all);
        while (bytes && n < n_all) {
                ssize_t n_read = pread(fd, bytes + n, n_all - n, (off_t) n);

                if (n_read < 0 && errno == EINTR)
                        continue;
                if (n_read <= 0)
                        return NULL;
                n += (size_t) n_read;
        }
        *ret_n = n;
        return TAKE_PTR(bytes);
}

typedef struct Search {
        const uint64_t *addresses;
        size_t n;
        bool *is_found; /* owned by the caller: of each address */
        uint64_t until_ns;
        SourceLineSink sink;
        void *userdata;
        const Elf_Data *programs, *strings, *line_strings; /* NULL: the section is not there */
        uint64_t n_program_bytes, n_name_bytes; /* that were read since memory was freed */
        size_t n_units;                         /* that were looked at */
        bool is_late, is_cut, is_full;
} Search;

static bool is_late(Search *search) {
        search->is_late = search->is_late || clock_now_ns(CLOCK_MONOTONIC) > search->until_ns;
        return search->is_late;
}

static int tell(Search *search, size_t index, Dwarf_Line *line) {
        const char *path = dwarf_linesrc(line, NULL, NULL), *slash;
        int number;

        if (!path || dwarf_lineno(line, &number) != 0 || number <= 0)
                return 0;
        slash = strrchr(path, '/');
        if (slash && strlen(path) > SOURCE_PATH_MAX_BYTES)
                path = slash + 1;
        search->is_found[index] = true;
        return search->sink(search->userdata, index,
                            (Span){ path, strnlen(path, SOURCE_PATH_MAX_BYTES) },
                            (uint32_t) number);
}

/* names */

/* The rest of the program that makes the lines of a unit, and what its names come to. */
typedef struct Program {
        const unsigned char *at;
        size_t n;
        const Search *search;
        uint64_t n_longest; /* directory */
        uint64_t n_names;   /* bytes of all names, and of those that are made of them */
} Program;

/* NULL: there are not so many. */
static const unsigned char *take_bytes(Program *program, uint64_t n) {
        const unsigned char *bytes = program->at;

        if (n > program->n)
                return NULL;
        program->at += n;
        program->n -= n;
        return bytes;
}

static bool take_u8(Program *program, uint64_t *ret) {
        const unsigned char *byte = take_bytes(program, 1);

        if (byte)
                *ret = *byte;
        return byte != NULL;
}

/* False also where it has more bytes than a number of 64 bits can have. */
static bool take_leb128(Program *program, uint64_t *ret) {
        uint64_t byte = 0x80;

        *ret = 0;
        for (unsigned shift = 0; byte & 0x80; shift += 7) {
                if (shift > 63 || !take_u8(program, &byte))
                        return false;
                *ret |= (byte & 0x7f) << shift;
        }
        return true;
}

static bool take_text(Program *program, uint64_t *ret_n) {
        const unsigned char *end = program->n > 0 ? memchr(program->at, '\0', program->n) : NULL;

        *ret_n = end ? (uint64_t) (end - program->at) : 0;
        return end && take_bytes(program, *ret_n + 1);
}

/* A text in another section, which is not looked at beyond what all may have. */
static bool take_reference(Program *program, const Elf_Data *strings, uint64_t *ret_n) {
        const unsigned char *bytes = take_bytes(program, sizeof(uint32_t));
        uint32_t at;

        if (!bytes || !strings || !strings->d_buf)
                return false;
        memcpy(&at, bytes, sizeof(at));
        if (at >= strings->d_size)
                return false;
        *ret_n = strnlen((const char *) strings->d_buf + at,
                         MIN_OF(strings->d_size - at, UNIT_NAMES_MAX_BYTES));
        return true;
}

/* *ret_n: how long it is, if it is a text; else 0. False: it is cut, or compilers write none. */
static bool take_form(Program *program, uint64_t form, uint64_t *ret_n) {
        uint64_t n;

        *ret_n = 0;
        switch (form) {
        case DW_FORM_string:
                return take_text(program, ret_n);
        case DW_FORM_strp:
                return take_reference(program, program->search->strings, ret_n);
        case DW_FORM_line_strp:
                return take_reference(program, program->search->line_strings, ret_n);
        case DW_FORM_udata:
                return take_leb128(program, &n);
        case DW_FORM_block:
                return take_leb128(program, &n) && take_bytes(program, n);
        case DW_FORM_data1:
                return take_bytes(program, 1);
        case DW_FORM_data2:
                return take_bytes(program, 2);
        case DW_FORM_data4:
                return take_bytes(program, 4);
        case DW_FORM_data8:
                return take_bytes(program, 8);
        case DW_FORM_data16:
                return take_bytes(program, 16);
        default:
                return false;
        }
}

static void add_directory(Program *program, uint64_t n) {
        program->n_longest = MAX_OF(program->n_longest, n);
        program->n_names += n;
}

/* As if it were in the longest directory. */
static void add_file(Program *program, uint64_t n) {
        program->n_names += n + program->n_longest + 2;
}

/* False: there are too many. */
static bool add_name(Program *program, bool is_of_file, uint64_t n) {
        if (is_of_file)
                add_file(program, n);
        else
                add_directory(program, n);
        return program->n_names <= UNIT_NAMES_MAX_BYTES;
}

/* A table up to version 4, which an empty name ends. False: it is cut, or there are too many. */
static bool take_names(Program *program, bool is_of_files) {
        uint64_t n, number;

        while (take_text(program, &n)) {
                if (n == 0)
                        return true;
                /* A file has a directory, a time and a size. */
                for (unsigned i = 0; i < 3 && is_of_files; i++)
                        if (!take_leb128(program, &number))
                                return false;
                if (!add_name(program, is_of_files, n))
                        return false;
        }
        return false;
}

/* A table of version 5, which says first of what each of its rows consists. */
static bool take_described_names(Program *program, bool is_of_files) {
        uint64_t forms[UINT8_MAX], n_forms, kind, n_names, n, n_text;

        if (!take_u8(program, &n_forms))
                return false;
        for (size_t i = 0; i < n_forms; i++)
                if (!take_leb128(program, &kind) || !take_leb128(program, &forms[i]))
                        return false;
        if (!take_leb128(program, &n_names) || (n_forms == 0 && n_names > 0))
                return false;
        for (uint64_t i = 0; i < n_names; i++) {
                n_text = 0;
                for (size_t k = 0; k < n_forms; k++) {
                        if (!take_form(program, forms[k], &n))
                                return false;
                        n_text += n;
                        if (n_text > UNIT_NAMES_MAX_BYTES)
                                return false;
                }
                if (!add_name(program, is_of_files, n_text))
                        return false;
        }
        return true;
}

/*
 * Adds up the names in the head of a program, and those that its instructions may add. Such an
 * instruction begins with a 0, a length and a 3. No compiler makes any, and of other bytes that
 * look the same there are few. False: names are too many, or make no sense.
 */
static bool add_names(Program *program) {
        const unsigned char *bytes = take_bytes(program, sizeof(uint16_t));
        uint64_t n_instructions;
        uint16_t version;
        bool is_whole;

        if (!bytes)
                return false;
        memcpy(&version, bytes, sizeof(version));
        /* Sizes of addresses, that of the head, and four or five numbers lie before these. */
        if (version < 2 || version > 5 || !take_bytes(program, version == 5 ? 2 : 0) ||
            !take_bytes(program, sizeof(uint32_t)) || !take_bytes(program, version >= 4 ? 5 : 4) ||
            !take_u8(program, &n_instructions) || n_instructions == 0 ||
            !take_bytes(program, n_instructions - 1))
                return false;
        is_whole = version == 5 ? take_described_names(program, false) &&
                                          take_described_names(program, true)
                                : take_names(program, false) && take_names(program, true);
        for (size_t i = 2; i < program->n; i++)
                if (program->at[i - 2] == 0 && program->at[i] == DW_LNE_define_file)
                        add_file(program, 0);
        program->n_names += program->n;
        return is_whole && program->n_names <= UNIT_NAMES_MAX_BYTES;
}

/*
 * How long the program is that makes the lines of a unit, and what its names come to; false: it has
 * none, or too much.
 */
static bool find_program(Search *search, Dwarf_Die *unit, uint64_t *ret_n, uint64_t *ret_names) {
        const unsigned char *bytes = search->programs->d_buf;
        Program program = { .search = search };
        Dwarf_Attribute attribute;
        const char *directory;
        Dwarf_Word at;
        uint32_t n;

        if (!dwarf_attr(unit, DW_AT_stmt_list, &attribute) || dwarf_formudata(&attribute, &at) != 0)
                return false;
        if (!bytes || search->programs->d_size < sizeof(n) ||
            at > search->programs->d_size - sizeof(n))
                return false;
        memcpy(&n, bytes + at, sizeof(n));
        *ret_n = n;
        search->is_cut = search->is_cut || n > UNIT_LINES_MAX_BYTES;
        if (n > MIN_OF(search->programs->d_size - at - sizeof(n), UNIT_LINES_MAX_BYTES))
                return false;
        program.at = bytes + at + sizeof(n);
        program.n = n;
        directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
        if (directory)
                add_directory(&program, strnlen(directory, UNIT_NAMES_MAX_BYTES));
        if (!add_names(&program)) {
                search->is_cut = true;
                return false;
        }
        *ret_names = program.n_names;
        return true;
}

/* The addresses from @first on that are before @end, in a unit whose lines may be read. */
static int search_range(Search *search, Dwarf_Die *unit, size_t first, uint64_t end) {
        int r = 0;

        for (size_t i = first;
             i < search->n && search->addresses[i] < end && r == 0 && !is_late(search); i++) {
                Dwarf_Line *line =
                        search->is_found[i] ? NULL : dwarf_getsrc_die(unit, search->addresses[i]);

                if (line)
                        r = tell(search, i, line);
        }
        return r;
}

/* The addresses that lie in one unit of a compiler. */
static int search_unit(Search *search, Dwarf_Die *unit) {
        Dwarf_Addr base, begin, end;
        bool is_read = false;
        ptrdiff_t offset = 0;
        uint64_t n_program, n_names;
        int r = 0;

        while (r == 0 && !is_late(search) &&
               (offset = dwarf_ranges(unit, offset, &base, &begin, &end)) > 0) {
                size_t first = ARRAY_FIRST(search->n, i, search->addresses[i] >= begin);

                if (first == search->n || search->addresses[first] >= end)
                        continue;
                if (!is_read) {
                        if (!find_program(search, unit, &n_program, &n_names))
                                return 0;
                        search->n_program_bytes += n_program;
                        search->n_name_bytes += n_names;
                        is_read = true;
                }
                r = search_range(search, unit, first, end);
        }
        return r;
}

/* Goes on behind the units that were looked at. True: there may be more, once memory is freed. */
static bool search_units(Search *search, Dwarf *dwarf, int *ret) {
        Dwarf_CU *unit = NULL;
        size_t n = 0;
        uint8_t type;
        Dwarf_Die die;

        search->n_program_bytes = search->n_name_bytes = 0;
        for (; dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, NULL) == 0; n++) {
                if (n < search->n_units || (type != DW_UT_compile && type != DW_UT_skeleton))
                        continue;
                search->n_units = n + 1;
                search->is_cut = search->is_cut || n >= MAX_UNITS;
                if (is_late(search) || n >= MAX_UNITS)
                        return false;
                *ret = search_unit(search, &die);
                if (*ret < 0)
                        return false;
                if (search->n_program_bytes > ALL_LINES_MAX_BYTES - UNIT_LINES_MAX_BYTES ||
                    search->n_name_bytes > ALL_NAMES_MAX_BYTES - UNIT_NAMES_MAX_BYTES)
                        return true;
        }
        return false;
}

/* What libdw calls when there is no memory is told nothing, and may not return. */
static jmp_buf *volatile no_memory;

static _noreturn_ void give_up(void) {
        longjmp(*no_memory, 1);
}

/*
 * As search_units(), but for want of memory libdw may be left at any point. What belongs to @dwarf
 * is freed with it; what a unit's lines are read into is lost.
 */
static bool search_while_room(Search *search, Dwarf *dwarf, int *ret) {
        jmp_buf full;
        bool goes_on;

        if (setjmp(full) != 0) {
                search->is_full = true;
                return false;
        }
        no_memory = &full;
        (void) dwarf_new_oom_handler(dwarf, give_up);
        goes_on = search_units(search, dwarf, ret);
        no_memory = NULL;
        return goes_on;
}

/* False: it makes no sense. */
static bool search_file(Search *search, Elf *elf, int *ret) {
        bool goes_on = true;

        while (goes_on) {
                /* It decompresses the sections first. */
                Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);

                search->programs = read_section(elf, ".debug_line");
                search->strings = read_section(elf, ".debug_str");
                search->line_strings = read_section(elf, ".debug_line_str");
                if (!dwarf || !search->programs) {
                        (void) dwarf_end(dwarf);
                        return false;
                }
                goes_on = search_while_room(search, dwarf, ret);
                (void) dwarf_end(dwarf);
        }
        return true;
}

int source_lines_find(int fd, const uint64_t *addresses, size_t n, uint64_t until_ns,
                      SourceLineSink sink, void *userdata, bool *ret_whole) {
        _cleanup_(freep) bool *is_found = calloc(n + 1, sizeof(*is_found));
        Search search = { .addresses = addresses,
                          .n = n,
                          .is_found = is_found,
                          .until_ns = until_ns,
                          .sink = sink,
                          .userdata = userdata };
        _cleanup_(freep) char *bytes = NULL;
        size_t n_bytes;
        Elf *elf;
        int r = 0;

        *ret_whole = false;
        if (!is_found)
                return -ENOMEM;
        /* To read a large file and to unpack what is in it takes longer than all else. */
        if (is_late(&search))
                return 0;
        bytes = read_file(fd, &n_bytes);
        if (!bytes)
                return 0;
        elf = elf_memory(bytes, n_bytes);
        if (elf && elf_kind(elf) == ELF_K_ELF && fits(elf, n_bytes))
                *ret_whole = search_file(&search, elf, &r) && !search.is_late && !search.is_cut &&
                             !search.is_full;
        (void) elf_end(elf);
        return r == 0 && search.is_full ? SOURCE_LINES_E_MEMORY : r;
}
