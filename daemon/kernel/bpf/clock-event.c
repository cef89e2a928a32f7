/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/clock-event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_PERIOD_NS 10000000u

int clock_events_open(int program, int *ret_fds, size_t max, size_t *ret_n) {
        struct perf_event_attr event;
        long n_cpus = sysconf(_SC_NPROCESSORS_CONF);

        *ret_n = 0;
        memset(&event, 0, sizeof(event));
        event.type = PERF_TYPE_SOFTWARE;
        event.size = sizeof(event);
        event.config = PERF_COUNT_SW_CPU_CLOCK;
        event.sample_period = FIRST_PERIOD_NS;
        event.disabled = 1;
        for (long cpu = 0; cpu < n_cpus && *ret_n < max; cpu++) {
                int fd = (int) syscall(SYS_perf_event_open, &event, -1, cpu, -1,
                                       PERF_FLAG_FD_CLOEXEC);

                /* It is off. */
                if (fd < 0 && (errno == ENODEV || errno == ENXIO))
                        continue;
                if (fd < 0)
                        return -errno;
                /* Without the program it would be a clock that says nothing. */
                if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) < 0) {
                        int r = -errno;

                        (void) close(fd);
                        return r;
                }
                ret_fds[(*ret_n)++] = fd;
        }
        return 0;
}

int clock_event_start(int fd, uint64_t period_ns) {
        return ioctl(fd, PERF_EVENT_IOC_PERIOD, &period_ns) < 0 ||
                               ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0
                       ? -errno
                       : 0;
}

void clock_event_stop(int fd) {
        (void) ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}
