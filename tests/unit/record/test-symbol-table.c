/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-lack.h"
#include "check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "record/program/module.h"
#include "record/program/symbol-table.h"
#include "small-elf.h"

static const char *name_at(const SymbolTable *table, uint64_t address) {
        const Symbol *symbol = symbol_table_find(table, address);

        return symbol ? symbol_table_text(table, symbol->name) : NULL;
}

START_TEST(kernel) {
        static const char text[] = "ffffffff81000100 T second\n"
                                   "ffffffff81000000 t first\n"
                                   "ffffffff81000080 D some_data\n"
                                   "0000000000000000 T hidden\n"
                                   "nonsense\n"
                                   "ffffffffc0000000 t in_module\t[some_module]\n"
                                   "ffffffffc0000100 t cut_off";
        SymbolTable table = {};

        ck_assert_int_eq(symbol_table_add_kernel(&table, SPAN_LITERAL(text)), 0);
        symbol_table_sort(&table);
        ck_assert_uint_eq(table.n, 3);
        ck_assert_ptr_null(name_at(&table, 0xffffffff80ffffff));
        ck_assert_str_eq(name_at(&table, 0xffffffff81000000), "first");
        ck_assert_str_eq(name_at(&table, 0xffffffff810000ff), "first");
        ck_assert_str_eq(name_at(&table, 0xffffffff81000100), "second");
        ck_assert_str_eq(name_at(&table, 0xffffffffc0000042), "in_module");
        ck_assert_str_eq(
                symbol_table_text(&table, symbol_table_find(&table, 0xffffffffc0000042)->group),
                "[some_module]");
        ck_assert_uint_eq(symbol_table_find(&table, 0xffffffff81000000)->group, 0);
        symbol_table_done(&table);
}
END_TEST

START_TEST(hidden_kernel) {
        SymbolTable table = {};

        ck_assert_int_eq(
                symbol_table_add_kernel(
                        &table, SPAN_LITERAL("0000000000000000 T a\n0000000000000000 T b\n")),
                0);
        symbol_table_sort(&table);
        ck_assert_ptr_null(symbol_table_find(&table, 0));
        ck_assert_ptr_null(symbol_table_find(&table, UINT64_MAX));
        symbol_table_done(&table);
}
END_TEST

START_TEST(code_made_at_run_time) {
        static const char text[] = "1000 10 first\n"
                                   "1010 0 empty\n"
                                   "ffffffffffffffff 2 too large\n"
                                   "xyz 10 nonsense\n"
                                   "1020\n"
                                   "1030 10\n"
                                   "0 10 zero\n"
                                   "\n"
                                   "1040 10  of several words \n"
                                   "1000 8 first again\n"
                                   "1050 10 _ZN3jit4workEv\n"
                                   "1060 10 cut off";
        SymbolTable table = {};
        uint64_t spent_ns = 0;
        const Symbol *symbol;
        Span name;

        ck_assert_int_eq(symbol_table_add_jit(&table, SPAN_LITERAL(text)), 0);
        symbol_table_sort(&table);
        symbol_table_drop_replaced(&table);
        ck_assert_uint_eq(table.n, 3);
        ck_assert_str_eq(name_at(&table, 0x1000), "first again");
        ck_assert_ptr_null(name_at(&table, 0x1008));
        ck_assert_str_eq(name_at(&table, 0x104f), "of several words ");
        ck_assert_ptr_null(name_at(&table, 0x1060));
        symbol = symbol_table_find(&table, 0x1051);
        ck_assert_ptr_nonnull(symbol);
        for (unsigned i = 0; i < 2; i++) {
                ck_assert_int_eq(symbol_table_name(&table, symbol, &spent_ns, &name), 0);
                ck_assert(span_is(name, "jit::work()"));
        }
        symbol_table_done(&table);
}
END_TEST

/* What is written later at the place of a name that has been read takes its place, too. */
START_TEST(code_that_is_replaced_later) {
        static const char *const lines[] = { "1000 10 _Z5firstv\n", "1000 10 second\n",
                                             "1000 10 _Z5thirdv\n" };
        static const char *const names[] = { "first()", "second", "third()" };
        SymbolTable table = {};
        uint64_t spent_ns = 0;
        Span name;

        for (unsigned i = 0; i < 3; i++) {
                ck_assert_int_eq(symbol_table_add_jit(&table, span_of(lines[i])), 0);
                symbol_table_sort(&table);
                symbol_table_drop_replaced(&table);
                ck_assert_uint_eq(table.n, 1);
                ck_assert_int_eq(symbol_table_name(&table, &table.all[0], &spent_ns, &name), 0);
                ck_assert(span_is(name, names[i]));
        }
        symbol_table_done(&table);
}
END_TEST

/* Where the linker put it tells what the address in the file is. */
extern const char __executable_start[];
/* /proc/self/exe is the dynamic linker where that was told to execute this program. */
extern const char __ehdr_start[];

START_TEST(own_program) {
        Modules modules = {};
        const Symbol *symbol;
        size_t number;
        Module *module;

        (void) elf_version(EV_CURRENT);
        ck_assert_int_eq(modules_add(&modules, 1, 2, SPAN_LITERAL("/some/path"),
                                     open(program_invocation_name, O_RDONLY | O_CLOEXEC), &number),
                         0);
        module = modules.all[number];
        ck_assert_ptr_nonnull(module->elf);
        ck_assert_int_eq(
                module_find_symbol(
                        module,
                        (uint64_t) ((uintptr_t) symbol_table_find - (uintptr_t) __ehdr_start) + 1,
                        &symbol),
                0);
        ck_assert_ptr_nonnull(symbol);
        ck_assert_str_eq(symbol_table_text(&module->symbols, symbol->name), "symbol_table_find");
        modules_done(&modules);
}
END_TEST

void _also_named(void);
void zz_named(void);
__attribute__((used)) static void a_local_name(void) {
        __asm__ volatile("nop");
}
void _also_named(void) __attribute__((alias("a_local_name")));
void zz_named(void) __attribute__((alias("a_local_name")));

/* What is exported without underscores, whatever was defined first. */
START_TEST(several_names_of_one_function) {
        Modules modules = {};
        const Symbol *symbol;
        size_t number;

        (void) elf_version(EV_CURRENT);
        ck_assert_int_eq(modules_add(&modules, 1, 2, SPAN_LITERAL("/some/path"),
                                     open(program_invocation_name, O_RDONLY | O_CLOEXEC), &number),
                         0);
        ck_assert_int_eq(
                module_find_symbol(modules.all[number],
                                   (uint64_t) ((uintptr_t) zz_named - (uintptr_t) __ehdr_start),
                                   &symbol),
                0);
        ck_assert_ptr_nonnull(symbol);
        ck_assert_str_eq(symbol_table_text(&modules.all[number]->symbols, symbol->name),
                         "zz_named");
        modules_done(&modules);
}
END_TEST

/* A name that ends in a version, as tables of debug files have it, is the one before that. */
START_TEST(names_with_a_version) {
        static char file[SMALL_ELF_BYTES];
        uint64_t rest = UINT64_MAX;
        SymbolTable table = {};
        Elf *elf;

        (void) elf_version(EV_CURRENT);
        small_elf_make(file);
        memcpy(file + SMALL_ELF_NAMES_AT + 1, "wo@k\0s@@rt", sizeof("wo@k\0s@@rt"));
        elf = elf_memory(file, sizeof(file));
        ck_assert_int_eq(symbol_table_add_elf(&table, elf, SYMBOL_FUNCTION, UINT64_MAX, &rest), 0);
        symbol_table_sort(&table);
        ck_assert_str_eq(name_at(&table, SMALL_ELF_WORK), "wo");
        ck_assert_str_eq(name_at(&table, SMALL_ELF_START), "s");
        symbol_table_done(&table);
        (void) elf_end(elf);
}
END_TEST

/* Neither a file that is none nor one that could not be opened has symbols. */
START_TEST(no_program) {
        Modules modules = {};
        const Symbol *symbol;
        size_t number;

        (void) elf_version(EV_CURRENT);
        ck_assert_int_eq(modules_add(&modules, 1, 2, SPAN_LITERAL("text"),
                                     open("/proc/self/status", O_RDONLY | O_CLOEXEC), &number),
                         0);
        ck_assert_int_eq(module_find_symbol(modules.all[number], 4096, &symbol), 0);
        ck_assert_ptr_null(symbol);
        ck_assert_int_lt(modules.all[number]->fd, 0);
        ck_assert_int_eq(modules_add(&modules, 1, 3, SPAN_LITERAL("gone"), -EBADF, &number), 0);
        ck_assert_int_eq(module_find_symbol(modules.all[number], 4096, &symbol), 0);
        ck_assert_ptr_null(symbol);
        ck_assert_str_eq(modules.all[number]->build_id, "");
        modules_done(&modules);
}
END_TEST

/* Adds a program, which is followed by these bytes, and by a hole up to @n_bytes. */
static Module *add_file(Modules *modules, const char file[static SMALL_ELF_BYTES],
                        const void *behind, size_t n_behind, off_t n_bytes) {
        int fd = memfd_create("program", MFD_CLOEXEC);
        size_t number;

        (void) elf_version(EV_CURRENT);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq((long) write(fd, file, SMALL_ELF_BYTES), SMALL_ELF_BYTES);
        ck_assert_int_eq((long) write(fd, behind, n_behind), (long) n_behind);
        ck_assert_int_eq(ftruncate(fd, n_bytes), 0);
        ck_assert_int_eq(modules_add(modules, 1, 2, SPAN_LITERAL("program"), fd, &number), 0);
        return modules->all[number];
}

static const char *function_at(Module *module, uint64_t address) {
        const Symbol *symbol;

        ck_assert_int_eq(module_find_symbol(module, address, &symbol), 0);
        return symbol ? symbol_table_text(&module->symbols, symbol->name) : NULL;
}

/* Files that say of themselves what would take long to find out are none, one after the other. */
START_TEST(headers_out_of_reach) {
        static const struct {
                size_t at;
                uint16_t value;
                bool is_taken;
        } changes[] = {
                { offsetof(Elf64_Ehdr, e_version), EV_CURRENT, true }, /* which it has anyhow */
                { offsetof(Elf64_Ehdr, e_shnum), UINT16_MAX - 1, false },
                { offsetof(Elf64_Ehdr, e_shnum), 0, false }, /* they are counted elsewhere */
                { offsetof(Elf64_Ehdr, e_phnum), UINT16_MAX - 1, false },
                { offsetof(Elf64_Ehdr, e_phnum), 4000, false }, /* the file ends before them */
                { offsetof(Elf64_Ehdr, e_phnum), 0, true },
        };
        char file[SMALL_ELF_BYTES];
        Modules modules = {};

        small_elf_make(file);
        memcpy(file + changes[_i].at, &changes[_i].value, sizeof(changes[_i].value));
        (void) add_file(&modules, file, "", 0, sizeof(file));
        ck_assert(!modules.all[0]->elf == !changes[_i].is_taken);
        modules_done(&modules);
}
END_TEST

/* What a file has at least of a section that is too large to be read. */
START_TEST(huge_sections) {
        static const struct {
                const char *build_id;
                bool is_taken, is_named;
        } wanted[] = {
                { "6275696c642d6964", false, false }, /* none has frames, and the file is huge */
                { "6275696c642d6964", true, false },  /* .symtab */
                { "", false, false },                 /* names */
                { "6275696c642d6964", false, false }, /* .eh_frame */
                { "6275696c642d6964", false, false }, /* .eh_frame_hdr */
                { "6275696c642d6964", true, true },   /* .gnu_debuglink */
                { "", true, true },                   /* .note.gnu.build-id */
        };
        const uint64_t size = UINT64_C(600) << 20;
        char file[SMALL_ELF_BYTES];
        Modules modules = {};

        small_elf_make(file);
        small_elf_move(file, (unsigned) _i, SMALL_ELF_BYTES, size);
        if (_i == 0)
                small_elf_word(file, SMALL_ELF_SECTIONS_AT + 3 * sizeof(Elf64_Shdr) + 4,
                               SHT_NOBITS);
        (void) add_file(&modules, file, "", 0, (off_t) (SMALL_ELF_BYTES + size));
        ck_assert(!modules.all[0]->elf == !wanted[_i].is_taken);
        ck_assert(!function_at(modules.all[0], SMALL_ELF_WORK) == !wanted[_i].is_named);
        ck_assert_str_eq(modules.all[0]->build_id, wanted[_i].build_id);
        modules_done(&modules);
}
END_TEST

/* Files that are not huge are not read when all together are. */
START_TEST(many_large_files) {
        char file[SMALL_ELF_BYTES];
        Modules modules = {};

        small_elf_make(file);
        (void) add_file(&modules, file, "", 0, sizeof(file));
        (void) add_file(&modules, file, "", 0, sizeof(file));
        (void) add_file(&modules, file, "", 0, sizeof(file));
        ck_assert_str_eq(function_at(modules.all[0], SMALL_ELF_WORK), "work");
        modules.costs.n_symbol_bytes = ALL_SYMBOLS_MAX_BYTES;
        ck_assert_ptr_null(function_at(modules.all[1], SMALL_ELF_WORK));
        modules.costs.n_symbol_bytes = 0;
        modules.costs.n_section_bytes =
                ALL_SECTIONS_MAX_BYTES - 4 * sizeof(Elf64_Sym); /* no names */
        ck_assert_ptr_null(function_at(modules.all[2], SMALL_ELF_WORK));
        small_elf_move(file, 3, SMALL_ELF_BYTES, 60 << 20);
        for (unsigned i = 0; i < 3; i++)
                (void) add_file(&modules, file, "", 0, SMALL_ELF_BYTES + (60 << 20));
        ck_assert_ptr_nonnull(modules.all[3]->elf);
        ck_assert_ptr_nonnull(modules.all[4]->elf);
        ck_assert_ptr_null(modules.all[5]->elf);
        modules_done(&modules);
}
END_TEST

/* Each takes a megabyte for headers of sections that are empty, or of notes that say nothing. */
START_TEST(many_headers) {
        enum { SECTIONS = 4000, FILES = 200 };
        const uint64_t at = SMALL_ELF_BYTES;
        const uint16_t n_sections = SECTIONS;
        char file[SMALL_ELF_BYTES], sections[7 * sizeof(Elf64_Shdr)];
        Modules modules = {};
        size_t n_kept = 0;

        small_elf_make(file);
        if (_i == 0) {
                memcpy(file + offsetof(Elf64_Ehdr, e_shoff), &at, sizeof(at));
                memcpy(file + offsetof(Elf64_Ehdr, e_shnum), &n_sections, sizeof(n_sections));
        } else
                small_elf_move(file, 6, at + sizeof(sections), 1 << 20);
        memcpy(sections, file + SMALL_ELF_SECTIONS_AT, sizeof(sections));
        for (unsigned i = 0; i < FILES; i++)
                n_kept +=
                        add_file(&modules, file, sections, sizeof(sections), (off_t) at + (2 << 20))
                                ->elf != NULL;
        ck_assert_uint_gt(n_kept, 100);
        ck_assert_uint_lt(n_kept, 150);
        ck_assert_str_eq(function_at(modules.all[0], SMALL_ELF_WORK), "work");
        modules_done(&modules);
}
END_TEST

/* The last descriptor that is kept, and the first one that is not: the build id is known. */
START_TEST(one_file_too_many) {
        int file = memfd_create("program", MFD_CLOEXEC), fd;
        char bytes[SMALL_ELF_BYTES];
        Modules modules = {};
        Module *module;
        size_t number;

        if (check_skips(check_lacks_descriptors(MODULE_FD_END + 1)))
                return;
        (void) elf_version(EV_CURRENT);
        small_elf_make(bytes);
        ck_assert_int_eq((long) write(file, bytes, sizeof(bytes)), sizeof(bytes));
        fd = fcntl(file, F_DUPFD_CLOEXEC, MODULE_FD_END - 1 + _i);
        ck_assert_int_eq(fd, MODULE_FD_END - 1 + _i);
        ck_assert_int_eq(modules_add(&modules, 1, 2, SPAN_LITERAL("program"), fd, &number), 0);
        module = modules.all[number];
        ck_assert_int_eq(module->fd, _i == 0 ? fd : -EBADF);
        ck_assert(!module->elf == (_i == 1));
        ck_assert(!function_at(module, SMALL_ELF_WORK) == (_i == 1));
        ck_assert_str_eq(module->build_id, "6275696c642d6964");
        modules_done(&modules);
        ck_assert_int_lt(fcntl(fd, F_GETFD), 0);
        (void) close(file);
}
END_TEST

/* Behind an exported function without a size there may be others, unless all are in the table. */
START_TEST(functions_without_a_size) {
        char file[SMALL_ELF_BYTES];
        uint64_t rest = UINT64_MAX;
        SymbolTable table = {};
        Elf *elf;

        small_elf_make(file);
        small_elf_word(file,
                       SMALL_ELF_SYMBOLS_AT + sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_size), 0);
        if (_i == 1)
                small_elf_word(file, SMALL_ELF_SECTIONS_AT + sizeof(Elf64_Shdr) + 4, SHT_DYNSYM);
        elf = elf_memory(file, sizeof(file));
        ck_assert_int_eq(symbol_table_add_elf(&table, elf, SYMBOL_FUNCTION, UINT64_MAX, &rest), 0);
        symbol_table_sort(&table);
        ck_assert_str_eq(name_at(&table, SMALL_ELF_WORK), "work");
        if (_i == 0)
                ck_assert_str_eq(name_at(&table, SMALL_ELF_WORK + 4), "work");
        else
                ck_assert_ptr_null(name_at(&table, SMALL_ELF_WORK + 4));
        ck_assert_str_eq(name_at(&table, SMALL_ELF_START + 4), "start");
        symbol_table_done(&table);
        (void) elf_end(elf);
}
END_TEST

/* what a program has compressed */

/* In the program "work" is exported, or, if it @is_whole, has all symbols. Takes over nothing. */
static Module *add_packed(Modules *modules, const void *packed, size_t n, bool is_whole) {
        char file[SMALL_ELF_BYTES];

        small_elf_make(file);
        small_elf_pack(file, n);
        if (!is_whole) {
                small_elf_word(file, SMALL_ELF_SECTIONS_AT + sizeof(Elf64_Shdr) + 4, SHT_DYNSYM);
                memset(file + SMALL_ELF_SYMBOLS_AT + 2 * sizeof(Elf64_Sym), 0, sizeof(Elf64_Sym));
        }
        return add_file(modules, file, packed, n, (off_t) (SMALL_ELF_BYTES + n));
}

/* What was taken out of the program, with another name for "work". */
static void make_inside(char file[static SMALL_ELF_BYTES]) {
        small_elf_make(file);
        memcpy(file + SMALL_ELF_NAMES_AT + 1, "walk", 4);
        file[SMALL_ELF_SYMBOLS_AT + sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_info)] =
                ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
}

static char *pack(const char *bytes, size_t n, size_t *ret_n) {
        size_t n_bound = lzma_stream_buffer_bound(n);
        char *packed = malloc(n_bound);

        *ret_n = 0;
        ck_assert_ptr_nonnull(packed);
        ck_assert_int_eq(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC64, NULL, (const uint8_t *) bytes,
                                                 n, (uint8_t *) packed, ret_n, n_bound),
                         LZMA_OK);
        return packed;
}

/* They come beside what is exported, of which the names are kept. */
START_TEST(functions_that_were_compressed) {
        int debug_fd = memfd_create("debug", MFD_CLOEXEC);
        char inside[SMALL_ELF_BYTES];
        Modules modules = {};
        Module *module;
        char *packed;
        size_t n;

        make_inside(inside);
        packed = pack(inside, sizeof(inside), &n);
        module = add_packed(&modules, packed, n, false);
        ck_assert_uint_eq(modules.costs.n_unpacked_bytes, 0);
        ck_assert_str_eq(function_at(module, SMALL_ELF_WORK), "work");
        ck_assert_str_eq(function_at(module, SMALL_ELF_START + 4), "start");
        ck_assert_uint_eq(modules.costs.n_unpacked_bytes, sizeof(inside));

        /* Not where all is there, nor where a debug file has it. */
        module = add_packed(&modules, packed, n, true);
        ck_assert_str_eq(function_at(module, SMALL_ELF_WORK), "work");
        ck_assert_uint_eq(module->symbols.n, 2);
        module = add_packed(&modules, packed, n, false);
        ck_assert_int_eq((long) write(debug_fd, inside, sizeof(inside)), sizeof(inside));
        ck_assert_int_eq(module_take_debug_file(module, debug_fd), 0);
        ck_assert_str_eq(function_at(module, SMALL_ELF_START), "start");
        ck_assert_uint_eq(module->symbols.n, 2);
        ck_assert_uint_eq(modules.costs.n_unpacked_bytes, sizeof(inside));
        modules_done(&modules);
        free(packed);
}
END_TEST

/* To be unpacked it takes half a gigabyte, says the header of its block. */
static void ask_for_memory(char *packed) {
        char *block = packed + LZMA_STREAM_HEADER_SIZE, *filter;
        size_t n = lzma_block_header_size_decode((uint8_t) *block) - sizeof(uint32_t);
        uint32_t check;

        filter = memmem(block, n, "\x21\1", 2); /* LZMA2, and one byte */
        ck_assert_ptr_nonnull(filter);
        filter[2] = 34;
        check = lzma_crc32((const uint8_t *) block, n, 0);
        memcpy(block + n, &check, sizeof(check));
}

/* What cannot be read, or takes too much, leaves a program with the names that it has. */
START_TEST(nonsense_that_was_compressed) {
        static const uint64_t far = UINT64_MAX / 2;
        static const uint16_t many = 4000;
        size_t n_inside = _i == 0 ? UNPACKED_MAX_BYTES + 1 : SMALL_ELF_BYTES, n;
        char *inside = calloc(1, n_inside), *packed;
        Modules modules = {};
        Module *module;

        ck_assert_ptr_nonnull(inside);
        make_inside(inside);
        /* Of 0 there is more than one file may have. */
        switch (_i) {
        case 1: /* no ELF file */
                memset(inside, 'x', n_inside);
                break;
        case 2: /* less than a header */
                n_inside = sizeof(Elf64_Ehdr) - 1;
                break;
        case 3: /* without symbols */
                small_elf_strip(inside);
                break;
        case 4: /* sections that are not there */
                memcpy(inside + offsetof(Elf64_Ehdr, e_shoff), &far, sizeof(far));
                break;
        case 5: /* headers that it is too short for */
                memcpy(inside + offsetof(Elf64_Ehdr, e_phnum), &many, sizeof(many));
                break;
        case 6: /* symbols that are not there */
                small_elf_move(inside, 1, far, far);
                break;
        case 7: /* nor are their names */
                small_elf_move(inside, 2, far, far);
                break;
        }
        packed = pack(inside, n_inside, &n);
        switch (_i) {
        case 8: /* cut */
                n--;
                break;
        case 9: /* empty */
                n = 0;
                break;
        case 10: /* damaged */
                packed[n / 2] ^= 1;
                break;
        case 11: /* not compressed */
                memset(packed, 'x', n);
                break;
        case 12:
                ask_for_memory(packed);
                break;
        }
        module = add_packed(&modules, packed, n, false);
        if (_i == 13) /* the program ends before */
                ck_assert_int_eq(ftruncate(module->fd, SMALL_ELF_BYTES + 10), 0);
        ck_assert_ptr_null(function_at(module, SMALL_ELF_START));
        ck_assert_str_eq(function_at(module, SMALL_ELF_WORK), "work");
        ck_assert_uint_eq(module->symbols.n, 1);
        modules_done(&modules);
        free(packed);
        free(inside);
}
END_TEST

/* As much as one file may have is read, and what is left of what all may have. */
START_TEST(much_that_was_compressed) {
        static const size_t sizes[] = { UNPACKED_MAX_BYTES, SMALL_ELF_BYTES };
        char *inside = calloc(1, sizes[_i]), *packed;
        Modules modules = { .costs.n_unpacked_bytes = ALL_UNPACKED_MAX_BYTES - sizes[_i] };
        size_t n;

        ck_assert_ptr_nonnull(inside);
        make_inside(inside);
        packed = pack(inside, sizes[_i], &n);
        for (unsigned i = 0; i < 2; i++) {
                Module *module = add_packed(&modules, packed, n, false);

                ck_assert_str_eq(function_at(module, SMALL_ELF_WORK), "work");
                ck_assert(!function_at(module, SMALL_ELF_START) == (i > 0));
        }
        ck_assert_uint_eq(modules.costs.n_unpacked_bytes, ALL_UNPACKED_MAX_BYTES);
        modules_done(&modules);
        free(packed);
        free(inside);
}
END_TEST

/* Blocks without anything in them, of which each makes the decoder get another lot of memory. */
START_TEST(work_for_nothing) {
        enum { N = 1 << 18, BLOCK = 16 };
        const size_t n = LZMA_STREAM_HEADER_SIZE + (size_t) N * BLOCK;
        const lzma_stream_flags flags = { .check = LZMA_CHECK_NONE };
        uint8_t *packed = calloc(1, n);
        Modules modules = { .costs.unpack_ns = ALL_UNPACKED_MAX_NS - 50 * NSEC_PER_MSEC };
        Module *module;

        ck_assert_ptr_nonnull(packed);
        /* Tests are run with memory that is filled when it is allocated: all 64 MiB of each. */
        (void) mallopt(M_PERTURB, 0);
        ck_assert_int_eq(lzma_stream_header_encode(&flags, packed), LZMA_OK);
        for (size_t i = 0; i < N; i++) {
                lzma_options_lzma options = { .dict_size = i % 2 ? 48u << 20 : 64u << 20 };
                lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &options },
                                          { LZMA_VLI_UNKNOWN, NULL } };
                lzma_block block = { .check = LZMA_CHECK_NONE,
                                     .filters = filters,
                                     .compressed_size = LZMA_VLI_UNKNOWN,
                                     .uncompressed_size = LZMA_VLI_UNKNOWN };

                ck_assert_int_eq(lzma_block_header_size(&block), LZMA_OK);
                ck_assert_uint_lt(block.header_size, BLOCK);
                ck_assert_int_eq(lzma_block_header_encode(&block, packed + LZMA_STREAM_HEADER_SIZE +
                                                                          i * BLOCK),
                                 LZMA_OK);
        }
        module = add_packed(&modules, packed, n, false);
        ck_assert_ptr_null(function_at(module, SMALL_ELF_START));
        ck_assert_str_eq(function_at(module, SMALL_ELF_WORK), "work");
        ck_assert_uint_ge(modules.costs.unpack_ns, ALL_UNPACKED_MAX_NS);
        ck_assert_uint_lt(modules.costs.unpack_ns, 2 * ALL_UNPACKED_MAX_NS);
        modules_done(&modules);
        free(packed);
}
END_TEST

/* tables that lie */

/* Names that are together longer than what they are in are not all taken. */
START_TEST(one_name_for_all) {
        enum { N = 1000, NAMES_AT = SMALL_ELF_BYTES + N * sizeof(Elf64_Sym), LENGTH = 1000 };
        static char file[NAMES_AT + LENGTH + 1];
        uint64_t rest = UINT64_MAX;
        SymbolTable table = {};
        Elf *elf;

        (void) elf_version(EV_CURRENT);
        small_elf_make(file);
        small_elf_move(file, 1, SMALL_ELF_BYTES, N * sizeof(Elf64_Sym));
        small_elf_move(file, 2, NAMES_AT, LENGTH + 1);
        for (unsigned i = 0; i < N; i++) {
                const Elf64_Sym symbol = { .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                           .st_shndx = 3,
                                           .st_value = SMALL_ELF_WORK + i,
                                           .st_size = 1 };

                memcpy(file + SMALL_ELF_BYTES + i * sizeof(symbol), &symbol, sizeof(symbol));
        }
        memset(file + NAMES_AT, 'x', LENGTH);
        elf = elf_memory(file, sizeof(file));
        ck_assert_int_eq(symbol_table_add_elf(&table, elf, SYMBOL_FUNCTION, UINT64_MAX, &rest), 0);
        ck_assert_uint_eq(table.n, (N * sizeof(Elf64_Sym) + LENGTH + 1) / LENGTH);
        symbol_table_done(&table);

        /* Nor is one that does not end. */
        file[NAMES_AT + LENGTH] = 'x';
        ck_assert_int_eq(symbol_table_add_elf(&table, elf, SYMBOL_FUNCTION, UINT64_MAX, &rest), 0);
        ck_assert_uint_eq(table.n, 0);
        (void) elf_end(elf);
}
END_TEST

/* Of as many at one address as no program has, the last ones are not looked at. */
START_TEST(many_at_one_address) {
        enum { MANY = 64 };
        SymbolTable table = {};

        for (int i = 0; i < MANY - 1 + _i; i++)
                ck_assert_int_eq(symbol_table_add_jit(&table, SPAN_LITERAL("1000 1 short\n")), 0);
        ck_assert_int_eq(symbol_table_add_jit(&table, SPAN_LITERAL("1000 10 long\n")), 0);
        symbol_table_sort(&table);
        ck_assert_str_eq(name_at(&table, 0x1000), "short");
        if (_i == 0)
                ck_assert_str_eq(name_at(&table, 0x1008), "long");
        else
                ck_assert_ptr_null(name_at(&table, 0x1008));
        ck_assert_ptr_null(name_at(&table, 0x1010));
        symbol_table_done(&table);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("symbol-table");
        TCase *tcase = tcase_create("symbol-table");

        tcase_add_test(tcase, kernel);
        tcase_add_test(tcase, hidden_kernel);
        tcase_add_test(tcase, code_made_at_run_time);
        tcase_add_test(tcase, code_that_is_replaced_later);
        tcase_add_test(tcase, own_program);
        tcase_add_test(tcase, several_names_of_one_function);
        tcase_add_test(tcase, names_with_a_version);
        tcase_add_test(tcase, no_program);
        tcase_add_loop_test(tcase, headers_out_of_reach, 0, 6);
        tcase_add_loop_test(tcase, huge_sections, 0, 7);
        tcase_add_test(tcase, many_large_files);
        tcase_add_loop_test(tcase, many_headers, 0, 2);
        tcase_add_loop_test(tcase, one_file_too_many, 0, 2);
        tcase_add_loop_test(tcase, functions_without_a_size, 0, 2);
        tcase_add_test(tcase, functions_that_were_compressed);
        tcase_add_loop_test(tcase, nonsense_that_was_compressed, 0, 14);
        tcase_add_loop_test(tcase, much_that_was_compressed, 0, 2);
        tcase_add_test(tcase, work_for_nothing);
        tcase_add_test(tcase, one_name_for_all);
        tcase_add_loop_test(tcase, many_at_one_address, 0, 2);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
