/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/lines.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "render/printable.h"

#define GAP 2
#define MIN_TEXT_COLUMNS 20

/* How many bytes of @text go on a line of @n_columns: up to the last blank, if there is one. */
static size_t break_at(const char *text, size_t n_columns) {
        size_t n = printable_fit(text, n_columns), blank = n;

        if (text[n] == '\0')
                return n;
        while (blank > 0 && text[blank] != ' ')
                blank--;
        return blank > 0 ? blank : n;
}

static size_t indent_of(const Lines *lines) {
        return lines->label_columns > 0 ? lines->label_columns + GAP : 0;
}

size_t lines_text_columns(const Lines *lines) {
        size_t indent = indent_of(lines), columns = lines->terminal->columns;

        return lines->terminal->out && columns >= indent + MIN_TEXT_COLUMNS ? columns - indent
                                                                            : SIZE_MAX;
}

void lines_print(const Lines *lines, const char *label, const char *text) {
        size_t indent = indent_of(lines), columns = lines_text_columns(lines), n;
        size_t width = printable_width(label), n_text = strlen(text);
        bool wraps = columns < SIZE_MAX;

        /* Remove blanks at the end, which a kernel command line may have. */
        while (n_text > 0 && text[n_text - 1] == ' ')
                n_text--;
        (void) fputs(label, lines->out);
        /* A label that is too long for its column gets a line of its own. */
        if (wraps && indent > 0 && width >= indent) {
                (void) fputc('\n', lines->out);
                width = 0;
        }
        for (bool first = true; first || n_text > 0; first = false) {
                n = wraps ? break_at(text, columns) : n_text;
                n = MIN_OF(n, n_text);
                if (!first)
                        width = 0;
                if (n > 0)
                        (void) fprintf(lines->out, "%*s",
                                       (int) (indent > width ? indent - width : width > 0), "");
                (void) fprintf(lines->out, "%.*s\n", (int) n, text);
                n += strspn(text + n, " ");
                n = MIN_OF(n, n_text);
                text += n;
                n_text -= n;
        }
}

int lines_print_buffer(const Lines *lines, const char *label, Buffer *text) {
        const char *terminated;
        int r;

        r = buffer_terminate(text, &terminated);
        if (r < 0)
                return r;
        lines_print(lines, label, terminated);
        return 0;
}

void lines_format(const Lines *lines, const char *label, const char *format, ...) {
        _cleanup_(freep) char *text = NULL;
        va_list arguments;
        int n;

        va_start(arguments, format);
        n = vasprintf(&text, format, arguments);
        va_end(arguments);
        if (n < 0) {
                text = NULL;
                return;
        }
        lines_print(lines, label, text);
}
