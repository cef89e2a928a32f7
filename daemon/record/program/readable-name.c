/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/program/readable-name.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>
#include "base/macro.h"

#define MORE "..."
#define MAX_BYTES (READABLE_NAME_BYTES - sizeof(MORE)) /* without what says that there is more */
#define PATIENCE_US 50000 /* of CPU time; nearly all take less than 10 */

typedef struct Output {
        char *text;
        size_t n;
        sigjmp_buf full; /* where to go on without reading the rest */
} Output;

typedef enum Attempt { ATTEMPT_BEGINS, ATTEMPT_IS_FULL, ATTEMPT_IS_LATE } Attempt;

/* A handler of signals is told nothing else. */
static sigjmp_buf *volatile too_late;

static void give_up(int signal) {
        if (too_late)
                siglongjmp(*too_late, ATTEMPT_IS_LATE);
}

static void set_clock(long us) {
        const struct itimerval clock = { .it_value.tv_usec = us };

        (void) setitimer(ITIMER_VIRTUAL, &clock, NULL);
}

static void take(const char *bytes, size_t n, void *userdata) {
        Output *output = userdata;
        size_t n_taken = MIN_OF(n, MAX_BYTES - output->n);

        /* Nothing may come from nowhere. */
        if (n_taken > 0)
                memcpy(output->text + output->n, bytes, n_taken);
        output->n += n_taken;
        if (n_taken < n)
                siglongjmp(output->full, ATTEMPT_IS_FULL);
}

/*
 * The name is read as one of Rust first, because names of the old form of Rust are also names of
 * C++. The reader of Rust prints everything that it follows in the name, so the room for its output
 * is also the bound of its work. The reader of C++ has all of its memory on the stack, so it may be
 * left at any point.
 */
static bool attempt(const char *name, Output *output) {
        bool is_read;

        switch (sigsetjmp(output->full, 0)) {
        case ATTEMPT_BEGINS:
                if (rust_demangle_callback(name, 0, take, output))
                        return true;
                output->n = 0;
                too_late = &output->full;
                set_clock(PATIENCE_US);
                is_read = cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, take, output);
                too_late = NULL;
                set_clock(0);
                return is_read;
        case ATTEMPT_IS_FULL:
                too_late = NULL;
                set_clock(0);
                memcpy(output->text + output->n, MORE, sizeof(MORE) - 1);
                output->n += sizeof(MORE) - 1;
                return true;
        default:
                too_late = NULL;
                return false;
        }
}

bool readable_name(const char *name, uint64_t *spent_ns, char ret[static READABLE_NAME_BYTES]) {
        const struct sigaction action = { .sa_handler = give_up, .sa_flags = SA_NODEFER };
        Output output = { .text = ret };
        uint64_t begun_ns;
        bool is_read;

        if ((strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0) ||
            strlen(name) >= MANGLED_NAME_BYTES || *spent_ns >= ALL_READABLE_MAX_NS ||
            sigaction(SIGVTALRM, &action, NULL) < 0)
                return false;
        begun_ns = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
        is_read = attempt(name, &output);
        *spent_ns += clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
        if (is_read)
                ret[output.n] = '\0';
        return is_read;
}
