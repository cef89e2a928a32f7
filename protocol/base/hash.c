/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hash.h"

#include <string.h>
#include <sys/auxv.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_seed(void) {
        const void *random = (const void *) (uintptr_t) getauxval(AT_RANDOM);

        return random ? XXH3_64bits(random, 16) : 0;
}

uint64_t hash_bytes(Span bytes, uint64_t seed) {
        return XXH3_64bits_withSeed(bytes.n > 0 ? bytes.bytes : "", bytes.n, seed);
}

void hash_digest(Span bytes, unsigned char ret_digest[static HASH_DIGEST_BYTES]) {
        XXH128_canonical_t canonical;

        XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.n > 0 ? bytes.bytes : "", bytes.n));
        memcpy(ret_digest, canonical.digest, HASH_DIGEST_BYTES);
}
