/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "spool/snapshot-fault.h"

#include <stdarg.h>
#include <stdio.h>

_printf_(2, 0) static void fault_format(SnapshotFault *fault, const char *format, va_list args) {
        *fault = (SnapshotFault){};
        (void) vsnprintf(fault->text, sizeof(fault->text), format, args);
}

void fault_set(SnapshotFault *fault, const char *format, ...) {
        va_list args;

        if (!fault)
                return;
        va_start(args, format);
        fault_format(fault, format, args);
        va_end(args);
}

void fault_set_at(SnapshotFault *fault, uint64_t offset, const char *format, ...) {
        va_list args;

        if (!fault)
                return;
        va_start(args, format);
        fault_format(fault, format, args);
        va_end(args);
        fault->has_offset = true;
        fault->offset = offset;
}
