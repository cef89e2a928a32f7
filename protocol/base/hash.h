/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Hash
 *
 * Where to look for bytes in a table. That hash never stands for the bytes: XXH3 collides for free
 * on inputs that hold its published secret, so whoever finds an equal hash compares the bytes. The
 * seed differs from process to process, so that nobody can prepare names that share their slots.
 */

#include <stdint.h>
#include "base/span.h"

/* From the sixteen random bytes that the kernel gives to every process; no system call is made. */
uint64_t hash_seed(void);
uint64_t hash_bytes(Span bytes, uint64_t seed);

/* The digest of bytes that may have been torn or mixed up, but by nobody's intent. */
#define HASH_DIGEST_BYTES 16
void hash_digest(Span bytes, unsigned char ret_digest[static HASH_DIGEST_BYTES]);
