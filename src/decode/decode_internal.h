/* SPDX-License-Identifier: ISC
 *
 * Shared by decode*.c. A returned `char *` is a new string. gmime decodes fields and encodings, but never parses a
 * complete message: its parser allocates for each header line, and recurses without limit. Some of its decoders take
 * quadratic time, hence the limits. */
#ifndef ONCEDROP_DECODE_INTERNAL_H
#define ONCEDROP_DECODE_INTERNAL_H

#include <gmime/gmime.h>
#include <iconv.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "decode/decoded.h"
#include "message/message_field.h"

#define DECODER_NOT_STARTED "cannot start a process to decode the message: %m"
#define DECODE_HEADER_MAX ((size_t)1 << 20) /* bytes read of a header */
#define DECODE_VALUE_MAX ((size_t)1 << 14)  /* longest value for gmime in one piece */
#define DECODE_ADDRESS_MAX ((size_t)2048)
#define DECODE_TEXT_MAX ((size_t)1 << 20)   /* of one part */
#define DECODE_TEXTS_MAX ((size_t)16 << 20) /* of all parts */

#define DECODE_PARAMETERS_MAX ((size_t)1 << 20)

#define DECODE_ADDRESSES_MAX 2000
#define DECODE_PARTS_MAX 1000
#define DECODE_DEPTH_MAX 50

#define DECODE_DATE_MIN INT64_C(-62135596800) /* 0001-01-01 */
#define DECODE_DATE_MAX INT64_C(253402300799) /* 9999-12-31 23:59:59 */

struct decode_span {
    const unsigned char *start, *end;
};

static inline size_t decode_span_size(struct decode_span span)
{
    return (size_t)(span.end - span.start);
}

/* decode_field.c */

/* Returns the value of the first field of that name, unfolded, trimmed, cut at `max` bytes; or NULL. */
char *decode_field(struct decode_span header, const char *name, size_t max) OD_MUST;

/* Sets date, in_reply_to and references, without gmime. */
void decode_ids(struct decoded *decoded, struct decode_span header);

/* decode_text.c */

/* Returns text as UTF-8 (decode.h), at most `max` bytes, no character cut. charset may be NULL. */
char *decode_to_utf8(const char *bytes, size_t length, const char *charset, size_t max) OD_MUST;

/* Return a result of gmime as UTF-8; NULL for NULL or "". decode_take also frees it. */
char *decode_copy(const char *text) OD_MUST;
char *decode_take(char *text) OD_MUST;

/* decode_words.c */

/* Joins adjacent base64 words (RFC 2047) of one character set: padding only at the end. Call it before gmime decodes
 * words. */
char *decode_join_words(const char *text) OD_MUST;

/* A decode_phrase; options: GMimeParserOptions. */
char *decode_words_phrase(void *options, const char *text) OD_MUST;

/* decode_address.c */

/* Returns a name (RFC 5322, 3.2.5) decoded; NULL if empty. */
typedef char *decode_phrase(void *context, const char *text);

/* Adds a field's addresses, names decoded by `phrase`. */
void decode_addresses(struct decoded *decoded, const char *role, const char *value, decode_phrase *phrase,
                      void *context);

/* Returns the first address of a From field, or NULL. */
char *decode_first_address(const char *value, decode_phrase *phrase, void *context) OD_MUST;

/* Returns the length of the next quoted string, comment, domain literal, quoted pair, or character.
 * An unclosed opening character counts as one. */
size_t decode_unit_length(const char *text) OD_MUST;

/* decode_entity.c */

struct decode_fields {
    GMimeParserOptions *options;
    size_t parameters_left; /* bytes of values for gmime; then it gets only short values */
};

/* A part, or the message. */
struct decode_entity {
    struct decode_span body;
    GMimeContentEncoding encoding;
    char *boundary;           /* of a multipart */
    struct decoded_part part; /* as the header says */
};

/* Reads the span's header into *entity, which is zeroed. Always sets the type. */
void decode_entity_read(struct decode_fields *fields, struct decode_span span, const char *default_type,
                        struct decode_entity *entity);

void decode_entity_clear(struct decode_entity *entity);

/* decode_part.c */

/* The part whose decoded content is written to fd. */
struct decode_wanted {
    const char *path;
    int fd;
    bool written; /* completely */
};

/* Fills decoded->parts; calls `step` (unless NULL) after each. wanted: or NULL. */
void decode_parts(struct decoded *decoded, GMimeParserOptions *options, const struct message *message,
                  struct decode_wanted *wanted, decode_step step, void *context);

/* decode_charset.c */

/* Returns the C library's name of a supported character set in any spelling, or NULL. */
const char *decode_charset(const char *name) OD_MUST;

/* For the whole process: iconv_open(3) converts only from supported character sets to UTF-8; iconv(3) does not fail
 * after consuming its input. */
void decode_charset_guard(void);

/* Like decode_charset_guard(), for a process that cannot open files later: keeps common converters, and those named in
 * this message (NULL: all). If it later lacks one, it exits with DECODE_CHARSET_MISSING. */
void decode_charset_keep(const struct message *message);

#define DECODE_CHARSET_MISSING 77

/* decode_sandbox.c */

/* Enters a sandbox, in which this process can only compute, read and write open descriptors, and exit: gmime may
 * have vulnerabilities.
 *
 * Opens what decoding needs (decode_charset_keep), then installs a system call filter for good (PR_SET_SECCOMP,
 * prctl(2)). Other calls fail with EPERM: a killed child could not report the sender. Only calls of another architecture
 * kill.
 *
 * Returns 0, or the errno: ENOMEM, or the kernel or a container allows no filter. */
int decode_sandbox(const struct message *message) OD_MUST;

/* decode_plain.c
 * Decodes plain messages, such as most programs send, without a child, which takes as long as the rest of a delivery.
 * Must agree with decode_message (tests/fuzz/fuzz_plain.c). */

/* Returns a new result, in linear time; NULL: not plain. Checks only what the level needs.
 *
 * Plain is at most 64 KiB of printable ASCII, tabs and CRLF, with only fields in the header. The subject has no encoded
 * words (RFC 2047), addresses no A-labels (RFC 5890). Names are words or quoted text. The body is unencoded
 * text/plain. */
struct decoded *decode_plain(const struct message *message, enum record_level level) OD_MUST;

/* decode_wire.c
 * Passes the decoded message from a child to its parent, in a frame per stage. The reader accepts only what decode.h
 * allows and the database accepts. */

/* more than any message needs */
#define DECODE_WIRE_MAX ((size_t)64 << 20)

struct decode_wire {
    _Atomic size_t complete;    /* bytes of complete frames */
    atomic_int without_sandbox; /* errno why there is no sandbox, or 0 */
    unsigned char bytes[DECODE_WIRE_MAX];
};

struct decode_writer {
    struct decode_wire *wire;
    size_t used;
    size_t addresses; /* so far */
    bool full;
};

/* Writes a stage's frame, unless this or an earlier one does not fit. A decode_step; context: struct decode_writer. */
void decode_wire_write(void *context, const struct decoded *decoded, enum decode_stage stage);

/* Adds the frames' contents to *decoded, which is new, up to the first error. Returns true if they are complete. */
bool decode_wire_read(const struct decode_wire *wire, struct decoded *decoded) OD_MUST;

/* decoder.c
 * Runs a child that decodes. decoding.c decides when, and what a failure means. */

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

/* Exit status of a child; also DECODE_CHARSET_MISSING. */
#define DECODER_NOT_SET_UP 75
#define DECODER_MODULE_MISSING 76

/* Waits for a reply or the child's end, until until_ms by base_now_ms(). */
enum decoder_state decoder_wait(const struct decoder *decoder, int64_t until_ms) OD_MUST;

/* Also kills the child. */
void decoder_free(struct decoder **decoder);

#endif
