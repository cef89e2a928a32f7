/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/overview/set-overview.h"

#include <string.h>

#include "base/buffer.h"
#include "render/cell.h"
#include "render/when.h"

#define MAX_LISTED 4 /* hosts, kernels */

static unsigned long long count_of(json_object *reply, const char *key) {
        return (unsigned long long) json_object_get_uint64(cell_member(reply, key));
}

/* one set */

static bool is_first_of_its_kind(json_object *heads, size_t index, const char *key) {
        json_object *value = cell_member(cell_element(heads, index), key);

        for (size_t i = 0; i < index; i++)
                if (json_object_equal(cell_member(cell_element(heads, i), key), value))
                        return false;
        return value;
}

static size_t count_distinct(json_object *heads, const char *key) {
        size_t n = 0;

        for (size_t i = 0; i < cell_length(heads); i++)
                n += is_first_of_its_kind(heads, i, key);
        return n;
}

/* ", VALUE", or ", 2 kernels (VALUE, VALUE)" if the snapshots differ in it. */
static void append_distinct(Buffer *line, json_object *heads, const char *key, const char *kinds) {
        size_t n = count_distinct(heads, key), n_listed = 0;

        if (n > 1)
                buffer_append_format(line, ", %zu %s (", n, kinds);
        for (size_t i = 0; i < cell_length(heads) && n_listed < MAX_LISTED; i++) {
                if (!is_first_of_its_kind(heads, i, key))
                        continue;
                if (n == 1 || n_listed > 0)
                        buffer_append_text(line, ", ");
                cell_append_text(line, cell_member(cell_element(heads, i), key));
                n_listed++;
        }
        if (n > MAX_LISTED)
                buffer_append_text(line, ", ...");
        if (n > 1)
                buffer_append_byte(line, ')');
}

static void append_times(Buffer *line, json_object *first, json_object *last) {
        json_object *from = cell_member(first, "startRealtimeNs");
        json_object *to = cell_member(last, "startRealtimeNs");
        char text[WHEN_CHARS], span[WHEN_CHARS];
        uint64_t from_ns = json_object_get_uint64(from), to_ns = json_object_get_uint64(to);

        if (!from || !to)
                return;
        when_format(from_ns, text);
        buffer_append_format(line, ", %s", text);
        if (first != last) {
                when_format_span(to_ns > from_ns ? to_ns - from_ns : 0, span);
                buffer_append_format(line, " over %s", span);
        }
}

int set_line_print(const Lines *lines, const char *label, json_object *heads) {
        _cleanup_(buffer_done) Buffer line = {};
        size_t n = cell_length(heads), n_boots = count_distinct(heads, "bootId");
        json_object *first = cell_element(heads, 0);
        json_object *last = n > 0 ? cell_element(heads, n - 1) : NULL;

        buffer_append_format(&line, "%zu capture%s, ", n, n == 1 ? "" : "s");
        cell_append_text(&line, cell_member(first, "name"));
        if (n > 1) {
                buffer_append_text(&line, " to ");
                cell_append_text(&line, cell_member(last, "name"));
        }
        append_times(&line, first, last);
        append_distinct(&line, heads, "hostName", "hosts");
        append_distinct(&line, heads, "kernelRelease", "kernels");
        if (n_boots > 1)
                buffer_append_format(&line, ", %zu boots", n_boots);
        return lines_print_buffer(lines, label, &line);
}

/* the tests */

bool set_reply_is_untested(json_object *reply) {
        double tested = json_object_get_double(cell_member(reply, "tested"));
        double least_p = json_object_get_double(cell_member(reply, "leastP"));
        double alpha = json_object_get_double(cell_member(reply, "alpha"));

        return json_object_get_uint64(cell_member(reply, "significant")) == 0 &&
               (!(tested > 0) || tested * least_p >= alpha);
}

/* How many captures it would take; only said if nothing was found. */
static void print_needed(const Lines *lines, json_object *reply) {
        unsigned long long n_needed = count_of(reply, "samplesNeeded");

        if (n_needed > 0 && count_of(reply, "significant") == 0)
                lines_format(lines, "",
                             "%s: for one row alone to be significant it takes %llu a side, for "
                             "rates %llu captures; or fewer rows (--filter, --metrics)",
                             set_reply_is_untested(reply)
                                     ? "with so few samples no test could succeed"
                                     : "some rows have too few samples",
                             n_needed, n_needed + 1);
}

void set_tests_print(const Lines *lines, json_object *reply) {
        unsigned long long n_tested = count_of(reply, "tested");
        unsigned long long n_significant = count_of(reply, "significant");

        if (n_tested == 0)
                lines_format(lines, "tested",
                             "nothing: it takes two samples a side that are not all equal, and for "
                             "rates three captures of one boot");
        else
                lines_format(lines, "tested",
                             "%llu row%s, adjusted for as many: %llu %s an adjusted p below %g",
                             n_tested, n_tested == 1 ? "" : "s", n_significant,
                             n_significant == 1 ? "has" : "have",
                             json_object_get_double(cell_member(reply, "alpha")));
        print_needed(lines, reply);
}
