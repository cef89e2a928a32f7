/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

#define KIB UINT64_C(1024)

typedef struct Unit {
        const char *name;
        uint64_t factor;
} Unit;

static const Unit size_units[] = {
        { "", 1 },
        { "K", KIB },
        { "M", KIB *KIB },
        { "G", KIB *KIB *KIB },
        { "T", KIB *KIB *KIB *KIB },
};

static const Unit time_units[] = {
        { "", NSEC_PER_SEC },
        { "s", NSEC_PER_SEC },
        { "min", 60 * NSEC_PER_SEC },
        { "h", 3600 * NSEC_PER_SEC },
        { "d", 24 * 3600 * NSEC_PER_SEC },
        { "w", 7 * 24 * 3600 * NSEC_PER_SEC },
};

static bool parse_quantity(Span text, const Unit *units, size_t n_units, uint64_t *ret) {
        size_t n_digits = 0;
        uint64_t value;
        Span unit;

        while (n_digits < text.n && text.bytes[n_digits] >= '0' && text.bytes[n_digits] <= '9')
                n_digits++;
        if (!number_parse_u64((Span){ text.bytes, n_digits }, &value))
                return false;
        unit = (Span){ text.bytes + n_digits, text.n - n_digits };
        for (size_t i = 0; i < n_units; i++)
                if (span_is(unit, units[i].name))
                        return !__builtin_mul_overflow(value, units[i].factor, ret);
        return false;
}

bool options_parse_size(Span text, uint64_t *ret_bytes) {
        return parse_quantity(text, size_units, ELEMENTSOF(size_units), ret_bytes);
}

bool options_parse_time(Span text, uint64_t *ret_ns) {
        return parse_quantity(text, time_units, ELEMENTSOF(time_units), ret_ns);
}

enum {
        OPTION_SPOOL = 256,
        OPTION_LISTEN,
        OPTION_MAX_BYTES,
        OPTION_KEEP_FREE,
        OPTION_MAX_AGE,
        OPTION_JOB,
        OPTION_VERSION,
};

static const struct option option_rows[] = {
        { "spool", required_argument, NULL, OPTION_SPOOL },
        { "listen", required_argument, NULL, OPTION_LISTEN },
        { "max-bytes", required_argument, NULL, OPTION_MAX_BYTES },
        { "keep-free", required_argument, NULL, OPTION_KEEP_FREE },
        { "max-age", required_argument, NULL, OPTION_MAX_AGE },
        { "job", required_argument, NULL, OPTION_JOB },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, OPTION_VERSION },
        {},
};

const char *options_help(void) {
        return "ctprofd [OPTIONS]\n"
               "\n"
               "Takes snapshots of every thread of this host, keeps and compares them, and\n"
               "serves ctprofctl over the socket it is started with.\n"
               "\n"
               "  --spool DIR        keep snapshots in DIR\n"
               "  --listen PATH      create the socket PATH instead of expecting one\n"
               "  --max-bytes SIZE   let snapshots use up to SIZE in all (K, M, G, T; 0: any)\n"
               "  --keep-free SIZE   leave SIZE free in the file system\n"
               "  --max-age TIME     remove untagged ones after TIME (s, min, h, d, w; 0: never)\n"
               "  -h, --help         show this\n"
               "      --version      show the version\n"
               "\n"
               "See ctprofd(8).\n";
}

static int complain(char *complaint, const char *format, const char *a, const char *b) {
        (void) snprintf(complaint, OPTIONS_COMPLAINT_BYTES, format, a, b);
        return OPTIONS_E_WRONG;
}

static int take_option(Options *options, int option, char *complaint) {
        switch (option) {
        case OPTION_SPOOL:
                options->spool_path = optarg;
                return 0;
        case OPTION_LISTEN:
                options->listen_path = optarg;
                return 0;
        case OPTION_MAX_BYTES:
                options->has_max_bytes = true;
                if (options_parse_size(span_of(optarg), &options->max_bytes))
                        return 0;
                return complain(complaint, "--max-bytes: \"%s\" is not a size%s.", optarg,
                                " like 512M or 4G");
        case OPTION_KEEP_FREE:
                options->has_keep_free_bytes = true;
                if (options_parse_size(span_of(optarg), &options->keep_free_bytes))
                        return 0;
                return complain(complaint, "--keep-free: \"%s\" is not a size%s.", optarg,
                                " like 512M or 4G");
        case OPTION_MAX_AGE:
                options->has_max_age = true;
                if (options_parse_time(span_of(optarg), &options->max_age_ns))
                        return 0;
                return complain(complaint, "--max-age: \"%s\" is not a time%s.", optarg,
                                " like 12h or 30d");
        case OPTION_JOB:
                options->action = OPTIONS_JOB;
                options->job = optarg;
                return 0;
        case 'h':
                options->action = OPTIONS_HELP;
                return 0;
        case OPTION_VERSION:
                options->action = OPTIONS_VERSION;
                return 0;
        default:
                return OPTIONS_E_WRONG;
        }
}

/* Of the word that getopt_long(3) stumbled over. */
static int complain_of_word(int option, const char *word, char *complaint) {
        if (option == ':')
                return complain(complaint, "Option \"%s\" needs a value%s.", word, "");
        return complain(complaint, "There is no option \"%s\"%s; see ctprofd --help.", word, "");
}

int options_parse(int argc, char *argv[], Options *ret,
                  char ret_complaint[static OPTIONS_COMPLAINT_BYTES]) {
        Options options = { .action = OPTIONS_SERVE };
        int option, r;

        optind = 0; /* glibc: start anew, whoever parsed before */
        opterr = 0;
        while ((option = getopt_long(argc, argv, ":h", option_rows, NULL)) >= 0) {
                if (option == '?' || option == ':')
                        return complain_of_word(option, argv[optind - 1], ret_complaint);
                r = take_option(&options, option, ret_complaint);
                if (r != 0)
                        return r;
                if (options.action != OPTIONS_SERVE)
                        break;
        }
        if (options.action == OPTIONS_SERVE && optind < argc)
                return complain(ret_complaint, "\"%s\" is one word too many%s.", argv[optind],
                                ": ctprofd takes only options");
        *ret = options;
        return OPTIONS_OK;
}
