/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Order
 *
 * By an order the main process tells a job what to do: plain data with bounded texts, and
 * descriptors beside it. Both are the same executable, so the job gets the struct as it is, in one
 * message. A call of a client becomes an order once, where it comes in: at the daemon, or at an
 * analysis job that a client has started itself for files of its own.
 *
 * To add a method, add a row here and one to the table of worker/worker.c.
 */

#include <json-c/json.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/macro.h"
#include "base/name.h"
#include "interface/interface.h"
#include "interface/parameters.h"
#include "kernel/bpf/ledger-record.h"
#include "job/job-kind.h"
#include "kernel/bpf/task-program.h"
#include "metric/command.h"
#include "metric/choice.h"
#include "record/record-scope.h"
#include "spool/spool.h"
#include "view/view.h"
#include "wire/limits.h"

// clang-format off
/*        id             kind of job  member of Order  what it is for */
#define ORDERS(O)                                                                                  \
        O(CAPTURE,       CAPTURE,     capture)   /* take a snapshot */                             \
        O(PROBE,         CAPTURE,     capture)   /* find the state of every source */              \
        O(PUBLISH,       SPOOL,       spool)     /* what a capture or an import has written */     \
        O(REMOVE,        SPOOL,       spool)                                                       \
        O(RENAME,        SPOOL,       spool)                                                       \
        O(CLEAN,         SPOOL,       spool)     /* remove what a crash left in the spool */       \
        O(SURVEY,        SPOOL,       spool)     /* tell of all snapshots, for the index */        \
        O(SHOW,          ANALYSIS,    analysis)                                                    \
        O(COMPARE,       ANALYSIS,    analysis)                                                    \
        O(COMPARE_SETS,  ANALYSIS,    analysis)                                                    \
        O(INFO,          ANALYSIS,    analysis)                                                    \
        O(TELL_SOURCES,  ANALYSIS,    analysis)  /* what a probe tells, of a snapshot */           \
        O(VERIFY,        ANALYSIS,    analysis)                                                    \
        O(STACKS,        ANALYSIS,    analysis)  /* of a recording */                              \
        O(CONVERT,       ANALYSIS,    analysis)  /* a snapshot into another format */              \
        O(IMPORT,        ANALYSIS,    analysis)  /* a verified copy of a file from outside */      \
        O(LOAD,          LOAD,        load)      /* BPF programs into the kernel */                \
        O(FOLD,          FOLD,        fold)      /* rows of the ledger into a file */              \
        O(LISTEN,        LISTEN,      listen)    /* to exits, for as long as the daemon runs */    \
        O(FILES,         FILES,       files)     /* answer questions about files of others */      \
        O(RECORD,        RECORD,      record)    /* take samples until it is told to stop */       \
        O(UNWIND,        UNWIND,      unwind)    /* make stacks of these */                        \
        O(JOIN,          ANALYSIS,    join)      /* what was recorded into one file */             \
        O(MEMORY,        MEMORY,      memory)    /* likewise, about memory of others */
// clang-format on

#define ORDER_ID(id, ...) ORDER_##id,
typedef enum OrderMethod { ORDERS(ORDER_ID) _ORDER_METHOD_MAX } OrderMethod;

/* A descriptor: its place among those that come with the order, from 1 on; 0: there is none. */
typedef uint32_t OrderFd;

#define ORDER_REASON_BYTES 256u

/* The spool that a job works in. */
typedef struct OrderSpool {
        OrderFd directory, roll; /* @roll: what is in it, spool-directory.h; none: the files tell */
        SpoolLimits limits;
        char path[PATH_MAX]; /* for messages only */
} OrderSpool;

#define ORDER_MAX_PIDS 600u

typedef struct CaptureOrder {
        OrderSpool spool;                       /* without a directory: the capture is anonymous */
        OrderFd output;                         /* where the snapshot is written */
        uid_t uid;                              /* of the caller */
        char name[SNAPSHOT_NAME_MAX_CHARS + 1]; /* "": named by the time it begins at */
        bool tagged, replace;
        SmapsMode smaps;
        uint64_t smaps_max_rss_bytes, smaps_max_processes, smaps_limit_ns;
        bool heap;
        CommandLines commands;
        uint64_t heap_limit_ns;
        OrderFd heap_cache; /* what captures keep for each other */
        OrderFd tasks[_TASK_OBJECT_MAX];
        OrderFd exit_line; /* who hears exits tells of them there: exits/exit-line.h */
        bool hears_exits;  /* of a probe: somebody does */
        uint64_t reasons_ns;
        /* Why there is no memory job, not every object, no line, no reasons; "": there is. */
        char no_memory[ORDER_REASON_BYTES], no_tasks[ORDER_REASON_BYTES];
        char no_exits[ORDER_REASON_BYTES], no_reasons[ORDER_REASON_BYTES];
        uint32_t n_self_pids;
        pid_t self_pids[ORDER_MAX_PIDS]; /* processes that belong to ctprof */
} CaptureOrder;

typedef struct OrderName {
        char text[SNAPSHOT_NAME_MAX_CHARS + 1];
} OrderName;

typedef struct SpoolOrder {
        OrderSpool spool;
        OrderFd file; /* to publish */
        uid_t uid;    /* of the caller */
        OrderName name, new_name;
        bool tagged, replace;
        bool is_import;   /* what is published */
        uint32_t n_names; /* to remove */
        OrderName names[LIMIT_NAMES_PER_LIST];
} SpoolOrder;

/* A snapshot by its file. */
typedef struct OrderFile {
        OrderFd fd;
        uint32_t label; /* where in the texts its caller's name for it begins, from 1 on; 0: none */
} OrderFile;

/* A snapshot, or the interval between two: then both are there. */
typedef struct OrderSubject {
        OrderFile from, to;
} OrderSubject;

typedef enum OrderFormat { ORDER_FORMAT_KTSTR, ORDER_FORMAT_NDJSON, _ORDER_FORMAT_MAX } OrderFormat;

#define ORDER_TEXTS_BYTES (64u * 1024u)

typedef struct AnalysisOrder {
        View view;
        double alpha;    /* of sets */
        bool stacks;     /* of sets: stacks in place of groups */
        uint64_t limit;  /* of stacks; 0: all */
        uint64_t places; /* of stacks, a bit for each RecordPlace; 0: all */
        bool files;      /* which the functions of stacks are in are told, too */
        bool wakers;     /* of stacks: who ended waits, too */
        bool lines;      /* of stacks: frames are lines of the source, not functions */
        bool course;     /* of stacks: the steps of the recording, too */
        bool histogram;  /* in place of stacks: how long waits were */
        unsigned n[2];   /* subjects on each side; what has no sides has one */
        OrderFd output;  /* of Convert and Import */
        OrderFormat format;
        OrderName name; /* of what is imported, as below */
        uid_t uid;
        OrderSubject subjects[LIMIT_SNAPSHOTS_PER_CALL]; /* those of the first side first */
        uint32_t n_texts;
        char texts[ORDER_TEXTS_BYTES]; /* each ends in NUL */
} AnalysisOrder;

typedef struct LoadOrder {
        TaskProgramOptions programs;
        OrderFd clock; /* a program that was loaded before: only clocks for it are opened */
} LoadOrder;

typedef struct FoldOrder {
        OrderFd tasks[_TASK_OBJECT_MAX];
        bool is_forced; /* however empty the tables are */
} FoldOrder;

typedef struct ListenOrder {
        OrderFd own; /* a file that tells who calls; none: nobody does */
} ListenOrder;

typedef struct RecordOrder {
        OrderFd output; /* where the document is written */
        OrderFd tasks[_TASK_OBJECT_MAX];
        uint32_t n_clocks;     /* CPUs whose clocks run: they are the main process's */
        bool waiting, running; /* what is sampled */
        bool frames;           /* of the kernel */
        RecordWakers wakers;
        uint32_t stack_bytes; /* of user mode; 0: no such stacks */
        bool pointers;        /* callers are found by frame pointers */
        uint64_t period_ns, max_samples;
        uint64_t limit_ns;   /* it ends by itself then */
        uint64_t every_ns;   /* a step of its course lasts so long; 0: it has none */
        uint32_t caller_pid; /* which is ctprof's own; 0: it is not known */
        RecordScope scope;   /* without the id of the cgroup, which the job finds */
} RecordOrder;

typedef struct UnwindOrder {
        OrderFd socket;
        uint64_t max_bytes; /* of its document, as it is in a file: the recording ends before */
        bool lines;         /* of the source are found in the end */
} UnwindOrder;

/* The snapshots of both ends, and the document between them. */
typedef struct JoinOrder {
        OrderFd begin, end, recording, output;
        OrderName name;
        bool tagged;
        uid_t uid;
} JoinOrder;

typedef struct FilesOrder {
        OrderFd socket;
} FilesOrder;

/* A process that is left alone. */
typedef struct OrderLife {
        uint64_t start_ticks;
        uint32_t tgid, owner;
} OrderLife;

typedef struct MemoryOrder {
        OrderFd socket;
        OrderFd files; /* what memory jobs keep for each other */
        uint64_t limit_ns;
        uint32_t n_hung, n_barred;
        OrderLife hung[LIMIT_HUNG_PROCESSES];
        uint32_t barred[LIMIT_HUNG_PROCESSES]; /* uids */
} MemoryOrder;

typedef struct Order {
        OrderMethod method;
        JobKind kind; /* that obeys it */
        bool more;    /* the caller takes several replies */
        union {
                CaptureOrder capture;
                SpoolOrder spool;
                AnalysisOrder analysis;
                LoadOrder load;
                FoldOrder fold;
                ListenOrder listen;
                FilesOrder files;
                RecordOrder record;
                UnwindOrder unwind;
                JoinOrder join;
                MemoryOrder memory;
        };
} Order;

/* The longest order, and then some. */
#define ORDER_MAX_BYTES (sizeof(Order) + 128u)

/* Zeroed, but for its kind and a view with its defaults; free(3) frees it. NULL: no memory. */
Order *order_new(OrderMethod method);

/* Appends the bytes of a PACKET_ORDER. */
_must_check_ int order_pack(const Order *order, Buffer *buffer);
/*
 * -EBADMSG for what is no order for a job of @kind that comes with @n_fds descriptors, or is one of
 * another version.
 */
_must_check_ int order_unpack(Span body, JobKind kind, size_t n_fds, Order **ret);

/* NULL when the file has no label. */
const char *order_label(const AnalysisOrder *order, const OrderFile *file);
/* False: there is no room for so long a label. NULL: none. */
_must_check_ bool order_set_label(AnalysisOrder *order, OrderFile *file, const char *label);

/* calls of clients that become orders of an analysis */

/* How a call names a snapshot: one of @name and @index is there. */
typedef struct OrderReference {
        const char *name;
        OptionalU64 index; /* of a descriptor of the call */
        const char *label;
        json_object *to; /* the end of an interval; NULL: this is a snapshot */
} OrderReference;

/* Functions of OrderDoor return 0, a positive code when they have answered the call, or -errno. */
typedef struct OrderDoor {
        /* Adds the descriptor of the file to those of the order. */
        int (*open)(void *userdata, const char *key, OrderReference *reference, OrderFd *ret);
        int (*refuse)(void *userdata, WireError error, const WireErrorDetail *detail);
        void *userdata;
} OrderDoor;

/*
 * Show, Compare, CompareSets, Info, Verify, and the Convert of clients that start a job themselves;
 * _ORDER_METHOD_MAX: it is none of them.
 */
OrderMethod order_method_find(const char *name);
/* @order: a new one of such a method, with its @more. The result is that of OrderDoor. */
_must_check_ int order_decode(const OrderDoor *door, json_object *parameters, Order *order);
/*
 * Decodes the reference @object, the parameter @key, to a snapshot, or to the begin of an interval:
 * *ret_to is its end. @ret_to: NULL where that is refused.
 */
_must_check_ int order_decode_file(const OrderDoor *door, const char *key, json_object *object,
                                   AnalysisOrder *order, OrderFile *ret, json_object **ret_to);

/* Sets the format of a conversion. */
_must_check_ int order_set_format(const OrderDoor *door, const char *name, AnalysisOrder *order);

/* results */

/* A job of ORDER_LOAD or ORDER_FOLD made these: its descriptors are of them, in this order. */
typedef struct ObjectsResult {
        uint32_t n;
        uint32_t objects[_TASK_OBJECT_MAX];
        char reason[ORDER_REASON_BYTES]; /* why not all of it is there; "" */
} ObjectsResult;

/* A job of ORDER_RECORD tells with this how the recording went. */
typedef struct RecordResult {
        RecordEnd ended_by;
        uint64_t n_samples, n_lost;
        UnclockedTime unclocked;
} RecordResult;

/*
 * Other results are texts of which the main process makes the reply: each one JSON value, or names
 * that each end in a newline. Those in brackets may be empty.
 *
 *     CAPTURE              sources, [names of snapshots that had to make room]
 *     PROBE, TELL_SOURCES  sources, [sample], [owners who lost names]
 *     PUBLISH              head, [names that had to make room], [head of what was replaced]
 *     CONVERT              head
 *     IMPORT, CLEAN        none
 *
 * A survey ends with the SpoolStamp of what it told of.
 */
#define RESULT_MAX_TEXTS 3u

_must_check_ int result_pack(Buffer *buffer, const Span *texts, size_t n);
/* False unless there are @n texts, in UTF-8. They borrow from @body. */
_must_check_ bool result_unpack(Span body, Span *ret_texts, size_t n);
/* The same of another result, which is plain data. */
_must_check_ bool objects_result_unpack(Span body, ObjectsResult *ret);
_must_check_ bool record_result_unpack(Span body, RecordResult *ret);
