/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/view-put.h"

#include <fnmatch.h>

#include "base/cleanup.h"
#include "base/name.h"
#include "view/glob.h"
#include "wire/limits.h"

/* The names of a list in one text, "a, b": what a complaint offers. */
#define LISTED(id, name, ...) ", " name
#define OFFER(list) (&(list)[2])

#define NAME(id, name, ...) name,
static const char *const axis_names[] = { VIEW_AXES(NAME) };
static const char *const section_names[] = { METRIC_SECTIONS(NAME) SECTIONS(NAME) };

#define THRESHOLD_CHARS 15 /* so many digits a double holds exactly */

int view_put_axis(View *view, Span word, char *ret_complaint) {
        unsigned axis = name_find(word, axis_names, _VIEW_AXIS_MAX);

        if (axis == _VIEW_AXIS_MAX)
                return view_complain_unknown(ret_complaint, "grouping", word,
                                             name_nearest(word, axis_names, _VIEW_AXIS_MAX),
                                             OFFER(VIEW_AXES(LISTED)));
        view->axis = (ViewAxis) axis;
        return VIEW_OK;
}

int view_put_section(View *view, Span word, char *ret_complaint) {
        const unsigned n = ELEMENTSOF(section_names);
        unsigned i = name_find(word, section_names, n);

        if (i == n)
                return view_complain_unknown(ret_complaint, "section", word,
                                             name_nearest(word, section_names, n),
                                             OFFER(METRIC_SECTIONS(LISTED) SECTIONS(LISTED)));
        if (i < _METRIC_SECTION_MAX)
                view->sections[i] = true;
        else
                view->tables[i - _METRIC_SECTION_MAX] = true;
        return VIEW_OK;
}

int view_put_metric(View *view, Span word, char *ret_complaint) {
        MetricId metric = metric_find(word);
        DerivedId derived = derived_find(word);

        if (metric < _METRIC_MAX)
                view->metrics[metric] = true;
        else if (derived < _DERIVED_MAX)
                view->derived[derived] = true;
        else
                return view_complain_unknown(ret_complaint, "metric", word,
                                             metric_nearest_name(word),
                                             "the names that \"ctprofctl metric-list\" shows");
        return VIEW_OK;
}

int view_add_cgroup_flatten(View *view, Span glob,
                            char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        char quoted[VIEW_QUOTED_BYTES];
        int r = glob_check_path(glob);

        if (r != GLOB_OK)
                return view_complain(ret_complaint, "The glob \"%s\" for cgroups is malformed: %s.",
                                     view_quote(glob, quoted), glob_fault(r));
        for (unsigned i = 0; i < view->cgroup_flatten.n; i++)
                if (span_equal(view_texts_get(&view->cgroup_flatten, i), glob))
                        return VIEW_OK; /* the earlier one would always match first */
        if (!view_texts_add(&view->cgroup_flatten, glob))
                return view_complain(
                        ret_complaint,
                        "The globs for cgroups are more than %u, or longer than %u bytes "
                        "in all.",
                        VIEW_TEXTS_MAX, VIEW_TEXTS_BYTES);
        return VIEW_OK;
}

int view_put_flatten_name(View *view, Span name, char *ret_complaint) {
        _cleanup_(buffer_done) Buffer bytes;
        int r;

        buffer_init(&bytes, 0);
        r = name_unescape(&bytes, name);
        return r == 0 ? view_add_cgroup_flatten(view, buffer_span(&bytes), ret_complaint) : r;
}

static bool has_wildcard(Span word) {
        for (size_t i = 0; i < word.n; i++)
                if (word.bytes[i] == '*' || word.bytes[i] == '?' || word.bytes[i] == '[')
                        return true;
        return false;
}

static int add_metric_glob(View *view, Span word, char *ret_complaint) {
        char glob[VIEW_WORD_CHARS], quoted[VIEW_QUOTED_BYTES];
        bool matched = false;

        if (word.n >= sizeof(glob) || !has_wildcard(word))
                return view_put_metric(view, word, ret_complaint);

        memcpy(glob, word.bytes, word.n);
        glob[word.n] = '\0';
        for (unsigned id = 0; id < _METRIC_MAX; id++) {
                if (fnmatch(glob, metric_table[id].name, FNM_NOESCAPE) != 0)
                        continue;
                view->metrics[id] = true;
                matched = true;
        }
        for (unsigned id = 0; id < _DERIVED_MAX; id++) {
                if (fnmatch(glob, derived_table[id].name, FNM_NOESCAPE) != 0)
                        continue;
                view->derived[id] = true;
                matched = true;
        }
        if (!matched)
                return view_complain(
                        ret_complaint,
                        "No metric matches \"%s\". \"ctprofctl metric-list\" lists them all.",
                        view_quote(word, quoted));
        return VIEW_OK;
}

static int add_list(View *view, Span list, ViewAdd add, const char *noun, char *ret_complaint) {
        Span whole = { list.bytes ? list.bytes : "", list.n }, rest = whole, entry;
        unsigned n = 0;
        int r;

        while (view_next_entry(&rest, &entry)) {
                char folded[VIEW_WORD_CHARS], quoted[VIEW_QUOTED_BYTES];
                Span before = { whole.bytes, (size_t) (entry.bytes - whole.bytes) }, earlier;

                if (entry.n == 0)
                        return view_complain(
                                ret_complaint,
                                "The list of %ss has an empty entry: separate names by one "
                                "comma each.",
                                noun);
                if (++n > LIMIT_NAMES_PER_LIST)
                        return view_complain(ret_complaint,
                                             "The list of %ss has more than %u entries.", noun,
                                             LIMIT_NAMES_PER_LIST);
                while (n > 1 && view_next_entry(&before, &earlier))
                        if (view_equal_any_case(earlier, entry))
                                return view_complain(ret_complaint,
                                                     "The %s \"%s\" is named twice: name it once.",
                                                     noun, view_quote(entry, quoted));
                r = add(view, view_fold_case(entry, folded), ret_complaint);
                if (r != VIEW_OK)
                        return r;
        }
        return VIEW_OK;
}

void view_drop_sections(View *view) {
        view->has_sections = true;
        memset(view->sections, 0, sizeof(view->sections));
        memset(view->tables, 0, sizeof(view->tables));
}

void view_drop_metrics(View *view) {
        view->has_metrics = true;
        memset(view->metrics, 0, sizeof(view->metrics));
        memset(view->derived, 0, sizeof(view->derived));
}

int view_set_axis(View *view, Span name, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        char folded[VIEW_WORD_CHARS];

        return view_put_axis(view, view_fold_case(view_trim(name), folded), ret_complaint);
}

int view_set_sections(View *view, Span list, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        View changed = *view;
        int r;

        view_drop_sections(&changed);
        r = add_list(&changed, list, view_put_section, "section", ret_complaint);
        if (r != VIEW_OK)
                return r;
        *view = changed;
        return VIEW_OK;
}

int view_set_metrics(View *view, Span list, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        View changed = *view;
        int r;

        view_drop_metrics(&changed);
        r = add_list(&changed, list, add_metric_glob, "metric", ret_complaint);
        if (r != VIEW_OK)
                return r;
        *view = changed;
        return VIEW_OK;
}

int view_put_pair(View *view, Span old_key, Span new_key, char *ret_complaint) {
        ViewTexts pairs = view->pairs;

        if (old_key.n == 0 || new_key.n == 0 || span_equal(old_key, new_key))
                return view_complain(ret_complaint,
                                     "A pair of cgroups is two different paths, OLD=NEW.");
        if (!view_texts_add(&pairs, old_key) || !view_texts_add(&pairs, new_key))
                return view_complain(ret_complaint,
                                     "The pairs of cgroups are more than %u, or longer than %u "
                                     "bytes in all.",
                                     VIEW_TEXTS_MAX / 2, VIEW_TEXTS_BYTES);
        view->pairs = pairs;
        return VIEW_OK;
}

int view_add_pair(View *view, Span text, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        const char *sign = text.n > 0 ? memchr(text.bytes, '=', text.n) : NULL;
        char quoted[VIEW_QUOTED_BYTES];
        size_t n_old;

        if (!sign)
                return view_complain(ret_complaint, "\"%s\" is no pair of cgroups: write OLD=NEW.",
                                     view_quote(text, quoted));
        n_old = (size_t) (sign - text.bytes);
        return view_put_pair(view, (Span){ text.bytes, n_old },
                             (Span){ sign + 1, text.n - n_old - 1 }, ret_complaint);
}

int view_set_sort(View *view, Span text, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        return view_sort_parse(text, &view->sort, ret_complaint);
}

int view_set_filter(View *view, Span glob, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        char quoted[VIEW_QUOTED_BYTES];
        int r = glob_check_text(glob);

        if (r != GLOB_OK)
                return view_complain(ret_complaint, "The filter \"%s\" is malformed: %s.",
                                     view_quote(glob, quoted), glob_fault(r));
        memcpy(view->filter, glob.bytes, glob.n);
        view->n_filter = glob.n;
        return VIEW_OK;
}

int view_set_threshold(View *view, Span text, char ret_complaint[static VIEW_COMPLAINT_BYTES]) {
        Span digits = view_trim(text);
        char quoted[VIEW_QUOTED_BYTES];
        double value = 0, place = 0;
        bool has_digit = false;

        if (digits.n > 0 && digits.bytes[digits.n - 1] == '%')
                digits = view_trim((Span){ digits.bytes, digits.n - 1 });
        for (size_t i = 0; i < digits.n && digits.n <= THRESHOLD_CHARS; i++) {
                char byte = digits.bytes[i];

                if (byte == '.' && !(place > 0)) {
                        place = 1;
                        continue;
                }
                has_digit = byte >= '0' && byte <= '9';
                if (!has_digit)
                        break;
                value = value * 10 + (byte - '0');
                place *= 10;
        }
        if (!has_digit)
                return view_complain(ret_complaint,
                                     "The threshold \"%s\" is no percentage: it is a number of at "
                                     "most %d characters, as 5 or 0.5.",
                                     view_quote(text, quoted), THRESHOLD_CHARS);
        view->has_threshold = true;
        view->threshold = place > 0 ? value / place : value;
        return VIEW_OK;
}
