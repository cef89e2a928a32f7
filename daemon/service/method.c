/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method.h"

#include <string.h>

#include "base/macro.h"

#define PROFILER_ROW(name_, handler, record_) \
        { .name = PROFILER_INTERFACE "." #name_, .handle = handler, .record = RECORD_##record_ },
#define VARLINK_ROW(name_, handler, record_) \
        { .name = VARLINK_SERVICE "." #name_, .handle = handler, .record = RECORD_##record_ },

static const Method methods[] = { PROFILER_METHODS(PROFILER_ROW) VARLINK_METHODS(VARLINK_ROW) };

static bool is_of_interface(Span name, const char *interface) {
        size_t n = strlen(interface);

        return name.n > n && name.bytes[n] == '.' && memcmp(name.bytes, interface, n) == 0 &&
               !memchr(name.bytes + n + 1, '.', name.n - n - 1);
}

const Method *method_find(Span name, bool *ret_known_interface) {
        *ret_known_interface =
                is_of_interface(name, PROFILER_INTERFACE) || is_of_interface(name, VARLINK_SERVICE);
        for (size_t i = 0; i < ELEMENTSOF(methods); i++)
                if (span_is(name, methods[i].name))
                        return &methods[i];
        return NULL;
}
