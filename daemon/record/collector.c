/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/collector.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "record/recording-document.h"
#include "record/course/sampled-times.h"
#include "record/program/source-line.h"

#define MAX_PROCESSES 65536u
/*
 * Of all processes: 128 MiB. At the end of a recording, when nothing can end it any more, there is
 * a sample of each thread that waits, and all of their processes are told.
 */
#define MAX_MAPPINGS (4u << 20)
#define MAX_READY \
        64u /* processes that libdwfl knows at a time: each takes some hundred kilobytes */
#define TEXT_BYTES (256u << 10)
#define MAX_WAKES \
        16384u /* that are remembered: more than there are threads on their way to a CPU */
/* Maps of code that was made at run time: memory for one and for all, and how often one is read. */
#define JIT_MAX_BYTES (16u << 20)
#define JIT_ALL_MAX_BYTES (64u << 20)
#define JIT_AGE_NS UINT64_C(1000000000)

/* Functions that a process made, by the map that it writes: addresses are its own. */
typedef struct JitMap {
        int fd; /* owned; negative: there is none */
        off_t at;
        uint64_t read_ns; /* as samples have it */
        SymbolTable symbols;
} JitMap;

typedef struct Process {
        uint64_t tgid, image;
        char comm[16];
        Mapping *mappings; /* owned */
        size_t n_mappings;
        bool is_left_out;      /* there was no room for its mappings */
        UnwindProcess *unwind; /* owned; NULL: it is not ready */
        uint64_t used;         /* the number of the sample that it was last used for */
        JitMap jit;
} Process;

/* A wake-up that was told, until the sample of the wait that it ended comes. */
typedef struct Wake {
        uint64_t number; /* RecordSample.wake */
        uint64_t seen_ns;
        uint32_t waker, stack;
} Wake;

/* The information that was received about the object of the next sample. */
typedef struct ObjectTold {
        RecordObjectName name;
        Buffer text; /* empty: nothing was received */
} ObjectTold;

/* Where a thread was, and until when: what a lock was held for, or whom its holder waited for. */
typedef struct Deed {
        StackSampleKey key;
        uint64_t end_ns, ns;
} Deed;
#define MAX_DEEDS 4096u /* that are remembered: some seconds of samples */
#define MAX_HOLDS 16u   /* different ones of one thread that are told apart */

struct Collector {
        Modules modules;
        SymbolTable kernel;
        StackTable table;
        Course course;
        Process *processes;
        size_t n_processes, n_processes_allocated, n_ready;
        size_t n_mappings; /* of all processes */
        Index by_tgid;
        uint64_t n_taken, n_complete, n_cut;
        bool wants_lines;
        size_t n_jit_bytes; /* of memory, for all processes */
        uint64_t names_ns;  /* CPU time for names of C++ and Rust */
        UnwoundStack unwound;
        uint32_t frames[UNWIND_MAX_FRAMES + RECORD_MAX_FRAMES + 1];
        Wake wakes[MAX_WAKES]; /* by their number */
        Deed deeds[MAX_DEEDS]; /* the last ones, in a ring */
        uint64_t n_deeds;
        ObjectTold told;
        Buffer text; /* of an object */
};

static void forget_jit(Collector *collector, Process *process) {
        collector->n_jit_bytes -= symbol_table_bytes(&process->jit.symbols);
        (void) fd_close(process->jit.fd);
        symbol_table_done(&process->jit.symbols);
        process->jit = (JitMap){ .fd = -EBADF };
}

int collector_new(Collector **ret) {
        Collector *collector = calloc(1, sizeof(*collector));

        if (!collector)
                return -ENOMEM;
        (void) elf_version(EV_CURRENT);
        *ret = collector;
        return 0;
}

Collector *collector_free(Collector *collector) {
        if (!collector)
                return NULL;
        for (size_t i = 0; i < collector->n_processes; i++) {
                forget_jit(collector, &collector->processes[i]);
                (void) unwind_process_free(collector->processes[i].unwind);
                free(collector->processes[i].mappings);
        }
        free(collector->processes);
        index_done(&collector->by_tgid);
        stack_table_done(&collector->table);
        course_done(&collector->course);
        symbol_table_done(&collector->kernel);
        buffer_done(&collector->told.text);
        buffer_done(&collector->text);
        modules_done(&collector->modules);
        free(collector);
        return NULL;
}

const StackTable *collector_table(const Collector *collector) {
        return &collector->table;
}

const Course *collector_course(const Collector *collector) {
        return &collector->course;
}

const Modules *collector_modules(const Collector *collector) {
        return &collector->modules;
}

void collector_count(const Collector *collector, uint64_t *ret_complete, uint64_t *ret_cut) {
        *ret_complete = collector->n_complete;
        *ret_cut = collector->n_cut;
}

/* the kernel */

static int read_kernel(Collector *collector, int fd) {
        _cleanup_(freep) char *text = malloc(TEXT_BYTES);
        size_t n_kept = 0;
        ssize_t n;
        int r = 0;

        if (!text)
                return -ENOMEM;
        while (r == 0 && (n = read(fd, text + n_kept, TEXT_BYTES - n_kept)) > 0) {
                const char *last;
                size_t n_lines;

                n_kept += (size_t) n;
                last = memrchr(text, '\n', n_kept);
                if (!last && n_kept == TEXT_BYTES)
                        break;
                n_lines = last ? (size_t) (last - text) + 1 : 0;
                r = symbol_table_add_kernel(&collector->kernel, (Span){ text, n_lines });
                n_kept -= n_lines;
                memmove(text, text + n_lines, n_kept);
        }
        symbol_table_sort(&collector->kernel);
        return r;
}

static int add_kernel_frame(Collector *collector, uint64_t address, uint32_t *ret) {
        const Symbol *symbol = symbol_table_find(&collector->kernel, address);
        Span name = {};
        int r = symbol ? symbol_table_name(&collector->kernel, symbol, &collector->names_ns, &name)
                       : 0;

        return r < 0 ? r : stack_table_add_frame(&collector->table, STACK_KERNEL, 0, name, ret);
}

static bool begins(const char *name, const char *const prefixes[], size_t n) {
        for (size_t i = 0; i < n; i++)
                if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
                        return true;
        return false;
}

static const char *name_in_kernel(const Collector *collector, uint64_t address) {
        const Symbol *symbol = symbol_table_find(&collector->kernel, address);

        return symbol ? symbol_table_text(&collector->kernel, symbol->name) : "";
}

/*
 * The hook of kernels before 6.15 has threads sleep below a trampoline, as if that were what they
 * wait in, and the program that sees wake-ups is called by them. Returns how many frames that is.
 */
static size_t count_hook_frames(const Collector *collector, const RecordSample *sample) {
        static const char *const ours[] = { "bpf_trampoline_", "bpf_prog_", "bpf_trace_run",
                                            "__bpf_trace_", "__traceiter_" };
        size_t n = 0;

        while (n < sample->n_frames &&
               begins(name_in_kernel(collector, sample->frames[n]), ours, ELEMENTSOF(ours)))
                n++;
        return n;
}

/*
 * Finds out who woke a thread. Returns STACK_WAKER_FIRST if the current task did,
 * STACK_WAKER_INTERRUPT if what interrupted that task did, and STACK_WAKER_UNKNOWN if this is not
 * known. The names of the functions in the stack tell this, from the innermost function on. A
 * wake-up that a thread makes on its way back from an interrupt is its own. The work that
 * interrupts leave for later (softirq) is run at the end of an interrupt, by a thread for that
 * purpose, or by any thread that has kept such work away for a moment. In the last case, packets
 * from this host are those that the thread has just sent, and all other work is for others. *ret_n
 * is the number of frames that belong to the interrupt.
 */
static uint32_t judge_waker(const Collector *collector, const RecordSample *sample, size_t *ret_n) {
        static const char *const returns[] = {
                "irqentry_exit",     "exit_to_user_mode",          "preempt_schedule_irq",
                "raw_irqentry_exit", "arm64_preempt_schedule_irq", "do_notify_resume"
        };
        static const char *const entries[] = {
                "asm_sysvec_", "asm_common_interrupt", "asm_spurious_interrupt",
                "el1h_64_irq", "el0t_64_irq",          "el1_irq",
                "el0_irq",     "el0t_32_irq",          "el1h_64_fiq",
                "el0t_64_fiq"
        };
        static const char *const later[] = { "handle_softirqs", "__do_softirq", "run_ksoftirqd" };
        static const char *const calls[] = { "entry_SYSCALL", "entry_INT80", "do_syscall_64",
                                             "do_el0_svc",    "el0_svc",     "ret_from_fork" };
        bool is_later = false, is_own = false, is_whole = sample->n_frames < RECORD_MAX_FRAMES;
        bool has_name = false;

        *ret_n = sample->tid == 0 ? sample->n_frames : 0;
        for (size_t i = 0; i < sample->n_frames; i++) {
                const char *name = name_in_kernel(collector, sample->frames[i]);

                has_name = has_name || *name;
                if (begins(name, later, ELEMENTSOF(later))) {
                        is_later = true;
                        *ret_n = i + 1;
                } else if (begins(name, entries, ELEMENTSOF(entries))) {
                        *ret_n = i + 1;
                        return STACK_WAKER_INTERRUPT;
                } else if (strcmp(name, "process_backlog") == 0)
                        is_own = true;
                else if (begins(name, calls, ELEMENTSOF(calls)) ||
                         begins(name, returns, ELEMENTSOF(returns))) {
                        is_whole = true;
                        break;
                }
        }
        if (sample->tid == 0 || (is_later && (!is_own || sample->is_kernel_thread)))
                return STACK_WAKER_INTERRUPT;
        /* Without names, and where a stack was cut, there may be one. */
        return has_name && is_whole ? STACK_WAKER_FIRST : STACK_WAKER_UNKNOWN;
}

/* processes */

static Span key_of_process(const void *owner, size_t element) {
        const Collector *collector = owner;

        return (Span){ (const char *) &collector->processes[element].tgid, sizeof(uint64_t) };
}

static Process *find_process(Collector *collector, uint64_t tgid) {
        size_t found = index_find(&collector->by_tgid, (Span){ (const char *) &tgid, sizeof(tgid) },
                                  key_of_process, collector);

        return found == INDEX_NONE ? NULL : &collector->processes[found];
}

static void forget_ready(Collector *collector, Process *process) {
        if (process->unwind) {
                process->unwind = unwind_process_free(process->unwind);
                collector->n_ready--;
        }
}

static int take_process(Collector *collector, const RecordMessage *message) {
        const RecordProcess *told = message->body;
        const Mapping *mappings;
        Process *process;
        size_t n;
        int r;

        if (message->n < sizeof(*told) || (message->n - sizeof(*told)) % sizeof(Mapping) != 0)
                return -EBADMSG;
        n = (message->n - sizeof(*told)) / sizeof(Mapping);
        mappings = (const Mapping *) (told + 1);
        for (size_t i = 0; i < n; i++)
                if (mappings[i].module >= collector->modules.n ||
                    mappings[i].begin >= mappings[i].end ||
                    (i > 0 && mappings[i].begin < mappings[i - 1].end))
                        return -EBADMSG;
        process = find_process(collector, told->tgid);
        if (!process) {
                if (collector->n_processes >= MAX_PROCESSES)
                        return 0;
                r = ARRAY_RESERVE(collector->processes, collector->n_processes_allocated,
                                  collector->n_processes + 1);
                if (r == 0)
                        r = index_add(&collector->by_tgid,
                                      (Span){ (const char *) &told->tgid, sizeof(told->tgid) },
                                      collector->n_processes);
                if (r < 0)
                        return r;
                process = &collector->processes[collector->n_processes++];
                *process = (Process){ .tgid = told->tgid, .jit.fd = -EBADF };
        }
        if (process->image != told->image)
                forget_jit(collector, process);
        process->image = told->image;
        memcpy(process->comm, told->comm, sizeof(process->comm));
        forget_ready(collector, process);
        free(process->mappings);
        collector->n_mappings -= process->n_mappings;
        process->n_mappings = 0;
        process->is_left_out = n > MAX_MAPPINGS - collector->n_mappings;
        if (process->is_left_out)
                n = 0;
        process->mappings = malloc((n + 1) * sizeof(Mapping));
        if (!process->mappings)
                return -ENOMEM;
        memcpy(process->mappings, mappings, n * sizeof(Mapping));
        process->n_mappings = n;
        collector->n_mappings += n;
        return 0;
}

static int take_jit(Collector *collector, const RecordMessage *message, int fd) {
        _cleanup_(fd_closep) int owned = fd;
        const RecordProcess *told = message->body;
        Process *process;

        if (message->n != sizeof(*told) || fd < 0)
                return -EBADMSG;
        process = find_process(collector, told->tgid);
        if (process) {
                forget_jit(collector, process);
                if (owned < MODULE_FD_END)
                        process->jit.fd = TAKE_FD(owned);
        }
        return 0;
}

/*
 * Reads the functions that the process has added to its map since the last time. A line that is not
 * whole is left for the next time.
 */
static int read_jit(Collector *collector, JitMap *jit) {
        _cleanup_(freep) char *text = malloc(TEXT_BYTES);
        size_t n_before = jit->symbols.n;
        ssize_t n;
        int r = 0;

        if (!text)
                return -ENOMEM;
        collector->n_jit_bytes -= symbol_table_bytes(&jit->symbols);
        while (r == 0 && symbol_table_bytes(&jit->symbols) < JIT_MAX_BYTES &&
               collector->n_jit_bytes + symbol_table_bytes(&jit->symbols) < JIT_ALL_MAX_BYTES &&
               (n = pread(jit->fd, text, TEXT_BYTES, jit->at)) > 0) {
                const char *last = memrchr(text, '\n', (size_t) n);

                if (!last)
                        break;
                jit->at += last + 1 - text;
                r = symbol_table_add_jit(&jit->symbols, (Span){ text, (size_t) (last + 1 - text) });
        }
        if (jit->symbols.n != n_before) {
                symbol_table_sort(&jit->symbols);
                symbol_table_drop_replaced(&jit->symbols);
        }
        collector->n_jit_bytes += symbol_table_bytes(&jit->symbols);
        return r;
}

/* Empty where the process has no name for that. */
static int name_jit(Collector *collector, Process *process, uint64_t address, uint64_t seen_ns,
                    Span *ret) {
        JitMap *jit = &process->jit;
        const Symbol *symbol = symbol_table_find(&jit->symbols, address);
        size_t n_before;
        int r;

        *ret = (Span){};
        if (!symbol && jit->fd >= 0 &&
            (jit->at == 0 || seen_ns >= jit->read_ns + JIT_AGE_NS || seen_ns < jit->read_ns)) {
                r = read_jit(collector, jit);
                if (r < 0)
                        return r;
                jit->read_ns = seen_ns;
                symbol = symbol_table_find(&jit->symbols, address);
        }
        if (!symbol)
                return 0;
        n_before = symbol_table_bytes(&jit->symbols);
        r = symbol_table_name(&jit->symbols, symbol, &collector->names_ns, ret);
        collector->n_jit_bytes += symbol_table_bytes(&jit->symbols) - n_before;
        return r;
}

static int make_ready(Collector *collector, Process *process) {
        int r = 0;

        process->used = collector->n_taken;
        if (process->unwind)
                return 0;
        if (collector->n_ready >= MAX_READY) {
                Process *oldest = NULL;

                for (size_t i = 0; i < collector->n_processes; i++)
                        if (collector->processes[i].unwind &&
                            (!oldest || collector->processes[i].used < oldest->used))
                                oldest = &collector->processes[i];
                if (oldest)
                        forget_ready(collector, oldest);
        }
        r = unwind_process_new(&collector->modules, process->mappings, process->n_mappings,
                               &process->unwind);
        if (r == 0)
                collector->n_ready++;
        return r;
}

/* samples */

static int add_word(Collector *collector, const char *word, size_t *n) {
        return stack_table_add_frame(&collector->table, STACK_NO_MODULE, 0, span_of(word),
                                     &collector->frames[(*n)++]);
}

static int add_user_frame(Collector *collector, Process *process, const RecordSample *sample,
                          const UnwoundFrame *frame, uint32_t *ret) {
        Module *module = frame->module != SIZE_MAX ? collector->modules.all[frame->module] : NULL;
        const Symbol *symbol = NULL;
        StackFrame own = { .module = (uint32_t) frame->module, .offset = frame->vaddr };
        Span name = {};
        int r = 0;

        /* Code that was made at run time may also be in a file that is none of a program. */
        if (module && !module->elf) {
                r = name_jit(collector, process, frame->address, sample->seen_ns, &name);
                if (name.n > 0)
                        own.offset = 0;
        } else if (module) {
                r = module_find_symbol(module, frame->vaddr, &symbol);
                if (r == 0 && symbol)
                        r = symbol_table_name(&module->symbols, symbol, &collector->names_ns,
                                              &name);
                if (symbol)
                        own.offset = symbol->begin;
                if (collector->wants_lines && module->fd >= 0)
                        own.address = frame->vaddr;
        }
        if (r < 0)
                return r;
        if (name.n == 0 && (!module || strcmp(module->path, MODULE_PATH_JIT) == 0))
                return stack_table_add_frame(&collector->table, STACK_NO_MODULE, 0,
                                             SPAN_LITERAL("[unknown]"), ret);
        r = stack_table_add_name(&collector->table, name, &own.name);
        return r < 0 ? r : stack_table_put_frame(&collector->table, &own, ret);
}

/* Sets *ret to true if the frame is of the function with which a C library begins threads. */
static int begins_thread(const Collector *collector, const UnwoundFrame *frame, bool *ret) {
        Module *module = frame->module != SIZE_MAX ? collector->modules.all[frame->module] : NULL;
        const Symbol *symbol = NULL;
        const char *name;
        int r = module && module->elf ? module_find_symbol(module, frame->vaddr, &symbol) : 0;

        name = symbol ? symbol_table_text(&module->symbols, symbol->name) : "";
        *ret = strcmp(name, "__clone") == 0 || strcmp(name, "clone") == 0;
        return r;
}

/*
 * Ends a stack at the first function of its thread. In musl, that function has no call frame
 * information, by which it would say that nobody called it. On arm64 libdw then guesses a caller,
 * and finds the function itself once more.
 */
static int end_at_first_function(const Collector *collector, UnwoundStack *stack) {
        int r = 0;

        for (size_t i = stack->n > 2 ? stack->n - 2 : 1;
             r == 0 && !stack->is_complete && i < stack->n; i++) {
                r = begins_thread(collector, &stack->frames[i], &stack->is_complete);
                if (stack->is_complete)
                        stack->n = i + 1;
        }
        return r;
}

/* Frames of user mode, the outermost first, or a word that says why there are none. */
static int add_user_frames(Collector *collector, const RecordSample *sample, Span stack,
                           size_t *n) {
        Process *process;
        int r;

        if (sample->is_kernel_thread)
                return 0;
        if (sample->is_late)
                return add_word(collector, "[went on unseen]", n);
        if (!sample->has_registers)
                return 0;
        process = find_process(collector, sample->tgid);
        if (process ? process->is_left_out : collector->n_processes >= MAX_PROCESSES)
                return add_word(collector, "[too many processes]", n);
        /* It had none to be told of any more. */
        if (!process || process->n_mappings == 0)
                return add_word(collector, "[process ended]", n);
        r = make_ready(collector, process);
        if (r < 0)
                return r;
        if (sample->has_callers)
                unwind_callers(process->unwind, stack, &collector->unwound);
        else
                r = unwind_stack(process->unwind, (const uint64_t *) sample->registers, stack,
                                 &collector->unwound);
        if (r == 0 && !collector->unwound.is_complete)
                r = end_at_first_function(collector, &collector->unwound);
        if (r == 0 && !collector->unwound.is_complete)
                r = add_word(collector, "[stack cut]", n);
        collector->n_complete += collector->unwound.is_complete;
        collector->n_cut += !collector->unwound.is_complete;
        for (size_t i = collector->unwound.n; r == 0 && i-- > 0;)
                r = add_user_frame(collector, process, sample, &collector->unwound.frames[i],
                                   &collector->frames[(*n)++]);
        return r;
}

/* @end_ns: of the part, CLOCK_MONOTONIC. */
static int add_part(Collector *collector, StackSampleKey key, const RecordPart *part,
                    uint64_t end_ns) {
        if (part->weight_ns == 0)
                return 0;
        collector->deeds[collector->n_deeds++ % MAX_DEEDS] =
                (Deed){ key, end_ns, part->ns > 0 ? part->ns : part->weight_ns };
        return stack_table_add_sample(&collector->table, &key, part->ns, part->weight_ns);
}

static int add_thread(Collector *collector, const RecordSample *sample, uint32_t *ret) {
        const Process *process = find_process(collector, sample->tgid);
        StackThread thread = {
                .start_boottime_ns = sample->start_boottime_ns,
                .tid = sample->tid,
                .tgid = sample->tgid,
                .only_wakes = sample->is_waker,
        };

        memcpy(thread.comm, sample->comm, sizeof(thread.comm));
        memcpy(thread.process, process ? process->comm : sample->process, sizeof(thread.process));
        return stack_table_add_thread(&collector->table, &thread, ret);
}

/* The stack of user mode, and those frames of the kernel from @begin to @end, innermost first. */
static int add_stack(Collector *collector, const RecordSample *sample, bool has_user_mode,
                     size_t begin, size_t end, uint32_t *ret) {
        const Span copied = { (const char *) (sample + 1), sample->n_stack_bytes };
        size_t n = 0;
        int r = has_user_mode ? add_user_frames(collector, sample, copied, &n) : 0;

        for (size_t i = end; r == 0 && i-- > begin;)
                r = add_kernel_frame(collector, sample->frames[i], &collector->frames[n++]);
        return r == 0 ? stack_table_add_stack(&collector->table, collector->frames, n, ret) : r;
}

/* Nothing is told of a thread that was interrupted by who woke another one. */
static int take_waker(Collector *collector, const RecordSample *sample) {
        Wake *wake = &collector->wakes[sample->wake % MAX_WAKES];
        size_t n_of_interrupt, begin = count_hook_frames(collector, sample), end;
        uint32_t judged = judge_waker(collector, sample, &n_of_interrupt), thread;
        bool is_thread = judged == STACK_WAKER_FIRST;
        int r = 0;

        *wake = (Wake){ .number = sample->wake, .seen_ns = sample->seen_ns, .waker = judged };
        if (judged == STACK_WAKER_UNKNOWN)
                return 0;
        if (is_thread) {
                r = add_thread(collector, sample, &thread);
                wake->waker = r == 0 ? STACK_WAKER_FIRST + thread : STACK_WAKER_UNKNOWN;
        }
        end = sample->hides_frames ? begin : is_thread ? sample->n_frames : n_of_interrupt;
        return r == 0 ? add_stack(collector, sample, is_thread, begin, end, &wake->stack) : r;
}

/*
 * Whoever gives back a lock was the last one to have it. Sets where that thread was for most of
 * the time in which another one waited for it, which samples tell that ended meanwhile; nothing
 * where they are of less than half of it. One that waited for a lock itself had not got it: where
 * many wait behind one, each gives it to the next, and all have waited for the first, whom the
 * waker's own wait has as its waker.
 */
static void find_held(const Collector *collector, const Wake *wake, uint64_t waited_ns,
                      StackSampleKey *key) {
        uint64_t begin_ns = wake->seen_ns - MIN_OF(waited_ns, wake->seen_ns);
        size_t n_deeds = (size_t) MIN_OF(collector->n_deeds, (uint64_t) MAX_DEEDS);
        Deed sums[MAX_HOLDS];
        size_t n = 0, most = 0;

        for (size_t i = 0; i < n_deeds; i++) {
                const Deed *deed = &collector->deeds[i];
                const StackSampleKey *of = &deed->key;
                uint64_t ns;
                size_t at = 0;

                if (of->thread != wake->waker - STACK_WAKER_FIRST || deed->end_ns <= begin_ns ||
                    deed->end_ns > wake->seen_ns)
                        continue;
                ns = MIN_OF(deed->ns, deed->end_ns - begin_ns);
                if (of->place == RECORD_PLACE_lock) {
                        if (of->waker < STACK_WAKER_FIRST || ns < waited_ns / 2)
                                continue;
                        key->waker = of->waker;
                        key->waker_stack = of->waker_stack;
                        key->held = of->held;
                        key->held_stack = of->held_stack;
                        return;
                }
                while (at < n &&
                       (sums[at].key.place != of->place || sums[at].key.stack != of->stack))
                        at++;
                if (at == MAX_HOLDS)
                        continue;
                if (at == n)
                        sums[n++] = (Deed){ .key = *of };
                sums[at].ns += ns;
                if (sums[at].ns > sums[most].ns)
                        most = at;
        }
        if (n == 0 || sums[most].ns < waited_ns / 2)
                return;
        key->held = sums[most].key.place + 1;
        key->held_stack = sums[most].key.stack;
}

/* Sets who ended the wait of @sample. */
static void find_waker(const Collector *collector, const RecordSample *sample,
                       StackSampleKey *key) {
        const Wake *wake = &collector->wakes[sample->wake % MAX_WAKES];

        if (sample->wake < RECORD_WAKE_FIRST) {
                static const uint32_t words[] = {
                        [RECORD_WAKE_NONE] = STACK_WAKER_NONE,
                        [RECORD_WAKE_UNKNOWN] = STACK_WAKER_UNKNOWN,
                        [RECORD_WAKE_LATER] = STACK_WAKER_LATER,
                };

                key->waker = words[sample->wake];
        } else if (wake->number != sample->wake)
                key->waker = STACK_WAKER_UNKNOWN;
        else {
                key->waker = wake->waker;
                key->waker_stack = wake->stack;
                if (sample->place == RECORD_PLACE_lock && wake->waker >= STACK_WAKER_FIRST)
                        find_held(collector, wake, sample->wait.ns, key);
        }
}

/* what waits are on */

static int take_object(Collector *collector, const RecordMessage *message) {
        const RecordObjectName *name = message->body;

        if (message->n <= sizeof(*name) || memchr(name + 1, '\0', message->n - sizeof(*name)))
                return -EBADMSG;
        collector->told.name = *name;
        buffer_clear(&collector->told.text);
        return buffer_append(&collector->told.text, name + 1, message->n - sizeof(*name));
}

static const char *protocol_name(const RecordSocket *socket) {
        switch (socket->protocol) {
        case IPPROTO_TCP:
                return "tcp";
        case IPPROTO_UDP:
                return "udp";
        case IPPROTO_SCTP:
                return "sctp";
        case IPPROTO_MPTCP:
                return "mptcp";
        case IPPROTO_ICMP:
        case IPPROTO_ICMPV6:
                return "icmp";
        default:
                return "ip";
        }
}

/* "192.0.2.1:80", "[2001:db8::1]:80"; IPv4 also where a socket of IPv6 speaks it. */
static int append_address(Buffer *text, const RecordSocket *socket, const uint8_t address[16],
                          unsigned port) {
        static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
        char name[INET6_ADDRSTRLEN] = "";

        if (socket->family == AF_INET6 && memcmp(address, mapped, sizeof(mapped)) != 0) {
                (void) inet_ntop(AF_INET6, address, name, sizeof(name));
                return buffer_append_format(text, "[%s]:%u", name, port);
        }
        (void) inet_ntop(AF_INET, address + (socket->family == AF_INET6 ? sizeof(mapped) : 0), name,
                         sizeof(name));
        return buffer_append_format(text, "%s:%u", name, port);
}

/*
 * The other side, if there is one: else who sends to this one is not yet known. Whoever has made a
 * pair of sockets is the other side of both, as the kernel has it: that tells nothing to itself.
 */
static int name_socket(const RecordSample *sample, Buffer *text) {
        const RecordSocket *socket = &sample->object.socket;
        static const char *const families[] = {
                [AF_NETLINK] = "netlink", [AF_PACKET] = "packet", [AF_VSOCK] = "vsock",
                [AF_ALG] = "alg",         [AF_CAN] = "can",       [AF_XDP] = "xdp",
        };
        const char *name = socket->family < ELEMENTSOF(families) ? families[socket->family] : NULL;

        if (socket->family == AF_UNIX) {
                buffer_append_text(text, "unix socket");
                if (socket->is_listening)
                        buffer_append_text(text, ", listening");
                if (socket->is_listening || socket->peer_pid == 0 ||
                    socket->peer_pid == sample->tgid)
                        return buffer_failure(text);
                buffer_append_text(text, " of ");
                buffer_append(text, socket->peer_comm,
                              strnlen(socket->peer_comm, sizeof(socket->peer_comm)));
                return buffer_append_format(text, " (%u)", socket->peer_pid);
        }
        if (socket->family != AF_INET && socket->family != AF_INET6)
                return name ? buffer_append_format(text, "%s socket", name)
                            : buffer_append_format(text, "socket of family %u", socket->family);
        buffer_append_text(text, protocol_name(socket));
        if (socket->peer_port != 0) {
                buffer_append_byte(text, ' ');
                return append_address(text, socket, socket->peer_address, socket->peer_port);
        }
        if (socket->port == 0)
                return buffer_failure(text);
        buffer_append_text(text, " at ");
        append_address(text, socket, socket->address, socket->port);
        return socket->is_listening ? buffer_append_text(text, ", listening")
                                    : buffer_failure(text);
}

static const char *last_part(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

/* A variable of a file, a place in it, or what is mapped there: never an address of the process. */
static int name_futex(Collector *collector, const RecordSample *sample, Buffer *text) {
        Process *process = find_process(collector, sample->tgid);
        const ObjectTold *told = &collector->told;
        const Symbol *symbol = NULL;
        uint64_t vaddr, offset;
        const char *file;
        size_t number;
        Span name = {};
        int r = 0;

        if (process && process->n_mappings > 0)
                r = make_ready(collector, process);
        if (r == 0 && process && process->unwind &&
            unwind_find_data(process->unwind, sample->object.futex, &number, &vaddr)) {
                Module *module = collector->modules.all[number];

                file = last_part(module->path);
                r = module_find_data(module, vaddr, &symbol);
                if (r == 0 && symbol)
                        r = symbol_table_name(&module->data, symbol, &collector->names_ns, &name);
                if (r < 0)
                        return r;
                if (!symbol)
                        return buffer_append_format(text, "[%s+0x%llx]", file,
                                                    (unsigned long long) vaddr);
                offset = vaddr - symbol->begin;
                buffer_append(text, name.bytes, name.n);
                if (offset != 0)
                        buffer_append_format(text, "+0x%llx", (unsigned long long) offset);
                return buffer_append_format(text, " in %s", file);
        }
        if (r < 0 || told->text.n == 0)
                return r;
        buffer_append(text, told->text.bytes, told->text.n);
        return told->name.is_mapped_file
                       ? buffer_append_format(text, "+0x%llx",
                                              (unsigned long long) told->name.offset)
                       : buffer_failure(text);
}

/* *ret stays STACK_OBJECT_NONE where it is not known. */
static int find_object(Collector *collector, const RecordSample *sample, uint32_t stack,
                       uint32_t *ret) {
        Buffer *text = &collector->text;
        RecordObjectKind kind = (RecordObjectKind) sample->object.kind;
        int r = 0;

        buffer_clear(text);
        switch (kind) {
        case RECORD_OBJECT_FILE:
                r = buffer_append(text, collector->told.text.bytes, collector->told.text.n);
                break;
        case RECORD_OBJECT_SOCKET:
                r = name_socket(sample, text);
                break;
        case RECORD_OBJECT_FUTEX:
                r = name_futex(collector, sample, text);
                break;
        case RECORD_OBJECT_NONE:
        case _RECORD_OBJECT_MAX:
                break;
        }
        buffer_clear(&collector->told.text);
        if (r < 0 || text->n == 0)
                return r;
        r = stack_table_add_object(&collector->table, kind, buffer_span(text), ret);
        return r == 0 ? stack_table_place_object(&collector->table, stack, ret) : r;
}

static int take_sample(Collector *collector, const RecordMessage *message) {
        const RecordSample *sample = message->body;
        StackSampleKey key = {}, of_wait;
        int r;

        if (message->n < sizeof(*sample) || sample->n_frames > RECORD_MAX_FRAMES ||
            message->n - sizeof(*sample) != sample->n_stack_bytes ||
            sample->place > _RECORD_PLACE_MAX || sample->object.kind >= _RECORD_OBJECT_MAX)
                return -EBADMSG;
        collector->n_taken++;
        if (sample->is_waker)
                return take_waker(collector, sample);
        r = add_thread(collector, sample, &key.thread);
        /* One without a part tells of a thread that the recording takes, and of no time. */
        if (r < 0 || (sample->wait.weight_ns == 0 && sample->queue.weight_ns == 0 &&
                      sample->running.weight_ns == 0))
                return r;
        r = add_stack(collector, sample, true, count_hook_frames(collector, sample),
                      sample->n_frames, &key.stack);
        of_wait = key;
        of_wait.place = sample->place;
        find_waker(collector, sample, &of_wait);
        if (r == 0)
                r = find_object(collector, sample, key.stack, &of_wait.object);
        if (r == 0 && sample->place < _RECORD_PLACE_MAX)
                r = add_part(collector, of_wait, &sample->wait, sample->seen_ns - sample->queue.ns);
        key.place = RECORD_PLACE_run_queue;
        if (r == 0)
                r = add_part(collector, key, &sample->queue, sample->seen_ns);
        key.place = RECORD_PLACE_running;
        if (r == 0)
                r = add_part(collector, key, &sample->running, sample->seen_ns);
        return r;
}

static int take_course(Collector *collector, const RecordMessage *message) {
        Course *course = &collector->course;
        size_t n_before = course->n_groups;
        const CourseCell *cells = message->body;
        uint32_t number;
        int r = 0;

        if (message->kind == RECORD_MESSAGE_GROUP) {
                r = message->n == sizeof(CourseGroup)
                            ? course_add_group(course, message->body, &number)
                            : -EBADMSG;
                return r == 0 && course->n_groups == n_before ? -EBADMSG : r;
        }
        if (message->kind == RECORD_MESSAGE_STEP)
                return message->n == sizeof(CourseStep) ? course_add_step(course, message->body)
                                                        : -EBADMSG;
        if (message->n % sizeof(*cells) != 0)
                return -EBADMSG;
        for (size_t i = 0; i < message->n / sizeof(*cells) && r == 0; i++)
                r = course_add_cell(course, &cells[i]);
        return r;
}

static int take_lengths(Collector *collector, const RecordMessage *message) {
        const StackLengths *row = message->body;

        if (message->n != sizeof(*row) || row->key.place >= _RECORD_PLACE_MAX)
                return -EBADMSG;
        return stack_table_add_lengths(&collector->table, &row->key, &row->lengths);
}

/* Threads without a sample are left out, because none of their time is to be divided. */
static int take_times(Collector *collector, const RecordMessage *message) {
        const SampledTime *times = message->body;

        if (message->n % sizeof(*times) != 0)
                return -EBADMSG;
        for (size_t i = 0; i < message->n / sizeof(*times); i++) {
                StackThread *thread = stack_table_find_thread(
                        &collector->table, times[i].tid, times[i].tgid, times[i].start_boottime_ns);

                if (!thread)
                        continue;
                thread->has_times = true;
                memcpy(thread->ns, times[i].ns, sizeof(thread->ns));
        }
        return 0;
}

int collector_take(Collector *collector, RecordMessage *message) {
        _cleanup_(fd_closep) int fd = message->fd;
        const RecordModule *module = message->body;
        const RecordDebug *debug = message->body;
        size_t number;
        int r;

        message->fd = -EBADF;
        switch (message->kind) {
        case RECORD_MESSAGE_KERNEL:
                return fd >= 0 ? read_kernel(collector, fd) : -EBADMSG;
        case RECORD_MESSAGE_MODULE:
                if (message->n <= sizeof(*module))
                        return -EBADMSG;
                r = modules_add(&collector->modules, module->dev, module->inode,
                                (Span){ (const char *) (module + 1), message->n - sizeof(*module) },
                                TAKE_FD(fd), &number);
                if (r == 0)
                        collector->modules.all[number]->wants_lines = collector->wants_lines;
                if (r == 0 && !collector->modules.all[number]->elf &&
                    strcmp(collector->modules.all[number]->path, MODULE_PATH_VDSO) == 0)
                        module_take_vdso(collector->modules.all[number]);
                return r;
        case RECORD_MESSAGE_DEBUG:
                if (message->n != sizeof(*debug) || fd < 0 || debug->module >= collector->modules.n)
                        return -EBADMSG;
                return module_take_debug_file(collector->modules.all[debug->module], TAKE_FD(fd));
        case RECORD_MESSAGE_PROCESS:
                return take_process(collector, message);
        case RECORD_MESSAGE_JIT:
                return take_jit(collector, message, TAKE_FD(fd));
        case RECORD_MESSAGE_SAMPLE:
                return take_sample(collector, message);
        case RECORD_MESSAGE_GROUP:
        case RECORD_MESSAGE_STEP:
        case RECORD_MESSAGE_CELLS:
                return take_course(collector, message);
        case RECORD_MESSAGE_LENGTHS:
                return take_lengths(collector, message);
        case RECORD_MESSAGE_TIMES:
                return take_times(collector, message);
        case RECORD_MESSAGE_OBJECT:
                return take_object(collector, message);
        case RECORD_MESSAGE_SEEK:
        case RECORD_MESSAGE_END:
        case RECORD_MESSAGE_FULL:
        case _RECORD_MESSAGE_MAX:
                break;
        }
        return -EBADMSG;
}

/* What grows with samples, and with the processes that they are of, whether these live or not. */
static size_t held_bytes(const Collector *collector) {
        return stack_table_bytes(&collector->table) +
               collector->course.n_cells_allocated * sizeof(CourseCell) +
               collector->n_processes_allocated * sizeof(Process) +
               index_bytes(&collector->by_tgid) + collector->n_mappings * sizeof(Mapping);
}

/*
 * The bounds also leave room for the messages that still come after the other side has heard that
 * there is no more room.
 */
static RecordEnd judge_size(const Collector *collector, uint64_t max_bytes, uint64_t max_held) {
        const StackTable *table = &collector->table;
        const Course *course = &collector->course;

        if (recording_document_estimate(table, course, &collector->modules) >=
            max_bytes - max_bytes / 8)
                return RECORD_END_BYTES;
        return held_bytes(collector) >= max_held ? RECORD_END_MEMORY : RECORD_END_UNKNOWN;
}

int collector_run(Collector *collector, int socket, uint64_t max_bytes, uint64_t max_held,
                  uint64_t space[static RECORD_MESSAGE_MAX_BYTES / 8], RecordMessage *ret_end) {
        RecordFull full = { .end = RECORD_END_UNKNOWN };
        DebugFileName name;
        int r;

        for (;;) {
                r = record_message_receive(socket, space, ret_end);
                if (r < 0 || ret_end->kind == RECORD_MESSAGE_END)
                        return r;
                r = collector_take(collector, ret_end);
                if (r == 0 && ret_end->kind == RECORD_MESSAGE_MODULE) {
                        module_name_debug_file(collector->modules.all[collector->modules.n - 1],
                                               &name);
                        r = record_message_send(socket, RECORD_MESSAGE_SEEK, &name, sizeof(name),
                                                NULL, 0, -1);
                }
                if (r == 0 && ret_end->kind == RECORD_MESSAGE_KERNEL)
                        r = record_message_send(socket, RECORD_MESSAGE_KERNEL, NULL, 0, NULL, 0,
                                                -1);
                if (r == 0 && full.end == RECORD_END_UNKNOWN) {
                        full.end = judge_size(collector, max_bytes, max_held);
                        if (full.end != RECORD_END_UNKNOWN)
                                r = record_message_send(socket, RECORD_MESSAGE_FULL, &full,
                                                        sizeof(full), NULL, 0, -1);
                }
                if (r < 0)
                        return r;
        }
}

/* lines */

void collector_want_lines(Collector *collector) {
        collector->wants_lines = true;
}

/* The addresses of frames of one module, each once, and which frames have them. */
typedef struct LineSearch {
        StackTable *table;
        uint32_t *frames; /* numbers, by module and address */
        size_t n_frames;
        uint64_t *addresses;
        size_t *firsts; /* of the frames that have the address */
} LineSearch;

static int compare_frames(const void *a, const void *b, void *userdata) {
        const StackTable *table = userdata;
        const StackFrame *x = &table->frames[*(const uint32_t *) a],
                         *y = &table->frames[*(const uint32_t *) b];

        if (x->module != y->module)
                return x->module < y->module ? -1 : 1;
        return (x->address > y->address) - (x->address < y->address);
}

static int take_line(void *userdata, size_t index, Span path, uint32_t line) {
        const LineSearch *search = userdata;
        StackTable *table = search->table;
        uint32_t file;
        int r = stack_table_add_name(table, path, &file);

        for (size_t i = search->firsts[index];
             r == 0 && i < search->n_frames &&
             table->frames[search->frames[i]].address == search->addresses[index];
             i++) {
                table->frames[search->frames[i]].file = file;
                table->frames[search->frames[i]].line = line;
        }
        return r;
}

/* Looks for the lines of @n frames of one module, from @first on. */
static int find_lines_of(Collector *collector, LineSearch *search, size_t first, size_t n,
                         uint64_t until_ns, uint64_t *n_lost) {
        StackTable *table = search->table;
        const Module *module = collector->modules.all[table->frames[search->frames[first]].module];
        int fd = module_lines_fd(module), r;
        size_t n_addresses = 0;
        bool is_whole = false;

        if (fd < 0)
                return 0;
        search->n_frames = first + n;
        for (size_t i = first; i < first + n; i++) {
                uint64_t address = table->frames[search->frames[i]].address;

                if (n_addresses > 0 && search->addresses[n_addresses - 1] == address)
                        continue;
                search->addresses[n_addresses] = address;
                search->firsts[n_addresses++] = i;
        }
        r = source_lines_find(fd, search->addresses, n_addresses, until_ns, take_line, search,
                              &is_whole);
        for (size_t i = first; i < first + n && !is_whole; i++)
                *n_lost += table->frames[search->frames[i]].line == 0;
        return r;
}

int collector_find_lines(Collector *collector, uint64_t max_ns, uint64_t *ret_lost) {
        uint64_t until_ns = clock_now_ns(CLOCK_MONOTONIC) + max_ns;
        StackTable *table = &collector->table;
        _cleanup_(freep) uint32_t *frames = calloc(table->n_frames + 1, sizeof(*frames));
        _cleanup_(freep) uint64_t *addresses = calloc(table->n_frames + 1, sizeof(*addresses));
        _cleanup_(freep) size_t *firsts = calloc(table->n_frames + 1, sizeof(*firsts));
        LineSearch search = {
                .table = table, .frames = frames, .addresses = addresses, .firsts = firsts
        };
        size_t n = 0;
        int r = 0;

        *ret_lost = 0;
        /* Nobody unwinds any more, and lines take memory. */
        for (size_t i = 0; i < collector->n_processes; i++) {
                forget_ready(collector, &collector->processes[i]);
                forget_jit(collector, &collector->processes[i]);
                free(collector->processes[i].mappings);
                collector->processes[i].mappings = NULL;
                collector->processes[i].n_mappings = 0;
        }
        collector->n_mappings = 0;
        modules_drop_code(&collector->modules);
        if (!frames || !addresses || !firsts)
                return -ENOMEM;
        for (size_t i = 0; i < table->n_frames; i++)
                if (table->frames[i].address != 0)
                        frames[n++] = (uint32_t) i;
        if (n > 1)
                qsort_r(frames, n, sizeof(*frames), compare_frames, table);
        for (size_t first = 0, end; first < n && r == 0; first = end) {
                for (end = first + 1; end < n && table->frames[frames[end]].module ==
                                                         table->frames[frames[first]].module;)
                        end++;
                r = find_lines_of(collector, &search, first, end - first, until_ns, ret_lost);
                /* Another one might take what is left, which the rest needs. */
                if (r == SOURCE_LINES_E_MEMORY) {
                        until_ns = 0;
                        r = 0;
                }
        }
        for (size_t i = 0; i < table->n_frames; i++)
                table->frames[i].address = 0;
        return r == 0 ? stack_table_fold(table) : r;
}
