/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "config.h"
#include "log/log.h"
#include "profiler/options.h"
#include "profiler/profiler.h"
#include "profiler/settings.h"
#include "worker/worker.h"

#define EXIT_WRONG_USE 2

int main(int argc, char *argv[]) {
        char complaint[OPTIONS_COMPLAINT_BYTES];
        Options options;
        int fd;

        /* A descriptor that takes the place of a closed stderr would get our log lines. */
        do
                fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        while (fd >= 0 && fd <= STDERR_FILENO);
        if (fd > STDERR_FILENO)
                (void) close(fd);
        if (options_parse(argc, argv, &options, complaint) != 0) {
                (void) fprintf(stderr, "ctprofd: %s\n", complaint);
                return EXIT_WRONG_USE;
        }
        switch (options.action) {
        case OPTIONS_HELP:
                (void) fputs(options_help(), stdout);
                return EXIT_SUCCESS;
        case OPTIONS_VERSION:
                (void) puts("ctprofd " CTPROF_VERSION);
                return EXIT_SUCCESS;
        case OPTIONS_JOB:
                /* Started from a descriptor, the kernel takes its number for our name. */
                (void) prctl(PR_SET_NAME, "ctprofd");
                worker_main(options.job);
        case OPTIONS_DUMP_CONFIG:
                log_open(LOG_INFO);
                return settings_dump(&options) != SETTINGS_OK ? EXIT_FAILURE : EXIT_SUCCESS;
        case OPTIONS_SERVE:
                break;
        }
        /* Peers that are gone are an errno; children are reaped by us. */
        (void) signal(SIGPIPE, SIG_IGN);
        (void) signal(SIGCHLD, SIG_DFL);
        log_open(LOG_INFO);
        return profiler_run(&options) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
