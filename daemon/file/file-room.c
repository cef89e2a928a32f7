/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "file/file-room.h"

#include <string.h>

static bool fits(uint32_t question, size_t n) {
        return n == file_answer_bytes(question);
}

int file_room_new(int (*open)(void *userdata, int peer_fd), void *userdata, Room **ret) {
        const RoomTerms terms = {
                .max_answer_bytes = sizeof(FileAnswer),
                .fits = fits,
                .open = open,
                .userdata = userdata,
        };

        return room_new(&terms, ret);
}

int file_room_ask(Room *room, FileQuestion question, const RoomTag *tag, int fd,
                  uint64_t deadline_ns, void *ret) {
        const RoomQuestion asked = { .question = question, .tag = *tag, .fd = fd };
        FileAnswer answer;
        size_t n;
        int r = fd < 0 ? ROOM_E_UNABLE : room_ask(room, &asked, deadline_ns, &answer, &n);

        if (r == 0)
                memcpy(ret, &answer, n);
        return r;
}

int file_room_take_late(Room *room, uint64_t deadline_ns, RoomTag *ret_tag,
                        FileQuestion *ret_question, FileAnswer *ret) {
        uint32_t question;
        size_t n;
        int r = room_take_late(room, deadline_ns, ret_tag, &question, ret, &n);

        if (r == 0)
                *ret_question = (FileQuestion) question;
        return r;
}
