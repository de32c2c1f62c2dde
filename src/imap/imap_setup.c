/* SPDX-License-Identifier: ISC */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "imap/imap.h"

static char *describe_server(const struct config *config)
{
    bool v6 = strchr(config->imap.host, ':') != NULL;
    if (*config->imap.command != '\0')
        return base_strdup("IMAP server (imap.command)");
    if (config->imap.host[0] == '/')
        return base_printf("IMAP server %s", config->imap.host);
    return base_printf(v6 ? "IMAP server [%s]:%u" : "IMAP server %s:%u", config->imap.host, imap_connect_port(config));
}

/* Refuses a socket that would expose the password. */
static int get_socket(struct imap *imap, const struct config *config, const char *account, struct error *error)
{
    bool none = config->imap.tls == IMAP_TLS_NONE;
    bool local;
    if (*config->imap.command != '\0')
        return imap_spawn(config, account, &imap->child, error);
    int fd = imap_connect(config, imap->peer_name, imap->timeout, &local, error);
    if (fd >= 0 && none && !local) {
        error_set(error, "%s: imap.tls = none is for loopback addresses, unix sockets and commands only",
                  imap->peer_name);
        close(fd);
        return -1;
    }
    return fd;
}

static bool start_tls(struct imap *imap, const struct config *config, struct error *error)
{
    bool early = imap_stream_unread(imap); /* an attacker may have inserted it */
    if (early)
        error_set(error, "%s: the server sent data ahead of the TLS handshake", imap->peer_name);
    if (!early && imap_stream_secure(imap, config, error)) {
        imap_debug_fact(&imap->debug, "TLS, certificate of %s, issued by %s", imap->certificate.subject,
                        imap->certificate.issuer);
        return true;
    }
    imap_debug_fact(&imap->debug, "%s", error->text);
    imap->ended = !imap_stream_connected(imap); /* Courier does so with too many sessions */
    imap_stream_drop(imap);                     /* without sending anything */
    return false;
}

static bool is_greeted(struct imap *imap, struct error *error)
{
    const struct imap_reply *reply = &imap->reply;
    imap->step = "greeting";
    if (!imap_response_read(imap, error))
        return false;
    if (reply->kind == REPLY_UNTAGGED && (reply->status == STATUS_OK || reply->status == STATUS_PREAUTH))
        return true;
    imap->ended = reply->status == STATUS_BYE;
    error_set(error, "%s: does not greet as an IMAP server (check imap.port and imap.tls): %.200s", imap->peer_name,
              imap->bytes);
    imap_stream_drop(imap);
    return false;
}

/* Discards what was announced before TLS: an attacker may have inserted it. */
static bool secure(struct imap *imap, const struct config *config, struct error *error)
{
    if (!imap_command(imap, NULL, NULL, error, "STARTTLS"))
        return false;
    base_free(&imap->capabilities);
    base_free(&imap->bye_text);
    return start_tls(imap, config, error);
}

struct imap *imap_setup_new(const struct config *config)
{
    struct imap *imap = base_alloc(sizeof(*imap));
    imap->peer_name = describe_server(config);
    imap->timeout = config->imap.timeout;
    imap->step = "connect";
    imap->response_max = imap->budget = IMAP_RESPONSE_MAX;
    return imap;
}

void imap_set_account(struct imap *imap, const char *account)
{
    if (imap->debug.account != NULL && strcmp(imap->debug.account, account) == 0)
        return;
    free(imap->debug.account);
    imap->debug.account = base_strdup(account);
}

static enum imap_tls tls_of(const struct config *config)
{
    return *config->imap.command != '\0' ? IMAP_TLS_NONE : config->imap.tls;
}

bool imap_setup_connect(struct imap *imap, const struct config *config, const char *account, struct error *error)
{
    imap_set_account(imap, account);
    int fd = get_socket(imap, config, account, error);
    if (fd < 0) {
        imap_debug_fact(&imap->debug, "%s", error->text);
        return false;
    }
    imap_debug_fact(&imap->debug, "connected to %s", imap->peer_name);
    imap_stream_open(imap, fd);
    return tls_of(config) != IMAP_TLS_IMAPS || start_tls(imap, config, error);
}

bool imap_setup_greet(struct imap *imap, const struct config *config, struct error *error)
{
    if (!is_greeted(imap, error))
        return false;
    imap->logged_in = imap->reply.status == STATUS_PREAUTH;
    if (imap->logged_in && *config->imap.command == '\0') /* unknown account, and too late for STARTTLS */
        return error_set(error, "%s: greets with PREAUTH, which is for imap.command only", imap->peer_name);
    imap->ready = tls_of(config) != IMAP_TLS_STARTTLS || secure(imap, config, error);
    return imap->ready;
}

void imap_setup_end_wait(struct imap **imap, int64_t ms)
{
    struct imap *it = *imap;
    struct error error;
    if (it == NULL)
        return;
    if (it->stream != NULL)
        (void)!imap_send(it, &error, "LOGOUT");
    int64_t until = base_now_ms() + ms;
    do
        it->until_ms = until;
    while (base_now_ms() < until && imap_response_read(it, &error));
    imap_stream_drop(it);
    (void)imap_spawn_reap(&it->child);
    free(it->debug.account);
    free(it->peer_name);
    free(it->capabilities);
    free(it->bye_text);
    free(it->bytes);
    base_free(imap);
}

void imap_setup_end(struct imap **imap)
{
    imap_setup_end_wait(imap, 0);
}
