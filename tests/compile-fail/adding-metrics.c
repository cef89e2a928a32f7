/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two metrics cannot be added up by accident: their types are structs. */
#include "snapshot/thread-sample.h"

uint64_t add(const ThreadSample *a, const ThreadSample *b);

uint64_t add(const ThreadSample *a, const ThreadSample *b) {
#ifdef GOOD
        return a->wait_max.value + b->wait_max.value;
#else
        return a->wait_max + b->wait_max;
#endif
}
