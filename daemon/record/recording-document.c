/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/recording-document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/err.h"
#include "base/name.h"
#include "document/table-reader.h"
#include "metric/record-place.h"

#define FLUSH_BYTES (64u << 10)
/* Each CPU may have added one while another one did. */
#define LENGTH_ROWS_MAX (2 * RECORD_MAX_LENGTH_ROWS)

static const char *const places[_RECORD_PLACE_MAX] = RECORD_PLACE_NAMES;
static const char *const wakers[STACK_WAKER_FIRST] = STACK_WAKER_NAMES;
static const char *const ends[_RECORD_END_MAX] = RECORD_END_NAMES;
static const char *const object_kinds[_RECORD_OBJECT_MAX] = STACK_OBJECT_NAMES;

/* tables */

#define MODULE_COLUMNS(C) C(path) C(build_id)
#define FRAME_COLUMNS(C) C(module) C(offset) C(name) C(file) C(line)
#define STACK_COLUMNS(C) C(frames)
#define THREAD_COLUMNS(C) C(tid) C(tgid) C(start_boottime_ns) C(comm) C(process) C(only_wakes)
#define SAMPLE_COLUMNS(C)     \
        C(thread)             \
        C(place)              \
        C(stack)              \
        C(long_ns)            \
        C(long_count)         \
        C(short_ns)           \
        C(short_count)        \
        C(short_variance_us2) \
        C(max_ns) C(object) C(waker) C(waker_stack) C(held_place) C(held_stack)
#define OBJECT_COLUMNS(C) C(kind) C(name)
#define GROUP_COLUMNS(C) C(process) C(thread)
#define STEP_COLUMNS(C) C(begin_boottime_ns) C(end_boottime_ns) C(threads) C(ended)
#define CELL_COLUMNS(C) C(step) C(group) C(place) C(ns)
#define TIME_COLUMNS(C) C(thread) C(place) C(ns)
#define LENGTH_COLUMNS(C) C(process) C(comm) C(place) C(at_least_ns) C(count) C(ns)
/* The last ones, which are there if lines of the source were looked for. */
#define FRAME_COLUMNS_OF_LINES 2u
/* The last one, which is there if it is told who ends waits. */
#define THREAD_COLUMNS_OF_WAKERS 1u

#define COLUMN_NAME(name) #name,
#define DEFINE_COLUMNS(word, LIST, PREFIX)                               \
        static const char *const word##_names[] = { LIST(COLUMN_NAME) }; \
        enum { LIST(PREFIX) _##PREFIX##MAX };                            \
        static const char *word##_name_of(unsigned column) {             \
                return word##_names[column];                             \
        }                                                                \
        static unsigned word##_find(Span name) {                         \
                return name_find(name, word##_names, _##PREFIX##MAX);    \
        }
#define MODULE_(name) MODULE_##name,
#define FRAME_(name) FRAME_##name,
#define STACK_(name) STACK_##name,
#define THREAD_(name) THREAD_##name,
#define SAMPLE_(name) SAMPLE_##name,
#define OBJECT_(name) OBJECT_##name,
#define GROUP_(name) GROUP_##name,
#define STEP_(name) STEP_##name,
#define CELL_(name) CELL_##name,
#define LENGTH_(name) LENGTH_##name,
#define TIME_(name) TIME_##name,
DEFINE_COLUMNS(module, MODULE_COLUMNS, MODULE_)
DEFINE_COLUMNS(frame, FRAME_COLUMNS, FRAME_)
DEFINE_COLUMNS(stack, STACK_COLUMNS, STACK_)
DEFINE_COLUMNS(thread, THREAD_COLUMNS, THREAD_)
DEFINE_COLUMNS(sample, SAMPLE_COLUMNS, SAMPLE_)
DEFINE_COLUMNS(object, OBJECT_COLUMNS, OBJECT_)
DEFINE_COLUMNS(group, GROUP_COLUMNS, GROUP_)
DEFINE_COLUMNS(step, STEP_COLUMNS, STEP_)
DEFINE_COLUMNS(cell, CELL_COLUMNS, CELL_)
DEFINE_COLUMNS(length, LENGTH_COLUMNS, LENGTH_)
DEFINE_COLUMNS(time, TIME_COLUMNS, TIME_)

/* writing */

typedef struct Output {
        Buffer buffer;
        JsonWriter json;
        SnapshotSink sink;
        void *userdata;
        int failure;
} Output;

static void flush(Output *output, size_t threshold) {
        if (output->failure != 0 || output->buffer.n < threshold || output->buffer.n == 0)
                return;
        output->failure = output->sink(output->userdata, output->buffer.bytes, output->buffer.n);
        buffer_clear(&output->buffer);
}

static void begin_table(Output *output, const char *name, const char *const *columns, size_t n) {
        json_write_key(&output->json, name);
        json_write_object(&output->json);
        json_write_key(&output->json, "columns");
        json_write_array(&output->json);
        for (size_t i = 0; i < n; i++)
                json_write_text(&output->json, columns[i]);
        json_write_end(&output->json);
        json_write_key(&output->json, "rows");
        json_write_array(&output->json);
}

static void end_row(Output *output) {
        json_write_end(&output->json);
        flush(output, FLUSH_BYTES);
}

static void end_table(Output *output) {
        json_write_end(&output->json);
        json_write_end(&output->json);
}

static const char *const thread_words[_RECORD_THREADS_MAX] = {
        [RECORD_THREADS_ALL] = "all",
        [RECORD_THREADS_USER] = "user",
        [RECORD_THREADS_KERNEL] = "kernel",
};

static void write_numbers(JsonWriter *json, const char *key, const uint32_t *numbers, uint32_t n) {
        if (n == 0)
                return;
        json_write_key(json, key);
        json_write_array(json);
        for (uint32_t i = 0; i < MIN_OF(n, RECORD_FILTER_MAX); i++)
                json_write_u64(json, numbers[i]);
        json_write_end(json);
}

/* Writes the member "filter". A condition that is not set has no member in it. */
static void write_scope(JsonWriter *json, const RecordScope *scope) {
        const RecordFilter *filter = &scope->filter;

        json_write_key(json, "filter");
        json_write_object(json);
        if (filter->starter != 0)
                json_write_member_bool(json, "descendants", true);
        write_numbers(json, "pids", filter->pids, filter->n_pids);
        write_numbers(json, "uids", filter->uids, filter->n_uids);
        if (scope->comm[0] != '\0')
                json_write_member_name(json, "comm", span_of(scope->comm));
        if (scope->cgroup[0] != '\0')
                json_write_member_name(json, "cgroup", span_of(scope->cgroup));
        if (filter->threads != RECORD_THREADS_ALL)
                json_write_member_text(json, "threads", thread_words[filter->threads]);
        if (scope->min_ns > 0)
                json_write_member_u64(json, "minNs", scope->min_ns);
        if (scope->max_ns > 0)
                json_write_member_u64(json, "maxNs", scope->max_ns);
        json_write_end(json);
}

#define WRITE_COUNT(name, member) json_write_member_u64(json, #name, facts->member);

void recording_facts_write(JsonWriter *json, const RecordingFacts *facts) {
        json_write_key(json, "recording");
        json_write_object(json);
        json_write_member_u64(json, "formatVersion", RECORDING_FORMAT_VERSION);
        json_write_member_bool(json, "waiting", facts->waiting);
        json_write_member_bool(json, "running", facts->running);
        json_write_member_bool(json, "kernelFrames", facts->frames);
        if (facts->pointers)
                json_write_member_bool(json, "framePointers", true);
        json_write_member_bool(json, "seesReturn", facts->sees_return);
        json_write_member_bool(json, "hasClock", facts->has_clock);
        if (facts->ended_by != RECORD_END_UNKNOWN)
                json_write_member_text(json, "endedBy", ends[facts->ended_by]);
        unclocked_time_write(json, &facts->unclocked);
        RECORDING_COUNTS(WRITE_COUNT)
        if (facts->holders)
                json_write_member_bool(json, "holders", true);
        if (facts->wakers)
                json_write_member_bool(json, "wakers", true);
        if (recording_has_wakers(facts)) {
                RECORDING_WAKER_COUNTS(WRITE_COUNT)
        }
        if (facts->every_ns > 0) {
                RECORDING_COURSE_COUNTS(WRITE_COUNT)
                json_write_key(json, "coursePlaces");
                json_write_array(json);
                for (unsigned place = 0; place < _RECORD_PLACE_MAX; place++)
                        if (facts->course_places >> place & 1)
                                json_write_text(json, places[place]);
                json_write_end(json);
        }
        if (facts->objects)
                json_write_member_bool(json, "objects", true);
        if (facts->histogram) {
                json_write_member_bool(json, "histogram", true);
                RECORDING_LENGTH_COUNTS(WRITE_COUNT)
        }
        if (facts->lines) {
                json_write_member_bool(json, "lines", true);
                RECORDING_LINE_COUNTS(WRITE_COUNT)
        }
        if (facts->scope.filter.is_on || record_scope_has_lengths(&facts->scope))
                write_scope(json, &facts->scope);
        json_write_end(json);
}

static void write_name(JsonWriter *json, const char *name) {
        if (*name)
                json_write_name(json, span_of(name));
        else
                json_write_null(json);
}

static void write_frames(Output *output, const StackTable *table, bool has_lines) {
        JsonWriter *json = &output->json;

        begin_table(output, "frames", frame_names,
                    ELEMENTSOF(frame_names) - (has_lines ? 0 : FRAME_COLUMNS_OF_LINES));
        for (size_t i = 0; i < table->n_frames; i++) {
                const StackFrame *frame = &table->frames[i];

                json_write_array(json);
                if (frame->module == STACK_KERNEL)
                        json_write_text(json, "kernel");
                else if (frame->module == STACK_NO_MODULE)
                        json_write_null(json);
                else
                        json_write_u64(json, frame->module);
                json_write_u64(json, frame->offset);
                write_name(json, frame->name ? table->names.bytes + frame->name : "");
                if (has_lines && frame->line > 0) {
                        write_name(json, table->names.bytes + frame->file);
                        json_write_u64(json, frame->line);
                } else if (has_lines) {
                        json_write_null(json);
                        json_write_null(json);
                }
                end_row(output);
        }
        end_table(output);
        begin_table(output, "stacks", stack_names, ELEMENTSOF(stack_names));
        for (size_t i = 0, at = 0; i < table->n_stacks; i++) {
                json_write_array(json);
                json_write_array(json);
                for (; at < table->stacks[i]; at++)
                        json_write_u64(json, table->numbers[at]);
                json_write_end(json);
                end_row(output);
        }
        end_table(output);
}

static void write_stack_number(JsonWriter *json, bool is_there, uint32_t stack) {
        if (is_there && stack != STACK_NONE)
                json_write_u64(json, stack);
        else
                json_write_null(json);
}

static void write_waker(JsonWriter *json, const StackSampleKey *key) {
        if (key->waker == STACK_WAKER_NONE)
                json_write_null(json);
        else if (key->waker < STACK_WAKER_FIRST)
                json_write_text(json, wakers[key->waker]);
        else
                json_write_u64(json, key->waker - STACK_WAKER_FIRST);
        write_stack_number(json, key->waker >= STACK_WAKER_INTERRUPT, key->waker_stack);
        if (key->held == 0)
                json_write_null(json);
        else
                json_write_text(json, places[key->held - 1]);
        write_stack_number(json, key->held != 0, key->held_stack);
}

static void write_objects(Output *output, const StackTable *table) {
        JsonWriter *json = &output->json;

        begin_table(output, "objects", object_names, ELEMENTSOF(object_names));
        for (size_t i = 0; i < table->n_objects; i++) {
                json_write_array(json);
                json_write_text(json, object_kinds[table->objects[i].kind]);
                json_write_name(json, span_of(table->names.bytes + table->objects[i].name));
                end_row(output);
        }
        end_table(output);
}

static void write_object(JsonWriter *json, uint32_t object) {
        if (object == STACK_OBJECT_NONE)
                json_write_null(json);
        else if (object == STACK_OBJECT_OTHERS)
                json_write_text(json, "others");
        else
                json_write_u64(json, object - 1);
}

static void write_samples(Output *output, const StackTable *table, const RecordingFacts *facts) {
        bool has_wakers = recording_has_wakers(facts);
        const char *columns[_SAMPLE_MAX];
        JsonWriter *json = &output->json;
        size_t n_columns = 0;

        begin_table(output, "threads", thread_names,
                    ELEMENTSOF(thread_names) - (has_wakers ? 0 : THREAD_COLUMNS_OF_WAKERS));
        for (size_t i = 0; i < table->n_threads; i++) {
                const StackThread *thread = &table->threads[i];

                json_write_array(json);
                json_write_u64(json, thread->tid);
                json_write_u64(json, thread->tgid);
                json_write_u64(json, thread->start_boottime_ns);
                json_write_name(json, (Span){ thread->comm, strnlen(thread->comm, 16) });
                json_write_name(json, (Span){ thread->process, strnlen(thread->process, 16) });
                if (has_wakers)
                        json_write_u64(json, thread->only_wakes);
                end_row(output);
        }
        end_table(output);
        for (unsigned i = 0; i < _SAMPLE_MAX; i++)
                if (i < SAMPLE_object || (i == SAMPLE_object ? facts->objects : has_wakers))
                        columns[n_columns++] = sample_names[i];
        begin_table(output, "samples", columns, n_columns);
        for (size_t i = 0; i < table->n_samples; i++) {
                const StackSample *sample = &table->samples[i];

                json_write_array(json);
                json_write_u64(json, sample->key.thread);
                json_write_text(json, places[sample->key.place]);
                if (sample->key.stack == STACK_NONE)
                        json_write_null(json);
                else
                        json_write_u64(json, sample->key.stack);
                json_write_u64(json, sample->long_ns);
                json_write_u64(json, sample->n_long);
                json_write_u64(json, sample->short_ns);
                json_write_u64(json, sample->n_short);
                json_write_u64(json, sample->short_variance_us2);
                json_write_u64(json, sample->max_ns);
                if (facts->objects)
                        write_object(json, sample->key.object);
                if (has_wakers)
                        write_waker(json, &sample->key);
                end_row(output);
        }
        end_table(output);
}

/* A thread in no place at all has nothing to be divided. */
static void write_times(Output *output, const StackTable *table) {
        JsonWriter *json = &output->json;

        begin_table(output, "times", time_names, ELEMENTSOF(time_names));
        for (size_t i = 0; i < table->n_threads; i++)
                for (unsigned place = 0; place < _RECORD_PLACE_MAX; place++) {
                        if (!table->threads[i].has_times || table->threads[i].ns[place] == 0)
                                continue;
                        json_write_array(json);
                        json_write_u64(json, i);
                        json_write_text(json, places[place]);
                        json_write_u64(json, table->threads[i].ns[place]);
                        end_row(output);
                }
        end_table(output);
}

static void write_course(Output *output, const Course *course) {
        JsonWriter *json = &output->json;

        begin_table(output, "groups", group_names, ELEMENTSOF(group_names));
        for (size_t i = 0; i < course->n_groups; i++) {
                const CourseGroup *group = &course->groups[i];

                json_write_array(json);
                json_write_name(json, (Span){ group->process, strnlen(group->process, 16) });
                json_write_name(json, (Span){ group->comm, strnlen(group->comm, 16) });
                end_row(output);
        }
        end_table(output);
        begin_table(output, "steps", step_names, ELEMENTSOF(step_names));
        for (size_t i = 0; i < course->n_steps; i++) {
                const CourseStep *step = &course->steps[i];

                json_write_array(json);
                json_write_u64(json, step->begin_boottime_ns);
                json_write_u64(json, step->end_boottime_ns);
                json_write_u64(json, step->n_threads);
                json_write_u64(json, step->n_ended);
                end_row(output);
        }
        end_table(output);
        begin_table(output, "course", cell_names, ELEMENTSOF(cell_names));
        for (size_t i = 0; i < course->n_cells; i++) {
                const CourseCell *cell = &course->cells[i];

                json_write_array(json);
                json_write_u64(json, cell->step);
                json_write_u64(json, cell->group);
                json_write_text(json, places[cell->place]);
                json_write_u64(json, cell->ns);
                end_row(output);
        }
        end_table(output);
}

/* A row for each length that occurred. */
static void write_lengths(Output *output, const StackTable *table) {
        JsonWriter *json = &output->json;

        begin_table(output, "lengths", length_names, ELEMENTSOF(length_names));
        for (size_t i = 0; i < table->n_lengths * RECORD_LENGTHS; i++) {
                const StackLengths *of = &table->lengths[i / RECORD_LENGTHS];
                unsigned which = (unsigned) (i % RECORD_LENGTHS);

                if (of->lengths.n[which] == 0 && of->lengths.ns[which] == 0)
                        continue;
                json_write_array(json);
                json_write_name(json, (Span){ of->key.process, strnlen(of->key.process, 16) });
                json_write_name(json, (Span){ of->key.comm, strnlen(of->key.comm, 16) });
                json_write_text(json, places[of->key.place]);
                json_write_u64(json, record_length_begin(which));
                json_write_u64(json, of->lengths.n[which]);
                json_write_u64(json, of->lengths.ns[which]);
                end_row(output);
        }
        end_table(output);
}

int recording_document_write(const RecordingFacts *facts, const StackTable *table,
                             const Course *course, const Modules *modules, SnapshotSink sink,
                             void *userdata) {
        Output output = { .sink = sink, .userdata = userdata };
        JsonWriter *json = &output.json;
        int r;

        json_writer_init(json, &output.buffer);
        json_write_object(json);
        recording_facts_write(json, facts);
        begin_table(&output, "modules", module_names, ELEMENTSOF(module_names));
        for (size_t i = 0; i < modules->n; i++) {
                json_write_array(json);
                write_name(json, modules->all[i]->path);
                write_name(json, modules->all[i]->build_id);
                end_row(&output);
        }
        end_table(&output);
        write_frames(&output, table, facts->lines);
        if (facts->objects)
                write_objects(&output, table);
        write_samples(&output, table, facts);
        if (facts->every_ns > 0)
                write_course(&output, course);
        if (facts->histogram)
                write_lengths(&output, table);
        for (size_t i = 0; i < table->n_threads; i++)
                if (table->threads[i].has_times) {
                        write_times(&output, table);
                        break;
                }
        json_write_end(json);
        r = json_writer_finish(json);
        if (r == 0)
                flush(&output, 0);
        buffer_done(&output.buffer);
        return r < 0 ? r : output.failure;
}

/* Rows of the largest tables, as long as they are where numbers have the digits of a busy hour. */
uint64_t recording_document_estimate(const StackTable *table, const Course *course,
                                     const Modules *modules) {
        uint64_t numbers = 45 * table->n_frames + 7 * table->n_numbers + 4 * table->n_stacks +
                           200 * table->n_threads + 120 * table->n_samples + 50 * course->n_steps +
                           40 * course->n_cells + 20 * table->n_objects;
        uint64_t names =
                table->names.n + 32 * (table->n_threads + course->n_groups) + 256 * modules->n;

        return numbers / 2 + names;
}

/* reading */

/* Numbers and texts of one row; what they are is told by the table's end. */
typedef struct Row {
        uint64_t values[_SAMPLE_MAX];
        unsigned present; /* a bit for each column */
        Buffer texts[_SAMPLE_MAX];
        uint32_t *numbers; /* owned: the frames of a stack */
        size_t n_numbers, n_numbers_allocated;
} Row;

typedef struct Reader {
        DocumentReader document;
        RecordingDocument *result;
        TableReader table;
        Row row;
        bool has_facts;
} Reader;

_Static_assert((int) _THREAD_MAX <= (int) _SAMPLE_MAX && (int) _FRAME_MAX <= (int) _SAMPLE_MAX &&
                       (int) _LENGTH_MAX <= (int) _SAMPLE_MAX,
               "a row has room for those of every table");

static int fail(Reader *reader, const char *complaint) {
        return document_fail(&reader->document, complaint);
}

static void begin_row(void *userdata) {
        Reader *reader = userdata;

        reader->row.present = 0;
        reader->row.n_numbers = 0;
        for (size_t i = 0; i < ELEMENTSOF(reader->row.texts); i++)
                buffer_clear(&reader->row.texts[i]);
}

static int read_frames(void *userdata, unsigned column, JsonToken token) {
        Reader *reader = userdata;
        JsonScanner *scanner = reader->document.scanner;
        Row *row = &reader->row;
        uint64_t value;
        int r = 0;

        if (token != JSON_TOKEN_ARRAY)
                return fail(reader, "a list of frames is expected");
        while (r == 0) {
                json_scanner_next(scanner, &token);
                if (token == JSON_TOKEN_ARRAY_END)
                        return 0;
                if (!json_scanner_has_u64(scanner, &value) ||
                    value >= reader->result->table.n_frames)
                        return fail(reader, "the number of a frame is expected");
                r = ARRAY_RESERVE(row->numbers, row->n_numbers_allocated, row->n_numbers + 1);
                if (r == 0)
                        row->numbers[row->n_numbers++] = (uint32_t) value;
        }
        return r;
}

/* A bit for each number: what is missing, or of another type, is found at the end of the row. */
static int read_cell(void *userdata, unsigned column, JsonToken token) {
        Reader *reader = userdata;
        JsonScanner *scanner = reader->document.scanner;
        Row *row = &reader->row;

        if (token == JSON_TOKEN_STRING)
                return name_unescape(&row->texts[column], scanner->string);
        if (!json_scanner_has_u64(scanner, &row->values[column]))
                return fail(reader, "a number, or a text, is expected");
        row->present |= 1u << column;
        return 0;
}

static int end_module(void *userdata) {
        Reader *reader = userdata;
        Row *row = &reader->row;
        size_t number;
        Module *module;
        int r;

        r = modules_add(&reader->result->modules, 0, 0, buffer_span(&row->texts[MODULE_path]),
                        -EBADF, &number);
        if (r == -E2BIG)
                return fail(reader, "there are too many");
        if (r < 0)
                return r;
        module = reader->result->modules.all[number];
        if (row->texts[MODULE_build_id].n >= sizeof(module->build_id))
                return fail(reader, "the build id is too long");
        memcpy(module->build_id,
               row->texts[MODULE_build_id].bytes ? row->texts[MODULE_build_id].bytes : "",
               row->texts[MODULE_build_id].n);
        return 0;
}

static int end_frame(void *userdata) {
        Reader *reader = userdata;
        Row *row = &reader->row;
        StackTable *table = &reader->result->table;
        StackFrame frame = { .module = STACK_NO_MODULE };
        size_t n_before = table->n_frames;
        uint32_t number;
        int r;

        if (row->texts[FRAME_module].n > 0)
                frame.module = STACK_KERNEL;
        else if (row->present & 1u << FRAME_module) {
                if (row->values[FRAME_module] >= reader->result->modules.n)
                        return fail(reader, "the number of a module is expected");
                frame.module = (uint32_t) row->values[FRAME_module];
        }
        if (!(row->present & 1u << FRAME_offset))
                return fail(reader, "the offset is missing");
        if (row->present & 1u << FRAME_line) {
                if (row->texts[FRAME_file].n == 0 || row->values[FRAME_line] == 0 ||
                    row->values[FRAME_line] > UINT32_MAX)
                        return fail(reader, "a file of the source and a line are expected");
                frame.line = (uint32_t) row->values[FRAME_line];
        }
        if (n_before >= UINT32_MAX - 2)
                return fail(reader, "there are too many");
        frame.offset = row->values[FRAME_offset];
        r = stack_table_add_name(table, buffer_span(&row->texts[FRAME_name]), &frame.name);
        if (r == 0 && frame.line > 0)
                r = stack_table_add_name(table, buffer_span(&row->texts[FRAME_file]), &frame.file);
        if (r == 0)
                r = stack_table_put_frame(table, &frame, &number);
        return r == 0 && table->n_frames != n_before + 1 ? fail(reader, "a frame is there twice")
                                                         : r;
}

/* Rows are numbered as they come: none may be there twice. */
static int end_stack(void *userdata) {
        Reader *reader = userdata;
        StackTable *table = &reader->result->table;
        size_t n_before = table->n_stacks;
        uint32_t number;
        int r = stack_table_add_stack(table, reader->row.numbers, reader->row.n_numbers, &number);

        return r == 0 && table->n_stacks != n_before + 1
                       ? fail(reader, "a stack is there twice, or there are too many")
                       : r;
}

static int end_thread(void *userdata) {
        Reader *reader = userdata;
        StackTable *table = &reader->result->table;
        const Row *row = &reader->row;
        StackThread thread = {};
        size_t n_before = table->n_threads;
        uint32_t number;
        int r;

        if ((row->present & 7) != 7 || row->values[THREAD_tid] > UINT32_MAX ||
            row->values[THREAD_tgid] > UINT32_MAX || row->texts[THREAD_comm].n > 16 ||
            row->texts[THREAD_process].n > 16)
                return fail(reader, "a thread with numbers, start and names is expected");
        thread.tid = (uint32_t) row->values[THREAD_tid];
        thread.tgid = (uint32_t) row->values[THREAD_tgid];
        thread.start_boottime_ns = row->values[THREAD_start_boottime_ns];
        thread.only_wakes =
                row->present & 1u << THREAD_only_wakes && row->values[THREAD_only_wakes] != 0;
        if (row->texts[THREAD_comm].n > 0)
                memcpy(thread.comm, row->texts[THREAD_comm].bytes, row->texts[THREAD_comm].n);
        if (row->texts[THREAD_process].n > 0)
                memcpy(thread.process, row->texts[THREAD_process].bytes,
                       row->texts[THREAD_process].n);
        r = stack_table_add_thread(table, &thread, &number);
        return r == 0 && table->n_threads != n_before + 1 ? fail(reader, "a thread is there twice")
                                                          : r;
}

static int read_stack_number(Reader *reader, unsigned column, uint32_t *ret) {
        const Row *row = &reader->row;

        *ret = STACK_NONE;
        if (!(row->present & 1u << column))
                return 0;
        if (row->values[column] >= reader->result->table.n_stacks)
                return fail(reader, "the number of a stack is expected");
        *ret = (uint32_t) row->values[column];
        return 0;
}

static int end_object(void *userdata) {
        Reader *reader = userdata;
        StackTable *table = &reader->result->table;
        Span name = buffer_span(&reader->row.texts[OBJECT_name]);
        size_t n_before = table->n_objects;
        unsigned kind = name_find(buffer_span(&reader->row.texts[OBJECT_kind]), object_kinds,
                                  _RECORD_OBJECT_MAX);
        uint32_t number;
        int r;

        if (kind == RECORD_OBJECT_NONE || kind == _RECORD_OBJECT_MAX || name.n == 0)
                return fail(reader, "a kind and a name are expected");
        r = stack_table_add_object(table, (RecordObjectKind) kind, name, &number);
        return r == 0 && table->n_objects != n_before + 1
                       ? fail(reader, "an object is there twice, or there are too many")
                       : r;
}

static int read_object(Reader *reader, StackSampleKey *key) {
        const Row *row = &reader->row;
        Span word = buffer_span(&row->texts[SAMPLE_object]);

        if (span_is(word, "others"))
                key->object = STACK_OBJECT_OTHERS;
        else if (word.n > 0 || (row->present & 1u << SAMPLE_object &&
                                row->values[SAMPLE_object] >= reader->result->table.n_objects))
                return fail(reader, "the number of an object is expected");
        else if (row->present & 1u << SAMPLE_object)
                key->object = (uint32_t) row->values[SAMPLE_object] + 1;
        return 0;
}

/* Whoever wakes is a thread of the table, or a word; there may be a stack. */
static int read_waker(Reader *reader, StackSampleKey *key) {
        const StackTable *table = &reader->result->table;
        const Row *row = &reader->row;
        Span word = buffer_span(&row->texts[SAMPLE_waker]);
        Span held = buffer_span(&row->texts[SAMPLE_held_place]);
        int r;

        if (word.n > 0) {
                key->waker = name_find(word, wakers, STACK_WAKER_FIRST);
                if (key->waker == STACK_WAKER_FIRST)
                        return fail(reader, "the number of a thread, or a waker, is expected");
        } else if (row->present & 1u << SAMPLE_waker) {
                if (row->values[SAMPLE_waker] >= table->n_threads)
                        return fail(reader, "the number of a thread is expected");
                key->waker = STACK_WAKER_FIRST + (uint32_t) row->values[SAMPLE_waker];
        }
        if (key->waker < STACK_WAKER_INTERRUPT)
                return 0;
        r = read_stack_number(reader, SAMPLE_waker_stack, &key->waker_stack);
        if (r != 0 || held.n == 0)
                return r;
        key->held = 1 + name_find(held, places, _RECORD_PLACE_MAX);
        if (key->held > _RECORD_PLACE_MAX)
                return fail(reader, "a place is expected");
        return read_stack_number(reader, SAMPLE_held_stack, &key->held_stack);
}

static int end_sample(void *userdata) {
        Reader *reader = userdata;
        StackTable *table = &reader->result->table;
        const Row *row = &reader->row;
        const uint64_t *values = row->values;
        StackSample sample = {};
        unsigned may_be_null = 1u << SAMPLE_stack | 1u << SAMPLE_place | 1u << SAMPLE_object |
                               1u << SAMPLE_waker | 1u << SAMPLE_waker_stack |
                               1u << SAMPLE_held_place | 1u << SAMPLE_held_stack;
        int r;

        sample.key.place =
                name_find(buffer_span(&row->texts[SAMPLE_place]), places, _RECORD_PLACE_MAX);
        if ((row->present | may_be_null) != (1u << _SAMPLE_MAX) - 1)
                return fail(reader, "a cell is missing");
        if (sample.key.place == _RECORD_PLACE_MAX || values[SAMPLE_thread] >= table->n_threads)
                return fail(reader, "the number of a thread and a place are expected");
        r = read_stack_number(reader, SAMPLE_stack, &sample.key.stack);
        if (r != 0)
                return r;
        sample.key.thread = (uint32_t) values[SAMPLE_thread];
        sample.long_ns = values[SAMPLE_long_ns];
        sample.n_long = values[SAMPLE_long_count];
        sample.short_ns = values[SAMPLE_short_ns];
        sample.n_short = values[SAMPLE_short_count];
        sample.short_variance_us2 = values[SAMPLE_short_variance_us2];
        sample.max_ns = values[SAMPLE_max_ns];
        r = read_object(reader, &sample.key);
        if (r == 0)
                r = read_waker(reader, &sample.key);
        return r == 0 ? stack_table_put_sample(table, &sample) : r;
}

static int end_group(void *userdata) {
        Reader *reader = userdata;
        Course *course = &reader->result->course;
        const Buffer *process = &reader->row.texts[GROUP_process],
                     *comm = &reader->row.texts[GROUP_thread];
        CourseGroup group = {};
        size_t n_before = course->n_groups;
        uint32_t number;
        int r;

        if (process->n > sizeof(group.process) || comm->n > sizeof(group.comm))
                return fail(reader, "names of a process and a thread are expected");
        if (n_before >= UINT32_MAX - 1)
                return fail(reader, "there are too many");
        if (process->n > 0)
                memcpy(group.process, process->bytes, process->n);
        if (comm->n > 0)
                memcpy(group.comm, comm->bytes, comm->n);
        r = course_add_group(course, &group, &number);
        return r == 0 && course->n_groups != n_before + 1 ? fail(reader, "a group is there twice")
                                                          : r;
}

static int end_step(void *userdata) {
        Reader *reader = userdata;
        Course *course = &reader->result->course;
        const uint64_t *values = reader->row.values;
        const CourseStep step = {
                .begin_boottime_ns = values[STEP_begin_boottime_ns],
                .end_boottime_ns = values[STEP_end_boottime_ns],
                .n_threads = values[STEP_threads],
                .n_ended = values[STEP_ended],
        };

        int r;

        if (reader->row.present != (1u << _STEP_MAX) - 1)
                return fail(reader, "a cell is missing");
        r = course_add_step(course, &step);
        return r == -EBADMSG
                       ? fail(reader, "a step that begins where the last one ends is expected")
                       : r;
}

static int end_cell(void *userdata) {
        Reader *reader = userdata;
        Course *course = &reader->result->course;
        const Row *row = &reader->row;
        const uint64_t *values = row->values;
        const CourseCell cell = {
                .step = (uint32_t) MIN_OF(values[CELL_step], (uint64_t) UINT32_MAX),
                .group = (uint32_t) MIN_OF(values[CELL_group], (uint64_t) UINT32_MAX),
                .place = name_find(buffer_span(&row->texts[CELL_place]), places, _RECORD_PLACE_MAX),
                .ns = values[CELL_ns],
        };
        int r;

        if ((row->present | 1u << CELL_place) != (1u << _CELL_MAX) - 1)
                return fail(reader, "a cell is missing");
        r = course_add_cell(course, &cell);
        return r == -EBADMSG
                       ? fail(reader, "a step, a group and a place in their order are expected")
                       : r;
}

static int end_length(void *userdata) {
        Reader *reader = userdata;
        StackTable *table = &reader->result->table;
        const Row *row = &reader->row;
        Span process = buffer_span(&row->texts[LENGTH_process]),
             comm = buffer_span(&row->texts[LENGTH_comm]);
        const unsigned numbers = 1u << LENGTH_at_least_ns | 1u << LENGTH_count | 1u << LENGTH_ns;
        RecordLengthKey key = {};
        RecordLengths lengths = {};
        unsigned which = 0;

        key.place = name_find(buffer_span(&row->texts[LENGTH_place]), places, _RECORD_PLACE_MAX);
        if ((row->present & numbers) != numbers || key.place == _RECORD_PLACE_MAX ||
            process.n > sizeof(key.process) || comm.n > sizeof(key.comm))
                return fail(reader, "names, a place and numbers are expected");
        while (which < RECORD_LENGTHS &&
               record_length_begin(which) != row->values[LENGTH_at_least_ns])
                which++;
        if (which == RECORD_LENGTHS)
                return fail(reader, "a length is 0, or 1000 times a power of two");
        if (table->n_lengths > LENGTH_ROWS_MAX)
                return fail(reader, "there are too many");
        if (process.n > 0)
                memcpy(key.process, process.bytes, process.n);
        if (comm.n > 0)
                memcpy(key.comm, comm.bytes, comm.n);
        lengths.n[which] = row->values[LENGTH_count];
        lengths.ns[which] = row->values[LENGTH_ns];
        return stack_table_add_lengths(table, &key, &lengths);
}

static int end_time(void *userdata) {
        Reader *reader = userdata;
        StackTable *table = &reader->result->table;
        const Row *row = &reader->row;
        unsigned place = name_find(buffer_span(&row->texts[TIME_place]), places, _RECORD_PLACE_MAX);
        StackThread *thread;

        if ((row->present | 1u << TIME_place) != (1u << _TIME_MAX) - 1 ||
            place == _RECORD_PLACE_MAX || row->values[TIME_thread] >= table->n_threads)
                return fail(reader, "the number of a thread, a place and a time are expected");
        thread = &table->threads[row->values[TIME_thread]];
        thread->has_times = true;
        thread->ns[place] = row->values[TIME_ns];
        return 0;
}

static const TableRows tables[] = {
        { _MODULE_MAX, module_name_of, module_find, begin_row, read_cell, end_module, NULL },
        { _FRAME_MAX, frame_name_of, frame_find, begin_row, read_cell, end_frame, NULL },
        { _STACK_MAX, stack_name_of, stack_find, begin_row, read_frames, end_stack, NULL },
        { _THREAD_MAX, thread_name_of, thread_find, begin_row, read_cell, end_thread, NULL },
        { _OBJECT_MAX, object_name_of, object_find, begin_row, read_cell, end_object, NULL },
        { _SAMPLE_MAX, sample_name_of, sample_find, begin_row, read_cell, end_sample, NULL },
        { _GROUP_MAX, group_name_of, group_find, begin_row, read_cell, end_group, NULL },
        { _STEP_MAX, step_name_of, step_find, begin_row, read_cell, end_step, NULL },
        { _CELL_MAX, cell_name_of, cell_find, begin_row, read_cell, end_cell, NULL },
        { _LENGTH_MAX, length_name_of, length_find, begin_row, read_cell, end_length, NULL },
        { _TIME_MAX, time_name_of, time_find, begin_row, read_cell, end_time, NULL },
};

static const DocumentSection sections[];

static int begin_rows(void *userdata, DocumentReader *document) {
        Reader *reader = userdata;
        JsonToken token;

        table_reader_done(&reader->table);
        reader->table = (TableReader){};
        json_scanner_next(document->scanner, &token);
        return table_reader_begin(&reader->table, document, token,
                                  &tables[document->reading - sections], reader, 0);
}

static int next_row(void *userdata, DocumentReader *document, bool *ret_more) {
        return table_reader_next(&((Reader *) userdata)->table, document, ret_more);
}

static const DocumentSection sections[] = {
        { "modules", DOCUMENT_TABLE, .read = begin_rows, .next = next_row },
        { "frames", DOCUMENT_TABLE, .read = begin_rows, .next = next_row },
        { "stacks", DOCUMENT_TABLE, .read = begin_rows, .next = next_row },
        { "threads", DOCUMENT_TABLE, .read = begin_rows, .next = next_row },
        { "objects", DOCUMENT_TABLE, .read = begin_rows, .next = next_row },
        { "samples", DOCUMENT_TABLE, .read = begin_rows, .next = next_row },
        { "groups", DOCUMENT_TABLE, .read = begin_rows, .next = next_row },
        { "steps", DOCUMENT_TABLE, .read = begin_rows, .next = next_row },
        { "course", DOCUMENT_TABLE, .read = begin_rows, .next = next_row },
        { "lengths", DOCUMENT_TABLE, .read = begin_rows, .next = next_row },
        { "times", DOCUMENT_TABLE, .read = begin_rows, .next = next_row },
};

static int read_numbers(JsonScanner *scanner, uint32_t *numbers, uint32_t *ret_n) {
        JsonToken token;
        uint64_t value;
        int r = json_scanner_expect(scanner, JSON_TOKEN_ARRAY);

        for (*ret_n = 0; r == 0; (*ret_n)++) {
                json_scanner_next(scanner, &token);
                if (token == JSON_TOKEN_ARRAY_END)
                        break;
                if (*ret_n == RECORD_FILTER_MAX || !json_scanner_has_u64(scanner, &value) ||
                    value > UINT32_MAX)
                        return json_scanner_fail(scanner, "a list of a few numbers is expected");
                numbers[*ret_n] = (uint32_t) value;
        }
        return r;
}

static int read_name(JsonScanner *scanner, char *name, size_t n_bytes) {
        _cleanup_(buffer_done) Buffer bytes = {};
        Span text;
        int r = json_scanner_text(scanner, &text);

        if (r == 0)
                r = name_unescape(&bytes, text);
        if (r != 0)
                return r;
        if (bytes.n == 0 || bytes.n >= n_bytes || memchr(bytes.bytes, '\0', bytes.n))
                return json_scanner_fail(scanner, "a name is expected");
        memcpy(name, bytes.bytes, bytes.n);
        name[bytes.n] = '\0';
        return 0;
}

static int read_condition(void *userdata, JsonScanner *scanner, Span key) {
        RecordScope *scope = userdata;
        RecordFilter *filter = &scope->filter;
        bool is_started;
        Span word;
        int r;

        if (span_is(key, "minNs"))
                return json_scanner_u64(scanner, &scope->min_ns);
        if (span_is(key, "maxNs"))
                return json_scanner_u64(scanner, &scope->max_ns);
        if (span_is(key, "pids"))
                return read_numbers(scanner, filter->pids, &filter->n_pids);
        if (span_is(key, "uids"))
                return read_numbers(scanner, filter->uids, &filter->n_uids);
        if (span_is(key, "comm"))
                return read_name(scanner, scope->comm, sizeof(scope->comm));
        if (span_is(key, "cgroup"))
                return read_name(scanner, scope->cgroup, sizeof(scope->cgroup));
        if (span_is(key, "descendants")) {
                r = json_scanner_bool(scanner, &is_started);
                filter->starter = r == 0 && is_started;
                return r;
        }
        /*
         * Any other key but "threads" is a condition of a later version: this program does not know
         * which samples it left out of the stacks.
         */
        if (!span_is(key, "threads"))
                return json_scanner_fail(scanner, "newer than this program reads");
        r = json_scanner_text(scanner, &word);
        if (r == 0)
                filter->threads = name_find(word, thread_words, _RECORD_THREADS_MAX);
        return r == 0 && filter->threads == _RECORD_THREADS_MAX
                       ? json_scanner_fail(scanner, "there are no such threads")
                       : r;
}

static int read_places(JsonScanner *scanner, uint64_t *ret) {
        JsonToken token;
        unsigned place;
        int r = json_scanner_expect(scanner, JSON_TOKEN_ARRAY);

        while (r == 0) {
                json_scanner_next(scanner, &token);
                if (token == JSON_TOKEN_ARRAY_END)
                        break;
                place = token == JSON_TOKEN_STRING
                                ? name_find(scanner->string, places, _RECORD_PLACE_MAX)
                                : _RECORD_PLACE_MAX;
                if (place == _RECORD_PLACE_MAX)
                        return json_scanner_fail(scanner, "a list of places is expected");
                *ret |= UINT64_C(1) << place;
        }
        return r;
}

#define READ_COUNT(name, member) \
        if (span_is(key, #name)) \
                return json_scanner_u64(scanner, &facts->member);

static int read_fact(void *userdata, JsonScanner *scanner, Span key) {
        RecordingFacts *facts = &((Reader *) userdata)->result->facts;
        uint64_t version;
        Span word;
        int r;

        RECORDING_COUNTS(READ_COUNT)
        RECORDING_WAKER_COUNTS(READ_COUNT)
        RECORDING_COURSE_COUNTS(READ_COUNT)
        if (span_is(key, "coursePlaces"))
                return read_places(scanner, &facts->course_places);
        RECORDING_LENGTH_COUNTS(READ_COUNT)
        RECORDING_LINE_COUNTS(READ_COUNT)
        if (span_is(key, "lines"))
                return json_scanner_bool(scanner, &facts->lines);
        if (span_is(key, "histogram"))
                return json_scanner_bool(scanner, &facts->histogram);
        if (span_is(key, "objects"))
                return json_scanner_bool(scanner, &facts->objects);
        if (span_is(key, "holders"))
                return json_scanner_bool(scanner, &facts->holders);
        if (span_is(key, "wakers"))
                return json_scanner_bool(scanner, &facts->wakers);
        if (span_is(key, "waiting"))
                return json_scanner_bool(scanner, &facts->waiting);
        if (span_is(key, "running"))
                return json_scanner_bool(scanner, &facts->running);
        if (span_is(key, "framePointers"))
                return json_scanner_bool(scanner, &facts->pointers);
        if (span_is(key, "kernelFrames"))
                return json_scanner_bool(scanner, &facts->frames);
        if (span_is(key, "seesReturn"))
                return json_scanner_bool(scanner, &facts->sees_return);
        if (span_is(key, "hasClock"))
                return json_scanner_bool(scanner, &facts->has_clock);
        if (span_is(key, "cpusWithoutClock")) {
                r = json_scanner_text(scanner, &word);
                if (r != 0)
                        return r;
                facts->unclocked.cpus[0] = '\0';
                if (word.n < sizeof(facts->unclocked.cpus)) {
                        memcpy(facts->unclocked.cpus, word.bytes, word.n);
                        facts->unclocked.cpus[word.n] = '\0';
                }
                return word.n < sizeof(facts->unclocked.cpus) &&
                                       unclocked_time_is_valid(&facts->unclocked)
                               ? 0
                               : json_scanner_fail(scanner, "a list of CPUs is expected");
        }
        if (span_is(key, "withoutClockNs"))
                return json_scanner_u64(scanner, &facts->unclocked.ns);
        if (span_is(key, "endedBy")) {
                r = json_scanner_text(scanner, &word);
                if (r == 0)
                        facts->ended_by = (RecordEnd) name_find(word, ends, _RECORD_END_MAX);
                /* A newer version may have another word. */
                if (facts->ended_by == _RECORD_END_MAX)
                        facts->ended_by = RECORD_END_UNKNOWN;
                return r;
        }
        if (span_is(key, "filter")) {
                r = json_scanner_object(scanner, read_condition, &facts->scope);
                record_scope_settle(&facts->scope);
                return r;
        }
        if (!span_is(key, "formatVersion"))
                return json_scanner_skip(scanner);
        if (json_scanner_u64(scanner, &version) == 0 && version > RECORDING_FORMAT_VERSION)
                return json_scanner_fail(scanner, "newer than this program reads");
        return 0;
}

static int read_member(void *userdata, DocumentReader *document, Span key) {
        if (!span_is(key, "recording"))
                return json_scanner_skip(document->scanner);
        document->member = "recording";
        ((Reader *) userdata)->has_facts = true;
        return json_scanner_object(document->scanner, read_fact, userdata);
}

static int end_document(void *userdata, DocumentReader *document) {
        return ((Reader *) userdata)->has_facts
                       ? 0
                       : document_fail(document, "the member \"recording\" is missing");
}

static const DocumentKind recording_kind = {
        .sections = sections,
        .n_sections = ELEMENTSOF(sections),
        .member = read_member,
        .end = end_document,
};

void recording_document_done(RecordingDocument *document) {
        course_done(&document->course);
        stack_table_done(&document->table);
        modules_done(&document->modules);
}

int recording_document_read(JsonRefill refill, void *userdata, uint64_t max_bytes,
                            RecordingDocument *ret, uint64_t *ret_offset,
                            char ret_complaint[static DOCUMENT_COMPLAINT_BYTES]) {
        Reader reader = { .result = ret };
        const DocumentSection *section;
        int r;

        r = document_reader_init(&reader.document, &recording_kind, &reader, refill, userdata,
                                 max_bytes);
        do
                r = r == 0 ? document_reader_next(&reader.document, &section) : r;
        while (r == 0 && section);
        if (r == JSON_E_MALFORMED) {
                *ret_offset = reader.document.scanner->offset;
                memcpy(ret_complaint, reader.document.complaint, DOCUMENT_COMPLAINT_BYTES);
        }
        table_reader_done(&reader.table);
        for (size_t i = 0; i < ELEMENTSOF(reader.row.texts); i++)
                buffer_done(&reader.row.texts[i]);
        free(reader.row.numbers);
        document_reader_done(&reader.document);
        return r;
}
