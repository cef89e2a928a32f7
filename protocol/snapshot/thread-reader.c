/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/thread-reader.h"

#include <assert.h>
#include <string.h>

#include "base/name.h"
#include "base/number.h"
#include "metric/command.h"
#include "snapshot/thread-column.h"

#define COLUMN_BIT(name) (UINT32_C(1) << COLUMN_##name)
_Static_assert(_COLUMN_IDENTITY_MAX <= 32, "identity columns have a bit each");

/* The kernel's NR_CPUS is at most 8192; this is what the prior tool's files may hold. */
#define MAX_CPU 65535

static int fail(ThreadReader *reader, const char *complaint) {
        int r = json_scanner_fail(reader->scanner, complaint);

        assert(r != 0);
        return r;
}

/* values */

static int take_unsigned(ThreadReader *reader, uint64_t max, uint64_t *ret) {
        uint64_t value;

        if (!json_scanner_has_u64(reader->scanner, &value))
                return fail(reader, "an integer from 0 to 2^64-1 is expected");
        if (value > max)
                return fail(reader, "the number is too large");
        *ret = value;
        return 0;
}

static int take_bool(ThreadReader *reader, JsonToken token, bool *ret) {
        if (token != JSON_TOKEN_TRUE && token != JSON_TOKEN_FALSE)
                return fail(reader, "true or false is expected");
        *ret = token == JSON_TOKEN_TRUE;
        return 0;
}

static int take_text(ThreadReader *reader, JsonToken token, Span *ret) {
        if (token != JSON_TOKEN_STRING)
                return fail(reader, "a string is expected");
        *ret = reader->scanner->string;
        return 0;
}

int thread_reader_name(ThreadReader *reader, JsonToken token, NameSlot *ret) {
        NameSlot slot = { .is_known = true, .at = reader->bytes.n };
        Span text = {};
        int r;

        r = take_text(reader, token, &text);
        if (r != 0)
                return r;
        /* Escapes begin with this byte, and nearly no name has one. */
        if (text.n == 0 || !memchr(text.bytes, 0xee, text.n))
                r = buffer_append(&reader->bytes, text.bytes, text.n);
        else
                r = name_unescape(&reader->bytes, text);
        if (r < 0)
                return r;
        slot.n = reader->bytes.n - slot.at;
        *ret = slot;
        return 0;
}

/* An array of arguments, each of which is kept with a NUL. */
static int read_command(ThreadReader *reader, JsonToken token, NameSlot *ret) {
        NameSlot slot = { .is_known = true, .at = reader->bytes.n };
        int r;

        if (token != JSON_TOKEN_ARRAY)
                return fail(reader, "an array of arguments is expected");
        for (;;) {
                NameSlot argument;

                r = json_scanner_next(reader->scanner, &token);
                if (r != 0)
                        return r;
                if (token == JSON_TOKEN_ARRAY_END)
                        break;
                r = thread_reader_name(reader, token, &argument);
                if (r == 0)
                        r = buffer_append_byte(&reader->bytes, '\0');
                if (r != 0)
                        return r;
        }
        slot.n = reader->bytes.n - slot.at;
        *ret = slot;
        return 0;
}

/*
 * Reads {"Rss": kB, ...} and writes it again, so that only checked text is handed out. Without
 * members, it was not asked for.
 */
static int read_smaps(ThreadReader *reader, JsonToken token) {
        Buffer *smaps = &reader->smaps;
        bool is_empty = true;
        uint64_t value;
        Span key;
        int r;

        if (token != JSON_TOKEN_OBJECT)
                return fail(reader, "an object is expected");
        for (;;) {
                size_t n_before = smaps->n;
                bool is_plain = true;

                r = json_scanner_member(reader->scanner, &key);
                if (r != 0)
                        return r;
                if (!key.bytes) {
                        reader->sample.smaps_unasked = is_empty;
                        return smaps->n > 0 ? buffer_append_byte(smaps, '}') : 0;
                }
                is_empty = false;
                /* The kernel's keys can stand between quotes as they are; others are skipped. */
                for (size_t i = 0; i < key.n; i++)
                        is_plain &= key.bytes[i] > ' ' && key.bytes[i] <= '~' &&
                                    key.bytes[i] != '"' && key.bytes[i] != '\\';
                buffer_append_text(smaps, n_before == 0 ? "{\"" : ",\"");
                buffer_append(smaps, key.bytes, key.n);
                buffer_append_text(smaps, "\":");
                r = json_scanner_u64(reader->scanner, &value);
                if (r == 0)
                        r = buffer_append_u64(smaps, value);
                if (r != 0)
                        return r;
                if (!is_plain)
                        buffer_truncate(smaps, n_before);
        }
}

/* CPU lists */

static bool parse_cpu(Span *list, uint64_t *ret) {
        size_t n = 0;

        while (n < list->n && list->bytes[n] >= '0' && list->bytes[n] <= '9')
                n++;
        if (!number_parse_u64((Span){ list->bytes, n }, ret) || *ret > MAX_CPU)
                return false;
        *list = (Span){ list->bytes + n, list->n - n };
        return true;
}

/* "0-3,7": ascending ranges. */
static bool count_cpus(Span list, uint64_t *ret) {
        uint64_t n_cpus = 0, next = 0;

        for (;;) {
                uint64_t first, last;

                if (!parse_cpu(&list, &first) || first < next)
                        return false;
                last = first;
                if (list.n > 0 && list.bytes[0] == '-') {
                        list = (Span){ list.bytes + 1, list.n - 1 };
                        if (!parse_cpu(&list, &last) || last <= first)
                                return false;
                }
                n_cpus += last - first + 1;
                next = last + 1;
                if (list.n == 0 || list.bytes[0] != ',')
                        break;
                list = (Span){ list.bytes + 1, list.n - 1 };
        }
        *ret = n_cpus;
        return list.n == 0;
}

static int append_range(Buffer *buffer, bool is_first, uint64_t first, uint64_t last) {
        if (!is_first)
                buffer_append_byte(buffer, ',');
        if (last > first) {
                buffer_append_u64(buffer, first);
                buffer_append_byte(buffer, '-');
        }
        return buffer_append_u64(buffer, last);
}

/* Version 0: an ascending array of ids, empty when unknown. */
static int read_cpu_array(ThreadReader *reader) {
        uint64_t n_cpus = 0, first = 0, last = 0, cpu = 0;
        NameSlot slot = { .is_known = true, .at = reader->bytes.n };
        JsonToken token;
        int r;

        for (;; n_cpus++) {
                json_scanner_next(reader->scanner, &token);
                if (token == JSON_TOKEN_ARRAY_END)
                        break;
                r = take_unsigned(reader, MAX_CPU, &cpu);
                if (r != 0)
                        return r;
                if (n_cpus > 0 && cpu <= last)
                        return fail(reader, "CPU ids must ascend");
                if (n_cpus == 0)
                        first = cpu;
                else if (cpu > last + 1) {
                        (void) append_range(&reader->bytes, reader->bytes.n == slot.at, first,
                                            last);
                        first = cpu;
                }
                last = cpu;
        }
        if (n_cpus == 0)
                return 0;
        r = append_range(&reader->bytes, reader->bytes.n == slot.at, first, last);
        if (r < 0)
                return r;
        slot.n = reader->bytes.n - slot.at;
        reader->cpus = slot;
        thread_sample_put(&reader->sample, METRIC_cpu_affinity, n_cpus);
        return 0;
}

/* cells: the type of each, and which of its values mean that there is none */

static int read_metric(ThreadReader *reader, JsonToken token, MetricId id) {
        uint64_t value = 0, magnitude;
        bool is_negative, truth = false;
        int64_t policy;
        Span text = {};
        int r = 0;

        switch ((CellKind) thread_cell_kinds[id]) {
        case CELL_NONE:
                return 0;
        case CELL_UNSIGNED:
                r = take_unsigned(reader, UINT64_MAX, &value);
                break;
        case CELL_U32:
                r = take_unsigned(reader, UINT32_MAX, &value);
                break;
        case CELL_I32:
                magnitude = reader->scanner->number.magnitude;
                is_negative = reader->scanner->number.negative;
                if (token != JSON_TOKEN_INTEGER ||
                    magnitude > (uint64_t) INT32_MAX + (is_negative ? 1 : 0))
                        return fail(reader, "an integer from -2^31 to 2^31-1 is expected");
                value = is_negative ? 0 - magnitude : magnitude;
                break;
        case CELL_BOOL:
                r = take_bool(reader, token, &truth);
                value = truth;
                break;
        case CELL_CHARACTER:
                r = take_text(reader, token, &text);
                if (r == 0 && text.n != 1)
                        return fail(reader, "a single ASCII character is expected");
                if (r == 0 && text.bytes[0] == '~' && reader->is_version_0)
                        return 0;
                if (r == 0)
                        value = (unsigned char) text.bytes[0];
                break;
        case CELL_POLICY:
                r = take_text(reader, token, &text);
                if (r != 0 || (text.n == 0 && reader->is_version_0))
                        return r;
                if (!policy_parse(text, &policy) || policy < INT32_MIN || policy > INT32_MAX)
                        return fail(reader, "the name of a scheduling policy is expected");
                value = (uint64_t) policy;
                break;
        case CELL_CPUS:
                if (reader->is_version_0)
                        return token == JSON_TOKEN_ARRAY
                                       ? read_cpu_array(reader)
                                       : fail(reader, "an array of CPU ids is expected");
                r = take_text(reader, token, &text);
                if (r != 0)
                        return r;
                if (!count_cpus(text, &value))
                        return fail(reader, "an ascending list of CPU ranges is expected");
                r = thread_reader_name(reader, token, &reader->cpus);
                break;
        }
        if (r == 0)
                thread_sample_put(&reader->sample, id, value);
        return r;
}

int thread_reader_cell(void *row, unsigned column, JsonToken token) {
        ThreadReader *reader = row;
        ThreadSample *sample = &reader->sample;
        uint64_t value = 0;
        int r;

        if (column >= _COLUMN_IDENTITY_MAX)
                return read_metric(reader, token, (MetricId) (column - _COLUMN_IDENTITY_MAX));
        switch (column) {
        case COLUMN_tid:
        case COLUMN_tgid:
                r = take_unsigned(reader, INT32_MAX, &value);
                if (r == 0 && value == 0)
                        r = fail(reader, "0 is no thread");
                *(column == COLUMN_tid ? &sample->tid : &sample->tgid) = (pid_t) value;
                break;
        case COLUMN_ppid:
                r = take_unsigned(reader, INT32_MAX, &value);
                sample->ppid = (pid_t) value;
                break;
        case COLUMN_uid:
                r = take_unsigned(reader, UINT32_MAX, &value);
                sample->uid = (uid_t) value;
                break;
        case COLUMN_gid:
                r = take_unsigned(reader, UINT32_MAX, &value);
                sample->gid = (gid_t) value;
                break;
        case COLUMN_pcomm:
                r = thread_reader_name(reader, token, &reader->pcomm);
                break;
        case COLUMN_comm:
                r = thread_reader_name(reader, token, &reader->comm);
                break;
        case COLUMN_cgroup:
                r = thread_reader_name(reader, token, &reader->cgroup);
                break;
        case COLUMN_start_time_clock_ticks:
                r = take_unsigned(reader, UINT64_MAX, &sample->start_ticks);
                break;
        case COLUMN_kthread:
                r = take_bool(reader, token, &sample->kthread);
                break;
        case COLUMN_self:
                r = take_bool(reader, token, &sample->self);
                break;
        case COLUMN_exe_dev:
                r = take_unsigned(reader, UINT64_MAX, &sample->exe_dev);
                break;
        case COLUMN_exe_inode:
                r = take_unsigned(reader, UINT64_MAX, &sample->exe_inode);
                break;
        case COLUMN_smaps_rollup_kb:
                r = read_smaps(reader, token);
                break;
        case COLUMN_command:
                r = read_command(reader, token, &reader->command);
                break;
        case COLUMN_command_line:
                r = read_command(reader, token, &reader->command_line);
                break;
        default:
                return 0;
        }
        if (r == 0)
                reader->seen |= UINT32_C(1) << column;
        return r;
}

/* rows */

Span thread_reader_span(const ThreadReader *reader, const NameSlot *slot) {
        if (!slot->is_known)
                return (Span){};
        return (Span){ slot->n > 0 ? reader->bytes.bytes + slot->at : "", slot->n };
}

/* threads */

void thread_reader_begin(void *row) {
        ThreadReader *reader = row;

        thread_sample_clear(&reader->sample);
        buffer_clear(&reader->bytes);
        buffer_clear(&reader->smaps);
        reader->pcomm = reader->comm = reader->cgroup = reader->cpus = (NameSlot){};
        reader->command = reader->command_line = (NameSlot){};
        reader->seen = 0;
        reader->unmeasured = 0;
}

int thread_reader_end(ThreadReader *reader) {
        ThreadSample *sample = &reader->sample;
        int r = 0;

        sample->has_ppid = (reader->seen & COLUMN_BIT(ppid)) != 0;
        sample->has_owner = (~reader->seen & (COLUMN_BIT(uid) | COLUMN_BIT(gid))) == 0;
        sample->has_kthread = (reader->seen & COLUMN_BIT(kthread)) != 0;
        sample->has_exe = (~reader->seen & (COLUMN_BIT(exe_dev) | COLUMN_BIT(exe_inode))) == 0;
        sample->pcomm = thread_reader_span(reader, &reader->pcomm);
        sample->comm = thread_reader_span(reader, &reader->comm);
        sample->cgroup = thread_reader_span(reader, &reader->cgroup);
        sample->cpus = thread_reader_span(reader, &reader->cpus);
        sample->command = thread_reader_span(reader, &reader->command);
        sample->command_line = thread_reader_span(reader, &reader->command_line);
        sample->command_name = sample->pcomm;
        if (sample->command.n == 0)
                return 0;
        /* Threads of one process follow each other, so that most commands are the last one. */
        if (!span_equal(sample->command, buffer_span(&reader->last_command))) {
                buffer_clear(&reader->last_command);
                buffer_clear(&reader->last_name);
                r = command_append_name(&reader->last_name, sample->command);
                if (r == 0)
                        r = buffer_append(&reader->last_command, sample->command.bytes,
                                          sample->command.n);
        }
        if (reader->last_name.n > 0)
                sample->command_name = buffer_span(&reader->last_name);
        return r;
}

static int end_thread(void *row) {
        ThreadReader *reader = row;

        if ((~reader->seen &
             (COLUMN_BIT(tid) | COLUMN_BIT(tgid) | COLUMN_BIT(start_time_clock_ticks))) != 0)
                return json_scanner_fail(reader->scanner,
                                         "tid, tgid and start_time_clock_ticks must have a value");
        thread_sample_put(&reader->sample, METRIC_thread_count, 1);
        return thread_reader_end(reader);
}

/* Nearly all columns are metrics of this kind. */
static bool has_count(unsigned column) {
        return column >= _COLUMN_IDENTITY_MAX && column < _COLUMN_MAX &&
               thread_cell_kinds[column - _COLUMN_IDENTITY_MAX] == CELL_UNSIGNED;
}

static void take_counts(void *row, const unsigned *columns, const uint64_t *values, size_t n) {
        ThreadReader *reader = row;

        for (size_t i = 0; i < n; i++)
                thread_sample_put(&reader->sample, (MetricId) (columns[i] - _COLUMN_IDENTITY_MAX),
                                  values[i]);
}

const TableCounts thread_counts = { .has = has_count, .take = take_counts };

const TableRows thread_rows = {
        .n_columns = _COLUMN_MAX,
        .column_name = thread_column_name,
        .find_column = thread_column_find,
        .begin = thread_reader_begin,
        .cell = thread_reader_cell,
        .end = end_thread,
        .counts = &thread_counts,
};

/* objects of version 0 */

/* The name of that member in later versions of the prior tool. */
#define SMAPS_LATER_NAME "smaps_rollup_kib"

/* A member of an object: a column, the flag of a family, or one that this program does not know. */
enum {
        MEMBER_FLAG = _COLUMN_MAX,
        MEMBER_UNKNOWN = MEMBER_FLAG + THREAD_FAMILIES,
};

/*
 * Finds the meaning of the key of number @i in its object. Nearly all objects of a file have the
 * same members in the same order, and no objects but theirs are at this depth once the first has
 * begun. So a key that repeats is one that was looked up.
 */
static ThreadMember member_of(ThreadReader *reader, Span key, size_t i) {
        ThreadMember member;

        if (i < reader->n_members && json_scanner_repeats(reader->scanner))
                return reader->members[i];
        member = span_is(key, SMAPS_LATER_NAME) ? COLUMN_smaps_rollup_kb : thread_column_find(key);
        if (member == _COLUMN_MAX)
                while (member < MEMBER_UNKNOWN &&
                       !span_is(key, thread_families[member - MEMBER_FLAG].key))
                        member++;
        if (i < THREAD_READER_MEMBERS) {
                reader->members[i] = member;
                reader->n_members = MAX_OF(reader->n_members, i + 1);
        }
        return member;
}

/* The rollup under its other name: files for all versions of the prior tool have both. */
static int read_smaps_again(ThreadReader *reader, JsonToken token) {
        Buffer first = reader->smaps;
        bool is_same;
        int r;

        buffer_init(&reader->smaps, 0);
        r = thread_reader_cell(reader, COLUMN_smaps_rollup_kb, token);
        is_same = span_equal(buffer_span(&first), buffer_span(&reader->smaps));
        buffer_done(&reader->smaps);
        reader->smaps = first;
        if (r == 0 && !is_same)
                return json_scanner_fail(reader->scanner, "the rollup differs under its two names");
        return r;
}

static int read_member(ThreadReader *reader, ThreadMember member) {
        ThreadColumn column = member;
        bool is_measured;
        JsonToken token;
        int r;

        if (member == MEMBER_UNKNOWN)
                return json_scanner_skip(reader->scanner);
        if (member >= MEMBER_FLAG) {
                r = json_scanner_bool(reader->scanner, &is_measured);
                if (r == 0 && !is_measured)
                        reader->unmeasured |= 1u << (member - MEMBER_FLAG);
                return r;
        }
        r = json_scanner_next(reader->scanner, &token);
        if (r != 0)
                return r;
        if (column == COLUMN_smaps_rollup_kb && (reader->seen & COLUMN_BIT(smaps_rollup_kb)) != 0)
                return read_smaps_again(reader, token);
        return token == JSON_TOKEN_NULL ? 0 : thread_reader_cell(reader, column, token);
}

/* Reads an object to its end; *ret_member is the member being read, for the complaint. */
static int read_object(ThreadReader *reader, ThreadMember *ret_member) {
        Span key;
        int r;

        thread_reader_begin(reader);
        for (size_t i = 0;; i++) {
                *ret_member = MEMBER_UNKNOWN;
                r = json_scanner_member(reader->scanner, &key);
                if (r != 0)
                        return r;
                if (!key.bytes)
                        break;
                *ret_member = member_of(reader, key, i);
                r = read_member(reader, *ret_member);
                if (r != 0)
                        return r;
        }
        /* Version 0 had to write values also where they were not measured. */
        for (unsigned i = 0; i < THREAD_FAMILIES; i++)
                for (unsigned k = 0; reader->unmeasured >> i & 1 && k < thread_families[i].n_ids;
                     k++)
                        thread_sample_drop(&reader->sample, thread_families[i].ids[k]);
        /* Only the leader has the number; the other threads have 0. */
        if (reader->sample.tid != reader->sample.tgid)
                thread_sample_drop(&reader->sample, METRIC_nr_threads);
        if (reader->cgroup.n == 0)
                reader->cgroup.is_known = false;
        /* All threads but the leaders have {}. */
        reader->sample.smaps_unasked = false;
        return end_thread(reader);
}

int thread_reader_object(ThreadReader *reader, DocumentReader *document, uint64_t n_before,
                         bool *ret_more) {
        ThreadMember member = MEMBER_UNKNOWN;
        JsonToken token;
        int r;

        *ret_more = false;
        json_scanner_next(reader->scanner, &token);
        if (token == JSON_TOKEN_ARRAY_END)
                return 0;
        if (token != JSON_TOKEN_OBJECT)
                return json_scanner_fail(reader->scanner, "a thread must be an object");
        r = read_object(reader, &member);
        if (r != 0)
                document_blame(document, n_before + 1,
                               member < _COLUMN_MAX ? thread_column_name(member) : NULL);
        *ret_more = r == 0;
        return r;
}
