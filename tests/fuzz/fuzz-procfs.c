/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of a thread and of the machine, each chosen by the first byte. Every field that is
 * there is found again by the plain oracle with the text's own number, and every field the oracle
 * finds is there; cutting the text at the end of a line invents nothing, and a torn line behind it
 * changes nothing.
 *
 * Aims at: daemon/kernel/procfs/proc-task.c daemon/kernel/procfs/proc-sched.c
 *          daemon/kernel/procfs/kernel-cmdline.c
 *          daemon/kernel/procfs/host-context.c daemon/kernel/procfs/sched-ext.c
 *          daemon/capture/heap/module.c
 */
#include "fuzz.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/sysmacros.h>

#include "base/buffer.h"
#include "host-files.h"
#include "oracle.h"
#include "capture/heap/module.h"
#include "kernel/procfs/kernel-cmdline.h"
#include "kernel/procfs/proc-sched.h"
#include "kernel/procfs/proc-task.h"

/* The result of a parser, in one form for all of them. */
typedef struct Reading {
        int r;
        size_t n_fields;
        struct {
                Span name;
                bool has;
                uint64_t number; /* of signed fields: sign-extended */
                Span text;
        } fields[NUMBER_MAP_MAX];
} Reading;

static void put_number(Reading *reading, Span name, bool has, uint64_t number) {
        size_t i = reading->n_fields++;

        reading->fields[i].name = name;
        reading->fields[i].has = has;
        reading->fields[i].number = has ? number : 0;
        reading->fields[i].text = (Span){};
}

static void put_text(Reading *reading, Span name, bool has, Span text) {
        put_number(reading, name, has, 0);
        if (has)
                reading->fields[reading->n_fields - 1].text = text;
}

/* The value that the oracle found must be there, exactly. */
static void expect_number(const Reading *reading, const char *name, bool has, uint64_t number) {
        for (size_t i = 0; i < reading->n_fields; i++) {
                if (!span_is(reading->fields[i].name, name))
                        continue;
                fuzz_expect(reading->fields[i].has == has, "%s is %s", name,
                            has ? "there" : "absent");
                fuzz_expect(!has || reading->fields[i].number == number, "%s is the text's", name);
                return;
        }
        fuzz_fail(__FILE__, __LINE__, "%s is a field", name);
}

/* stat */

static void read_stat(Span text, Reading *ret) {
        ProcStat stat;

        ret->r = proc_stat_parse(text, &stat);
        put_number(ret, SPAN_LITERAL("pid"), stat.has_identity, (uint64_t) stat.pid);
        put_text(ret, SPAN_LITERAL("comm"), stat.has_identity, stat.comm);
        put_number(ret, SPAN_LITERAL("state"), stat.has_identity, (uint64_t) stat.state);
        put_number(ret, SPAN_LITERAL("starttime"), stat.has_identity, stat.starttime);
#define PUT_STAT(member, ...)                                                            \
        put_number(ret, SPAN_LITERAL(#member), (stat.present >> PROC_STAT_##member & 1), \
                   (uint64_t) stat.member);
        PROC_STAT_FIELDS(PUT_STAT)
}

static bool word_at(Span line, unsigned nth, Span *ret) {
        size_t offset = 0;

        for (; nth > 0; nth--)
                if (!oracle_word(line, &offset, ret))
                        return false;
        return true;
}

#define MIN_int32_t INT32_MIN
#define MAX_int32_t INT32_MAX
#define MIN_uint32_t 0
#define MAX_uint32_t UINT32_MAX

static bool number_of_uint64_t(Span word, uint64_t *ret) {
        return oracle_u64(word, ret);
}
#define NUMBER_OF(type)                                                                       \
        static bool number_of_##type(Span word, uint64_t *ret) {                              \
                int64_t value;                                                                \
                                                                                              \
                if (!oracle_i64(word, &value) || (MIN_##type == 0 && word.bytes[0] == '-') || \
                    value < MIN_##type || value > MAX_##type)                                 \
                        return false;                                                         \
                *ret = (uint64_t) value;                                                      \
                return true;                                                                  \
        }
NUMBER_OF(int32_t)
NUMBER_OF(uint32_t)

/* The line after the last ')', if the text begins with "pid (". */
static bool split_stat(Span text, uint64_t *ret_pid, Span *ret_comm, Span *ret_line) {
        size_t open = 0, close = text.n, offset = 0;
        Span pid;

        while (open < text.n && text.bytes[open] != '(')
                open++;
        while (close > open && text.bytes[close - 1] != ')')
                close--;
        if (close <= open + 1 || open < 2 || text.bytes[open - 1] != ' ')
                return false;
        pid = (Span){ text.bytes, open - 1 };
        *ret_comm = (Span){ text.bytes + open + 1, close - open - 2 };
        return number_of_int32_t(pid, ret_pid) && (int64_t) *ret_pid > 0 &&
               oracle_line((Span){ text.bytes + close, text.n - close }, &offset, ret_line);
}

static void check_stat(Span text, const Reading *reading) {
        Span comm = {}, line = {}, word;
        uint64_t number = 0, pid = 0;
        bool has, is_thread = split_stat(text, &pid, &comm, &line) && word_at(line, 1, &word) &&
                              word.n == 1 && word_at(line, 20, &word) && oracle_u64(word, &number);

        expect_number(reading, "pid", is_thread, pid);
        expect_number(reading, "starttime", is_thread, number);
        expect_number(reading, "state", is_thread,
                      is_thread ? (uint64_t) oracle_trim(line).bytes[0] : 0);
        fuzz_expect(!is_thread || span_equal(reading->fields[1].text, comm),
                    "comm is what the outermost parentheses hold");
#define CHECK_STAT(member, type, field, ...)                                                    \
        has = is_thread && word_at(line, (field) -2, &word) && number_of_##type(word, &number); \
        expect_number(reading, #member, has, number);
        PROC_STAT_FIELDS(CHECK_STAT)
}

/* status */

static void read_status(Span text, Reading *ret) {
        ProcStatus status;

        ret->r = proc_status_parse(text, &status);
#define PUT_STATUS(member) \
        put_number(ret, SPAN_LITERAL(#member), status.has_##member, (uint64_t) status.member)
        PUT_STATUS(state);
        PUT_STATUS(tgid);
        PUT_STATUS(ppid);
        PUT_STATUS(uid);
        PUT_STATUS(gid);
        PUT_STATUS(kthread);
        PUT_STATUS(threads);
        PUT_STATUS(voluntary_csw);
        PUT_STATUS(nonvoluntary_csw);
        PUT_STATUS(n_namespaces);
        put_text(ret, SPAN_LITERAL("cpus_allowed"), status.has_cpus_allowed, status.cpus_allowed);
}

static void check_status(Span text, const Reading *reading) {
        static const struct {
                const char *name, *key;
                uint64_t max;
                bool first_word;
        } rows[] = {
                { "tgid", "Tgid", INT32_MAX, false },
                { "ppid", "PPid", INT32_MAX, false },
                { "uid", "Uid", UINT32_MAX, true },
                { "gid", "Gid", UINT32_MAX, true },
                { "threads", "Threads", UINT64_MAX, false },
                { "voluntary_csw", "voluntary_ctxt_switches", UINT64_MAX, false },
                { "nonvoluntary_csw", "nonvoluntary_ctxt_switches", UINT64_MAX, false },
        };
        uint64_t number = 0, pid;
        Span value, word;
        bool has;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                has = oracle_colon_value(text, span_of(rows[i].key), &value) == 1 &&
                      (!rows[i].first_word || word_at(value, 1, &value)) &&
                      oracle_u64(value, &number) && number <= rows[i].max;
                expect_number(reading, rows[i].name, has, number);
        }
        has = oracle_colon_value(text, SPAN_LITERAL("NSpid"), &value) == 1;
        for (number = 0; has && word_at(value, (unsigned) number + 1, &word); number++)
                has = oracle_u64(word, &pid) && pid <= INT32_MAX;
        expect_number(reading, "n_namespaces", has && number > 0, number);
        has = oracle_colon_value(text, SPAN_LITERAL("Kthread"), &value) == 1 &&
              (span_is(value, "0") || span_is(value, "1"));
        expect_number(reading, "kthread", has, has && value.bytes[0] == '1');
        has = oracle_colon_value(text, SPAN_LITERAL("State"), &value) == 1 && value.n > 0 &&
              (value.n == 1 || value.bytes[1] == ' ');
        expect_number(reading, "state", has, has ? (uint64_t) value.bytes[0] : 0);
}

/* sched */

static void check_voluntary_sleep(const ProcSched *sched) {
        uint64_t all = sched->values[PROC_SCHED_sum_sleep_runtime], voluntary = 0;
        uint64_t blocked = sched->values[PROC_SCHED_sum_block_runtime];
        bool has = (sched->present >> PROC_SCHED_sum_sleep_runtime & 1) &&
                   (sched->present >> PROC_SCHED_sum_block_runtime & 1);

        fuzz_expect(proc_sched_voluntary_sleep(sched, &voluntary) == has,
                    "sleep is voluntary when both totals are there");
        fuzz_expect(!has || (blocked < all ? voluntary + blocked == all : voluntary == 0),
                    "what was not blocked was voluntary");
}

static void read_sched(Span text, Reading *ret) {
        ProcSched sched;

        ret->r = proc_sched_parse(text, &sched);
#define PUT_SCHED(key, ...)                                                        \
        put_number(ret, SPAN_LITERAL(#key), sched.present >> PROC_SCHED_##key & 1, \
                   sched.values[PROC_SCHED_##key]);
        PROC_SCHED_KEYS(PUT_SCHED)
        put_number(ret, SPAN_LITERAL("ext.enabled"), sched.has_ext_enabled, sched.ext_enabled);
        fuzz_expect((sched.present & sched.negative) == 0, "what is negative is absent");
        check_voluntary_sleep(&sched);
}

static Span behind_rule(Span text) {
        size_t offset = 0;
        Span line;

        while (oracle_line(text, &offset, &line)) {
                size_t n_dashes = 0;

                while (n_dashes < line.n && line.bytes[n_dashes] == '-')
                        n_dashes++;
                if (n_dashes == line.n && n_dashes >= PROC_SCHED_MIN_DASHES)
                        return (Span){ text.bytes + offset, text.n - offset };
        }
        return (Span){};
}

/* The number of lines whose key, after its last dot, is @key. */
static unsigned sched_value(Span text, const char *key, Span *ret) {
        size_t offset = 0;
        unsigned n = 0;
        Span line, left, right;

        while (oracle_line(text, &offset, &line)) {
                if (!oracle_split(line, ':', &left, &right))
                        continue;
                left = oracle_trim(left);
                for (size_t i = left.n; i > 0; i--)
                        if (left.bytes[i - 1] == '.') {
                                left = (Span){ left.bytes + i, left.n - i };
                                break;
                        }
                if (span_is(left, key) && n++ == 0)
                        *ret = oracle_trim(right);
        }
        return n;
}

static bool sched_number(Span value, bool is_ms, uint64_t *ret) {
        Span left, right;

        return is_ms && oracle_split(value, '.', &left, &right) ? oracle_decimal(value, 6, ret)
                                                                : oracle_u64(value, ret);
}

static void check_sched(Span text, const Reading *reading) {
        Span lines = behind_rule(text), value;
        uint64_t number = 0;
        bool has;

#define IS_COUNT false
#define IS_MS true
#define CHECK_SCHED(key, kind, ...)                                                             \
        has = sched_value(lines, #key, &value) == 1 && sched_number(value, IS_##kind, &number); \
        expect_number(reading, #key, has, number);
        PROC_SCHED_KEYS(CHECK_SCHED)
        has = oracle_colon_value(lines, SPAN_LITERAL("ext.enabled"), &value) == 1 &&
              oracle_u64(value, &number);
        expect_number(reading, "ext.enabled", has, number != 0);
}

/* schedstat */

static void read_schedstat(Span text, Reading *ret) {
        ProcSchedstat schedstat;
        uint64_t resident = 0;
        bool has_resident;

        ret->r = proc_schedstat_parse(text, &schedstat);
        put_number(ret, SPAN_LITERAL("1"), schedstat.has_run_time_ns, schedstat.run_time_ns);
        put_number(ret, SPAN_LITERAL("2"), schedstat.has_wait_time_ns, schedstat.wait_time_ns);
        put_number(ret, SPAN_LITERAL("3"), schedstat.has_timeslices, schedstat.timeslices);
        has_resident = proc_statm_parse(text, &resident) == 0;
        put_number(ret, SPAN_LITERAL("statm"), has_resident, resident);
}

static void check_schedstat(Span text, const Reading *reading) {
        static const char *const names[] = { "1", "2", "3" };
        Span line = {}, word;
        uint64_t number = 0;
        size_t offset = 0;
        bool has;

        (void) oracle_line(text, &offset, &line);
        for (unsigned i = 0; i < ELEMENTSOF(names); i++) {
                has = word_at(line, i + 1, &word) && oracle_u64(word, &number);
                expect_number(reading, names[i], has, number);
        }
        /* statm is a line of numbers, too, and tells the second one where both are there. */
        has = word_at(line, 1, &word) && oracle_u64(word, &number) && word_at(line, 2, &word) &&
              oracle_u64(word, &number);
        expect_number(reading, "statm", has, number);
}

/* io */

static void read_io(Span text, Reading *ret) {
        ProcIo io;

        ret->r = proc_io_parse(text, &io);
#define PUT_IO(key, ...)                                                     \
        put_number(ret, SPAN_LITERAL(#key), io.present >> PROC_IO_##key & 1, \
                   io.values[PROC_IO_##key]);
        COUNTERS_OF_IO(PUT_IO)
}

static void check_io(Span text, const Reading *reading) {
        uint64_t number = 0;
        Span value;
        bool has;

#define CHECK_IO(key, ...)                                                 \
        has = oracle_colon_value(text, SPAN_LITERAL(#key), &value) == 1 && \
              oracle_u64(value, &number);                                  \
        expect_number(reading, #key, has, number);
        COUNTERS_OF_IO(CHECK_IO)
}

/* smaps_rollup */

static void read_smaps(Span text, Reading *ret) {
        static ProcSmaps smaps; /* large */

        ret->r = proc_smaps_parse(text, &smaps);
        for (size_t i = 0; i < smaps.n_entries; i++)
                put_number(ret, smaps.entries[i].key, smaps.entries[i].has_value,
                           smaps.entries[i].value);
}

static void check_smaps(Span text, const Reading *reading) {
        for (size_t i = 0; i < reading->n_fields; i++) {
                uint64_t number = 0;
                Span value;
                unsigned n = oracle_colon_value(text, reading->fields[i].name, &value);
                bool has = n == 1 && word_at(value, 1, &value) && oracle_u64(value, &number);

                for (size_t j = 0; j < reading->fields[i].name.n; j++) {
                        char c = reading->fields[i].name.bytes[j];

                        fuzz_expect((unsigned char) c < 128 && (isalnum(c) || c == '_'),
                                    "a key is letters and digits");
                }
                fuzz_expect(n > 0, "no key is made up");
                fuzz_expect(reading->fields[i].has == has, "a key has a value when it came once");
                fuzz_expect(!has || reading->fields[i].number == number, "a value is the text's");
        }
}

/* cgroup */

static void read_cgroup(Span text, Reading *ret) {
        ProcCgroup cgroup;

        ret->r = proc_cgroup_parse(text, &cgroup);
        put_text(ret, SPAN_LITERAL("path"), cgroup.has_path, cgroup.path);
        fuzz_expect(cgroup.has_path || (!cgroup.deleted && !cgroup.outside),
                    "no path is neither deleted nor outside");
        if (!cgroup.has_path)
                return;
        fuzz_expect(cgroup.path.n > 0 && cgroup.path.bytes[0] == '/', "a path is absolute");
        fuzz_expect(!memchr(cgroup.path.bytes, '\n', cgroup.path.n), "a path is one line");
        if (memmem(cgroup.path.bytes, cgroup.path.n, "/../", 4) ||
            (cgroup.path.n >= 3 && memcmp(cgroup.path.bytes + cgroup.path.n - 3, "/..", 3) == 0))
                fuzz_expect(cgroup.outside, "a path with \"..\" is outside");
        else
                fuzz_expect(!cgroup.outside, "a path without \"..\" is inside");
}

static void check_cgroup(Span text, const Reading *reading) {
        size_t offset = 0, n = 0;
        Span line, path = {};

        while (oracle_line(text, &offset, &line))
                if (line.n >= 3 && memcmp(line.bytes, "0::", 3) == 0 && n++ == 0)
                        path = (Span){ line.bytes + 3, line.n - 3 };
        if (!oracle_is_whole(text) || n > 1)
                fuzz_expect(reading->r == TEXT_E_MALFORMED, "two paths or a cut are malformed");
        fuzz_expect(reading->fields[0].has == (reading->r == 0 && n == 1),
                    "a path is there when one line has it");
        fuzz_expect(!reading->fields[0].has || span_equal(reading->fields[0].text, path),
                    "a path is taken verbatim");
}

typedef struct Grammar {
        char id;
        bool one_line; /* the lines after it are not parsed */
        void (*read)(Span text, Reading *ret);
        void (*check)(Span text, const Reading *reading);
} Grammar;

static const Grammar grammars[] = {
        { 's', true, read_stat, check_stat },      { 't', false, read_status, check_status },
        { 'd', false, read_sched, check_sched },   { 'c', true, read_schedstat, check_schedstat },
        { 'i', false, read_io, check_io },         { 'm', false, read_smaps, check_smaps },
        { 'g', false, read_cgroup, check_cgroup },
};

/* In memory of its own, so that the texts of its fields may not be looked at any more. */
static Reading *read_copy(const Grammar *grammar, Span text, Span garbage) {
        Reading *reading = calloc(1, sizeof(*reading));
        char *copy = malloc(text.n + garbage.n + 1);

        fuzz_expect(reading && copy, "there is memory for a text");
        memcpy(copy, text.bytes, text.n);
        memcpy(copy + text.n, garbage.bytes, garbage.n);
        grammar->read((Span){ copy, text.n + garbage.n }, reading);
        fuzz_expect(reading->r == 0 || reading->r == TEXT_E_MALFORMED,
                    "a text is in its grammar or malformed");
        if (grammar->id == 'm') /* where keys are the text's */
                reading->n_fields = 0;
        free(copy);
        return reading;
}

/* All of @part is in @whole, or @whole says that something came that took it away. */
static void expect_part(const Reading *part, const Reading *whole) {
        for (size_t i = 0; i < part->n_fields; i++) {
                if (!part->fields[i].has)
                        continue;
                fuzz_expect(whole->fields[i].has || whole->r == TEXT_E_MALFORMED,
                            "%s was not invented by a cut", part->fields[i].name.bytes);
                fuzz_expect(!whole->fields[i].has ||
                                    whole->fields[i].number == part->fields[i].number,
                            "%s is the same in a cut text", part->fields[i].name.bytes);
        }
}

static void check_grammar(const Grammar *grammar, Span text, unsigned n_lines) {
        _cleanup_(freep) Reading *whole = calloc(1, sizeof(*whole));
        size_t offset = 0;
        Span line;

        fuzz_expect(whole, "there is memory for a reading");
        grammar->read(text, whole);
        grammar->check(text, whole);
        fuzz_expect(whole->r != 0 || grammar->one_line || oracle_is_whole(text),
                    "a cut text is malformed");
        if (oracle_is_whole(text)) {
                _cleanup_(freep) Reading *torn =
                        read_copy(grammar, text, SPAN_LITERAL("tgid: 1 nr_switches : 1"));

                expect_part(torn, whole);
                fuzz_expect(torn->r == TEXT_E_MALFORMED || grammar->one_line,
                            "a torn line is malformed");
        }
        while (n_lines-- > 0 && oracle_line(text, &offset, &line))
                ;
        if (!grammar->one_line) {
                _cleanup_(freep) Reading *part =
                        read_copy(grammar, (Span){ text.bytes, offset }, SPAN_LITERAL(""));

                expect_part(part, whole);
        }
}

/* cmdline */

/* The next word under the kernel's rule: quotes hold blanks together. */
static bool cmdline_word(Span text, size_t *offset, Span *ret) {
        size_t start = *offset, end;
        bool quoted = false;

        while (start < text.n && strchr(" \t\n", text.bytes[start]) && text.bytes[start])
                start++;
        for (end = start; end < text.n; end++) {
                if (text.bytes[end] == '"')
                        quoted = !quoted;
                else if (!quoted && text.bytes[end] && strchr(" \t\n", text.bytes[end]))
                        break;
        }
        *offset = end;
        if (end == start)
                return false;
        *ret = (Span){ text.bytes + start, end - start };
        return true;
}

static bool sounds_secret(Span key) {
        static const char *const words[] = { "passw", "passphrase", "secret", "token",
                                             "credential" };

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                for (size_t at = 0; at + strlen(words[i]) <= key.n; at++)
                        if (strncasecmp(key.bytes + at, words[i], strlen(words[i])) == 0)
                                return true;
        return key.n >= 3 && strncasecmp(key.bytes + key.n - 3, "key", 3) == 0;
}

static void check_cmdline(Span text) {
        _cleanup_(buffer_done) Buffer once = {}, twice = {};
        const char *redacted;
        size_t at = 0, at_once = 0;
        bool has = false, ended = false;
        Span word, kept, key, value;

        fuzz_expect(kernel_cmdline_redact(text, &once) == 0, "a command line can be redacted");
        while (cmdline_word(text, &at, &word)) {
                bool is_pair = oracle_split(word, '=', &key, &value);

                fuzz_expect(cmdline_word(buffer_span(&once), &at_once, &kept),
                            "redacting keeps every word");
                if (!is_pair)
                        key = word;
                if (key.n > 0 && key.bytes[0] == '"')
                        key = (Span){ key.bytes + 1, key.n - 1 };
                ended |= span_is(word, "--");
                has |= !ended && span_is(key, "delayacct");
                if (is_pair && sounds_secret(key)) {
                        fuzz_expect(oracle_split(kept, '=', &key, &value) && value.n <= 4 &&
                                            memcmp(value.bytes, "***", 3) == 0,
                                    "the value of a secret is gone");
                } else {
                        fuzz_expect(span_equal(kept, word), "other words stay");
                }
        }
        fuzz_expect(!cmdline_word(buffer_span(&once), &at_once, &kept), "redacting adds no word");
        fuzz_expect(kernel_cmdline_has(text, "delayacct") == has, "an option is found");
        fuzz_expect(buffer_terminate(&once, &redacted) == 0 &&
                            kernel_cmdline_redact((Span){ redacted, once.n }, &twice) == 0 &&
                            span_equal(buffer_span(&once), buffer_span(&twice)),
                    "redacting twice is redacting once");
}

/* maps */

static bool number_of_hex(Span text, uint64_t max, uint64_t *ret) {
        uint64_t value = 0;

        for (size_t i = 0; i < text.n; i++) {
                char c = text.bytes[i];
                uint64_t digit = c >= 'a' ? (uint64_t) (c - 'a') + 10 : (uint64_t) (c - '0');

                if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
                        return false;
                if (value >= UINT64_C(1) << 60)
                        return false;
                value = 16 * value + digit;
        }
        *ret = value;
        return text.n > 0 && value <= max;
}

static bool number_pair_of_hex(Span text, char separator, uint64_t max, uint64_t *ret_a,
                               uint64_t *ret_b) {
        Span a, b;

        return oracle_split(text, separator, &a, &b) && number_of_hex(a, max, ret_a) &&
               number_of_hex(b, max, ret_b);
}

static bool split_mapping(Span line, ProcessMapping *ret) {
        uint64_t device_major, device_minor;
        size_t offset = 0;
        Span words[5];

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (!oracle_word(line, &offset, &words[i]))
                        return false;
        while (offset < line.n && line.bytes[offset] == ' ')
                offset++;
        ret->path = (Span){ line.bytes + offset, line.n - offset };
        if (!number_pair_of_hex(words[0], '-', UINT64_MAX, &ret->start, &ret->end) ||
            ret->start >= ret->end || words[1].n != 4 ||
            !number_of_hex(words[2], UINT64_MAX, &ret->offset) ||
            !number_pair_of_hex(words[3], ':', UINT32_MAX, &device_major, &device_minor) ||
            !oracle_u64(words[4], &ret->inode))
                return false;
        for (unsigned i = 0; i < 4; i++)
                if (words[1].bytes[i] != "rwxp"[i] && words[1].bytes[i] != "---s"[i])
                        return false;
        ret->dev = makedev((unsigned) device_major, (unsigned) device_minor);
        ret->is_executable = words[1].bytes[2] == 'x';
        return true;
}

/* What is printed of the path again is what was printed. */
static void check_path(const ProcessMapping *mapping) {
        _cleanup_(buffer_done) Buffer printed = {};
        char path[PROCESS_MAP_PATH_BYTES];

        if (!process_map_path(mapping, path))
                return;
        fuzz_expect(path[0] == '/', "a path begins at the root");
        for (const char *c = path; *c; c++)
                (void) (*c == '\n' ? buffer_append_text(&printed, "\\012")
                                   : buffer_append_byte(&printed, *c));
        fuzz_expect(span_equal(buffer_span(&printed), mapping->path), "a path is whole");
}

static void check_maps(Span text) {
        Cursor cursor = text;
        ProcessMapping wanted, mapping;
        uint64_t n = 0, n_lines = 0;
        size_t offset = 0;
        Span line;

        for (; oracle_line(text, &offset, &line);) {
                bool is_mapping = split_mapping(line, &wanted);

                n++;
                if (is_mapping && wanted.inode == 0 && !wanted.is_executable)
                        continue;
                fuzz_expect(process_map_next(&cursor, &mapping, &n_lines) ==
                                    (is_mapping ? 0 : TEXT_E_MALFORMED),
                            "a line is a mapping or malformed");
                fuzz_expect(n_lines == n, "every line is counted");
                if (!is_mapping)
                        continue;
                fuzz_expect(mapping.start == wanted.start && mapping.end == wanted.end &&
                                    mapping.offset == wanted.offset && mapping.dev == wanted.dev &&
                                    mapping.inode == wanted.inode &&
                                    mapping.is_executable == wanted.is_executable &&
                                    span_equal(mapping.path, wanted.path),
                            "a mapping is the line's");
                check_path(&mapping);
        }
        fuzz_expect(process_map_next(&cursor, &mapping, &n_lines) == TEXT_E_ABSENT &&
                            n_lines == n && cursor.n == text.n - offset,
                    "a torn line is left");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzInput input = fuzz_input(data, size);
        uint8_t id = fuzz_take_u8(&input);
        unsigned n_lines = fuzz_take_u8(&input);
        Span text = fuzz_take_rest(&input);

        for (size_t i = 0; i < ELEMENTSOF(grammars); i++)
                if (grammars[i].id == (char) id)
                        check_grammar(&grammars[i], text, n_lines);
        if (id == 'k')
                check_cmdline(text);
        else if (id == 'm')
                check_maps(text);
        else if (id == 'h')
                check_host_context(fuzz_input(data + 1, size - 1));
        else if (id == 'x')
                check_sched_ext(fuzz_input(data + 1, size - 1));
        return 0;
}
