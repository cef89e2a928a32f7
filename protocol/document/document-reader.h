/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * DocumentReader
 *
 * A document is one JSON object: a snapshot's, or that of another kind of file in the same
 * container. Its sections are the members that can be large. Each is one row in the table of its
 * kind of document, and that row is all that the reader and the writer of documents know of it.
 *
 * A document is read as a stream, section by section in the order of the file, and the elements of
 * a section one at a time: memory does not grow with their number. A member that is no section is
 * left to the kind of document.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/name-set.h"
#include "json/json-scanner.h"
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

#define DOCUMENT_COMPLAINT_BYTES 512

typedef struct DocumentKind {
        const DocumentSection *sections; /* in the order in which they are written */
        size_t n_sections;
        /*
         * Takes the whole value of a member that is no section, and sets document->member if it
         * knows the key, which is borrowed until the scanner reads on; returns like read().
         */
        int (*member)(void *userdata, DocumentReader *document, Span key);
        /* Checks what only the whole document can tell; returns like read(). */
        int (*end)(void *userdata, DocumentReader *document);
} DocumentKind;

struct DocumentReader {
        JsonScanner *scanner; /* owned */
        const DocumentKind *kind;
        void *userdata;
        bool has_begun, has_ended;
        const DocumentSection *section; /* whose elements are being read; NULL: none */
        const DocumentSection *reading; /* whose read() was called last */

        Buffer name;   /* of an entry of a map */
        NameSet names; /* of all entries of that map */
        Buffer value;  /* an object on its way to a visitor */

        /* where reading failed, for the complaint */
        const char *member; /* NULL: between two */
        const char *column; /* NULL: in none */
        uint64_t element;   /* from 1; 0: in none */
        char complaint[DOCUMENT_COMPLAINT_BYTES];
};

/*
 * @refill delivers the document, uncompressed; @max_bytes bounds it (0: no bound). @kind and
 * @userdata outlive the reader. 0 or -ENOMEM; call document_reader_done() in both cases.
 */
_must_check_ int document_reader_init(DocumentReader *document, const DocumentKind *kind,
                                      void *userdata, JsonRefill refill, void *refill_userdata,
                                      uint64_t max_bytes);
void document_reader_done(DocumentReader *document);

/*
 * Reads on to the end of the next element and says in *ret which section it is of; NULL when the
 * document has ended and is whole. JSON_E_MALFORMED with a complaint ("threads, number 17,
 * wait_sum: a string is expected"), or a negative errno; there is no further call after a failure.
 */
_must_check_ int document_reader_next(DocumentReader *document, const DocumentSection **ret);

/* Sections are read with these. */

static inline int document_fail(DocumentReader *document, const char *complaint) {
        return json_scanner_fail(document->scanner, complaint);
}
/* Names the element in which reading has just failed; @column may be NULL. */
static inline void document_blame(DocumentReader *document, uint64_t element, const char *column) {
        document->element = element;
        document->column = column;
}

/* The next value: an object as one JSON text, or (Span){} for null. Borrowed until the next one. */
_must_check_ int document_object(DocumentReader *document, Span *ret_json);
/* Begins a map, as read() of its section. document_entry() reads it, until the name is (Span){}. */
_must_check_ int document_map(void *userdata, DocumentReader *document);
/*
 * An entry of a map: the bytes that its name stands for (base/name.h) and its object. No name may
 * come twice in a map; @twice is the complaint when one does.
 */
_must_check_ int document_entry(DocumentReader *document, const char *twice, Span *ret_name,
                                Span *ret_json);
