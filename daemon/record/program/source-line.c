/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/program/source-line.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
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
 * Returns true if the file is small enough when its sections are decompressed. @n_file is the size
 * of the file itself, which is in memory already. A compressed section says how large its content
 * is.
 */
static bool fits(Elf *elf, uint64_t n_file) {
        uint64_t n_bytes = n_file;
        Elf_Scn *section = NULL;
        const char *name;
        GElf_Shdr header;
        GElf_Chdr compressed;

        while ((section = next_section(elf, section, ".debug_", &name, &header))) {
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
        const Elf_Data *programs; /* .debug_line */
        uint64_t n_program_bytes; /* that were read since memory was freed */
        size_t n_units;           /* that were looked at */
        bool is_late, is_cut;
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

/* How long the program is that makes the lines of a unit; false: none, or too long. */
static bool find_program(Search *search, Dwarf_Die *unit, uint64_t *ret_n) {
        const char *bytes = search->programs->d_buf;
        Dwarf_Attribute attribute;
        Dwarf_Word at;
        uint32_t n;

        if (!dwarf_attr(unit, DW_AT_stmt_list, &attribute) || dwarf_formudata(&attribute, &at) != 0)
                return false;
        if (!bytes || search->programs->d_size < sizeof(n) ||
            at > search->programs->d_size - sizeof(n))
                return false;
        memcpy(&n, bytes + at, sizeof(n));
        search->is_cut = search->is_cut || n > UNIT_LINES_MAX_BYTES;
        *ret_n = n;
        return n <= UNIT_LINES_MAX_BYTES;
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
        uint64_t n_program;
        int r = 0;

        while (r == 0 && !is_late(search) &&
               (offset = dwarf_ranges(unit, offset, &base, &begin, &end)) > 0) {
                size_t first = ARRAY_FIRST(search->n, i, search->addresses[i] >= begin);

                if (first == search->n || search->addresses[first] >= end)
                        continue;
                if (!is_read && !find_program(search, unit, &n_program))
                        return 0;
                search->n_program_bytes += is_read ? 0 : n_program;
                is_read = true;
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

        search->n_program_bytes = 0;
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
                if (search->n_program_bytes > ALL_LINES_MAX_BYTES - UNIT_LINES_MAX_BYTES)
                        return true;
        }
        return false;
}

/* False: it makes no sense. */
static bool search_file(Search *search, Elf *elf, int *ret) {
        bool goes_on = true;
        GElf_Shdr header;

        while (goes_on) {
                /* It decompresses the sections first. */
                Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
                Elf_Scn *lines = find_section(elf, ".debug_line", &header);

                search->programs = lines ? elf_getdata(lines, NULL) : NULL;
                if (!dwarf || !search->programs) {
                        (void) dwarf_end(dwarf);
                        return false;
                }
                goes_on = search_units(search, dwarf, ret);
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
                *ret_whole = search_file(&search, elf, &r) && !search.is_late && !search.is_cut;
        (void) elf_end(elf);
        return r;
}
