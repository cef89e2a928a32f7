/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/method/method.h"

#include <string.h>

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

const Method *method_find_or_refuse(Connection *connection, const char *name) {
        const Method *method = method_find(span_of(name));
        const char *end = strrchr(name, '.');
        Span interface = { name, end ? (size_t) (end - name) : strlen(name) };

        if (method)
                return method;
        if (end && (span_is(interface, PROFILER_INTERFACE) || span_is(interface, VARLINK_SERVICE)))
                connection_error(connection, WIRE_ERROR_METHOD_NOT_FOUND,
                                 &(WireErrorDetail){ .subject = span_of(name) });
        else
                connection_error(connection, WIRE_ERROR_INTERFACE_NOT_FOUND,
                                 &(WireErrorDetail){ .subject = interface });
        return NULL;
}
