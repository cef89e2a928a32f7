/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * What tells the names of functions: 'n' is the name of a symbol, 'm' a map of code that was made
 * at run time, 'd' a small program that the rest changes. A name that can be read is a text within
 * its bounds and the same the second time. Functions of a map are those of its lines, and read in
 * parts the same. What a program says of its debug file is text that ends, and one of another
 * build gives it no names. 'x' is a program with another one in it, compressed, of which the rest
 * changes the file or what it was compressed to: it takes no name from the first. 'l' is a program
 * with debugging information: a line that it tells is of one of the addresses that were asked for,
 * and told once.
 *
 * Aims at: daemon/record/program/readable-name.c, daemon/record/program/symbol-table.c,
 *          daemon/record/program/module.c, daemon/record/program/source-line.c
 */
#include "fuzz.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "record/program/module.h"
#include "record/program/readable-name.h"
#include "record/program/source-line.h"
#include "small-elf.h"

static void check_name(Span text) {
        char name[MANGLED_NAME_BYTES + 1] = "", once[READABLE_NAME_BYTES],
                                       again[READABLE_NAME_BYTES];
        uint64_t spent_ns = 0;

        if (text.n > 0)
                memcpy(name, text.bytes, MIN_OF(text.n, sizeof(name) - 1));
        /* What takes too long is given up, and that may be true of one of two times. */
        if (!readable_name(name, &spent_ns, once))
                return;
        fuzz_expect(memchr(once, '\0', sizeof(once)) != NULL, "a name ends");
        fuzz_expect(!readable_name(name, &spent_ns, again) || strcmp(once, again) == 0,
                    "a name is read as before");
}

/* maps */

static void finish(SymbolTable *table) {
        symbol_table_sort(table);
        symbol_table_drop_replaced(table);
}

static void check_map(Span text) {
        _cleanup_(freep) char *copy = fuzz_copy(text);
        _cleanup_(symbol_table_done) SymbolTable whole = {}, parts = {};
        uint64_t spent_ns = 0;
        const char *end;
        size_t n_first;

        /* It ends with a line. */
        end = text.n > 0 ? memrchr(copy, '\n', text.n) : NULL;
        text = (Span){ copy, end ? (size_t) (end - copy) + 1 : 0 };
        if (text.n == 0)
                return;
        end = memchr(copy + text.n / 2, '\n', text.n - text.n / 2);
        n_first = (size_t) (end - copy) + 1;
        fuzz_expect(symbol_table_add_jit(&whole, text) == 0, "memory");
        finish(&whole);
        fuzz_expect(symbol_table_add_jit(&parts, (Span){ copy, n_first }) == 0, "memory");
        finish(&parts);
        fuzz_expect(symbol_table_add_jit(&parts, (Span){ copy + n_first, text.n - n_first }) == 0,
                    "memory");
        finish(&parts);
        fuzz_expect(whole.n == parts.n, "there is the same in parts");
        for (size_t i = 0; i < whole.n; i++) {
                const Symbol *symbol = &whole.all[i];
                Span name, other;

                fuzz_expect(symbol->size > 0 && symbol->begin + symbol->size > symbol->begin,
                            "a function has a place");
                fuzz_expect(i == 0 || symbol[-1].begin < symbol->begin, "they ascend");
                fuzz_expect(symbol_table_find(&whole, symbol->begin) == symbol,
                            "what is there is found");
                fuzz_expect(symbol_table_name(&parts, &parts.all[i], &spent_ns, &other) == 0 &&
                                    symbol_table_name(&whole, symbol, &spent_ns, &name) == 0,
                            "memory");
                fuzz_expect(name.n > 0 && span_equal(name, other) &&
                                    parts.all[i].begin == symbol->begin &&
                                    parts.all[i].size == symbol->size,
                            "a function is the same in parts");
        }
}

/* debug files */

static int file_with(const char *bytes, size_t n) {
        int fd = memfd_create("fuzz", MFD_CLOEXEC);

        fuzz_expect(fd >= 0 && write(fd, bytes, n) == (ssize_t) n, "there is memory for a file");
        return fd;
}

static void check_program(FuzzInput input) {
        char elf[SMALL_ELF_BYTES], changed[SMALL_ELF_BYTES];
        _cleanup_(modules_done) Modules modules = {};
        const Symbol *symbol;
        DebugFileName name;
        Module *module;
        size_t number;

        small_elf_make(elf);
        memcpy(changed, elf, sizeof(changed));
        if (fuzz_take_u8(&input) & 1)
                small_elf_strip(changed);
        while (input.n > 0) {
                uint16_t at = fuzz_take_u16(&input) % sizeof(changed);

                changed[at] = (char) fuzz_take_u8(&input);
        }
        (void) elf_version(EV_CURRENT);
        fuzz_expect(modules_add(&modules, 1, 2, SPAN_LITERAL("/program"),
                                file_with(changed, sizeof(changed)), &number) == 0,
                    "memory");
        module = modules.all[number];
        module_name_debug_file(module, &name);
        fuzz_expect(memchr(name.build_id, '\0', sizeof(name.build_id)) &&
                            memchr(name.link, '\0', sizeof(name.link)),
                    "names of a debug file end");
        fuzz_expect(strcmp(name.build_id, module->build_id) == 0 || name.build_id[0] == '\0',
                    "it is looked for by the build id");
        fuzz_expect(module_take_debug_file(module, file_with(elf, sizeof(elf))) == 0, "memory");
        fuzz_expect(module->has_symbols == (strcmp(module->build_id, "6275696c642d6964") == 0),
                    "a debug file is one of the same build");
        fuzz_expect(module_find_symbol(module, SMALL_ELF_WORK, &symbol) == 0, "memory");
        fuzz_expect(!symbol || module->has_symbols, "symbols are read once");
        /* The other way round. */
        modules_done(&modules);
        fuzz_expect(modules_add(&modules, 1, 2, SPAN_LITERAL("/program"),
                                file_with(elf, sizeof(elf)), &number) == 0 &&
                            module_take_debug_file(modules.all[number],
                                                   file_with(changed, sizeof(changed))) == 0,
                    "memory");
}

static void check_packed(FuzzInput input) {
        char inside[SMALL_ELF_BYTES], elf[SMALL_ELF_BYTES];
        uint8_t packed[2 * SMALL_ELF_BYTES];
        lzma_options_lzma options;
        lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &options }, { LZMA_VLI_UNKNOWN, NULL } };
        _cleanup_(modules_done) Modules modules = {};
        bool is_inside_changed = fuzz_take_u8(&input) & 1;
        size_t n_packed = 0, number;
        const Symbol *symbol;
        int fd;

        small_elf_make(inside);
        memcpy(elf, inside, sizeof(elf));
        while (is_inside_changed && input.n > 0) {
                uint16_t at = fuzz_take_u16(&input) % sizeof(inside);

                inside[at] = (char) fuzz_take_u8(&input);
        }
        fuzz_expect(!lzma_lzma_preset(&options, 0), "it can be compressed");
        options.dict_size = LZMA_DICT_SIZE_MIN;
        fuzz_expect(lzma_stream_buffer_encode(filters, LZMA_CHECK_NONE, NULL,
                                              (const uint8_t *) inside, sizeof(inside), packed,
                                              &n_packed, sizeof(packed)) == LZMA_OK,
                    "there is room for what is compressed");
        while (input.n > 0) {
                uint16_t at = (uint16_t) (fuzz_take_u16(&input) % n_packed);

                packed[at] = fuzz_take_u8(&input);
        }
        small_elf_pack(elf, n_packed);
        small_elf_word(elf, SMALL_ELF_SECTIONS_AT + sizeof(Elf64_Shdr) + 4, SHT_DYNSYM);
        fd = file_with(elf, sizeof(elf));
        fuzz_expect(write(fd, packed, n_packed) == (ssize_t) n_packed,
                    "there is memory for a file");
        (void) elf_version(EV_CURRENT);
        fuzz_expect(modules_add(&modules, 1, 2, SPAN_LITERAL("/program"), fd, &number) == 0 &&
                            module_find_symbol(modules.all[number], SMALL_ELF_WORK, &symbol) == 0,
                    "memory");
        fuzz_expect(symbol != NULL, "what is exported has a name");
        fuzz_expect(modules.costs.n_unpacked_bytes <= UNPACKED_MAX_BYTES &&
                            modules.all[number]->symbols.names.n <=
                                    sizeof(elf) + 3 * modules.costs.n_unpacked_bytes,
                    "names are no longer than what they are in");
}

/* lines */

#define ADDRESSES 64u

static int take_line(void *userdata, size_t index, Span path, uint32_t line) {
        bool *is_told = userdata;

        fuzz_expect(index < ADDRESSES && !is_told[index], "an address has one line");
        fuzz_expect(path.n > 0 && path.n <= SOURCE_PATH_MAX_BYTES && line > 0,
                    "a line is in a file");
        is_told[index] = true;
        return 0;
}

static void check_lines(Span file) {
        int fd = file_with(file.bytes, file.n);
        bool is_told[ADDRESSES] = {}, is_whole;
        uint64_t addresses[ADDRESSES];

        for (size_t i = 0; i < ADDRESSES; i++)
                addresses[i] = 0x1000 + 4 * i;
        (void) elf_version(EV_CURRENT);
        fuzz_expect(source_lines_find(fd, addresses, ADDRESSES, UINT64_MAX, take_line, is_told,
                                      &is_whole) == 0,
                    "nothing is out of memory");
        (void) close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzInput input = fuzz_input(data, size);

        switch (fuzz_take_u8(&input)) {
        case 'n':
                check_name(fuzz_take_rest(&input));
                break;
        case 'm':
                check_map(fuzz_take_rest(&input));
                break;
        case 'x':
                check_packed(input);
                break;
        case 'l':
                check_lines(fuzz_take_rest(&input));
                break;
        default:
                check_program(input);
                break;
        }
        return 0;
}
