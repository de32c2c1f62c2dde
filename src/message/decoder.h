/* SPDX-License-Identifier: ISC
 *
 * The child process in which messages are decoded: its surroundings, and how it is asked and answers. decoding.h says what
 * for, and decides how long it may take and what becomes of it. */
#ifndef ONCEDROP_DECODER_H
#define ONCEDROP_DECODER_H

#include <sys/types.h>

#include "message/decode_wire.h"

#define DECODER_KEPT_SIZE ((size_t)1 << 20) /* of a message that a running child can be given */

/* What a child writes its result to, and reads the messages after its first from. */
struct decoder_shared {
    struct decode_wire wire;
    unsigned char message[DECODER_KEPT_SIZE];
};

struct decoder {
    pid_t child; /* 0: it has ended */
    int socket;
    struct decoder_shared *shared;
    bool keeps;        /* it waits for another message when it has done one */
    unsigned messages; /* done, for who keeps it */
    size_t size;       /* of the last message in shared->message */
};

struct decoder_request {
    size_t size, header_size;
    enum record_level level;
    int64_t processor_s; /* seconds of the processor, for this message */
};

/* What the child does with a message. */
typedef void (*decoder_work)(struct decode_writer *writer, const struct message *message, enum record_level level);

/* Forks a child that begins with this message at once.
 *
 * memory  bytes that it may have more than this process has
 *
 * NULL with the fault set: no process or no memory for it. */
struct decoder *decoder_new(decoder_work work, const struct message *message, struct decoder_request request,
                            size_t memory, bool keeps, struct fault *fault) OD_MUST;

/* Gives a child that waits one more message, of at most DECODER_KEPT_SIZE; false when it is gone. */
bool decoder_ask(struct decoder *decoder, const struct message *message, struct decoder_request request) OD_MUST;

enum decoder_state {
    DECODER_DONE,     /* it has answered, and waits for another message if it was to */
    DECODER_ENDED,    /* it does not run any more, or will not for long */
    DECODER_TOO_LONG, /* it still runs */
    DECODER_UNKNOWN,  /* it could not be waited for: trouble of our own */
};

#define DECODER_NOT_SET_UP 75 /* exit status of a child that could not begin */

/* Waits for the child's answer, or its end, until base_now_ms() is that. */
enum decoder_state decoder_wait(const struct decoder *decoder, int64_t until_ms) OD_MUST;

/* Ends the child. Returns its wait status (waitpid(2)): that of its own end, if it came to that before; of a kill, if nobody
 * can tell. */
int decoder_end(struct decoder *decoder);

void decoder_free(struct decoder **decoder);

#endif
