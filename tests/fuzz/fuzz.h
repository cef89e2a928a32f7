/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Fuzz
 *
 * What the targets share: the entry point that libFuzzer and replay.c call, an expectation that
 * ends the process with the sentence that was not true, and a reader that takes an input apart.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Only of a target that needs more than memory: why it cannot run here, or NULL. */
const char *fuzz_lack(void) __attribute__((__weak__));

/* Says on stderr what did not hold, with the text that showed it, and aborts. */
_noreturn_ void fuzz_fail(const char *file, int line, const char *format, ...) _printf_(3, 4);

/* @... says what must hold, as a sentence: "the cursor stays within its text". */
#define fuzz_expect(cond, ...)                                      \
        do {                                                        \
                if (!(cond))                                        \
                        fuzz_fail(__FILE__, __LINE__, __VA_ARGS__); \
        } while (0)

/* An input that is taken from the front; at its end every taking answers with 0 or nothing. */
typedef struct FuzzInput {
        const char *at;
        size_t n;
} FuzzInput;

static inline FuzzInput fuzz_input(const uint8_t *data, size_t size) {
        return (FuzzInput){ (const char *) data, size };
}
uint8_t fuzz_take_u8(FuzzInput *input);
uint16_t fuzz_take_u16(FuzzInput *input); /* little endian, as u64 */
uint64_t fuzz_take_u64(FuzzInput *input);
/* At most @n bytes. */
Span fuzz_take(FuzzInput *input, size_t n);
/* What stands before the next @end, which is consumed too; the rest where there is none. */
Span fuzz_take_until(FuzzInput *input, char end);
Span fuzz_take_rest(FuzzInput *input);

/*
 * @text in an allocation of exactly its size, so that reading past its end is seen: what was taken
 * from the middle of an input has readable neighbours. Owned; NULL and 0 bytes stay that.
 */
char *fuzz_copy(Span text);
