/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/proc-io.h"

#include "kernel/text/cursor.h"
#include "kernel/text/fields.h"

#define PROC_IO_KEY(key) SPAN_LITERAL(#key),
static const Span keys[_PROC_IO_MAX] = { PROC_IO_KEYS(PROC_IO_KEY) };

int proc_io_parse(Span text, ProcIo *ret) {
        Cursor cursor = cursor_over(text);
        ProcIo io = {};
        Fields fields = { .keys = keys, .n_keys = _PROC_IO_MAX, .values = io.values };
        Span key, value;

        while (cursor_colon_pair(&cursor, &key, &value))
                fields_put(&fields, key, value);
        io.present = (uint32_t) fields.present;

        *ret = io;
        return fields.malformed || io.present == 0 || !cursor_is_at_end(&cursor)
                       ? PROCFS_E_MALFORMED
                       : 0;
}
