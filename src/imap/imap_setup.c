/* SPDX-License-Identifier: ISC */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "imap/imap.h"
#include "imap/imap_connect.h"

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
static int get_socket(struct imap *imap, const struct config *config, const char *account, struct fault *fault)
{
    bool none = config->imap.tls == IMAP_TLS_NONE;
    bool local;
    if (*config->imap.command != '\0')
        return imap_spawn(config, account, &imap->child, fault);
    if (*config->imap.host == '\0') {
        fault_set(fault, "imap.host and imap.command are both empty");
        return -1;
    }
    if (config->imap.host[0] == '/' && !none) {
        fault_set(fault, "%s: a unix socket needs imap.tls=none", imap->where);
        return -1;
    }
    int fd = imap_connect(config, imap->where, imap->timeout, &local, fault);
    if (fd >= 0 && none && !local) {
        fault_set(fault, "%s: imap.tls=none is for loopback addresses, unix sockets and commands only", imap->where);
        close(fd);
        return -1;
    }
    return fd;
}

static bool start_tls(struct imap *imap, const struct config *config, struct fault *fault)
{
    bool early = imap_stream_unread(imap); /* an attacker may have inserted it */
    if (early)
        fault_set(fault, "%s: the server sent data ahead of the TLS handshake", imap->where);
    if (!early && imap_stream_secure(imap, config, fault)) {
        imap_debug_fact(&imap->debug, "TLS, certificate of %s, issued by %s", imap->certificate.subject,
                        imap->certificate.issuer);
        return true;
    }
    imap_debug_fact(&imap->debug, "%s", fault->text);
    imap->ended = !imap_stream_connected(imap); /* Courier does so with too many sessions */
    imap_stream_drop(imap);                     /* without sending anything */
    return false;
}

static bool is_greeted(struct imap *imap, struct fault *fault)
{
    const struct imap_reply *reply = &imap->reply;
    imap->step = "greeting";
    if (!imap_response_read(imap, fault))
        return false;
    if (reply->kind == REPLY_UNTAGGED && (reply->status == STATUS_OK || reply->status == STATUS_PREAUTH))
        return true;
    imap->ended = reply->status == STATUS_BYE;
    fault_set(fault, "%s: does not greet as an IMAP server: %.200s", imap->where, imap->bytes);
    imap_stream_drop(imap);
    return false;
}

/* Discards what was announced before TLS: an attacker may have inserted it. */
static bool secure(struct imap *imap, const struct config *config, struct fault *fault)
{
    if (!imap_ask(imap, NULL, NULL, fault, "STARTTLS"))
        return false;
    base_free(&imap->capabilities);
    base_free(&imap->farewell);
    return start_tls(imap, config, fault);
}

struct imap *imap_setup_new(const struct config *config)
{
    struct imap *imap = base_alloc(sizeof(*imap));
    imap->where = describe_server(config);
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

bool imap_setup(struct imap *imap, const struct config *config, const char *account, struct fault *fault)
{
    bool is_command = *config->imap.command != '\0';
    enum imap_tls tls = is_command ? IMAP_TLS_NONE : config->imap.tls;
    imap_set_account(imap, account);
    int fd = get_socket(imap, config, account, fault);
    if (fd < 0) {
        imap_debug_fact(&imap->debug, "%s", fault->text);
        return false;
    }
    imap_debug_fact(&imap->debug, "connected to %s", imap->where);
    imap_stream_open(imap, fd);
    if ((tls == IMAP_TLS_IMAPS && !start_tls(imap, config, fault)) || !is_greeted(imap, fault))
        return false;
    imap->logged_in = imap->reply.status == STATUS_PREAUTH;
    if (imap->logged_in && !is_command) /* unknown account, and too late for STARTTLS */
        return fault_set(fault, "%s: greets with PREAUTH, which is for imap.command only", imap->where);
    return tls != IMAP_TLS_STARTTLS || secure(imap, config, fault);
}

void imap_setup_end_wait(struct imap **imap, int64_t ms)
{
    struct imap *it = *imap;
    struct fault fault;
    if (it == NULL)
        return;
    if (it->stream != NULL)
        (void)!imap_send(it, &fault, "LOGOUT");
    int64_t until = base_now_ms() + ms;
    do
        it->until_ms = until;
    while (base_now_ms() < until && imap_response_read(it, &fault));
    imap_stream_drop(it);
    (void)imap_spawn_reap(&it->child);
    free(it->debug.account);
    free(it->where);
    free(it->capabilities);
    free(it->farewell);
    free(it->bytes);
    base_free(imap);
}

void imap_setup_end(struct imap **imap)
{
    imap_setup_end_wait(imap, 0);
}
