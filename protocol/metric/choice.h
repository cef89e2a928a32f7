/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * BackendChoice
 *
 * The way a capture is to read threads. The names also stand in the head of a snapshot, as the
 * backend that did.
 */

// clang-format off
#define BACKEND_CHOICES(B)                                                                         \
        B(AUTO,   "auto")   /* through BPF where that works, else from files */                    \
        B(PROCFS, "procfs") /* from files */                                                       \
        B(BPF,    "bpf")    /* through BPF, or not at all */
// clang-format on

#define BACKEND_CHOICE_ID(id, name) BACKEND_CHOICE_##id,
typedef enum BackendChoice { BACKEND_CHOICES(BACKEND_CHOICE_ID) _BACKEND_CHOICE_MAX } BackendChoice;

extern const char *const backend_choice_names[_BACKEND_CHOICE_MAX];

/*
 * ExitChoice
 *
 * The counter of what threads have done that end.
 */

// clang-format off
#define EXIT_CHOICES(E)                                                                            \
        E(AUTO,      "auto")      /* programs where BPF works, else the listener */                \
        E(BPF,       "bpf")       /* programs, or nobody */                                        \
        E(TASKSTATS, "taskstats") /* the listener, also where BPF works */                         \
        E(OFF,       "off")       /* nobody */
// clang-format on

#define EXIT_CHOICE_ID(id, name) EXIT_CHOICE_##id,
typedef enum ExitChoice { EXIT_CHOICES(EXIT_CHOICE_ID) _EXIT_CHOICE_MAX } ExitChoice;

/*
 * SmapsMode
 *
 * The processes of which a capture reads smaps_rollup. The kernel walks the page tables of the
 * process for it, under its mmap lock: in the meantime the process can neither map nor unmap
 * memory. That takes about 11 ms for each GiB of small pages, so it is not done to large ones by
 * default. For a tiny one it takes longer than all else that a capture reads, so by default it is
 * not done to the tiniest of many either.
 */

// clang-format off
#define SMAPS_MODES(M)                                                                             \
        M(NONE,  "none")  /* of none */                                                            \
        M(SMALL, "small") /* of the largest of those whose memory is within a bound */             \
        M(ALL,   "all")
// clang-format on

#define SMAPS_MODE_ID(id, name) SMAPS_MODE_##id,
typedef enum SmapsMode { SMAPS_MODES(SMAPS_MODE_ID) _SMAPS_MODE_MAX } SmapsMode;

extern const char *const smaps_mode_names[_SMAPS_MODE_MAX];
