/* SPDX-License-Identifier: ISC
 *
 * When a child is started, kept or ended, and what its end means for the message. */
#include "message/decoding.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/deadline.h"
#include "message/decode_module.h"
#include "message/decoder.h"

#define PROCESSOR_S 10
#define BYTES_PER_S ((size_t)16 << 20)
#ifdef __SANITIZE_ADDRESS__
#define MEMORY ((size_t)8 << 30) /* large, since a sanitizer keeps freed memory for long */
#else
#define MEMORY ((size_t)256 << 20)
#endif

#define KEPT_MESSAGES 100
#define KEPT_RESULT ((size_t)1 << 20) /* a child that has written more holds memory that others could use */

struct decoding {
    struct decoder *decoder; /* NULL: no longer needed */
    int64_t until_ms;        /* by base_now_ms() */
    struct decoded *result;  /* NULL: not available yet */
    struct fault fault;      /* "": the result is complete */
    bool cut_off;            /* through no fault of the message, before its author was known */
};

/* The child that waits for the next message, where there are many. */
static struct decoder *kept;

/* Where there are many messages, further children have the module from us: loading it takes a child as long as decoding
 * dozens of small messages. The first one loads it itself, while we go on. */
static void share_module(void)
{
    static bool many;
    struct fault ignored; // the child tries again, and says so

    if (many)
        (void)!decode_module_load(&ignored);
    many = true;
}

static struct decoding *new_decoding(struct decoder *decoder, int64_t clock_ms)
{
    struct decoding *decoding;

    if (!decoder)
        return NULL;
    decoding = base_alloc(sizeof *decoding);
    decoding->decoder = decoder;
    decoding->until_ms = base_now_ms() + clock_ms;
    return decoding;
}

struct decoding *decoding_start_work(decoder_work work, const struct decoding_limits *limits,
                                     const struct message *message, enum record_level level, struct fault *fault)
{
    struct decoder_request request = {message->size, message->header_size, level, limits->processor_s};

    return new_decoding(decoder_new(work, message, request, limits->memory, false, fault), limits->clock_ms);
}

static void write_step(void *context, const struct decoded *decoded, enum decode_stage stage)
{
    struct decode_writer *writer = context;

    decode_wire_write(writer, decoded, stage);
    if (writer->full)
        _exit(1);
}

static void decode(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    struct decoded *decoded;
    struct fault fault;
    decode_module_steps steps = decode_module_load(&fault);

    if (!steps)
        _exit(DECODE_MODULE_MISSING);
    decoded = steps(message, level, write_step, writer);
    decoded_free(&decoded);
}

/* Gives this message to the kept child; NULL if there is none that can take it. */
static struct decoder *ask_kept(const struct message *message, struct decoder_request request)
{
    struct decoder *decoder = kept;

    if (!decoder || message->size > DECODER_KEPT_SIZE)
        return NULL;
    kept = NULL;
    if (!decoder_ask(decoder, message, request))
        decoder_free(&decoder);
    return decoder;
}

struct decoding *decoding_start(const struct message *message, enum record_level level, struct fault *fault)
{
    int64_t processor_s = PROCESSOR_S + (int64_t)(message->size / BYTES_PER_S);
    int64_t clock_ms = 2000 * processor_s, half = deadline_left_ms() / 2;
    struct decoder_request request = {message->size, message->header_size, level, processor_s};
    struct decoder *decoder = ask_kept(message, request);

    if (!decoder) {
        share_module();
        decoder = decoder_new(decode, message, request, MEMORY, message->size <= DECODER_KEPT_SIZE, fault);
    }
    return new_decoding(decoder, half < clock_ms ? half : clock_ms);
}

static void describe_failure(struct decoding *decoding, enum decoder_state state, int status)
{
    if (state == DECODER_UNKNOWN)
        fault_set(&decoding->fault, "the decoder could not be waited for");
    else if (state == DECODER_TOO_LONG)
        fault_set(&decoding->fault, "decoding took too long");
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        fault_set(&decoding->fault, "decoding took too much processor time");
    else if (WIFSIGNALED(status))
        fault_set(&decoding->fault, "the decoder was killed by signal %d (%s)", WTERMSIG(status),
                  strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == DECODE_MODULE_MISSING)
        fault_set(&decoding->fault, "the decoder cannot be loaded; oncedrop check tells why");
    else
        fault_set(&decoding->fault, "the decoder ended early");
}

/* Whether decoding failed for a reason that certainly is not the message: the child was killed by somebody else (for
 * lack of memory, say), could not set itself up, or could not be waited for. Anything else must not be deferred:
 * Postfix would retry it for days, and bounce it in the end. */
static bool is_not_its_doing(enum decoder_state state, int status)
{
    if (state == DECODER_ENDED)
        return WIFSIGNALED(status)
                   ? WTERMSIG(status) == SIGKILL
                   : WEXITSTATUS(status) == DECODER_NOT_SET_UP || WEXITSTATUS(status) == DECODE_MODULE_MISSING;
    return state == DECODER_UNKNOWN;
}

/* Keeps a child that worked well for the next message; ends any other. */
static void put_away(struct decoding *decoding)
{
    struct decoder *decoder = decoding->decoder;
    bool small = atomic_load(&decoder->shared->wire.whole) <= KEPT_RESULT;

    if (!kept && decoder->child > 0 && decoder->keeps && !decoding->fault.text[0] && small &&
        ++decoder->messages < KEPT_MESSAGES)
        kept = decoder;
    else
        decoder_free(&decoder);
    decoding->decoder = NULL;
}

const struct decoded *decoding_result(struct decoding *decoding)
{
    enum decoder_state state;
    int status = 0;

    if (decoding->result)
        return decoding->result;
    state = decoder_wait(decoding->decoder, decoding->until_ms);
    if (state != DECODER_DONE)
        status = decoder_end(decoding->decoder);
    decoding->result = decoded_new();
    if (!decode_wire_read(&decoding->decoder->shared->wire, decoding->result))
        describe_failure(decoding, state, status);
    decoding->cut_off = !decoding->result->from && is_not_its_doing(state, status);
    put_away(decoding);
    return decoding->result;
}

bool decoding_cut_off(const struct decoding *decoding)
{
    return decoding->cut_off;
}

const char *decoding_fault(const struct decoding *decoding)
{
    return decoding->fault.text[0] ? decoding->fault.text : NULL;
}

void decoding_end(void)
{
    decoder_free(&kept);
}

void decoding_free(struct decoding **decoding)
{
    if (!*decoding)
        return;
    decoder_free(&(*decoding)->decoder);
    decoded_free(&(*decoding)->result);
    base_free(decoding);
}
