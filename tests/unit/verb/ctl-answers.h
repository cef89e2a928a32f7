/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * CtlAnswers
 *
 * What the daemon of a test answers, and one run after another of ctprofctl against it.
 */

#include <check.h>
#include <string.h>
#include "ctl.h"

static Ctl ctl; /* large, and one at a time */

#define HEAD(name)                                                                                \
        "{\"name\":\"" name "\",\"tagged\":true,\"formatVersion\":1,\"hostName\":\"h\","          \
        "\"kernelRelease\":\"6.1\",\"threads\":213,\"processes\":98,\"sizeBytes\":49281,\"uid\":" \
        "0,"                                                                                      \
        "\"startRealtimeNs\":1795188901123456789,\"complete\":false,"                             \
        "\"cost\":{\"wallNs\":52301000,\"cpuNs\":50000000,\"peakRssBytes\":4194304}}"
#define SOME_SOURCES                                                                              \
        "[{\"name\":\"stat\",\"state\":\"ok\",\"ok\":213,\"denied\":0,\"vanished\":0,"            \
        "\"unsupported\":0,\"malformed\":0,\"other\":0},"                                         \
        "{\"name\":\"io\",\"state\":\"partial\",\"reason\":\"others' io needs CAP_SYS_PTRACE\","  \
        "\"ok\":12,\"denied\":201,\"vanished\":0,\"unsupported\":0,\"malformed\":0,\"other\":0}," \
        "{\"name\":\"jemalloc\",\"state\":\"unavailable\",\"reason\":\"this version does not "    \
        "read allocator counters\",\"ok\":0,"                                                     \
        "\"denied\":0,\"vanished\":0,\"unsupported\":213,\"malformed\":0,\"other\":0}]"

static inline void begin(const Exchange *exchanges, size_t n_exchanges) {
        ctl_init(&ctl, exchanges, n_exchanges);
}

static inline void end(void) {
        ctl_done(&ctl);
}

static inline void expect(int status, const char *out, const char *err) {
        ck_assert_str_eq(ctl.err, err);
        ck_assert_str_eq(ctl.out, out);
        ck_assert_int_eq(ctl.status, status);
}

/* compare */

#define ENTRY(before, after, delta, percent, rate)                                            \
        "{\"before\":" before ",\"after\":" after ",\"delta\":" delta ",\"percent\":" percent \
        ",\"perSecond\":" rate ",\"changed\":true,\"reset\":false}"
#define GROUP                                                                                     \
        "{\"key\":\"nginx\\u001b\",\"process\":\"nginx\",\"threadsBefore\":3,\"threadsAfter\":4," \
        "\"metrics\":{\"run_time_ns\":" ENTRY(                                                    \
                "1000000000", "18446744073709551615", "18446744072709551615",                     \
                "1844674407270.9551",                                                             \
                "307445734545.1592") ",\"policy\":{\"before\":{\"mode\":\"S\",\"count\":3,"       \
                                     "\"total\":3},\"after\":"                                    \
                                     "{\"mode\":\"R\",\"count\":2,\"total\":4},\"delta\":null,"   \
                                     "\"percent\":null,"                                          \
                                     "\"perSecond\":null,\"changed\":true,\"reset\":false}},"     \
                                     "\"derived\":{\"avg_slice_ns\":" ENTRY(                      \
                                             "100.5", "null", "null", "null", "null") "}}"
#define ONLY                                                                                 \
        "{\"key\":\"gone\",\"process\":\"gone\",\"threads\":2,\"metrics\":{\"run_time_ns\":" \
        "{\"value\":5000000,\"present\":2}},\"derived\":{}}"
#define COMPARED(elapsed, before, after)                                              \
        "{\"parameters\":{\"before\":" before ",\"sourcesBefore\":" SOME_SOURCES      \
        ",\"after\":" after ",\"sourcesAfter\":" SOME_SOURCES                         \
        ",\"sameBoot\":true,\"elapsedNs\":" elapsed ","                               \
        "\"hostChanges\":[{\"key\":\"kernel.x\",\"before\":\"0\",\"after\":\"1\"}]}," \
        "\"continues\":true}\0"                                                       \
        "{\"parameters\":{\"groups\":[" GROUP "]},\"continues\":true}\0"              \
        "{\"parameters\":{\"groups\":[" GROUP "]},\"continues\":true}\0"              \
        "{\"parameters\":{\"onlyBefore\":[" ONLY "]},\"continues\":true}\0"           \
        "{\"parameters\":{\"sections\":{},\"hiddenRows\":7,\"hiddenGroups\":2}}"
