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
#define ARROW "\u2192"
#define ELLIPSIS "\u2026"

/* True if the word that ends at @end stays with the next one: a number, or an arrow. */
static bool keeps_next(const char *text, size_t end) {
        size_t begin = end;

        while (begin > 0 && text[begin - 1] != ' ')
                begin--;
        if (span_is((Span){ text + begin, end - begin }, ARROW))
                return true;
        if (begin < end && strchr("(~<+-", text[begin]))
                begin++;
        return begin < end && text[begin] >= '0' && text[begin] <= '9' &&
               begin + strspn(text + begin, "0123456789.,KMGT") == end && text[end - 1] != ',';
}

/*
 * Counts the bytes of @text that go on a line of @n_columns: up to the last blank, if there is one,
 * and rather to one that does not part a number from what it counts ("35 %", "2.00 CPUs").
 */
static size_t break_at(const char *text, size_t n_columns) {
        size_t n = printable_fit(span_of(text), n_columns, NULL), last = 0;

        if (text[n] == '\0')
                return n;
        for (size_t blank = n; blank > 0; blank--) {
                if (text[blank] != ' ')
                        continue;
                if (!keeps_next(text, blank))
                        return blank;
                last = MAX_OF(last, blank);
        }
        return last > 0 ? last : n;
}

size_t lines_text_columns(const Lines *lines) {
        size_t indent = lines->label_columns > 0 ? lines->label_columns + GAP : 0,
               columns = lines->terminal->columns;

        return lines->terminal->out && columns >= indent + MIN_TEXT_COLUMNS ? columns - indent
                                                                            : SIZE_MAX;
}

bool lines_cut(const Lines *lines, const char *text) {
        size_t columns = lines_text_columns(lines);

        if (lines->max_lines == 0 || columns == SIZE_MAX)
                return false;
        for (size_t i = 0; i < lines->max_lines; i++) {
                text += break_at(text, columns);
                text += strspn(text, " ");
        }
        return text[0] != '\0';
}

/* Cuts the text in the last line: behind a comma, or else at a blank, with an ellipsis. */
static void cut(const Lines *lines, const char *text, Buffer *ret) {
        size_t columns = lines_text_columns(lines), last = 0, n;

        for (size_t i = 1; i < lines->max_lines; i++) {
                last += break_at(text + last, columns);
                last += strspn(text + last, " ");
        }
        for (n = last + printable_fit(span_of(text + last), columns - 2, NULL); n > last; n--)
                if (text[n - 1] == ',' && text[n] == ' ')
                        break;
        n = n > last ? n + 1 : last + break_at(text + last, columns - 1);
        buffer_append(ret, text, n);
        buffer_append_text(ret, ELLIPSIS);
}

void lines_print(const Lines *lines, const char *label, const char *text) {
        size_t indent = lines->label_columns > 0 ? lines->label_columns + GAP : 0,
               width = printable_width(span_of(label)), columns, n_text, n;
        _cleanup_(buffer_done) Buffer shorter = {};
        const char *shortened;
        bool wraps;

        if (lines->json) {
                json_out_array(lines->json);
                json_out_text(lines->json, label);
                json_out_text(lines->json, text);
                json_out_end(lines->json);
                return;
        }
        if (lines_cut(lines, text)) {
                cut(lines, text, &shorter);
                if (buffer_terminate(&shorter, &shortened) == 0)
                        text = shortened;
        }
        columns = lines_text_columns(lines);
        wraps = columns < SIZE_MAX;
        n_text = strlen(text);
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
                n = MIN_OF(n + strspn(text + n, " "), n_text);
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
