/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/program/source-line.h"

#include <errno.h>
#include <dwarf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "check-lack.h"
#include "check-main.h"
#include "small-elf.h"

/*
 * This program has debugging information, and looks for its own lines. (/proc/self/exe is the
 * dynamic linker where that was told to execute it, as tests/arm64/run does.)
 */

static volatile unsigned counted;

enum { FIRST_LINE = __LINE__ + 3 };
// clang-format off
__attribute__((noinline)) static void
count_one(void) {
        counted++;
}
// clang-format on

static uint64_t bias;

static int take_bias(struct dl_phdr_info *info, size_t n, void *userdata) {
        bias = info->dlpi_addr;
        return 1; /* the first one is the program */
}

typedef struct Found {
        size_t n;
        size_t index;
        uint32_t line;
        bool is_here;
        int failure;
} Found;

static int take_line(void *userdata, size_t index, Span path, uint32_t line) {
        static const char name[] = "test-source-line.c";
        Found *found = userdata;

        found->n++;
        found->index = index;
        found->line = line;
        found->is_here = path.n >= strlen(name) &&
                         memcmp(path.bytes + path.n - strlen(name), name, strlen(name)) == 0;
        return found->failure;
}

static int find_own(uint64_t until_ns, Found *found, bool *ret_whole) {
        int fd = open(program_invocation_name, O_RDONLY | O_CLOEXEC), r;
        uint64_t addresses[3] = { 1, 0, UINT64_MAX };

        ck_assert_int_ge(fd, 0);
        (void) elf_version(EV_CURRENT);
        (void) dl_iterate_phdr(take_bias, NULL);
        addresses[1] = (uintptr_t) count_one - bias;
        count_one();
        r = source_lines_find(fd, addresses, 3, until_ns, take_line, found, ret_whole);
        (void) close(fd);
        return r;
}

START_TEST(an_address_has_a_line) {
        Found found = {};
        bool is_whole;

        ck_assert_int_eq(find_own(UINT64_MAX, &found, &is_whole), 0);
        ck_assert(is_whole);
        ck_assert_uint_eq(found.n, 1);
        ck_assert_uint_eq(found.index, 1);
        ck_assert(found.is_here);
        ck_assert_uint_ge(found.line, FIRST_LINE - 1);
        ck_assert_uint_le(found.line, FIRST_LINE + 3);
}
END_TEST

START_TEST(time_runs_out) {
        Found found = {};
        bool is_whole = true;

        ck_assert_int_eq(find_own(0, &found, &is_whole), 0);
        ck_assert(!is_whole && found.n == 0);
}
END_TEST

/* Its end is looked for before a file is read, and that moves its position. */
START_TEST(no_file_is_read_without_time) {
        int fd = open(program_invocation_name, O_RDONLY | O_CLOEXEC);
        const uint64_t address = 1;
        Found found = {};
        bool is_whole = true;

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(source_lines_find(fd, &address, 1, 0, take_line, &found, &is_whole), 0);
        ck_assert(!is_whole && found.n == 0);
        ck_assert_int_eq((long) lseek(fd, 0, SEEK_CUR), 0);
        ck_assert_int_eq(
                source_lines_find(fd, &address, 1, UINT64_MAX, take_line, &found, &is_whole), 0);
        ck_assert_int_gt((long) lseek(fd, 0, SEEK_CUR), 0);
        (void) close(fd);
}
END_TEST

START_TEST(a_failure_is_passed_on) {
        Found found = { .failure = -ENOMEM };
        bool is_whole;

        ck_assert_int_eq(find_own(UINT64_MAX, &found, &is_whole), -ENOMEM);
}
END_TEST

static int memory_with(const void *bytes, size_t n) {
        int fd = memfd_create("test", MFD_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(pwrite(fd, bytes, n, 0), (ssize_t) n);
        return fd;
}

START_TEST(what_has_none_is_not_whole) {
        const uint64_t address = SMALL_ELF_WORK;
        char elf[SMALL_ELF_BYTES];
        Found found = {};
        bool is_whole;
        int fds[4];

        small_elf_make(elf);
        (void) elf_version(EV_CURRENT);
        fds[0] = memory_with(elf, sizeof(elf));
        fds[1] = memory_with("no program", 10);
        fds[2] = memory_with("", 0);
        /* Nobody has so much memory: it is larger than is read. */
        fds[3] = memory_with(elf, sizeof(elf));
        ck_assert_int_eq(ftruncate(fds[3], (off_t) SOURCE_FILE_MAX_BYTES + 1), 0);
        for (size_t i = 0; i < ELEMENTSOF(fds); i++) {
                Elf *read = elf_begin(fds[i], ELF_C_READ, NULL);

                ck_assert(!source_lines_are_in(read));
                (void) elf_end(read);
                is_whole = true;
                ck_assert_int_eq(source_lines_find(fds[i], &address, 1, UINT64_MAX, take_line,
                                                   &found, &is_whole),
                                 0);
                ck_assert(!is_whole && found.n == 0);
                (void) close(fds[i]);
        }
}
END_TEST

/* files that are made */

#define MADE_ADDRESS 0x1000
#define MADE_LINE 42

/* A program of one unit with one line. */
typedef struct MadeLines {
        unsigned version;        /* of the program that makes lines */
        size_t n_unit_directory; /* how long the name is of the one that the unit was made in */
        size_t n_directory;      /* likewise, of that of the files; 0: it is the same */
        size_t n_files;          /* with names of one letter */
        size_t n_added;          /* files that an instruction adds */
        bool has_references;     /* names are in a section of their own */
        bool is_twice;           /* there is an empty section of the same name before */
        bool is_foreign;         /* its bytes are in the other order */
        size_t n_least;          /* so long the program is at least */
        uint64_t n_packed; /* as many bytes a section says that it has unpacked; 0: there is none */
} MadeLines;

/* In the order of the file that is made. */
static bool is_swapped;

static void append_number(Buffer *buffer, uint64_t number, size_t n) {
        char bytes[sizeof(number)];

        for (size_t i = 0; i < n; i++)
                bytes[is_swapped ? n - 1 - i : i] = (char) (number >> 8 * i);
        (void) buffer_append(buffer, bytes, n);
}

static void append_letters(Buffer *buffer, char letter, size_t n) {
        for (size_t i = 0; i < n; i++)
                (void) buffer_append_byte(buffer, letter);
        ck_assert_int_eq(buffer_append_byte(buffer, '\0'), 0);
}

static void append_leb128(Buffer *buffer, uint64_t number) {
        for (; number >= 0x80; number >>= 7)
                append_number(buffer, (number & 0x7f) | 0x80, 1);
        append_number(buffer, number, 1);
}

static void append_tables(Buffer *buffer, const MadeLines *made) {
        unsigned form = made->has_references ? DW_FORM_line_strp : DW_FORM_string;

        if (made->version < 5) {
                if (made->n_directory > 0)
                        append_letters(buffer, 'd', made->n_directory);
                append_number(buffer, 0, 1);
                for (size_t i = 0; i < made->n_files; i++) {
                        append_letters(buffer, 'f', 1);
                        append_number(buffer, made->n_directory > 0, 1);
                        append_number(buffer, 0, 2);
                }
                append_number(buffer, 0, 1);
                return;
        }
        append_number(buffer, 1, 1);
        append_leb128(buffer, DW_LNCT_path);
        append_leb128(buffer, form);
        append_leb128(buffer, 1);
        if (made->has_references)
                append_number(buffer, 0, 4);
        else
                append_letters(buffer, 'd', made->n_directory);
        append_number(buffer, 2, 1);
        append_leb128(buffer, DW_LNCT_path);
        append_leb128(buffer, form);
        append_leb128(buffer, DW_LNCT_directory_index);
        append_leb128(buffer, DW_FORM_udata);
        append_leb128(buffer, made->n_files);
        for (size_t i = 0; i < made->n_files; i++) {
                if (made->has_references)
                        append_number(buffer, made->n_directory + 1, 4);
                else
                        append_letters(buffer, 'f', 1);
                append_leb128(buffer, 0);
        }
}

static void append_program(Buffer *buffer, const MadeLines *made) {
        static const unsigned char n_arguments[] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };
        Buffer head = {}, rest = {};

        append_number(&head, 1, 1);
        if (made->version >= 4)
                append_number(&head, 1, 1);
        append_number(&head, 1, 1);
        append_number(&head, 0, 1);
        append_number(&head, 14, 1);
        append_number(&head, 1 + sizeof(n_arguments), 1);
        ck_assert_int_eq(buffer_append(&head, n_arguments, sizeof(n_arguments)), 0);
        append_tables(&head, made);
        for (size_t i = 0; i < made->n_added; i++) {
                append_number(&rest, 0, 1);
                append_number(&rest, 6, 1);
                append_number(&rest, DW_LNE_define_file, 1);
                append_letters(&rest, 'a', 1);
                append_number(&rest, made->n_directory > 0, 1);
                append_number(&rest, 0, 2);
        }
        while (head.n + rest.n + 50 < made->n_least)
                append_number(&rest, DW_LNS_negate_stmt, 1);
        append_number(&rest, 0, 1);
        append_number(&rest, 9, 1);
        append_number(&rest, DW_LNE_set_address, 1);
        append_number(&rest, MADE_ADDRESS, 8);
        append_number(&rest, DW_LNS_advance_line, 1);
        append_leb128(&rest, MADE_LINE - 1);
        append_number(&rest, DW_LNS_copy, 1);
        append_number(&rest, DW_LNS_advance_pc, 1);
        append_leb128(&rest, 16);
        append_number(&rest, 0, 1);
        append_number(&rest, 1, 1);
        append_number(&rest, DW_LNE_end_sequence, 1);
        while (head.n + rest.n + 6 + (made->version == 5 ? 2 : 0) < made->n_least)
                append_number(&rest, DW_LNS_negate_stmt, 1);

        append_number(buffer, head.n + rest.n + 6 + (made->version == 5 ? 2 : 0), 4);
        append_number(buffer, made->version, 2);
        if (made->version == 5)
                append_number(buffer, 8, 2);
        append_number(buffer, head.n, 4);
        ck_assert_int_eq(buffer_append(buffer, head.bytes, head.n), 0);
        ck_assert_int_eq(buffer_append(buffer, rest.bytes, rest.n), 0);
        buffer_done(&head);
        buffer_done(&rest);
}

static void append_unit(Buffer *buffer, const MadeLines *made) {
        append_number(buffer, 2 + 4 + 1 + 1 + made->n_unit_directory + 1 + 8 + 8 + 4, 4);
        append_number(buffer, 4, 2);
        append_number(buffer, 0, 4);
        append_number(buffer, 8, 1);
        append_number(buffer, 1, 1);
        append_letters(buffer, 'u', made->n_unit_directory);
        append_number(buffer, MADE_ADDRESS, 8);
        append_number(buffer, 16, 8);
        append_number(buffer, 0, 4);
}

/* One of what was appended to @contents since the last one. */
static void append_section(Buffer *sections, const Buffer *contents, unsigned type, uint64_t flags,
                           size_t name, size_t *at) {
        size_t end = sizeof(Elf64_Ehdr) + contents->n;

        append_number(sections, name, 4);
        append_number(sections, type, 4);
        append_number(sections, flags, 8);
        append_number(sections, 0, 8);
        append_number(sections, *at, 8);
        append_number(sections, end - *at, 8);
        append_number(sections, 0, 8);
        append_number(sections, 1, 8);
        append_number(sections, 0, 8);
        *at = end;
}

/* The file, open. */
static int make_lines(const MadeLines *made) {
        static const char names[] = "\0.debug_abbrev\0.debug_info\0.debug_line\0.debug_line_str"
                                    "\0.shstrtab\0.gnu_debugaltlink";
        static const unsigned char abbreviations[] = {
                1,
                DW_TAG_compile_unit,
                DW_CHILDREN_no,
                DW_AT_comp_dir,
                DW_FORM_string,
                DW_AT_low_pc,
                DW_FORM_addr,
                DW_AT_high_pc,
                DW_FORM_data8,
                DW_AT_stmt_list,
                DW_FORM_sec_offset,
                0,
                0,
                0,
        };
        const bool is_big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != made->is_foreign;
        const unsigned char identity[EI_NIDENT] = { ELFMAG0,    ELFMAG1,
                                                    ELFMAG2,    ELFMAG3,
                                                    ELFCLASS64, is_big ? ELFDATA2MSB : ELFDATA2LSB,
                                                    EV_CURRENT };
        Buffer file = {}, sections = {}, contents = {};
        size_t at = sizeof(Elf64_Ehdr);
        int fd;

        is_swapped = is_big;
        append_section(&sections, &contents, SHT_NULL, 0, 0, &at);
        ck_assert_int_eq(buffer_append(&contents, abbreviations, sizeof(abbreviations)), 0);
        append_section(&sections, &contents, SHT_PROGBITS, 0, 1, &at);
        append_unit(&contents, made);
        append_section(&sections, &contents, SHT_PROGBITS, 0, 15, &at);
        if (made->is_twice)
                append_section(&sections, &contents, SHT_PROGBITS, 0, 27, &at);
        append_program(&contents, made);
        append_section(&sections, &contents, SHT_PROGBITS, 0, 27, &at);
        append_letters(&contents, 'd', made->n_directory);
        append_letters(&contents, 'f', 1);
        append_section(&sections, &contents, SHT_PROGBITS, 0, 39, &at);
        if (made->n_packed > 0) {
                append_number(&contents, ELFCOMPRESS_ZLIB, 4);
                append_number(&contents, 0, 4);
                append_number(&contents, made->n_packed, 8);
                append_number(&contents, 1, 8);
                append_section(&sections, &contents, SHT_PROGBITS, SHF_COMPRESSED, 65, &at);
        }
        ck_assert_int_eq(buffer_append(&contents, names, sizeof(names)), 0);
        append_section(&sections, &contents, SHT_STRTAB, 0, 55, &at);
        ck_assert_int_eq(buffer_append(&file, identity, sizeof(identity)), 0);
        append_number(&file, ET_EXEC, 2);
        append_number(&file, SMALL_ELF_MACHINE, 2);
        append_number(&file, EV_CURRENT, 4);
        append_number(&file, 0, 8);
        append_number(&file, 0, 8);
        append_number(&file, at, 8);
        append_number(&file, 0, 4);
        append_number(&file, sizeof(Elf64_Ehdr), 2);
        append_number(&file, 0, 4);
        append_number(&file, sizeof(Elf64_Shdr), 2);
        append_number(&file, sections.n / sizeof(Elf64_Shdr), 2);
        append_number(&file, sections.n / sizeof(Elf64_Shdr) - 1, 2);
        ck_assert_uint_eq(file.n, sizeof(Elf64_Ehdr));
        ck_assert_int_eq(buffer_append(&file, contents.bytes, contents.n), 0);
        ck_assert_int_eq(buffer_append(&file, sections.bytes, sections.n), 0);
        fd = memory_with(file.bytes, file.n);
        buffer_done(&file);
        buffer_done(&sections);
        buffer_done(&contents);
        return fd;
}

static const struct {
        MadeLines made;
        bool is_found; /* else it is not whole */
} made_rows[] = {
        { { .version = 2, .n_unit_directory = 3, .n_directory = 3, .n_files = 2 }, true },
        { { .version = 3, .n_unit_directory = 3, .n_files = 2 }, true },
        { { .version = 4, .n_directory = 3, .n_files = 2, .n_added = 2 }, true },
        { { .version = 5, .n_directory = 3, .n_files = 2 }, true },
        { { .version = 5, .n_directory = 3, .n_files = 2, .has_references = true }, true },
        /* As much as names may come to, and more, by each of the ways to it. */
        { { .version = 4, .n_directory = 15000, .n_files = 1000 }, true },
        { { .version = 4, .n_directory = 17000, .n_files = 1000 }, false },
        { { .version = 4, .n_directory = 500000, .n_files = 100000 }, false },
        { { .version = 4, .n_unit_directory = 15000, .n_files = 1000 }, true },
        { { .version = 4, .n_unit_directory = 17000, .n_files = 1000 }, false },
        { { .version = 4, .n_directory = 15000, .n_files = 1, .n_added = 1000 }, true },
        { { .version = 4, .n_directory = 17000, .n_files = 1, .n_added = 1000 }, false },
        { { .version = 5, .n_directory = 15000, .n_files = 1000 }, true },
        { { .version = 5, .n_directory = 17000, .n_files = 1000 }, false },
        { { .version = 5, .n_directory = 15000, .n_files = 1000, .has_references = true }, true },
        { { .version = 5, .n_directory = 1 << 20, .n_files = 9999, .has_references = true },
          false },
        /* None of these is a file of a program that was built here. */
        { { .version = 4, .n_directory = 3, .n_files = 2, .is_twice = true }, false },
        { { .version = 4, .n_directory = 3, .n_files = 2, .n_least = 1 << 16 }, true },
        { { .version = 4, .n_directory = 3, .n_files = 2, .n_least = 1 << 16, .is_foreign = true },
          false },
        { { .version = 1, .n_directory = 3, .n_files = 2 }, false },
        { { .version = 4, .n_directory = 3, .n_files = 2, .n_packed = 100 }, true },
        { { .version = 4, .n_directory = 3, .n_files = 2, .n_packed = SOURCE_FILE_MAX_BYTES },
          false },
};

START_TEST(names_of_files_are_not_too_many) {
        const uint64_t address = MADE_ADDRESS + 4;
        int fd = make_lines(&made_rows[_i].made);
        Found found = {};
        bool is_whole;

        (void) elf_version(EV_CURRENT);
        ck_assert_int_eq(
                source_lines_find(fd, &address, 1, UINT64_MAX, take_line, &found, &is_whole), 0);
        ck_assert_int_eq(is_whole, made_rows[_i].is_found);
        ck_assert_uint_eq(found.n, made_rows[_i].is_found);
        ck_assert_uint_eq(found.line, made_rows[_i].is_found ? MADE_LINE : 0);
        (void) close(fd);
}
END_TEST

/* memory */

/* How much memory of its own this process has; 0: the kernel does not tell. */
static uint64_t data_bytes(void) {
        char line[256];
        FILE *file = fopen("/proc/self/status", "r");
        unsigned long long n = 0;

        while (file && n == 0 && fgets(line, sizeof(line), file))
                (void) sscanf(line, "VmData: %llu kB", &n);
        if (file)
                (void) fclose(file);
        return n << 10;
}

/* Returns true if that much more memory is too little for libdw, which must not end the process. */
static bool lacks_memory(int fd, uint64_t n_more) {
        pid_t child = fork();
        int status;

        ck_assert_int_ge(child, 0);
        if (child == 0) {
                const struct rlimit limit = { data_bytes() + n_more, data_bytes() + n_more };
                const uint64_t address = MADE_ADDRESS;
                Found found = {};
                bool is_whole = false;
                int r = setrlimit(RLIMIT_DATA, &limit);

                if (r == 0)
                        r = source_lines_find(fd, &address, 1, UINT64_MAX, take_line, &found,
                                              &is_whole);
                _exit(r == SOURCE_LINES_E_MEMORY && !is_whole ? 3 : r == 0 ? 0 : 4);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3));
        return WEXITSTATUS(status) == 3;
}

/* From too little for the file up to enough for all. */
START_TEST(memory_runs_out) {
        const MadeLines made = { .version = 4, .n_directory = 15000, .n_files = 1000 };
        unsigned n_lacks = 0;
        int fd;

        if (check_skips(check_lacks_bound_of_memory()))
                return;
        (void) elf_version(EV_CURRENT);
        fd = make_lines(&made);
        for (uint64_t n = 0; n < 16; n++)
                n_lacks += lacks_memory(fd, n << 20);
        ck_assert_uint_gt(n_lacks, 0);
        ck_assert(!lacks_memory(fd, UINT64_C(64) << 20));
        (void) close(fd);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("source-line");
        TCase *lines = tcase_create("lines");

        tcase_add_test(lines, an_address_has_a_line);
        tcase_add_test(lines, time_runs_out);
        tcase_add_test(lines, no_file_is_read_without_time);
        tcase_add_test(lines, a_failure_is_passed_on);
        tcase_add_test(lines, what_has_none_is_not_whole);
        tcase_add_test(lines, memory_runs_out);
        tcase_add_loop_test(lines, names_of_files_are_not_too_many, 0, ELEMENTSOF(made_rows));
        suite_add_tcase(suite, lines);
        return check_main(suite);
}
