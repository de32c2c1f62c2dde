/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "decode/decode_internal.h"
#include "module_build.h"

/* read by module.c */
extern const char decode_module_build[];
extern char *decode_module_libraries(void);
const char decode_module_build[] = MODULE_BUILD;
char *decode_module_libraries(void)
{
    return base_printf("gmime %u.%u.%u", gmime_major_version, gmime_minor_version, gmime_micro_version);
}
const struct decode_module decode_module = {decode_message, decode_extract, decode_sandbox};

struct work {
    struct decoded *decoded;
    struct decode_span header;
    GMimeParserOptions *options;
    decode_step step;
    void *context;
};

static void done(struct work *work, enum decode_stage stage)
{
    if (work->step != NULL)
        work->step(work->context, work->decoded, stage);
}

/* First what does not need gmime: a failure there cannot lose it. */
static void decode_fields(struct work *work)
{
    struct decoded *decoded = work->decoded;
    char *from OD_CLEANUP(base_free) = decode_field(work->header, "From", DECODE_HEADER_MAX);
    char *subject OD_CLEANUP(base_free) = decode_field(work->header, "Subject", DECODE_VALUE_MAX);
    char *joined OD_CLEANUP(base_free) = subject != NULL ? decode_join_words(subject) : NULL;

    decode_ids(decoded, work->header);
    done(work, DECODE_IDS);
    decoded->from = from != NULL ? decode_first_address(from, decode_words_phrase, work->options) : NULL;
    done(work, DECODE_FROM);
    decoded->subject = joined != NULL ? decode_take(g_mime_utils_header_decode_text(work->options, joined)) : NULL;
    done(work, DECODE_SUBJECT);
}

static void decode_all_addresses(struct work *work)
{
    for (const char *const *role = decoded_roles; *role != NULL; role++) {
        char *value OD_CLEANUP(base_free) = decode_field(work->header, *role, DECODE_HEADER_MAX);

        if (value == NULL)
            continue;
        decode_addresses(work->decoded, *role, value, decode_words_phrase, work->options);
        done(work, DECODE_ADDRESSES);
    }
}

static GMimeParserOptions *new_options(void)
{
    static const char *charsets[] = {"utf-8", "windows-1252", NULL};
    GMimeParserOptions *options = g_mime_parser_options_new();

    g_mime_parser_options_set_fallback_charsets(options, charsets);
    return options;
}

static void drop_log(const char *domain, GLogLevelFlags level, const char *text, void *data)
{
    (void)domain, (void)level, (void)text, (void)data;
}

/* wanted: or NULL. */
static struct decoded *decode_stages(const struct message *message, enum record_level level,
                                     struct decode_wanted *wanted, decode_step step, void *context)
{
    /* GLib and gmime would write to stderr, which Postfix reads */
    GLogFunc log = g_log_set_default_handler(drop_log, NULL);

    g_mime_init();
    decode_charset_guard();

    struct decode_span header = {message->data, message->data + message->header_size};
    struct work work = {decoded_new(), header, new_options(), step, context};

    decode_fields(&work);
    if (level != RECORD_ENVELOPE)
        decode_all_addresses(&work);
    if (level == RECORD_TEXT || level == RECORD_RAW)
        decode_parts(work.decoded, work.options, message, wanted, step, context);
    done(&work, DECODE_ALL);
    g_mime_parser_options_free(work.options);
    g_log_set_default_handler(log, NULL);
    return work.decoded;
}

struct decoded *decode_message(const struct message *message, enum record_level level, decode_step step, void *context)
{
    return decode_stages(message, level, NULL, step, context);
}

bool decode_extract(const struct message *message, const char *path, int fd)
{
    struct decode_wanted wanted = {.path = path, .fd = fd};
    struct decoded *decoded = decode_stages(message, RECORD_TEXT, &wanted, NULL, NULL);

    decoded_free(&decoded);
    return wanted.written;
}
