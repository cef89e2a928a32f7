/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <fcntl.h>
#include <string.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>
#include "check-lack.h"
#include "kernel/procfs/process-map.h"
#include "record/program/unwinder.h"
#include "small-elf.h"

#define STACK_BYTES 16384

static uint64_t registers[UNWIND_REGISTERS];
static char stack[STACK_BYTES];
static size_t n_stack;

static Modules modules;
static Mapping mappings[1024];
static size_t n_mappings;

static void set_registers(const ucontext_t *context) {
#if defined(__x86_64__)
        static const int order[] = { REG_R15, REG_R14, REG_R13, REG_R12, REG_RBP, REG_RBX, REG_R11,
                                     REG_R10, REG_R9,  REG_R8,  REG_RAX, REG_RCX, REG_RDX, REG_RSI,
                                     REG_RDI, -1,      REG_RIP, -1,      -1,      REG_RSP };

        for (size_t i = 0; i < ELEMENTSOF(order); i++)
                registers[i] = order[i] < 0 ? 0 : (uint64_t) context->uc_mcontext.gregs[order[i]];
#else
        for (size_t i = 0; i < 31; i++)
                registers[i] = context->uc_mcontext.regs[i];
        registers[31] = context->uc_mcontext.sp;
        registers[32] = context->uc_mcontext.pc;
#endif
}

#if defined(__x86_64__)
#define SP registers[19]
#else
#define SP registers[31]
#endif

/*
 * Sanitizers forbid to read whole stacks; the kernel reads them page by page, as programs do. An
 * emulator of another processor does not read for others.
 */
static void copy_stack(uint64_t sp) {
        const uint64_t end = getauxval(AT_RANDOM); /* behind all frames */

        if (check_lacks_own_mappings() && !check_is_valgrind()) {
                n_stack = end > sp && end - sp < STACK_BYTES ? end - sp : STACK_BYTES;
                memcpy(stack, (const void *) (uintptr_t) sp, n_stack);
                return;
        }
        for (n_stack = 0; n_stack < STACK_BYTES;) {
                size_t n = 4096 - ((sp + n_stack) & 4095);
                struct iovec to = { stack + n_stack,
                                    n < STACK_BYTES - n_stack ? n : STACK_BYTES - n_stack };
                struct iovec from = { (void *) (uintptr_t) (sp + n_stack), to.iov_len };
                ssize_t r = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

                if (r <= 0)
                        return;
                n_stack += (size_t) r;
        }
}

__attribute__((noinline)) static int innermost(int n) {
        ucontext_t context;

        ck_assert_int_eq(getcontext(&context), 0);
        set_registers(&context);
        copy_stack(SP);
        return n + 1;
}

static int middle(int n);

/* Optimizing compilers know what it points to unless they have to read it. */
static int (*volatile again)(int) = middle;

__attribute__((noinline)) static int middle(int n) {
        return n > 0 ? again(n - 1) + 1 : innermost(n) + 1;
}

__attribute__((noinline)) static int outermost(void) {
        return middle(3) + 1;
}

static void read_own_maps(void) {
        static char text[1 << 20];
        int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
        uint64_t n_lines = 0;
        ProcessMapping mapping;
        size_t n = 0;
        ssize_t one;
        Cursor cursor;

        ck_assert_int_ge(fd, 0);
        while ((one = read(fd, text + n, sizeof(text) - n)) > 0)
                n += (size_t) one;
        (void) close(fd);
        cursor = (Span){ text, n };
        while (process_map_next(&cursor, &mapping, &n_lines) == 0) {
                char path[PROCESS_MAP_PATH_BYTES];
                size_t number;

                if (!mapping.is_executable || !process_map_path(&mapping, path))
                        continue;
                ck_assert_int_eq(modules_add(&modules, mapping.dev, mapping.inode, mapping.path,
                                             open(path, O_RDONLY | O_CLOEXEC), &number),
                                 0);
                mappings[n_mappings++] =
                        (Mapping){ mapping.start, mapping.end, mapping.offset, number };
        }
}

static const char *name_of(const UnwoundFrame *frame) {
        const Symbol *symbol;
        Module *module;

        if (frame->module == SIZE_MAX)
                return "?";
        module = modules.all[frame->module];
        ck_assert_int_eq(module_find_symbol(module, frame->vaddr, &symbol), 0);
        return symbol ? symbol_table_text(&module->symbols, symbol->name) : "?";
}

static void set_up(void) {
        (void) elf_version(EV_CURRENT);
        modules = (Modules){};
        n_mappings = 0;
        read_own_maps();
        ck_assert_int_eq(outermost(), 6);
}

static void tear_down(void) {
        modules_done(&modules);
}

START_TEST(callers) {
        static const char *const expected[] = { "innermost", "middle", "middle",
                                                "middle",    "middle", "outermost" };
        UnwindProcess *process;
        UnwoundStack result;

        ck_assert_int_eq(unwind_process_new(&modules, mappings, n_mappings, &process), 0);
        /* More than once: what was loaded is used again. */
        for (int i = 0; i < 3; i++) {
                ck_assert_int_eq(
                        unwind_stack(process, registers, (Span){ stack, n_stack }, &result), 0);
                ck_assert_uint_gt(result.n, ELEMENTSOF(expected));
                for (size_t k = 0; k < ELEMENTSOF(expected); k++)
                        ck_assert_str_eq(name_of(&result.frames[k]), expected[k]);
                ck_assert(result.is_complete);
        }
        (void) unwind_process_free(process);
}
END_TEST

/* A stack that was cut has the frames that are in it, and says so. */
START_TEST(cut) {
        UnwindProcess *process;
        UnwoundStack result;
        size_t n_whole;

        ck_assert_int_eq(unwind_process_new(&modules, mappings, n_mappings, &process), 0);
        ck_assert_int_eq(unwind_stack(process, registers, (Span){ stack, n_stack }, &result), 0);
        n_whole = result.n;
        ck_assert_int_eq(unwind_stack(process, registers, (Span){ stack, 64 }, &result), 0);
        ck_assert(!result.is_complete);
        ck_assert_uint_lt(result.n, n_whole);
        ck_assert_str_eq(name_of(&result.frames[0]), "innermost");
        ck_assert_int_eq(unwind_stack(process, registers, (Span){}, &result), 0);
        ck_assert(!result.is_complete);
        ck_assert_uint_eq(result.n, 1);
        (void) unwind_process_free(process);
}
END_TEST

/* The dynamic linker begins where nobody called it, and does not tell so. */
START_TEST(start_of_a_process) {
        uint64_t at_start[UNWIND_REGISTERS];
        const char *base = (const char *) getauxval(AT_BASE);
        const ElfW(Ehdr) *head = (const ElfW(Ehdr) *) (const void *) base;
        UnwindProcess *process;
        UnwoundStack result;

        if (check_skips(base ? NULL : "the kernel was told to execute the dynamic linker itself"))
                return;
        memcpy(at_start, registers, sizeof(at_start));
        at_start[SMALL_ELF_PC_AT] = (uint64_t) (uintptr_t) base + head->e_entry + 8;
        ck_assert_int_eq(unwind_process_new(&modules, mappings, n_mappings, &process), 0);
        ck_assert_int_eq(unwind_stack(process, at_start, (Span){}, &result), 0);
        ck_assert(result.is_complete);
        (void) unwind_process_free(process);
}
END_TEST

/* Registers and stacks are of strangers: any bytes end in a result. */
START_TEST(nonsense) {
        uint64_t wild[UNWIND_REGISTERS];
        UnwindProcess *process;
        UnwoundStack result;
        unsigned seed = 1;

        ck_assert_int_eq(unwind_process_new(&modules, mappings, n_mappings, &process), 0);
        for (int i = 0; i < check_rounds(300); i++) {
                memcpy(wild, registers, sizeof(wild));
                wild[(size_t) rand_r(&seed) % UNWIND_REGISTERS] = (uint64_t) rand_r(&seed) << 20;
                for (int k = 0; k < 20; k++)
                        stack[(size_t) rand_r(&seed) % n_stack] = (char) rand_r(&seed);
                ck_assert_int_eq(unwind_stack(process, wild, (Span){ stack, n_stack }, &result), 0);
                ck_assert_uint_ge(result.n, 1);
                ck_assert_uint_le(result.n, UNWIND_MAX_FRAMES);
        }
        (void) unwind_process_free(process);
}
END_TEST

/* Where no file is, or not one that can be read, there is the innermost frame. */
START_TEST(without_files) {
        UnwindProcess *process;
        UnwoundStack result;

        ck_assert_int_eq(unwind_process_new(&modules, NULL, 0, &process), 0);
        ck_assert_int_eq(unwind_stack(process, registers, (Span){ stack, n_stack }, &result), 0);
        ck_assert_uint_eq(result.n, 1);
        ck_assert_uint_eq(result.frames[0].module, SIZE_MAX);
        ck_assert_uint_eq(result.frames[0].vaddr, 0);
        ck_assert(!result.is_complete);
        (void) unwind_process_free(process);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("unwinder");
        TCase *tcase = tcase_create("unwinder");

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, callers);
        tcase_add_test(tcase, cut);
        tcase_add_test(tcase, start_of_a_process);
        tcase_add_test(tcase, nonsense);
        tcase_add_test(tcase, without_files);
        suite_add_tcase(suite, tcase);
        return check_main(suite);
}
