/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Packet
 *
 * The messages between the main process and a job, over a pair of SOCK_SEQPACKET. A message has a
 * kind, bytes and descriptors; what its bytes are follows from its kind. One that is longer than
 * PACKET_BYTES goes in several packets, with its descriptors in the first.
 *
 * A job may have been taken over by what it reads. Therefore the reader of its packets believes
 * nothing: a packet of another form, a message that is too long or has too many descriptors is
 * malformed, and what a message says is checked by whoever takes it.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/span.h"
#include "interface/interface.h"
#include "wire/frame.h"

/* Two of them fit into the buffer that a socket has by default. */
#define PACKET_BYTES (64u * 1024u)
#define PACKET_MAX_FDS 128u

typedef enum PacketKind {
        /* to a job */
        PACKET_ORDER, /* order/order.h; the first message, and no other */
        PACKET_STOP,  /* come to an end and answer with the results there are */
        PACKET_TELL,  /* a listener: what has been heard, into the exit line that comes with it */

        /* from a job, of which the last one is a LAST, a RESULT or an ERROR */
        PACKET_PART,   /* JSON for the caller: an object, the parameters of a reply */
        PACKET_LAST,   /* the same of the last reply */
        PACKET_RESULT, /* the main process makes the last reply of it: order/order.h */
        PACKET_ERROR,  /* failure_pack() */

        /* notes: from a job to the main process alone */
        PACKET_ENTRIES, /* a survey tells of some snapshots: spool/spool-index.h */
        PACKET_CHANGE,  /* a spool job tells what it did to the spool: likewise */
        PACKET_MEMORY,  /* a capture or a probe wants a memory job at the socket that comes along */
        PACKET_FILES,   /* a memory job wants a file job, likewise */
        PACKET_UNWIND,  /* a recording job wants an unwinding job, likewise */
        PACKET_CLOCKS,  /* a job that loads hands over clocks of some CPUs */
        PACKET_LEFT,    /* OrderLife: a memory job has left a call for this process behind */
        PACKET_LISTENING, /* a listener hears exits from now on */
        _PACKET_KIND_MAX,
} PacketKind;

enum {
        PACKET_OK,
        PACKET_E_AGAIN,     /* nothing is there */
        PACKET_E_PARTIAL,   /* a packet came, and more of its message will */
        PACKET_E_CLOSED,    /* the other side is gone */
        PACKET_E_MALFORMED, /* the reader is of no use any more */
};

/*
 * @fds are borrowed. @flags: MSG_DONTWAIT, or 0 to wait for room. -EPIPE: the other side is gone;
 * -EAGAIN: there is no room, and a part of the message may have been sent; -errno.
 */
_must_check_ int packet_send(int socket_fd, PacketKind kind, Span body, const int *fds,
                             size_t n_fds, int flags);

/* A new one is zeroed but for @max_bytes, and @keeper if there is one. */
typedef struct PacketReader {
        PacketKind kind; /* of the message that came or is coming */
        Buffer body;     /* its bytes, as far as they have come */
        size_t max_bytes;
        uint32_t n_left;
        int fds[PACKET_MAX_FDS]; /* owned, unless they are taken */
        size_t n_fds;
        const FrameKeeper *keeper; /* borrowed: closes descriptors; NULL: they are just closed */
} PacketReader;

void packet_reader_done(PacketReader *reader);
/*
 * Receives one packet without waiting. 0 when a message is complete: it and its descriptors are
 * there until the next packet is received. Otherwise PACKET_E_*, -errno.
 */
_must_check_ int packet_receive(PacketReader *reader, int socket_fd);
/* errors */

/* Appends the bytes of a PACKET_ERROR. */
_must_check_ int failure_pack(Buffer *buffer, WireError error, const WireErrorDetail *detail);
/* False for anything else than failure_pack() makes. *ret_detail borrows from @body. */
_must_check_ bool failure_unpack(Span body, WireError *ret_error, WireErrorDetail *ret_detail);
