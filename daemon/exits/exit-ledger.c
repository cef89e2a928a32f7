/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exits/exit-ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/array.h"
#include "base/number.h"
#include "base/span.h"
#include "kernel/procfs/procfs.h"

/* Between two times that rows are made fewer; and so many new ones are worth it. */
#define MIN_INTERVAL_NS NSEC_PER_SEC
#define MIN_MADE(max_rows) ((max_rows) / 64)
#define AGING_INTERVAL_NS (600 * NSEC_PER_SEC)

static Span key_of(const void *owner, size_t element) {
        const ExitTable *table = owner;

        return (Span){ (const char *) &table->rows[element].key, sizeof(LedgerKey) };
}

static Span owner_of(const void *owner, size_t element) {
        const ExitTable *table = owner;

        return (Span){ (const char *) &table->owners[element].uid, sizeof(uint64_t) };
}

/* The place of the row among all, or INDEX_NONE: there is no memory for it. */
static size_t append_row(ExitTable *table, const LedgerKey *key) {
        Span bytes = { (const char *) key, sizeof(*key) };

        if (ARRAY_RESERVE(table->rows, table->n_rows_allocated, table->n_rows + 1) < 0 ||
            index_add(&table->index, bytes, table->n_rows) < 0)
                return INDEX_NONE;
        table->rows[table->n_rows] = (LedgerRow){ .key = *key };
        return table->n_rows++;
}

static size_t find_row(const ExitTable *table, const LedgerKey *key) {
        Span bytes = { (const char *) key, sizeof(*key) };

        return index_find(&table->index, bytes, key_of, table);
}

/* The last one is that of all others. */
static LedgerOwner *find_owner(ExitTable *table, uint32_t uid) {
        const uint64_t id = (uint64_t) uid + 1;
        Span bytes = { (const char *) &id, sizeof(id) };
        size_t found = index_find(&table->owner_index, bytes, owner_of, table);

        if (found == INDEX_NONE && table->n_owners < LEDGER_MAX_OWNERS &&
            index_add(&table->owner_index, bytes, table->n_owners) == 0) {
                found = table->n_owners++;
                table->owners[found] = (LedgerOwner){ .uid = id };
        }
        return &table->owners[found == INDEX_NONE ? LEDGER_MAX_OWNERS : found];
}

int exit_table_init(ExitTable *table, size_t max_rows) {
        const LedgerKey others = { .flags = LEDGER_OVERFLOW, .owner = LEDGER_OTHERS };

        *table = (ExitTable){ .max_rows = max_rows };
        table->owners = calloc(LEDGER_MAX_OWNERS + 1, sizeof(*table->owners));
        if (!table->owners || append_row(table, &others) == INDEX_NONE) {
                exit_table_done(table);
                return -ENOMEM;
        }
        return 0;
}

void exit_table_done(ExitTable *table) {
        free(table->rows);
        free(table->owners);
        index_done(&table->index);
        index_done(&table->owner_index);
        *table = (ExitTable){};
}

static void count(ExitTable *table, const LedgerKey *key) {
        if (key->flags & LEDGER_OVERFLOW)
                return;
        find_owner(table, key->owner)->n_rows++;
        table->n_counted++;
}

void exit_table_add(ExitTable *table, const LedgerKey *key, const LedgerValues *values) {
        const LedgerOwner *owner = find_owner(table, key->owner);
        LedgerValues added = *values;
        size_t row = find_row(table, key);

        if (row == INDEX_NONE &&
            ledger_has_room(key->owner, owner->n_rows + 1, table->n_counted + 1, table->max_rows)) {
                row = append_row(table, key);
                if (row != INDEX_NONE) {
                        count(table, key);
                        table->n_made++;
                }
        }
        if (row == INDEX_NONE) {
                /* The row for what finds no other, which an owner gets when it is needed. */
                LedgerKey overflow = { .flags = LEDGER_OVERFLOW | (key->flags & LEDGER_OF_SELF),
                                       .owner = key->owner };

                row = find_row(table, &overflow);
                if (row == INDEX_NONE && owner != &table->owners[LEDGER_MAX_OWNERS])
                        row = append_row(table, &overflow);
                if (row == INDEX_NONE)
                        row = table->others;
                added.n_overflow = values->exits;
        }
        ledger_values_add(&table->rows[row].values, &added);
}

void exit_table_tidy(ExitTable *table, uint64_t now_ns) {
        const LedgerCoarsening how = {
                .max_rows = table->max_rows,
                .idle_since_ns = now_ns - MIN_OF(now_ns, LEDGER_IDLE_NS),
        };
        bool is_due = false, may_be_due = table->n_made >= MIN_MADE(table->max_rows) &&
                                          now_ns - table->tidied_ns >= MIN_INTERVAL_NS;

        for (size_t i = 0; i <= LEDGER_MAX_OWNERS && may_be_due && !is_due; i++)
                is_due = table->owners[i].n_rows > 0 &&
                         ledger_is_pressed(
                                 i < LEDGER_MAX_OWNERS ? (uint32_t) (table->owners[i].uid - 1)
                                                       : LEDGER_OTHERS,
                                 table->owners[i].n_rows, table->n_counted, table->max_rows);
        if (!is_due && now_ns - table->tidied_ns < AGING_INTERVAL_NS)
                return;
        table->tidied_ns = now_ns;
        if (ledger_rows_coarsen(table->rows, &table->n_rows, &how) != 0)
                return;
        /* There is memory for as many elements as there were. */
        index_clear(&table->index);
        table->n_counted = 0;
        for (size_t i = 0; i <= LEDGER_MAX_OWNERS; i++)
                table->owners[i].n_rows = 0;
        for (size_t i = 0; i < table->n_rows; i++) {
                const LedgerKey *key = &table->rows[i].key;
                Span bytes = { (const char *) key, sizeof(*key) };

                (void) !index_add(&table->index, bytes, i);
                count(table, key);
                if (key->owner == LEDGER_OTHERS && key->flags == LEDGER_OVERFLOW)
                        table->others = i;
        }
        table->n_made = 0;
}

/* names */

void process_names_learn(ProcessNames *names, pid_t tgid, const char name[static TASK_COMM_BYTES],
                         uint64_t now_ns) {
        ProcessName *place = &names->names[(uint32_t) tgid % PROCESS_NAMES_MAX];

        place->tgid = tgid;
        place->learned_ns = now_ns;
        memcpy(place->name, name, sizeof(place->name));
}

bool process_names_recall(const ProcessNames *names, pid_t tgid, uint64_t now_ns,
                          char ret[static TASK_COMM_BYTES]) {
        const ProcessName *place = &names->names[(uint32_t) tgid % PROCESS_NAMES_MAX];

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
        ledger->names.proc_fd = setup->proc_fd;
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

static void give_up_waiting(ExitLedger *ledger) {
        for (size_t i = 0; i < ledger->n_waiting; i++)
                add_unknown(ledger, &ledger->waiting[i]);
        ledger->n_waiting = 0;
}

void exit_ledger_take(ExitLedger *ledger, const ExitBatch *batch, uint64_t now_ns) {
        char process[TASK_COMM_BYTES];
        size_t n_left = 0;

        ledger->context.now_ns = now_ns;
        ledger->n_losses += batch->n_unreadable + batch->has_lost;
        for (size_t i = 0; i < batch->n; i++) {
                ExitRecord record = exit_record_of(&batch->exits[i], &ledger->context);

                /* The first thread has the number of its process, and its name. */
                if (record.tid == record.tgid) {
                        process_names_learn(&ledger->names, record.tgid, record.key.thread, now_ns);
                        add(ledger, &record, record.key.thread, sizeof(record.key.thread));
                } else if (process_names_find(&ledger->names, record.tgid, now_ns, process))
                        add(ledger, &record, process, sizeof(process));
                else if (record.tgid <= 0 || ledger->n_waiting == EXIT_LEDGER_WAITING_MAX)
                        add_unknown(ledger, &record);
                else
                        ledger->waiting[ledger->n_waiting++] = record;
        }
        /* The message of a first thread may have come for some that wait. */
        for (size_t i = 0; i < ledger->n_waiting; i++) {
                ExitRecord *record = &ledger->waiting[i];

                if (process_names_recall(&ledger->names, record->tgid, now_ns, process))
                        add(ledger, record, process, sizeof(process));
                else
                        ledger->waiting[n_left++] = *record;
        }
        ledger->n_waiting = n_left;
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
