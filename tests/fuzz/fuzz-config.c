/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an administrator writes, chosen by the first byte: quantities against arithmetic in 128
 * bits; a file, of which every refused line is named and changes nothing, and whose settings print
 * back as a file; and pieces in several directories, which come to the same as the chosen ones
 * loaded one by one.
 *
 * Aims at: protocol/base/quantity.c daemon/config/config.c
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "config/config.h"
#include "tree.h"

__extension__ typedef unsigned __int128 Wide;

#define MAX_LINES 64
#define MAX_PIECES 6

/* quantities */

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

/* "1.5G" in 128 bits; false when it is not of this form or does not fit. */
static bool naive_size(Span text, uint64_t *ret) {
        static const char units[] = "BKMGT";
        Wide value = 0, scale = 1, factor = 1;
        size_t i = 0, n_fraction = 0;

        for (; i < text.n && is_digit(text.bytes[i]); i++) {
                value = value * 10u + (unsigned) (text.bytes[i] - '0');
                if (value > UINT64_MAX)
                        return false;
        }
        if (i == 0)
                return false;
        if (i < text.n && text.bytes[i] == '.') {
                for (i++; i < text.n && is_digit(text.bytes[i]); i++, n_fraction++) {
                        value = value * 10u + (unsigned) (text.bytes[i] - '0');
                        scale *= 10;
                        if (n_fraction == 9)
                                return false;
                }
                if (n_fraction == 0)
                        return false;
        }
        if (i < text.n) {
                const char *unit = strchr(units, text.bytes[i]);

                if (!unit || *unit == '\0' || i + 1 < text.n)
                        return false;
                for (long n = unit - units; n > 0; n--)
                        factor *= 1024;
        }
        value = value * factor / scale;
        *ret = (uint64_t) value;
        return value <= UINT64_MAX;
}

static void check_size(Span text) {
        char printed[QUANTITY_TEXT_BYTES];
        uint64_t bytes, expected;
        bool is_size = quantity_parse_size(text, &bytes);

        if (span_is(text, "infinity")) {
                fuzz_expect(is_size && bytes == QUANTITY_INFINITY, "infinity is a size");
        } else {
                fuzz_expect(is_size == naive_size(text, &expected), "\"%.*s\" is a size or not",
                            (int) text.n, text.bytes);
                fuzz_expect(!is_size || bytes == expected, "\"%.*s\" is so many bytes",
                            (int) text.n, text.bytes);
        }
        if (!is_size)
                return;
        quantity_format_size(bytes, printed);
        fuzz_expect(quantity_parse_size(span_of(printed), &expected) && expected == bytes,
                    "a size prints back: %s", printed);
}

static void check_time(Span text) {
        char printed[QUANTITY_TEXT_BYTES];
        uint64_t ns, again;

        if (!quantity_parse_time(text, &ns))
                return;
        quantity_format_time(ns, printed);
        if (ns != QUANTITY_INFINITY)
                ns -= ns % NSEC_PER_USEC;
        fuzz_expect(quantity_parse_time(span_of(printed), &again) && again == ns,
                    "a time prints back to the microsecond: %s", printed);
}

/* Two times in a row are their sum. */
static void check_sum(Span first, Span second) {
        _cleanup_(buffer_done) Buffer both = {};
        uint64_t a, b, sum, expected;
        bool fits;

        if (!quantity_parse_time(first, &a) || !quantity_parse_time(second, &b) ||
            span_is(first, "infinity") || span_is(second, "infinity"))
                return;
        fuzz_expect(buffer_append(&both, first.bytes, first.n) == 0 &&
                            buffer_append_byte(&both, ' ') == 0 &&
                            buffer_append(&both, second.bytes, second.n) == 0,
                    "there is memory for two times");
        fits = !__builtin_add_overflow(a, b, &expected);
        fuzz_expect(quantity_parse_time(buffer_span(&both), &sum) == fits,
                    "two times are one if they fit: \"%.*s\"", (int) both.n, both.bytes);
        fuzz_expect(!fits || sum == expected, "two times are their sum");
}

static void check_quantities(FuzzInput input) {
        Span last = {};

        while (input.n > 0) {
                Span line = fuzz_take_until(&input, '\n');

                check_size(line);
                check_time(line);
                if (last.n > 0)
                        check_sum(last, line);
                last = line;
        }
}

/* files */

typedef struct Heard {
        const char *path;
        size_t n_lines;
        unsigned n_wrong;
        bool wrong[MAX_LINES + 1]; /* by line, from 1 */
} Heard;

static Config *new_config(void) {
        Config *config;

        fuzz_expect(config_new(&config) == 0, "there is memory for settings");
        return config;
}

static void expect_equal(const Config *a, const Config *b, const char *what) {
        for (SettingId id = 0; id < _SETTING_MAX; id++)
                fuzz_expect(a->values[id].number == b->values[id].number &&
                                    !a->values[id].origin == !b->values[id].origin,
                            "%s: setting %d is the same", what, (int) id);
}

static void on_fault(ConfigFault fault, const char *text, void *userdata) {
        Heard *heard = userdata;
        size_t n_path = strlen(heard->path);
        unsigned long line;
        char *end;

        fuzz_expect(strncmp(text, heard->path, n_path) == 0 && text[n_path] == ':',
                    "a fault names its file: %s", text);
        line = strtoul(text + n_path + 1, &end, 10);
        fuzz_expect(line >= 1 && line <= heard->n_lines && *end == ':',
                    "a fault names a line of the file: %s", text);
        if (fault != CONFIG_FAULT_WRONG)
                return;
        heard->n_wrong++;
        if (line <= MAX_LINES)
                heard->wrong[line] = true;
}

static size_t count_lines(Span text) {
        size_t n = 0;

        for (size_t i = 0; i < text.n; i++)
                n += text.bytes[i] == '\n';
        return n + (text.n > 0 && text.bytes[text.n - 1] != '\n');
}

/* Loads @text as the file @name; what was refused is in *ret. */
static void load(Config *config, const char *name, Span text, Heard *ret) {
        ConfigListener listener = { on_fault, ret };
        _cleanup_(freep) char *path = NULL;
        int r;

        fuzz_expect(asprintf(&path, "%s/%s", tree_path(), name) > 0, "there is memory for a path");
        tree_put(name, text);
        *ret = (Heard){ .path = path, .n_lines = count_lines(text) };
        r = config_load_file(config, path, &listener);
        fuzz_expect(r == (ret->n_wrong > 0 ? CONFIG_E_WRONG : CONFIG_OK),
                    "a file is wrong when a line is");
        ret->path = NULL;
}

/* Without the lines that were refused the file says the same, and nothing is refused. */
static void check_without_wrong_lines(const Config *config, FuzzInput input, const Heard *heard) {
        _cleanup_(config_freep) Config *again = new_config();
        _cleanup_(buffer_done) Buffer rest = {};
        Heard heard_again;
        unsigned line = 0;

        while (input.n > 0) {
                Span text = fuzz_take_until(&input, '\n');

                line++;
                if (line <= MAX_LINES && heard->wrong[line])
                        text = (Span){};
                fuzz_expect(buffer_append(&rest, text.bytes, text.n) == 0 &&
                                    buffer_append_byte(&rest, '\n') == 0,
                            "there is memory for a file");
        }
        load(again, "again.conf", buffer_span(&rest), &heard_again);
        fuzz_expect(line > MAX_LINES || heard_again.n_wrong == 0, "every wrong line was named");
        expect_equal(config, again, "a line that is refused changes nothing");
}

static void check_dump(const Config *config) {
        _cleanup_(config_freep) Config *again = new_config();
        _cleanup_(buffer_done) Buffer dump = {};
        Heard heard;

        fuzz_expect(config_dump(config, &dump) == 0, "settings print as a file");
        load(again, "dump.conf", buffer_span(&dump), &heard);
        fuzz_expect(heard.n_wrong == 0, "what was printed is accepted");
        for (SettingId id = 0; id < _SETTING_MAX; id++) {
                uint64_t before = config->values[id].number, after = again->values[id].number;

                fuzz_expect(!config->values[id].origin == !again->values[id].origin,
                            "what was set is set again: %d", (int) id);
                fuzz_expect(before == after || before / NSEC_PER_USEC == after / NSEC_PER_USEC,
                            "setting %d prints back", (int) id);
        }
}

static void check_file(FuzzInput input) {
        _cleanup_(config_freep) Config *config = new_config();
        Heard heard;

        load(config, "ctprofd.conf", (Span){ input.at, input.n }, &heard);
        check_without_wrong_lines(config, input, &heard);
        check_dump(config);
}

/* pieces */

static const char *const directories[] = { "etc", "run", "lib" };
static const char *const names[] = { "10-a.conf", "20-b.conf", "30-c.conf", ".hidden.conf",
                                     "no-piece" };

typedef struct Pieces {
        /* Of each directory the file itself, then the pieces beside it; bytes NULL: not there. */
        Span texts[ELEMENTSOF(directories)][1 + ELEMENTSOF(names)];
} Pieces;

/* Where the piece stands below the tree. */
static void piece_name(size_t directory, size_t which, char ret[static 64]) {
        if (which == 0)
                (void) snprintf(ret, 64, "%s/c.conf", directories[directory]);
        else
                (void) snprintf(ret, 64, "%s/c.conf.d/%s", directories[directory],
                                names[which - 1]);
}

static void ignore_fault(ConfigFault fault, const char *text, void *userdata) {
}

/* The first that there is in the order of directories. */
static void load_first(Config *config, const Pieces *pieces, size_t which) {
        ConfigListener listener = { ignore_fault, NULL };

        for (size_t i = 0; i < ELEMENTSOF(directories); i++) {
                _cleanup_(freep) char *path = NULL;
                char name[64];

                if (!pieces->texts[i][which].bytes)
                        continue;
                piece_name(i, which, name);
                fuzz_expect(asprintf(&path, "%s/%s", tree_path(), name) > 0, "there is memory");
                fuzz_expect(config_load_file(config, path, &listener) >= 0, "a piece can be read");
                return;
        }
}

/* A byte says where a piece stands, and a NUL ends it. */
static void put_pieces(FuzzInput *input, Pieces *ret) {
        for (unsigned n = 0; n < MAX_PIECES && input->n > 0; n++) {
                uint8_t where = fuzz_take_u8(input);
                size_t directory = where % ELEMENTSOF(directories);
                size_t which = where / ELEMENTSOF(directories) % (1 + ELEMENTSOF(names));
                Span text = fuzz_take_until(input, '\0');
                char name[64];

                piece_name(directory, which, name);
                tree_put(name, text);
                ret->texts[directory][which] = text;
        }
}

static void check_pieces(FuzzInput input) {
        _cleanup_(config_freep) Config *config = new_config(), *expected = new_config();
        ConfigListener listener = { ignore_fault, NULL };
        char *places[ELEMENTSOF(directories)];
        Pieces pieces = {};

        put_pieces(&input, &pieces);
        for (size_t i = 0; i < ELEMENTSOF(places); i++)
                fuzz_expect(asprintf(&places[i], "%s/%s", tree_path(), directories[i]) > 0,
                            "there is memory for a path");
        fuzz_expect(config_load(config, (const char *const *) places, ELEMENTSOF(places), "c.conf",
                                &listener) >= 0,
                    "what there is can be loaded");
        for (size_t which = 0; which < 4; which++) /* hidden ones and other names do not count */
                load_first(expected, &pieces, which);
        expect_equal(config, expected, "pieces");
        for (size_t i = 0; i < ELEMENTSOF(places); i++)
                free(places[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzInput input = fuzz_input(data, size);

        switch (fuzz_take_u8(&input)) {
        case 'q':
                check_quantities(input);
                break;
        case 'f':
                check_file(input);
                break;
        case 'd':
                check_pieces(input);
                break;
        default:
                break;
        }
        tree_clear();
        return 0;
}
