/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Limits
 *
 * Everything a peer or a file can multiply has its bound here. Past a bound there is a named error,
 * never a hang.
 */

#include <stdint.h>
#include "base/macro.h"

/* The socket */
#define LIMIT_CONNECTIONS 256u
#define LIMIT_CONNECTIONS_PER_UID 64u
#define LIMIT_CALL_BYTES (1024u * 1024u)          /* one call, from a client */
#define LIMIT_CALL_VALUES 16384u                  /* in its parameters */
#define LIMIT_REPLY_BYTES (4096u * 1024u)         /* one reply, from the daemon or a job */
#define LIMIT_BATCH_BYTES (256u * 1024u)          /* when a batch of rows is sent off */
#define LIMIT_BYTES_PER_UID (64u * 1024u * 1024u) /* all that is kept for the peers of one user */
#define LIMIT_BYTES (128u * 1024u * 1024u)        /* the same of all users together */
#define LIMIT_QUEUED_BYTES (8192u * 1024u)        /* replies a peer has not read yet */
#define LIMIT_REPLIES_PER_CALL 250000u            /* that a client reads before it gives up */
#define LIMIT_REPLY_BYTES_PER_CALL (64ull * 1024u * 1024u * 1024u) /* the same */
#define LIMIT_SILENCE_NS (60 * NSEC_PER_SEC)         /* that a client bears, unless its user says */
#define LIMIT_CALL_NS (24ull * 3600u * NSEC_PER_SEC) /* the same, of a call as a whole */
#define LIMIT_HEARTBEAT_NS (15 * NSEC_PER_SEC)       /* between two signs of life of the daemon */
#define LIMIT_JSON_DEPTH 16u
#define LIMIT_FDS_PER_CALL 64u
#define LIMIT_FDS_PER_ORDER (LIMIT_FDS_PER_CALL + 2u) /* to a job: the spool, a file to write */
#define LIMIT_FDS_CLOSING_PER_UID 256u                /* sent by a peer and being closed */
#define LIMIT_ACCEPTS_PER_TURN 16u           /* connections, before other events are served */
#define LIMIT_IDLE_NS (30 * NSEC_PER_SEC)    /* for the rest of a call that has begun */
#define LIMIT_STALLED_NS (60 * NSEC_PER_SEC) /* for a peer that does not read its replies */

/* Jobs */
#define LIMIT_CAPTURES_WAITING 32u
#define LIMIT_CAPTURES_WAITING_PER_UID 8u
#define LIMIT_ANALYSES 4u
#define LIMIT_ANALYSES_WAITING 64u
#define LIMIT_ANALYSES_WAITING_PER_UID 16u
#define LIMIT_STUCK_JOBS 8u /* killed in vain, or that could become so: whose did is refused */
#define LIMIT_STUCK_JOBS_PER_UID 3u /* the same for those of one user */
#define LIMIT_STUCK_JOBS_OF_ALL 64u /* from which on nobody is served: they keep their memory */
#define LIMIT_JOB_MEMORY_BYTES (1024ull * 1024u * 1024u) /* RLIMIT_DATA of a job */
#define LIMIT_HELD_OBJECTS 32u /* of the kernel; FileDescriptorStoreMax= of the unit is the same */
#define LIMIT_SMAPS_NS (5 * NSEC_PER_SEC)                  /* for smaps_rollup in one capture */
#define LIMIT_SMAPS_MAX_RSS_BYTES (256ull * 1024u * 1024u) /* of a process of which it is read */
#define LIMIT_SMAPS_PROCESSES 64u                          /* of which it is read */
#define LIMIT_LOADING_THREADS 3000u /* from which on it pays to load programs for one capture */
/*
 * A job that loads programs into the kernel has so long. Its verifier takes less than a second for
 * them, but two minutes on an emulated processor that gets a tenth of a real one, and only captures
 * that want programs wait for it.
 */
#define LIMIT_LOAD_NS (240 * NSEC_PER_SEC)
#define LIMIT_LOAD_MARGIN_NS (30 * NSEC_PER_SEC) /* from its end until the daemon is ready */
#define LIMIT_FOLD_NS (30 * NSEC_PER_SEC)        /* of one that folds rows of their tables */
#define LIMIT_FOLD_JOB_BYTES (256u << 20)
#define LIMIT_FOLD_FILE_BYTES (128u << 20)         /* what it hands over */
#define LIMIT_FOLD_INTERVAL_NS (10 * NSEC_PER_SEC) /* between looks at how full the tables are */
#define LIMIT_LISTEN_JOB_BYTES (64u << 20)         /* RLIMIT_DATA of the job that hears exits */
#define LIMIT_LISTEN_FILE_BYTES (32u << 20)        /* what it hands over */
#define LIMIT_LISTEN_NS (2 * NSEC_PER_SEC)         /* how long a capture waits for that */
#define LIMIT_FILE_JOBS 4u /* that parse files for captures: one, and those killed in vain */
#define LIMIT_FILE_JOB_BYTES (32ull * 1024u * 1024u)    /* RLIMIT_DATA of one */
#define LIMIT_RECORD_JOB_BYTES (192ull * 1024u * 1024u) /* RLIMIT_DATA of a job that records */
#define LIMIT_UNWIND_JOB_BYTES (768ull * 1024u * 1024u) /* likewise, of one that unwinds */
/*
 * Of that, what was added up of samples may take so much, before a recording ends. Where lines of
 * the source are looked for afterwards, they take half a gigabyte, and then all is added up anew.
 */
#define LIMIT_UNWOUND_BYTES (LIMIT_UNWIND_JOB_BYTES / 2)
#define LIMIT_UNWOUND_FOR_LINES_BYTES (LIMIT_UNWIND_JOB_BYTES / 6)
#define LIMIT_RECORD_BYTES (256ull * 1024u * 1024u) /* the file of a recording; default */
#define LIMIT_RECORD_SILENCE_NS (60 * NSEC_PER_SEC) /* between two signs of life */
#define LIMIT_CLOCKS 8192u       /* CPUs whose clocks a recording has: no kernel has more */
#define LIMIT_CLOCKS_AT_ONCE 64u /* as many are opened and handed over together */
#define LIMIT_RECORD_JOBS 2u     /* that may hang before nothing is recorded any more */
#define LIMIT_RECORD_NS (3600 * NSEC_PER_SEC)     /* of one recording */
#define LIMIT_STEP_LEAST_NS (100 * NSEC_PER_MSEC) /* of the course of a recording */
#define LIMIT_STEPS 3600u                         /* of one recording */
#define LIMIT_COURSE_GROUPS 4096u                 /* of threads that have steps of their own */
#define LIMIT_COURSE_CELLS (4u << 20) /* times of a group in a place; past them all are one */
#define LIMIT_MEMORY_JOBS 8u /* that read memory for captures: one, and those killed in vain */
#define LIMIT_MEMORY_JOB_BYTES (64ull * 1024u * 1024u) /* RLIMIT_DATA of one */
#define LIMIT_HEAP_CACHE_BYTES (8ull * 1024u * 1024u)  /* what captures keep of processes */
#define LIMIT_HEAP_FILES_BYTES (2ull * 1024u * 1024u)  /* and memory jobs of files */
#define LIMIT_HUNG_PROCESSES 64u               /* in whose memory a job hung, to be left alone */
#define LIMIT_REASONS_NS (3600 * NSEC_PER_SEC) /* so long waits have reasons after a capture */
#define LIMIT_HEAP_NS (100 * NSEC_PER_MSEC)    /* for counters of allocators in one capture */
#define LIMIT_CAPTURE_NS (600 * NSEC_PER_SEC)
#define LIMIT_HELD_BYTES (1536ull * 1024u * 1024u) /* files in memory that callers have open */
#define LIMIT_HELD_BYTES_PER_UID (1024ull * 1024u * 1024u) /* the same of one user */
#define LIMIT_HELD_LEAST_BYTES (8ull * 1024u * 1024u)      /* what a smaller one counts as */
#define LIMIT_CAPTURE_BYTES (256ull * 1024u * 1024u)       /* the file of one capture */
#define LIMIT_ANALYSIS_NS (300 * NSEC_PER_SEC)
#define LIMIT_SPOOL_LOCK_NS (10 * NSEC_PER_SEC) /* while another process holds the lock */

/* Users that the queues and the log keep counting after their last call ended */
#define LIMIT_REMEMBERED_USERS 64u
#define LIMIT_LOGGED_USERS 16u
#define LIMIT_LOGGED_FAILURES_PER_MINUTE 60u /* of one user */

/* Requests */
#define LIMIT_SNAPSHOTS_PER_CALL 64u
#define LIMIT_NAMES_PER_LIST 256u
#define LIMIT_SNAPSHOTS 10000u /* that the daemon adds */
#define LIMIT_SNAPSHOTS_PER_UID 2000u
#define LIMIT_INDEXED_SNAPSHOTS 65536u /* in a directory that others filled, too */
#define LIMIT_NAME_SUFFIX 10000u       /* "NAME-N" of untagged snapshots, before it is given up */

/* Files */
#define LIMIT_FILE_BYTES (4ull * 1024u * 1024u * 1024u)      /* a snapshot, as it is in the spool */
#define LIMIT_DOCUMENT_BYTES (16ull * 1024u * 1024u * 1024u) /* uncompressed */
#define LIMIT_DOCUMENT_0_BYTES (1024ull * 1024u * 1024u)     /* the same, format version 0 */
#define LIMIT_DOCUMENT_DEPTH 16u
#define LIMIT_TOKEN_BYTES (64u * 1024u)
#define LIMIT_VALUE_BYTES (1024u * 1024u) /* one cgroup's record, the host context */
#define LIMIT_WINDOW_LOG 23               /* zstd window, 2^n bytes */
