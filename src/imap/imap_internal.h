/* SPDX-License-Identifier: ISC
 *
 * What the files of imap/ share. */
#ifndef ONCEDROP_IMAP_INTERNAL_H
#define ONCEDROP_IMAP_INTERNAL_H

#include <sys/uio.h>

#include "base/base.h"
#include "base/log.h"

/* imap_socket.c
 * I/O on a connected, non-blocking socket; imap_tls.c does it over TLS. Returns the number of bytes after up to `ms`
 * milliseconds; -1 with errno: connection lost, or EAGAIN (timeout). */

/* 0: the peer closed. */
ssize_t imap_socket_read(int fd, void *to, size_t size, int64_t ms) OD_MUST;

/* Sends some of the bytes. */
ssize_t imap_socket_write(int fd, const void *bytes, size_t size, int64_t ms) OD_MUST;

/* imap_token.c */

enum imap_token { TOKEN_END, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_ATOM, TOKEN_STRING };

/* A position in a response; `text` is the last atom or string, unquoted in place. */
struct imap_cursor {
    char *at;
    char *end;
    char *text;
    size_t size;
};

/* Returns whether the line ends with a literal's "{n}". Not for status responses, whose text may end so. */
bool imap_token_literal(const char *line, size_t size, size_t *ret_literal, size_t *ret_start) OD_MUST;

/* Moves past a token. TOKEN_END: none, or incomplete. */
enum imap_token imap_token_next(struct imap_cursor *cursor) OD_MUST;

/* Skips the value that begins with this token: atom, string or list. False: incomplete. */
bool imap_token_skip(struct imap_cursor *cursor, enum imap_token token) OD_MUST;

/* imap_reply.c
 * Parses responses (RFC 3501, 7): pure functions over arbitrary bytes. "In place": quoted strings are unquoted in the
 * data. */

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

/* imap_debug.c
 * The dialogue in the debug log: "imap ACCOUNT C: LINE" is sent, "S:" received. Credentials are masked; of literals and
 * fetched text only the size is logged. */

struct imap_debug {
    char *account; /* NULL: unknown */
    /* Masked during the login; else NULL. */
    const char *password;
    const char *secret; /* as it is sent */
};

void imap_debug_fact(const struct imap_debug *debug, const char *format, ...) OD_PRINTF(2, 3);

/* tag: of the current command. */
void imap_debug_sent(const struct imap_debug *debug, const char *tag, const char *line);

void imap_debug_sent_literal(const struct imap_debug *debug, const struct iovec *pieces, size_t count);

/* response: the start of the response that has this line. */
void imap_debug_received(const struct imap_debug *debug, const char *response, const char *line);

void imap_debug_received_literal(const struct imap_debug *debug, size_t size);

#endif
