/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stack/stack-text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/number.h"
#include "render/cell.h"
#include "render/compact.h"
#include "render/lines.h"
#include "render/printable.h"

#define MAX_LEAVES 3

/* functions that tell */

static bool begins(Span name, const char *const prefixes[], size_t n) {
        for (size_t i = 0; i < n; i++) {
                size_t n_prefix = strlen(prefixes[i]);

                if (name.n >= n_prefix && memcmp(name.bytes, prefixes[i], n_prefix) == 0)
                        return true;
        }
        return false;
}

/* With these the part of a stack begins that is in the kernel. */
static bool is_entry(Span name) {
        // clang-format off
        static const char *const prefixes[] = {
                "handle_softirqs", "__do_softirq", "run_ksoftirqd",
                "entry_SYS", "entry_INT80", "do_syscall_64", "do_int80", "__x64_sys_", "x64_sys_",
                "__ia32_sys_", "ia32_sys_", "__arm64_sys_", "__do_sys_", "__se_sys_", "el0_",
                "el0t_", "do_el0_svc", "invoke_syscall", "asm_exc_", "asm_sysvec_",
                "asm_common_interrupt", "ret_from_fork",
        };
        // clang-format on

        return begins(name, prefixes, ELEMENTSOF(prefixes));
}

/* These stand at an end of very many stacks. */
static bool is_mute(Span name, bool in_kernel) {
        // clang-format off
        static const char *const of_kernel[] = {
                "schedule", "__schedule", "io_schedule", "preempt_schedule", "__cond_resched",
                "exit_to_user_mode", "irqentry_exit", "syscall_exit_to_user_mode", "futex_wait",
                "folio_wait", "bit_wait", "__wait_on_bit", "__futex_wait", "do_futex", "kthread",
                /* of who wakes */
                "try_to_wake_up", "wake_up_", "__wake_up", "default_wake_function", "futex_wake",
                "autoremove_wake_function", "pollwake", "ep_poll_callback", "ep_autoremove_wake",
        };
        static const char *const of_libc[] = {
                "clone3", "__clone", "start_thread", "__libc_", "_start", "__GI_", "__lll_lock",
                "__futex_abstimed", "__syscall_cancel", "__internal_syscall_cancel",
                "clock_nanosleep", "__clock_nanosleep", "nanosleep", "__nanosleep",
        };
        // clang-format on

        return in_kernel ? is_entry(name) || begins(name, of_kernel, ELEMENTSOF(of_kernel))
                         : begins(name, of_libc, ELEMENTSOF(of_libc));
}

/* In these places it is worth a function to know what the kernel is doing. */
static bool place_is_of_kernel(Span place) {
        static const char *const names[] = { "running", "storage", "blocked", "fault", "other" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (span_is(place, names[i]))
                        return true;
        return false;
}

/* Functions, the outermost first: of a row of a store, or as a reply has them. */
typedef struct Frames {
        const NameSet *functions; /* NULL: they are in @names */
        const uint32_t *numbers;
        json_object *names;
        size_t n;
} Frames;

static Span frame_name(const Frames *frames, size_t i) {
        return frames->functions ? name_set_get(frames->functions, frames->numbers[i])
                                 : cell_string(cell_element(frames->names, i));
}

/* Chooses at most @max of the frames from @begin on, from the innermost at @end outwards. */
static size_t choose(const Frames *frames, size_t begin, size_t end, bool in_kernel, size_t max,
                     size_t *ret) {
        size_t n = 0;

        for (size_t i = end; i-- > begin && n < max;)
                if (!is_mute(frame_name(frames, i), in_kernel))
                        ret[n++] = i;
        return n;
}

/* @max: at most so many, up to MAX_LEAVES. */
static int append_chosen(Buffer *cell, Span place, const Frames *frames, bool is_inward,
                         size_t max) {
        size_t n_user = 0, n = 0, chosen[MAX_LEAVES];

        while (n_user < frames->n && !is_entry(frame_name(frames, n_user)))
                n_user++;
        if (n_user == 0 || place_is_of_kernel(place))
                n = choose(frames, n_user, frames->n, true, n_user == 0 ? max : 1, chosen);
        n += choose(frames, 0, n_user, false, max - n, chosen + n);
        /* Where nothing tells more, the innermost is better than none. */
        if (n == 0 && frames->n > 0)
                chosen[n++] = n_user > 0 ? n_user - 1 : frames->n - 1;
        for (size_t i = 0; i < n; i++) {
                if (i > 0)
                        buffer_append_text(cell, is_inward ? " \u2192 " : " \u2190 ");
                printable_append_name(cell, frame_name(frames, chosen[is_inward ? n - 1 - i : i]));
        }
        return n > 0 ? buffer_failure(cell) : buffer_append_byte(cell, '-');
}

static int append_leaves(Buffer *cell, const StackStore *store, const StoredStack *row,
                         bool is_inward, size_t max) {
        const Frames frames = { .functions = &store->functions,
                                .numbers = stack_store_frames(store, row),
                                .n = row->n_frames };

        return append_chosen(cell, name_set_get(&store->places, row->place), &frames, is_inward,
                             max);
}

int stack_append_leaves(Buffer *cell, const StackStore *store, const StoredStack *row,
                        bool is_inward) {
        return append_leaves(cell, store, row, is_inward, MAX_LEAVES);
}

int stack_append_functions(Buffer *cell, Span place, json_object *names, bool is_inward) {
        return append_chosen(cell, place, &(Frames){ .names = names, .n = cell_length(names) },
                             is_inward, MAX_LEAVES);
}

/* wakers */

void stack_append_threads(Buffer *cell, json_object *object) {
        Span process = cell_string(cell_member(object, "process"));
        Span thread = cell_string(cell_member(object, "thread"));

        printable_append_name(cell, process);
        if (span_equal(process, thread))
                return;
        buffer_append_byte(cell, '/');
        printable_append_name(cell, thread);
}

void stack_append_waker(Buffer *cell, json_object *waker) {
        static const struct {
                const char *kind, *text;
        } words[] = {
                { "later", "[still waits]" },
                { "outside", "[before or after the recording]" },
                { "unsampled", "[too short to be sampled]" },
        };
        Span kind = cell_string(cell_member(waker, "kind"));

        if (span_is(kind, "thread")) {
                stack_append_threads(cell, waker);
                return;
        }
        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (span_is(kind, words[i].kind)) {
                        buffer_append_text(cell, words[i].text);
                        return;
                }
        buffer_append_byte(cell, '[');
        printable_append_name(cell, kind);
        buffer_append_byte(cell, ']');
}

int stack_append_held(Buffer *cell, json_object *held, bool is_inward) {
        buffer_append_byte(cell, '[');
        printable_append_name(cell, cell_string(cell_member(held, "place")));
        buffer_append_text(cell, "] ");
        return stack_append_functions(cell, cell_string(cell_member(held, "place")),
                                      cell_member(held, "frames"), is_inward);
}

/* what is not there */

/* The time in all places that are in the store, of which shares are. */
static double total_ns(const StackText *text, const StackStore *store) {
        json_object *places = cell_member(text->firsts[0], "places");
        json_object_iter place;
        double ns = 0;

        if (json_object_is_type(places, json_type_object))
                json_object_object_foreachC(places,
                                            place) if (text->has_rest ||
                                                       !stack_place_is_rest(span_of(place.key)))
                        ns += (double) json_object_get_uint64(place.val);
        if (ns > 0)
                return ns;
        for (size_t i = 0; i < store->n; i++)
                ns += (double) store->rows[i].of[0].ns;
        return ns;
}

static bool amounts_are_exact(const StackAmount of[static 2]) {
        return (!of[0].is_there || of[0].is_exact) && (!of[1].is_there || of[1].is_exact);
}

static double percent_of(double ns, double total) {
        return total > 0 ? 100 * ns / total : 0;
}

typedef struct Rest {
        const char *name;
        uint64_t ns;
} Rest;

static int by_time(const void *a_, const void *b_) {
        const Rest *a = a_, *b = b_;

        return (a->ns < b->ns) - (a->ns > b->ns);
}

/* "waiting for work: 5min 3s in poll, sleep" */
static int print_rest(const StackText *text, const Lines *lines, const char *way) {
        json_object *places = cell_member(text->firsts[0], "places");
        _cleanup_(buffer_done) Buffer line = {};
        double ns = 0;
        Rest rests[8];
        json_object_iter place;
        size_t n = 0;

        if (text->has_rest || !json_object_is_type(places, json_type_object))
                return 0;
        json_object_object_foreachC(places, place) {
                uint64_t place_ns = json_object_get_uint64(place.val);

                if (place_ns == 0 || !stack_place_is_rest(span_of(place.key)) ||
                    n == ELEMENTSOF(rests))
                        continue;
                rests[n++] = (Rest){ place.key, place_ns };
                ns += (double) place_ns;
        }
        if (n == 0)
                return 0;
        qsort(rests, n, sizeof(*rests), by_time);
        buffer_append_text(&line, "waiting for work: ");
        compact_append_span(&line, ns);
        for (size_t i = 0; i < n; i++)
                buffer_append_format(&line, "%s%s", i > 0 ? ", " : " in ", rests[i].name);
        if (text->is_chatty)
                buffer_append_text(&line, way);
        return lines_print_buffer(lines, "", &line);
}

/* "without a sample: 24.5s before or after the recording, 1.2s too short" */
static int print_unsampled(const StackText *text, const StackStore *store, const Lines *lines,
                           bool is_pair) {
        int r = 0;

        for (unsigned side = 0; r == 0 && side < 1u + is_pair; side++) {
                uint64_t outside_ns = store->outside_ns[side], short_ns = store->unsampled_ns[side];
                _cleanup_(buffer_done) Buffer line = {};

                if (outside_ns == 0 && short_ns == 0)
                        continue;
                buffer_append_format(&line,
                                     "%s%swithout a sample: ", is_pair ? text->words[side] : "",
                                     is_pair ? ": " : "");
                if (outside_ns > 0) {
                        compact_append_span(&line, (double) outside_ns);
                        buffer_append_text(&line, " before or after the recording");
                }
                if (short_ns > 0) {
                        buffer_append_text(&line, outside_ns > 0 ? ", " : "");
                        compact_append_span(&line, (double) short_ns);
                        buffer_append_text(&line, " too short to be sampled");
                }
                r = lines_print_buffer(lines, "", &line);
        }
        return r;
}

uint64_t stack_count_lost(json_object *recording) {
        static const char *const keys[] = { "lostRing", "lostPending", "lostStorage", "lostBusy",
                                            "overflowStacks" };
        uint64_t n = 0;

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                n = number_add_saturating(n, cell_u64(recording, keys[i]));
        return n;
}

static void print_lost(const StackText *text, const Lines *lines, bool is_pair) {
        for (unsigned side = 0; side < 1u + is_pair; side++) {
                json_object *facts = cell_member(text->firsts[side], "recording");
                uint64_t n = stack_count_lost(facts);

                if (n > 0)
                        lines_format(lines, "", "%s%s%llu samples were lost, and %llu were taken",
                                     is_pair ? text->words[side] : "", is_pair ? ": " : "",
                                     (unsigned long long) n,
                                     (unsigned long long) cell_u64(facts, "samples"));
        }
}

/* sets */

static const char *const recorded_names[] = { "recordedBefore", "recordedAfter" };

/*
 * Returns the filter that all members of both sets were recorded with, or NULL. *ret_is_same is
 * false if their filters differ.
 */
static json_object *filter_of_sets(const StackText *text, bool *ret_is_same) {
        json_object *filter = NULL;

        *ret_is_same = true;
        for (unsigned side = 0; side < 2; side++) {
                json_object *members = cell_member(text->firsts[0], recorded_names[side]);

                for (size_t i = 0; i < cell_length(members); i++) {
                        json_object *facts = cell_member(cell_element(members, i), "recording");
                        json_object *one = cell_member(facts, "filter");

                        if (side == 0 && i == 0)
                                filter = one;
                        else if (!json_object_equal(one, filter))
                                *ret_is_same = false;
                }
        }
        return *ret_is_same ? filter : NULL;
}

static void print_tests(const StackText *text, const Lines *lines) {
        json_object *first = text->firsts[0];
        unsigned long long n_tested = cell_u64(first, "tested"),
                           n_significant = cell_u64(first, "significant"),
                           n_needed = cell_u64(first, "samplesNeeded");

        if (n_tested == 0)
                lines_format(lines, "",
                             "no stack was tested: it takes two recordings a side, and a hundredth "
                             "of a thread in one of them");
        else
                lines_format(lines, "",
                             "%llu stack%s tested, adjusted for as many: %llu %s an adjusted p "
                             "below %g",
                             n_tested, n_tested == 1 ? "" : "s", n_significant,
                             n_significant == 1 ? "has" : "have",
                             json_object_get_double(cell_member(first, "alpha")));
        if (n_needed > 0 && n_significant == 0)
                lines_format(lines, "",
                             "for one stack alone to be significant it takes %llu recordings a "
                             "side, or fewer stacks (record --comm, --pid, ...)",
                             n_needed);
}

/*
 * Prints the lines below the stacks of sets: the result of the tests, and the samples and stacks
 * that are not among those above.
 */
static int print_rest_of_sets(const StackText *text, const Lines *lines) {
        static const char *const sides[] = { "before", "after" };
        json_object *unsampled = cell_member(text->firsts[0], "unsampled");
        uint64_t n_overflow = cell_u64(text->firsts[0], "overflowStacks");
        _cleanup_(buffer_done) Buffer line = {};
        bool is_same;

        print_tests(text, lines);
        (void) filter_of_sets(text, &is_same);
        if (!is_same)
                lines_format(lines, "", "not all recordings took samples of the same threads");
        for (unsigned side = 0; side < 2; side++) {
                double ns = json_object_get_double(
                        cell_member(cell_member(unsampled, sides[side]), "median"));

                if (!(ns > 0))
                        continue;
                buffer_append_format(
                        &line, "%s%s ",
                        line.n > 0 ? ", " : "threads without a sample: ", text->words[side]);
                compact_append_threads(&line, ns / NSEC_PER_SEC);
        }
        for (unsigned side = 0; side < 2; side++) {
                json_object *members = cell_member(text->firsts[0], recorded_names[side]);
                uint64_t n_lost = 0, n = 0;

                for (size_t i = 0; i < cell_length(members); i++) {
                        json_object *facts = cell_member(cell_element(members, i), "recording");

                        n_lost = number_add_saturating(n_lost, stack_count_lost(facts));
                        n = number_add_saturating(n, cell_u64(facts, "samples"));
                }
                if (n_lost > 0)
                        lines_format(lines, "", "%s: %llu samples were lost, and %llu were taken",
                                     text->words[side], (unsigned long long) n_lost,
                                     (unsigned long long) n);
        }
        if (n_overflow > 0)
                lines_format(lines, "", "%llu stacks of a recording had no room, and are [others]",
                             (unsigned long long) n_overflow);
        return line.n > 0 ? lines_print_buffer(lines, "", &line) : 0;
}

static int print_end(const StackText *text, const StackStore *store, const char *way_to_hidden,
                     const char *way_to_rest) {
        const Lines lines = { .out = text->out, .terminal = text->terminal };
        bool is_pair = stack_store_is_pair(store);
        int r = is_pair ? 0 : print_rest(text, &lines, way_to_rest);

        if (is_pair && !text->has_rest && text->is_chatty)
                lines_format(&lines, "", "without places in which threads wait for work%s",
                             way_to_rest);
        if (r == 0 && text->of_sets)
                r = print_rest_of_sets(text, &lines);
        else if (r == 0)
                r = print_unsampled(text, store, &lines, is_pair);
        if (r == 0 && !text->of_sets)
                print_lost(text, &lines, is_pair);
        if (r == 0 && text->n_hidden > 0 && text->is_chatty)
                lines_format(&lines, "", "%llu more stack%s (%s)",
                             (unsigned long long) text->n_hidden, text->n_hidden == 1 ? "" : "s",
                             way_to_hidden);
        return r;
}

static void append_numbers(Buffer *line, json_object *numbers, const char *one, const char *more) {
        size_t n = cell_length(numbers);

        for (size_t i = 0; i < n; i++)
                buffer_append_format(
                        line, "%s%llu",
                        i > 0    ? ", "
                        : n == 1 ? one
                                 : more,
                        (unsigned long long) json_object_get_uint64(cell_element(numbers, i)));
}

static int append_filter(Buffer *line, json_object *filter) {
        json_object *comm = cell_member(filter, "comm"), *cgroup = cell_member(filter, "cgroup");
        Span threads = cell_string(cell_member(filter, "threads"));
        uint64_t min_ns = cell_u64(filter, "minNs"), max_ns = cell_u64(filter, "maxNs");

        if (json_object_get_boolean(cell_member(filter, "descendants")))
                buffer_append_text(line, " of the command and what it started");
        append_numbers(line, cell_member(filter, "pids"), " of process ", " of processes ");
        append_numbers(line, cell_member(filter, "uids"), " of uid ", " of uids ");
        if (span_is(threads, "user") || span_is(threads, "kernel"))
                buffer_append_text(line,
                                   span_is(threads, "user") ? " of programs" : " of the kernel");
        if (comm) {
                buffer_append_text(line, " called ");
                printable_append_name(line, cell_string(comm));
        }
        if (cgroup) {
                buffer_append_text(line, " in ");
                printable_append_name(line, cell_string(cgroup));
        }
        if (min_ns > 0 || max_ns > 0)
                buffer_append_text(line, " of waits of");
        if (min_ns > 0) {
                buffer_append_byte(line, ' ');
                compact_append_span(line, (double) min_ns);
                buffer_append_text(line, max_ns > 0 ? " to" : " and more");
        }
        if (max_ns > 0) {
                buffer_append_byte(line, ' ');
                compact_append_span(line, (double) max_ns);
                if (min_ns == 0)
                        buffer_append_text(line, " and less");
        }
        return buffer_failure(line);
}

/* Times that do not add up are reported if more than one in this many threads has such times. */
#define ADDING_UP_PART 20

int stack_print_gaps(const Lines *lines, const char *label, const char *word, json_object *reply) {
        static const struct {
                const char *end, *text;
        } ends[] = {
                { "bytes", "ended early: RecordingBytes= of ctprofd.conf(5) has no room for more" },
                { "memory", "ended early: the job that adds samples up may have no more memory" },
        };
        json_object *recording = cell_member(reply, "recording");
        Span end = cell_string(cell_member(recording, "endedBy")),
             cpus = cell_string(cell_member(recording, "cpusWithoutClock"));
        uint64_t n_threads = cell_u64(reply, "threadsThroughout"),
                 n_wrong = n_threads - MIN_OF(cell_u64(reply, "threadsAddingUp"), n_threads);
        _cleanup_(buffer_done) Buffer line = {};

        for (size_t i = 0; i < ELEMENTSOF(ends); i++)
                if (span_is(end, ends[i].end))
                        lines_format(lines, label, "%s%s%s", word, *word ? " " : "", ends[i].text);
        if (n_wrong > n_threads / ADDING_UP_PART)
                lines_format(lines, label, "%s%stimes of %llu of %llu threads do not add up to it",
                             word, *word ? " " : "", (unsigned long long) n_wrong,
                             (unsigned long long) n_threads);
        if (cpus.n == 0)
                return 0;
        buffer_append_format(&line, "%s%swithout samples of ", word, *word ? " " : "");
        compact_append_span(&line, (double) cell_u64(recording, "withoutClockNs"));
        buffer_append_text(&line, " on CPU ");
        printable_append_name(&line, cpus);
        buffer_append_text(&line, ", switched on after ctprofd began (restart it)");
        return lines_print_buffer(lines, label, &line);
}

static int print_all_gaps(const StackText *text, bool is_pair) {
        const Lines lines = { .out = text->out, .terminal = text->terminal };
        int r = 0;

        for (unsigned side = 0; r == 0 && side < 1u + is_pair; side++)
                r = stack_print_gaps(&lines, "", is_pair ? text->words[side] : "",
                                     text->firsts[side]);
        return r;
}

int stack_append_scope(Buffer *line, json_object *recording) {
        return append_filter(line, cell_member(recording, "filter"));
}

/* "stacks of uid 1000 called nginx*" */
static int print_heading(const StackText *text, const StackStore *store) {
        bool is_pair = stack_store_is_pair(store);
        _cleanup_(buffer_done) Buffer scope = {};
        const char *line = "", *what = "";
        bool is_same;
        int r = text->of_sets ? append_filter(&scope, filter_of_sets(text, &is_same))
                              : stack_append_scope(&scope,
                                                   cell_member(text->firsts[is_pair], "recording"));

        if (store->n > 0 && text->of_sets)
                what = ": how many threads were in each on average, medians";
        else if (store->n > 0 && is_pair)
                what = ": how many threads were in each on average";

        if (r == 0)
                r = buffer_terminate(&scope, &line);
        if (r == 0)
                (void) fprintf(text->out, "%s%s%s%s%s\n", text->terminal->colour ? "\033[1m" : "",
                               store->n > 0 ? "stacks" : "no stacks",
                               text->terminal->colour ? "\033[0m" : "", line, what);
        return r;
}

/* The cells of numbers, which two recordings have others of. */
enum {
        CELL_BEFORE,
        CELL_AFTER,
        CELL_CHANGE,
        CELL_P,
        CELL_RANGES,
        CELL_TIME,
        CELL_ERROR,
        CELL_SHARE,
        _CELL_MAX
};

static void set_columns(const StackText *text, const StackStore *store,
                        TableColumn columns[static _CELL_MAX], bool has_errors) {
        bool is_pair = stack_store_is_pair(store);
        const TableColumn all[_CELL_MAX] = {
                [CELL_BEFORE] = { .header = text->words[0], .right = true, .absent = !is_pair },
                [CELL_AFTER] = { .header = text->words[1], .right = true, .absent = !is_pair },
                [CELL_CHANGE] = { .header = "CHANGE", .right = true, .absent = !is_pair },
                [CELL_P] = { .header = "P (ADJ)", .right = true, .absent = !store->tests },
                [CELL_RANGES] = { .header = "MIN..MAX",
                                  .right = true,
                                  .omit = 1,
                                  .absent = !store->tests },
                [CELL_TIME] = { .header = "TIME", .right = true, .absent = is_pair },
                [CELL_ERROR] = { .header = "ERROR", .right = true },
                [CELL_SHARE] = { .header = "SHARE", .right = true, .absent = is_pair },
        };

        memcpy(columns, all, sizeof(all));
        columns[CELL_ERROR].absent = true;
        for (size_t i = 0; i < store->n && has_errors; i++)
                columns[CELL_ERROR].absent =
                        columns[CELL_ERROR].absent && amounts_are_exact(store->rows[i].of);
}

/* "1.6..1.8 → 3.3..3.5" */
static void append_ranges(Buffer *cell, const StackAmount of[static 2], const StackTest *test) {
        for (unsigned side = 0; side < 2; side++) {
                if (side > 0)
                        buffer_append_text(cell, " \u2192 ");
                if (!of[side].is_there) {
                        buffer_append_byte(cell, '-');
                        continue;
                }
                compact_append_threads(cell, test->least[side]);
                buffer_append_text(cell, "..");
                compact_append_threads(cell, test->most[side]);
        }
}

/*
 * @test: of a row of sets, else NULL; @total_ns is what shares are of. A cell of a column that is
 * absent says nothing.
 */
static void add_numbers(Table *table, const StackStore *store, const StackAmount of[static 2],
                        const StackTest *test, double total_ns) {
        bool is_pair = stack_store_is_pair(store), is_exact = amounts_are_exact(of);

        for (unsigned id = 0; id < _CELL_MAX; id++) {
                Buffer *cell = table_cell(table);
                double change;

                if (test && id == CELL_P) {
                        if (!isnan(test->p))
                                compact_append_p(cell, test->p);
                } else if (test && id == CELL_RANGES) {
                        append_ranges(cell, of, test);
                } else if (test && id == CELL_CHANGE && !(of[0].is_there && of[1].is_there)) {
                        continue; /* of one side nothing is known */
                } else if (is_pair && id <= CELL_AFTER && of[id].is_there) {
                        compact_append_threads(cell, stack_store_threads(store, &of[id], id));
                } else if (is_pair && id == CELL_CHANGE) {
                        change = stack_store_change(store, of);
                        if (fabs(change) >= 0.005)
                                buffer_append_text(cell, change < 0 ? "\u2212" : "+");
                        compact_append_threads(cell, fabs(change));
                } else if (id == CELL_TIME) {
                        compact_append_span(cell, (double) of[0].ns);
                } else if (id == CELL_SHARE) {
                        compact_append_percent(cell, percent_of((double) of[0].ns, total_ns));
                } else if (id == CELL_ERROR && is_exact) {
                        buffer_append_byte(cell, ' ');
                } else if (id == CELL_ERROR) {
                        buffer_append_text(cell, "\u00b1");
                        if (is_pair)
                                buffer_append_format(cell, "%.2f",
                                                     stack_store_change_error(store, of));
                        else
                                compact_append_span(cell, sqrt(of[0].variance));
                }
        }
}

/* one a line */

/* ", held by app/writer 97 % in [sleep] usleep", or woken, where it is not known what it did. */
static int append_woken(Buffer *cell, const StoredStack *row, bool is_inward) {
        json_object *held = cell_member(row->woken_by, "held");

        buffer_append_text(cell, held ? ", held by " : ", woken by ");
        stack_append_waker(cell, row->woken_by);
        buffer_append_byte(cell, ' ');
        compact_append_percent(cell, percent_of((double) row->woken_ns, (double) row->of[0].ns));
        if (!held)
                return 0;
        buffer_append_text(cell, " in ");
        return stack_append_held(cell, held, is_inward);
}

/* ", on /var/lib/data 83 %": what most of the time of these rows was on, if it is that much. */
static int append_object(Buffer *cell, const StackStore *store, const StoredStack *begin,
                         const StoredStack *end, uint64_t whole_ns, double least_percent) {
        uint64_t ns;
        Span name;

        if (!stack_store_find_object(store, begin, end, &name, &ns) ||
            percent_of((double) ns, (double) whole_ns) < least_percent)
                return 0;
        buffer_append_text(cell, ", on ");
        printable_append_name(cell, name);
        buffer_append_byte(cell, ' ');
        compact_append_percent(cell, percent_of((double) ns, (double) whole_ns));
        return buffer_failure(cell);
}

int stack_text_print_list(const StackText *text, const StackStore *store) {
        TableColumn columns[3 + _CELL_MAX] = {
                { .header = "PROCESS", .shrink_to = 12 },
                { .header = "PLACE" },
        };
        _cleanup_(table_freep) Table *table = NULL;
        double total = total_ns(text, store);
        int r;

        /* The first screen of one recording has said it. */
        r = stack_store_is_pair(store) ? print_all_gaps(text, true) : 0;
        if (r == 0)
                r = print_heading(text, store);
        if (r != 0 || store->n == 0)
                return r;
        set_columns(text, store, columns + 2, stack_store_is_pair(store));
        columns[2 + _CELL_MAX] = (TableColumn){ .header = "STACK", .shrink_to = 20 };
        r = table_new(columns, ELEMENTSOF(columns), text->terminal, text->legend, text->out,
                      &table);
        if (r < 0)
                return r;
        for (size_t i = 0; r == 0 && i < store->n; i++) {
                const StoredStack *row = &store->rows[i];
                Buffer *cell = table_cell(table);

                printable_append_name(cell, name_set_get(&store->names, row->process));
                if (row->thread != row->process) {
                        buffer_append_byte(cell, '/');
                        printable_append_name(cell, name_set_get(&store->names, row->thread));
                }
                printable_append_name(table_cell(table), name_set_get(&store->places, row->place));
                add_numbers(table, store, row->of, store->tests ? &store->tests[i] : NULL, total);
                cell = table_cell(table);
                stack_append_leaves(cell, store, row, false);
                r = append_object(cell, store, row, row + 1, row->of[0].ns, 0);
                if (r == 0 && row->woken_by)
                        r = append_woken(cell, row, false);
                table_end_row(table, 0);
        }
        if (r == 0)
                r = table_end(table);
        return r == 0 ? print_end(text, store, text->is_alone ? "--limit 0" : "--stacks",
                                  text->is_alone ? " (--all-rows)" : "")
                      : r;
}

/* trees */

typedef struct Tree {
        const StackStore *store;
        Table *table;
        double total;
} Tree;

/* Rows that begin alike. */
typedef struct Branch {
        size_t begin, end;
        double weight;
        StackAmount of[2];
} Branch;

static void branch_add(Branch *branch, const Tree *tree, const StoredStack *row) {
        branch->end++;
        branch->weight += stack_store_weight(tree->store, row);
        stack_amount_add(&branch->of[0], &row->of[0]);
        stack_amount_add(&branch->of[1], &row->of[1]);
}

static int by_weight(const void *a_, const void *b_) {
        const Branch *a = a_, *b = b_;

        if (a->weight != b->weight)
                return a->weight < b->weight ? 1 : -1;
        return (a->begin > b->begin) - (a->begin < b->begin);
}

/*
 * Prints a line; one without a branch goes on with the function that the last has called. @place:
 * it is the place at the end of the stacks of that branch; else NULL.
 */
static void print_line(Tree *tree, const Branch *branch, size_t indent, Span name,
                       const Branch *place) {
        Buffer *cell;

        if (branch)
                add_numbers(tree->table, tree->store, branch->of, NULL, tree->total);
        else
                for (size_t i = 0; i < _CELL_MAX; i++)
                        buffer_append_byte(table_cell(tree->table), ' ');
        cell = table_cell(tree->table);
        for (size_t i = 0; i < indent; i++)
                buffer_append_text(cell, "  ");
        if (place)
                buffer_append_byte(cell, '[');
        printable_append_name(cell, name);
        if (place) {
                const StoredStack *rows = tree->store->rows;

                buffer_append_byte(cell, ']');
                (void) append_object(cell, tree->store, rows + place->begin, rows + place->end,
                                     place->of[0].ns, 0);
        }
        table_end_row(tree->table, branch && indent == 0 ? 1u << _CELL_MAX : 0);
}

/* The function at @depth of a stack, or, at its end, the place. */
static Span name_at(const Tree *tree, size_t i, size_t depth, bool *ret_is_place) {
        const StackStore *store = tree->store;
        const StoredStack *row = &store->rows[i];

        *ret_is_place = depth >= row->n_frames;
        return *ret_is_place
                       ? name_set_get(&store->places, row->place)
                       : name_set_get(&store->functions, stack_store_frames(store, row)[depth]);
}

static bool is_alike(const Tree *tree, size_t i, size_t k, size_t depth) {
        bool is_place, is_place_too;
        Span name = name_at(tree, i, depth, &is_place), other;

        other = name_at(tree, k, depth, &is_place_too);
        return is_place == is_place_too && span_equal(name, other);
}

/* Prints what the rows of @whole call at @depth, the heaviest first; -ENOMEM. */
static int print_branches(Tree *tree, const Branch *whole, size_t depth, size_t indent) {
        _cleanup_(freep) Branch *branches = NULL;
        size_t n = 0, n_allocated = 0;
        int r = 0;

        for (size_t i = whole->begin; i < whole->end; i++) {
                if (n == 0 || !is_alike(tree, branches[n - 1].begin, i, depth)) {
                        r = ARRAY_RESERVE(branches, n_allocated, n + 1);
                        if (r != 0)
                                return r;
                        branches[n++] = (Branch){ .begin = i, .end = i };
                }
                branch_add(&branches[n - 1], tree, &tree->store->rows[i]);
        }
        if (n > 0)
                qsort(branches, n, sizeof(*branches), by_weight);
        for (size_t i = 0; r == 0 && i < n; i++) {
                const Branch *branch = &branches[i];
                size_t at = depth;
                bool is_place;
                Span name;

                name = name_at(tree, branch->begin, at, &is_place);
                print_line(tree, branch, indent, name, is_place ? branch : NULL);
                /* As long as all of them call the same, it is one line below the other. */
                while (!is_place) {
                        bool all = true;

                        at++;
                        for (size_t k = branch->begin + 1; all && k < branch->end; k++)
                                all = is_alike(tree, branch->begin, k, at);
                        if (!all)
                                break;
                        name = name_at(tree, branch->begin, at, &is_place);
                        print_line(tree, NULL, indent, name, is_place ? branch : NULL);
                }
                if (!is_place)
                        r = print_branches(tree, branch, at, indent + 1);
        }
        return r;
}

int stack_text_print_trees(const StackText *text, StackStore *store) {
        TableColumn columns[_CELL_MAX + 1];
        _cleanup_(table_freep) Table *table = NULL;
        Tree tree = { .store = store, .total = total_ns(text, store) };
        int r = stack_store_sort(store);

        if (r != 0)
                return r;
        r = print_all_gaps(text, stack_store_is_pair(store));
        if (r == 0)
                r = print_heading(text, store);
        if (r != 0 || store->n == 0)
                return r;
        set_columns(text, store, columns, true);
        columns[_CELL_MAX] = (TableColumn){ .header = "STACK", .shrink_to = 30 };
        r = table_new(columns, ELEMENTSOF(columns), text->terminal, text->legend, text->out,
                      &table);
        if (r < 0)
                return r;
        tree.table = table;
        for (size_t i = 0; r == 0 && i < store->n;) {
                Branch process = { .begin = i, .end = i };

                while (process.end < store->n &&
                       store->rows[process.end].process == store->rows[i].process)
                        branch_add(&process, &tree, &store->rows[process.end]);
                print_line(&tree, &process, 0, name_set_get(&store->names, store->rows[i].process),
                           NULL);
                r = print_branches(&tree, &process, 0, 1);
                i = process.end;
        }
        if (r == 0)
                r = table_end(table);
        return r == 0 ? print_end(text, store, "--limit 0", " (--all-rows)") : r;
}

/* the heaviest wait of each process */

/* There a thread waits for what it wants and others have, or what a device is slow to give. */
static bool place_is_taken(Span place) {
        static const char *const names[] = { "lock", "file_lock", "storage", "blocked", "fault" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (span_is(place, names[i]))
                        return true;
        return false;
}

/* So many threads, or a part of one, are worth a line. */
#define LEAST_WAITING 0.1
/* An object is worth telling if threads wait on it for at least this percentage of the time. */
#define MOST_PERCENT 50

/*
 * Returns true if so many threads waited in the stack of @row, or if their number changed so much,
 * that the stack is worth a line.
 */
static bool is_worth_a_line(const StackStore *store, const StoredStack *row) {
        if (!stack_store_is_pair(store))
                return !span_is(name_set_get(&store->places, row->place), "running") &&
                       stack_store_threads(store, &row->of[0], 0) >= LEAST_WAITING;
        if (store->tests)
                return store->tests[row - store->rows].is_significant &&
                       fabs(stack_store_change(store, row->of)) >= LEAST_WAITING;
        return fabs(stack_store_change(store, row->of)) >=
               MAX_OF(LEAST_WAITING, 2 * stack_store_change_error(store, row->of));
}

/* The line of one wait, with so many functions. *ret_lines: how many more than one it may have. */
static int append_wait(Buffer *line, const StackStore *store, const StoredStack *row,
                       size_t max_leaves, size_t *ret_lines) {
        size_t n_before;
        int r;

        printable_append_name(line, name_set_get(&store->names, row->process));
        buffer_append_byte(line, ' ');
        printable_append_name(line, name_set_get(&store->places, row->place));
        buffer_append_byte(line, ' ');
        compact_append_threads(line, stack_store_threads(store, &row->of[0], 0));
        if (stack_store_is_pair(store)) {
                buffer_append_text(line, " \u2192 ");
                compact_append_threads(line, stack_store_threads(store, &row->of[1], 1));
        }
        buffer_append_text(line, ": ");
        append_leaves(line, store, row, true, max_leaves);
        n_before = line->n;
        r = append_object(line, store, row, row + 1, row->of[0].ns, MOST_PERCENT);
        /*
         * The object that the threads wait on for most of the time is worth another line, and so is
         * the thread that has what others wait for.
         */
        *ret_lines = (line->n > n_before ? 1u : 0u) + (row->woken_by ? 1u : 0u);
        return r == 0 && row->woken_by ? append_woken(line, row, true) : r;
}

/* Where there is no room for all functions the outermost are left out: the innermost tells most. */
static int print_wait(const Lines *lines, const StackStore *store, const StoredStack *row) {
        const char *label = stack_store_is_pair(store) ? "changed" : "waits", *text;
        _cleanup_(buffer_done) Buffer line = {};
        Lines more = *lines;
        size_t n_more;
        int r;

        for (size_t max_leaves = MAX_LEAVES; max_leaves > 0; max_leaves--) {
                buffer_clear(&line);
                r = append_wait(&line, store, row, max_leaves, &n_more);
                if (r == 0)
                        r = buffer_terminate(&line, &text);
                if (r != 0)
                        return r;
                more.max_lines = lines->max_lines > 0 ? lines->max_lines + n_more : 0;
                if (!lines_cut(&more, text))
                        break;
        }
        lines_print(&more, label, text);
        return 0;
}

int stack_text_print_waits(const Lines *lines, const StackStore *store, size_t max) {
        _cleanup_(freep) bool *has_line = calloc(store->names.n + 1, sizeof(*has_line));
        size_t n = 0;
        int r = 0;

        if (!has_line)
                return -ENOMEM;
        /*
         * A thread that waits for others to do or send something most often waits for work, so the
         * lines of such waits come after those of waits for what others have or a device is slow to
         * give.
         */
        for (size_t k = 0; r == 0 && k < 2 * store->n && n < max && store->elapsed_ns[0] > 0; k++) {
                const StoredStack *row = &store->rows[k % store->n];
                Span place = name_set_get(&store->places, row->place);

                if (has_line[row->process] || stack_place_is_rest(place) ||
                    place_is_taken(place) != (k < store->n) || !is_worth_a_line(store, row))
                        continue;
                has_line[row->process] = true;
                r = print_wait(lines, store, row);
                n++;
        }
        return r;
}
