/* SPDX-License-Identifier: ISC
 *
 * Everything else that src/delivery calls, as short as possible: messages, decoding, routes, the deadline, the clock,
 * randomness and the log. */
#include <glib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "base/log.h"
#include "breakage.h"
#include "decode/decode.h"
#include "delivery/received.h"
#include "faults.h"
#include "message/message_field.h"
#include "route/route.h"
#include "scheduler.h"

int64_t __wrap_base_now_ms(void);
time_t __wrap_time(time_t *ret);
gint32 __wrap_g_random_int_range(gint32 begin, gint32 end);

int64_t __wrap_base_now_ms(void)
{
    return now / MS;
}

time_t __wrap_time(time_t *ret)
{
    (void)ret;
    return (time_t)(1700000000 + (now + world.host_clock[world.current->job->host]) / SECOND);
}

gint32 __wrap_g_random_int_range(gint32 begin, gint32 end)
{
    return begin + (gint32)dice_below(&world.current->dice, end - begin);
}

bool deadline_arm(int64_t ms, struct error *error)
{
    (void)error;
    world.current->deadline_at = now + ms * MS;
    return true;
}

int64_t deadline_left_ms(void)
{
    int64_t left = world.current->deadline_at - now;
    return left > 0 ? left / MS : 0;
}

/* One for all: only From is used. */
struct decoding {
    struct decoded decoded;
};

struct decoding *decoding_start(const struct message *message, enum record_level level, struct error *error)
{
    (void)level;
    strcpy(error->text, "no process to decode with");
    struct call call = call_begin(CALL_DECODE);
    if (!call_pass(&call, 0) || (call.error == ERROR_DECODER && call.half == 0))
        return NULL;
    world.current->decoder_gone = call.error == ERROR_DECODER;
    const struct content *content = (const struct content *)(const void *)message->data;
    struct decoding *decoding = base_alloc(sizeof(*decoding));
    if (content->sender != NO_SENDER) {
        static char from[ADDRESSES][24];
        strcpy(from[content->sender], world_address(content->sender));
        decoding->decoded.from = from[content->sender];
    }
    return decoding;
}

const struct decoded *decoding_result(struct decoding *decoding)
{
    return &decoding->decoded;
}

const char *decoding_error(const struct decoding *decoding)
{
    (void)decoding;
    return world.current->decoder_gone ? "the decoder was killed" : NULL;
}

int decoding_without_sandbox(const struct decoding *decoding)
{
    (void)decoding;
    return 0;
}

bool decoding_must_be_retried(const struct decoding *decoding)
{
    (void)decoding;
    return world.current->decoder_gone;
}

void decoding_free(struct decoding **decoding)
{
    base_free(decoding);
}

void message_identity(const char *namespace, const char *id, size_t id_length, unsigned char ret[MESSAGE_DIGEST_SIZE])
{
    uint64_t hash = 0;
    (void)namespace;
    for (size_t i = 0; i < id_length; i++)
        hash = dice_mix(hash + (unsigned char)id[i]);
    memset(ret, 0, MESSAGE_DIGEST_SIZE);
    memcpy(ret, &hash, sizeof(hash));
}

void message_own_identity(const struct message *message, const char *namespace, unsigned char ret[MESSAGE_DIGEST_SIZE])
{
    char digest[2 * MESSAGE_DIGEST_SIZE + 1];
    base_hex(message->digest, MESSAGE_DIGEST_SIZE, digest);
    const char *id = message->message_id != NULL ? message->message_id : digest;
    message_identity(namespace, id, strlen(id), ret);
}

struct iovec *message_pieces(const struct message *message, enum message_fields fields, size_t *ret_count,
                             size_t *ret_size)
{
    struct iovec *pieces = base_alloc(sizeof(*pieces));
    (void)fields;
    memcpy(&pieces->iov_base, &message->data, sizeof(message->data));
    pieces->iov_len = message->size;
    *ret_count = 1;
    *ret_size = message->size;
    return pieces;
}

char *notice_id(const char *namespace, const struct message *message)
{
    (void)namespace;
    return base_strdup(world.explanations[((const struct content *)(const void *)message->data)->number].id);
}

struct message *notice_make(const struct notice *notice, struct error *error)
{
    const struct content *content = (const struct content *)(const void *)notice->message->data;
    struct message *message = base_alloc(sizeof(*message));
    (void)error;
    *message = world.explanations[content->number].message;
    return message;
}

void message_free(struct message **message)
{
    base_free(message);
}

/* The login is always given: nothing is read from the header. */
char *received_login(const struct message *message, const char *queue_id)
{
    (void)message;
    (void)queue_id;
    return NULL;
}

bool address_parse(const char *text, struct address *ret, struct error *error)
{
    (void)error;
    if (text[0] == '\0')
        return false;
    ret->address = base_strdup(text);
    return true;
}

void address_clear(struct address *address)
{
    base_free(&address->address);
}

static enum route_result find_account(const struct config *config, struct ledger *ledger, const char *address,
                                      char **ret, struct error *error)
{
    char *columns[4];
    bool found;
    if (!world.lookups) {
        *ret = base_strdup(world_account(world_account_of(world_number(address))));
        return ROUTE_OK;
    }
    if (!ledger_account_query(ledger, config->route.account_query, address, &found, columns, error))
        return ROUTE_ERROR;
    *ret = columns[0];
    return ROUTE_OK;
}

enum route_result route_find(const struct config *config, struct ledger *ledger, const struct address *address,
                             struct route *ret, struct error *error)
{
    char *account;
    enum box box = world_box_of(world_number(address->address));
    if (find_account(config, ledger, address->address, &account, error) != ROUTE_OK)
        return ROUTE_ERROR;
    *ret = (struct route){.address = base_strdup(address->address),
                          .domain = base_strdup("example.org"),
                          .account = account,
                          .inbox = base_strdup(world_box_name(box)),
                          .fallback = box == BOX_FOLDER ? base_strdup("INBOX") : NULL,
                          .sent = base_strdup("Sent"),
                          .server = config};
    return ROUTE_OK;
}

enum route_result route_leads_to(const struct config *config, struct ledger *ledger, const struct address *address,
                                 const char *account, const struct config **ret_server, struct error *error)
{
    (void)config;
    (void)ledger;
    (void)ret_server;
    (void)error;
    return world_account_of(world_number(address->address)) == world_number(account) ? ROUTE_OK : ROUTE_NONE;
}

void route_clear(struct route *route)
{
    base_free(&route->address);
    base_free(&route->domain);
    base_free(&route->account);
    base_free(&route->inbox);
    base_free(&route->fallback);
    base_free(&route->sent);
}

bool config_is_shared(const struct config *config)
{
    (void)config;
    return false;
}

size_t config_server_count(const struct config *config)
{
    (void)config;
    return 0;
}

bool ledger_is_lost(const struct ledger *ledger)
{
    (void)ledger;
    return false;
}

bool ledger_may_have(const struct ledger_claim *claim)
{
    (void)claim;
    return true;
}

void counter_add(const char *path, size_t count)
{
    (void)path;
    (void)count;
}

void log_warning(const char *format, ...)
{
    (void)format;
}

void log_info(const char *format, ...)
{
    (void)format;
}

void debug_begin(const char *queue_id)
{
    (void)queue_id;
}

void debug_concerns(const char *address, const char *account)
{
    (void)address, (void)account;
}

void debug_end(void)
{
}

void log_fields(const struct log_line *line, const char *text)
{
    (void)line;
    (void)text;
}

void log_keep(const struct log_line *lines, size_t count)
{
    (void)lines;
    (void)count;
}

void log_last(const char *text)
{
    (void)text;
}

const char *log_escape(const char *text, char *out, size_t size)
{
    (void)size;
    out[0] = '\0';
    return text;
}

const char *log_escape_field(const char *text, char *out, size_t size)
{
    return log_escape(text, out, size);
}

const char *log_escape_text(const char *text, char *out, size_t size)
{
    return log_escape(text, out, size);
}

void output_write_reply(const char *line, size_t length, int exit_status)
{
    (void)line;
    (void)length;
    (void)exit_status;
}

/* tables.c has one that takes everything. */
size_t config_feed_count(const struct config *config)
{
    (void)config;
    return 0;
}

bool config_feed_takes(const struct config *feed, bool is_sent, const char *const *recipients, const char *account,
                       const char *mailbox)
{
    (void)feed, (void)is_sent, (void)recipients, (void)account, (void)mailbox;
    return false;
}
