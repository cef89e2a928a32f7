/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Reference
 *
 * How a call names a snapshot: by its name in the spool, which is opened here, or by a descriptor
 * that came with the call. Jobs only get descriptors, and the daemon never opens a path that a
 * client names.
 */

#include "base/macro.h"
#include "order/order.h"
#include "service/request/request.h"

/*
 * Finds the name that @name, which may be "latest~N", stands for in the view of the request, from
 * which *ret is borrowed. 0, REQUEST_ANSWERED, or a negative errno.
 */
_must_check_ int reference_find(Request *request, const char *name, const char **ret);

/*
 * Where references of a call come in: what they name is opened and added to the order. Inside of
 * the handler only, because descriptors are taken from the call.
 */
OrderDoor reference_door(Request *request);
