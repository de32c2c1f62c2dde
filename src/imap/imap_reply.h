/* SPDX-License-Identifier: ISC
 *
 * Parses responses (RFC 3501, 7): pure functions over arbitrary bytes. "In place": quoted strings are unquoted in the
 * data. */
#ifndef ONCEDROP_IMAP_REPLY_H
#define ONCEDROP_IMAP_REPLY_H

#include "base/base.h"

enum reply_kind {
    REPLY_NONE,     /* connection lost, or timeout */
    REPLY_GARBAGE,  /* none of these, or not our tag */
    REPLY_CONTINUE, /* + */
    REPLY_UNTAGGED, /* * */
    REPLY_TAGGED,   /* our tag and OK, NO or BAD */
};

enum reply_status { STATUS_NONE, STATUS_OK, STATUS_NO, STATUS_BAD, STATUS_PREAUTH, STATUS_BYE };

/* Pointers into the parsed bytes. */
struct imap_reply {
    enum reply_kind kind;
    enum reply_status status; /* NONE: data, or no response */
    char code[24];            /* response code in upper case; "": none */
    const char *arguments;    /* of the code, */
    size_t arguments_size;    /* up to its ']' */
    char *data;               /* after "* " or the tag, with the status; NUL-terminated */
    size_t data_size;
    const char *text; /* after status and code */
};

/* Stands for a missing response: its strings are empty, never NULL. */
struct imap_reply imap_reply_none(void) OD_MUST;

/* Parses a response without its line end. bytes[size] is NUL. */
void imap_reply_parse(char *bytes, size_t size, const char *tag, struct imap_reply *ret);

/* Returns whether a list, separated by blanks, has the word in any case. */
bool imap_reply_has_word(const char *list, const char *word) OD_MUST;

/* [APPENDUID validity uid] (RFC 4315). */
bool imap_reply_appenduid(const struct imap_reply *reply, uint32_t *ret_uidvalidity, uint32_t *ret_uid) OD_MUST;

/* A code such as [UIDVALIDITY n]. */
bool imap_reply_code_number(const struct imap_reply *reply, const char *code, uint32_t *ret) OD_MUST;

/* "n EXISTS". */
bool imap_reply_exists(const struct imap_reply *reply, uint32_t *ret) OD_MUST;

/* "SEARCH n n ...": appends to the array, which the caller frees. */
bool imap_reply_search(const struct imap_reply *reply, uint32_t **uids, size_t *count) OD_MUST;

struct reply_list {
    bool sent;       /* \Sent (RFC 6154) */
    bool selectable; /* neither \Noselect nor \NonExistent */
    char *name;      /* modified UTF-7, as received; in the data, not NUL-terminated */
    size_t name_size;
};

/* "LIST (attributes) delimiter name", in place. */
bool imap_reply_list(struct imap_reply *reply, struct reply_list *ret) OD_MUST;

/* RFC 2342. */
struct reply_namespace {
    bool personal;      /* else other users', or shared */
    const char *prefix; /* like reply_list.name */
    size_t prefix_size;
    char separator; /* 0: no hierarchy */
};

/* "NAMESPACE (personal) (others) (shared)", in place. Calls `each` for every namespace. */
bool imap_reply_namespaces(struct imap_reply *reply,
                           void (*each)(void *context, const struct reply_namespace *namespace), void *context) OD_MUST;

struct reply_fetch {
    uint32_t uid;     /* 0: absent */
    const char *body; /* of BODY[...]; NULL: absent */
    size_t body_size;
};

/* "n FETCH (...)", in place. */
bool imap_reply_fetch(struct imap_reply *reply, struct reply_fetch *ret) OD_MUST;

#endif
