/* SPDX-License-Identifier: ISC
 *
 * What the files of front/ share. */
#ifndef ONCEDROP_FRONT_INTERNAL_H
#define ONCEDROP_FRONT_INTERNAL_H

#include "base/base.h"
#include "front/front.h"

/* front_program.c
 * The full program is not executed: without a library ld.so(8) exits with 127, and Postfix bounces. */

/* Loads it. The error names the file that is missing or truncated: then the process must end, for ld.so(8) may be
 * interrupted. */
bool front_program_load(const struct front_program **ret, struct error *error) OD_MUST;

/* front_message.c
 * The message on standard input, kept until the service has it: the full program may need it. */

#define FRONT_MESSAGE_SMALL ((size_t)64 << 10) /* in the process up to this size */
#define FRONT_MESSAGE_FILE ((size_t)16 << 20)  /* from this size on in a temp file, else a memfd */

struct front_message {
    size_t size;
    int fd; /* memfd or file; -1: `bytes` */
    unsigned char *bytes;
};

enum front_read {
    FRONT_READ_OK,
    FRONT_READ_NOTHING, /* standard input is unchanged */
    FRONT_READ_ERROR,   /* what was read is lost */
};

/* Reads standard input to its end. On FRONT_READ_OK sets *ret, which is not freed. */
enum front_read front_message_read(struct front_message *ret, struct error *error) OD_MUST;

/* Makes the message standard input, from its beginning. */
bool front_message_restore(struct front_message *message, struct error *error) OD_MUST;

/* front_reply.c
 * The service's replies: lines "CODE text", read with a timeout. */

/* Fits into the line that Postfix reads. */
#define FRONT_REPLY_MAX 1100

struct front_replies {
    int fd; /* non-blocking */
    size_t used, end;
    char buffer[FRONT_REPLY_MAX];
};

enum front_line {
    FRONT_LINE_OK,
    FRONT_LINE_NONE, /* timeout */
    FRONT_LINE_END,  /* closed, or not a line */
    FRONT_LINE_GONE, /* our output's peer closed */
};

/* Reads a line, without line end, valid until the next call.
 *
 * until_ms  by base_now_ms()
 * output    of output_pipe(): its closed peer ends the wait; -1: none */
enum front_line front_reply_read(struct front_replies *replies, int64_t until_ms, int output, char **ret) OD_MUST;

/* Parses "354 MILLISECONDS": the delivery is accepted, and may take that long after the final mark. */
bool front_reply_accepts(const char *line, int64_t *ret_ms) OD_MUST;

/* Parses "250 STATUS D.S.N text"; *ret: "D.S.N text", for Postfix. Returns false if STATUS and code disagree, or
 * Postfix would misunderstand. */
bool front_reply_codes(const char *line, int *ret_status, const char **ret) OD_MUST;

/* front_request.c
 * The command XDELIVER (lmtp_deliver.c), known before the message. */

struct front_request {
    const char *socket; /* the service's, in argv */
    size_t length;
    char command[4000]; /* without line end; the service accepts 4096 bytes */
};

/* Parses command line and environment. Returns false, for the full program, if it is not a correct `deliver`,
 * options precede it, the service has no socket, or values are too long. */
bool front_request_parse(int argc, char **argv, struct front_request *ret) OD_MUST;

/* front_service.c
 * The dialogue with the service, over its unix socket (lmtp_deliver.c):
 *
 *    service   220 ..., or 421 4.3.2: retry soon
 *    front     XDELIVER parameters, BDAT n, n bytes; if small, before the 220
 *    service   354 milliseconds
 *    front     BDAT 0 LAST          the final mark
 *    service   250 STATUS D.S.N text
 *
 * One write sends XDELIVER and BDAT. Before the final mark, a lost connection stores nothing; after it, only the reply
 * counts. */

#define FRONT_TURN_MS 180000     /* for a busy service: the caller may have no alternative */
#define FRONT_HAND_OVER_MS 25000 /* from the greeting to the final mark */
#define FRONT_REPLY_MS 5000      /* on top of the service's time */

enum front_service {
    FRONT_SERVICE_OK,
    FRONT_SERVICE_NOT_TAKEN, /* not delivered: the full program can deliver */
    FRONT_SERVICE_BUSY,      /* not delivered; no time is left */
    FRONT_SERVICE_GONE,      /* our peer closed; before the final mark, nothing is stored */
    FRONT_SERVICE_UNKNOWN,   /* no reply after the final mark: possibly delivered */
};

/* The reply to Postfix. */
struct front_reply {
    int status;
    const char *text; /* "D.S.N text", in `replies` */
    struct front_replies replies;
};

/* Hands the message over; on FRONT_SERVICE_OK sets *ret. Waits as long as the service says, plus FRONT_REPLY_MS.
 * Rearms the deadline, in case a wait does not end. fd: unix stream socket, non-blocking, not connected; stays open. */
enum front_service front_service_deliver(int fd, const struct front_request *request,
                                         const struct front_message *message, struct front_reply *ret) OD_MUST;

#endif
