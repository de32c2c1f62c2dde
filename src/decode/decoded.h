/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_DECODED_H
#define ONCEDROP_DECODED_H

#include "decode/decode.h"

#define DECODE_REFERENCES_MAX 1000

#define DECODED_ROLES 6

/* NULL-terminated */
extern const char *const decoded_roles[DECODED_ROLES + 1];

/* Returns an empty result. */
struct decoded *decoded_new(void) OD_MUST;

/* Append an empty item; may move the others. */
struct decoded_address *decoded_add_address(struct decoded *decoded) OD_MUST;
struct decoded_part *decoded_add_part(struct decoded *decoded) OD_MUST;

void decoded_address_clear(struct decoded_address *address);
void decoded_part_clear(struct decoded_part *part);

/* What was just added, in this order; DECODE_ADDRESSES occurs for each address field, DECODE_PART for each part. */
enum decode_stage {
    DECODE_IDS, /* date, in_reply_to, references */
    DECODE_FROM,
    DECODE_SUBJECT,
    DECODE_ADDRESSES,
    DECODE_PART,
    DECODE_ALL,
};

typedef void (*decode_step)(void *context, const struct decoded *decoded, enum decode_stage stage);

/* Decodes what the level requires: envelope: subject, from, date, ids; headers: also addresses; text and raw: also
 * parts. Reads the first MiB of a header. Calls `step` (unless NULL) after each stage. Cannot fail.
 *
 * Call it only in a child (decoding.c): libraries have vulnerabilities, and abort on unexpected input. */
struct decoded *decode_message(const struct message *message, enum record_level level, decode_step step,
                               void *context) OD_MUST;

/* As decoding_extract(). Call it only in a child, too. */
bool decode_extract(const struct message *message, const char *path, int fd) OD_MUST;

/* oncedrop-decode.so, a module since gmime, libseccomp and their libraries take a quarter of the load time. */
struct decode_module {
    struct decoded *(*decode)(const struct message *message, enum record_level level, decode_step step, void *context);
    bool (*extract)(const struct message *message, const char *path, int fd);
    int (*sandbox)(const struct message *message);
};

/* decode_message.c */
extern const struct decode_module decode_module;

/* decoding.c: returns the module, linked (as in tests) or loaded. NULL: the error is set. */
const struct decode_module *decoding_load_module(struct error *error) OD_MUST;

#endif
