/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/snapshot-fault.h"

#include <stdarg.h>
#include <stdio.h>

void fault_set(SnapshotFault *fault, uint64_t offset, const char *format, ...) {
        va_list args;

        if (!fault)
                return;
        *fault = (SnapshotFault){ .has_offset = offset != FAULT_NOWHERE };
        if (fault->has_offset)
                fault->offset = offset;
        va_start(args, format);
        (void) vsnprintf(fault->text, sizeof(fault->text), format, args);
        va_end(args);
}
