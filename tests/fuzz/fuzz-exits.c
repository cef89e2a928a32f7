/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * The kernel's messages about threads that exit: a byte that says how they come, then datagrams,
 * each behind its length. The first two bits of the byte choose the room of the table; with the
 * third one something else waits in the socket to the end. Every message that can be read is in
 * exactly one row, whatever names it has, and so is its run time; the table stays within its bound;
 * what is told can be opened and is the same. Of a cut datagram nothing is made up.
 *
 * Aims at: daemon/exits/exit-ledger.c, daemon/exits/exit-record.c,
 *          daemon/kernel/taskstats/taskstats-message.c
 */
#include "fuzz.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "exits/exit-ledger.h"

#define FAMILY 31
#define BEGAN UINT64_C(1000000000000)

typedef struct Expected {
        uint64_t exits, run_ns, unreadable;
} Expected;

static void decode(Span datagram, ExitBatch *batch, Expected *expected) {
        _cleanup_(freep) char *copy = fuzz_copy(datagram);
        TaskstatsExit *told = &batch->exits[batch->n];
        uint64_t run_ns = 0;
        int r = taskstats_exit_decode(copy, datagram.n, FAMILY, told);

        fuzz_expect(r == 0 || r == TASKSTATS_E_NO_EXIT || r == TASKSTATS_E_MALFORMED ||
                            r == TASKSTATS_E_TOO_OLD,
                    "a datagram is an exit or it is not");
        fuzz_expect(r != 0 || datagram.n > NLMSG_HDRLEN, "nothing is made up");
        if (r == 0) {
                (void) taskstats_get(&told->stats, TASKSTATS_CPU_RUN_VIRTUAL_NS, &run_ns);
                expected->exits++;
                expected->run_ns += run_ns;
                batch->n++;
        } else if (r != TASKSTATS_E_NO_EXIT) {
                expected->unreadable++;
                batch->n_unreadable++;
        }
}

static void check_told(const LedgerFile *file, const Expected *expected, size_t max_rows) {
        const LedgerFileHead *head = file->head;
        uint64_t exits = 0, run_ns = 0;

        fuzz_expect(head->n_rows >= 1 && head->n_rows <= max_rows, "the table has its bound");
        fuzz_expect(head->n_losses == expected->unreadable, "what is unreadable is a loss");
        for (size_t i = 0; i < head->n_rows; i++) {
                const LedgerRow *row = &file->rows[i].row;

                exits += row->values.exits;
                run_ns += row->values.sums[LEDGER_run_time_ns];
                fuzz_expect(row->values.young <= row->values.exits, "the young are some of all");
                for (size_t k = 0; k < i; k++)
                        fuzz_expect(memcmp(&file->rows[k].row.key, &row->key, sizeof(row->key)) !=
                                            0,
                                    "a key has one row");
        }
        fuzz_expect(exits == expected->exits, "each exit is in one row");
        fuzz_expect(run_ns == expected->run_ns, "and its run time too");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        FuzzInput input = fuzz_input(data, size);
        uint8_t how = fuzz_take_u8(&input);
        ExitLedgerSetup setup = {
                .proc_fd = -EBADF,
                .self = 903,
                .max_rows = 2u + 3u * (how & 3u),
                .now_ns = BEGAN,
        };
        _cleanup_(exit_ledger_freep) ExitLedger *ledger = NULL;
        _cleanup_(ledger_file_freep) LedgerFile *file = NULL;
        _cleanup_(freep) ExitBatch *batch = calloc(1, sizeof(*batch));
        _cleanup_(fd_closep) int fd = -EBADF;
        Expected expected = {};

        fuzz_expect(batch && exit_ledger_new(&setup, &ledger) == 0, "there is a ledger");
        while (input.n > 0) {
                batch->n = batch->n_unreadable = 0;
                while (input.n > 0 && batch->n < TASKSTATS_BATCH_MAX)
                        decode(fuzz_take(&input, fuzz_take_u16(&input)), batch, &expected);
                batch->is_empty = input.n == 0 && !(how & 4);
                exit_ledger_take(ledger, batch, BEGAN + 1);
        }
        fuzz_expect(exit_ledger_tell(ledger, BEGAN + 2, &fd) == 0, "the ledger can be told");
        fuzz_expect(ledger_file_open(fd, &file) == 0, "what is told can be opened");
        check_told(file, &expected, setup.max_rows);
        return 0;
}
