/* SPDX-License-Identifier: ISC
 *
 * Parses the responses of an IMAP server (RFC 3501, section 7): pure functions over arbitrary bytes. */
#ifndef ONCEDROP_IMAP_REPLY_H
#define ONCEDROP_IMAP_REPLY_H

#include "base/base.h"

enum reply_kind {
    REPLY_NONE,     /* there is no response: the connection was lost, or the server is silent */
    REPLY_GARBAGE,  /* none of those below, or a tag that is not ours */
    REPLY_CONTINUE, /* + */
    REPLY_UNTAGGED, /* * */
    REPLY_TAGGED,   /* our tag and OK, NO or BAD */
};

enum reply_status { STATUS_NONE, STATUS_OK, STATUS_NO, STATUS_BAD, STATUS_PREAUTH, STATUS_BYE };

/* The pointers point into the parsed bytes. */
struct imap_reply {
    enum reply_kind kind;
    enum reply_status status; /* NONE: the response is data, or there is none */
    char code[24];            /* atom of the response code in upper case; "": none */
    const char *arguments;    /* of the code, */
    size_t arguments_size;    /* up to its ']' */
    char *data;               /* everything after "* " or the tag, including the status; NUL-terminated */
    size_t data_size;
    const char *text; /* what follows the status and the code */
};

/* What stands for a response that did not come: its code and its texts are empty, never NULL. */
struct imap_reply imap_reply_none(void) OD_MUST;

/* Parses one response without its line end: bytes[size], and bytes[size] is NUL. */
void imap_reply_parse(char *bytes, size_t size, const char *tag, struct imap_reply *ret);

/* Whether a blank-separated list, such as capabilities, contains the word (case-insensitive). */
bool imap_reply_has_word(const char *list, const char *word) OD_MUST;

/* Arguments of [APPENDUID validity uid] (RFC 4315). */
bool imap_reply_appenduid(const struct imap_reply *reply, uint32_t *ret_uidvalidity, uint32_t *ret_uid) OD_MUST;

/* The argument of such a code as [UIDVALIDITY n]. */
bool imap_reply_code_number(const struct imap_reply *reply, const char *code, uint32_t *ret) OD_MUST;

/* "n EXISTS". */
bool imap_reply_exists(const struct imap_reply *reply, uint32_t *ret) OD_MUST;

/* "SEARCH n n ...": appends to the array, which the caller frees. */
bool imap_reply_search(const struct imap_reply *reply, uint32_t **uids, size_t *count) OD_MUST;

struct reply_list {
    bool sent;       /* \Sent (RFC 6154) */
    bool selectable; /* neither \Noselect nor \NonExistent */
    char *name;      /* as written by the server (modified UTF-7); points into the data, not NUL-terminated */
    size_t name_size;
};

/* "LIST (attributes) delimiter name"; quoted strings in the data are unquoted in place. */
bool imap_reply_list(struct imap_reply *reply, struct reply_list *ret) OD_MUST;

/* A namespace (RFC 2342). */
struct reply_namespace {
    bool personal;      /* of one's own mailboxes; else of other users' or of shared ones */
    const char *prefix; /* as written by the server (modified UTF-7); points into the data, not NUL-terminated */
    size_t prefix_size;
    char separator; /* of the hierarchy; 0: there is none */
};

/* "NAMESPACE (personal) (others) (shared)": calls `each` for every namespace. Quoted strings in the data are unquoted in
 * place. */
bool imap_reply_namespaces(struct imap_reply *reply,
                           void (*each)(void *context, const struct reply_namespace *namespace), void *context) OD_MUST;

struct reply_fetch {
    uint32_t uid;     /* 0: absent */
    const char *body; /* content of BODY[...]; NULL: absent */
    size_t body_size;
};

/* "n FETCH (...)"; quoted strings in the data are unquoted in place. */
bool imap_reply_fetch(struct imap_reply *reply, struct reply_fetch *ret) OD_MUST;

#endif
