/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/quantity.h"

enum {
        OPTION_SPOOL = 256,
        OPTION_LISTEN,
        OPTION_MAX_BYTES,
        OPTION_KEEP_FREE,
        OPTION_MAX_AGE,
        OPTION_CONFIG,
        OPTION_DUMP_CONFIG,
        OPTION_JOB,
        OPTION_VERSION,
};

static const struct option option_rows[] = {
        { "spool", required_argument, NULL, OPTION_SPOOL },
        { "listen", required_argument, NULL, OPTION_LISTEN },
        { "max-bytes", required_argument, NULL, OPTION_MAX_BYTES },
        { "keep-free", required_argument, NULL, OPTION_KEEP_FREE },
        { "max-age", required_argument, NULL, OPTION_MAX_AGE },
        { "config", required_argument, NULL, OPTION_CONFIG },
        { "dump-config", no_argument, NULL, OPTION_DUMP_CONFIG },
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
               "  --config FILE      read FILE and no other configuration\n"
               "  --dump-config      show the configuration and where each part is from\n"
               "  -h, --help         show this\n"
               "      --version      show the version\n"
               "\n"
               "See ctprofd(8).\n";
}

_printf_(2, 3) static int complain(char *complaint, const char *format, ...) {
        va_list args;

        va_start(args, format);
        (void) vsnprintf(complaint, OPTIONS_COMPLAINT_BYTES, format, args);
        va_end(args);
        return OPTIONS_E_WRONG;
}

/* Only checks the size here; settings.c reads the text and lets it override the files. */
static int take_size(Options *options, SettingId id, const char *name, char *complaint) {
        uint64_t bytes;

        if (!quantity_parse_size(span_of(optarg), &bytes) ||
            (bytes == QUANTITY_INFINITY && id == SETTING_KEEP_FREE))
                return complain(complaint, "%s: \"%s\" is not a size like 512M or 4G.", name,
                                optarg);
        options->settings[id] = optarg;
        return 0;
}

int options_parse(int argc, char *argv[], Options *ret,
                  char ret_complaint[static OPTIONS_COMPLAINT_BYTES]) {
        Options options = { .action = OPTIONS_SERVE };
        bool is_decided = false; /* the rest of the command line is ignored */
        uint64_t ns;
        int option, r;

        optind = 0; /* makes glibc start anew, in case somebody has parsed before */
        opterr = 0;
        while (!is_decided && (option = getopt_long(argc, argv, ":h", option_rows, NULL)) >= 0) {
                r = 0;
                switch (option) {
                case OPTION_SPOOL:
                        options.spool_path = optarg;
                        break;
                case OPTION_LISTEN:
                        options.listen_path = optarg;
                        break;
                case OPTION_MAX_BYTES:
                        r = take_size(&options, SETTING_MAX_BYTES, "--max-bytes", ret_complaint);
                        break;
                case OPTION_KEEP_FREE:
                        r = take_size(&options, SETTING_KEEP_FREE, "--keep-free", ret_complaint);
                        break;
                case OPTION_MAX_AGE:
                        if (!quantity_parse_time(span_of(optarg), &ns))
                                return complain(ret_complaint,
                                                "--max-age: \"%s\" is not a time like 12h or 30d.",
                                                optarg);
                        options.settings[SETTING_MAX_AGE] = optarg;
                        break;
                case OPTION_CONFIG:
                        options.config_path = optarg;
                        break;
                case OPTION_DUMP_CONFIG:
                        options.action = OPTIONS_DUMP_CONFIG;
                        break;
                case OPTION_JOB:
                        options.action = OPTIONS_JOB;
                        options.job = optarg;
                        is_decided = true;
                        break;
                case 'h':
                        options.action = OPTIONS_HELP;
                        is_decided = true;
                        break;
                case OPTION_VERSION:
                        options.action = OPTIONS_VERSION;
                        is_decided = true;
                        break;
                case ':':
                        return complain(ret_complaint, "Option \"%s\" needs a value.",
                                        argv[optind - 1]);
                case '?':
                        return complain(ret_complaint,
                                        "There is no option \"%s\"; see ctprofd --help.",
                                        argv[optind - 1]);
                default:
                        return OPTIONS_E_WRONG;
                }
                if (r != 0)
                        return r;
        }
        if (!is_decided && optind < argc)
                return complain(ret_complaint,
                                "\"%s\" is one word too many: ctprofd takes only options.",
                                argv[optind]);
        *ret = options;
        return OPTIONS_OK;
}
