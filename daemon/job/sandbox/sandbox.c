/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "job/sandbox/sandbox-calls.h"

/*
 * A quarter more than the memory that building the largest filter needed when it was last measured,
 * and below the 128 KiB from which on a piece is a mapping of its own.
 */
#define SANDBOX_FILTER_BYTES (122u * 1024u)

/* The number of descriptors of a process that receives some. */
#define SANDBOX_RECEIVED_MAX 32

static cap_t sandbox_cap_free(cap_t capabilities) {
        if (capabilities)
                (void) cap_free(capabilities);
        return NULL;
}
DEFINE_CLEANUP(cap_t, sandbox_cap_free);

bool sandbox_is_privileged(void) {
        _cleanup_(sandbox_cap_freep) cap_t current = cap_get_proc();
        _cleanup_(sandbox_cap_freep) cap_t none = cap_init();

        if (geteuid() == 0)
                return true;
        return !current || !none || cap_compare(current, none) != 0;
}

/* A kernel with filters gets as far as reading the one at address 0. */
bool sandbox_has_filters(void) {
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) != 0 && errno == EFAULT;
}

int sandbox_limit_capabilities(uint64_t keep) {
        _cleanup_(sandbox_cap_freep) cap_t current = cap_get_proc();
        _cleanup_(sandbox_cap_freep) cap_t wanted = cap_init();

        if (!current || !wanted)
                return -errno;

        for (cap_value_t value = 0; value < 64; value++) {
                cap_flag_value_t has;

                if (!(keep & UINT64_C(1) << value))
                        continue;
                /* For a capability that this kernel does not know cap_get_flag(3) fails. */
                if (cap_get_flag(current, value, CAP_PERMITTED, &has) != 0 || has != CAP_SET)
                        continue;
                if (cap_set_flag(wanted, CAP_PERMITTED, 1, &value, CAP_SET) != 0 ||
                    cap_set_flag(wanted, CAP_EFFECTIVE, 1, &value, CAP_SET) != 0)
                        return -errno;
        }

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
                return -errno;
        /* Without an inheritable set the ambient one is empty as well: capabilities(7). */
        if (cap_set_proc(wanted) != 0)
                return -errno;
        return 0;
}

bool sandbox_has_capabilities(uint64_t set) {
        _cleanup_(sandbox_cap_freep) cap_t current = cap_get_proc();

        for (cap_value_t value = 0; value < 64; value++) {
                cap_flag_value_t has;

                if (!(set & UINT64_C(1) << value))
                        continue;
                if (!current || cap_get_flag(current, value, CAP_EFFECTIVE, &has) != 0 ||
                    has != CAP_SET)
                        return false;
        }
        return true;
}

int sandbox_drop_capabilities(uint64_t drop) {
        static const cap_flag_t flags[] = { CAP_EFFECTIVE, CAP_PERMITTED, CAP_INHERITABLE };
        _cleanup_(sandbox_cap_freep) cap_t kept = cap_get_proc();

        if (!kept)
                return -errno;
        for (cap_value_t value = 0; value < 64; value++) {
                if (!(drop & UINT64_C(1) << value))
                        continue;
                (void) cap_drop_bound(value);
                for (size_t i = 0; i < ELEMENTSOF(flags); i++)
                        if (cap_set_flag(kept, flags[i], 1, &value, CAP_CLEAR) != 0)
                                return -errno;
        }
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
                return -errno;
        /* A capability that leaves the other sets leaves the ambient one, too: capabilities(7). */
        return cap_set_proc(kept) != 0 ? -errno : 0;
}

int sandbox_limit(int resource, uint64_t bound) {
        struct rlimit limit;

        if (getrlimit((__rlimit_resource_t) resource, &limit) != 0)
                return -errno;
        limit.rlim_cur = MIN_OF((rlim_t) bound, limit.rlim_max);
        limit.rlim_max = limit.rlim_cur;
        return setrlimit((__rlimit_resource_t) resource, &limit) != 0 ? -errno : 0;
}

static int sandbox_filter(unsigned grants) {
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
        int number, r;

        if (!filter)
                return -ENOMEM;
        r = seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
        /* A tree instead of a list, where this libseccomp can: a capture makes many calls. */
        if (r == 0)
                (void) seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
        for (const SandboxCallGroup *group = sandbox_call_groups; group->calls; group++) {
                if ((group->grant & grants) != group->grant)
                        continue;
                for (const SandboxCall *call = group->calls; call->name && r == 0; call++) {
                        number = seccomp_syscall_resolve_name(call->name);
                        if (number >= 0)
                                r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number,
                                                           call->n_conditions, call->conditions);
                }
        }
        for (size_t i = 0; sandbox_calls_unknown[i] && r == 0; i++) {
                number = seccomp_syscall_resolve_name(sandbox_calls_unknown[i]);
                if (number >= 0)
                        r = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), number, 0, NULL);
        }
        if (r == 0) {
                r = seccomp_load(filter);
                /* ENOSYS: a kernel without seccomp(2). EINVAL: one built without its filters. */
                if (r == -ENOSYS || r == -EINVAL)
                        r = SANDBOX_E_NO_FILTER;
        }
        seccomp_release(filter);
        return r;
}

int sandbox_enter(unsigned grants, uint64_t keep, uint64_t max_file_bytes) {
        int last = sandbox_keeps_stderr ? STDOUT_FILENO : STDERR_FILENO;
        void *memory;
        int fd, r = 0;

        /*
         * The standard descriptors may be the terminal of a user or the journal, where whoever
         * writes speaks in our name.
         */
        (void) fflush(NULL);
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        for (int standard = STDIN_FILENO; standard <= last && r == 0; standard++)
                if (standard != fd && dup2(fd, standard) < 0)
                        r = -errno;
        if (fd > STDERR_FILENO)
                (void) close(fd);
        if (r != 0)
                return r;

        /*
         * libseccomp (2.5.4) crashes when memory runs out while it builds a filter. Therefore this
         * grows the heap before, by one piece that is too small to become a mapping of its own; the
         * allocator is told to keep that memory when the piece is freed.
         */
        (void) mallopt(M_TRIM_THRESHOLD, (int) (8 * SANDBOX_FILTER_BYTES));
        memory = malloc(SANDBOX_FILTER_BYTES);
        if (!memory)
                return -ENOMEM;
        explicit_bzero(memory, SANDBOX_FILTER_BYTES);
        free(memory);

        r = sandbox_limit(RLIMIT_CORE, 0);
        /* Threads count too. */
        if (r == 0 && !(grants & SANDBOX_OBSERVE))
                r = sandbox_limit(RLIMIT_NPROC, 0);
        /*
         * Descriptor 0 is open, so no other can be opened. poll(2) compares the number of
         * descriptors it gets with the limit, so 0 would forbid waiting.
         */
        if (r == 0 && grants == 0)
                r = sandbox_limit(RLIMIT_NOFILE, 1);
        if (r == 0 && grants == SANDBOX_RECEIVE_FILES)
                r = sandbox_limit(RLIMIT_NOFILE, SANDBOX_RECEIVED_MAX);
        if (r == 0 && grants == SANDBOX_RECEIVE_MANY)
                r = sandbox_limit(RLIMIT_NOFILE, SANDBOX_RECEIVED_MANY_MAX);
        if (r == 0 && max_file_bytes > 0)
                r = sandbox_limit(RLIMIT_FSIZE, max_file_bytes);
        if (r != 0)
                return r;
        /* Past the limit a write fails with EFBIG, which says more than a dead process. */
        if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
                return -errno;

        r = sandbox_limit_capabilities(keep);
        return r == 0 ? sandbox_filter(grants) : r;
}

int sandbox_fstat(int fd, struct stat *ret) {
#if SANDBOX_HAS_FSTAT
        return syscall(SYS_fstat, fd, ret) < 0 ? -errno : 0;
#else
        return fstat(fd, ret) < 0 ? -errno : 0;
#endif
}

void sandbox_exit(int status) {
        (void) fflush(NULL);
        _exit(status);
}
