/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * A netlink socket to the taskstats family, for whoever asks about threads (taskstats.h) and for
 * whoever hears of their exits (exit-socket.h).
 */

#include <netlink/netlink.h>
#include <stdint.h>
#include "base/macro.h"

/*
 * *ret is the caller's, to be freed with nl_socket_free(). Receiving on it ends after
 * @timeout_seconds. TASKSTATS_E_NO_FAMILY, -errno.
 */
_must_check_ int taskstats_connect(unsigned timeout_seconds, struct nl_sock **ret,
                                   uint16_t *ret_family);

/* The negative errno of a failure of libnl. */
int taskstats_errno(int r);
