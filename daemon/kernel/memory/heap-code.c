/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/memory/heap-code.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <stddef.h>

#include "base/macro.h"

_Static_assert(ENOENT == 2, "the code below returns it");

/* For tables: a literal with NULs in it. */
#define SPAN_BYTES(text) \
        { (text), sizeof(text) - 1 }

static uint32_t word_at(Span code, size_t at) {
        uint32_t word;

        memcpy(&word, code.bytes + at, sizeof(word));
        return le32toh(word);
}

static uint8_t byte_at(Span code, size_t at) {
        return (uint8_t) code.bytes[at];
}

/* x86_64, whose first argument is in rdi */

#define X86_RDI 7

static bool x86_take_number(Span code, size_t at, size_t n, uint64_t *ret) {
        int64_t number;

        if (at > code.n || code.n - at < n)
                return false;
        number = n == 1 ? (int8_t) byte_at(code, at) : (int32_t) word_at(code, at);
        if (number <= 0)
                return false;
        *ret = (uint64_t) number;
        return true;
}

/* REX.W @opcode with a register and an operand in memory at rdi + displacement. */
static bool x86_take_displacement(Span code, uint8_t opcode, uint64_t *ret) {
        uint8_t rex, modrm;

        if (code.n < 4)
                return false;
        rex = byte_at(code, 0);
        modrm = byte_at(code, 2);
        if ((rex & 0xf9) != 0x48 || byte_at(code, 1) != opcode || (modrm & 7) != X86_RDI)
                return false;
        switch (modrm >> 6) {
        case 1:
                return x86_take_number(code, 3, 1, ret);
        case 2:
                return x86_take_number(code, 3, 4, ret);
        default:
                return false;
        }
}

/* mov register, [rdi + displacement] */
static bool x86_load(Span code, uint64_t *ret) {
        return x86_take_displacement(code, 0x8b, ret);
}

/* lea register, [rdi + displacement]; add rdi, number */
static bool x86_make_address(Span code, uint64_t *ret) {
        if (x86_take_displacement(code, 0x8d, ret))
                return true;
        if (code.n < 4 || byte_at(code, 0) != 0x48 || byte_at(code, 2) != (0xc0 | X86_RDI))
                return false;
        return (byte_at(code, 1) == 0x83 && x86_take_number(code, 3, 1, ret)) ||
               (byte_at(code, 1) == 0x81 && x86_take_number(code, 3, 4, ret));
}

/* An instruction may begin at any byte. */
static bool x86_find(Span code, bool (*take)(Span code, uint64_t *ret), uint64_t *ret) {
        for (; code.n > 0; code = (Span){ code.bytes + 1, code.n - 1 })
                if (take(code, ret))
                        return true;
        return false;
}

/* aarch64, whose first argument is in x0, from where it may be moved: the result belongs there */

/* ldr register, [@base, #number * 8] */
static bool arm_load(uint32_t word, unsigned *base, uint64_t *ret) {
        *base = word >> 5 & 31;
        *ret = (uint64_t) (word >> 10 & 0xfff) * 8;
        return (word & UINT32_C(0xffc00000)) == UINT32_C(0xf9400000) && *ret > 0;
}

/* add register, @base, #number, perhaps shifted left by 12 */
static bool arm_make_address(uint32_t word, unsigned *base, uint64_t *ret) {
        *base = word >> 5 & 31;
        *ret = (uint64_t) (word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);
        return (word & UINT32_C(0xff800000)) == UINT32_C(0x91000000) && *ret > 0;
}

static bool arm_find(Span code, bool (*take)(uint32_t word, unsigned *base, uint64_t *ret),
                     uint64_t *ret) {
        uint32_t holders = 1u << 0; /* the registers that had the argument */

        for (; code.n >= 4; code = (Span){ code.bytes + 4, code.n - 4 }) {
                uint32_t word = word_at(code, 0);
                unsigned base;
                uint64_t number;

                if (take(word, &base, &number) && holders >> base & 1) {
                        *ret = number;
                        return true;
                }
                /* mov register, register */
                if ((word & UINT32_C(0xffe0ffe0)) == UINT32_C(0xaa0003e0) &&
                    holders >> (word >> 16 & 31) & 1)
                        holders |= 1u << (word & 31);
        }
        return false;
}

/* Compilers make these of "if (!config_stats) return ENOENT;", optimizing or not. */
static const struct {
        uint16_t machine;
        bool is_start; /* the function is nothing else */
        Span code;
} refusals[] = {
        /* mov eax, ENOENT; ret; the same where branches are protected: endbr64 */
        { EM_X86_64, true, SPAN_BYTES("\xb8\x02\0\0\0\xc3") },
        { EM_X86_64, true, SPAN_BYTES("\xf3\x0f\x1e\xfa\xb8\x02\0\0\0\xc3") },
        /* gcc -O0: mov eax, 0; xor eax, 1; test al, al */
        { EM_X86_64, false, SPAN_BYTES("\xb8\0\0\0\0\x83\xf0\x01\x84\xc0") },
        /* clang -O0: mov dword [rbp - 4], ENOENT; mov eax, [rbp - 4]; pop rbp; ret */
        { EM_X86_64, false, SPAN_BYTES("\xc7\x45\xfc\x02\0\0\0\x8b\x45\xfc\x5d\xc3") },
        /* mov w0, ENOENT; ret; the same where branches are protected: bti c */
        { EM_AARCH64, true, SPAN_BYTES("\x40\0\x80\x52\xc0\x03\x5f\xd6") },
        { EM_AARCH64, true, SPAN_BYTES("\x5f\x24\x03\xd5\x40\0\x80\x52\xc0\x03\x5f\xd6") },
        /* gcc -O0: mov w0, 0; eor w0, w0, 1; and w0, w0, 0xff */
        { EM_AARCH64, false, SPAN_BYTES("\0\0\x80\x52\0\0\0\x52\0\x1c\0\x12") },
};

bool heap_code_find_load(uint16_t machine, Span code, uint64_t *ret) {
        return machine == EM_X86_64 ? x86_find(code, x86_load, ret)
                                    : machine == EM_AARCH64 && arm_find(code, arm_load, ret);
}

bool heap_code_find_address(uint16_t machine, Span code, uint64_t *ret) {
        return machine == EM_X86_64
                       ? x86_find(code, x86_make_address, ret)
                       : machine == EM_AARCH64 && arm_find(code, arm_make_address, ret);
}

bool heap_code_is_refusal(uint16_t machine, Span code) {
        for (size_t i = 0; i < ELEMENTSOF(refusals); i++) {
                Span rest = refusals[i].is_start && code.n > refusals[i].code.n
                                    ? (Span){ code.bytes, refusals[i].code.n }
                                    : code;

                if (refusals[i].machine == machine &&
                    memmem(rest.bytes, rest.n, refusals[i].code.bytes, refusals[i].code.n))
                        return true;
        }
        return false;
}

bool heap_code_knows(uint16_t machine) {
        return machine == EM_X86_64 || machine == EM_AARCH64;
}
