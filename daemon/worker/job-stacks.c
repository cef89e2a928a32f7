/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stack/stack-view.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/name.h"
#include "base/number.h"
#include "metric/record-place.h"
#include "record/recording-document.h"
#include "worker/recorded-stacks.h"
#include "worker/view-subjects.h"

/*
 * The stacks of a recording, with the exact time of threads divided among them; or in their place
 * how long its waits were.
 */

static const char *const places[_RECORD_PLACE_MAX] = RECORD_PLACE_NAMES;
static const char *const wakers[STACK_WAKER_FIRST] = STACK_WAKER_NAMES;
static const char *const object_kinds[_RECORD_OBJECT_MAX] = STACK_OBJECT_NAMES;

/* The waits of one row of lengths, all together. */
typedef struct Histogram {
        const StackLengths *row;
        uint64_t n, ns;
} Histogram;

typedef struct Stacks {
        Subject begin, end;
        Head whole; /* of the recording, whose ends have their own */
        RecordingDocument recording;
        StackView view;
        Histogram *histograms; /* owned; the heaviest first */
        size_t n_histograms;
        Buffer text;      /* of a frame */
        bool tells_files; /* and places in them, of every frame */
        bool tells_lines; /* of the source */
} Stacks;

static void stacks_done(Stacks *stacks) {
        stack_view_done(&stacks->view);
        free(stacks->histograms);
        recording_document_done(&stacks->recording);
        buffer_done(&stacks->text);
        head_done(&stacks->whole);
        subject_done(&stacks->begin);
        subject_done(&stacks->end);
}

static int compare_histograms(const void *a, const void *b) {
        const Histogram *x = a, *y = b;

        if (x->ns != y->ns)
                return x->ns > y->ns ? -1 : 1;
        return memcmp(&x->row->key, &y->row->key, sizeof(x->row->key));
}

/* Those of places that nobody asks for are in the sums of places, and nowhere else. */
static int add_up_lengths(Work *work, Stacks *stacks) {
        const StackTable *table = &stacks->recording.table;
        uint64_t kept = work->order->analysis.places;

        if (!stacks->recording.facts.histogram)
                return work_refuse_parameter(work, "histogram",
                                             "the recording has none: it is of running time alone, "
                                             "or was made by an earlier version");
        stacks->histograms = calloc(table->n_lengths + 1, sizeof(*stacks->histograms));
        if (!stacks->histograms)
                return -ENOMEM;
        for (size_t i = 0; i < table->n_lengths; i++) {
                const RecordLengths *lengths = &table->lengths[i].lengths;
                Histogram sum = { .row = &table->lengths[i] };
                uint64_t *of_place = &stacks->view.place_ns[sum.row->key.place];

                for (unsigned which = 0; which < RECORD_LENGTHS; which++) {
                        sum.n = number_add_saturating(sum.n, lengths->n[which]);
                        sum.ns = number_add_saturating(sum.ns, lengths->ns[which]);
                }
                *of_place = number_add_saturating(*of_place, sum.ns);
                if (sum.n > 0 && (kept == 0 || (kept >> sum.row->key.place & 1)))
                        stacks->histograms[stacks->n_histograms++] = sum;
        }
        if (stacks->n_histograms > 1)
                qsort(stacks->histograms, stacks->n_histograms, sizeof(*stacks->histograms),
                      compare_histograms);
        return 0;
}

static int read_all(Work *work, Stacks *stacks) {
        const AnalysisOrder *order = &work->order->analysis;
        SnapshotFault fault = {};
        bool is_interval;
        int r = view_subjects_open_one(work, &order->subjects[0], &stacks->begin, &stacks->end,
                                       &is_interval);

        if (r == 0 && !is_interval)
                return work_refuse_parameter(work, "recording",
                                             "it is a snapshot, which has no stacks");
        if (r == 0)
                r = work_read_recording(work, &stacks->end, order->lines, &stacks->recording);
        if (r == 0) {
                r = snapshot_file_read_head(stacks->end.fd, &stacks->whole, &fault);
                if (r > 0)
                        return work_refuse_fault(work, subject_name(&stacks->end), &fault);
        }
        if (r == 0 && order->wakers && !stacks->recording.facts.wakers)
                return work_refuse_parameter(work, "wakers",
                                             "the recording was made without wakers");
        if (r == 0 && order->lines && !stacks->recording.facts.lines)
                return work_refuse_parameter(work, "lines", "the recording was made without lines");
        if (r == 0 && order->histogram)
                return add_up_lengths(work, stacks);
        return r == 0 ? work_divide_stacks(work, &stacks->begin, &stacks->end, &stacks->recording,
                                           order->wakers, &stacks->view)
                      : r;
}

/* answers */

/* Where the frame is: the number of a file and a place in it; null of the kernel and of no file. */
static void write_position(const Stacks *stacks, const StackFrame *frame, JsonWriter *writer) {
        if (frame->module >= stacks->recording.modules.n) {
                json_write_null(writer);
                return;
        }
        json_write_array(writer);
        json_write_u64(writer, frame->module);
        json_write_u64(writer, frame->offset);
        json_write_end(writer);
}

static void write_files(const Modules *modules, JsonWriter *writer) {
        json_write_key(writer, "files");
        json_write_array(writer);
        for (size_t i = 0; i < modules->n; i++) {
                json_write_object(writer);
                json_write_member_name(writer, "path", span_of(modules->all[i]->path));
                json_write_member_text(writer, "buildId", modules->all[i]->build_id);
                json_write_end(writer);
        }
        json_write_end(writer);
}

/* Where the frames of a stack are among all; there are none of a word. */
static void find_frames(const Stacks *stacks, uint32_t stack, size_t *ret_begin, size_t *ret_end) {
        const StackTable *table = &stacks->recording.table;

        *ret_begin = *ret_end = 0;
        if (stack_word(stack))
                return;
        *ret_begin = stack > 0 ? table->stacks[stack - 1] : 0;
        *ret_end = table->stacks[stack];
}

static void write_frames(Stacks *stacks, uint32_t stack, const char *key, JsonWriter *writer) {
        const StackTable *table = &stacks->recording.table;
        const char *word = stack_word(stack);
        size_t begin, end;

        json_write_key(writer, key);
        json_write_array(writer);
        if (word)
                json_write_text(writer, word);
        find_frames(stacks, stack, &begin, &end);
        for (size_t at = begin; at < end; at++)
                json_write_name(writer, stack_frame_name(&stacks->recording,
                                                         &table->frames[table->numbers[at]],
                                                         &stacks->text));
        json_write_end(writer);
}

static void write_positions(const Stacks *stacks, uint32_t stack, JsonWriter *writer) {
        const StackTable *table = &stacks->recording.table;
        size_t begin, end;

        json_write_key(writer, "positions");
        json_write_array(writer);
        find_frames(stacks, stack, &begin, &end);
        for (size_t at = begin; at < end; at++)
                write_position(stacks, &table->frames[table->numbers[at]], writer);
        json_write_end(writer);
}

/* Files of the source and lines, as far as they are known. */
static void write_lines(const Stacks *stacks, uint32_t stack, JsonWriter *writer) {
        const StackTable *table = &stacks->recording.table;
        size_t begin, end;

        json_write_key(writer, "lines");
        json_write_array(writer);
        find_frames(stacks, stack, &begin, &end);
        for (size_t at = begin; at < end; at++) {
                const StackFrame *frame = &table->frames[table->numbers[at]];

                if (frame->line == 0) {
                        json_write_null(writer);
                        continue;
                }
                json_write_array(writer);
                json_write_name(writer, span_of(table->names.bytes + frame->file));
                json_write_u64(writer, frame->line);
                json_write_end(writer);
        }
        json_write_end(writer);
}

/* Members of an open object. */
static void write_waker(const Stacks *stacks, const StackWaker *waker, JsonWriter *writer) {
        if (waker->kind < STACK_WAKER_FIRST) {
                json_write_member_text(writer, "kind", wakers[waker->kind]);
                return;
        }
        json_write_member_text(writer, "kind", "thread");
        json_write_member_name(writer, "process",
                               span_of(stack_view_label(&stacks->view, waker->process)));
        json_write_member_name(writer, "thread",
                               span_of(stack_view_label(&stacks->view, waker->comm)));
}

/* Where a waker was while it had a lock. */
static void write_held(Stacks *stacks, uint32_t held, uint32_t stack, JsonWriter *writer) {
        if (held == 0)
                return;
        json_write_key(writer, "held");
        json_write_object(writer);
        json_write_member_text(writer, "place", places[held - 1]);
        write_frames(stacks, stack, "frames", writer);
        json_write_end(writer);
}

/* The heaviest ones, and how much time those have that are left out. */
#define MAX_OBJECTS 16u
static void write_objects(const Stacks *stacks, const StackRow *row, JsonWriter *writer) {
        const StackTable *table = &stacks->recording.table;
        const StackOn *on = &stacks->view.on[row->first_on];
        uint64_t others_ns = 0;
        size_t n = 0;

        json_write_key(writer, "objects");
        json_write_array(writer);
        for (size_t i = 0; i < row->n_on; i++) {
                const StackObject *object;

                if (on[i].object == STACK_OBJECT_OTHERS || n == MAX_OBJECTS) {
                        others_ns += on[i].ns;
                        continue;
                }
                object = &table->objects[on[i].object - 1];
                n++;
                json_write_object(writer);
                json_write_member_text(writer, "kind", object_kinds[object->kind]);
                json_write_member_name(writer, "name", span_of(table->names.bytes + object->name));
                json_write_member_u64(writer, "ns", on[i].ns);
                json_write_end(writer);
        }
        json_write_end(writer);
        if (others_ns > 0)
                json_write_member_u64(writer, "otherObjectsNs", others_ns);
}

static void write_stack(const void *userdata, size_t index, JsonWriter *writer) {
        Stacks *stacks = (Stacks *) (uintptr_t) userdata;
        const StackRow *row = &stacks->view.rows[index];

        json_write_object(writer);
        json_write_member_name(writer, "process",
                               span_of(stack_view_label(&stacks->view, row->process)));
        json_write_member_name(writer, "thread",
                               span_of(stack_view_label(&stacks->view, row->comm)));
        json_write_member_text(writer, "place", places[row->place]);
        json_write_member_u64(writer, "ns", row->ns);
        json_write_member_u64(writer, "samples", row->n_samples);
        json_write_member_u64(writer, "maxNs", row->max_ns);
        json_write_member_u64(writer, "standardErrorNs",
                              number_of_real(round(sqrt(row->variance_ns2))));
        json_write_member_bool(writer, "exact", row->is_exact);
        write_frames(stacks, row->stack, "frames", writer);
        if (stacks->tells_lines)
                write_lines(stacks, row->stack, writer);
        if (stacks->tells_files)
                write_positions(stacks, row->stack, writer);
        if (row->waker.kind != STACK_WAKER_NONE) {
                json_write_key(writer, "waker");
                json_write_object(writer);
                if (row->stack == STACK_OUTSIDE || row->stack == STACK_UNSAMPLED)
                        json_write_member_text(writer, "kind",
                                               row->stack == STACK_OUTSIDE ? "outside"
                                                                           : "unsampled");
                else
                        write_waker(stacks, &row->waker, writer);
                write_held(stacks, row->held, row->held_stack, writer);
                json_write_end(writer);
        }
        if (row->waker.kind >= STACK_WAKER_INTERRUPT)
                write_frames(stacks, row->waker_stack, "wakerFrames", writer);
        if (row->woken_by.kind != STACK_WAKER_NONE) {
                json_write_key(writer, "wokenBy");
                json_write_object(writer);
                write_waker(stacks, &row->woken_by, writer);
                json_write_member_u64(writer, "ns", row->woken_ns);
                write_held(stacks, row->woken_held, row->woken_held_stack, writer);
                json_write_end(writer);
        }
        if (row->n_on > 0)
                write_objects(stacks, row, writer);
        json_write_end(writer);
}

/* Steps are written one after the other, and their cells follow each other. */
typedef struct StepWriter {
        const Course *course;
        uint64_t places; /* that are wanted; 0: all */
        size_t at;       /* of the cells */
} StepWriter;

static void write_step(const void *userdata, size_t index, JsonWriter *writer) {
        StepWriter *steps = (StepWriter *) (uintptr_t) userdata;
        const Course *course = steps->course;
        const CourseStep *step = &course->steps[index];
        const CourseGroup *group = NULL;

        json_write_object(writer);
        json_write_member_u64(writer, "beginBoottimeNs", step->begin_boottime_ns);
        json_write_member_u64(writer, "endBoottimeNs", step->end_boottime_ns);
        json_write_member_u64(writer, "threads", step->n_threads);
        json_write_member_u64(writer, "ended", step->n_ended);
        json_write_key(writer, "groups");
        json_write_array(writer);
        for (; steps->at < course->n_cells && course->cells[steps->at].step == index; steps->at++) {
                const CourseCell *cell = &course->cells[steps->at];

                if (steps->places != 0 && !(steps->places >> cell->place & 1))
                        continue;
                if (group != &course->groups[cell->group]) {
                        if (group) {
                                json_write_end(writer);
                                json_write_end(writer);
                        }
                        group = &course->groups[cell->group];
                        json_write_object(writer);
                        json_write_member_name(
                                writer, "process",
                                (Span){ group->process, strnlen(group->process, 16) });
                        json_write_member_name(writer, "thread",
                                               (Span){ group->comm, strnlen(group->comm, 16) });
                        json_write_key(writer, "places");
                        json_write_object(writer);
                }
                json_write_member_u64(writer, places[cell->place], cell->ns);
        }
        if (group) {
                json_write_end(writer);
                json_write_end(writer);
        }
        json_write_end(writer);
        json_write_end(writer);
}

static Span name_of(const char text[static TASK_COMM_BYTES]) {
        return (Span){ text, strnlen(text, TASK_COMM_BYTES) };
}

static void write_histogram(const void *userdata, size_t index, JsonWriter *writer) {
        const Histogram *histogram = &((const Stacks *) userdata)->histograms[index];
        const RecordLengthKey *key = &histogram->row->key;
        const RecordLengths *lengths = &histogram->row->lengths;

        json_write_object(writer);
        json_write_member_name(writer, "process", name_of(key->process));
        json_write_member_name(writer, "thread", name_of(key->comm));
        json_write_member_text(writer, "place", places[key->place]);
        json_write_member_u64(writer, "count", histogram->n);
        json_write_member_u64(writer, "ns", histogram->ns);
        json_write_key(writer, "buckets");
        json_write_array(writer);
        for (unsigned which = 0; which < RECORD_LENGTHS; which++) {
                if (lengths->n[which] == 0)
                        continue;
                json_write_object(writer);
                json_write_member_u64(writer, "atLeastNs", record_length_begin(which));
                json_write_key(writer, "belowNs");
                if (which + 1 < RECORD_LENGTHS)
                        json_write_u64(writer, record_length_begin(which + 1));
                else
                        json_write_null(writer);
                json_write_member_u64(writer, "count", lengths->n[which]);
                json_write_member_u64(writer, "ns", lengths->ns[which]);
                json_write_end(writer);
        }
        json_write_end(writer);
        json_write_end(writer);
}

/* Rows of other places go, and the order stays. Returns how many are left. */
static size_t keep_places(StackView *view, uint64_t kept) {
        size_t n = 0;

        for (size_t i = 0; i < view->n_rows; i++)
                if (kept == 0 || (kept >> view->rows[i].place & 1))
                        view->rows[n++] = view->rows[i];
        return n;
}

static int answer(Work *work, Stacks *stacks) {
        const RecordingFacts *facts = &stacks->recording.facts;
        const AnalysisOrder *order = &work->order->analysis;
        Subject shown = stacks->end; /* a shallow copy */
        size_t n_kept =
                order->histogram ? stacks->n_histograms : keep_places(&stacks->view, order->places);
        size_t n = order->limit > 0 ? (size_t) MIN_OF((uint64_t) n_kept, order->limit) : n_kept;
        JsonWriter *writer = answer_begin(&work->answer);
        StepWriter steps = { .course = &stacks->recording.course, .places = order->places };
        int r;

        json_write_key(writer, "snapshot");
        shown.head = stacks->whole;
        subject_write_head(&shown, writer);
        recording_facts_write(writer, facts);
        json_write_member_u64(writer, "elapsedNs",
                              facts->end_boottime_ns - facts->start_boottime_ns);
        if (!order->histogram) {
                json_write_member_u64(writer, "threadsThroughout", stacks->view.n_throughout);
                json_write_member_u64(writer, "threadsAddingUp", stacks->view.n_adding_up);
        }
        json_write_key(writer, "places");
        json_write_object(writer);
        for (unsigned place = 0; place < _RECORD_PLACE_MAX; place++)
                if (order->histogram ? place != RECORD_PLACE_running
                                     : !order->wakers || stack_view_has_waker(place))
                        json_write_member_u64(writer, places[place], stacks->view.place_ns[place]);
        json_write_end(writer);
        stacks->tells_files = order->files && !order->histogram;
        stacks->tells_lines = order->lines;
        if (stacks->tells_files)
                write_files(&stacks->recording.modules, writer);
        r = answer_send(&work->answer, PACKET_PART, -EBADF);
        if (r == 0 && order->course)
                r = answer_list(&work->answer, "steps", steps.course->n_steps, write_step, &steps);
        if (r == 0)
                r = order->histogram
                            ? answer_list(&work->answer, "histograms", n, write_histogram, stacks)
                            : answer_list(&work->answer, "stacks", n, write_stack, stacks);
        if (r != 0)
                return r;
        json_write_member_u64(answer_begin(&work->answer),
                              order->histogram ? "hiddenHistograms" : "hiddenStacks", n_kept - n);
        return answer_send(&work->answer, PACKET_LAST, -EBADF);
}

int work_stacks(Work *work) {
        _cleanup_(stacks_done) Stacks stacks = {};
        int r;

        subject_init(&stacks.begin);
        subject_init(&stacks.end);
        r = read_all(work, &stacks);
        return r == 0 ? answer(work, &stacks) : r;
}
