/* SPDX-License-Identifier: ISC
 *
 * Building up what is decoded, step by step. */
#ifndef ONCEDROP_DECODED_H
#define ONCEDROP_DECODED_H

#include "decode/decode.h"

#define DECODE_REFERENCES_MAX 1000

/* The roles of addresses, NULL-terminated. */
extern const char *const decoded_roles[];

/* An empty result; its list of references has room for all that there may be. */
struct decoded *decoded_new(void) OD_MUST;

/* Appends an empty item; this may move the others. */
struct decoded_address *decoded_add_address(struct decoded *decoded) OD_MUST;
struct decoded_part *decoded_add_part(struct decoded *decoded) OD_MUST;

/* Frees the members of a part. */
void decoded_part_clear(struct decoded_part *part);

/* What was just added to the result. The stages occur in this order; those for addresses and parts are repeated, once
 * for each field of addresses and once for each part. */
enum decode_stage {
    DECODE_IDS, /* date, in_reply_to, references */
    DECODE_FROM,
    DECODE_SUBJECT,
    DECODE_ADDRESSES,
    DECODE_PART,
    DECODE_ALL, /* the end */
};

typedef void (*decode_step)(void *context, const struct decoded *decoded, enum decode_stage stage);

/* Decodes what the level requires: envelope: subject, from, date, ids; headers: addresses too; text and raw: parts too.
 * Never fails. Only the first MiB of a header is examined. `step` (unless NULL) is called after each stage.
 *
 * Libraries have vulnerabilities, and abort on unexpected input. The delivering process therefore never calls this
 * itself: decoding.h runs it in a child process. */
struct decoded *decode_message(const struct message *message, enum record_level level, decode_step step,
                               void *context) OD_MUST;

#endif
