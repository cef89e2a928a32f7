/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/proc-sched.h"

#include "base/number.h"
#include "kernel/text/cursor.h"

/*
 * This is the longest file that is read of every thread, 2 to 4 KB. So instead of
 * cursor_colon_pair() it has a loop of its own for the same grammar, which is fast for what the
 * kernel prints: keys come in a fixed order, contain no blanks, and are padded with blanks to
 * COLON_COLUMN.
 */
#define COLON_COLUMN 45
#define MS_DECIMALS 6

enum {
        VALUE_COUNT,
        VALUE_MS,
};

enum {
        PRINTED_ALWAYS,
        PRINTED_STATS,
};

/* The last four bytes of a key, which distinguish most keys without comparing all bytes. */
#define KEY_TAIL(key, n)                                  \
        ((uint32_t) (unsigned char) (key)[(n) -1] |       \
         (uint32_t) (unsigned char) (key)[(n) -2] << 8 |  \
         (uint32_t) (unsigned char) (key)[(n) -3] << 16 | \
         (uint32_t) (unsigned char) (key)[(n) -4] << 24)

#define PROC_SCHED_TAIL(key, value, printed) KEY_TAIL(#key, sizeof(#key) - 1),
static const uint32_t key_tails[_PROC_SCHED_MAX] = { PROC_SCHED_KEYS(PROC_SCHED_TAIL) };

#define PROC_SCHED_ROW(key, value, printed) \
        { SPAN_LITERAL(#key), VALUE_##value, PRINTED_##printed },
static const struct {
        Span key;
        unsigned char value;
        unsigned char printed;
} rows[_PROC_SCHED_MAX] = { PROC_SCHED_KEYS(PROC_SCHED_ROW) };

static const Span ext_enabled_key = SPAN_LITERAL("ext.enabled");

/* Maps a key's ending to one of 64 bits: most keys that have no row are recognised by it. */
#define TAIL_BIT(tail) (UINT64_C(1) << ((tail) *UINT32_C(0x9e3779b1) >> 26))

#define PROC_SCHED_TAIL_BIT(key, value, printed) | TAIL_BIT(KEY_TAIL(#key, sizeof(#key) - 1))
static const uint64_t tail_bits = 0 PROC_SCHED_KEYS(PROC_SCHED_TAIL_BIT);

/*
 * The row whose key is @key, or the part after its last dot, or the number of rows. @key has at
 * least four bytes; the search begins at @expected, which is a row or their number.
 */
static size_t find_row(Span key, size_t expected) {
        uint32_t tail = KEY_TAIL(key.bytes, key.n);

        for (size_t i = 0; i < _PROC_SCHED_MAX && (tail_bits & TAIL_BIT(tail)) != 0; i++) {
                size_t row = expected + i < _PROC_SCHED_MAX ? expected + i
                                                            : expected + i - _PROC_SCHED_MAX;
                Span wanted = rows[row].key;
                const char *at;

                if (key_tails[row] != tail || key.n < wanted.n)
                        continue;
                at = key.bytes + key.n - wanted.n;
                if (memcmp(at, wanted.bytes, wanted.n) == 0 && (key.n == wanted.n || at[-1] == '.'))
                        return row;
        }
        return _PROC_SCHED_MAX;
}

/* "-12.345678", and "0.-000500", which some readers expect although no kernel printed it. */
static bool is_negative(Span text) {
        const char *point = text.n > 0 ? memchr(text.bytes, '.', text.n) : NULL;
        Span digits = text;

        if (text.n > 0 && text.bytes[0] == '-')
                digits.bytes++;
        else if (point && point + 1 < text.bytes + text.n && point[1] == '-')
                digits.bytes = point + 2;
        else
                return false;
        digits.n = text.n - (size_t) (digits.bytes - text.bytes);
        return digits.n > 0 && digits.bytes[0] >= '0' && digits.bytes[0] <= '9';
}

/* Most of a line is padding, so it is skipped in steps of eight blanks. */
static const char padding[8] = { ' ', ' ', ' ', ' ', ' ', ' ', ' ', ' ' };

int proc_sched_parse(Span text, ProcSched *ret) {
        bool has_header = false, seen_ext_enabled = false, malformed = false;
        uint64_t seen = 0, number, bit; /* bits per row */
        size_t expected = 0, row;
        ProcSched sched = {};
        Span line, key, value;

        while (!has_header && cursor_line(&text, &line)) {
                size_t n = 0;

                while (n < line.n && line.bytes[n] == '-')
                        n++;
                has_header = n == line.n && n >= PROC_SCHED_MIN_DASHES;
        }
        while (has_header && cursor_line(&text, &line)) {
                const char *colon = line.bytes + COLON_COLUMN;

                if (line.n <= COLON_COLUMN || *colon != ':' ||
                    memchr(line.bytes, ':', COLON_COLUMN))
                        colon = line.n > 0 ? memchr(line.bytes, ':', line.n) : NULL;
                if (!colon)
                        continue;
                key = (Span){ line.bytes, (size_t) (colon - line.bytes) };
                while (key.n >= sizeof(padding) &&
                       memcmp(key.bytes + key.n - sizeof(padding), padding, sizeof(padding)) == 0)
                        key.n -= sizeof(padding);
                key = text_trim(key);
                if (key.n < sizeof(key_tails[0]))
                        continue;
                row = find_row(key, expected);
                if (row == _PROC_SCHED_MAX && !span_equal(key, ext_enabled_key))
                        continue;

                value = (Span){ colon + 1, line.n - (size_t) (colon - line.bytes) - 1 };
                while (value.n >= sizeof(padding) &&
                       memcmp(value.bytes, padding, sizeof(padding)) == 0) {
                        value.bytes += sizeof(padding);
                        value.n -= sizeof(padding);
                }
                value = text_trim(value);
                if (row >= _PROC_SCHED_MAX) {
                        sched.has_ext_enabled =
                                !seen_ext_enabled && number_parse_u64(value, &number);
                        if (sched.has_ext_enabled)
                                sched.ext_enabled = number != 0;
                        malformed |= !sched.has_ext_enabled;
                        seen_ext_enabled = true;
                        continue;
                }
                bit = UINT64_C(1) << row;
                sched.has_schedstats |= rows[row].printed == PRINTED_STATS;
                if (seen & bit) {
                        sched.present &= ~bit;
                        malformed = true;
                } else if (
                        rows[row].value == VALUE_MS && memchr(value.bytes, '.', value.n)
                                ? text_parse_decimal(value, MS_DECIMALS, &sched.values[row])
                                /* Time without a point is in ns, though no kernel prints that. */
                                : number_parse_u64(value, &sched.values[row])) {
                        sched.present |= bit;
                } else {
                        malformed = true;
                        if (is_negative(value))
                                sched.negative |= bit;
                }
                seen |= bit;
                expected = row + 1;
        }
        *ret = sched;
        return !has_header || malformed || text.n > 0 ? TEXT_E_MALFORMED : 0;
}

bool proc_sched_voluntary_sleep(const ProcSched *sched, uint64_t *ret_ns) {
        uint64_t sleep_ns = sched->values[PROC_SCHED_sum_sleep_runtime];
        uint64_t block_ns = sched->values[PROC_SCHED_sum_block_runtime];

        if (!(sched->present >> PROC_SCHED_sum_sleep_runtime & 1) ||
            !(sched->present >> PROC_SCHED_sum_block_runtime & 1))
                return false;
        *ret_ns = sleep_ns > block_ns ? sleep_ns - block_ns : 0;
        return true;
}
