/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/proc-stat.h"

#include "base/number.h"
#include "kernel/text/cursor.h"

#define FIELD_STATE 3
#define FIELD_STARTTIME 22
#define FIELD_LAST 41 /* later fields are not used */

static bool parse_uint64_t(Span text, uint64_t *ret) {
        return number_parse_u64(text, ret);
}

static bool parse_uint32_t(Span text, uint32_t *ret) {
        return number_parse_u32(text, ret);
}

static bool parse_int32_t(Span text, int32_t *ret) {
        int64_t value;

        if (!number_parse_i64(text, &value) || value < INT32_MIN || value > INT32_MAX)
                return false;
        *ret = (int32_t) value;
        return true;
}

/* Sets one optional field; fields of other numbers are skipped. */
static bool put_field(ProcStat *stat, unsigned field, Span word) {
        switch (field) {
#define PROC_STAT_CASE(member, type, number)                        \
        case number:                                                \
                if (!parse_##type(word, &stat->member))             \
                        return false;                               \
                stat->present |= UINT32_C(1) << PROC_STAT_##member; \
                return true;
                PROC_STAT_FIELDS(PROC_STAT_CASE)
#undef PROC_STAT_CASE
        default:
                return true;
        }
}

/* Parses "pid (comm)"; *ret_tail is the text after the parenthesis that ends the name. */
static bool parse_head(Span text, ProcStat *stat, Span *ret_tail) {
        const char *open = text.n > 0 ? memchr(text.bytes, '(', text.n) : NULL;
        const char *close = text.n > 0 ? memrchr(text.bytes, ')', text.n) : NULL;
        Span pid;

        if (!open || !close || close < open || open == text.bytes)
                return false;
        pid = (Span){ text.bytes, (size_t) (open - text.bytes) - 1 };
        if (pid.bytes[pid.n] != ' ' || !parse_int32_t(pid, &stat->pid) || stat->pid <= 0)
                return false;
        stat->comm = (Span){ open + 1, (size_t) (close - open) - 1 };
        *ret_tail = (Span){ close + 1, text.n - (size_t) (close - text.bytes) - 1 };
        return true;
}

/* 0 for a whole line; @has_identity says whether state and start time were on it. */
static bool parse_tail(Span tail, ProcStat *stat) {
        Cursor lines = cursor_over(tail), words;
        bool good = true, has_state = false, has_starttime = false;
        unsigned field = FIELD_STATE;
        Span line, word;

        if (!cursor_line(&lines, &line))
                return false;
        words = cursor_over(line);
        for (; field <= FIELD_LAST && cursor_word(&words, &word); field++) {
                if (field == FIELD_STATE) {
                        has_state = word.n == 1;
                        stat->state = word.bytes[0];
                } else if (field == FIELD_STARTTIME) {
                        has_starttime = parse_uint64_t(word, &stat->starttime);
                } else {
                        good &= put_field(stat, field, word);
                }
        }
        stat->has_identity = has_state && has_starttime;
        return good && field > FIELD_LAST;
}

int proc_stat_parse(Span text, ProcStat *ret) {
        ProcStat stat = {};
        Span tail;
        bool good;

        good = parse_head(text, &stat, &tail) && parse_tail(tail, &stat);
        if (!stat.has_identity) {
                *ret = (ProcStat){};
                return PROCFS_E_MALFORMED;
        }
        *ret = stat;
        return good ? 0 : PROCFS_E_MALFORMED;
}
