/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * BpfCall
 *
 * bpf(2) for those who use what was loaded, also where the programs cannot be built and libbpf is
 * not there.
 */

#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * To begin with. The kernel refuses a call with other bytes than zeros behind its members, and an
 * initializer of a union need not set more than the member that it names: clang leaves the rest.
 */
static inline union bpf_attr bpf_call_nothing(void) {
        union bpf_attr call;

        memset(&call, 0, sizeof(call));
        return call;
}

/* As bpf(2): negative, and errno is set. */
static inline long bpf_call(unsigned command, union bpf_attr *call) {
        return syscall(SYS_bpf, command, call, sizeof(*call));
}
