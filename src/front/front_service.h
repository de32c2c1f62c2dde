/* SPDX-License-Identifier: ISC
 *
 * The dialogue with the service, over its unix socket (lmtp_deliver.h):
 *
 *    service   220 ..., or 421 4.3.2: retry soon
 *    front     XDELIVER parameters, BDAT n, n bytes; if small, before the 220
 *    service   354 milliseconds
 *    front     BDAT 0 LAST          the final mark
 *    service   250 STATUS D.S.N text
 *
 * One write sends XDELIVER and BDAT; before the greeting only once, since a busy service does not read. Before the
 * final mark, a lost connection stores nothing; after it, only the reply counts. */
#ifndef ONCEDROP_FRONT_SERVICE_H
#define ONCEDROP_FRONT_SERVICE_H

#include "front/front_message.h"
#include "front/front_reply.h"
#include "front/front_request.h"

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
