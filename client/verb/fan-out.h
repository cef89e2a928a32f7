/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FanOut
 *
 * Runs a verb that asks many hosts. For each host, a process does what the verb would do for one
 * host; some of these processes run at a time. The output of a process is kept, and it is printed
 * in the order of the hosts, as soon as its host is the next one. Answers carry their host: a
 * heading above what people read, a first member "host" of JSON objects, and a first column of rows
 * that have no column of that name. The complaints of the hosts come last, and a complaint that
 * several hosts have is printed once for all of them.
 */

#include "remote/host-set.h"
#include "session/session.h"

#define FAN_OUT_DEFAULT 16u

typedef enum FanOutForm {
        FAN_OUT_TEXT,
        FAN_OUT_JSON,
        FAN_OUT_NDJSON,
        FAN_OUT_CSV,
} FanOutForm;

/*
 * @session: for what is printed here; it asks nobody. @form: what @run prints for one host. The
 * exit status.
 */
int fan_out(Session *session, FanOutForm form, int (*run)(Session *session), const HostSet *hosts);
