/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "remote/host-set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/number.h"
#include "render/printable.h"

#define MAX_BRACKETS 4u
#define MAX_DIGITS 9u
#define SHOWN_COLUMNS 80u
#define SHOWN_BYTES (4u * SHOWN_COLUMNS) /* the longest characters that take a column */

static _printf_(3, 4) int refuse(char *ret_complaint, Span what, const char *format, ...) {
        _cleanup_(buffer_done) Buffer printable = {};
        const char *shown = "?";
        va_list arguments;
        size_t n_shown;
        int n;

        if (printable_append(&printable, what) < 0 || buffer_terminate(&printable, &shown) < 0)
                shown = "?";
        n_shown = printable_cut(span_of(shown), SHOWN_COLUMNS, SHOWN_BYTES);
        n = snprintf(ret_complaint, HOST_SET_COMPLAINT_BYTES, "\"%.*s%s\" ", (int) n_shown, shown,
                     shown[n_shown] != '\0' ? "\u2026" : "");
        va_start(arguments, format);
        (void) vsnprintf(ret_complaint + n, HOST_SET_COMPLAINT_BYTES - (size_t) n, format,
                         arguments);
        va_end(arguments);
        return HOST_SET_E_INVALID;
}

void host_set_done(HostSet *set) {
        for (size_t i = 0; i < set->n; i++)
                free(set->names[i]);
        free(set->names);
        *set = (HostSet){};
}

/* one name */

static bool is_digit(char c) {
        return c >= '0' && c <= '9';
}

/* True if @text has only letters, digits, ".", "-", "_" and @others. */
static bool is_of(Span text, const char *others) {
        for (size_t i = 0; i < text.n; i++) {
                char c = text.bytes[i];

                if (!is_digit(c) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
                    (c == '\0' || (!strchr(".-_", c) && !strchr(others, c))))
                        return false;
        }
        return true;
}

static Span cut(Span text, size_t from, size_t to) {
        return (Span){ text.bytes + from, to - from };
}

/* An empty text may have no bytes at all, which memchr() must not get. */
static const char *find(Span text, char c) {
        return text.n > 0 ? memchr(text.bytes, c, text.n) : NULL;
}

/* The parts of [USER@]HOST[:PORT] or [USER@]"["ADDRESS"]"[:PORT]. */
typedef struct Parts {
        Span user, host, port;
        bool has_user, has_port, in_brackets;
} Parts;

static Parts split(Span name) {
        const char *at = name.n > 0 ? memrchr(name.bytes, '@', name.n) : NULL, *colon;
        Parts parts = { .has_user = at };
        Span rest = name;
        size_t end;

        if (at) {
                parts.user = cut(name, 0, (size_t) (at - name.bytes));
                rest = cut(name, parts.user.n + 1, name.n);
        }
        colon = rest.n > 0 && rest.bytes[0] == '[' ? find(rest, ']') : NULL;
        parts.in_brackets = colon;
        if (parts.in_brackets) {
                end = (size_t) (colon - rest.bytes);
                parts.host = cut(rest, 1, end);
                rest = cut(rest, end + 1, rest.n);
                parts.has_port = rest.n > 0;
                /* An address that is followed by anything but a port is none. */
                parts.port = rest.n > 0 && rest.bytes[0] == ':' ? cut(rest, 1, rest.n) : (Span){};
                return parts;
        }
        colon = find(rest, ':');
        end = colon ? (size_t) (colon - rest.bytes) : rest.n;
        parts.host = cut(rest, 0, end);
        parts.has_port = colon;
        parts.port = colon ? cut(rest, end + 1, rest.n) : (Span){};
        return parts;
}

void host_address_parse(const char *name, HostAddress *ret) {
        Parts parts = split(span_of(name));
        int n = snprintf(ret->text, sizeof(ret->text), "%.*s%s%.*s", (int) parts.user.n,
                         parts.user.n > 0 ? parts.user.bytes : "", parts.has_user ? "@" : "",
                         (int) parts.host.n, parts.host.bytes);

        ret->destination = (Span){ ret->text, (size_t) n };
        ret->port = parts.port;
}

static int add_name(HostSet *set, Span name, char *ret_complaint) {
        Parts parts = split(name);
        uint32_t port = 0;
        char *text;
        int r;

        if (name.n > HOST_NAME_MAX_CHARS)
                return refuse(ret_complaint, name, "is no host: it is longer than %u characters.",
                              HOST_NAME_MAX_CHARS);
        if ((name.n > 0 && name.bytes[0] == '-') ||
            (parts.host.n > 0 && parts.host.bytes[0] == '-'))
                return refuse(ret_complaint, name,
                              "is no host: it begins with a dash, as an "
                              "option does.");
        if (!parts.in_brackets &&
            memchr(parts.port.bytes ? parts.port.bytes : "", ':', parts.port.n))
                return refuse(ret_complaint, name,
                              "has several colons: an IPv6 address stands in "
                              "brackets, as in \"[::1]:22\".");
        if (parts.host.n == 0 || !is_of(parts.host, parts.in_brackets ? ":%" : "") ||
            (parts.has_user && (parts.user.n == 0 || !is_of(parts.user, "+\\@"))))
                return refuse(ret_complaint, name,
                              "is no host: it is [USER@]HOST[:PORT], of "
                              "letters, digits, dots, dashes and \"_\".");
        if (parts.has_port && (!number_parse_u32(parts.port, &port) || port == 0 || port > 65535))
                return refuse(ret_complaint, name,
                              "has no port behind its colon: it is a number "
                              "up to 65535.");
        for (size_t i = 0; i < set->n; i++)
                if (span_is(name, set->names[i]))
                        return 0;
        if (set->n == HOST_SET_MAX)
                return refuse(ret_complaint, name,
                              "is one host more than %u, which are the most "
                              "that are asked at a time.",
                              HOST_SET_MAX);
        r = ARRAY_RESERVE(set->names, set->n_allocated, set->n + 1);
        text = r == 0 ? strndup(name.bytes, name.n) : NULL;
        if (!text)
                return -ENOMEM;
        set->names[set->n++] = text;
        return 0;
}

/* lists and ranges */

static bool has_leading_zero(Span digits) {
        return digits.n > 1 && digits.bytes[0] == '0';
}

static bool parse_digits(Span text, uint32_t *ret) {
        for (size_t i = 0; i < text.n; i++)
                if (!is_digit(text.bytes[i]))
                        return false;
        return text.n > 0 && text.n <= MAX_DIGITS && number_parse_u32(text, ret);
}

/* A range is "01-40", or "50" alone. */
typedef struct Range {
        Span first, last;
        uint32_t from, n;
} Range;

/* Takes a range and its comma from the front of @list. NULL, or what is wrong with it. */
static const char *take_range(Span *list, Range *ret) {
        const char *comma = find(*list, ','), *dash;
        size_t n = comma ? (size_t) (comma - list->bytes) : list->n, n_first;
        Span text = cut(*list, 0, n);
        uint32_t to;

        dash = find(text, '-');
        n_first = dash ? (size_t) (dash - text.bytes) : text.n;
        ret->first = cut(text, 0, n_first);
        ret->last = dash ? cut(text, n_first + 1, text.n) : ret->first;
        *list = comma ? cut(*list, n + 1, list->n) : (Span){};
        if (!parse_digits(ret->first, &ret->from) || !parse_digits(ret->last, &to))
                return "has brackets with something else than numbers and ranges, as in "
                       "\"web[01-40,50]\".";
        if (ret->from > to)
                return "has a range whose end is before its begin.";
        if ((has_leading_zero(ret->first) || has_leading_zero(ret->last)) &&
            ret->first.n != ret->last.n)
                return "has a range whose ends do not have the same number of digits.";
        ret->n = to - ret->from + 1;
        return NULL;
}

/* Brackets of an item, and what stands in front of them. */
typedef struct Bracket {
        Span front, list;
        uint64_t n; /* numbers in the list */
} Bracket;

/* Finds the first bracket that holds numbers, not an address; NULL when there is none. */
static const char *find_bracket(Span text) {
        const char *open = find(text, '[');

        while (open) {
                size_t n = text.n - (size_t) (open - text.bytes);
                const char *close = memchr(open, ']', n);

                if (!close || !memchr(open, ':', (size_t) (close - open)))
                        return open;
                n -= (size_t) (close - open);
                open = memchr(close, '[', n);
        }
        return NULL;
}

/* One item of a list, taken apart. */
typedef struct Item {
        Bracket brackets[MAX_BRACKETS];
        size_t n_brackets;
        Span rear;
        uint64_t n; /* names that it stands for */
} Item;

static const char *parse_item(Span text, Item *ret) {
        const char *open, *fault;
        Range range;
        Span list;

        *ret = (Item){ .n = 1 };
        while ((open = find_bracket(text))) {
                size_t first = (size_t) (open - text.bytes);
                const char *close = memchr(open, ']', text.n - first);
                Bracket *bracket = &ret->brackets[ret->n_brackets];

                if (!close)
                        return "has a bracket that does not end.";
                if (ret->n_brackets == MAX_BRACKETS)
                        return "has more than four brackets.";
                *bracket = (Bracket){ .front = cut(text, 0, first),
                                      .list = cut(text, first + 1, (size_t) (close - text.bytes)) };
                list = bracket->list;
                do {
                        fault = take_range(&list, &range);
                        if (fault)
                                return fault;
                        bracket->n += range.n;
                } while (list.bytes);
                /* Both are small: each stops at the bound. */
                ret->n *= bracket->n;
                if (ret->n > HOST_SET_MAX)
                        return "stands for more hosts than are asked at a time.";
                ret->n_brackets++;
                text = cut(text, (size_t) (close - text.bytes) + 1, text.n);
        }
        ret->rear = text;
        return NULL;
}

/* Appends the @index-th name of the item, whose last number varies first. */
static int append_name(const Item *item, uint64_t index, Buffer *name) {
        uint64_t n_rest = item->n;

        for (size_t i = 0; i < item->n_brackets; i++) {
                const Bracket *bracket = &item->brackets[i];
                Span list = bracket->list;
                uint64_t number;
                Range range = {};

                n_rest /= bracket->n;
                number = index / n_rest;
                index %= n_rest;
                if (bracket->front.n > 0)
                        buffer_append(name, bracket->front.bytes, bracket->front.n);
                /* The ranges were counted: none of them is wrong, and one has the number. */
                while (!take_range(&list, &range) && number >= range.n)
                        number -= range.n;
                buffer_append_format(name, "%0*u",
                                     has_leading_zero(range.first) ? (int) range.first.n : 1,
                                     range.from + (uint32_t) number);
        }
        if (item->rear.n > 0)
                buffer_append(name, item->rear.bytes, item->rear.n);
        return buffer_failure(name);
}

/* The item at the front of @text ends at a comma outside of brackets. */
static size_t item_length(Span text) {
        unsigned depth = 0;
        size_t n = 0;

        for (; n < text.n && (depth > 0 || text.bytes[n] != ','); n++) {
                depth += text.bytes[n] == '[';
                depth -= text.bytes[n] == ']' && depth > 0;
        }
        return n;
}

bool host_set_is_list(Span text) {
        return item_length(text) < text.n || find_bracket(text);
}

int host_set_add(HostSet *set, Span text, char ret_complaint[static HOST_SET_COMPLAINT_BYTES]) {
        _cleanup_(buffer_done) Buffer name = {};
        const char *fault;
        Item item;
        int r = 0;

        for (;;) {
                size_t n = item_length(text);

                if (n == 0)
                        return refuse(ret_complaint, text, "has an empty name of a host.");
                fault = parse_item(cut(text, 0, n), &item);
                if (fault)
                        return refuse(ret_complaint, cut(text, 0, n), "%s", fault);
                for (uint64_t i = 0; r == 0 && i < item.n; i++) {
                        buffer_clear(&name);
                        r = append_name(&item, i, &name);
                        if (r == 0)
                                r = add_name(set, buffer_span(&name), ret_complaint);
                }
                if (r != 0 || n == text.n)
                        return r;
                text = cut(text, n + 1, text.n);
        }
}

/* Reads all of the file, but no more than a list can have. */
static int read_list(const char *path, Buffer *list) {
        bool is_stdin = strcmp(path, "-") == 0;
        _cleanup_(fd_closep) int opened =
                is_stdin ? -EBADF : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        int fd = is_stdin ? STDIN_FILENO : opened, r;
        ssize_t n;
        char *end;

        if (fd < 0)
                return -errno;
        do {
                r = buffer_reserve(list, 65536, &end);
                if (r < 0)
                        return r;
                n = read(fd, end, 65536);
                if (n > 0)
                        list->n += (size_t) n;
                if (list->n > HOST_LIST_MAX_BYTES)
                        return -EFBIG;
        } while (n > 0 || (n < 0 && errno == EINTR));
        return n < 0 ? -errno : 0;
}

int host_set_add_file(HostSet *set, const char *path,
                      char ret_complaint[static HOST_SET_COMPLAINT_BYTES]) {
        _cleanup_(buffer_done) Buffer list = {};
        Span rest;
        int r;

        r = read_list(path, &list);
        if (r < 0) {
                (void) refuse(ret_complaint, span_of(path),
                              "cannot be read as a list of hosts: "
                              "%s.",
                              strerror(-r));
                return HOST_SET_E_UNREADABLE;
        }
        for (rest = buffer_span(&list); rest.n > 0;) {
                const char *newline = memchr(rest.bytes, '\n', rest.n);
                size_t n = newline ? (size_t) (newline - rest.bytes) : rest.n;
                Span line = cut(rest, 0, n);
                const char *comment = n > 0 ? memchr(line.bytes, '#', n) : NULL;

                if (comment)
                        line.n = (size_t) (comment - line.bytes);
                while (line.n > 0 && strchr(" \t\r", line.bytes[line.n - 1]))
                        line.n--;
                while (line.n > 0 && strchr(" \t", line.bytes[0]))
                        line = cut(line, 1, line.n);
                r = line.n > 0 ? host_set_add(set, line, ret_complaint) : 0;
                if (r != 0)
                        return r;
                rest = cut(rest, newline ? n + 1 : n, rest.n);
        }
        return 0;
}

/* folding */

/* A name while it is folded: the number that is varied, and all around it. */
typedef struct Folded {
        Span name, front, digits, rear;
        uint32_t number;
        size_t place;   /* among the names */
        bool is_varied; /* it has such a number, and is not folded yet */
} Folded;

/* Finds the number in the name of the host that is the @back-th from its end. */
static bool find_number(Folded *folded, unsigned back) {
        Parts parts = split(folded->name);
        size_t first = (size_t) (parts.host.bytes - folded->name.bytes), i = first + parts.host.n;

        while (!parts.in_brackets && i > first) {
                size_t end = i;

                while (i > first && is_digit(folded->name.bytes[i - 1]))
                        i--;
                if (i < end && back-- == 0) {
                        folded->front = cut(folded->name, 0, i);
                        folded->digits = cut(folded->name, i, end);
                        folded->rear = cut(folded->name, end, folded->name.n);
                        return parse_digits(folded->digits, &folded->number);
                }
                while (i > first && !is_digit(folded->name.bytes[i - 1]))
                        i--;
        }
        return false;
}

static int compare_around(const Folded *a, const Folded *b) {
        int order = (int) b->is_varied - (int) a->is_varied;

        if (order == 0 && a->is_varied)
                order = span_compare(a->front, b->front);
        if (order == 0 && a->is_varied)
                order = span_compare(a->rear, b->rear);
        return order;
}

static int by_number(const void *a_, const void *b_) {
        const Folded *a = a_, *b = b_;
        int order = compare_around(a, b);

        if (order == 0 && a->is_varied)
                order = (a->number > b->number) - (a->number < b->number);
        if (order == 0 && a->is_varied)
                order = (a->digits.n > b->digits.n) - (a->digits.n < b->digits.n);
        return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

/* A text for several hosts, or for one. */
typedef struct Fold {
        char *text; /* owned */
        size_t place;
} Fold;

static int by_place(const void *a_, const void *b_) {
        const Fold *a = a_, *b = b_;

        return (a->place > b->place) - (a->place < b->place);
}

/* Makes one text of the @n names, which differ in one number or are one. */
static int fold_names(Folded *names, size_t n, Fold *ret) {
        _cleanup_(buffer_done) Buffer text = {};

        *ret = (Fold){ .place = SIZE_MAX };
        for (size_t i = 0; i < n; i++) {
                ret->place = MIN_OF(ret->place, names[i].place);
                names[i].is_varied = false;
        }
        if (n == 1) {
                buffer_append(&text, names->name.bytes, names->name.n);
                return buffer_take_text(&text, &ret->text);
        }
        buffer_append(&text, names->front.bytes, names->front.n);
        for (size_t i = 0, end; i < n; i = end) {
                bool is_padded = has_leading_zero(names[i].digits);

                /* A range goes on with the next number if that is written in the same way. */
                for (end = i + 1; end < n && names[end].number == names[end - 1].number + 1 &&
                                  (is_padded ? names[end].digits.n == names[i].digits.n
                                             : !has_leading_zero(names[end].digits));)
                        end++;
                buffer_append_byte(&text, i == 0 ? '[' : ',');
                buffer_append(&text, names[i].digits.bytes, names[i].digits.n);
                if (end == i + 1)
                        continue;
                buffer_append_byte(&text, '-');
                buffer_append(&text, names[end - 1].digits.bytes, names[end - 1].digits.n);
        }
        buffer_append_byte(&text, ']');
        if (names->rear.n > 0)
                buffer_append(&text, names->rear.bytes, names->rear.n);
        return buffer_take_text(&text, &ret->text);
}

/* Names are put together by the last of their numbers in which several of them differ. */
static int fold(Folded *names, size_t n_names, Fold *folds, size_t *n_folds) {
        size_t n_left = n_names, end;
        int r;

        for (unsigned back = 0; n_left > 0 && back < MAX_BRACKETS; back++) {
                Folded *kept = names;

                for (size_t i = 0; i < n_left; i++)
                        names[i].is_varied = find_number(&names[i], back);
                qsort(names, n_left, sizeof(*names), by_number);
                for (size_t i = 0; i < n_left; i = end) {
                        for (end = i + 1; end < n_left && names[i].is_varied &&
                                          compare_around(&names[i], &names[end]) == 0;)
                                end++;
                        if (end - i == 1) {
                                *kept++ = names[i];
                                continue;
                        }
                        r = fold_names(&names[i], end - i, &folds[(*n_folds)++]);
                        if (r != 0)
                                return r;
                }
                n_left = (size_t) (kept - names);
        }
        for (size_t i = 0; i < n_left; i++) {
                r = fold_names(&names[i], 1, &folds[(*n_folds)++]);
                if (r != 0)
                        return r;
        }
        qsort(folds, *n_folds, sizeof(*folds), by_place);
        return 0;
}

int host_set_fold(const char *const names[], size_t n_names, Buffer *text) {
        _cleanup_(freep) Folded *folded = calloc(n_names + 1, sizeof(*folded));
        _cleanup_(freep) Fold *folds = calloc(n_names + 1, sizeof(*folds));
        size_t n_folds = 0;
        int r = folded && folds ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < n_names; i++)
                folded[i] = (Folded){ .name = span_of(names[i]), .place = i };
        if (r == 0)
                r = fold(folded, n_names, folds, &n_folds);
        for (size_t i = 0; folds && i < n_folds; i++) {
                if (r == 0)
                        r = buffer_append_format(text, "%s%s", i > 0 ? "," : "", folds[i].text);
                free(folds[i].text);
        }
        return r;
}
