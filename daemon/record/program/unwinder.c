/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/program/unwinder.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "the order of registers is not known"
#endif

/* All that a process has mapped of a file: its data, too. */
typedef struct Image {
        uint64_t begin, end, bias;
        size_t module;
} Image;

struct UnwindProcess {
        const Modules *modules; /* borrowed */
        Mapping *mappings;      /* owned */
        size_t n_mappings;
        Image *images; /* owned; ascending */
        size_t n_images;
        Dwfl *dwfl; /* owned; NULL: no frames but the innermost */

        /* of the stack at hand */
        const uint64_t *registers;
        Span stack;
        uint64_t sp;
        bool is_cut;
        UnwoundStack *result;
};

/* what libdwfl asks for */

static int give_elf(Dwfl_Module *dwfl_module, void **userdata, const char *name, Dwarf_Addr base,
                    char **ret_name, Elf **ret_elf) {
        const Module *module = *userdata;

        *ret_name = strdup(module->path);
        /* Another reference to the same one. */
        *ret_elf = *ret_name ? elf_begin(module->fd, ELF_C_READ, module->elf) : NULL;
        return -1;
}

/* Names are found elsewhere. */
static int give_no_debug_file(Dwfl_Module *dwfl_module, void **userdata, const char *name,
                              Dwarf_Addr base, const char *file, const char *link, GElf_Word crc,
                              char **ret_name) {
        return -1;
}

static const Dwfl_Callbacks callbacks = {
        .find_elf = give_elf,
        .find_debuginfo = give_no_debug_file,
};

static pid_t next_thread(Dwfl *dwfl, void *argument, void **thread) {
        if (*thread)
                return 0;
        *thread = argument;
        return 1;
}

static bool set_registers(Dwfl_Thread *thread, void *argument) {
        const UnwindProcess *process = argument;
#if defined(__x86_64__)
        /* The order of DWARF: rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 rip. */
        static const unsigned char order[] = { 10, 12, 11, 5, 13, 14, 4, 19, 9,
                                               8,  7,  6,  3, 2,  1,  0, 16 };
        Dwarf_Word words[sizeof(order)];

        for (size_t i = 0; i < sizeof(order); i++)
                words[i] = process->registers[order[i]];
        return dwfl_thread_state_registers(thread, 0, sizeof(order), words);
#else
        dwfl_thread_state_register_pc(thread, process->registers[UNWIND_PC]);
        return dwfl_thread_state_registers(thread, 0, 32, (const Dwarf_Word *) process->registers);
#endif
}

/* libdwfl takes a word that cannot be read for the end of the stack: here it is told apart. */
static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *argument) {
        UnwindProcess *process = argument;
        uint64_t at = address - process->sp;

        if (address >= process->sp && process->stack.n >= sizeof(*ret) &&
            at <= process->stack.n - sizeof(*ret)) {
                memcpy(ret, process->stack.bytes + at, sizeof(*ret));
                return true;
        }
        process->is_cut = true;
        return false;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
        .next_thread = next_thread,
        .memory_read = read_memory,
        .set_initial_registers = set_registers,
};

/* mappings */

static const Mapping *find_mapping(const UnwindProcess *process, uint64_t address) {
        size_t found = ARRAY_FIRST(process->n_mappings, i, process->mappings[i].end > address);

        return found < process->n_mappings && process->mappings[found].begin <= address
                       ? &process->mappings[found]
                       : NULL;
}

/* The address in the file that @offset of it has, by its segments. */
static bool find_vaddr(Elf *elf, uint64_t offset, uint64_t *ret) {
        size_t n;

        if (!elf || elf_getphdrnum(elf, &n) != 0)
                return false;
        for (size_t i = 0; i < n && i < INT16_MAX; i++) {
                GElf_Phdr segment;

                if (gelf_getphdr(elf, (int) i, &segment) && segment.p_type == PT_LOAD &&
                    offset >= segment.p_offset && offset - segment.p_offset < segment.p_filesz) {
                        *ret = segment.p_vaddr + (offset - segment.p_offset);
                        return true;
                }
        }
        return false;
}

bool unwind_find_data(const UnwindProcess *process, uint64_t address, size_t *ret_module,
                      uint64_t *ret_vaddr) {
        size_t found = ARRAY_FIRST(process->n_images, i, process->images[i].end > address);

        if (found == process->n_images || process->images[found].begin > address)
                return false;
        *ret_module = process->images[found].module;
        *ret_vaddr = address - process->images[found].bias;
        return true;
}

static UnwoundFrame find_frame(const UnwindProcess *process, uint64_t address) {
        const Mapping *mapping = find_mapping(process, address);
        UnwoundFrame frame = { .module = SIZE_MAX, .address = address };

        if (mapping) {
                uint64_t offset = address - mapping->begin + mapping->offset;

                frame.module = mapping->module;
                if (!find_vaddr(process->modules->all[mapping->module]->elf, offset, &frame.vaddr))
                        frame.vaddr = offset;
        }
        return frame;
}

/*
 * Where the file lies: libdwfl wants the place of its first byte that is mapped. All parts of a
 * file in one process have the same distance from their addresses in the file.
 */
static void report(UnwindProcess *process, const Mapping *mapping, uint64_t *last_end) {
        Module *module = process->modules->all[mapping->module];
        uint64_t vaddr, bias, begin = UINT64_MAX, end = 0;
        Dwfl_Module *reported;
        void **userdata;
        size_t n;

        if (!module->elf || !find_vaddr(module->elf, mapping->offset, &vaddr) ||
            elf_getphdrnum(module->elf, &n) != 0)
                return;
        bias = mapping->begin - vaddr;
        for (size_t i = 0; i < n && i < INT16_MAX; i++) {
                GElf_Phdr segment;

                if (!gelf_getphdr(module->elf, (int) i, &segment) || segment.p_type != PT_LOAD)
                        continue;
                if (segment.p_vaddr < begin)
                        begin = segment.p_vaddr & ~UINT64_C(4095);
                if (segment.p_vaddr + segment.p_memsz > end)
                        end = segment.p_vaddr + segment.p_memsz;
        }
        if (begin >= end || begin + bias < *last_end)
                return;
        process->images[process->n_images++] =
                (Image){ begin + bias, end + bias, bias, mapping->module };
        reported = dwfl_report_module(process->dwfl, module->path, begin + bias, end + bias);
        if (!reported)
                return;
        *last_end = end + bias;
        (void) dwfl_module_info(reported, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
        *userdata = module;
}

int unwind_process_new(const Modules *modules, const Mapping *mappings, size_t n,
                       UnwindProcess **ret) {
        _cleanup_(unwind_process_freep) UnwindProcess *process = calloc(1, sizeof(*process));
        uint64_t last_end = 0;

        if (!process)
                return -ENOMEM;
        process->modules = modules;
        process->mappings = calloc(n + 1, sizeof(*mappings));
        process->images = calloc(n + 1, sizeof(*process->images));
        if (!process->mappings || !process->images)
                return -ENOMEM;
        if (n > 0)
                memcpy(process->mappings, mappings, n * sizeof(*mappings));
        process->n_mappings = n;
        process->dwfl = dwfl_begin(&callbacks);
        if (process->dwfl) {
                dwfl_report_begin(process->dwfl);
                for (size_t i = 0; i < n; i++)
                        report(process, &process->mappings[i], &last_end);
                if (dwfl_report_end(process->dwfl, NULL, NULL) != 0 ||
                    !dwfl_attach_state(process->dwfl, NULL, 1, &thread_callbacks, process)) {
                        dwfl_end(process->dwfl);
                        process->dwfl = NULL;
                }
        }
        *ret = process;
        process = NULL;
        return 0;
}

UnwindProcess *unwind_process_free(UnwindProcess *process) {
        if (process) {
                if (process->dwfl)
                        dwfl_end(process->dwfl);
                free(process->mappings);
                free(process->images);
                free(process);
        }
        return NULL;
}

/* stacks */

static int take_frame(Dwfl_Frame *state, void *argument) {
        UnwindProcess *process = argument;
        UnwoundStack *result = process->result;
        Dwarf_Addr pc;
        bool is_activation;

        if (!dwfl_frame_pc(state, &pc, &is_activation) || result->n >= UNWIND_MAX_FRAMES)
                return DWARF_CB_ABORT;
        /* A return address is behind the call, which may be the last of its function. */
        result->frames[result->n++] = find_frame(process, is_activation ? pc : pc - 1);
        return DWARF_CB_OK;
}

/*
 * Returns true if the outermost frame is in the first instructions of a program. Nothing marks
 * those of the dynamic linker, which run before any instruction of the program itself, as having no
 * caller.
 */
#define ENTRY_BYTES 128u
static bool ends_at_entry(const UnwindProcess *process, const UnwoundStack *stack) {
        const UnwoundFrame *last = stack->n > 0 ? &stack->frames[stack->n - 1] : NULL;
        GElf_Ehdr head;

        return last && last->module != SIZE_MAX && process->modules->all[last->module]->elf &&
               gelf_getehdr(process->modules->all[last->module]->elf, &head) &&
               last->vaddr >= head.e_entry && last->vaddr - head.e_entry < ENTRY_BYTES;
}

int unwind_stack(UnwindProcess *process, const uint64_t registers[static UNWIND_REGISTERS],
                 Span stack, UnwoundStack *ret) {
        int r;

        ret->n = 0;
        process->registers = registers;
        process->sp = registers[UNWIND_SP];
        process->stack = stack;
        process->is_cut = false;
        process->result = ret;
        r = process->dwfl ? dwfl_getthread_frames(process->dwfl, 1, take_frame, process) : -1;
        ret->is_complete = (r == 0 && !process->is_cut) || ends_at_entry(process, ret);
        if (ret->n == 0)
                ret->frames[ret->n++] = find_frame(process, registers[UNWIND_PC]);
        return 0;
}

void unwind_callers(const UnwindProcess *process, Span callers, UnwoundStack *ret) {
        ret->n = 0;
        while (ret->n < UNWIND_MAX_FRAMES && callers.n / sizeof(uint64_t) > ret->n) {
                uint64_t address;

                memcpy(&address, callers.bytes + ret->n * sizeof(address), sizeof(address));
                /* A return address is behind the call, which may be the last of its function. */
                ret->frames[ret->n] = find_frame(process, ret->n == 0 ? address : address - 1);
                ret->n++;
        }
        ret->is_complete = ends_at_entry(process, ret);
}
