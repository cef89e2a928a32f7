/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/proc-task.h"

#include "base/number.h"
#include "kernel/text/cursor.h"
#include "kernel/text/keyed-numbers.h"

/* stat */

#define FIELD_STATE 3
#define FIELD_STARTTIME 22
#define FIELD_LAST 41 /* later fields are not used */

static bool parse_i32(Span text, int32_t *ret) {
        int64_t value;

        if (!number_parse_i64(text, &value) || value < INT32_MIN || value > INT32_MAX)
                return false;
        *ret = (int32_t) value;
        return true;
}

/* The parser that the type of a member has. */
// clang-format off
#define PARSE_OF(member)                                                                           \
        _Generic((member), uint64_t: number_parse_u64, uint32_t: number_parse_u32,                 \
                 int32_t: parse_i32)
// clang-format on

int proc_stat_parse(Span text, ProcStat *ret) {
        const char *open = text.n > 0 ? memchr(text.bytes, '(', text.n) : NULL;
        const char *close = text.n > 0 ? memrchr(text.bytes, ')', text.n) : NULL;
        bool is_good = true, has_state = false, has_starttime = false;
        unsigned field = FIELD_STATE;
        ProcStat stat = {};
        Span pid, rest, line, word;

        *ret = stat;
        /* "pid (comm)" */
        if (!open || !close || close < open || open == text.bytes)
                return TEXT_E_MALFORMED;
        pid = (Span){ text.bytes, (size_t) (open - text.bytes) - 1 };
        if (pid.bytes[pid.n] != ' ' || !parse_i32(pid, &stat.pid) || stat.pid <= 0)
                return TEXT_E_MALFORMED;
        stat.comm = (Span){ open + 1, (size_t) (close - open) - 1 };
        rest = (Span){ close + 1, text.n - (size_t) (close - text.bytes) - 1 };
        if (!cursor_line(&rest, &line))
                return TEXT_E_MALFORMED;
        for (; field <= FIELD_LAST && cursor_word(&line, &word); field++)
                switch (field) {
                case FIELD_STATE:
                        has_state = word.n == 1;
                        stat.state = word.bytes[0];
                        break;
                case FIELD_STARTTIME:
                        has_starttime = number_parse_u64(word, &stat.starttime);
                        break;
#define PROC_STAT_CASE(member, type, number, ...)                          \
        case number:                                                       \
                if (PARSE_OF(stat.member)(word, &stat.member))             \
                        stat.present |= UINT32_C(1) << PROC_STAT_##member; \
                else                                                       \
                        is_good = false;                                   \
                break;
                        PROC_STAT_FIELDS(PROC_STAT_CASE)
#undef PROC_STAT_CASE
                default:
                        break; /* a field of no use */
                }
        stat.has_identity = has_state && has_starttime;
        if (!stat.has_identity)
                return TEXT_E_MALFORMED;
        *ret = stat;
        return is_good && field > FIELD_LAST ? 0 : TEXT_E_MALFORMED;
}

/* status */

typedef enum StatusKind {
        STATUS_letter,  /* "S (sleeping)" */
        STATUS_pid,     /* pid_t */
        STATUS_real_id, /* "real effective saved filesystem": the first */
        STATUS_flag,
        STATUS_number,
        STATUS_list,
        STATUS_size,  /* "2624 kB", in bytes */
        STATUS_count, /* how many numbers there are */
} StatusKind;

// clang-format off
#define STATUS_ROW(member, key, kind)                                                              \
        { SPAN_LITERAL(key), STATUS_##kind, offsetof(ProcStatus, has_##member),                    \
          offsetof(ProcStatus, member) },
#define STATUS_COUNTER(metric, key, ...) STATUS_ROW(metric, key, number)
static const struct {
        Span key;
        StatusKind kind;
        size_t has_offset, offset;
} status_rows[] = {
        STATUS_ROW(state, "State", letter)
        STATUS_ROW(tgid, "Tgid", pid)
        STATUS_ROW(ppid, "PPid", pid)
        STATUS_ROW(uid, "Uid", real_id)
        STATUS_ROW(gid, "Gid", real_id)
        STATUS_ROW(kthread, "Kthread", flag)
        STATUS_ROW(threads, "Threads", number)
        STATUS_ROW(cpus_allowed, "Cpus_allowed_list", list)
        STATUS_ROW(rss_peak, "VmHWM", size)
        STATUS_ROW(rss_anon, "RssAnon", size)
        STATUS_ROW(rss_file, "RssFile", size)
        STATUS_ROW(rss_shmem, "RssShmem", size)
        STATUS_ROW(swap, "VmSwap", size)
        STATUS_ROW(library_code, "VmLib", size)
        STATUS_ROW(n_namespaces, "NSpid", count)
        COUNTERS_OF_STATUS(STATUS_COUNTER)
};
// clang-format on
#define N_STATUS_ROWS ELEMENTSOF(status_rows)
_Static_assert(N_STATUS_ROWS <= 32, "each has a bit in a word");

/* Parses the value of a line into a member of ProcStatus; false when it is malformed. */
static bool parse_value(StatusKind kind, Span value, void *ret) {
        uint32_t number;
        uint64_t size;
        Span word, unit;

        switch (kind) {
        case STATUS_letter:
                if (value.n == 0 || (value.n > 1 && value.bytes[1] != ' '))
                        return false;
                *(char *) ret = value.bytes[0];
                return true;
        case STATUS_pid:
                if (!number_parse_u32(value, &number) || number > INT32_MAX)
                        return false;
                *(pid_t *) ret = (pid_t) number;
                return true;
        case STATUS_real_id:
                return cursor_word(&value, &word) && number_parse_u32(word, ret);
        case STATUS_flag:
                *(bool *) ret = span_is(value, "1");
                return span_is(value, "1") || span_is(value, "0");
        case STATUS_number:
                return number_parse_u64(value, ret);
        case STATUS_list:
                *(Span *) ret = value;
                return value.n > 0;
        case STATUS_size:
                if (!cursor_word(&value, &word) || !number_parse_u64(word, &size) ||
                    !cursor_word(&value, &unit) || !span_is(unit, "kB"))
                        return false;
                *(uint64_t *) ret = number_multiply_saturating(size, 1024);
                return true;
        case STATUS_count:
                for (*(unsigned *) ret = 0; cursor_word(&value, &word); ++*(unsigned *) ret)
                        if (!number_parse_u32(word, &number) || number > INT32_MAX)
                                return false;
                return *(unsigned *) ret > 0;
        }
        return false;
}

int proc_status_parse(Span text, ProcStatus *ret) {
        ProcStatus status = {};
        unsigned seen = 0;
        bool malformed = false;
        Span key, value;

        while (cursor_colon_pair(&text, &key, &value)) {
                size_t row = 0;
                bool *has;

                while (row < N_STATUS_ROWS && !span_equal(status_rows[row].key, key))
                        row++;
                if (row == N_STATUS_ROWS)
                        continue;
                has = (bool *) ((char *) &status + status_rows[row].has_offset);
                *has = (seen >> row & 1) == 0 &&
                       parse_value(status_rows[row].kind, value,
                                   (char *) &status + status_rows[row].offset);
                malformed |= !*has;
                seen |= 1u << row;
        }
        *ret = status;
        return malformed || seen == 0 || text.n > 0 ? TEXT_E_MALFORMED : 0;
}

/* schedstat */

int proc_schedstat_parse(Span text, ProcSchedstat *ret) {
        Span line, word;
        bool good = true;

        *ret = (ProcSchedstat){};
        if (!cursor_line(&text, &line))
                return TEXT_E_MALFORMED;
#define PARSE_NEXT(metric, ...)                                                                \
        ret->has_##metric = cursor_word(&line, &word) && number_parse_u64(word, &ret->metric); \
        good &= ret->has_##metric;
        COUNTERS_OF_SCHEDSTAT(PARSE_NEXT)
#undef PARSE_NEXT
        return good ? 0 : TEXT_E_MALFORMED;
}

/* statm */

int proc_statm_parse(Span text, uint64_t *ret_resident_pages) {
        Span line, word;
        uint64_t size;

        if (!cursor_line(&text, &line) || !cursor_word(&line, &word) ||
            !number_parse_u64(word, &size) || !cursor_word(&line, &word) ||
            !number_parse_u64(word, ret_resident_pages))
                return TEXT_E_MALFORMED;
        return 0;
}

/* io */

#define PROC_IO_KEY(key, ...) SPAN_LITERAL(#key),
static const Span io_keys[_PROC_IO_MAX] = { COUNTERS_OF_IO(PROC_IO_KEY) };

int proc_io_parse(Span text, ProcIo *ret) {
        ProcIo io = {};
        Fields fields = { .keys = io_keys, .n_keys = _PROC_IO_MAX, .values = io.values };
        Span key, value;

        while (cursor_colon_pair(&text, &key, &value))
                fields_put(&fields, key, value);
        io.present = (uint32_t) fields.present;

        *ret = io;
        return fields.malformed || io.present == 0 || text.n > 0 ? TEXT_E_MALFORMED : 0;
}

/* cgroup */

static const Span v2_prefix = SPAN_LITERAL("0::");
static const Span deleted_suffix = SPAN_LITERAL(PROC_CGROUP_DELETED_SUFFIX);

bool cgroup_path_is_outside(Span path) {
        size_t start = 0;

        for (size_t i = 0; i <= path.n; i++) {
                if (i < path.n && path.bytes[i] != '/')
                        continue;
                if (span_is((Span){ path.bytes + start, i - start }, ".."))
                        return true;
                start = i + 1;
        }
        return false;
}

int proc_cgroup_parse(Span text, ProcCgroup *ret) {
        ProcCgroup cgroup = {};
        unsigned n_paths = 0;
        Span line;

        *ret = cgroup;
        while (cursor_line(&text, &line)) {
                if (line.n < v2_prefix.n || memcmp(line.bytes, v2_prefix.bytes, v2_prefix.n) != 0)
                        continue;
                cgroup.path = (Span){ line.bytes + v2_prefix.n, line.n - v2_prefix.n };
                n_paths++;
        }
        if (text.n > 0 || n_paths > 1)
                return TEXT_E_MALFORMED;
        if (n_paths == 0)
                return 0;
        if (cgroup.path.n == 0 || cgroup.path.bytes[0] != '/' ||
            cgroup.path.n >= PROC_CGROUP_CUT_BYTES)
                return TEXT_E_MALFORMED;

        cgroup.has_path = true;
        cgroup.deleted = cgroup.path.n >= deleted_suffix.n &&
                         memcmp(cgroup.path.bytes + cgroup.path.n - deleted_suffix.n,
                                deleted_suffix.bytes, deleted_suffix.n) == 0;
        cgroup.outside = cgroup_path_is_outside(cgroup.path);
        *ret = cgroup;
        return 0;
}

/* smaps_rollup */

/* The header's first colon follows an address range and a device number, which are no key. */
int proc_smaps_parse(Span text, ProcSmaps *ret) {
        bool good = true;
        Span key, value;

        ret->n_entries = 0;
        while (cursor_colon_pair(&text, &key, &value)) {
                size_t n = 0;
                Span number;

                while (n < key.n &&
                       ((key.bytes[n] >= 'a' && key.bytes[n] <= 'z') ||
                        (key.bytes[n] >= 'A' && key.bytes[n] <= 'Z') ||
                        (key.bytes[n] >= '0' && key.bytes[n] <= '9') || key.bytes[n] == '_'))
                        n++;
                if (n < key.n || n == 0)
                        continue;
                (void) cursor_word(&value, &number); /* an empty word fails as a number, too */
                good &= number_map_put(ret, key, number);
        }
        good &= ret->n_entries > 0;
        return good && text.n == 0 ? 0 : TEXT_E_MALFORMED;
}
