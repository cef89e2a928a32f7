/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/clock-event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macro.h"

#define FIRST_PERIOD_NS 10000000u

int clock_events_open(int program, unsigned *cpu, int *ret_fds, size_t max, size_t *ret_n) {
        struct perf_event_attr event;
        unsigned n_cpus = (unsigned) MAX_OF(sysconf(_SC_NPROCESSORS_CONF), 0);

        *ret_n = 0;
        memset(&event, 0, sizeof(event));
        event.type = PERF_TYPE_SOFTWARE;
        event.size = sizeof(event);
        event.config = PERF_COUNT_SW_CPU_CLOCK;
        event.sample_period = FIRST_PERIOD_NS;
        event.disabled = 1;
        for (; *cpu < n_cpus && *ret_n < max; (*cpu)++) {
                int fd = (int) syscall(SYS_perf_event_open, &event, -1, (int) *cpu, -1,
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

int clock_events_start(const int *fds, size_t n, uint64_t period_ns) {
        for (size_t i = 0; i < n; i++)
                if (ioctl(fds[i], PERF_EVENT_IOC_PERIOD, &period_ns) < 0 ||
                    ioctl(fds[i], PERF_EVENT_IOC_ENABLE, 0) < 0) {
                        int r = -errno;

                        clock_events_stop(fds, i);
                        return r;
                }
        return 0;
}

void clock_events_stop(const int *fds, size_t n) {
        for (size_t i = 0; i < n; i++)
                (void) ioctl(fds[i], PERF_EVENT_IOC_DISABLE, 0);
}
