/* SPDX-License-Identifier: ISC
 *
 * Runs a child that decodes. decoding.h decides when, and what a failure means. */
#ifndef ONCEDROP_DECODER_H
#define ONCEDROP_DECODER_H

#include <sys/types.h>

#include "decode/decode_wire.h"

#define DECODER_KEPT_SIZE ((size_t)1 << 20) /* largest message for a running child */

/* The result, and the messages after the first. */
struct decoder_shared {
    struct decode_wire wire;
    unsigned char message[DECODER_KEPT_SIZE];
};

struct decoder {
    pid_t child; /* 0: ended */
    int socket;
    struct decoder_shared *shared;
    bool keeps;        /* waits for more messages */
    unsigned messages; /* so far; for the caller */
    size_t size;       /* of the last message */
};

struct decoder_request {
    size_t size, header_size;
    enum record_level level;
    int64_t processor_s; /* CPU time limit */
};

typedef void (*decoder_work)(struct decode_writer *writer, const struct message *message, enum record_level level);

/* Forks a child, which decodes this message, and may use `memory` bytes more than this process. Returns NULL and sets
 * the error on failure. */
struct decoder *decoder_new(decoder_work work, const struct message *message, struct decoder_request request,
                            size_t memory, bool keeps, struct error *error) OD_MUST;

/* Sends a message, at most DECODER_KEPT_SIZE, to a waiting child; false: it is gone. */
bool decoder_ask(struct decoder *decoder, const struct message *message, struct decoder_request request) OD_MUST;

enum decoder_state {
    DECODER_DONE,  /* it has replied */
    DECODER_ENDED, /* it has ended, or is about to */
    DECODER_TOO_LONG,
    DECODER_UNKNOWN, /* the wait failed */
};

#define DECODER_NOT_SET_UP 75 /* exit status of a child */

/* Waits for a reply or the child's end, until until_ms by base_now_ms(). */
enum decoder_state decoder_wait(const struct decoder *decoder, int64_t until_ms) OD_MUST;

/* Kills the child. Returns its wait status (waitpid(2)), which is its own if it had ended. */
int decoder_end(struct decoder *decoder);

void decoder_free(struct decoder **decoder);

#endif
