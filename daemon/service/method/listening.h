/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Listening
 *
 * Keeps a job that hears of exits for as long as this process runs, where the settings want that
 * and no program counts exits. A job that dies takes its ledger along: another one begins, with
 * another id, and the journal says so. A private service has none, because a ledger that begins
 * with the first capture of one command has little to tell.
 */

#include "base/macro.h"
#include "service/manager/manager.h"
#include "service/request/request.h"

/*
 * At the start, when it is known or about to be known what programs there are; before, nothing is
 * started.
 */
void listening_begin(Manager *manager);
/* Starts or ends the job if that is due: when programs were loaded, settings changed, it died. */
void listening_look(Manager *manager);

/* A refusal may not hold any more: the settings have changed. */
void listening_reconsider(Manager *manager);
/*
 * Adds a line to the job to a capture's order, or why there is none; to the order of a probe, which
 * hears nothing, whether there is one.
 */
_must_check_ int listening_add(Request *request, CaptureOrder *order, bool is_probe);
