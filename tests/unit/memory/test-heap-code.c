/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check-main.h"

#include <elf.h>

#include "base/macro.h"
#include "capture/heap/heap-code.h"

#define BYTES(text) \
        { (text), sizeof(text) - 1 }
#define NONE UINT64_MAX

/* Functions as compilers wrote them, from their first byte. */
static const struct {
        const char *what;
        uint16_t machine;
        Span code;
        uint64_t load, address;
        bool is_refusal;
} rows[] = {
        { "gcc -O2, 5.3.0: or r9, [rsp + 8]; ...; mov rdx, [rdi + 0x338]", EM_X86_64,
          BYTES("\x4c\x0b\x4c\x24\x08\x48\x89\xc8\xba\x01\0\0\0\x75\x24\x48\x8b\x97\x38\x03\0\0"
                "\x48\x89\x54\x24\xf8"),
          824, NONE, false },
        { "gcc -O2, 5.2.1: mov rdx, [rdi + 16]", EM_X86_64,
          BYTES("\x4c\x0b\x4c\x24\x08\x75\x24\x48\x8b\x57\x10\xc3"), 16, NONE, false },
        { "into r8: REX.WR", EM_X86_64, BYTES("\x4c\x8b\x87\x38\x03\0\0\xc3"), 824, NONE, false },
        { "add rdi, 0x338", EM_X86_64, BYTES("\x75\x24\x48\x81\xc7\x38\x03\0\0\xc3"), NONE, 824,
          false },
        { "add rdi, 16", EM_X86_64, BYTES("\x75\x24\x48\x83\xc7\x10\xc3"), NONE, 16, false },
        { "lea rax, [rdi + 0x338]", EM_X86_64, BYTES("\x48\x8d\x87\x38\x03\0\0\xc3"), NONE, 824,
          false },
        { "lea rax, [rdi + 16]", EM_X86_64, BYTES("\x48\x8d\x47\x10\xc3"), NONE, 16, false },
        { "the first of two", EM_X86_64, BYTES("\x48\x8b\x47\x08\x48\x8b\x47\x10"), 8, NONE,
          false },
        { "from r15: REX.WB", EM_X86_64, BYTES("\x49\x8b\x87\x38\x03\0\0\xc3"), NONE, NONE, false },
        { "4 bytes: no REX.W", EM_X86_64, BYTES("\x8b\x87\x38\x03\0\0\xc3"), NONE, NONE, false },
        { "from rsi", EM_X86_64, BYTES("\x48\x8b\x46\x10\xc3"), NONE, NONE, false },
        { "from a register: mov rax, rdi", EM_X86_64, BYTES("\x48\x8b\xc7\x10\xc3"), NONE, NONE,
          false },
        { "the start of the struct: mov rax, [rdi]", EM_X86_64, BYTES("\x48\x8b\x07\xc3\0\0\0"),
          NONE, NONE, false },
        { "before the struct", EM_X86_64, BYTES("\x48\x8b\x47\xf8\x48\x83\xc7\xf8\xc3"), NONE, NONE,
          false },
        { "a number that is cut", EM_X86_64, BYTES("\x48\x8b\x87\x38\x03\0"), NONE, NONE, false },
        { "an instruction that is cut", EM_X86_64, BYTES("\x48\x8b\x47"), NONE, NONE, false },
        { "sub rdi, 16", EM_X86_64, BYTES("\x48\x83\xef\x10\xc3"), NONE, NONE, false },
        { "gcc -O2 --disable-stats", EM_X86_64, BYTES("\xb8\x02\0\0\0\xc3\x0f\x1f"), NONE, NONE,
          true },
        { "the same with protected branches", EM_X86_64,
          BYTES("\xf3\x0f\x1e\xfa\xb8\x02\0\0\0\xc3"), NONE, NONE, true },
        { "the same behind another function", EM_X86_64, BYTES("\x90\xc3\xb8\x02\0\0\0\xc3"), NONE,
          NONE, false },
        { "return EPERM", EM_X86_64, BYTES("\xb8\x01\0\0\0\xc3"), NONE, NONE, false },
        { "gcc -O0 --disable-stats", EM_X86_64,
          BYTES("\x55\x48\x89\xe5\x48\x83\xec\x50\x48\x89\x7d\xd8\xb8\0\0\0\0\x83\xf0\x01\x84\xc0"
                "\x74\x0a"),
          NONE, NONE, true },
        { "gcc -O0", EM_X86_64,
          BYTES("\x55\x48\x89\xe5\x48\x83\xec\x50\x48\x89\x7d\xd8\xb8\x01\0\0\0\x83\xf0\x01\x84"
                "\xc0\x74\x0a"),
          NONE, NONE, false },
        { "clang -O0 --disable-stats", EM_X86_64,
          BYTES("\x55\x48\x89\xe5\x48\x89\x7d\xf0\xc7\x45\xfc\x02\0\0\0\x8b\x45\xfc\x5d\xc3"), NONE,
          NONE, true },

        { "gcc -O2: orr x5, x5, x6; ...; ldr x0, [x0, #888]", EM_AARCH64,
          BYTES("\xa5\0\x06\xaa\xe5\x01\0\xb5\x00\xbc\x41\xf9"), 888, NONE, false },
        { "ldr x9, [x0, #16]", EM_AARCH64, BYTES("\x09\x08\x40\xf9"), 16, NONE, false },
        { "add x0, x0, #0x378", EM_AARCH64, BYTES("\0\xe0\x0d\x91"), NONE, 888, false },
        { "add x0, x0, #0x1, lsl #12", EM_AARCH64, BYTES("\0\x04\x40\x91"), NONE, 4096, false },
        { "Debian's: mov x2, #0; mov x2, x0; mov w0, #1; cbnz x5, ...; ldr x0, [x2, #888]",
          EM_AARCH64,
          BYTES("\x02\0\x80\xd2\xe2\x03\0\xaa\x20\0\x80\x52\x65\x01\0\xb5\x40\xbc\x41\xf9"), 888,
          NONE, false },
        { "the same with add x0, x2, #0x378", EM_AARCH64,
          BYTES("\x02\0\x80\xd2\xe2\x03\0\xaa\x20\0\x80\x52\x65\x01\0\xb5\x40\xe0\x0d\x91"), NONE,
          888, false },
        { "what was moved twice: mov x2, x0; mov x19, x2; ldr x0, [x19, #888]", EM_AARCH64,
          BYTES("\xe2\x03\0\xaa\xf3\x03\x02\xaa\x60\xbe\x41\xf9"), 888, NONE, false },
        { "another argument was moved: mov x2, x1; ldr x0, [x2, #888]", EM_AARCH64,
          BYTES("\xe2\x03\x01\xaa\x40\xbc\x41\xf9"), NONE, NONE, false },
        { "it is moved after the load: ldr x0, [x2, #888]; mov x2, x0", EM_AARCH64,
          BYTES("\x40\xbc\x41\xf9\xe2\x03\0\xaa"), NONE, NONE, false },
        { "half of it was moved: mov w2, w0; ldr x0, [x2, #888]", EM_AARCH64,
          BYTES("\xe2\x03\0\x2a\x40\xbc\x41\xf9"), NONE, NONE, false },
        { "ldr x0, [x1, #888]", EM_AARCH64, BYTES("\x20\xbc\x41\xf9"), NONE, NONE, false },
        { "ldr w0, [x0, #16]", EM_AARCH64, BYTES("\0\x10\x40\xb9"), NONE, NONE, false },
        { "ldr x0, [x0]", EM_AARCH64, BYTES("\0\0\x40\xf9"), NONE, NONE, false },
        { "between instructions", EM_AARCH64, BYTES("\x1f\x20\x03\xbc\x41\xf9\0\0"), NONE, NONE,
          false },
        { "an instruction that is cut", EM_AARCH64, BYTES("\x00\xbc\x41"), NONE, NONE, false },
        { "gcc -O2 --disable-stats", EM_AARCH64, BYTES("\x40\0\x80\x52\xc0\x03\x5f\xd6"), NONE,
          NONE, true },
        { "the same with protected branches", EM_AARCH64,
          BYTES("\x5f\x24\x03\xd5\x40\0\x80\x52\xc0\x03\x5f\xd6"), NONE, NONE, true },
        { "gcc -O0 --disable-stats", EM_AARCH64,
          BYTES("\xfd\x7b\xb9\xa9\0\0\x80\x52\0\0\0\x52\0\x1c\0\x12\x1f\0\0\x71"), NONE, NONE,
          true },
        { "gcc -O0", EM_AARCH64,
          BYTES("\xfd\x7b\xb9\xa9\x20\0\x80\x52\0\0\0\x52\0\x1c\0\x12\x1f\0\0\x71"), NONE, NONE,
          false },
        { "the code of another machine", EM_X86_64, BYTES("\x00\xbc\x41\xf9\xc0\x03\x5f\xd6"), NONE,
          NONE, false },
        { "nothing", EM_X86_64, { "", 0 }, NONE, NONE, false },
        { "nothing", EM_AARCH64, { "", 0 }, NONE, NONE, false },
        { "no decoder", EM_RISCV, BYTES("\x48\x8b\x47\x10\xb8\x02\0\0\0\xc3"), NONE, NONE, false },
};

START_TEST(a_function_tells_its_member) {
        uint64_t load = 0, address = 0;
        /* In memory of its own, so that reading past its end is seen. */
        char *code = malloc(rows[_i].code.n);
        Span span = { code, rows[_i].code.n };

        ck_assert(code || span.n == 0);
        memcpy(code, rows[_i].code.bytes, span.n);
        ck_assert_msg(heap_code_find(rows[_i].machine, span, true, &load) ==
                              (rows[_i].load != NONE),
                      "%s", rows[_i].what);
        ck_assert_msg(rows[_i].load == NONE || load == rows[_i].load, "%s", rows[_i].what);
        ck_assert_msg(heap_code_find(rows[_i].machine, span, false, &address) ==
                              (rows[_i].address != NONE),
                      "%s", rows[_i].what);
        ck_assert_msg(rows[_i].address == NONE || address == rows[_i].address, "%s", rows[_i].what);
        ck_assert_msg(heap_code_is_refusal(rows[_i].machine, span) == rows[_i].is_refusal, "%s",
                      rows[_i].what);
        free(code);
}
END_TEST

START_TEST(two_machines_are_known) {
        ck_assert(heap_code_knows(EM_X86_64));
        ck_assert(heap_code_knows(EM_AARCH64));
        ck_assert(!heap_code_knows(EM_386));
        ck_assert(!heap_code_knows(EM_NONE));
}
END_TEST

static Suite *heap_code_suite(void) {
        Suite *suite = suite_create("heap-code");
        TCase *tcase = tcase_create("code");

        tcase_add_loop_test(tcase, a_function_tells_its_member, 0, ELEMENTSOF(rows));
        tcase_add_test(tcase, two_machines_are_known);
        suite_add_tcase(suite, tcase);
        return suite;
}

int main(void) {
        return check_main(heap_code_suite());
}
