/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Dial
 *
 * Connects to the daemon's socket. A refusal is explained in a sentence: no daemon is there, or the
 * user is not in the group that may connect.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/macro.h"

enum {
        DIAL_OK,
        DIAL_E_REFUSED, /* the complaint is a sentence with the way out */
        DIAL_E_CANCELLED,
};

#define DIAL_COMPLAINT_BYTES 1024

/*
 * A connected socket. @timeout_ns bounds the wait for a daemon that does not accept; 0: a default.
 * @offers_local: the sentence may advise --local, which a bridge for another host does not have.
 */
_must_check_ int dial(const char *path, uint64_t timeout_ns, bool offers_local, int *ret_fd,
                      char ret_complaint[static DIAL_COMPLAINT_BYTES]);

/*
 * Writes what to tell @user when connect(2) to @path failed with errno @error. @group: that owns
 * the socket, by name or number; NULL when that is unknown, "" when it is root's.
 */
void dial_format_refusal(const char *path, int error, const char *group, const char *user,
                         bool offers_local, char ret_complaint[static DIAL_COMPLAINT_BYTES]);
