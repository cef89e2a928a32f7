/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Spawner
 *
 * Starts children from one executable, which is opened once so that an upgrade on disk does not mix
 * versions. A child has only a socket (descriptor 3) open beside the three standard descriptors,
 * has default signal handlers and its own limits, and dies with its parent. It must not get
 * descriptors that peers sent, not even until execve(2): closing them may wait for whoever serves
 * the file. Therefore children get only the lowest part of the descriptor table, and the spawner
 * keeps every number in that part occupied.
 */

#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "base/macro.h"

typedef struct Spawner Spawner;

/* The status of a child whose execve(2) failed, as with shells. */
#define SPAWNER_EXIT_EXEC 127

/*
 * Adopts @executable_fd (O_PATH suffices) on success; @name becomes the children's argv[0].
 * Descriptors that are opened later have numbers above the ones that children get.
 */
_must_check_ int spawner_new(int executable_fd, const char *name, Spawner **ret);
Spawner *spawner_free(Spawner *spawner);
DEFINE_CLEANUP(Spawner *, spawner_free);

/*
 * Starts a child with @argument, the only one after its name, a duplicate of @socket_fd,
 * RLIMIT_DATA and RLIMIT_FSIZE (0: no bound). Returns once it has executed its program or failed
 * to. The caller has to reap it.
 */
_must_check_ int spawner_start(Spawner *spawner, const char *argument, int socket_fd,
                               uint64_t max_data_bytes, uint64_t max_file_bytes, pid_t *ret_pid);
