/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exits/exit-ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "kernel/procfs/procfs.h"

/* names */

void process_names_init(ProcessNames *names, int proc_fd) {
        *names = (ProcessNames){ .proc_fd = proc_fd };
}

static size_t place_of(pid_t tgid) {
        return (uint32_t) tgid & (PROCESS_NAMES_MAX - 1);
}

void process_names_learn(ProcessNames *names, pid_t tgid, const char name[static TASK_COMM_BYTES],
                         uint64_t now_ns) {
        ProcessName *place = &names->names[place_of(tgid)];

        place->tgid = tgid;
        place->learned_ns = now_ns;
        memcpy(place->name, name, sizeof(place->name));
}

bool process_names_recall(const ProcessNames *names, pid_t tgid, uint64_t now_ns,
                          char ret[static TASK_COMM_BYTES]) {
        const ProcessName *place = &names->names[place_of(tgid)];

        if (tgid <= 0 || place->tgid != tgid || now_ns - place->learned_ns > PROCESS_NAMES_AGE_NS)
                return false;
        memcpy(ret, place->name, sizeof(place->name));
        return true;
}

bool process_names_find(ProcessNames *names, pid_t tgid, uint64_t now_ns,
                        char ret[static TASK_COMM_BYTES]) {
        char path[32], text[128], name[TASK_COMM_BYTES] = "";
        size_t n;

        if (process_names_recall(names, tgid, now_ns, ret))
                return true;
        if (tgid <= 0 || names->proc_fd < 0)
                return false;
        (void) snprintf(path, sizeof(path), "%d/comm", (int) tgid);
        if (text_file_read(names->proc_fd, path, text, sizeof(text), &n) != 0 || n < 1)
                return false;
        /* The name may hold an end of line; the last one is the kernel's. */
        memcpy(name, text, MIN_OF(n - 1, sizeof(name)));
        process_names_learn(names, tgid, name, now_ns);
        memcpy(ret, name, sizeof(name));
        return true;
}

/* the ledger */

/* Threads that wait for the name of their process. */
#define WAITING_MAX 256u

struct ExitLedger {
        ExitTable table;
        ProcessNames names;
        ExitContext context;
        ExitRecord waiting[WAITING_MAX];
        size_t n_waiting;
        uint8_t id[16];
        uint64_t since_ns, n_told;
        uint64_t n_losses; /* how often some exits were lost; one that is unreadable is a loss */
};

int exit_ledger_new(const ExitLedgerSetup *setup, ExitLedger **ret) {
        _cleanup_(exit_ledger_freep) ExitLedger *ledger = calloc(1, sizeof(*ledger));
        int r;

        if (!ledger)
                return -ENOMEM;
        r = exit_table_init(&ledger->table, setup->max_rows);
        if (r < 0)
                return r;
        if (getrandom(ledger->id, sizeof(ledger->id), 0) != (ssize_t) sizeof(ledger->id))
                return -EIO;
        process_names_init(&ledger->names, setup->proc_fd);
        ledger->since_ns = setup->now_ns;
        ledger->context = (ExitContext){
                .begun_ns = setup->now_ns,
                .self = setup->self,
                .own = setup->own,
                .subordinates = setup->subordinates,
        };
        ledger->table.tidied_ns = setup->now_ns;
        *ret = TAKE_PTR(ledger);
        return 0;
}

ExitLedger *exit_ledger_free(ExitLedger *ledger) {
        if (!ledger)
                return NULL;
        exit_table_done(&ledger->table);
        free(ledger);
        return NULL;
}

/* taking */

static void add(ExitLedger *ledger, ExitRecord *record, const char *process, size_t n) {
        memset(record->key.process, 0, sizeof(record->key.process));
        memcpy(record->key.process, process, MIN_OF(n, sizeof(record->key.process)));
        exit_table_add(&ledger->table, &record->key, &record->values);
}

static void add_unknown(ExitLedger *ledger, ExitRecord *record) {
        add(ledger, record, EXIT_LEDGER_UNKNOWN, strlen(EXIT_LEDGER_UNKNOWN));
}

static void take_one(ExitLedger *ledger, ExitRecord *record) {
        char process[TASK_COMM_BYTES];

        if (exit_record_is_leader(record))
                add(ledger, record, record->key.thread, sizeof(record->key.thread));
        else if (process_names_find(&ledger->names, record->tgid, ledger->context.now_ns, process))
                add(ledger, record, process, sizeof(process));
        else if (record->tgid <= 0 || ledger->n_waiting == WAITING_MAX)
                add_unknown(ledger, record);
        else
                ledger->waiting[ledger->n_waiting++] = *record;
}

static void look_up_waiting(ExitLedger *ledger) {
        size_t n_left = 0;

        for (size_t i = 0; i < ledger->n_waiting; i++) {
                ExitRecord *record = &ledger->waiting[i];
                char process[TASK_COMM_BYTES];

                if (process_names_recall(&ledger->names, record->tgid, ledger->context.now_ns,
                                         process))
                        add(ledger, record, process, sizeof(process));
                else
                        ledger->waiting[n_left++] = *record;
        }
        ledger->n_waiting = n_left;
}

static void give_up_waiting(ExitLedger *ledger) {
        for (size_t i = 0; i < ledger->n_waiting; i++)
                add_unknown(ledger, &ledger->waiting[i]);
        ledger->n_waiting = 0;
}

void exit_ledger_take(ExitLedger *ledger, const ExitBatch *batch, uint64_t now_ns) {
        ledger->context.now_ns = now_ns;
        ledger->n_losses += batch->n_unreadable + batch->has_lost;
        for (size_t i = 0; i < batch->n; i++) {
                ExitRecord record = exit_record_of(&batch->exits[i], &ledger->context);

                if (exit_record_is_leader(&record))
                        process_names_learn(&ledger->names, record.tgid, record.key.thread, now_ns);
                take_one(ledger, &record);
        }
        look_up_waiting(ledger);
        if (batch->is_empty)
                give_up_waiting(ledger);
        exit_table_tidy(&ledger->table, now_ns);
}

/* telling */

int exit_ledger_tell(ExitLedger *ledger, uint64_t now_ns, int *ret) {
        LedgerFileHead head = {
                .origin = LEDGER_FROM_TASKSTATS,
                .since_ns = ledger->since_ns,
                .n_losses = ledger->n_losses,
        };
        int r;

        give_up_waiting(ledger);
        exit_table_tidy(&ledger->table, now_ns);
        /* As with programs, where a capture counts the generations in the upper half. */
        head.generation = (ledger->n_told + 1) << 32;
        memcpy(head.id, ledger->id, sizeof(head.id));
        r = ledger_file_write(&head, ledger->table.rows, ledger->table.n_rows, NULL, NULL, ret);
        if (r < 0)
                return r;
        ledger->n_told++;
        ledger->context.begun_ns = now_ns;
        return 0;
}

const ExitTable *exit_ledger_table(const ExitLedger *ledger) {
        return &ledger->table;
}
