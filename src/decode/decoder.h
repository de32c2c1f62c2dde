/* SPDX-License-Identifier: ISC
 *
 * The child process that decodes messages: how it is set up, asked, and waited for. decoding.h decides when to use one,
 * how long it may take, and what happens to it. */
#ifndef ONCEDROP_DECODER_H
#define ONCEDROP_DECODER_H

#include <sys/types.h>

#include "decode/decode_wire.h"

#define DECODER_KEPT_SIZE ((size_t)1 << 20) /* largest message that a running child can take */

/* Memory that a child writes its result to, and reads the messages after its first from. */
struct decoder_shared {
    struct decode_wire wire;
    unsigned char message[DECODER_KEPT_SIZE];
};

struct decoder {
    pid_t child; /* 0: it has ended */
    int socket;
    struct decoder_shared *shared;
    bool keeps;        /* it waits for another message after each */
    unsigned messages; /* number decoded, for use by the caller */
    size_t size;       /* of the last message in shared->message */
};

struct decoder_request {
    size_t size, header_size;
    enum record_level level;
    int64_t processor_s; /* seconds of the processor, for this message */
};

/* What the child does with a message. */
typedef void (*decoder_work)(struct decode_writer *writer, const struct message *message, enum record_level level);

/* Forks a child, which begins with this message at once.
 *
 * memory  bytes that it may use on top of this process's
 *
 * NULL with the fault set: there is no process or no memory for it. */
struct decoder *decoder_new(decoder_work work, const struct message *message, struct decoder_request request,
                            size_t memory, bool keeps, struct fault *fault) OD_MUST;

/* Gives another message, of at most DECODER_KEPT_SIZE bytes, to a waiting child; false if the child is gone. */
bool decoder_ask(struct decoder *decoder, const struct message *message, struct decoder_request request) OD_MUST;

enum decoder_state {
    DECODER_DONE,     /* it has answered, and waits for another message if asked to */
    DECODER_ENDED,    /* it has ended, or is about to */
    DECODER_TOO_LONG, /* it still runs */
    DECODER_UNKNOWN,  /* waiting for it failed: trouble of our own */
};

#define DECODER_NOT_SET_UP 75 /* exit status of a child that could not set itself up */

/* Waits for the child's answer or its end, until base_now_ms() reaches until_ms. */
enum decoder_state decoder_wait(const struct decoder *decoder, int64_t until_ms) OD_MUST;

/* Ends the child. Returns its wait status (waitpid(2)): its own if it had already ended, else that of a kill. */
int decoder_end(struct decoder *decoder);

void decoder_free(struct decoder **decoder);

#endif
