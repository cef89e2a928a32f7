/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * DocumentReader
 *
 * Reads a document as a stream, section by section in the order of the file, and the elements of a
 * section one at a time: memory does not grow with their number. It knows the sections of its kind
 * of document by their table and nothing of what is in them. What is no section is left to
 * the kind of document.
 */

#include <stdint.h>
#include "base/buffer.h"
#include "base/macro.h"
#include "base/name-set.h"
#include "json/json-scanner.h"
#include "document/document-section.h"

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
