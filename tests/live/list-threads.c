/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * ListThreads
 *
 *     list-threads PID
 *
 * Lists the threads of a process as a capture does, once for every line of standard input, and
 * writes them on a line.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel/procfs/proc-walk.h"

int main(int argc, char **argv) {
        _cleanup_(proc_walk_done) ProcWalk walk = {};
        char path[64], line[16];

        if (argc != 2)
                return 2;
        (void) snprintf(path, sizeof(path), "/proc/%s/task", argv[1]);
        while (fgets(line, sizeof(line), stdin)) {
                if (proc_walk_list_threads(&walk, AT_FDCWD, path, atoi(argv[1])) != 0) {
                        fprintf(stderr, "list-threads: %s cannot be listed\n", path);
                        return EXIT_FAILURE;
                }
                for (size_t i = 0; i < walk.n_ids; i++)
                        printf("%d ", (int) walk.ids[i]);
                printf("\n");
                if (fflush(stdout) != 0)
                        return EXIT_FAILURE;
        }
        return EXIT_SUCCESS;
}
