/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/when.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/number.h"

#define SECONDS_PER_DAY 86400u

#define CLOCK "%Y-%m-%d %H:%M:%S"

void when_format(uint64_t realtime_ns, WhenForm form, char ret_text[static WHEN_CHARS]) {
        time_t seconds = (time_t) (realtime_ns / NSEC_PER_SEC);
        struct tm local;

        (void) snprintf(ret_text, WHEN_CHARS, "?");
        if (!localtime_r(&seconds, &local))
                return;
        /* The name of a zone can be longer than there is room; its offset is not. */
        if (form == WHEN_CLOCK)
                (void) strftime(ret_text, WHEN_CHARS, CLOCK, &local);
        else if (form == WHEN_FULL && strftime(ret_text, WHEN_CHARS, CLOCK " %Z", &local) == 0)
                (void) strftime(ret_text, WHEN_CHARS, CLOCK " %z", &local);
        else if (form == WHEN_ZONE && strftime(ret_text, WHEN_CHARS, "%Z", &local) == 0)
                (void) strftime(ret_text, WHEN_CHARS, "%z", &local);
}

typedef struct Unit {
        uint64_t seconds;
        const char *name;
} Unit;

static const Unit units[] = { { SECONDS_PER_DAY, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };

void when_format_span(uint64_t span_ns, WhenPrecision precision, char ret_text[static WHEN_CHARS]) {
        uint64_t seconds = span_ns / NSEC_PER_SEC, ms = span_ns % NSEC_PER_SEC / NSEC_PER_MSEC;
        size_t n_units = precision == WHEN_EXACT ? 3 : 2, first = 0, n = 0;

        while (first + 1 < ELEMENTSOF(units) && seconds < units[first].seconds)
                first++;
        ret_text[0] = '\0';
        for (size_t i = first; i < ELEMENTSOF(units) && i < first + n_units; i++) {
                uint64_t amount = seconds / units[i].seconds;
                const char *blank = n > 0 ? " " : "";

                seconds %= units[i].seconds;
                /* Milliseconds only matter below an hour. */
                if (units[i].seconds == 1 && precision == WHEN_EXACT && first >= 2)
                        n += (size_t) snprintf(ret_text + n, WHEN_CHARS - n, "%s%llu.%03llus",
                                               blank, (unsigned long long) amount,
                                               (unsigned long long) ms);
                else if (amount > 0 || i == first)
                        n += (size_t) snprintf(ret_text + n, WHEN_CHARS - n, "%s%llu%s", blank,
                                               (unsigned long long) amount, units[i].name);
        }
}

/* Removes @n_digits digits from the front of @text; false if there are fewer. */
static bool take_digits(Span *text, size_t n_digits, int *ret) {
        uint32_t number;

        if (text->n < n_digits || !number_parse_u32((Span){ text->bytes, n_digits }, &number))
                return false;
        *text = (Span){ text->bytes + n_digits, text->n - n_digits };
        *ret = (int) number;
        return true;
}

static bool take_byte(Span *text, char byte) {
        if (text->n == 0 || text->bytes[0] != byte)
                return false;
        *text = (Span){ text->bytes + 1, text->n - 1 };
        return true;
}

/* Nothing was captured before 1970, so any earlier time can become 1970. */
static void to_realtime(struct tm *local, uint64_t *ret_realtime_ns) {
        time_t seconds;

        local->tm_isdst = -1;
        seconds = mktime(local);
        *ret_realtime_ns =
                seconds < 0 ? 0 : number_multiply_saturating((uint64_t) seconds, NSEC_PER_SEC);
}

static bool parse_date(Span text, uint64_t *ret_realtime_ns) {
        static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
        struct tm t = {};
        bool leap;

        if (!take_digits(&text, 4, &t.tm_year) || !take_byte(&text, '-') ||
            !take_digits(&text, 2, &t.tm_mon) || !take_byte(&text, '-') ||
            !take_digits(&text, 2, &t.tm_mday))
                return false;
        if (text.n > 0) {
                if (!(take_byte(&text, ' ') || take_byte(&text, 'T')) ||
                    !take_digits(&text, 2, &t.tm_hour) || !take_byte(&text, ':') ||
                    !take_digits(&text, 2, &t.tm_min))
                        return false;
                if (text.n > 0 && (!take_byte(&text, ':') || !take_digits(&text, 2, &t.tm_sec)))
                        return false;
        }
        leap = (t.tm_year % 4 == 0 && t.tm_year % 100 != 0) || t.tm_year % 400 == 0;
        if (text.n > 0 || t.tm_mon < 1 || t.tm_mon > 12 || t.tm_mday < 1 ||
            t.tm_mday > days[t.tm_mon - 1] + (t.tm_mon == 2 && leap) || t.tm_hour >= 24 ||
            t.tm_min >= 60 || t.tm_sec >= 60)
                return false;
        t.tm_year -= 1900;
        t.tm_mon -= 1;
        to_realtime(&t, ret_realtime_ns);
        return true;
}

static bool parse_ago(Span text, uint64_t now_realtime_ns, uint64_t *ret_realtime_ns) {
        static const struct {
                const char *names; /* separated and ended by blanks */
                uint64_t seconds;
        } amounts[] = {
                { " s sec secs second seconds ", 1 },
                { " m min mins minute minutes ", 60 },
                { " h hr hour hours ", 3600 },
                { " d day days ", SECONDS_PER_DAY },
                { " w week weeks ", 7 * SECONDS_PER_DAY },
        };
        size_t n_digits = 0;
        uint64_t amount, ago_ns;
        char unit[16];

        if (!take_byte(&text, '-'))
                return false;
        while (n_digits < text.n && text.bytes[n_digits] >= '0' && text.bytes[n_digits] <= '9')
                n_digits++;
        if (!number_parse_u64((Span){ text.bytes, n_digits }, &amount))
                return false;
        text = (Span){ text.bytes + n_digits, text.n - n_digits };
        (void) take_byte(&text, ' ');
        if (text.n == 0 || text.n > sizeof(unit) - 3 || memchr(text.bytes, ' ', text.n))
                return false;
        (void) snprintf(unit, sizeof(unit), " %.*s ", (int) text.n, text.bytes);
        for (size_t i = 0; i < ELEMENTSOF(amounts); i++) {
                if (!strstr(amounts[i].names, unit))
                        continue;
                ago_ns = number_multiply_saturating(
                        amount, number_multiply_saturating(amounts[i].seconds, NSEC_PER_SEC));
                *ret_realtime_ns = ago_ns > now_realtime_ns ? 0 : now_realtime_ns - ago_ns;
                return true;
        }
        return false;
}

/* *ret_realtime_ns is local midnight @days_ago. */
static bool midnight(uint64_t now_realtime_ns, int days_ago, uint64_t *ret_realtime_ns) {
        time_t seconds = (time_t) (now_realtime_ns / NSEC_PER_SEC);
        struct tm t;

        if (!localtime_r(&seconds, &t))
                return false;
        t.tm_mday -= days_ago; /* mktime() normalizes a day of 0 or less */
        t.tm_hour = t.tm_min = t.tm_sec = 0;
        to_realtime(&t, ret_realtime_ns);
        return true;
}

bool when_parse(Span text, uint64_t now_realtime_ns, uint64_t *ret_realtime_ns) {
        if (span_is(text, "now")) {
                *ret_realtime_ns = now_realtime_ns;
                return true;
        }
        if (span_is(text, "today"))
                return midnight(now_realtime_ns, 0, ret_realtime_ns);
        if (span_is(text, "yesterday"))
                return midnight(now_realtime_ns, 1, ret_realtime_ns);
        return parse_date(text, ret_realtime_ns) ||
               parse_ago(text, now_realtime_ns, ret_realtime_ns);
}
