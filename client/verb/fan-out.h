/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FanOut
 *
 * A verb that asks many hosts: a process for each of them, some at a time, does what it would do
 * for one. Its output is kept and printed in the order of the hosts, as soon as it is the next
 * one's. Answers carry their host: a heading above what people read, a first member "host" of JSON
 * objects, and a first column of rows that have none of that name. What hosts complain about comes
 * last, once for all hosts that complain about the same.
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
