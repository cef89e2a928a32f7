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
#include "base/index.h"

/* Files of one capture that are kept until it is written. */
#define MAX_FILES_IN_MEMORY (2 * HEAP_CACHE_MAX_FILES)

#define CACHE_VERSION 3
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

/* Keys are compared byte by byte. */
_Static_assert(sizeof(FileKey) == 6 * sizeof(uint64_t), "the key of a file has no padding");
_Static_assert(sizeof(CommandKey) == 5 * sizeof(uint64_t) + COMMAND_KEY_NAME_BYTES,
               "the key of a command has no padding");
_Static_assert(sizeof(HeapProcessKey) == 6 * sizeof(uint64_t),
               "the key of a process has no padding");

typedef struct ProcessTable {
        HeapProcess *items; /* owned */
        size_t n, n_allocated;
        Index index;
} ProcessTable;

typedef struct CommandRecord {
        CommandKey key;
        uint32_t lines; /* CommandLines */
        uint16_t n_command, n_line;
} CommandRecord;

typedef struct CommandItem {
        CommandRecord record;
        size_t at; /* of its bytes: the command, then the line */
} CommandItem;

typedef struct CommandTable {
        CommandItem *items; /* owned */
        size_t n, n_allocated;
        Buffer texts;
        Index index;
} CommandTable;

struct HeapCache {
        pthread_mutex_t lock;
        uint64_t sequence;
        FileRecord *files; /* owned */
        size_t n_files, n_files_allocated;
        Index file_index;
        ProcessTable known; /* by earlier captures */
        ProcessTable seen;  /* by this one */
        CommandTable known_commands, seen_commands;
};

int heap_cache_new(HeapCache **ret) {
        HeapCache *cache = calloc(1, sizeof(*cache));

        if (!cache)
                return -ENOMEM;
        (void) pthread_mutex_init(&cache->lock, NULL);
        *ret = cache;
        return 0;
}

static void process_table_done(ProcessTable *table) {
        free(table->items);
        index_done(&table->index);
}

static void command_table_done(CommandTable *table) {
        free(table->items);
        buffer_done(&table->texts);
        index_done(&table->index);
}

HeapCache *heap_cache_free(HeapCache *cache) {
        if (!cache)
                return NULL;
        free(cache->files);
        index_done(&cache->file_index);
        process_table_done(&cache->known);
        process_table_done(&cache->seen);
        command_table_done(&cache->known_commands);
        command_table_done(&cache->seen_commands);
        (void) pthread_mutex_destroy(&cache->lock);
        free(cache);
        return NULL;
}

/* tables */

static Span file_key(const void *owner, size_t element) {
        const FileRecord *files = owner;

        return (Span){ (const char *) &files[element].key, sizeof(files[element].key) };
}

static size_t find_file(const HeapCache *cache, const FileKey *key) {
        return index_find(&cache->file_index, (Span){ (const char *) key, sizeof(*key) }, file_key,
                          cache->files);
}

static int add_file(HeapCache *cache, const FileRecord *record) {
        int r;

        if (cache->n_files == MAX_FILES_IN_MEMORY || find_file(cache, &record->key) != INDEX_NONE)
                return 0;
        r = ARRAY_RESERVE(cache->files, cache->n_files_allocated, cache->n_files + 1);
        if (r == 0)
                r = index_add(&cache->file_index,
                              (Span){ (const char *) &record->key, sizeof(record->key) },
                              cache->n_files);
        if (r == 0)
                cache->files[cache->n_files++] = *record;
        return r;
}

static Span process_key(const void *owner, size_t element) {
        const HeapProcess *processes = owner;

        return (Span){ (const char *) &processes[element].key, sizeof(processes[element].key) };
}

static HeapProcess *find_process(const ProcessTable *table, const HeapProcessKey *key) {
        size_t i = index_find(&table->index, (Span){ (const char *) key, sizeof(*key) },
                              process_key, table->items);

        return i == INDEX_NONE ? NULL : &table->items[i];
}

static int put_process(ProcessTable *table, const HeapProcess *process) {
        HeapProcess *known = find_process(table, &process->key);
        int r;

        if (known) {
                *known = *process;
                return 0;
        }
        if (table->n == HEAP_CACHE_MAX_PROCESSES)
                return 0;
        r = ARRAY_RESERVE(table->items, table->n_allocated, table->n + 1);
        if (r == 0)
                r = index_add(&table->index,
                              (Span){ (const char *) &process->key, sizeof(process->key) },
                              table->n);
        if (r == 0)
                table->items[table->n++] = *process;
        return r;
}

static Span command_key(const void *owner, size_t element) {
        const CommandItem *items = owner;

        return (Span){ (const char *) &items[element].record.key, sizeof(CommandKey) };
}

static const CommandItem *find_command(const CommandTable *table, const CommandKey *key) {
        size_t i = index_find(&table->index, (Span){ (const char *) key, sizeof(*key) },
                              command_key, table->items);

        return i == INDEX_NONE ? NULL : &table->items[i];
}

/* What is there already stays. */
static int put_command(CommandTable *table, const CommandRecord *record, const char *command,
                       const char *line) {
        CommandItem item = { .record = *record, .at = table->texts.n };
        int r;

        if (table->n == HEAP_CACHE_MAX_PROCESSES || find_command(table, &record->key))
                return 0;
        (void) buffer_append(&table->texts, command, record->n_command);
        r = buffer_append(&table->texts, line, record->n_line);
        if (r == 0)
                r = ARRAY_RESERVE(table->items, table->n_allocated, table->n + 1);
        if (r == 0)
                r = index_add(&table->index,
                              (Span){ (const char *) &record->key, sizeof(record->key) }, table->n);
        if (r == 0)
                table->items[table->n++] = item;
        return r;
}

/* loading */

static int read_whole(int fd, void *memory, size_t n, uint64_t offset) {
        size_t n_read;
        int r = file_read_at(fd, memory, n, offset, &n_read);

        return r == 0 && n_read < n ? -EBADMSG : r;
}

static bool is_ours(const CacheHeader *header) {
        return memcmp(header->magic, cache_magic, sizeof(cache_magic)) == 0 &&
               header->version == CACHE_VERSION && header->n_file_bytes == sizeof(FileRecord) &&
               header->n_process_bytes == sizeof(HeapProcess) &&
               header->n_files <= HEAP_CACHE_MAX_FILES &&
               header->n_processes <= HEAP_CACHE_MAX_PROCESSES &&
               header->n_commands <= HEAP_CACHE_MAX_PROCESSES &&
               header->n_command_bytes <=
                       header->n_commands * (sizeof(CommandRecord) + 2 * COMMAND_MAX_BYTES);
}

static size_t cache_bytes(const CacheHeader *header) {
        return sizeof(*header) + header->n_files * sizeof(FileRecord) +
               header->n_processes * sizeof(HeapProcess) + (size_t) header->n_command_bytes;
}

static int take_commands(HeapCache *cache, uint32_t n, Span rest) {
        CommandRecord record;
        int r = 0;

        for (uint32_t i = 0; i < n && r == 0; i++) {
                size_t n_texts;

                if (rest.n < sizeof(record))
                        return 0;
                memcpy(&record, rest.bytes, sizeof(record));
                rest = (Span){ rest.bytes + sizeof(record), rest.n - sizeof(record) };
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

/* The digest is in the header, at the beginning of @bytes, and is left as zeros. */
static bool take_digest(char *bytes, size_t n) {
        unsigned char was[HASH_DIGEST_BYTES], is[HASH_DIGEST_BYTES];
        char *place = bytes + offsetof(CacheHeader, digest);

        memcpy(was, place, sizeof(was));
        memset(place, 0, sizeof(was));
        hash_digest((Span){ bytes, n }, is);
        return memcmp(was, is, sizeof(was)) == 0;
}

static int take_records(HeapCache *cache, const CacheHeader *header, const char *bytes) {
        const char *at = bytes + sizeof(*header);
        HeapProcess process;
        FileRecord file;
        int r = 0;

        cache->sequence = header->sequence + 1;
        for (uint32_t i = 0; i < header->n_files && r == 0; i++, at += sizeof(file)) {
                memcpy(&file, at, sizeof(file));
                r = add_file(cache, &file);
        }
        for (uint32_t i = 0; i < header->n_processes && r == 0; i++, at += sizeof(process)) {
                memcpy(&process, at, sizeof(process));
                r = put_process(&cache->known, &process);
        }
        return r == 0 ? take_commands(cache, header->n_commands,
                                      (Span){ at, (size_t) header->n_command_bytes })
                      : r;
}

int heap_cache_load(HeapCache *cache, int fd) {
        _cleanup_(freep) char *bytes = NULL;
        CacheHeader header;
        size_t n;

        if (read_whole(fd, &header, sizeof(header), 0) != 0 || !is_ours(&header))
                return 0;
        n = cache_bytes(&header);
        bytes = malloc(n);
        if (!bytes)
                return -ENOMEM;
        if (read_whole(fd, bytes, n, 0) != 0 || memcmp(bytes, &header, sizeof(header)) != 0 ||
            !take_digest(bytes, n))
                return 0;
        return take_records(cache, &header, bytes);
}

/* storing */

static int latest_first(const void *a, const void *b) {
        uint64_t used_a = ((const FileRecord *) a)->used, used_b = ((const FileRecord *) b)->used;

        return (used_a < used_b) - (used_a > used_b);
}

/* A capture that leaves the counters out looks for no process: it cannot tell which have ended. */
static const ProcessTable *processes_to_store(const HeapCache *cache) {
        return cache->seen.n > 0 ? &cache->seen : &cache->known;
}

/* As many records as fit into a file of @n_max bytes: a file costs more to parse than a process. */
static CacheHeader make_header(const HeapCache *cache, uint64_t n_max) {
        CacheHeader header = {
                .version = CACHE_VERSION,
                .n_file_bytes = sizeof(FileRecord),
                .n_process_bytes = sizeof(HeapProcess),
                .sequence = cache->sequence,
        };
        uint64_t n_files = MIN_OF(cache->n_files, (size_t) HEAP_CACHE_MAX_FILES);
        uint64_t n_room = n_max - sizeof(header);

        memcpy(header.magic, cache_magic, sizeof(cache_magic));
        header.n_files = (uint32_t) MIN_OF(n_files, n_room / sizeof(FileRecord));
        n_room -= header.n_files * sizeof(FileRecord);
        header.n_processes = (uint32_t) MIN_OF((uint64_t) processes_to_store(cache)->n,
                                               n_room / sizeof(HeapProcess));
        n_room -= header.n_processes * sizeof(HeapProcess);
        for (size_t i = 0; i < cache->seen_commands.n; i++) {
                const CommandRecord *record = &cache->seen_commands.items[i].record;
                uint64_t n = header.n_command_bytes + sizeof(*record) + record->n_command +
                             record->n_line;

                if (n > n_room)
                        break;
                header.n_commands++;
                header.n_command_bytes = n;
        }
        return header;
}

static int write_whole(int fd, const char *bytes, size_t n) {
        size_t n_written = 0;

        while (n_written < n) {
                ssize_t n_more = pwrite(fd, bytes + n_written, n - n_written, (off_t) n_written);

                if (n_more < 0 && errno == EINTR)
                        continue;
                if (n_more < 0)
                        return -errno;
                n_written += (size_t) n_more;
        }
        return 0;
}

int heap_cache_store(HeapCache *cache, int fd) {
        _cleanup_(buffer_done) Buffer buffer;
        unsigned char digest[HASH_DIGEST_BYTES];
        CacheHeader header;
        struct stat status;

        buffer_init(&buffer, 0);
        if (fstat(fd, &status) < 0)
                return -errno;
        if (status.st_size < (off_t) sizeof(header))
                return -ENOSPC;
        if (cache->n_files > 0)
                qsort(cache->files, cache->n_files, sizeof(*cache->files), latest_first);
        header = make_header(cache, (uint64_t) status.st_size);
        (void) buffer_append(&buffer, &header, sizeof(header));
        (void) buffer_append(&buffer, cache->files, header.n_files * sizeof(FileRecord));
        (void) buffer_append(&buffer, processes_to_store(cache)->items,
                             header.n_processes * sizeof(HeapProcess));
        for (uint32_t i = 0; i < header.n_commands; i++) {
                const CommandItem *item = &cache->seen_commands.items[i];

                (void) buffer_append(&buffer, &item->record, sizeof(item->record));
                if (item->record.n_command + item->record.n_line > 0)
                        (void) buffer_append(&buffer, cache->seen_commands.texts.bytes + item->at,
                                             (size_t) item->record.n_command + item->record.n_line);
        }
        if (buffer_failure(&buffer) != 0)
                return buffer_failure(&buffer);
        hash_digest(buffer_span(&buffer), digest);
        memcpy(buffer.bytes + offsetof(CacheHeader, digest), digest, sizeof(digest));
        return write_whole(fd, buffer.bytes, buffer.n);
}

/* use */

static FileKey make_file_key(const FileIdentity *identity, FileQuestion question) {
        return (FileKey){ .identity = *identity, .question = question };
}

bool heap_cache_find_file(HeapCache *cache, const FileIdentity *identity, FileQuestion question,
                          void *ret_answer) {
        const FileKey key = make_file_key(identity, question);
        size_t i;

        (void) pthread_mutex_lock(&cache->lock);
        i = find_file(cache, &key);
        if (i != INDEX_NONE) {
                cache->files[i].used = cache->sequence;
                memcpy(ret_answer, &cache->files[i].answer, file_answer_bytes(question));
        }
        (void) pthread_mutex_unlock(&cache->lock);
        return i != INDEX_NONE;
}

int heap_cache_put_file(HeapCache *cache, const FileIdentity *identity, FileQuestion question,
                        const void *answer) {
        FileRecord record = {
                .key = make_file_key(identity, question),
                .used = cache->sequence,
        };
        int r;

        memcpy(&record.answer, answer, file_answer_bytes(question));
        (void) pthread_mutex_lock(&cache->lock);
        r = add_file(cache, &record);
        (void) pthread_mutex_unlock(&cache->lock);
        return r;
}

bool heap_cache_expects_plans(const HeapCache *cache) {
        for (size_t i = 0; i < cache->known.n; i++)
                if (cache->known.items[i].n_plans > 0)
                        return true;
        return cache->known.n == 0;
}

bool heap_cache_find_process(HeapCache *cache, const HeapProcessKey *key, HeapProcess *ret) {
        const HeapProcess *found;

        (void) pthread_mutex_lock(&cache->lock);
        found = find_process(&cache->seen, key);
        if (!found) {
                found = find_process(&cache->known, key);
                /* Without memory for it, it is only looked at again. */
                if (found)
                        (void) !put_process(&cache->seen, found);
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
        found = find_command(table, key);
        if (!found) {
                table = &cache->known_commands;
                found = find_command(table, key);
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
