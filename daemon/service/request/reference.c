/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/request/reference.h"

int reference_find(Request *request, const char *name, const char **ret) {
        const IndexEntry *entry = spool_view_resolve(request_view(request), span_of(name));

        if (spool_dir_fd(request->desk->spool) < 0)
                return request_fail_spool(request, name, SPOOL_E_UNAVAILABLE);
        if (!entry)
                return request_fail_spool(request, name, SPOOL_E_NOT_FOUND);
        *ret = entry->name;
        return 0;
}

/* A snapshot of the spool is called what it is called there. */
static int open_name(Request *request, OrderReference *reference, int *ret) {
        int r = reference_find(request, reference->name, &reference->label);

        if (r != 0)
                return r;
        /* The file is not read: a job finds out and explains what is wrong with it. */
        r = spool_open_snapshot(request->desk->spool, reference->label, ret, NULL);
        return r == 0 ? 0 : request_fail_spool(request, reference->label, r);
}

static int open_reference(void *userdata, const char *key, OrderReference *reference,
                          OrderFd *ret) {
        Request *request = userdata;
        int fd = -EBADF, r;

        if (reference->name) {
                r = open_name(request, reference, &fd);
                if (r != 0)
                        return r;
        } else {
                fd = request_take_fd(request, (size_t) reference->index.value);
        }
        if (fd < 0)
                return request_refuse_parameter(request, "fileDescriptor",
                                                "The call has no descriptor of a file with this "
                                                "number, or names it twice.");
        return request_add_fd(request, fd, ret);
}

static int refuse(void *userdata, WireError error, const WireErrorDetail *detail) {
        return request_fail(userdata, error, detail);
}

OrderDoor reference_door(Request *request) {
        return (OrderDoor){ .open = open_reference, .refuse = refuse, .userdata = request };
}
