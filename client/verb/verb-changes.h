/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * VerbChanges
 *
 * "export --changes": what was done between each two snapshots of this host that follow each other,
 * as one stream of rows that a database loads; ctprof-rows(5) is their contract. The caller keeps
 * the name of the last snapshot, from which the next export goes on.
 */

#include "session/session.h"

int export_changes(Session *session);
