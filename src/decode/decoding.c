/* SPDX-License-Identifier: ISC */
#include "decode/decode_internal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

#define PROCESSOR_S 10
#define BYTES_PER_S ((size_t)16 << 20)
#ifdef __SANITIZE_ADDRESS__
#define MEMORY ((size_t)8 << 30) /* a sanitizer keeps freed memory */
#else
#define MEMORY ((size_t)256 << 20)
#endif

#define KEPT_MESSAGES 100
#define KEPT_RESULT ((size_t)1 << 20) /* a child with a larger one holds too much memory */

/* NULL unless linked */
#pragma weak decode_module

struct decoding {
    struct decoder *decoder; /* NULL: not needed */
    int64_t until_ms;
    struct decoded *result; /* NULL: not available */
    struct error error;     /* "": complete */
    bool cut_off;
    int without_sandbox;
    const struct message *message;
    struct decoder_request request;
};

/* waits for the next message */
static struct decoder *kept;

/* Set once a child lacked a converter: then children open all. */
static bool every_charset;

const struct decode_module *decoding_load_module(struct error *error)
{
    static const struct decode_module *loaded = &decode_module;
    if (loaded == NULL)
        loaded = module_load(MODULE_DECODE, error);
    return loaded;
}

/* Loads the module for all children but the first: loading takes as long as decoding dozens of small messages. */
static void share_module(void)
{
    static bool many;
    struct error ignored; /* the child reports it */

    if (many)
        (void)!decoding_load_module(&ignored);
    many = true;
}

static void write_step(void *context, const struct decoded *decoded, enum decode_stage stage)
{
    struct decode_writer *writer = context;

    decode_wire_write(writer, decoded, stage);
    if (writer->full)
        _exit(1);
}

/* Runs once per child. (A sanitizer reads files for reports.) */
static void sandbox(const struct decode_module *module, const struct message *message, struct decode_wire *wire)
{
#ifndef __SANITIZE_ADDRESS__
    static bool done;
    int errnum = done ? 0 : module->sandbox(every_charset ? NULL : message);

    if (errnum == ENOMEM)
        _exit(DECODER_NOT_SET_UP);
    if (!done)
        atomic_store(&wire->without_sandbox, errnum);
    done = true;
#else
    (void)module, (void)message, (void)wire;
#endif
}

static void decode_in_child(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    struct error error;
    const struct decode_module *module = decoding_load_module(&error);

    if (module == NULL)
        _exit(DECODER_MODULE_MISSING);
    sandbox(module, message, writer->wire);
    struct decoded *decoded = module->decode(message, level, write_step, writer);
    decoded_free(&decoded);
}

/* Returns NULL if no reused child can take the message. */
static struct decoder *ask_kept(const struct message *message, struct decoder_request request)
{
    struct decoder *decoder = kept;

    if (decoder == NULL || message->size > DECODER_KEPT_SIZE)
        return NULL;
    kept = NULL;
    if (!decoder_ask(decoder, message, request))
        decoder_free(&decoder);
    return decoder;
}

static struct decoder *new_child(const struct decoding *decoding, struct error *error)
{
    const struct message *message = decoding->message;
    return decoder_new(decode_in_child, message, decoding->request, MEMORY, message->size <= DECODER_KEPT_SIZE, error);
}

struct decoding *decoding_start(const struct message *message, enum record_level level, struct error *error)
{
    int64_t processor_s = PROCESSOR_S + (int64_t)(message->size / BYTES_PER_S);
    int64_t clock_ms = 2000 * processor_s, half = deadline_left_ms() / 2;
    struct decoding *decoding = base_alloc(sizeof(*decoding));

    decoding->message = message;
    decoding->request = (struct decoder_request){message->size, message->header_size, level, processor_s};
    decoding->result = decode_plain(message, level);
    if (decoding->result != NULL)
        return decoding;
    decoding->decoder = ask_kept(message, decoding->request);
    if (decoding->decoder == NULL) {
        share_module();
        decoding->decoder = new_child(decoding, error);
    }
    decoding->until_ms = base_now_ms() + MIN(half, clock_ms);
    if (decoding->decoder == NULL)
        base_free(&decoding);
    return decoding;
}

/* Returns true if the cause is certainly not the message (decoding_must_be_retried). Other causes must not be deferred: Postfix
 * would retry for days, then bounce. */
static bool explain_failure(enum decoder_state state, int status, struct error *error)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;

    if (state == DECODER_UNKNOWN)
        error_set(error, "the decoder could not be waited for");
    else if (state == DECODER_TOO_LONG)
        error_set(error, "decoding took too long");
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        error_set(error, "decoding took too much processor time");
    else if (WIFSIGNALED(status))
        error_set(error, "the decoder %s", base_status_text(status));
    else if (code == DECODE_CHARSET_MISSING)
        error_set(error, "the decoder could not be started again, with all character sets");
    else if (code != DECODER_MODULE_MISSING)
        error_set(error, "the decoder ended early");
    else if (decoding_load_module(error) != NULL) /* the child cannot report why it failed, so this process tries */
        error_set(error, "the decoder's process could not load the decoder, but this process can");
    if (state == DECODER_ENDED && WIFSIGNALED(status))
        return WTERMSIG(status) == SIGKILL;
    return state == DECODER_UNKNOWN ||
           (state == DECODER_ENDED &&
            (code == DECODER_NOT_SET_UP || code == DECODER_MODULE_MISSING || code == DECODE_CHARSET_MISSING));
}

static void put_away(struct decoding *decoding)
{
    struct decoder *decoder = decoding->decoder;
    bool small = atomic_load(&decoder->shared->wire.complete) <= KEPT_RESULT;

    if (kept == NULL && decoder->child > 0 && decoder->keeps && !decoding->error.text[0] && small &&
        ++decoder->messages < KEPT_MESSAGES)
        kept = decoder;
    else
        decoder_free(&decoder);
    decoding->decoder = NULL;
}

static enum decoder_state wait_for_child(struct decoding *decoding, int *status)
{
    enum decoder_state state = decoder_wait(decoding->decoder, decoding->until_ms);

    *status = 0;
    if (state != DECODER_DONE)
        *status = base_kill(&decoding->decoder->child);
    return state;
}

/* Starts a child with all converters. On false the first one's result stays. */
static bool begin_with_all(struct decoding *decoding)
{
    struct error error;

    every_charset = true;
    struct decoder *other = new_child(decoding, &error);
    if (other == NULL)
        return false;
    decoder_free(&decoding->decoder);
    decoding->decoder = other;
    return true;
}

const struct decoded *decoding_result(struct decoding *decoding)
{
    int status;

    if (decoding->result != NULL)
        return decoding->result;
    enum decoder_state state = wait_for_child(decoding, &status);
    if (state == DECODER_ENDED && WIFEXITED(status) && WEXITSTATUS(status) == DECODE_CHARSET_MISSING &&
        begin_with_all(decoding))
        state = wait_for_child(decoding, &status);
    decoding->result = decoded_new();
    if (!decode_wire_read(&decoding->decoder->shared->wire, decoding->result))
        decoding->cut_off = explain_failure(state, status, &decoding->error) && decoding->result->from == NULL;
    decoding->without_sandbox = atomic_load(&decoding->decoder->shared->wire.without_sandbox);
    put_away(decoding);
    return decoding->result;
}

bool decoding_must_be_retried(const struct decoding *decoding)
{
    return decoding->cut_off;
}

const char *decoding_error(const struct decoding *decoding)
{
    return decoding->error.text[0] ? decoding->error.text : NULL;
}

int decoding_without_sandbox(const struct decoding *decoding)
{
    return decoding->without_sandbox;
}

void decoding_end(void)
{
    decoder_free(&kept);
}

void decoding_free(struct decoding **decoding)
{
    if (*decoding == NULL)
        return;
    decoder_free(&(*decoding)->decoder);
    decoded_free(&(*decoding)->result);
    base_free(decoding);
}

bool decoding_extract(const struct message *message, const char *path, int fd, struct error *error)
{
    const struct decode_module *module = decoding_load_module(error);
    int status;
    pid_t child = module != NULL ? fork() : -1;
    if (module == NULL)
        return false;
    if (child == 0) {
        const struct rlimit processor = {10 * PROCESSOR_S, 10 * PROCESSOR_S};
        if (dup2(fd, 0) != 0 || close_range(3, ~0U, 0) != 0 || setrlimit(RLIMIT_CPU, &processor) != 0)
            _exit(1);
#ifndef __SANITIZE_ADDRESS__
        if (module->sandbox(NULL) == ENOMEM)
            _exit(1);
#endif
        _exit(module->extract(message, path, 0) ? 0 : 1);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return error_set(error, DECODER_NOT_STARTED);
    return status == 0 || error_set(error, "the message has no part %s, or it could not be written", path);
}
