/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Survey
 *
 * A request of the daemon itself: a job reads the heads of all snapshots into the index. Calls that
 * name or list snapshots wait for it when the directory is not as the index knows it, because the
 * daemon has just started or somebody else changed the spool; then they see the same list. Other
 * calls are served meanwhile.
 */

#include "service/desk/desk.h"

/* Whether the index has to be read before it can be used. Never when there is no spool. */
bool survey_is_due(const Desk *desk);
/* Starts one unless it runs already. -ENOMEM when it could not be tried. */
_must_check_ int survey_start(Desk *desk);
/* The call is handled when the survey has ended. The request may be gone when this returns. */
void survey_await(Request *request);
