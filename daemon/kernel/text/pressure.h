/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Pressure
 *
 * Pressure stall information of the host and of a cgroup: each of four resources has a "some" and a
 * "full" half with three averages and a total. The halves and values that a kernel does not print
 * are absent: irq has no "some" half, and cpu had no "full" half before 5.13 (kernel/sched/psi.c,
 * psi_show()).
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/macro.h"
#include "base/span.h"
#include "json/json-writer.h"
#include "snapshot/source.h"
#include "kernel/text/text-file.h"

// clang-format off
/*        id      member    below /proc          below a cgroup */
#define PRESSURES(P)                                             \
        P(CPU,    "cpu",    "pressure/cpu",    "cpu.pressure")    \
        P(MEMORY, "memory", "pressure/memory", "memory.pressure") \
        P(IO,     "io",     "pressure/io",     "io.pressure")     \
        P(IRQ,    "irq",    "pressure/irq",    "irq.pressure")
// clang-format on

#define PRESSURE_ID(id, ...) PRESSURE_##id,
typedef enum PressureId { PRESSURES(PRESSURE_ID) _PRESSURE_MAX } PressureId;

typedef struct PressureHalf {
        bool has_avg10, has_avg60, has_avg300, has_total;
        uint16_t avg10, avg60, avg300; /* hundredths of a percent: 18.59 % is 1859 */
        uint64_t total_usec;
} PressureHalf;

typedef struct PressureFile {
        bool has_some, has_full; /* the line was there */
        PressureHalf some, full;
} PressureFile;

/*
 * One file. 0 when all of it is in its grammar; TEXT_E_MALFORMED when some of it is not, and then
 * *ret has the values that are certain and lacks the others.
 */
_must_check_ int pressure_parse(Span text, PressureFile *ret);

typedef enum PressureOwner { PRESSURE_OF_HOST, PRESSURE_OF_GROUP } PressureOwner;

/*
 * Reads the four files below /proc or below a cgroup's directory @dir_fd, and writes
 *
 *     {"cpu": {"some": {"avg10": 1859, "avg60": .., "avg300": .., "total_usec": ..}, "full": ..},
 *      "memory": .., "io": .., "irq": ..}
 *
 * with null for a file, half or value that is absent. Counts the outcome of each in @counts
 * (indexed by SourceOutcome). On a host a missing file counts as unsupported, except irq, which
 * needs IRQ time accounting and does not count then. Files that a cgroup does not have (the root,
 * or with 0 in cgroup.pressure) do not count either. Reading fails with EOPNOTSUPP while PSI is
 * off: unsupported.
 */
void pressure_write_json(JsonWriter *writer, PressureOwner owner, int dir_fd,
                         uint64_t counts[static _SOURCE_OUTCOME_MAX]);
