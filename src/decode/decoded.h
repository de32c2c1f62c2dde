/* SPDX-License-Identifier: ISC
 *
 * Building up what is decoded, step by step. */
#ifndef ONCEDROP_DECODED_H
#define ONCEDROP_DECODED_H

#include "decode/decode.h"

/* The roles of addresses, NULL-terminated. */
extern const char *const decoded_roles[];

/* An empty result, with an empty list of references. */
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

/* decode_message, calling `step` (unless NULL) after each stage. */
struct decoded *decode_message_steps(const struct message *message, enum record_level level, decode_step step,
                                     void *context) OD_MUST;

#endif
