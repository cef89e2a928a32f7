/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/procfs/proc-smaps.h"

#include "kernel/text/cursor.h"

/* The header's first colon follows an address range and a device number, which are no key. */
static bool is_key(Span text) {
        for (size_t i = 0; i < text.n; i++) {
                char c = text.bytes[i];

                if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
                    c != '_')
                        return false;
        }
        return text.n > 0;
}

int proc_smaps_parse(Span text, ProcSmaps *ret) {
        Cursor cursor = cursor_over(text);
        bool good = true;
        Span key, value;

        number_map_init(ret);
        while (cursor_colon_pair(&cursor, &key, &value)) {
                Cursor words = cursor_over(value);
                Span number;

                if (!is_key(key))
                        continue;
                (void) cursor_word(&words, &number); /* an empty word fails as a number, too */
                good &= number_map_put(ret, key, number);
        }
        good &= ret->n_entries > 0;
        return good && cursor_is_at_end(&cursor) ? 0 : PROCFS_E_MALFORMED;
}
