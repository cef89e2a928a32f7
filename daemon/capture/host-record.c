/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/host-record.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/procfs/host-files.h"

/* 8192 CPUs, or as many disks, take about 1 MB; the interrupts of a large host some 100 KB. */
#define TEXT_MAX_BYTES (8 * 1024 * 1024)

typedef struct HostReading {
        HostRecord *record;
        int proc_fd, sys_fd;
        Buffer text;
        JsonWriter json; /* of the part that is being read */
} HostReading;

typedef void (*PartRead)(HostReading *reading, uint64_t *counts);

void host_record_done(HostRecord *record) {
        for (unsigned i = 0; i < _HOST_PART_MAX; i++)
                buffer_done(&record->json[i]);
}

static void read_cpu(HostReading *reading, uint64_t *counts) {
        host_cpu_read(reading->proc_fd, &reading->text, &reading->json, counts);
}

static void read_memory(HostReading *reading, uint64_t *counts) {
        host_memory_read(reading->proc_fd, &reading->text, &reading->json, counts);
}

static void read_disk(HostReading *reading, uint64_t *counts) {
        host_disk_read(reading->proc_fd, reading->sys_fd, &reading->text, &reading->json, counts);
}

static void read_network(HostReading *reading, uint64_t *counts) {
        reading->record->network = host_network_read(reading->proc_fd, reading->sys_fd,
                                                     &reading->text, &reading->json, counts);
}

static const PartRead part_reads[_HOST_PART_MAX] = {
        [HOST_PART_CPU] = read_cpu,
        [HOST_PART_MEMORY] = read_memory,
        [HOST_PART_DISK] = read_disk,
        [HOST_PART_NETWORK] = read_network,
};

static int read_part(HostReading *reading, HostPartId part, Tally *tally) {
        uint64_t *counts = tally->counts[host_parts[part].source];
        Buffer *buffer = &reading->record->json[part];
        int r;

        buffer_init(buffer, SNAPSHOT_MAX_VALUE_BYTES);
        json_writer_init(&reading->json, buffer);
        json_write_object(&reading->json);
        json_write_member_u64(&reading->json, "at_boottime_ns", clock_now_ns(CLOCK_BOOTTIME));
        part_reads[part](reading, counts);
        json_write_end(&reading->json);
        r = json_writer_finish(&reading->json);
        if (r == -EMSGSIZE) {
                reading->record->too_large[part] = true;
                counts[SOURCE_OUTCOME_ok] = 0;
                counts[SOURCE_OUTCOME_other]++;
                r = 0;
        }
        if (counts[SOURCE_OUTCOME_ok] == 0)
                buffer_done(buffer);
        return r;
}

int host_record_read(HostRecord *record, int proc_fd, int sys_fd, Tally *tally) {
        /* The CPUs last: they are held against the threads, whose turn comes next. */
        static const HostPartId order[] = { HOST_PART_MEMORY, HOST_PART_DISK, HOST_PART_NETWORK,
                                            HOST_PART_CPU };
        HostReading reading = { .record = record, .proc_fd = proc_fd, .sys_fd = sys_fd };
        int r = 0;

        _Static_assert(ELEMENTSOF(order) == _HOST_PART_MAX, "every part is read");
        buffer_init(&reading.text, TEXT_MAX_BYTES);
        for (size_t i = 0; r == 0 && i < ELEMENTSOF(order); i++)
                r = read_part(&reading, order[i], tally);
        buffer_done(&reading.text);
        return r;
}

int host_record_write(const HostRecord *record, SnapshotWriter *writer) {
        int r = 0;

        for (unsigned i = 0; r == 0 && i < _HOST_PART_MAX; i++)
                r = snapshot_writer_object(writer, SNAPSHOT_SECTION_HOST_CPU + i,
                                           buffer_span(&record->json[i]));
        return r;
}
