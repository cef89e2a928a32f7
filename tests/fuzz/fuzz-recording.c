/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * The document of a recording, and the division of exact times by it. A document that is read lies
 * within its bounds: every number of a frame, stack, thread and module is that of one that is
 * there. Written and read again it is the same, and how much is read at a time makes no difference.
 * The rows of a view add up to its places, whatever the numbers are.
 *
 * Aims at: daemon/record/recording-document.c, daemon/record/stack-table.c,
 *          daemon/record/course/course.c, daemon/analysis/stack/stack-view.c
 */
#include "fuzz.h"

#include <string.h>

#include "analysis/stack/stack-view.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "metric/record-place.h"
#include "plain.h"
#include "record/recording-document.h"

typedef struct Pieces {
        Span rest;
        size_t n_piece;
} Pieces;

static int give(void *userdata, char *space, size_t n_space, size_t *ret_n) {
        Pieces *source = userdata;
        Span *rest = &source->rest;
        size_t n = MIN_OF(rest->n, n_space);

        *ret_n = MIN_OF(n, source->n_piece);
        if (*ret_n > 0)
                memcpy(space, rest->bytes, *ret_n);
        *rest = (Span){ *ret_n > 0 ? rest->bytes + *ret_n : rest->bytes, rest->n - *ret_n };
        return 0;
}

static int take(void *userdata, const char *bytes, size_t n) {
        return buffer_append(userdata, bytes, n);
}

static int read_text(Span text, size_t n_piece, RecordingDocument *ret) {
        _cleanup_(freep) char *copy = fuzz_copy(text);
        Pieces source = { { copy, text.n }, n_piece };
        char complaint[DOCUMENT_COMPLAINT_BYTES] = "";
        uint64_t offset = 0;
        int r;

        *ret = (RecordingDocument){};
        r = recording_document_read(give, &source, 0, ret, &offset, complaint);
        if (r != 0) {
                fuzz_expect(r == JSON_E_MALFORMED, "a document is malformed, or it is read: %d", r);
                fuzz_expect(offset <= text.n, "a complaint lies within the document");
                expect_complaint(complaint);
        }
        return r;
}

static void write_text(const RecordingDocument *document, Buffer *ret) {
        fuzz_expect(recording_document_write(&document->facts, &document->table, &document->course,
                                             &document->modules, take, ret) == 0,
                    "what was read can be written");
}

static void check_bounds(const RecordingDocument *document) {
        const StackTable *table = &document->table;
        size_t at = 0;

        for (size_t i = 0; i < table->n_frames; i++) {
                uint32_t module = table->frames[i].module;

                fuzz_expect(module == STACK_KERNEL || module == STACK_NO_MODULE ||
                                    module < document->modules.n,
                            "the module of a frame is there");
                fuzz_expect(table->frames[i].name < MAX_OF(table->names.n, (size_t) 1),
                            "the name of a frame is there");
        }
        for (size_t i = 0; i < table->n_stacks; i++)
                for (; at < table->stacks[i]; at++)
                        fuzz_expect(table->numbers[at] < table->n_frames,
                                    "the frames of a stack are there");
        fuzz_expect(at == table->n_numbers, "stacks follow each other");
        for (size_t i = 0; i < table->n_objects; i++)
                fuzz_expect(table->objects[i].kind > RECORD_OBJECT_NONE &&
                                    table->objects[i].kind < _RECORD_OBJECT_MAX &&
                                    table->objects[i].name < table->names.n,
                            "the name of an object is there");
        for (size_t i = 0; i < table->n_samples; i++) {
                const StackSampleKey *key = &table->samples[i].key;

                fuzz_expect(key->object <= table->n_objects || key->object == STACK_OBJECT_OTHERS,
                            "the object of a sample is there");
                fuzz_expect(key->thread < table->n_threads && key->place < _RECORD_PLACE_MAX &&
                                    (key->stack == STACK_NONE || key->stack < table->n_stacks),
                            "thread, place and stack of a sample are there");
        }
        for (size_t i = 0; i < document->course.n_cells; i++) {
                const CourseCell *cell = &document->course.cells[i];

                fuzz_expect(
                        cell->step < document->course.n_steps &&
                                cell->group < document->course.n_groups &&
                                cell->place < _RECORD_PLACE_MAX &&
                                (i == 0 || cell->step >= cell[-1].step),
                        "step, group and place of a cell are there, and steps follow each other");
        }
}

static void check_lengths(const StackTable *table) {
        for (size_t i = 0; i < table->n_lengths; i++) {
                const RecordLengthKey *key = &table->lengths[i].key;

                fuzz_expect(key->place < _RECORD_PLACE_MAX, "the place of a length is there");
                for (size_t k = i; k-- > 0 && i - k < 64;)
                        fuzz_expect(memcmp(key, &table->lengths[k].key, sizeof(*key)) != 0,
                                    "lengths of one name and place are one row");
        }
}

/* Threads of the document have times of the snapshots, too, but for a few. */
static void check_view(FuzzInput *input, RecordingDocument *document) {
        uint32_t user_hz = fuzz_take_u16(input);
        uint64_t places[_RECORD_PLACE_MAX] = {};
        bool by_waker = fuzz_take_u8(input) & 1;
        StackView view = {};

        for (size_t i = 0; i < document->table.n_threads && input->n > 0; i++) {
                uint8_t kind = fuzz_take_u8(input);
                ThreadSample sample;

                thread_sample_clear(&sample);
                sample.tid = (pid_t) document->table.threads[i].tid;
                sample.start_ticks = kind & 1 ? 0 : fuzz_take_u64(input);
                sample.pcomm = fuzz_take(input, kind >> 4);
                sample.comm = fuzz_take(input, 3);
                for (int end = 0; end < 2; end++) {
                        thread_sample_put(&sample, METRIC_run_time_ns, fuzz_take_u64(input));
                        thread_sample_put(&sample, METRIC_lock_wait_ns, fuzz_take_u16(input));
                        if (!(kind & (2 << end)))
                                continue;
                        fuzz_expect((end ? stack_view_add_end : stack_view_add_begin)(&view,
                                                                                      &sample) == 0,
                                    "a thread is taken");
                }
        }
        fuzz_expect(stack_view_divide(&view, document, user_hz, by_waker) == 0,
                    "times are divided");
        for (size_t i = 0; i < view.n_rows; i++) {
                const StackRow *row = &view.rows[i];

                fuzz_expect(row->stack == STACK_NONE || row->stack == STACK_UNSAMPLED ||
                                    row->stack == STACK_OUTSIDE ||
                                    row->stack < document->table.n_stacks,
                            "the stack of a row is there");
                fuzz_expect(row->process < view.labels.n && row->comm < view.labels.n,
                            "the names of a row are there");
                fuzz_expect(row->variance_ns2 >= 0, "a variance is not negative");
                fuzz_expect(row->waker.process < view.labels.n &&
                                    row->woken_by.comm < view.labels.n &&
                                    row->woken_by.kind <= STACK_WAKER_FIRST,
                            "the names of a waker are there");
                fuzz_expect(row->waker.kind < STACK_WAKER_INTERRUPT ||
                                    row->waker_stack == STACK_NONE ||
                                    row->waker_stack < document->table.n_stacks,
                            "the stack of a waker is there");
                fuzz_expect(row->woken_ns <= row->ns, "a waker has a part of the row");
                fuzz_expect(row->first_on + row->n_on <= view.n_on,
                            "the objects of a row are there");
                for (size_t k = row->first_on; k < row->first_on + row->n_on; k++)
                        fuzz_expect(
                                view.on[k].ns <= row->ns &&
                                        (k == row->first_on || view.on[k].ns <= view.on[k - 1].ns),
                                "objects have a part of the row, and the heaviest is first");
                places[row->place] += row->ns;
        }
        fuzz_expect(memcmp(places, view.place_ns, sizeof(places)) == 0, "rows add up to places");
        stack_view_done(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzInput input = fuzz_input(data, size);
        size_t n_piece = (size_t) fuzz_take_u8(&input) + 1;
        Span of_view = fuzz_take_until(&input, '\n'), text = fuzz_take_rest(&input);
        FuzzInput numbers = { of_view.bytes, of_view.n };
        RecordingDocument document, again;
        Buffer first = {}, second = {};
        int r = read_text(text, n_piece, &document);

        fuzz_expect(read_text(text, 4096, &again) == r, "pieces make no difference");
        recording_document_done(&again);
        check_bounds(&document);
        check_lengths(&document.table);
        if (r == 0) {
                write_text(&document, &first);
                fuzz_expect(read_text(buffer_span(&first), n_piece, &again) == 0,
                            "what was written can be read");
                write_text(&again, &second);
                fuzz_expect(span_equal(buffer_span(&first), buffer_span(&second)),
                            "what was written is read as it was");
                recording_document_done(&again);
                check_view(&numbers, &document);
        }
        recording_document_done(&document);
        buffer_done(&first);
        buffer_done(&second);
        return 0;
}
