/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/lines.h"

#include <stdarg.h>
#include <stdbool.h>
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

void lines_print(const Lines *lines, const char *label, const char *text) {
        size_t indent = lines->label_columns > 0 ? lines->label_columns + GAP : 0, n;
        size_t width = printable_width(label), n_text = strlen(text);
        bool wraps = lines->terminal->out && lines->terminal->columns >= indent + MIN_TEXT_COLUMNS;

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
                n = wraps ? break_at(text, lines->terminal->columns - indent) : n_text;
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
