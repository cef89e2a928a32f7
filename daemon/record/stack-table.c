/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/stack-table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/cleanup.h"
#include "base/number.h"

void stack_table_done(StackTable *table) {
        free(table->frames);
        index_done(&table->by_frame);
        buffer_done(&table->names);
        free(table->name_places);
        index_done(&table->by_name);
        free(table->numbers);
        free(table->stacks);
        index_done(&table->by_stack);
        free(table->objects);
        index_done(&table->by_object);
        free(table->pairs);
        index_done(&table->by_pair);
        free(table->pairs_each);
        free(table->threads);
        index_done(&table->by_thread);
        free(table->samples);
        index_done(&table->by_sample);
        free(table->lengths);
        index_done(&table->by_length);
        *table = (StackTable){};
}

size_t stack_table_bytes(const StackTable *table) {
        return table->n_frames_allocated * sizeof(StackFrame) + index_bytes(&table->by_frame) +
               table->names.n_allocated + table->n_name_places_allocated * sizeof(uint32_t) +
               index_bytes(&table->by_name) + table->n_numbers_allocated * sizeof(uint32_t) +
               table->n_stacks_allocated * sizeof(size_t) + index_bytes(&table->by_stack) +
               table->n_objects_allocated * sizeof(StackObject) + index_bytes(&table->by_object) +
               table->n_pairs_allocated * sizeof(*table->pairs) + index_bytes(&table->by_pair) +
               table->n_pairs_each * sizeof(*table->pairs_each) +
               table->n_threads_allocated * sizeof(StackThread) + index_bytes(&table->by_thread) +
               table->n_samples_allocated * sizeof(StackSample) + index_bytes(&table->by_sample) +
               table->n_lengths_allocated * sizeof(StackLengths) + index_bytes(&table->by_length);
}

static Span key_of_name(const void *owner, size_t element) {
        const StackTable *table = owner;

        return span_of(table->names.bytes + table->name_places[element]);
}

static Span key_of_frame(const void *owner, size_t element) {
        const StackTable *table = owner;

        return (Span){ (const char *) &table->frames[element], sizeof(StackFrame) };
}

static Span key_of_stack(const void *owner, size_t element) {
        const StackTable *table = owner;
        size_t begin = element > 0 ? table->stacks[element - 1] : 0;
        size_t n = table->stacks[element] - begin;

        /* While all stacks are empty there are no numbers. */
        return n > 0 ? (Span){ (const char *) (table->numbers + begin),
                               n * sizeof(*table->numbers) }
                     : (Span){};
}

static Span key_of_object(const void *owner, size_t element) {
        const StackTable *table = owner;

        return (Span){ (const char *) &table->objects[element], sizeof(StackObject) };
}

static Span key_of_pair(const void *owner, size_t element) {
        const StackTable *table = owner;

        return (Span){ (const char *) table->pairs[element], sizeof(table->pairs[element]) };
}

static Span key_of_thread(const void *owner, size_t element) {
        const StackTable *table = owner;

        return (Span){ (const char *) &table->threads[element], offsetof(StackThread, comm) };
}

static Span key_of_sample(const void *owner, size_t element) {
        const StackTable *table = owner;

        return (Span){ (const char *) &table->samples[element].key, sizeof(StackSampleKey) };
}

static Span key_of_lengths(const void *owner, size_t element) {
        const StackTable *table = owner;

        return (Span){ (const char *) &table->lengths[element].key, sizeof(RecordLengthKey) };
}

int stack_table_add_name(StackTable *table, Span name, uint32_t *ret) {
        size_t found, at;
        int r;

        *ret = 0;
        if (name.n == 0)
                return 0;
        found = index_find(&table->by_name, name, key_of_name, table);
        if (found != INDEX_NONE) {
                *ret = table->name_places[found];
                return 0;
        }
        if (table->names.n == 0)
                (void) buffer_append_byte(&table->names, '\0');
        at = table->names.n;
        (void) buffer_append(&table->names, name.bytes, name.n);
        (void) buffer_append_byte(&table->names, '\0');
        r = buffer_failure(&table->names);
        if (r == 0)
                r = ARRAY_RESERVE(table->name_places, table->n_name_places_allocated,
                                  table->n_name_places + 1);
        if (r == 0)
                r = index_add(&table->by_name, name, table->n_name_places);
        if (r == 0)
                *ret = table->name_places[table->n_name_places++] = (uint32_t) at;
        return r;
}

int stack_table_add_frame(StackTable *table, uint32_t module, uint64_t offset, Span name,
                          uint32_t *ret) {
        StackFrame frame = { .offset = offset, .module = module };
        int r = stack_table_add_name(table, name, &frame.name);

        return r < 0 ? r : stack_table_put_frame(table, &frame, ret);
}

int stack_table_put_frame(StackTable *table, const StackFrame *frame, uint32_t *ret) {
        Span key = { (const char *) frame, sizeof(*frame) };
        size_t found = index_find(&table->by_frame, key, key_of_frame, table);
        int r;

        if (found == INDEX_NONE) {
                r = ARRAY_RESERVE(table->frames, table->n_frames_allocated, table->n_frames + 1);
                if (r == 0)
                        r = index_add(&table->by_frame, key, table->n_frames);
                if (r < 0)
                        return r;
                found = table->n_frames;
                table->frames[table->n_frames++] = *frame;
        }
        *ret = (uint32_t) found;
        return 0;
}

int stack_table_add_stack(StackTable *table, const uint32_t *frames, size_t n, uint32_t *ret) {
        Span key = { (const char *) frames, n * sizeof(*frames) };
        size_t found = index_find(&table->by_stack, key, key_of_stack, table);
        int r;

        if (found == INDEX_NONE) {
                if (table->n_stacks >= STACK_TABLE_MAX_STACKS) {
                        table->n_overflow++;
                        *ret = STACK_NONE;
                        return 0;
                }
                r = ARRAY_RESERVE(table->numbers, table->n_numbers_allocated, table->n_numbers + n);
                if (r == 0)
                        r = ARRAY_RESERVE(table->stacks, table->n_stacks_allocated,
                                          table->n_stacks + 1);
                if (r == 0)
                        r = index_add(&table->by_stack, key, table->n_stacks);
                if (r < 0)
                        return r;
                if (n > 0)
                        memcpy(table->numbers + table->n_numbers, frames, n * sizeof(*frames));
                table->n_numbers += n;
                found = table->n_stacks;
                table->stacks[table->n_stacks++] = table->n_numbers;
        }
        *ret = (uint32_t) found;
        return 0;
}

int stack_table_add_object(StackTable *table, RecordObjectKind kind, Span name, uint32_t *ret) {
        StackObject object = { .kind = kind };
        Span key = { (const char *) &object, sizeof(object) };
        bool is_full = table->n_objects >= STACK_MAX_OBJECTS ||
                       name.n > STACK_OBJECTS_MAX_BYTES - table->n_object_bytes;
        size_t found;
        int r;

        *ret = STACK_OBJECT_OTHERS;
        if (is_full && index_find(&table->by_name, name, key_of_name, table) == INDEX_NONE)
                return 0;
        r = stack_table_add_name(table, name, &object.name);
        if (r < 0)
                return r;
        found = index_find(&table->by_object, key, key_of_object, table);
        if (found == INDEX_NONE && !is_full) {
                r = ARRAY_RESERVE(table->objects, table->n_objects_allocated, table->n_objects + 1);
                if (r == 0)
                        r = index_add(&table->by_object, key, table->n_objects);
                if (r < 0)
                        return r;
                found = table->n_objects;
                table->objects[table->n_objects++] = object;
                table->n_object_bytes += name.n;
        }
        if (found != INDEX_NONE)
                *ret = (uint32_t) found + 1;
        return 0;
}

int stack_table_place_object(StackTable *table, uint32_t stack, uint32_t *object) {
        const uint32_t pair[2] = { stack, *object };
        Span key = { (const char *) pair, sizeof(pair) };
        size_t n = table->n_pairs_each;
        int r;

        if (*object == STACK_OBJECT_NONE || *object == STACK_OBJECT_OTHERS || stack == STACK_NONE ||
            index_find(&table->by_pair, key, key_of_pair, table) != INDEX_NONE)
                return 0;
        r = ARRAY_RESERVE(table->pairs_each, table->n_pairs_each, (size_t) stack + 1);
        if (r == 0 && table->n_pairs_each > n)
                memset(table->pairs_each + n, 0, table->n_pairs_each - n);
        if (r == 0 && table->pairs_each[stack] == STACK_OBJECTS_EACH) {
                *object = STACK_OBJECT_OTHERS;
                return 0;
        }
        if (r == 0)
                r = ARRAY_RESERVE(table->pairs, table->n_pairs_allocated, table->n_pairs + 1);
        if (r == 0)
                r = index_add(&table->by_pair, key, table->n_pairs);
        if (r < 0)
                return r;
        memcpy(table->pairs[table->n_pairs++], pair, sizeof(pair));
        table->pairs_each[stack]++;
        return 0;
}

int stack_table_add_thread(StackTable *table, const StackThread *thread, uint32_t *ret) {
        Span key = { (const char *) thread, offsetof(StackThread, comm) };
        size_t found = index_find(&table->by_thread, key, key_of_thread, table);
        bool only_wakes = thread->only_wakes;
        int r;

        if (found != INDEX_NONE)
                only_wakes = only_wakes && table->threads[found].only_wakes;
        else {
                r = ARRAY_RESERVE(table->threads, table->n_threads_allocated, table->n_threads + 1);
                if (r == 0)
                        r = index_add(&table->by_thread, key, table->n_threads);
                if (r < 0)
                        return r;
                found = table->n_threads++;
        }
        table->threads[found] = *thread; /* with the name that it has now */
        table->threads[found].only_wakes = only_wakes;
        *ret = (uint32_t) found;
        return 0;
}

StackThread *stack_table_find_thread(StackTable *table, uint32_t tid, uint32_t tgid,
                                     uint64_t start_boottime_ns) {
        const StackThread wanted = { .start_boottime_ns = start_boottime_ns,
                                     .tid = tid,
                                     .tgid = tgid };
        size_t found = index_find(&table->by_thread,
                                  (Span){ (const char *) &wanted, offsetof(StackThread, comm) },
                                  key_of_thread, table);

        return found == INDEX_NONE ? NULL : &table->threads[found];
}

int stack_table_add_sample(StackTable *table, const StackSampleKey *key, uint64_t ns,
                           uint64_t weight_ns) {
        Span bytes = { (const char *) key, sizeof(*key) };
        size_t found = index_find(&table->by_sample, bytes, key_of_sample, table);
        StackSample *sample;
        int r;

        if (found == INDEX_NONE) {
                r = ARRAY_RESERVE(table->samples, table->n_samples_allocated, table->n_samples + 1);
                if (r == 0)
                        r = index_add(&table->by_sample, bytes, table->n_samples);
                if (r < 0)
                        return r;
                found = table->n_samples++;
                table->samples[found] = (StackSample){ .key = *key };
        }
        sample = &table->samples[found];
        if (ns >= weight_ns) {
                sample->long_ns += ns;
                sample->n_long++;
        } else {
                sample->short_ns += weight_ns;
                sample->n_short++;
                sample->short_variance_us2 += weight_ns / 1000 * ((weight_ns - ns) / 1000);
        }
        if (ns > sample->max_ns)
                sample->max_ns = ns;
        return 0;
}

int stack_table_put_sample(StackTable *table, const StackSample *sample) {
        int r = ARRAY_RESERVE(table->samples, table->n_samples_allocated, table->n_samples + 1);

        if (r == 0)
                table->samples[table->n_samples++] = *sample;
        return r;
}

/* Where what has been added up is one of two. */
static int merge_sample(StackTable *table, const StackSample *sample) {
        size_t found = index_find(&table->by_sample,
                                  (Span){ (const char *) &sample->key, sizeof(sample->key) },
                                  key_of_sample, table);
        StackSample *into;
        int r;

        if (found == INDEX_NONE) {
                r = stack_table_put_sample(table, sample);
                return r < 0 ? r
                             : index_add(&table->by_sample,
                                         (Span){ (const char *) &sample->key, sizeof(sample->key) },
                                         table->n_samples - 1);
        }
        into = &table->samples[found];
        into->long_ns += sample->long_ns;
        into->n_long += sample->n_long;
        into->short_ns += sample->short_ns;
        into->n_short += sample->n_short;
        into->short_variance_us2 += sample->short_variance_us2;
        into->max_ns = MAX_OF(into->max_ns, sample->max_ns);
        return 0;
}

/* Stacks and samples of @table as those of @folded, by what its frames and stacks are there. */
static int fold(const StackTable *table, StackTable *folded, uint32_t *frames, uint32_t *stacks) {
        uint32_t *numbers = table->numbers;
        int r = 0;

        for (size_t i = 0; i < table->n_frames && r == 0; i++)
                r = stack_table_put_frame(folded, &table->frames[i], &frames[i]);
        for (size_t i = 0; i < table->n_numbers && r == 0; i++)
                numbers[i] = frames[numbers[i]];
        for (size_t i = 0, begin = 0; i < table->n_stacks && r == 0; i++) {
                r = stack_table_add_stack(folded, numbers + begin, table->stacks[i] - begin,
                                          &stacks[i]);
                begin = table->stacks[i];
        }
        for (size_t i = 0; i < table->n_samples && r == 0; i++) {
                StackSample sample = table->samples[i];
                StackSampleKey *key = &sample.key;

                if (key->stack != STACK_NONE)
                        key->stack = stacks[key->stack];
                if (key->waker >= STACK_WAKER_INTERRUPT && key->waker_stack != STACK_NONE)
                        key->waker_stack = stacks[key->waker_stack];
                if (key->held != 0 && key->held_stack != STACK_NONE)
                        key->held_stack = stacks[key->held_stack];
                r = merge_sample(folded, &sample);
        }
        return r;
}

int stack_table_fold(StackTable *table) {
        _cleanup_(freep) uint32_t *frames = malloc((table->n_frames + 1) * sizeof(*frames));
        _cleanup_(freep) uint32_t *stacks = malloc((table->n_stacks + 1) * sizeof(*stacks));
        StackTable folded = {}, old = *table;
        int r = frames && stacks ? fold(table, &folded, frames, stacks) : -ENOMEM;

        if (r < 0) {
                stack_table_done(&folded);
                return r;
        }
#define TAKE_FOLDED(member)            \
        table->member = folded.member; \
        folded.member = old.member;
        TAKE_FOLDED(frames)
        TAKE_FOLDED(n_frames)
        TAKE_FOLDED(n_frames_allocated)
        TAKE_FOLDED(by_frame)
        TAKE_FOLDED(numbers)
        TAKE_FOLDED(n_numbers)
        TAKE_FOLDED(n_numbers_allocated)
        TAKE_FOLDED(stacks)
        TAKE_FOLDED(n_stacks)
        TAKE_FOLDED(n_stacks_allocated)
        TAKE_FOLDED(by_stack)
        TAKE_FOLDED(samples)
        TAKE_FOLDED(n_samples)
        TAKE_FOLDED(n_samples_allocated)
        TAKE_FOLDED(by_sample)
#undef TAKE_FOLDED
        stack_table_done(&folded);
        return 0;
}

int stack_table_add_lengths(StackTable *table, const RecordLengthKey *key,
                            const RecordLengths *lengths) {
        RecordLengthKey plain = { .place = key->place };
        Span bytes = { (const char *) &plain, sizeof(plain) };
        RecordLengths *into;
        size_t found;
        int r;

        memcpy(plain.process, key->process, strnlen(key->process, sizeof(key->process)));
        memcpy(plain.comm, key->comm, strnlen(key->comm, sizeof(key->comm)));
        found = index_find(&table->by_length, bytes, key_of_lengths, table);
        if (found == INDEX_NONE) {
                r = ARRAY_RESERVE(table->lengths, table->n_lengths_allocated, table->n_lengths + 1);
                if (r == 0)
                        r = index_add(&table->by_length, bytes, table->n_lengths);
                if (r < 0)
                        return r;
                found = table->n_lengths++;
                table->lengths[found] = (StackLengths){ .key = plain };
        }
        into = &table->lengths[found].lengths;
        for (unsigned which = 0; which < RECORD_LENGTHS; which++) {
                into->n[which] = number_add_saturating(into->n[which], lengths->n[which]);
                into->ns[which] = number_add_saturating(into->ns[which], lengths->ns[which]);
        }
        return 0;
}
