/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The grammars of kernel text, each chosen by the first byte and held against the plain oracle: the
 * same lines, words and pairs, in one piece and in two; the same numbers; sets that print back.
 *
 * Aims at: daemon/kernel/text/cursor.c daemon/kernel/text/cpu-list.c
 *          daemon/kernel/text/keyed-numbers.c daemon/kernel/text/pressure.c
 *          daemon/kernel/text/text-file.c protocol/base/number.c
 */
#include "fuzz.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "oracle.h"
#include "kernel/text/cpu-list.h"
#include "kernel/text/cursor.h"
#include "kernel/text/keyed-numbers.h"
#include "kernel/text/pressure.h"
#include "kernel/text/text-file.h"
#include "tree.h"

static void expect_same(Span got, Span expected, Span text, const char *what) {
        fuzz_expect(oracle_is_within(got, text), "a %s lies within its text", what);
        fuzz_expect(span_equal(got, expected), "a %s is what the oracle finds: \"%.*s\"", what,
                    (int) expected.n, expected.bytes);
}

/* Lines of a text in two pieces: the rest of the first piece precedes the second. */
static void check_lines_in_pieces(Span text, size_t cut) {
        Cursor cursor = (Span){ text.bytes, MIN_OF(cut, text.n) };
        size_t offset = 0;
        Span line, expected;

        while (cursor_line(&cursor, &line)) {
                fuzz_expect(oracle_line(text, &offset, &expected), "no line is made up");
                expect_same(line, expected, text, "line");
        }
        cursor = (Span){ text.bytes + offset, text.n - offset };
        while (cursor_line(&cursor, &line)) {
                fuzz_expect(oracle_line(text, &offset, &expected), "no line is made up");
                expect_same(line, expected, text, "line of two pieces");
        }
        fuzz_expect(!oracle_line(text, &offset, &expected), "no line is lost");
        fuzz_expect(cursor.n == text.n - offset, "the rest is what no line holds");
        fuzz_expect((cursor.n == 0) == oracle_is_whole(text), "a cut is seen");
}

static void check_words(Span line) {
        Cursor words = line, pairs = line;
        Span word, expected, key, value, left, right;
        size_t offset = 0;

        while (cursor_word(&words, &word)) {
                fuzz_expect(oracle_word(line, &offset, &expected), "no word is made up");
                expect_same(word, expected, line, "word");
                if (!oracle_split(expected, '=', &left, &right))
                        continue;
                fuzz_expect(cursor_assignment(&pairs, &key, &value), "no assignment is lost");
                expect_same(key, left, line, "key");
                expect_same(value, right, line, "value");
        }
        fuzz_expect(!oracle_word(line, &offset, &expected), "no word is lost");
        fuzz_expect(!cursor_assignment(&pairs, &key, &value), "no assignment is made up");
        fuzz_expect(words.n == 0, "words use a line up");
}

static void check_pairs(Span text) {
        Cursor colons = text, flats = text;
        Span line, key, value, left, right;
        size_t offset = 0;

        while (oracle_line(text, &offset, &line)) {
                size_t at = 0;

                check_words(line);
                if (oracle_split(line, ':', &left, &right)) {
                        fuzz_expect(cursor_colon_pair(&colons, &key, &value), "no pair is lost");
                        expect_same(key, oracle_trim(left), text, "key");
                        expect_same(value, oracle_trim(right), text, "value");
                }
                if (oracle_word(line, &at, &left)) {
                        fuzz_expect(cursor_flat_pair(&flats, &key, &value), "no pair is lost");
                        right = (Span){ line.bytes + at, line.n - at };
                        expect_same(key, left, text, "key");
                        expect_same(value, oracle_trim(right), text, "value");
                }
        }
        fuzz_expect(!cursor_colon_pair(&colons, &key, &value), "no pair is made up");
        fuzz_expect(!cursor_flat_pair(&flats, &key, &value), "no pair is made up");
}

static void check_grammars(FuzzInput input) {
        size_t cut = fuzz_take_u8(&input);
        Span text = fuzz_take_rest(&input);

        check_lines_in_pieces(text, cut);
        check_pairs(text);
}

static void check_number(Span text) {
        char digits[NUMBER_I64_CHARS];
        uint64_t number, expected;
        int64_t signed_number, signed_expected;
        uint32_t small;
        bool is_number = oracle_u64(text, &expected);

        fuzz_expect(number_parse_u64(text, &number) == is_number, "what is a number is one");
        fuzz_expect(!is_number || number == expected, "%llu is read as that",
                    (unsigned long long) expected);
        fuzz_expect(number_parse_u32(text, &small) == (is_number && expected <= UINT32_MAX),
                    "a small number fits into 32 bits and no other does");
        if (is_number) {
                fuzz_expect(number_parse_u64((Span){ digits, number_format_u64(number, digits) },
                                             &expected) &&
                                    expected == number,
                            "a number prints back");
        }
        is_number = oracle_i64(text, &signed_expected);
        fuzz_expect(number_parse_i64(text, &signed_number) == is_number,
                    "what is a number with a sign is one");
        if (is_number) {
                fuzz_expect(signed_number == signed_expected, "a signed number is read as it is");
                fuzz_expect(
                        number_parse_i64((Span){ digits, number_format_i64(signed_number, digits) },
                                         &signed_expected) &&
                                signed_expected == signed_number,
                        "a signed number prints back");
        }
}

static void check_decimal(Span text, unsigned decimals) {
        uint64_t number, expected;
        bool is_number = oracle_decimal(text, decimals, &expected);

        fuzz_expect(text_parse_decimal(text, decimals, &number) == is_number,
                    "what is a decimal is one: \"%.*s\"", (int) text.n, text.bytes);
        fuzz_expect(!is_number || number == expected, "\"%.*s\" is read exactly", (int) text.n,
                    text.bytes);
}

static void check_numbers(FuzzInput input) {
        unsigned decimals = fuzz_take_u8(&input) % 10;

        while (input.n > 0) {
                Span line = fuzz_take_until(&input, '\n');

                check_number(line);
                check_decimal(line, decimals);
        }
}

/* The first four keys of the text, and one that no line has. */
static size_t choose_keys(Span text, Span keys[static 5]) {
        Cursor cursor = text;
        size_t n = 0;
        Span value;

        while (n < 4 && cursor_colon_pair(&cursor, &keys[n], &value)) {
                size_t i = 0;

                while (i < n && !span_equal(keys[i], keys[n]))
                        i++;
                n += i == n;
        }
        keys[n++] = SPAN_LITERAL("no\nline");
        return n;
}

static void check_fields(FuzzInput input) {
        Span text = fuzz_take_rest(&input), keys[5], key, value;
        uint64_t values[5] = {}, expected;
        Fields fields = { .keys = keys, .n_keys = choose_keys(text, keys), .values = values };
        Cursor cursor = text;
        bool malformed = false;

        while (cursor_colon_pair(&cursor, &key, &value))
                (void) fields_put(&fields, key, value);
        for (size_t i = 0; i < fields.n_keys; i++) {
                unsigned n = oracle_colon_value(text, keys[i], &value);
                bool is_number = n == 1 && oracle_u64(value, &expected);

                malformed |= n > 0 && !is_number;
                fuzz_expect((fields.present >> i & 1) == is_number,
                            "a field is present when its key came once with a number");
                fuzz_expect(!is_number || values[i] == expected, "a field has its line's value");
        }
        fuzz_expect(fields.malformed == malformed, "what is not a field is malformed");
}

static void check_number_map(FuzzInput input) {
        static NumberMap map; /* large */
        Span text = fuzz_take_rest(&input), key, value;
        Cursor cursor = text;
        uint64_t expected;

        map.n_entries = 0;
        while (cursor_flat_pair(&cursor, &key, &value))
                (void) number_map_put(&map, key, value);
        for (size_t i = 0; i < map.n_entries; i++) {
                unsigned n = oracle_flat_value(text, map.entries[i].key, &value);
                bool is_number = n == 1 && oracle_u64(value, &expected);

                fuzz_expect(i == 0 || span_compare(map.entries[i - 1].key, map.entries[i].key) < 0,
                            "keys are in order, each once");
                fuzz_expect(n > 0, "no key is made up");
                fuzz_expect(map.entries[i].has_value == is_number,
                            "a key has a value when it came once with a number");
                fuzz_expect(!is_number || map.entries[i].value == expected,
                            "a key has its line's value");
        }
}

/* The word "key=..." of a line that begins with @half, when both come once. */
static bool find_pressure(Span text, const char *half, const char *key, Span *ret) {
        unsigned n_lines = 0, n_words = 0;
        size_t offset = 0;
        Span line, word, left, right;

        while (oracle_line(text, &offset, &line)) {
                size_t at = 0;

                if (!oracle_word(line, &at, &word) || !span_is(word, half))
                        continue;
                n_lines++;
                while (oracle_word(line, &at, &word))
                        if (oracle_split(word, '=', &left, &right) && span_is(left, key)) {
                                n_words++;
                                *ret = right;
                        }
        }
        return n_lines == 1 && n_words == 1;
}

static void check_pressure_value(Span text, const char *half, const char *key, unsigned decimals,
                                 uint64_t max, bool has, uint64_t value) {
        uint64_t expected;
        Span word;
        bool found = find_pressure(text, half, key, &word) &&
                     oracle_decimal(word, decimals, &expected) && expected <= max;

        if (decimals == 0 && found)
                found = oracle_u64(word, &expected); /* a total has no point */
        fuzz_expect(!has || found, "%s %s is in the text", half, key);
        fuzz_expect(!has || value == expected, "%s %s is the text's", half, key);
}

static void check_pressure_half(Span text, const char *name, const PressureHalf *half) {
        check_pressure_value(text, name, "avg10", 2, UINT16_MAX, half->has_avg10, half->avg10);
        check_pressure_value(text, name, "avg60", 2, UINT16_MAX, half->has_avg60, half->avg60);
        check_pressure_value(text, name, "avg300", 2, UINT16_MAX, half->has_avg300, half->avg300);
        check_pressure_value(text, name, "total", 0, UINT64_MAX, half->has_total, half->total_usec);
}

static void check_pressure(FuzzInput input) {
        Span text = fuzz_take_rest(&input);
        PressureFile file;
        int r = pressure_parse(text, &file);

        fuzz_expect(r == 0 || r == TEXT_E_MALFORMED, "a text is in its grammar or is not");
        fuzz_expect(r != 0 || oracle_is_whole(text), "a cut text is malformed");
        if (file.has_some)
                check_pressure_half(text, "some", &file.some);
        if (file.has_full)
                check_pressure_half(text, "full", &file.full);
}

static void check_cpu_list(FuzzInput input) {
        static unsigned long mask[CPU_LIST_MAX_WORDS], again[CPU_LIST_MAX_WORDS];
        static char printed[CPU_LIST_MAX_CPUS * 6];
        Span text = fuzz_take_rest(&input);
        size_t n_cpus, n_again, n_chars;
        int r = cpu_list_parse(text, mask, &n_cpus);

        fuzz_expect(r == 0 || r == TEXT_E_MALFORMED, "a list is taken whole or not at all");
        if (r != 0)
                return;
        fuzz_expect(cpu_list_format(mask, CPU_LIST_MAX_WORDS, printed, sizeof(printed), &n_chars,
                                    &n_again) == 0 &&
                            n_again == n_cpus,
                    "a list can be printed");
        fuzz_expect(cpu_list_parse((Span){ printed, n_chars }, again, &n_again) == 0 &&
                            memcmp(mask, again, sizeof(mask)) == 0,
                    "a list prints back");
        fuzz_expect(cpu_list_format(mask, CPU_LIST_MAX_WORDS, printed, n_chars - 1, &n_chars,
                                    &n_again) == TEXT_E_TOO_LARGE,
                    "a list that does not fit is not cut");
        for (size_t cpu = 0; cpu < CPU_LIST_MAX_CPUS && n_cpus > 0; cpu++)
                n_cpus -= mask[cpu / CPU_LIST_WORD_BITS] >> cpu % CPU_LIST_WORD_BITS & 1;
        fuzz_expect(n_cpus == 0, "the count is the mask's");
}

/* The text as a file, read into room of its own: whole or not at all, and never with a NUL. */
static void check_text_file(FuzzInput input) {
        size_t room = 1 + fuzz_take_u8(&input), n = 0;
        Span text = fuzz_take_rest(&input), start = { text.bytes, MIN_OF(text.n, room) };
        _cleanup_(freep) char *buffer = malloc(room);
        _cleanup_(buffer_done) Buffer all = { .max_bytes = room };
        int expected = 0, r;

        fuzz_expect(buffer, "there is room");
        tree_put("text", text);
        if (text.n > room)
                expected = TEXT_E_TOO_LARGE;
        else if (memchr(text.bytes, '\0', text.n))
                expected = TEXT_E_MALFORMED;
        r = text_file_read(tree_fd(), "text", buffer, room, &n);
        fuzz_expect(r == expected, "a file is %d and not %d", expected, r);
        fuzz_expect(r != 0 || span_equal((Span){ buffer, n }, text), "a file is read as it is");
        fuzz_expect(r != TEXT_E_TOO_LARGE || span_equal((Span){ buffer, n }, start),
                    "the start of a file is its first bytes");
        r = text_file_read_all(tree_fd(), "text", &all);
        fuzz_expect(r == expected, "a file is %d and not %d", expected, r);
        fuzz_expect(r == 0 ? span_equal(buffer_span(&all), text) : all.n == 0,
                    "a file is appended as it is or not at all");
        tree_clear();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        static void (*const checks[])(FuzzInput input) = {
                ['g' % 8] = check_grammars,  ['n' % 8] = check_numbers,
                ['a' % 8] = check_fields,    ['m' % 8] = check_number_map,
                ['p' % 8] = check_pressure,  ['c' % 8] = check_cpu_list,
                ['b' % 8] = check_text_file,
        };
        FuzzInput input = fuzz_input(data, size);

        size = fuzz_take_u8(&input) % 8;
        if (size < ELEMENTSOF(checks) && checks[size])
                checks[size](input);
        return 0;
}
