/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * HeapCode
 *
 * Reads a number out of the instructions of a function whose first argument points at a struct: how
 * far into the struct the member lies that it loads, or whose address it makes. Pure. What it finds
 * is evidence, not proof: instructions of x86_64 are looked for at every byte, and the code behind
 * the end of a short function is looked at, too. The caller holds several functions against each
 * other.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/span.h"

#define HEAP_CODE_BYTES 96 /* of a function, as far as it is looked at */

/*
 * The first member, but for one at the start of the struct, that the code loads as 8 bytes; *ret is
 * undefined without one. @machine: EM_*.
 */
bool heap_code_find_load(uint16_t machine, Span code, uint64_t *ret);

/* Likewise the member that it makes the address of. */
bool heap_code_find_address(uint16_t machine, Span code, uint64_t *ret);

/*
 * True when the code is that of a function which always returns ENOENT, as far as compilers are
 * known to write it.
 */
bool heap_code_is_refusal(uint16_t machine, Span code);

/* True when there is a decoder. */
bool heap_code_knows(uint16_t machine);
