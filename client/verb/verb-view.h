/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * VerbView
 *
 * Shows one subject or compares two, for the verbs that end with that.
 */

#include "report/group-view.h"
#include "session/reference.h"
#include "session/session.h"
#include "view/view.h"

/* @view has two sides; both are opened. 0, or an exit status after a sentence. */
int compare_subjects(Session *session, GroupView *view, const SubjectReference subjects[static 2]);

/*
 * Calls Show about one subject, with that view. @on_reply gets the replies. 0, or an exit status
 * after a sentence.
 */
int call_show(Session *session, const SubjectReference *subject, const View *view,
              SessionOnReply on_reply, void *userdata);

/* The interval between two snapshots of the spool. 0, or an exit status after a sentence. */
int show_between(Session *session, GroupView *view, const char *before, const char *after);

/*
 * Refuses options that need two sides, before the interval that has one is read or comes about. 0
 * or an exit status.
 */
int refuse_sides_of_interval(const Options *options);
