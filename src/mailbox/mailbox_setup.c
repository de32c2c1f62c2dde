/* SPDX-License-Identifier: ISC
 *
 * A session up to its login: connection, TLS, greeting. */
#include <libetpan/mailstream_socket.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

#include "mailbox/mailbox_session.h"

static char *describe_server(const struct config *config)
{
    bool v6 = strchr(config->imap.host, ':') != NULL;
    if (*config->imap.command != '\0')
        return base_strdup("IMAP server (imap.command)");
    if (config->imap.host[0] == '/')
        return base_printf("IMAP server %s", config->imap.host);
    return base_printf(v6 ? "IMAP server [%s]:%u" : "IMAP server %s:%u", config->imap.host,
                       mailbox_connect_port(config));
}

/* Connects the socket, and finds out whether a password may be sent over it in the clear. */
static int get_socket(struct mailbox *mailbox, const struct config *config, const char *account, struct fault *fault)
{
    bool none = config->imap.tls == IMAP_TLS_NONE;
    bool local;
    if (*config->imap.command != '\0')
        return mailbox_spawn(config, account, &mailbox->child, fault);
    if (*config->imap.host == '\0') {
        fault_set(fault, "imap.host and imap.command are both empty");
        return -1;
    }
    if (config->imap.host[0] == '/' && !none) {
        fault_set(fault, "%s: a unix socket needs imap.tls=none", mailbox->where);
        return -1;
    }
    int fd = mailbox_connect(config, mailbox->where, mailbox->timeout, &local, fault);
    if (fd >= 0 && none && !local) {
        fault_set(fault, "%s: imap.tls=none is for loopback addresses, unix sockets and commands only", mailbox->where);
        close(fd);
        return -1;
    }
    return fd;
}

/* libetpan's timeouts per stream are whole seconds; 0 there means this variable. */
void mailbox_setup_patience(int64_t ms)
{
    mailstream_network_delay.tv_sec = ms / 1000;
    mailstream_network_delay.tv_usec = ms % 1000 * 1000;
}

static bool connect_stream(struct mailbox *mailbox, const struct config *config, const char *account,
                           struct fault *fault)
{
    int fd = get_socket(mailbox, config, account, fault);
    if (fd < 0)
        return false;
    mailbox_setup_patience(mailbox->timeout);
    if (fd < FD_SETSIZE - 8) /* libetpan waits with select(2), also on descriptors of its own */
        mailbox->stream = mailstream_socket_open_timeout(fd, 0);
    if (mailbox->stream == NULL) {
        fault_set(fault, "%s: out of memory, or too many descriptors are open", mailbox->where);
        close(fd);
        return false;
    }
    return true;
}

static bool start_tls(struct mailbox *mailbox, const struct config *config, const struct mailbox_watcher *watcher,
                      struct fault *fault)
{
    bool accepted = mailbox_tls_start(config, mailbox->where, mailbox->stream, fault);
    mailbox->secured = true;
    if (watcher != NULL)
        watcher->handshake(watcher->context, mailbox->stream, accepted);
    if (!accepted) {
        mailbox->ended = !mailbox_connected(mailbox); /* as Courier does where there are too many already */
        mailbox_dialogue_drop(mailbox);               /* nothing is sent over it */
    }
    return accepted;
}

static bool greeted(struct mailbox *mailbox, enum reply_status *ret, struct fault *fault)
{
    struct mailbox_reply reply;
    mailbox->step = "greeting";
    if (!mailbox_response_read(mailbox, &reply, fault))
        return false;
    if (reply.kind == REPLY_UNTAGGED && (reply.status == STATUS_OK || reply.status == STATUS_PREAUTH)) {
        *ret = reply.status;
        return true;
    }
    mailbox->ended = reply.status == STATUS_BYE;
    fault_set(fault, "%s: does not greet as an IMAP server: %.200s", mailbox->where, mailbox->bytes);
    mailbox_dialogue_drop(mailbox);
    return false;
}

/* Everything announced before TLS is forgotten: an attacker may have inserted it. */
static bool secure(struct mailbox *mailbox, const struct config *config, const struct mailbox_watcher *watcher,
                   struct fault *fault)
{
    struct mailbox_reply reply;
    if (!mailbox_dialogue_ask(mailbox, "STARTTLS", NULL, NULL, &reply, fault, "STARTTLS"))
        return false;
    base_free(&mailbox->capabilities);
    base_free(&mailbox->farewell);
    return start_tls(mailbox, config, watcher, fault);
}

struct mailbox *mailbox_setup_new(const struct config *config)
{
    struct mailbox *mailbox = base_alloc(sizeof(*mailbox));
    mailbox->where = describe_server(config);
    mailbox->timeout = config->imap.timeout;
    mailbox->create = config->imap.create;
    mailbox->shared = config_is_shared(config);
    mailbox->subscribe = config->imap.subscribe && !mailbox->shared;
    mailbox->step = "connect";
    mailbox->response_max = mailbox->budget = MAILBOX_RESPONSE_MAX;
    return mailbox;
}

static enum imap_tls tls_of(const struct config *config)
{
    return *config->imap.command != '\0' ? IMAP_TLS_NONE : config->imap.tls;
}

bool mailbox_setup(struct mailbox *mailbox, const struct config *config, const char *account,
                   const struct mailbox_watcher *watcher, bool *ret_logged_in, struct fault *fault)
{
    enum imap_tls tls = tls_of(config);
    bool is_command = *config->imap.command != '\0';
    enum reply_status greeting = STATUS_NONE;
    if (!connect_stream(mailbox, config, account, fault) ||
        (tls == IMAP_TLS_IMAPS && !start_tls(mailbox, config, watcher, fault)) || !greeted(mailbox, &greeting, fault))
        return false;
    *ret_logged_in = greeting == STATUS_PREAUTH;
    if (*ret_logged_in && !is_command) {
        /* it is unknown whose mailboxes these are, and STARTTLS is no longer possible */
        fault_set(fault, "%s: greets with PREAUTH, which is for imap.command only", mailbox->where);
        return false;
    }
    return tls != IMAP_TLS_STARTTLS || secure(mailbox, config, watcher, fault);
}
