/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/host-record.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/procfs/host-files.h"

/* 8192 CPUs, or as many disks, take about 1 MB; the interrupts of a large host some 100 KB. */
#define TEXT_MAX_BYTES (8 * 1024 * 1024)

int host_record_read(HostRecord *record, int proc_fd, int sys_fd, Tally *tally) {
        /* The CPUs last: they are held against the threads, whose turn comes next. */
        static const HostPartId order[] = { HOST_PART_MEMORY, HOST_PART_DISK, HOST_PART_NETWORK,
                                            HOST_PART_CPU };
        _cleanup_(buffer_done) Buffer text = {};
        int r = 0;

        _Static_assert(ELEMENTSOF(order) == _HOST_PART_MAX, "every part is read");
        buffer_init(&text, TEXT_MAX_BYTES);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(order); i++) {
                HostPartId part = order[i];
                uint64_t *counts = tally->counts[host_parts[part].source];
                Buffer *buffer = &record->json[part];
                JsonWriter json;

                buffer_init(buffer, SNAPSHOT_MAX_VALUE_BYTES);
                json_writer_init(&json, buffer);
                json_write_object(&json);
                json_write_member_u64(&json, "at_boottime_ns", clock_now_ns(CLOCK_BOOTTIME));
                switch (part) {
                case HOST_PART_CPU:
                        host_cpu_read(proc_fd, &text, &json, counts);
                        break;
                case HOST_PART_MEMORY:
                        host_memory_read(proc_fd, &text, &json, counts);
                        break;
                case HOST_PART_DISK:
                        host_disk_read(proc_fd, sys_fd, &text, &json, counts);
                        break;
                case HOST_PART_NETWORK:
                        record->network = host_network_read(proc_fd, sys_fd, &text, &json, counts);
                        break;
                case _HOST_PART_MAX:
                        break;
                }
                json_write_end(&json);
                r = json_writer_finish(&json);
                if (r == -EMSGSIZE) {
                        record->too_large[part] = true;
                        counts[SOURCE_OUTCOME_ok] = 0;
                        counts[SOURCE_OUTCOME_other]++;
                        r = 0;
                }
                if (counts[SOURCE_OUTCOME_ok] == 0)
                        buffer_done(buffer);
        }
        return r;
}
