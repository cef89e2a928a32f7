/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * LifeCounts
 *
 * Threads by what became of them between two snapshots: every life in either is counted once.
 */

#include <stdint.h>

typedef struct LifeCounts {
        uint64_t survived, born, gone;
} LifeCounts;
