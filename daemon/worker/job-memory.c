/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/work.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "capture/heap/memory-server.h"
#include "wire/limits.h"

typedef struct MemoryParameters {
        int socket; /* owned */
        int files;  /* owned: what is known of files; negative: none */
        uint64_t limit_ns;
        json_object *hung, *barred_owners; /* borrowed; may be NULL */
} MemoryParameters;

/* Questions of a capture job are answered until that is done. */
typedef struct Reading {
        Work *work; /* borrowed */
        int proc_fd;
        MemoryLife hung[LIMIT_HUNG_PROCESSES];
        uint32_t barred_owners[LIMIT_HUNG_PROCESSES];
        MemoryJobOptions options;
} Reading;

/* The main process, which made the array, knows the bounds. */
static bool decode_number(json_object *array, size_t i, uint64_t *ret) {
        json_object *value = json_object_array_get_idx(array, i);

        if (!json_object_is_type(value, json_type_int))
                return false;
        *ret = json_object_get_uint64(value);
        return true;
}

static int decode_hung(Reading *reading, json_object *array) {
        size_t n = array ? json_object_array_length(array) : 0;

        if (n > ELEMENTSOF(reading->hung))
                return -E2BIG;
        for (size_t i = 0; i < n; i++) {
                json_object *process = json_object_array_get_idx(array, i), *tgid, *start;

                if (!json_object_object_get_ex(process, JOB_KEY_TGID, &tgid) ||
                    !json_object_object_get_ex(process, JOB_KEY_START_TICKS, &start))
                        return -EINVAL;
                reading->hung[i] = (MemoryLife){
                        .tgid = (uint32_t) json_object_get_uint64(tgid),
                        .start_ticks = json_object_get_uint64(start),
                };
        }
        reading->options.hung = reading->hung;
        reading->options.n_hung = n;
        return 0;
}

static int decode_owners(Reading *reading, json_object *array) {
        size_t n = array ? json_object_array_length(array) : 0;
        uint64_t owner;

        if (n > ELEMENTSOF(reading->barred_owners))
                return -E2BIG;
        for (size_t i = 0; i < n; i++) {
                if (!decode_number(array, i, &owner))
                        return -EINVAL;
                reading->barred_owners[i] = (uint32_t) owner;
        }
        reading->options.barred_owners = reading->barred_owners;
        reading->options.n_barred_owners = n;
        return 0;
}

/* The main process starts the job, or closes @peer_fd, which ends the room that asks. */
static int open_files(void *userdata, int peer_fd) {
        Reading *reading = userdata;
        Answer *answer = &reading->work->answer;

        json_write_member_bool(answer_begin(answer), JOB_KEY_FILES, true);
        return answer_note_descriptor(answer, peer_fd);
}

/* If the main process cannot be told, it is gone, and this job will be. */
static void on_left(void *userdata, const MemoryLife *life) {
        Reading *reading = userdata;
        JsonWriter *writer = answer_begin(&reading->work->answer);

        json_write_key(writer, JOB_KEY_LEFT);
        json_write_object(writer);
        json_write_member_u64(writer, JOB_KEY_TGID, life->tgid);
        json_write_member_u64(writer, JOB_KEY_START_TICKS, life->start_ticks);
        json_write_member_u64(writer, JOB_KEY_OWNER, life->owner);
        json_write_end(writer);
        (void) !answer_note(&reading->work->answer);
}

static int read_memory(Work *work, const MemoryParameters *parameters) {
        _cleanup_(fd_closep) int proc_fd = -EBADF;
        Reading reading = {
                .work = work,
                .options = {
                        .system = &capture_system_kernel,
                        .limit_ns = parameters->limit_ns,
                        .cache_fd = parameters->files,
                        .open_files = open_files,
                        .on_left = on_left,
                        .userdata = &reading,
                },
        };
        int r = decode_hung(&reading, parameters->hung);

        if (r == 0)
                r = decode_owners(&reading, parameters->barred_owners);
        if (r < 0)
                return r;
        proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (proc_fd < 0)
                return -errno;
        reading.options.proc_fd = proc_fd;
        r = memory_server_run(parameters->socket, &reading.options);
        if (r != 0)
                return r;
        (void) answer_begin(&work->answer);
        return answer_final(&work->answer);
}

static int work_memory(Work *work) {
        const Parameter table[] = {
                { JOB_KEY_SOCKET, PARAMETER_DESCRIPTOR, true, offsetof(MemoryParameters, socket) },
                { JOB_KEY_HEAP_FILES, PARAMETER_DESCRIPTOR, false,
                  offsetof(MemoryParameters, files) },
                { JOB_KEY_HEAP_LIMIT_NS, PARAMETER_U64, true,
                  offsetof(MemoryParameters, limit_ns) },
                { JOB_KEY_HUNG, PARAMETER_ARRAY, false, offsetof(MemoryParameters, hung) },
                { JOB_KEY_BARRED_OWNERS, PARAMETER_ARRAY, false,
                  offsetof(MemoryParameters, barred_owners) },
        };
        MemoryParameters parameters = { .socket = -EBADF, .files = -EBADF };
        int r = work_decode(work, table, ELEMENTSOF(table), &parameters);

        if (r == 0)
                r = read_memory(work, &parameters);
        parameters.socket = fd_close(parameters.socket);
        parameters.files = fd_close(parameters.files);
        return r;
}

const WorkMethod work_memory_methods[] = {
        { JOB_METHOD_MEMORY, work_memory, WORK_NEEDS_NOTHING, 0 },
        {},
};
