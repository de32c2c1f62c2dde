/* SPDX-License-Identifier: ISC
 *
 * The dialogue with the service, over its unix socket:
 *
 *    service   220 ...
 *              or 421 4.3.2: try again soon
 *    front     XDELIVER parameters, BDAT n, n bytes as they were read; if they are few, without waiting for the 220
 *    service   354 milliseconds
 *    front     BDAT 0 LAST          the final mark
 *    service   250 STATUS D.S.N text
 *
 * See lmtp_deliver.h. XDELIVER and BDAT are sent in one write; before the greeting only once, since a busy service does
 * not read them. Nothing is stored if the connection ends before the final mark; from then on only the reply counts. */
#ifndef ONCEDROP_FRONT_SERVICE_H
#define ONCEDROP_FRONT_SERVICE_H

#include "front/front_message.h"
#include "front/front_reply.h"
#include "front/front_request.h"

#define FRONT_TURN_MS 180000     /* how long a busy service is waited for: the caller may have no other way */
#define FRONT_HAND_OVER_MS 25000 /* from the greeting to the final mark */
#define FRONT_REPLY_MS 5000      /* added to what the service says it may take */

enum front_service {
    FRONT_SERVICE_OK,        /* it has answered */
    FRONT_SERVICE_NOT_TAKEN, /* nothing will come of it: the full program can deliver */
    FRONT_SERVICE_BUSY,      /* nothing will come of it, and there is no time left for more */
    FRONT_SERVICE_GONE,      /* the reader of our output is gone: the message may be cut short. Nothing will come of it
                                if that was seen before the final mark; afterwards the service sees us go */
    FRONT_SERVICE_UNKNOWN,   /* the final mark was sent, and there is no answer: it may have been delivered */
};

/* The answer to Postfix. */
struct front_answer {
    int status;
    const char *text; /* "D.S.N text", in `replies` */
    struct front_replies replies;
};

/* Hands the message over; sets *ret if the result is FRONT_SERVICE_OK.
 *
 * fd  a unix stream socket, non-blocking, not connected; it is not closed
 *
 * The answer is waited for as long as the service says it may take, and FRONT_REPLY_MS. The deadline is set anew, in
 * case that a wait does not end by itself. */
enum front_service front_service_deliver(int fd, const struct front_request *request,
                                         const struct front_message *message, struct front_answer *ret) OD_MUST;

#endif
