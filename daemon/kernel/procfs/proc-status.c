/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/proc-status.h"

#include "base/number.h"
#include "kernel/text/cursor.h"

// clang-format off
#define STATUS_KEYS(K)                                                                             \
        K(state,                 "State")                                                          \
        K(tgid,                  "Tgid")                                                           \
        K(ppid,                  "PPid")                                                           \
        K(uid,                   "Uid")                                                            \
        K(gid,                   "Gid")                                                            \
        K(kthread,               "Kthread")                                                        \
        K(threads,               "Threads")                                                        \
        K(cpus_allowed,          "Cpus_allowed_list")                                              \
        K(voluntary_switches,    "voluntary_ctxt_switches")                                        \
        K(nonvoluntary_switches, "nonvoluntary_ctxt_switches")
// clang-format on

/* Each parses the value of its line; false when it is malformed. */

static bool parse_state(Span value, ProcStatus *status) {
        /* "S (sleeping)" */
        if (value.n == 0 || (value.n > 1 && value.bytes[1] != ' '))
                return false;
        status->state = value.bytes[0];
        return true;
}

static bool parse_pid(Span value, pid_t *ret) {
        uint32_t number;

        if (!number_parse_u32(value, &number) || number > INT32_MAX)
                return false;
        *ret = (pid_t) number;
        return true;
}

static bool parse_tgid(Span value, ProcStatus *status) {
        return parse_pid(value, &status->tgid);
}

static bool parse_ppid(Span value, ProcStatus *status) {
        return parse_pid(value, &status->ppid);
}

/* "real effective saved filesystem": the first. */
static bool parse_real_id(Span value, uint32_t *ret) {
        Cursor words = cursor_over(value);
        Span word;

        return cursor_word(&words, &word) && number_parse_u32(word, ret);
}

static bool parse_uid(Span value, ProcStatus *status) {
        return parse_real_id(value, &status->uid);
}

static bool parse_gid(Span value, ProcStatus *status) {
        return parse_real_id(value, &status->gid);
}

static bool parse_kthread(Span value, ProcStatus *status) {
        status->kthread = span_is(value, "1");
        return status->kthread || span_is(value, "0");
}

static bool parse_threads(Span value, ProcStatus *status) {
        return number_parse_u64(value, &status->threads);
}

static bool parse_cpus_allowed(Span value, ProcStatus *status) {
        status->cpus_allowed = value;
        return value.n > 0;
}

static bool parse_voluntary_switches(Span value, ProcStatus *status) {
        return number_parse_u64(value, &status->voluntary_switches);
}

static bool parse_nonvoluntary_switches(Span value, ProcStatus *status) {
        return number_parse_u64(value, &status->nonvoluntary_switches);
}

#define STATUS_ID(member, key) STATUS_##member,
enum { STATUS_KEYS(STATUS_ID) _STATUS_MAX };

#define STATUS_ROW(member, key) \
        { SPAN_LITERAL(key), parse_##member, offsetof(ProcStatus, has_##member) },
static const struct {
        Span key;
        bool (*parse)(Span value, ProcStatus *status);
        size_t has_offset;
} rows[_STATUS_MAX] = { STATUS_KEYS(STATUS_ROW) };

int proc_status_parse(Span text, ProcStatus *ret) {
        Cursor cursor = cursor_over(text);
        ProcStatus status = {};
        unsigned seen = 0;
        bool malformed = false;
        Span key, value;

        while (cursor_colon_pair(&cursor, &key, &value)) {
                size_t row = 0;
                bool *has;

                while (row < _STATUS_MAX && !span_equal(rows[row].key, key))
                        row++;
                if (row == _STATUS_MAX)
                        continue;
                has = (bool *) ((char *) &status + rows[row].has_offset);
                *has = (seen >> row & 1) == 0 && rows[row].parse(value, &status);
                malformed |= !*has;
                seen |= 1u << row;
        }
        *ret = status;
        return malformed || seen == 0 || !cursor_is_at_end(&cursor) ? PROCFS_E_MALFORMED : 0;
}
