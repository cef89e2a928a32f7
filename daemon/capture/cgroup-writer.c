/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/cgroup-writer.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "kernel/cgroupfs/cgroup-stats.h"

static void count_both(Tally *tally, SourceOutcome outcome) {
        tally_add(tally, SOURCE_CGROUP_STATS, outcome);
        tally_add(tally, SOURCE_CGROUP_PRESSURE, outcome);
}

/* A path that names nothing below the mount is refused before it is looked up. */
static int open_group(const Cgroupfs *cgroupfs, Span path, Tally *tally, int *ret_fd) {
        int r = cgroup_path_is_outside(path) ? CGROUPFS_E_OUTSIDE
                                             : cgroupfs_open_group(cgroupfs, path, ret_fd);

        if (r == CGROUPFS_E_OUTSIDE || r == CGROUPFS_E_MALFORMED) {
                count_both(tally, SOURCE_OUTCOME_unsupported);
                tally->n_groups_outside++;
        } else if (r == CGROUPFS_E_VANISHED || r == CGROUPFS_E_ABSENT)
                count_both(tally, SOURCE_OUTCOME_vanished);
        else if (r != 0)
                count_both(tally, text_file_outcome(r));
        return r;
}

typedef struct GroupBuffers {
        Buffer scratch, json;
} GroupBuffers;

static void group_buffers_done(GroupBuffers *buffers) {
        buffer_done(&buffers->scratch);
        buffer_done(&buffers->json);
}

static int write_group(const Cgroupfs *cgroupfs, Span path, GroupBuffers *buffers,
                       SnapshotWriter *writer, Tally *tally) {
        _cleanup_(fd_closep) int fd = -EBADF;
        CgroupCounts counts = {};
        int r;

        if (open_group(cgroupfs, path, tally, &fd) != 0)
                return 0;
        buffer_clear(&buffers->json);
        r = cgroup_stats_read(fd, &buffers->scratch, &buffers->json, &counts);
        tally_add_counts(tally, SOURCE_CGROUP_STATS, counts.stats);
        tally_add_counts(tally, SOURCE_CGROUP_PRESSURE, counts.pressure);
        if (r != 0)
                return r < 0 ? r : 0;
        return snapshot_writer_cgroup(writer, path, buffer_span(&buffers->json));
}

int cgroup_writer_run(const Cgroupfs *cgroupfs, const CgroupSet *cgroups, Pace *pace,
                      SnapshotWriter *writer, Tally *tally) {
        _cleanup_(group_buffers_done) GroupBuffers buffers = {};
        _cleanup_(freep) CgroupEntry **entries = NULL;
        size_t n_entries;
        int r;

        r = cgroup_set_sort(cgroups, &entries, &n_entries);
        for (size_t i = 0; r == 0 && i < n_entries; i++) {
                r = write_group(cgroupfs, entries[i]->path, &buffers, writer, tally);
                if (r == 0)
                        r = pace_step(pace, "cgroups", i + 1, n_entries);
        }
        return r;
}
