/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/options.h"

#include <getopt.h>
#include <pwd.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/name.h"
#include "base/number.h"
#include "base/quantity.h"
#include "render/when.h"
#include "session/complain.h"
#include "view/glob.h"
#include "view/view-part.h"

#define OPTION_ROW(id, name_, letter_, argument_, argument_name_, taken, help_) \
        [OPTION_##id] = {                                                       \
                .name = (name_),                                                \
                .letter = (letter_),                                            \
                .argument = OPTION_ARGUMENT_##argument_,                        \
                .argument_name = (argument_name_),                              \
                .help = (help_),                                                \
        },
const OptionRow option_table[_OPTION_MAX] = { OPTIONS(OPTION_ROW) };

/* Above every character, so that long options and letters share one switch. */
#define LONG_BASE 256

#define OPTION_LONG(id, name_, letter_, argument_, ...) \
        { (name_), GETOPT_##argument_, NULL, LONG_BASE + OPTION_##id },
enum {
        GETOPT_NONE = no_argument,
        GETOPT_REQUIRED = required_argument,
        GETOPT_OPTIONAL = optional_argument,
};
static const struct option long_options[] = {
        OPTIONS(OPTION_LONG){},
};

#define OPTION_NAME(id, name, ...) "--" name,
static const char *const option_names[] = { OPTIONS(OPTION_NAME) };

_Static_assert(_OPTION_MAX <= 8 * sizeof(OptionBits), "a bit for each option");

#define FORMAT_NAME(id, name) name,
static const char *const format_names[] = { FORMATS(FORMAT_NAME) };

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

/* One value on its way into the options. */
typedef struct Taking {
        Options *options;
        const char *value;
        uint64_t now_realtime_ns;
        char *complaint;
        char quoted[QUOTE_BYTES]; /* room for the value, for the complaint */
} Taking;

/* An option whose value is one of a list of words, of which the member gets the index. */
typedef struct Choice {
        const char *const *words;
        unsigned n_words;
        unsigned without;  /* what the member gets without a value */
        size_t at;         /* an enumeration in the options */
        const char *joint; /* between the option and the value, in the complaint */
        const char *fault;
} Choice;

enum {
        CHOICE_json,
        CHOICE_smaps,
        CHOICE_backend,
        CHOICE_reasons,
        CHOICE_stack_kinds,
        CHOICE_format,
        _CHOICE_MAX
};

static const char *const json_words[] = { "off", "short", "pretty" };
static const char *const reasons_words[] = { "no", "yes" };
static const char *const stack_kinds_words[_STACK_KINDS_MAX] = {
        [STACK_KINDS_NONE] = "none",
        [STACK_KINDS_KERNEL] = "kernel",
        [STACK_KINDS_USER] = "user",
        [STACK_KINDS_BOTH] = "both",
};

static const Choice choices[_CHOICE_MAX] = {
        [CHOICE_json] = { json_words, ELEMENTSOF(json_words), JSON_WISH_AUTO,
                          offsetof(Options, json), "=",
                          "is not a style: it is short, pretty or off." },
        [CHOICE_smaps] = { smaps_mode_names, _SMAPS_MODE_MAX, SMAPS_MODE_ALL,
                           offsetof(Options, smaps), "=",
                           "does not say of which processes: it is all, small or none." },
        [CHOICE_backend] = { backend_choice_names, _BACKEND_CHOICE_MAX, 0,
                             offsetof(Options, backend), "=",
                             "is none: it is auto, procfs or bpf." },
        [CHOICE_reasons] = { reasons_words, ELEMENTSOF(reasons_words), 0,
                             offsetof(Options, reasons), "=",
                             "does not say whether: it is yes or no." },
        [CHOICE_stack_kinds] = { stack_kinds_words, _STACK_KINDS_MAX, 0,
                                 offsetof(Options, stack_kinds), " ",
                                 "does not say whose: it is both, kernel, user or none." },
        [CHOICE_format] = { format_names, _FORMAT_MAX, 0, offsetof(Options, format), " ",
                            "is not a format: views are table, csv, ndjson or html, of a recording "
                            "also folded, pprof or speedscope, exports are ctprof, ktstr, ndjson "
                            "or denet." },
};

/* True for a number of seconds with up to nine decimals. */
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

static int take_host(Taking *taking) {
        Options *options = taking->options;

        if (taking->value[0] == '\0')
                return refuse(taking->complaint, "--host is given an empty name.");
        if (options->n_hosts == OPTIONS_MAX_HOSTS)
                return refuse(taking->complaint,
                              "--host is given more than %u times: one can name several hosts, as "
                              "a,b, and --hosts-file as many as there are.",
                              OPTIONS_MAX_HOSTS);
        options->hosts[options->n_hosts++] = taking->value;
        return 0;
}

static int take_fanout(Taking *taking) {
        uint32_t *fanout = &taking->options->fanout;

        if (number_parse_u32(span_of(taking->value), fanout) && *fanout > 0)
                return 0;
        return refuse(taking->complaint, "--fanout %s is not a number of hosts above 0.",
                      quote(taking->value, taking->quoted));
}

/* It is a time, or an amount from now on: "+30s". */
static int take_at(Taking *taking) {
        uint64_t *at_ns = &taking->options->at_realtime_ns, now_ns = taking->now_realtime_ns;
        char before[32];
        bool valid;

        /* The same amount before now is read, and turned to the other side. */
        if (taking->value[0] == '+' &&
            snprintf(before, sizeof(before), "-%s", taking->value + 1) < (int) sizeof(before)) {
                valid = when_parse(span_of(before), now_ns, at_ns);
                *at_ns = number_add_saturating(now_ns, now_ns - *at_ns);
        } else {
                valid = when_parse(span_of(taking->value), now_ns, at_ns);
        }
        if (valid)
                return 0;
        return refuse(taking->complaint,
                      "--at %s is not a time: write YYYY-MM-DD HH:MM[:SS], +30s or +5min.",
                      quote(taking->value, taking->quoted));
}

static int take_timeout(Taking *taking) {
        uint64_t *timeout_ns = &taking->options->timeout_ns;

        if (parse_seconds(taking->value, timeout_ns) && *timeout_ns > 0)
                return 0;
        return refuse(taking->complaint, "--timeout %s is not a number of seconds above 0.",
                      quote(taking->value, taking->quoted));
}

static int take_user_stack(Taking *taking) {
        uint64_t *bytes = &taking->options->user_stack_bytes;

        *bytes = 0;
        taking->options->has_frame_pointers = strcmp(taking->value, "fp") == 0;
        if (taking->options->has_frame_pointers || strcmp(taking->value, "none") == 0 ||
            (quantity_parse_size(span_of(taking->value), bytes) && *bytes > 0 &&
             *bytes <= INT64_MAX))
                return 0;
        return refuse(taking->complaint, "--user-stack %s is no size: write 16K, fp, or none.",
                      quote(taking->value, taking->quoted));
}

/* @find turns a word that is no number into one; NULL: there is nothing else. */
static int take_numbers(Taking *taking, OptionNumbers *numbers, const char *option,
                        const char *wanted, bool (*find)(const char *word, uint32_t *ret)) {
        for (const char *at = taking->value;; at++) {
                size_t n = strcspn(at, ",");
                char word[256] = "";
                uint32_t number;

                if (numbers->n == OPTIONS_MAX_NUMBERS)
                        return refuse(taking->complaint, "%s takes at most %u.", option,
                                      OPTIONS_MAX_NUMBERS);
                if (n < sizeof(word))
                        memcpy(word, at, n);
                if (!number_parse_u32(span_of(word), &number) && (!find || !find(word, &number)))
                        return refuse(taking->complaint, "%s %s is no %s.", option,
                                      quote_span((Span){ at, n }, taking->quoted), wanted);
                numbers->all[numbers->n++] = number;
                at += n;
                if (*at == '\0')
                        return 0;
        }
}

static bool find_user(const char *word, uint32_t *ret) {
        const struct passwd *passwd = word[0] != '\0' ? getpwnam(word) : NULL;

        if (passwd)
                *ret = passwd->pw_uid;
        return passwd != NULL;
}

static int take_pid(Taking *taking) {
        return take_numbers(taking, &taking->options->pids, "--pid", "number of a process", NULL);
}

static int take_uid(Taking *taking) {
        return take_numbers(taking, &taking->options->uids, "--uid", "user of this host",
                            find_user);
}

static int take_comm(Taking *taking) {
        int r = glob_check_text(span_of(taking->value));

        taking->options->comm = taking->value;
        if (r == 0)
                return 0;
        return refuse(taking->complaint, "--comm %s is no glob: %s.",
                      quote(taking->value, taking->quoted), glob_fault(r));
}

/* Nine decimals, as seconds have, are enough for a probability. */
static int take_alpha(Taking *taking) {
        uint64_t billionths;

        if (!parse_seconds(taking->value, &billionths) || billionths == 0 ||
            billionths >= NSEC_PER_SEC)
                return refuse(taking->complaint,
                              "--alpha %s is not a probability between 0 and 1, as 0.05.",
                              quote(taking->value, taking->quoted));
        taking->options->alpha = (double) billionths / (double) NSEC_PER_SEC;
        return 0;
}

static int take_tag(Taking *taking) {
        const char *complaint = snapshot_name_new_complaint(span_of(taking->value));

        taking->options->tag = taking->value;
        if (complaint)
                return refuse(taking->complaint, "The tag %s %s.",
                              quote(taking->value, taking->quoted), complaint);
        return 0;
}

/* Each option is taken as its row here says; one without a row is only noted as given. */
#define GIVEN .take = NULL
#define VALUE(name_) .take = take_##name_
#define CHOICE(member_) .choice = &choices[CHOICE_##member_]
#define TEXT(member_, noun_) .text_at = offsetof(Options, member_), .is_text = true, .noun = (noun_)
#define TIME(member_) .time_at = offsetof(Options, member_), .is_time = true
#define SPAN(member_) .span_at = offsetof(Options, member_), .is_span = true
#define VIEW_PART(member_) .part = VIEW_PART_##member_, .is_part = true
#define VIEW_NUMBER(member_) .number = &view_numbers[VIEW_NUMBER_##member_]
#define VIEW_FLAG(member_, value_) \
        .flag_at = offsetof(View, member_), .is_flag = true, .flag = (value_)
#define OPTION_TAKEN(id, name_, letter_, argument_, argument_name_, taken_, help_) \
        [OPTION_##id] = { taken_ },
static const struct {
        int (*take)(Taking *taking);
        const Choice *choice;
        ViewPartId part;
        const ViewNumber *number;
        const char *noun; /* the value must not be empty; NULL: it may be */
        size_t text_at, time_at, span_at, flag_at;
        bool is_part, is_text, is_time, is_span, is_flag, flag;
} taken_table[_OPTION_MAX] = { OPTIONS(OPTION_TAKEN) };

_Static_assert(OPTIONS_COMPLAINT_BYTES >= VIEW_COMPLAINT_BYTES, "complaints of views fit");

static int take_option(Taking *taking, OptionId id) {
        void *options = taking->options, *view = &taking->options->view;
        const char *value = taking->value;
        const Choice *choice = taken_table[id].choice;
        const ViewNumber *number;
        unsigned index;
        int r;

        if (taken_table[id].take)
                return taken_table[id].take(taking);
        if (choice) {
                index = value ? name_find(span_of(value), choice->words, choice->n_words)
                              : choice->without;
                if (value && index == choice->n_words)
                        return refuse(taking->complaint, "--%s%s%s %s", option_table[id].name,
                                      choice->joint, quote(taking->value, taking->quoted),
                                      choice->fault);
                *(unsigned *) (void *) ((char *) options + choice->at) = index;
        }
        if (taken_table[id].is_part) {
                r = view_set(view, taken_table[id].part, span_of(value), taking->complaint);
                return r == VIEW_E_INVALID ? OPTIONS_E_INVALID : r;
        }
        if (taken_table[id].is_flag)
                *(bool *) ((char *) view + taken_table[id].flag_at) = taken_table[id].flag;
        number = taken_table[id].number;
        if (number && !number_parse_u32(span_of(value),
                                        (uint32_t *) (void *) ((char *) view + number->offset)))
                return refuse(taking->complaint,
                              "--%s takes a number of %s up to 4294967295, %s: %s is none.",
                              option_table[id].name, number->noun, number->zero,
                              quote(taking->value, taking->quoted));
        if (taken_table[id].is_time &&
            !when_parse(span_of(value), taking->now_realtime_ns,
                        (uint64_t *) (void *) ((char *) options + taken_table[id].time_at)))
                return refuse(taking->complaint,
                              "--%s %s is not a time: write YYYY-MM-DD[ HH:MM[:SS]], today, "
                              "yesterday, -5min, -2h or -3d.",
                              option_table[id].name, quote(taking->value, taking->quoted));
        if (taken_table[id].is_span) {
                uint64_t *ns = (uint64_t *) (void *) ((char *) options + taken_table[id].span_at);

                if (!quantity_parse_time(span_of(value), ns) || *ns == 0 || *ns > INT64_MAX)
                        return refuse(taking->complaint,
                                      "--%s %s is no amount of time above 0: write 10s, 2min or "
                                      "500ms.",
                                      option_table[id].name, quote(value, taking->quoted));
        }
        if (taken_table[id].noun && value && value[0] == '\0')
                return refuse(taking->complaint, "--%s is given an empty %s.",
                              option_table[id].name, taken_table[id].noun);
        if (taken_table[id].is_text)
                *(const char **) (void *) ((char *) options + taken_table[id].text_at) = value;
        return 0;
}

/* Explains a '?' of getopt_long(): @word as it was typed, or a letter within it. */
static int refuse_unknown(const char *word, int letter, char *ret_complaint) {
        const char short_option[] = { '-', (char) letter };
        Span name = { word, strcspn(word, "=") };
        const char *nearest = NULL;
        char quoted[QUOTE_BYTES];

        if (letter > 0 && letter < LONG_BASE)
                return refuse(ret_complaint,
                              "Unknown option %s: \"ctprofctl --help\" lists them all.",
                              quote_span((Span){ short_option, sizeof(short_option) }, quoted));
        for (size_t i = 0; i < ELEMENTSOF(option_names); i++) {
                if (span_is(name, option_names[i]))
                        return refuse(ret_complaint, "%s takes no value.",
                                      quote_span(name, quoted));
                /* One that it abbreviates is meant rather than one that is similar. */
                if (!nearest && name.n > 3 && strncmp(name.bytes, option_names[i], name.n) == 0)
                        nearest = option_names[i];
        }
        if (!nearest)
                nearest = name_nearest(name, option_names, ELEMENTSOF(option_names));
        if (nearest)
                return refuse(ret_complaint, "Unknown option %s, did you mean \"%s\"?",
                              quote_span(name, quoted), nearest);
        return refuse(ret_complaint, "Unknown option %s: \"ctprofctl --help\" lists them all.",
                      quote_span(name, quoted));
}

int options_parse(int argc, char *argv[], uint64_t now_realtime_ns, Options *ret,
                  char ret_complaint[static OPTIONS_COMPLAINT_BYTES]) {
        Options options = { .json = JSON_WISH_OFF, .format = _FORMAT_MAX };
        OptionId id = _OPTION_MAX;
        const char *word;
        int code, r;

        view_init(&options.view);
        optind = 0; /* start over, even in a second call in one process */
        opterr = 0;
        while ((code = getopt_long(argc, argv, ":jqhH:", long_options, NULL)) >= 0) {
                word = argv[optind - 1];
                if (code == ':' && optopt < LONG_BASE)
                        return refuse(ret_complaint, "-%c needs a value.", optopt);
                if (code == '?')
                        return refuse_unknown(word, optopt, ret_complaint);
                if (code != ':' && code < LONG_BASE) {
                        /* getopt_long() returns only letters that it was given. */
                        for (id = 0; option_table[id].letter != code;)
                                id++;
                } else {
                        id = (OptionId) ((code == ':' ? optopt : code) - LONG_BASE);
                        if (code != ':' && optarg == word) /* the value was a word of its own */
                                word = argv[optind - 2];
                        /*
                         * getopt_long() accepts abbreviations; we refuse them, because a new option
                         * could change their meaning.
                         */
                        if (strncmp(word, "--", 2) != 0 ||
                            !span_is((Span){ word + 2, strcspn(word + 2, "=") },
                                     option_table[id].name))
                                return refuse_unknown(word, 0, ret_complaint);
                        if (code == ':')
                                return refuse(ret_complaint, "%s needs a value.", word);
                }
                options.given |= (OptionBits) 1 << id;
                r = take_option(&(Taking){ .options = &options,
                                           .value = optarg,
                                           .now_realtime_ns = now_realtime_ns,
                                           .complaint = ret_complaint },
                                id);
                if (r != 0)
                        return r;
        }
        options.arguments = argv + optind;
        options.n_arguments = (size_t) (argc - optind);
        *ret = options;
        return 0;
}

int options_refuse_times(const Options *options, const char *what) {
        if (!options_have(options, OPTION_SINCE) || !options_have(options, OPTION_UNTIL) ||
            options->since_realtime_ns <= options->until_realtime_ns)
                return 0;
        return complain(STATUS_USAGE, "--since is later than --until: %s between them.", what);
}
