/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/parameters.h"

#include <stdio.h>
#include <sys/types.h>
#include "base/cleanup.h"

static const json_type parameter_json_types[_PARAMETER_TYPE_MAX] = {
        [PARAMETER_TEXT] = json_type_string,    [PARAMETER_BOOL] = json_type_boolean,
        [PARAMETER_U64] = json_type_int,        [PARAMETER_UID] = json_type_int,
        [PARAMETER_DESCRIPTOR] = json_type_int, [PARAMETER_OBJECT] = json_type_object,
        [PARAMETER_ARRAY] = json_type_array,    [PARAMETER_REAL] = json_type_double,
};

/* Every integer is a real number, too. */
static bool parameter_has_type(const Parameter *parameter, json_object *value) {
        return json_object_is_type(value, parameter_json_types[parameter->type]) ||
               (parameter->type == PARAMETER_REAL && json_object_is_type(value, json_type_int));
}

static int parameters_blame(const char *scope, const char *name,
                            char ret_culprit[static PARAMETER_CULPRIT_BYTES]) {
        int n = snprintf(ret_culprit, PARAMETER_CULPRIT_BYTES, "%s%s", scope, name);

        /* A name from outside that does not fit was cut perhaps within a character. */
        if (n >= PARAMETER_CULPRIT_BYTES)
                (void) snprintf(ret_culprit, PARAMETER_CULPRIT_BYTES, "%s...", scope);
        return PARAMETERS_E_INVALID;
}

/* False for a number below 0; json-c keeps those above 2^63-1 apart. */
static bool parameter_u64(json_object *value, uint64_t *ret) {
        if (json_object_get_int64(value) < 0)
                return false;
        *ret = json_object_get_uint64(value);
        return true;
}

/* False when @value is not in the range of its type. */
static bool parameter_put(const Parameter *parameter, json_object *value, FrameStream *stream,
                          void *member) {
        uint64_t number = 0;

        if (parameter_json_types[parameter->type] == json_type_int &&
            !parameter_u64(value, &number))
                return false;

        switch (parameter->type) {
        case PARAMETER_TEXT:
                *(const char **) member = json_object_get_string(value);
                return true;
        case PARAMETER_BOOL:
                *(bool *) member = json_object_get_boolean(value);
                return true;
        case PARAMETER_U64:
                *(uint64_t *) member = number;
                return true;
        case PARAMETER_UID:
                /* The last one stands for "no user" in system calls. */
                if (number >= UINT32_MAX)
                        return false;
                *(uid_t *) member = (uid_t) number;
                return true;
        case PARAMETER_REAL:
                *(double *) member = json_object_get_double(value);
                return true;
        case PARAMETER_DESCRIPTOR:
                *(int *) member = frame_stream_take_fd(stream, (size_t) number);
                return *(int *) member >= 0;
        case PARAMETER_OBJECT:
        case PARAMETER_ARRAY:
                *(json_object **) member = value;
                return true;
        case _PARAMETER_TYPE_MAX:
                break;
        }
        return false;
}

int parameters_decode(json_object *object, const Parameter *table, size_t n_table,
                      const char *scope, FrameStream *stream, void *ret,
                      char ret_culprit[static PARAMETER_CULPRIT_BYTES]) {
        json_object *value;

        json_object_object_foreach(object, key, ignored) {
                bool known = false;

                (void) ignored;
                for (size_t i = 0; i < n_table && !known; i++)
                        known = strcmp(key, table[i].name) == 0;
                if (!known)
                        return parameters_blame(scope, key, ret_culprit);
        }

        for (size_t i = 0; i < n_table; i++) {
                const Parameter *parameter = &table[i];

                value = json_object_object_get(object, parameter->name);
                if (!value && !parameter->required)
                        continue;
                if (!parameter_has_type(parameter, value) ||
                    !parameter_put(parameter, value, stream, (char *) ret + parameter->offset))
                        return parameters_blame(scope, parameter->name, ret_culprit);
        }
        return PARAMETERS_OK;
}

void snapshot_ref_done(SnapshotRef *ref) {
        ref->fd = fd_close(ref->fd);
}

int snapshot_ref_decode(json_object *object, const char *name, FrameStream *stream,
                        SnapshotRef *ret, char ret_culprit[static PARAMETER_CULPRIT_BYTES]) {
        static const Parameter table[] = {
                { "fileDescriptor", PARAMETER_DESCRIPTOR, true, offsetof(SnapshotRef, fd) },
                { "label", PARAMETER_TEXT, false, offsetof(SnapshotRef, label) },
        };
        char scope[PARAMETER_CULPRIT_BYTES / 2];

        if (!json_object_is_type(object, json_type_object))
                return parameters_blame("", name, ret_culprit);
        (void) snprintf(scope, sizeof(scope), "%s.", name);
        return parameters_decode(object, table, ELEMENTSOF(table), scope, stream, ret, ret_culprit);
}
