/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * SpoolOutcome
 *
 * What the functions of a spool return besides 0 and a negative errno. Each code is one error of
 * the protocol; service/request and worker/work translate.
 */

enum {
        SPOOL_OK,
        SPOOL_E_NOT_FOUND,
        SPOOL_E_EXISTS,
        SPOOL_E_DAMAGED,     /* the file is there and its head cannot be read */
        SPOOL_E_FULL,        /* budget, keep-free floor or ENOSPC: Spool has a complaint */
        SPOOL_E_UNAVAILABLE, /* no directory, not ours to write, read-only: Spool has a complaint */
        SPOOL_E_NOT_OWNER,
};
