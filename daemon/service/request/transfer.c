/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/request/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "service/request/reservation.h"
#include "wire/message.h"

static void transfer_free(void *state) {
        Transfer *transfer = state;

        spool_discard(transfer->spool, transfer->file);
        (void) fd_close(transfer->file);
        (void) request_close_fd(transfer->request, transfer->from);
        free(transfer);
}

int transfer_new(Request *request, Transfer **ret) {
        Transfer *transfer = malloc(sizeof(*transfer));

        if (!transfer)
                return -ENOMEM;
        *transfer = (Transfer){
                .request = request,
                .spool = request->desk->spool,
                .file = -EBADF,
                .from = -EBADF,
        };
        request_keep(request, transfer, transfer_free);
        *ret = transfer;
        return 0;
}

/* Our descriptor stays open: whether the file was published is known when the request ends. */
int transfer_add_file(Request *request, JsonWriter *writer, Transfer *transfer, const char *key) {
        int fd = fcntl(transfer->file, F_DUPFD_CLOEXEC, 0);

        return fd < 0 ? -errno : request_add_fd(request, writer, key, fd);
}

int transfer_add_output(Request *request, JsonWriter *writer, Transfer *transfer) {
        int r;

        r = spool_temporary(request->desk->spool, &transfer->file);
        if (r != 0)
                return request_fail_spool(request, "", r);
        r = reservation_take_half(request, transfer->file);
        return r == 0 ? transfer_add_file(request, writer, transfer, JOB_KEY_OUTPUT) : r;
}

int transfer_add_memory(Request *request, JsonWriter *writer, Transfer *transfer) {
        int r = lent_file_new(&transfer->file);

        return r < 0 ? r : transfer_add_file(request, writer, transfer, JOB_KEY_OUTPUT);
}

int transfer_decode(Span frame, const char *key, json_type type, json_object **ret_whole,
                    json_object **ret) {
        char complaint[MESSAGE_COMPLAINT_BYTES];
        json_object *value;
        Reply reply;
        int r;

        r = reply_decode(frame, &reply, complaint);
        if (r != 0)
                return r < 0 ? r : -EBADMSG;
        value = json_object_object_get(reply.parameters, key);
        if (json_object_is_type(value, type)) {
                *ret_whole = json_object_get(reply.parameters);
                *ret = value;
        } else {
                r = -EBADMSG;
        }
        reply_done(&reply);
        return r;
}
