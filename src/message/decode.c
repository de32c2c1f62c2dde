/* SPDX-License-Identifier: ISC
 *
 * What of a message is recorded: the fields of its header; addresses and parts have files of their own. */
#include <string.h>

#include "message/decode_internal.h"

#define DATE_MIN INT64_C(-62135596800)      /* 0001-01-01 */
#define DATE_MAX INT64_C(253402300799)      /* 9999-12-31 23:59:59 */

char *decode_field(const struct decode_header *header, const char *name, size_t max)
{
    struct message_field field;
    char *value;
    size_t length;

    if (!message_field_find(header->bytes, header->size, name, &field))
        return NULL;
    value = message_field_unfold(field.value, field.value_length < max ? field.value_length : max, &length);
    return g_strstrip(value);
}

static char *decode_subject(const struct decode_header *header, GMimeParserOptions *options)
{
    OD_CLEANUP(base_free) char *value = decode_field(header, "Subject", DECODE_VALUE_MAX);

    return value ? decode_take(g_mime_utils_header_decode_text(options, value)) : NULL;
}

static bool read_date(const char *text, int64_t *ret)
{
    GDateTime *date = g_mime_utils_header_decode_date(text);
    int64_t seconds;

    if (!date)
        return false;
    seconds = g_date_time_to_unix(date);
    g_date_time_unref(date);
    if (seconds < DATE_MIN || seconds > DATE_MAX)
        return false;
    *ret = seconds;
    return true;
}

/* The next id, from a '<' to the '>' after it; NULL when there is none. */
static char *next_id(const char **at)
{
    const char *open = NULL;

    for (const char *c = *at; *c; c++) {
        if (*c == '<') {
            open = c + 1;
        } else if (*c == '>' && open && c > open) {
            *at = c + 1;
            return decode_scrub(open, (size_t)(c - open));
        } else if (*c == '>') {
            open = NULL;
        }
    }
    return NULL;
}

/* A new NULL-terminated array of at most max ids. */
static char **decode_ids(const struct decode_header *header, const char *name, size_t max)
{
    OD_CLEANUP(base_free) char *value = decode_field(header, name, DECODE_HEADER_MAX);
    char **ids = base_alloc((max + 1) * sizeof *ids);
    const char *at = value;

    for (size_t n = 0; value && n < max && (ids[n] = next_id(&at)); n++)
        ;
    return ids;
}

static char *decode_first_id(const struct decode_header *header, const char *name)
{
    OD_CLEANUP(base_free) char **ids = decode_ids(header, name, 1);

    return ids[0];
}

static char *decode_from(const struct decode_header *header, GMimeParserOptions *options)
{
    OD_CLEANUP(base_free) char *value = decode_field(header, "From", DECODE_HEADER_MAX);

    return value ? decode_first_address(options, value) : NULL;
}

static void decode_roles(struct decoded *decoded, const struct decode_header *header, GMimeParserOptions *options)
{
    static const char *const roles[] = {"from", "sender", "reply-to", "to", "cc", "bcc", NULL};

    for (const char *const *role = roles; *role; role++) {
        OD_CLEANUP(base_free) char *value = decode_field(header, *role, DECODE_HEADER_MAX);

        if (value)
            decode_addresses(decoded, options, *role, value);
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

static struct decode_header header_of(const struct message *message)
{
    return (struct decode_header){
        message->data,
        message->header_size < DECODE_HEADER_MAX ? message->header_size : DECODE_HEADER_MAX,
    };
}

static void decode_all(struct decoded *decoded, const struct message *message, enum record_level level)
{
    struct decode_header header = header_of(message);
    GMimeParserOptions *options = new_options();

    decoded->subject = decode_subject(&header, options);
    decoded->from = decode_from(&header, options);
    OD_CLEANUP(base_free) char *date = decode_field(&header, "Date", 256);
    decoded->has_date = date && read_date(date, &decoded->date);
    decoded->in_reply_to = decode_first_id(&header, "In-Reply-To");
    decoded->references = decode_ids(&header, "References", DECODE_REFERENCES_MAX);
    if (level != RECORD_ENVELOPE)
        decode_roles(decoded, &header, options);
    if (level == RECORD_TEXT || level == RECORD_RAW)
        decode_parts(decoded, options, message);
    g_mime_parser_options_free(options);
}

/* What GLib and gmime would say goes to stderr, which is where our answer is read. */
static GLogFunc begin(void)
{
    static bool ready;
    GLogFunc log = g_log_set_default_handler(drop_log, NULL);

    if (!ready)
        g_mime_init();
    ready = true;
    return log;
}

struct decoded *decode_message(const struct message *message, enum record_level level)
{
    struct decoded *decoded = base_alloc(sizeof *decoded);
    GLogFunc log = begin();

    decode_all(decoded, message, level);
    g_log_set_default_handler(log, NULL);
    return decoded;
}

bool decode_date(const char *text, int64_t *ret)
{
    GLogFunc log = begin();
    bool readable = read_date(text, ret);

    g_log_set_default_handler(log, NULL);
    return readable;
}

char *decode_from_address(const struct message *message)
{
    struct decode_header header = header_of(message);
    GLogFunc log = begin();
    GMimeParserOptions *options = new_options();
    char *address = decode_from(&header, options);

    g_mime_parser_options_free(options);
    g_log_set_default_handler(log, NULL);
    return address;
}

static void free_addresses(struct decoded *decoded)
{
    for (size_t i = 0; i < decoded->address_count; i++) {
        base_free(&decoded->addresses[i].group);
        base_free(&decoded->addresses[i].name);
        base_free(&decoded->addresses[i].address);
    }
    base_free(&decoded->addresses);
}

static void free_parts(struct decoded *decoded)
{
    for (size_t i = 0; i < decoded->part_count; i++) {
        base_free(&decoded->parts[i].path);
        base_free(&decoded->parts[i].type);
        base_free(&decoded->parts[i].charset);
        base_free(&decoded->parts[i].disposition);
        base_free(&decoded->parts[i].filename);
        base_free(&decoded->parts[i].text);
    }
    base_free(&decoded->parts);
}

void decoded_free(struct decoded **decoded)
{
    if (!*decoded)
        return;
    base_free(&(*decoded)->subject);
    base_free(&(*decoded)->from);
    base_free(&(*decoded)->in_reply_to);
    for (char **id = (*decoded)->references; *id; id++)
        base_free(id);
    base_free(&(*decoded)->references);
    free_addresses(*decoded);
    free_parts(*decoded);
    base_free(decoded);
}
