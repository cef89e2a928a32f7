/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/collector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/cleanup.h"

#define MAX_PROCESSES 65536u
#define MAX_READY \
        64u /* processes that libdwfl knows at a time: each takes some hundred kilobytes */
#define TEXT_BYTES (256u << 10)
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
        UnwindProcess *unwind; /* owned; NULL: it is not ready */
        uint64_t used;         /* the number of the sample that it was last used for */
        JitMap jit;
} Process;

struct Collector {
        Modules modules;
        SymbolTable kernel;
        StackTable table;
        Process *processes;
        size_t n_processes, n_processes_allocated, n_ready;
        Index by_tgid;
        uint64_t n_taken, n_complete, n_cut;
        size_t n_jit_bytes; /* of memory, for all processes */
        UnwoundStack unwound;
        uint32_t frames[UNWIND_MAX_FRAMES + RECORD_MAX_FRAMES + 1];
};

static size_t jit_bytes(const JitMap *jit) {
        return jit->symbols.n * sizeof(Symbol) + jit->symbols.names.n;
}

static void forget_jit(Collector *collector, Process *process) {
        collector->n_jit_bytes -= jit_bytes(&process->jit);
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
        symbol_table_done(&collector->kernel);
        modules_done(&collector->modules);
        free(collector);
        return NULL;
}

const StackTable *collector_table(const Collector *collector) {
        return &collector->table;
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
        int r = symbol ? symbol_table_name(&collector->kernel, symbol, &name) : 0;

        return r < 0 ? r : stack_table_add_frame(&collector->table, STACK_KERNEL, 0, name, ret);
}

/*
 * The hook of kernels before 6.15 has threads sleep below a trampoline, as if that were what they
 * wait in. Returns how many frames that is.
 */
static size_t count_hook_frames(const Collector *collector, const RecordSample *sample) {
        size_t n = 0;

        for (; n < sample->n_frames; n++) {
                const Symbol *symbol = symbol_table_find(&collector->kernel, sample->frames[n]);
                const char *name =
                        symbol ? symbol_table_text(&collector->kernel, symbol->name) : "";

                if (strncmp(name, "bpf_trampoline_", 15) != 0 && strncmp(name, "bpf_prog_", 9) != 0)
                        break;
        }
        return n;
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
        process->n_mappings = 0;
        process->mappings = malloc((n + 1) * sizeof(Mapping));
        if (!process->mappings)
                return -ENOMEM;
        memcpy(process->mappings, mappings, n * sizeof(Mapping));
        process->n_mappings = n;
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
                process->jit.fd = TAKE_FD(owned);
        }
        return 0;
}

/* What the process has written since. A line that is not whole is left for the next time. */
static int read_jit(Collector *collector, JitMap *jit) {
        _cleanup_(freep) char *text = malloc(TEXT_BYTES);
        size_t n_before = jit->symbols.n;
        ssize_t n;
        int r = 0;

        if (!text)
                return -ENOMEM;
        collector->n_jit_bytes -= jit_bytes(jit);
        while (r == 0 && jit_bytes(jit) < JIT_MAX_BYTES &&
               collector->n_jit_bytes + jit_bytes(jit) < JIT_ALL_MAX_BYTES &&
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
        collector->n_jit_bytes += jit_bytes(jit);
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
        n_before = jit_bytes(jit);
        r = symbol_table_name(&jit->symbols, symbol, ret);
        collector->n_jit_bytes += jit_bytes(jit) - n_before;
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
        uint64_t offset = frame->vaddr;
        Span name = {};
        int r = 0;

        /* Code that was made at run time may also be in a file that is none of a program. */
        if (module && !module->elf) {
                r = name_jit(collector, process, frame->address, sample->seen_ns, &name);
                if (name.n > 0)
                        offset = 0;
        } else if (module) {
                r = module_find_symbol(module, frame->vaddr, &symbol);
                if (r == 0 && symbol)
                        r = symbol_table_name(&module->symbols, symbol, &name);
                if (symbol)
                        offset = symbol->begin;
        }
        if (r < 0)
                return r;
        if (name.n == 0 && (!module || strcmp(module->path, MODULE_PATH_JIT) == 0))
                return stack_table_add_frame(&collector->table, STACK_NO_MODULE, 0,
                                             SPAN_LITERAL("[unknown]"), ret);
        return stack_table_add_frame(&collector->table, (uint32_t) frame->module, offset, name,
                                     ret);
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
        /* It had none to be told of any more. */
        if (!process || process->n_mappings == 0)
                return add_word(collector, "[process ended]", n);
        r = make_ready(collector, process);
        if (r < 0)
                return r;
        r = unwind_stack(process->unwind, (const uint64_t *) sample->registers, stack,
                         &collector->unwound);
        if (r == 0 && !collector->unwound.is_complete)
                r = add_word(collector, "[stack cut]", n);
        collector->n_complete += collector->unwound.is_complete;
        collector->n_cut += !collector->unwound.is_complete;
        for (size_t i = collector->unwound.n; r == 0 && i-- > 0;)
                r = add_user_frame(collector, process, sample, &collector->unwound.frames[i],
                                   &collector->frames[(*n)++]);
        return r;
}

static int add_part(Collector *collector, uint32_t thread, uint32_t stack, unsigned place,
                    const RecordPart *part) {
        const StackSampleKey key = { .thread = thread, .stack = stack, .place = place };

        if (part->weight_ns == 0)
                return 0;
        return stack_table_add_sample(&collector->table, &key, part->ns, part->weight_ns);
}

static int take_sample(Collector *collector, const RecordMessage *message) {
        const RecordSample *sample = message->body;
        const Process *process;
        StackThread thread = {};
        uint32_t number, stack;
        size_t n = 0, n_hook;
        int r;

        if (message->n < sizeof(*sample) || sample->n_frames > RECORD_MAX_FRAMES ||
            message->n - sizeof(*sample) != sample->n_stack_bytes ||
            sample->place > _RECORD_PLACE_MAX)
                return -EBADMSG;
        collector->n_taken++;
        thread.start_boottime_ns = sample->start_boottime_ns;
        thread.tid = sample->tid;
        thread.tgid = sample->tgid;
        memcpy(thread.comm, sample->comm, sizeof(thread.comm));
        process = find_process(collector, sample->tgid);
        memcpy(thread.process, process ? process->comm : sample->process, sizeof(thread.process));
        r = stack_table_add_thread(&collector->table, &thread, &number);
        /* One without a part tells of a thread that the recording takes, and of no time. */
        if (r < 0 || (sample->wait.weight_ns == 0 && sample->queue.weight_ns == 0 &&
                      sample->running.weight_ns == 0))
                return r;
        r = add_user_frames(collector, sample,
                            (Span){ (const char *) (sample + 1), sample->n_stack_bytes }, &n);
        n_hook = count_hook_frames(collector, sample);
        for (size_t i = sample->n_frames; r == 0 && i-- > n_hook;)
                r = add_kernel_frame(collector, sample->frames[i], &collector->frames[n++]);
        if (r == 0)
                r = stack_table_add_stack(&collector->table, collector->frames, n, &stack);
        if (r == 0 && sample->place < _RECORD_PLACE_MAX)
                r = add_part(collector, number, stack, sample->place, &sample->wait);
        if (r == 0)
                r = add_part(collector, number, stack, RECORD_PLACE_run_queue, &sample->queue);
        if (r == 0)
                r = add_part(collector, number, stack, RECORD_PLACE_running, &sample->running);
        return r;
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
                                fd, &number);
                fd = -EBADF;
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
        case RECORD_MESSAGE_SEEK:
        case RECORD_MESSAGE_END:
        case _RECORD_MESSAGE_MAX:
                break;
        }
        return -EBADMSG;
}

int collector_run(Collector *collector, int socket,
                  uint64_t space[static RECORD_MESSAGE_MAX_BYTES / 8], RecordMessage *ret_end) {
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
                if (r < 0)
                        return r;
        }
}
