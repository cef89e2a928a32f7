/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "base/name.h"

int printable_append(Buffer *buffer, Span bytes) {
        while (bytes.n > 0) {
                size_t n = utf8_character(bytes);
                bool shown = n > 0 && hidden_character(bytes, NULL) == 0;

                n = n == 0 ? 1 : n;
                if (shown)
                        buffer_append(buffer, bytes.bytes, n);
                for (size_t i = 0; !shown && i < n; i++)
                        buffer_append_format(buffer, "\\x%02x", (unsigned char) bytes.bytes[i]);
                bytes = (Span){ bytes.bytes + n, bytes.n - n };
        }
        return buffer_failure(buffer);
}

int printable_append_name(Buffer *buffer, Span text) {
        _cleanup_(buffer_done) Buffer bytes = {};
        int r;

        r = name_unescape_controls(&bytes, text);
        if (r < 0 && buffer->failure == 0)
                buffer->failure = r;
        return printable_append(buffer, buffer_span(&bytes));
}

size_t printable_fit(Span text, size_t n_columns, size_t *ret_width) {
        Span rest = text;
        size_t width = 0;

        while (rest.n > 0) {
                size_t n = utf8_character(rest), columns;
                int width_of;

                n = n == 0 ? 1 : n;
                /* wcwidth() agrees with most terminals; an unknown character takes one column. */
                width_of = n > 1 ? wcwidth((wchar_t) utf8_code((Span){ rest.bytes, n })) : 1;
                columns = width_of < 0 ? 1 : (size_t) width_of;
                if (columns > n_columns - width)
                        break;
                width += columns;
                rest = (Span){ rest.bytes + n, rest.n - n };
        }
        if (ret_width)
                *ret_width = width;
        return text.n - rest.n;
}

size_t printable_cut(Span text, size_t n_columns, size_t n_bytes) {
        size_t n = printable_fit(text, n_columns, NULL);

        if (n <= n_bytes)
                return n;
        n = n_bytes;
        while (n > 0 && ((unsigned char) text.bytes[n] & 0xc0) == 0x80)
                n--;
        return n;
}

size_t printable_width(Span text) {
        size_t width;

        (void) printable_fit(text, SIZE_MAX, &width);
        return width;
}

int printable_append_end(Buffer *buffer, Span text, size_t n_columns) {
        const char *slash;

        if (printable_width(text) <= n_columns)
                return buffer_append(buffer, text.bytes, text.n);
        while (printable_width(text) > n_columns - 1)
                text = (Span){ text.bytes + 1, text.n - 1 };
        while (text.n > 0 && (text.bytes[0] & 0xc0) == 0x80)
                text = (Span){ text.bytes + 1, text.n - 1 };
        slash = memchr(text.bytes, '/', text.n / 2);
        if (slash)
                text = (Span){ slash, text.n - (size_t) (slash - text.bytes) };
        buffer_append_text(buffer, "\u2026");
        return buffer_append(buffer, text.bytes, text.n);
}
