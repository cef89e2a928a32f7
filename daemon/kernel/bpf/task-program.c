/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/task-program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <task.skel.h>

#include "base/cleanup.h"

#define TYPES_FILE "/sys/kernel/btf/vmlinux"

/* libbpf tells what went wrong in lines, and asks nobody where they should go. */
static char last_complaint[TASK_PROGRAM_REASON_BYTES];

_printf_(2, 0) static int keep_complaint(enum libbpf_print_level level, const char *format,
                                         va_list arguments) {
        char text[4096], *line, *end;

        if (level != LIBBPF_WARN)
                return 0;
        (void) vsnprintf(text, sizeof(text), format, arguments);
        /* The verifier's log comes as one text: its last line says what it stopped at. */
        end = text + strlen(text);
        while (end > text && end[-1] == '\n')
                *--end = '\0';
        line = strrchr(text, '\n');
        (void) snprintf(last_complaint, sizeof(last_complaint), "%.*s", 160,
                        line ? line + 1 : text);
        return 0;
}

static int refuse(int r, char *ret_reason) {
        if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
                return r;
        if (faccessat(AT_FDCWD, TYPES_FILE, R_OK, 0) != 0) {
                (void) snprintf(ret_reason, TASK_PROGRAM_REASON_BYTES,
                                "%s cannot be read (%s): BPF programs take a kernel with "
                                "CONFIG_DEBUG_INFO_BTF",
                                TYPES_FILE, strerror(errno));
                return TASK_PROGRAM_E_NO_TYPES;
        }
        if (r == -EPERM) {
                (void) snprintf(ret_reason, TASK_PROGRAM_REASON_BYTES,
                                "the kernel refuses to load BPF programs (%s): that takes CAP_BPF "
                                "and CAP_PERFMON, and no lockdown=confidentiality",
                                strerror(-r));
                return TASK_PROGRAM_E_DENIED;
        }
        (void) snprintf(ret_reason, TASK_PROGRAM_REASON_BYTES,
                        "this kernel does not take the program (%s)%s%.120s", strerror(-r),
                        last_complaint[0] ? ": " : "", last_complaint);
        return TASK_PROGRAM_E_REFUSED;
}

/* A CPU mask of the kernel has a bit for each CPU that can ever be there. */
static int choose_sizes(struct task_bpf *skeleton) {
        int n = libbpf_num_possible_cpus();

        if (n < 0)
                return n;
        skeleton->rodata->n_cpus = (uint32_t) n;
        skeleton->rodata->n_affinity_bytes = ((uint32_t) n + 63) / 64 * 8;
        return 0;
}

static int load(int *ret_link_fd) {
        struct task_bpf *skeleton = task_bpf__open();
        int r;

        if (!skeleton)
                return -errno;
        r = choose_sizes(skeleton);
        if (r == 0)
                r = task_bpf__load(skeleton);
        if (r == 0)
                r = task_bpf__attach(skeleton);
        if (r == 0) {
                /* The link holds the program and its maps; freed, it closes its own descriptor. */
                *ret_link_fd = fcntl(bpf_link__fd(skeleton->links.read_task), F_DUPFD_CLOEXEC, 3);
                r = *ret_link_fd < 0 ? -errno : 0;
        }
        task_bpf__destroy(skeleton);
        return r;
}

int task_program_load(int *ret_link_fd, char ret_reason[static TASK_PROGRAM_REASON_BYTES]) {
        libbpf_print_fn_t print = libbpf_set_print(keep_complaint);
        int r;

        last_complaint[0] = '\0';
        r = load(ret_link_fd);
        (void) libbpf_set_print(print);
        return r == 0 ? 0 : refuse(r, ret_reason);
}
