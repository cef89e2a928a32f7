/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * DocumentSection
 *
 * A document is one JSON object: a snapshot's, or that of another kind of file in the same
 * container. Its sections are the members that can be large. Each is one row in the table of its
 * kind of document, and that row is all that the reader and the writer of documents know of it.
 */

#include <stdbool.h>
#include "json/json-writer.h"

/* Bounds of every document that is read. */
#define SNAPSHOT_MAX_DEPTH 16
#define SNAPSHOT_MAX_TOKEN_BYTES (64 * 1024)
#define SNAPSHOT_MAX_VALUE_BYTES (1024 * 1024) /* an object that is handed on as one JSON text */

/* The way a section is written. */
typedef enum DocumentShape {
        DOCUMENT_OBJECT, /* {...}, made elsewhere; null when there is none */
        DOCUMENT_MAP,    /* {NAME: {...}, ...} */
        DOCUMENT_TABLE,  /* {"columns": [NAME, ...], "rows": [[CELL, ...], ...]} */
} DocumentShape;

typedef struct DocumentReader DocumentReader;

typedef struct DocumentSection {
        const char *name; /* of the document's member */
        DocumentShape shape;
        void (*write_columns)(
                JsonWriter *writer); /* of a table: the names, in the order of cells */

        /*
         * These read it. Its key was read; read() takes the whole value, or where there is a
         * next() the value's beginning. next() takes one element, or the end and then says that
         * there was none. @userdata is the one of document_reader_init(). Both return 0,
         * JSON_E_MALFORMED with the scanner's complaint, or a negative errno.
         */
        int (*read)(void *userdata, DocumentReader *document);
        int (*next)(void *userdata, DocumentReader *document, bool *ret_more);
} DocumentSection;
