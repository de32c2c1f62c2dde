/* SPDX-License-Identifier: ISC
 *
 * A message of our own, stored in place of one that the IMAP server refuses: it explains why, and has the other one
 * attached, byte for byte, as base64 (delivery.rejected = quarantine). */
#ifndef ONCEDROP_EXPLANATION_H
#define ONCEDROP_EXPLANATION_H

#include "decode/decode.h"
#include "message/message.h"

/* What an explanation says. Texts are from strangers; control characters do not get into it. */
struct explanation {
    const struct message *message;
    enum message_fields fields;    /* the attachment has these only */
    const struct decoded *decoded; /* of the message */
    const char *id;                /* explanation_id */
    const char *to;                /* the address whose mailbox it is for; NULL: unknown */
    const char *domain;            /* it is from the postmaster there; NULL or "": localhost */
    const char *sender;            /* envelope sender, "" for a bounce */
    const char *answer;            /* of the server */
    int64_t date;                  /* seconds since 1970 */
};

/* The Message-ID, without <>, of the explanation for a message: depends on nothing but the message's content and the
 * namespace, so that another try knows what to search for. A new string. */
char *explanation_id(const char *namespace, const struct message *message) OD_MUST;

/* The explanation: plain ASCII, lines of at most 998 bytes. Like any message, a large one is kept in a file. NULL with
 * the fault set: there is no room for that file. */
struct message *explanation_make(const struct explanation *explanation, struct fault *fault) OD_MUST;

/* Compares what an IMAP server returns, in pieces, with an expected explanation: equal if the message attached has the
 * content of this one (message_comparison_new). Neither the text nor the fields added by transport count: the server
 * may have given another answer, and Postfix may have delivered the message anew. Arguments as there. */
struct explanation_comparison;
struct explanation_comparison *explanation_comparison_new(const struct message *message,
                                                          const char *const *ignore) OD_MUST;
void explanation_comparison_feed(struct explanation_comparison *comparison, const void *bytes, size_t size);

/* Returns whether what was fed is one, and starts over for the next candidate. */
bool explanation_comparison_end(struct explanation_comparison *comparison) OD_MUST;
void explanation_comparison_free(struct explanation_comparison **comparison);

#define EXPLANATION_BOUNDARY "=_oncedrop_explanation" /* no line of the text or of base64 begins with "--" */

#endif
