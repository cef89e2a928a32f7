/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * FakePeer
 *
 * What stands around the client: a daemon that has answered before it is asked, a terminal that
 * is what it is told to be, and a clock that goes on by a fixed step at each look. This takes the
 * place of client/call/dial, client/call/cancel and client/render/terminal at the link.
 */

#include "base/span.h"
#include "render/terminal.h"

/*
 * From here on: each call is answered with the next part of @script, up to a blank line. A part has
 * a frame in each line; where the line begins with '%', a descriptor comes with it.
 */
void fake_peer_begin(Span script, const Terminal *terminal);
/* Closes what the client has not. */
void fake_peer_end(void);
