/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/batch/gates.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "kernel/procfs/kernel-cmdline.h"
#include "kernel/procfs/procfs.h"
#include "kernel/text/cursor.h"

#define KERNEL(major, minor) ((major) << 16 | (minor))

/* "6.18.44-amd64" as KERNEL(6, 18); 0 when it is not of that form. */
static uint32_t parse_release(const char *release) {
        uint32_t numbers[2] = {};

        for (size_t i = 0; i < ELEMENTSOF(numbers); i++) {
                size_t n = strspn(release, "0123456789");

                if (!number_parse_u32((Span){ release, n }, &numbers[i]) || numbers[i] > 0x7fff)
                        return 0;
                release += n;
                if (i == 0 && *release++ != '.')
                        return 0;
        }
        return KERNEL(numbers[0], numbers[1]);
}

static void try_taskstats(const CaptureSystem *system, Gates *gates) {
        pid_t tid = system->own_tid ? system->own_tid : (pid_t) syscall(SYS_gettid);
        uint64_t count = 0, run = 0, vm = 0, irq;
        TaskstatsAnswer answer;
        TaskstatsSocket *socket;

        gates->taskstats = TASKSTATS_E_NO_FAMILY;
        if (!system->open_taskstats || gates->foreign_pids)
                return;
        gates->taskstats = system->open_taskstats(system->userdata, &socket);
        if (gates->taskstats != 0)
                return;
        gates->taskstats = system->query_taskstats(socket, &tid, 1, &answer);
        if (gates->taskstats == 0)
                gates->taskstats = answer.error;
        if (gates->taskstats == 0) {
                /*
                 * This kernel does not measure what is 0 for the calling thread: every thread has
                 * run on a CPU, and ours has an address space.
                 */
                gates->taskstats_version = answer.stats.version;
                (void) taskstats_get(&answer.stats, TASKSTATS_CPU_COUNT, &count);
                (void) taskstats_get(&answer.stats, TASKSTATS_CPU_RUN_VIRTUAL_NS, &run);
                (void) taskstats_get(&answer.stats, TASKSTATS_HIWATER_VM_KIB, &vm);
                gates->has_delay_members = count != 0 || run != 0;
                gates->has_xacct_members = vm != 0;
                gates->has_irq_members = taskstats_get(&answer.stats, TASKSTATS_IRQ_COUNT, &irq);
        }
        system->close_taskstats(system->userdata, socket);
}

/* 0 where the set cannot be read: nothing is assumed then. */
static uint64_t read_capabilities(int proc_fd) {
        static const char digits[] = "0123456789abcdef";
        char text[PROCFS_BUFFER_BYTES];
        uint64_t set = 0;
        Span key, value;
        Cursor cursor;
        size_t n;

        if (text_file_read(proc_fd, "thread-self/status", text, sizeof(text), &n) != 0)
                return 0;
        cursor = (Span){ text, n };
        while (cursor_colon_pair(&cursor, &key, &value)) {
                if (!span_is(key, "CapEff"))
                        continue;
                if (value.n > 16)
                        return 0;
                for (size_t i = 0; i < value.n; i++) {
                        const char *digit = memchr(digits, value.bytes[i], sizeof(digits) - 1);

                        if (!digit)
                                return 0;
                        set = set << 4 | (uint64_t) (digit - digits);
                }
                return set;
        }
        return 0;
}

void gates_read(int proc_fd, const CaptureSystem *system, const HostContext *host,
                const Cgroupfs *cgroupfs, Gates *ret) {
        static const struct {
                SourceId source;
                const char *name;
        } files[] = {
                { SOURCE_SCHEDSTAT, "schedstat" }, { SOURCE_SCHED, "sched" },
                { SOURCE_STATUS, "status" },       { SOURCE_IO, "io" },
                { SOURCE_CGROUP, "cgroup" },       { SOURCE_SMAPS_ROLLUP, "smaps_rollup" },
        };
        /* The initial user namespace maps every id to itself. */
        static const char *const initial_uid_map[] = { "0", "0", "4294967295" };
        pid_t pid = system->own_pid ? system->own_pid : getpid();
        _cleanup_(fd_closep) int self_fd = -EBADF;
        uint32_t kernel = parse_release(host->kernel_release);
        uint64_t capabilities = read_capabilities(proc_fd);
        Gates gates = {
                .has_sysctl_schedstats = host->has_schedstats,
                .schedstats_on = host->has_schedstats && host->schedstats != 0,
                .realtime_waits_broken = kernel >= KERNEL(5, 16) && kernel <= KERNEL(7, 0),
        };
        char text[PROCFS_BUFFER_BYTES], target[32];
        struct stat status;
        uint32_t shown;
        ssize_t n_target;
        Cursor words;
        Span word;
        size_t n;

        /*
         * Linux 5.14 added the sysctl and turned delay accounting off by default. Before, it was on
         * from boot unless the command line turned it off.
         */
        if (host->has_delayacct && host->delayacct == 0)
                gates.delay_trust = DELAY_TRUST_COUNTED;
        else if (host->delayacct_booted)
                gates.delay_trust = DELAY_TRUST_ALWAYS;
        else if (host->has_delayacct || kernel == 0 || kernel >= KERNEL(5, 14))
                gates.delay_trust = DELAY_TRUST_YOUNG;
        else if (text_file_read(proc_fd, "cmdline", text, sizeof(text), &n) == 0 &&
                 kernel_cmdline_has((Span){ text, n }, "nodelayacct"))
                gates.delay_trust = DELAY_TRUST_COUNTED;
        else
                gates.delay_trust = DELAY_TRUST_ALWAYS;

        /* Such a /proc knows us by another number than system calls do. */
        n_target = readlinkat(proc_fd, "self", target, sizeof(target));
        gates.foreign_pids =
                n_target > 0 && !(number_parse_u32((Span){ target, (size_t) n_target }, &shown) &&
                                  shown == (uint32_t) pid);
        /* If the calling thread cannot be opened, every file is assumed to exist. */
        self_fd = openat(proc_fd, "thread-self", O_PATH | O_DIRECTORY | O_CLOEXEC);
        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                gates.has_file[files[i].source] =
                        self_fd < 0 || fstatat(self_fd, files[i].name, &status, 0) == 0 ||
                        errno != ENOENT;
        gates.has_pressure = fstatat(proc_fd, "pressure", &status, 0) == 0;
        /* Read it: without IRQ time accounting it may exist and still refuse to open. */
        gates.irq_time_accounted =
                text_file_read(proc_fd, "pressure/irq", text, sizeof(text), &n) == 0;
        gates.has_sys_ptrace = capabilities >> CAP_SYS_PTRACE & 1;
        gates.has_dac_read_search = capabilities >> CAP_DAC_READ_SEARCH & 1;
        if (text_file_read(proc_fd, "thread-self/uid_map", text, sizeof(text), &n) == 0) {
                words = (Span){ text, n };
                for (size_t i = 0; i < ELEMENTSOF(initial_uid_map); i++)
                        gates.in_user_namespace = gates.in_user_namespace ||
                                                  !cursor_word(&words, &word) ||
                                                  !span_is(text_trim(word), initial_uid_map[i]);
        }
        gates.only_processes = fstatat(proc_fd, "sys", &status, 0) < 0 && errno == ENOENT &&
                               fstatat(proc_fd, "version", &status, 0) < 0 && errno == ENOENT;
        try_taskstats(system, &gates);
        /* If its children cannot be read, they may be threaded. */
        if (cgroupfs && cgroup_has_threaded_child(cgroupfs->root_fd, &gates.root_is_threaded) != 0)
                gates.root_is_threaded = true;
        *ret = gates;
}
