/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * VerbView
 *
 * Compares two snapshots, for the verbs that end with a comparison.
 */

#include "report/group-view.h"
#include "session/session.h"

/* @view has two sides. 0, or an exit status after a sentence. */
int compare_snapshots(Session *session, GroupView *view, const char *before, const char *after);
