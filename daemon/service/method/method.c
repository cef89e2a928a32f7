/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#define USE_INDEXED true
#define USE_PLAIN false
#define METHOD_ROW(interface, name_, handler, record_, use) \
        { .name = interface "." #name_,                     \
          .handle = handler,                                \
          .record = RECORD_##record_,                       \
          .uses_index = USE_##use },
#define PROFILER_ROW(...) METHOD_ROW(PROFILER_INTERFACE, __VA_ARGS__)
#define VARLINK_ROW(...) METHOD_ROW(VARLINK_SERVICE, __VA_ARGS__)

static const Method methods[] = { PROFILER_METHODS(PROFILER_ROW) VARLINK_METHODS(VARLINK_ROW) };

const Method *method_find(Span name) {
        for (size_t i = 0; i < ELEMENTSOF(methods); i++)
                if (span_is(name, methods[i].name))
                        return &methods[i];
        return NULL;
}
