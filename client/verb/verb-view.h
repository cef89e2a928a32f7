/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * VerbView
 *
 * The comparison of two snapshots, for the verbs that end in one.
 */

#include "report/group-view.h"
#include "session/session.h"

/* @view has two sides. 0 or an exit status, said. */
int compare_snapshots(Session *session, GroupView *view, const char *before, const char *after);
