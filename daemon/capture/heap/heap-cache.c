/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/heap/heap-cache.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/index.h"

/* Files of one capture that are kept until it is written. */
#define MAX_FILES_IN_MEMORY (2 * HEAP_CACHE_MAX_FILES)

#define CACHE_VERSION 5
static const char cache_magic[8] = "ctpheap";

/*
 * The file: a header, the records of files, the records of processes, those of commands, each with
 * its bytes behind it.
 */

typedef struct CacheHeader {
        char magic[8];
        uint32_t version;
        uint32_t n_file_bytes, n_process_bytes; /* of a record */
        uint32_t n_files, n_processes, n_commands;
        uint64_t n_command_bytes;                /* of all of them */
        uint64_t sequence;                       /* of captures */
        unsigned char digest[HASH_DIGEST_BYTES]; /* of the whole, with this as zeros */
} CacheHeader;

typedef struct FileKey {
        FileIdentity identity;
        uint64_t question;
} FileKey;

typedef struct FileRecord {
        FileKey key;
        uint64_t used; /* number of the capture that asked for it last */
        FileAnswer answer;
} FileRecord;

typedef struct CommandRecord {
        CommandKey key;
        uint32_t lines; /* CommandLines */
        uint16_t n_command, n_line;
} CommandRecord;

typedef struct CommandItem {
        CommandRecord record;
        size_t at; /* of its bytes: the command, then the line */
} CommandItem;

/* Keys are compared byte by byte. */
_Static_assert(sizeof(FileKey) == 6 * sizeof(uint64_t), "the key of a file has no padding");
_Static_assert(sizeof(CommandKey) == 5 * sizeof(uint64_t) + COMMAND_KEY_NAME_BYTES,
               "the key of a command has no padding");
_Static_assert(sizeof(HeapProcessKey) == 6 * sizeof(uint64_t),
               "the key of a process has no padding");

typedef struct CommandTable {
        CacheTable table; /* of CommandItem */
        Buffer texts;
} CommandTable;

struct HeapCache {
        pthread_mutex_t lock;
        uint64_t sequence;
        CacheTable files;       /* of FileRecord */
        CacheTable known, seen; /* of HeapProcess: by earlier captures, by this one */
        CommandTable known_commands, seen_commands;
};

/* tables */

static void *table_item(const CacheTable *table, size_t i) {
        return table->items + i * table->n_item_bytes;
}

static Span table_key(const void *owner, size_t element) {
        const CacheTable *table = owner;

        return (Span){ table_item(table, element), table->n_key_bytes };
}

void *cache_table_find(const CacheTable *table, const void *key) {
        size_t i = index_find(&table->index, (Span){ key, table->n_key_bytes }, table_key, table);

        return i == INDEX_NONE ? NULL : table_item(table, i);
}

int cache_table_add(CacheTable *table, const void *item) {
        int r;

        if (table->n == table->n_max)
                return 0;
        r = ARRAY_RESERVE(table->items, table->n_allocated, (table->n + 1) * table->n_item_bytes);
        if (r == 0)
                r = index_add(&table->index, (Span){ item, table->n_key_bytes }, table->n);
        if (r == 0)
                memcpy(table_item(table, table->n++), item, table->n_item_bytes);
        return r;
}

void cache_table_done(CacheTable *table) {
        free(table->items);
        index_done(&table->index);
}

/* Replaces a process that is in the table. */
static int put_process(CacheTable *table, const HeapProcess *process) {
        HeapProcess *known = cache_table_find(table, &process->key);

        if (!known)
                return cache_table_add(table, process);
        *known = *process;
        return 0;
}

/* Leaves a command that is in the table as it is. */
static int put_command(CommandTable *commands, const CommandRecord *record, const char *command,
                       const char *line) {
        CommandItem item = { .record = *record, .at = commands->texts.n };
        int r;

        if (commands->table.n == commands->table.n_max ||
            cache_table_find(&commands->table, record))
                return 0;
        (void) buffer_append(&commands->texts, command, record->n_command);
        r = buffer_append(&commands->texts, line, record->n_line);
        return r == 0 ? cache_table_add(&commands->table, &item) : r;
}

int heap_cache_new(HeapCache **ret) {
        const CacheTable processes = {
                .n_item_bytes = sizeof(HeapProcess),
                .n_key_bytes = sizeof(HeapProcessKey),
                .n_max = HEAP_CACHE_MAX_PROCESSES,
        };
        const CommandTable commands = {
                .table = { .n_item_bytes = sizeof(CommandItem),
                           .n_key_bytes = sizeof(CommandKey),
                           .n_max = HEAP_CACHE_MAX_PROCESSES },
        };
        HeapCache *cache = malloc(sizeof(*cache));

        if (!cache)
                return -ENOMEM;
        *cache = (HeapCache){
                .files = { .n_item_bytes = sizeof(FileRecord),
                           .n_key_bytes = sizeof(FileKey),
                           .n_max = MAX_FILES_IN_MEMORY },
                .known = processes,
                .seen = processes,
                .known_commands = commands,
                .seen_commands = commands,
        };
        (void) pthread_mutex_init(&cache->lock, NULL);
        *ret = cache;
        return 0;
}

HeapCache *heap_cache_free(HeapCache *cache) {
        if (!cache)
                return NULL;
        cache_table_done(&cache->files);
        cache_table_done(&cache->known);
        cache_table_done(&cache->seen);
        cache_table_done(&cache->known_commands.table);
        buffer_done(&cache->known_commands.texts);
        cache_table_done(&cache->seen_commands.table);
        buffer_done(&cache->seen_commands.texts);
        (void) pthread_mutex_destroy(&cache->lock);
        free(cache);
        return NULL;
}

/* loading */

static int read_whole(int fd, void *memory, size_t n) {
        size_t n_read;
        int r = file_read_at(fd, memory, n, 0, &n_read);

        return r == 0 && n_read < n ? -EBADMSG : r;
}

static bool take_bytes(Span *rest, void *ret, size_t n) {
        if (rest->n < n)
                return false;
        memcpy(ret, rest->bytes, n);
        *rest = (Span){ rest->bytes + n, rest->n - n };
        return true;
}

static int take_records(HeapCache *cache, const CacheHeader *header, Span rest) {
        CommandRecord record;
        HeapProcess process;
        FileRecord file;
        int r = 0;

        cache->sequence = header->sequence + 1;
        for (uint32_t i = 0; i < header->n_files && r == 0; i++)
                if (take_bytes(&rest, &file, sizeof(file)) &&
                    !cache_table_find(&cache->files, &file.key))
                        r = cache_table_add(&cache->files, &file);
        for (uint32_t i = 0; i < header->n_processes && r == 0; i++)
                if (take_bytes(&rest, &process, sizeof(process)))
                        r = put_process(&cache->known, &process);
        for (uint32_t i = 0; i < header->n_commands && r == 0; i++) {
                size_t n_texts;

                if (!take_bytes(&rest, &record, sizeof(record)))
                        return 0;
                n_texts = (size_t) record.n_command + record.n_line;
                if (record.n_command > COMMAND_MAX_BYTES || record.n_line > COMMAND_MAX_BYTES ||
                    rest.n < n_texts)
                        return 0;
                r = put_command(&cache->known_commands, &record, rest.bytes,
                                rest.bytes + record.n_command);
                rest = (Span){ rest.bytes + n_texts, rest.n - n_texts };
        }
        return r;
}

int heap_cache_load(HeapCache *cache, int fd) {
        unsigned char digest[HASH_DIGEST_BYTES];
        _cleanup_(freep) char *bytes = NULL;
        CacheHeader header;
        size_t n;

        if (read_whole(fd, &header, sizeof(header)) != 0 ||
            memcmp(header.magic, cache_magic, sizeof(cache_magic)) != 0 ||
            header.version != CACHE_VERSION || header.n_file_bytes != sizeof(FileRecord) ||
            header.n_process_bytes != sizeof(HeapProcess) ||
            header.n_files > HEAP_CACHE_MAX_FILES ||
            header.n_processes > HEAP_CACHE_MAX_PROCESSES ||
            header.n_commands > HEAP_CACHE_MAX_PROCESSES ||
            header.n_command_bytes >
                    header.n_commands * (sizeof(CommandRecord) + 2 * COMMAND_MAX_BYTES))
                return 0;
        n = sizeof(header) + header.n_files * sizeof(FileRecord) +
            header.n_processes * sizeof(HeapProcess) + (size_t) header.n_command_bytes;
        bytes = malloc(n);
        if (!bytes)
                return -ENOMEM;
        if (read_whole(fd, bytes, n) != 0 || memcmp(bytes, &header, sizeof(header)) != 0)
                return 0;
        memset(bytes + offsetof(CacheHeader, digest), 0, sizeof(header.digest));
        hash_digest((Span){ bytes, n }, digest);
        if (memcmp(digest, header.digest, sizeof(digest)) != 0)
                return 0;
        return take_records(cache, &header, (Span){ bytes + sizeof(header), n - sizeof(header) });
}

/* storing */

static int latest_first(const void *a, const void *b) {
        uint64_t used_a = ((const FileRecord *) a)->used, used_b = ((const FileRecord *) b)->used;

        return (used_a < used_b) - (used_a > used_b);
}

/* As many items as there is room for. Returns how many. */
static uint32_t append_items(Buffer *buffer, uint64_t n_room, const CacheTable *table, size_t n) {
        n = MIN_OF(n, (size_t) ((n_room - buffer->n) / table->n_item_bytes));
        (void) buffer_append(buffer, table->items, n * table->n_item_bytes);
        return (uint32_t) n;
}

int heap_cache_store(HeapCache *cache, int fd) {
        _cleanup_(buffer_done) Buffer buffer;
        const CommandTable *commands = &cache->seen_commands;
        /*
         * A capture that leaves the counters out looks for no process: it cannot tell which have
         * ended.
         */
        const CacheTable *processes = cache->seen.n > 0 ? &cache->seen : &cache->known;
        CacheHeader header = {
                .version = CACHE_VERSION,
                .n_file_bytes = sizeof(FileRecord),
                .n_process_bytes = sizeof(HeapProcess),
                .sequence = cache->sequence,
        };
        size_t n_written = 0, n_before;
        struct stat status;
        uint64_t n_room;

        buffer_init(&buffer, 0);
        if (fstat(fd, &status) < 0)
                return -errno;
        if (status.st_size < (off_t) sizeof(header))
                return -ENOSPC;
        n_room = (uint64_t) status.st_size;
        memcpy(header.magic, cache_magic, sizeof(cache_magic));
        if (cache->files.n > 0)
                qsort(cache->files.items, cache->files.n, sizeof(FileRecord), latest_first);
        (void) buffer_append(&buffer, &header, sizeof(header));
        /* Files first: one costs more to parse than a process to look at. */
        header.n_files = append_items(&buffer, n_room, &cache->files,
                                      MIN_OF(cache->files.n, (size_t) HEAP_CACHE_MAX_FILES));
        header.n_processes = append_items(&buffer, n_room, processes, processes->n);
        n_before = buffer.n;
        for (size_t i = 0; i < commands->table.n; i++) {
                const CommandItem *item = table_item(&commands->table, i);
                size_t n_texts = (size_t) item->record.n_command + item->record.n_line;

                if (sizeof(item->record) + n_texts > n_room - buffer.n)
                        break;
                (void) buffer_append(&buffer, &item->record, sizeof(item->record));
                if (n_texts > 0)
                        (void) buffer_append(&buffer, commands->texts.bytes + item->at, n_texts);
                header.n_commands++;
        }
        header.n_command_bytes = buffer.n - n_before;
        if (buffer_failure(&buffer) != 0)
                return buffer_failure(&buffer);
        memcpy(buffer.bytes, &header, sizeof(header));
        hash_digest(buffer_span(&buffer), header.digest);
        memcpy(buffer.bytes, &header, sizeof(header));
        while (n_written < buffer.n) {
                ssize_t n_more = pwrite(fd, buffer.bytes + n_written, buffer.n - n_written,
                                        (off_t) n_written);

                if (n_more < 0 && errno == EINTR)
                        continue;
                if (n_more < 0)
                        return -errno;
                n_written += (size_t) n_more;
        }
        return 0;
}

/* use */

bool heap_cache_find_file(HeapCache *cache, const FileIdentity *identity, FileQuestion question,
                          void *ret_answer) {
        const FileKey key = { .identity = *identity, .question = question };
        FileRecord *found;

        (void) pthread_mutex_lock(&cache->lock);
        found = cache_table_find(&cache->files, &key);
        if (found) {
                found->used = cache->sequence;
                memcpy(ret_answer, &found->answer, file_answer_bytes(question));
        }
        (void) pthread_mutex_unlock(&cache->lock);
        return found;
}

int heap_cache_put_file(HeapCache *cache, const FileIdentity *identity, FileQuestion question,
                        const void *answer) {
        FileRecord record = {
                .key = { .identity = *identity, .question = question },
                .used = cache->sequence,
        };
        int r = 0;

        memcpy(&record.answer, answer, file_answer_bytes(question));
        (void) pthread_mutex_lock(&cache->lock);
        if (!cache_table_find(&cache->files, &record.key))
                r = cache_table_add(&cache->files, &record);
        (void) pthread_mutex_unlock(&cache->lock);
        return r;
}

bool heap_cache_expects_plans(const HeapCache *cache) {
        for (size_t i = 0; i < cache->known.n; i++) {
                const HeapProcess *process = table_item(&cache->known, i);

                if (process->found.n_plans > 0)
                        return true;
        }
        return cache->known.n == 0;
}

bool heap_cache_find_process(HeapCache *cache, const HeapProcessKey *key, HeapProcess *ret) {
        const HeapProcess *found;

        (void) pthread_mutex_lock(&cache->lock);
        found = cache_table_find(&cache->seen, key);
        if (!found) {
                found = cache_table_find(&cache->known, key);
                /* Without memory for it, it is only looked at again. */
                if (found)
                        (void) !cache_table_add(&cache->seen, found);
        }
        if (found)
                *ret = *found;
        (void) pthread_mutex_unlock(&cache->lock);
        return found;
}

int heap_cache_put_process(HeapCache *cache, const HeapProcess *process) {
        int r;

        (void) pthread_mutex_lock(&cache->lock);
        r = put_process(&cache->seen, process);
        (void) pthread_mutex_unlock(&cache->lock);
        return r;
}

bool heap_cache_find_command(HeapCache *cache, const CommandKey *key, CommandLines lines,
                             ProcessCommand *ret) {
        const CommandTable *table = &cache->seen_commands;
        const CommandItem *found;

        (void) pthread_mutex_lock(&cache->lock);
        found = cache_table_find(&table->table, key);
        if (!found) {
                table = &cache->known_commands;
                found = cache_table_find(&table->table, key);
        }
        if (found && found->record.lines < lines)
                found = NULL;
        if (found) {
                const Span texts = buffer_span(&table->texts);
                CommandRecord record = found->record;

                record.lines = lines;
                record.n_line = lines == COMMAND_LINES_FULL ? record.n_line : 0;
                ret->n_command = record.n_command;
                ret->n_line = record.n_line;
                if (record.n_command > 0)
                        memcpy(ret->command, texts.bytes + found->at, record.n_command);
                if (record.n_line > 0)
                        memcpy(ret->line, texts.bytes + found->at + record.n_command,
                               record.n_line);
                /* Without memory for it, it is only read again. */
                if (table == &cache->known_commands)
                        (void) !put_command(&cache->seen_commands, &record, ret->command,
                                            ret->line);
        }
        (void) pthread_mutex_unlock(&cache->lock);
        return found;
}

int heap_cache_put_command(HeapCache *cache, const CommandKey *key, CommandLines lines,
                           const ProcessCommand *command) {
        const CommandRecord record = {
                .key = *key,
                .lines = lines,
                .n_command = (uint16_t) command->n_command,
                .n_line = (uint16_t) command->n_line,
        };
        int r;

        (void) pthread_mutex_lock(&cache->lock);
        r = put_command(&cache->seen_commands, &record, command->command, command->line);
        (void) pthread_mutex_unlock(&cache->lock);
        return r;
}
