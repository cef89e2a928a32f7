/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/thread-reader.h"

#include "metric/command.h"
#include "snapshot/thread-column.h"

#define COLUMN_BIT(name) (UINT32_C(1) << COLUMN_##name)
_Static_assert(_COLUMN_IDENTITY_MAX <= 32, "identity columns have a bit each");

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

const TableRows thread_rows = {
        .n_columns = _COLUMN_MAX,
        .column_name = thread_column_name,
        .find_column = thread_column_find,
        .begin = thread_reader_begin,
        .cell = thread_reader_cell,
        .end = end_thread,
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
