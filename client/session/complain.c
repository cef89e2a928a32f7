/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/complain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "render/cell.h"
#include "render/printable.h"

#define QUOTED_COLUMNS 120

int complain(int status, const char *format, ...) {
        va_list arguments;

        /* Flush first, so that the order is kept if stdout and stderr are the same file. */
        (void) fflush(stdout);
        va_start(arguments, format);
        (void) vfprintf(stderr, format, arguments);
        va_end(arguments);
        (void) fputc('\n', stderr);
        return status;
}

int complain_errno(int error, const char *what) {
        return complain(STATUS_FAILED, "Cannot %s: %s.", what,
                        strerror(error < 0 ? -error : error));
}

/* Writes @text printable, cut at @n_columns, between @marks. */
static void format_printable(Span text, size_t n_columns, const char *marks, char *ret) {
        _cleanup_(buffer_done) Buffer printable = {};
        const char *shown = "";
        size_t n;

        /* Without memory the sentence still names the problem, though not the object. */
        if (printable_append_name(&printable, text) < 0 || buffer_terminate(&printable, &shown) < 0)
                shown = "?";
        n = printable_fit(shown, n_columns);
        while (n > QUOTE_BYTES - 8)
                n = printable_fit(shown, --n_columns);
        (void) snprintf(ret, QUOTE_BYTES, "%s%.*s%s%s", marks, (int) n, shown,
                        shown[n] != '\0' ? "\u2026" : "", marks);
}

const char *quote_span(Span text, char ret_quoted[static QUOTE_BYTES]) {
        format_printable(text, QUOTED_COLUMNS, "\"", ret_quoted);
        return ret_quoted;
}

const char *quote(const char *text, char ret_quoted[static QUOTE_BYTES]) {
        return quote_span(span_of(text), ret_quoted);
}

static Span string_span(json_object *value) {
        return json_object_is_type(value, json_type_string) ? cell_string(value)
                                                            : SPAN_LITERAL("?");
}

const char *quote_json(json_object *value, char ret_quoted[static QUOTE_BYTES]) {
        return quote_span(string_span(value), ret_quoted);
}

const char *fragment_json(json_object *value, char ret_fragment[static QUOTE_BYTES]) {
        Span text = string_span(value);

        while (text.n > 0 && text.bytes[text.n - 1] == '.')
                text.n--;
        format_printable(text, QUOTE_BYTES, "", ret_fragment);
        return ret_fragment;
}
