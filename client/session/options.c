/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/name.h"
#include "base/number.h"
#include "render/when.h"
#include "session/complain.h"
#include "view/view-put.h"

#define OPTION_ROW(id, name_, letter_, argument_, argument_name_, help_) \
        [OPTION_##id] = {                                                \
                .name = (name_),                                         \
                .letter = (letter_),                                     \
                .argument = OPTION_ARGUMENT_##argument_,                 \
                .argument_name = (argument_name_),                       \
                .help = (help_),                                         \
        },
const OptionRow option_table[_OPTION_MAX] = { OPTIONS_COMMON(OPTION_ROW)
                                                      OPTIONS_OF_VERBS(OPTION_ROW) };

/* Above every character, so that long options and letters share one switch. */
#define LONG_BASE 256

#define OPTION_LONG(id, name_, letter_, argument_, argument_name_, help_) \
        { (name_), GETOPT_##argument_, NULL, LONG_BASE + OPTION_##id },
enum {
        GETOPT_NONE = no_argument,
        GETOPT_REQUIRED = required_argument,
        GETOPT_OPTIONAL = optional_argument,
};
static const struct option long_options[] = {
        OPTIONS_COMMON(OPTION_LONG) OPTIONS_OF_VERBS(OPTION_LONG){},
};

#define OPTION_NAME(id, name, ...) "--" name,
static const char *const option_names[] = { OPTIONS_COMMON(OPTION_NAME)
                                                    OPTIONS_OF_VERBS(OPTION_NAME) };

_Static_assert(_OPTION_MAX <= 64, "a bit for each option");

static const char *const format_names[] = {
        [FORMAT_CTPROF] = "ctprof", [FORMAT_KTSTR] = "ktstr", [FORMAT_NDJSON] = "ndjson",
        [FORMAT_TABLE] = "table",   [FORMAT_CSV] = "csv",     [FORMAT_HTML] = "html",
};

const char *format_name(Format format) {
        return format_names[format];
}

static _printf_(2, 3) int refuse(char *ret_complaint, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(ret_complaint, OPTIONS_COMPLAINT_BYTES, format, arguments);
        va_end(arguments);
        return OPTIONS_E_INVALID;
}

static int set_json(Options *options, const char *value, char *ret_complaint) {
        static const struct {
                const char *name;
                JsonWish wish;
        } wishes[] = { { "short", JSON_WISH_SHORT },
                       { "pretty", JSON_WISH_PRETTY },
                       { "off", JSON_WISH_OFF } };
        char quoted[QUOTE_BYTES];

        if (!value) {
                options->json = JSON_WISH_AUTO;
                return 0;
        }
        for (size_t i = 0; i < ELEMENTSOF(wishes); i++)
                if (strcmp(value, wishes[i].name) == 0) {
                        options->json = wishes[i].wish;
                        return 0;
                }
        return refuse(ret_complaint, "--json=%s is not a style: it is short, pretty or off.",
                      quote(value, quoted));
}

/* Seconds with up to nine decimals. */
static bool parse_seconds(const char *text, uint64_t *ret_ns) {
        const char *point = strchr(text, '.');
        Span whole = { text, point ? (size_t) (point - text) : strlen(text) };
        uint64_t seconds = 0, fraction = 0;
        size_t n_decimals = 0;

        if (!number_parse_u64(whole, &seconds))
                return false;
        if (point) {
                n_decimals = strlen(point + 1);
                if (n_decimals > 9 || !number_parse_u64(span_of(point + 1), &fraction))
                        return false;
        }
        for (; n_decimals < 9; n_decimals++)
                fraction *= 10;
        *ret_ns =
                number_add_saturating(number_multiply_saturating(seconds, NSEC_PER_SEC), fraction);
        return true;
}

static int set_timeout(Options *options, const char *value, char *ret_complaint) {
        char quoted[QUOTE_BYTES];

        if (!parse_seconds(value, &options->timeout_ns) || options->timeout_ns == 0)
                return refuse(ret_complaint, "--timeout %s is not a number of seconds above 0.",
                              quote(value, quoted));
        return 0;
}

/* As many decimals as seconds have are enough of a probability, too. */
static int set_alpha(Options *options, const char *value, char *ret_complaint) {
        char quoted[QUOTE_BYTES];
        uint64_t billionths;

        if (!parse_seconds(value, &billionths) || billionths == 0 || billionths >= NSEC_PER_SEC)
                return refuse(ret_complaint,
                              "--alpha %s is not a probability between 0 and 1, as 0.05.",
                              quote(value, quoted));
        options->alpha = (double) billionths / (double) NSEC_PER_SEC;
        return 0;
}

static int set_list(const char **list, const char *option, const char *value, char *ret_complaint) {
        if (value[0] == '\0')
                return refuse(ret_complaint, "%s is given an empty list.", option);
        *list = value;
        return 0;
}

static int set_tag(Options *options, const char *value, char *ret_complaint) {
        const char *complaint = snapshot_name_complaint(span_of(value));
        char quoted[QUOTE_BYTES];

        options->tag = value;
        if (complaint)
                return refuse(ret_complaint, "The tag %s %s.", quote(value, quoted), complaint);
        return 0;
}

static int set_time(const char *option, const char *value, uint64_t now_realtime_ns,
                    uint64_t *ret_realtime_ns, char *ret_complaint) {
        char quoted[QUOTE_BYTES];

        if (!when_parse(span_of(value), now_realtime_ns, ret_realtime_ns))
                return refuse(ret_complaint,
                              "%s %s is not a time: write YYYY-MM-DD[ HH:MM[:SS]], today, "
                              "yesterday, -5min, -2h or -3d.",
                              option, quote(value, quoted));
        return 0;
}

static int set_format(Options *options, const char *value, char *ret_complaint) {
        char quoted[QUOTE_BYTES];

        for (unsigned i = 0; i < _FORMAT_MAX; i++)
                if (strcmp(value, format_names[i]) == 0) {
                        options->format = (Format) i;
                        return 0;
                }
        return refuse(ret_complaint,
                      "--format %s is not a format: views are table, csv, ndjson or html, exports "
                      "are ctprof, ktstr or ndjson.",
                      quote(value, quoted));
}

static int set_limit(Options *options, const char *value, char *ret_complaint) {
        char quoted[QUOTE_BYTES];

        if (!number_parse_u32(span_of(value), &options->view.limit))
                return refuse(ret_complaint,
                              "--limit takes a number of groups up to 4294967295, 0 for all: "
                              "%s is none.",
                              quote(value, quoted));
        return 0;
}

static int set_path(const char **path, const char *option, const char *value, char *ret_complaint) {
        if (value[0] == '\0')
                return refuse(ret_complaint, "%s is given an empty path.", option);
        *path = value;
        return 0;
}

_Static_assert(OPTIONS_COMPLAINT_BYTES >= VIEW_COMPLAINT_BYTES, "complaints of views fit");

static int set_view(int r) {
        return r == VIEW_E_INVALID ? OPTIONS_E_INVALID : r;
}

static int set_option(Options *options, OptionId id, const char *value, uint64_t now_realtime_ns,
                      char *ret_complaint) {
        View *view = &options->view;

        switch (id) {
        case OPTION_SOCKET:
                return set_path(&options->socket_path, "--socket", value, ret_complaint);
        case OPTION_SPOOL:
                return set_path(&options->spool_path, "--spool", value, ret_complaint);
        case OPTION_OUTPUT:
                return set_path(&options->output_path, "--output", value, ret_complaint);
        case OPTION_JSON:
                return set_json(options, value, ret_complaint);
        case OPTION_TIMEOUT:
                return set_timeout(options, value, ret_complaint);
        case OPTION_TAG:
                return set_tag(options, value, ret_complaint);
        case OPTION_SINCE:
                return set_time("--since", value, now_realtime_ns, &options->since_realtime_ns,
                                ret_complaint);
        case OPTION_UNTIL:
                return set_time("--until", value, now_realtime_ns, &options->until_realtime_ns,
                                ret_complaint);
        case OPTION_FORMAT:
                return set_format(options, value, ret_complaint);
        case OPTION_GROUP_BY:
                return set_view(view_set_axis(view, span_of(value), ret_complaint));
        case OPTION_SECTIONS:
                return set_view(view_set_sections(view, span_of(value), ret_complaint));
        case OPTION_METRICS:
                return set_view(view_set_metrics(view, span_of(value), ret_complaint));
        case OPTION_CGROUP_FLATTEN:
                return set_view(view_add_cgroup_flatten(view, span_of(value), ret_complaint));
        case OPTION_PAIR:
                return set_view(view_add_pair(view, span_of(value), ret_complaint));
        case OPTION_FILTER:
                return set_view(view_set_filter(view, span_of(value), ret_complaint));
        case OPTION_SORT_BY:
                return set_view(view_set_sort(view, span_of(value), ret_complaint));
        case OPTION_THRESHOLD:
                return set_view(view_set_threshold(view, span_of(value), ret_complaint));
        case OPTION_ALPHA:
                return set_alpha(options, value, ret_complaint);
        case OPTION_BEFORE:
                return set_list(&options->before, "--before", value, ret_complaint);
        case OPTION_AFTER:
                return set_list(&options->after, "--after", value, ret_complaint);
        case OPTION_LIMIT:
                return set_limit(options, value, ret_complaint);
        case OPTION_COLUMNS:
                options->columns = value;
                return 0;
        case OPTION_NO_THREAD_NORMALIZE:
                view->thread_normalize = false;
                return 0;
        case OPTION_NO_CG_NORMALIZE:
                view->cgroup_normalize = false;
                return 0;
        case OPTION_NO_PAIRING:
                view->pairing = false;
                return 0;
        case OPTION_WINDOW:
                view->window = true;
                return 0;
        case OPTION_SELF:
                view->self = true;
                return 0;
        case OPTION_LOCAL:
        case OPTION_NO_PAGER:
        case OPTION_NO_LEGEND:
        case OPTION_QUIET:
        case OPTION_HELP:
        case OPTION_VERSION:
        case OPTION_REPLACE:
        case OPTION_SMAPS:
        case OPTION_NO_SMAPS:
        case OPTION_ALL:
        case OPTION_ALL_ROWS:
        case OPTION_RAW:
        case OPTION_WRAP:
        case _OPTION_MAX:
                return 0; /* that they were given is all there is to know */
        }
        return 0;
}

/* The option that @name abbreviates, else the one it is most like; NULL when it is like none. */
static const char *nearest_option(Span name) {
        for (size_t i = 0; name.n > 3 && i < ELEMENTSOF(option_names); i++)
                if (strncmp(name.bytes, option_names[i], name.n) == 0)
                        return option_names[i];
        return name_nearest(name, option_names, ELEMENTSOF(option_names));
}

/* What getopt_long() answered '?' to: @word as it was typed, or a letter in the middle of one. */
static int refuse_unknown(const char *word, int letter, char *ret_complaint) {
        const char short_option[] = { '-', (char) letter };
        Span name = { word, strcspn(word, "=") };
        char quoted[QUOTE_BYTES];
        const char *nearest;
        bool exists = false;

        if (letter > 0 && letter < LONG_BASE)
                return refuse(ret_complaint,
                              "Unknown option %s: \"ctprofctl --help\" lists them all.",
                              quote_span((Span){ short_option, sizeof(short_option) }, quoted));
        for (size_t i = 0; i < ELEMENTSOF(option_names); i++)
                exists = exists || span_is(name, option_names[i]);
        if (exists)
                return refuse(ret_complaint, "%s takes no value.", quote_span(name, quoted));
        nearest = nearest_option(name);
        if (nearest)
                return refuse(ret_complaint, "Unknown option %s, did you mean \"%s\"?",
                              quote_span(name, quoted), nearest);
        return refuse(ret_complaint, "Unknown option %s: \"ctprofctl --help\" lists them all.",
                      quote_span(name, quoted));
}

/* getopt_long() only answers with letters it was given. */
static OptionId option_of_letter(int letter) {
        unsigned id = 0;

        while (id < _OPTION_MAX && option_table[id].letter != letter)
                id++;
        return (OptionId) id;
}

/*
 * An abbreviation, which getopt_long() takes, is refused: it would change its meaning when an
 * option is added.
 */
static bool is_in_full(const char *word, OptionId id) {
        return word[0] == '-' && word[1] == '-' &&
               span_is((Span){ word + 2, strcspn(word + 2, "=") }, option_table[id].name);
}

int options_parse(int argc, char *argv[], uint64_t now_realtime_ns, Options *ret,
                  char ret_complaint[static OPTIONS_COMPLAINT_BYTES]) {
        Options options = { .json = JSON_WISH_OFF, .format = _FORMAT_MAX };
        OptionId id = _OPTION_MAX;
        const char *word;
        int code, r;

        view_init(&options.view);
        optind = 0; /* start over, also in a second run in one process */
        opterr = 0;
        while ((code = getopt_long(argc, argv, ":jqh", long_options, NULL)) >= 0) {
                word = argv[optind - 1];
                if (code == ':' && is_in_full(word, (OptionId) (optopt - LONG_BASE)))
                        return refuse(ret_complaint, "%s needs a value.", word);
                if (code == ':')
                        return refuse_unknown(word, 0, ret_complaint);
                if (code == '?')
                        return refuse_unknown(word, optopt, ret_complaint);
                if (code < LONG_BASE) {
                        id = option_of_letter(code);
                } else {
                        id = (OptionId) (code - LONG_BASE);
                        if (optarg == word) /* the value was a word of its own */
                                word = argv[optind - 2];
                        if (!is_in_full(word, id))
                                return refuse_unknown(word, 0, ret_complaint);
                }
                options.given |= UINT64_C(1) << id;
                r = set_option(&options, id, optarg, now_realtime_ns, ret_complaint);
                if (r != 0)
                        return r;
        }
        options.arguments = argv + optind;
        options.n_arguments = (size_t) (argc - optind);
        *ret = options;
        return 0;
}
