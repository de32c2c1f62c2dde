/* SPDX-License-Identifier: ISC
 *
 * The session's life: connect, greeting, TLS, login; and its end. */
#include "mailbox/mailbox_session.h"

#include <libetpan/mailstream_socket.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

static char *describe(const struct config *config)
{
    bool v6 = strchr(config->imap.host, ':') != NULL;
    if (*config->imap.command != '\0')
        return base_strdup("IMAP server (imap.command)");
    if (config->imap.host[0] == '/')
        return base_printf("IMAP server %s", config->imap.host);
    return base_printf(v6 ? "IMAP server [%s]:%u" : "IMAP server %s:%u", config->imap.host,
                       mailbox_connect_port(config));
}

/* The socket, and whether a password may go over it in the clear. */
static int get_socket(struct mailbox *mailbox, const struct config *config, const char *account, bool *ret_local,
                      struct fault *fault)
{
    bool none = config->imap.tls == IMAP_TLS_NONE;
    *ret_local = true;
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
    int fd = mailbox_connect(config, mailbox->where, ret_local, fault);
    if (fd >= 0 && none && !*ret_local) {
        fault_set(fault, "%s: imap.tls=none is for loopback addresses, unix sockets and commands only",
                  mailbox->where);
        close(fd);
        return -1;
    }
    return fd;
}

static bool connect_stream(struct mailbox *mailbox, const struct config *config, const char *account,
                           struct fault *fault)
{
    bool local;
    int fd = get_socket(mailbox, config, account, &local, fault);
    if (fd < 0)
        return false;
    /* libetpan's timeouts per stream are whole seconds; 0 there means this variable */
    mailstream_network_delay.tv_sec = config->imap.timeout / 1000;
    mailstream_network_delay.tv_usec = config->imap.timeout % 1000 * 1000;
    if (fd < FD_SETSIZE - 8)    /* libetpan waits with select(2), also on descriptors of its own */
        mailbox->stream = mailstream_socket_open_timeout(fd, 0);
    if (mailbox->stream == NULL) {
        fault_set(fault, "%s: out of memory, or too many descriptors are open", mailbox->where);
        close(fd);
        return false;
    }
    return true;
}

static bool start_tls(struct mailbox *mailbox, const struct config *config, struct fault *fault)
{
    if (mailbox_tls_start(config, mailbox->where, mailbox->stream, fault))
        return true;
    mailbox_dialogue_drop(mailbox);
    return false;
}

static bool greeted(struct mailbox *mailbox, enum reply_status *ret, struct fault *fault)
{
    struct mailbox_reply reply;
    mailbox->step = "greeting";
    if (!mailbox_dialogue_read(mailbox, &reply, fault))
        return false;
    if (reply.kind == REPLY_UNTAGGED && (reply.status == STATUS_OK || reply.status == STATUS_PREAUTH)) {
        *ret = reply.status;
        return true;
    }
    fault_set(fault, "%s: does not greet as an IMAP server: %.200s", mailbox->where, mailbox->bytes);
    mailbox_dialogue_drop(mailbox);
    return false;
}

/* Everything told before TLS is forgotten: it may have been put there by another. */
static bool secure(struct mailbox *mailbox, const struct config *config, struct fault *fault)
{
    struct mailbox_reply reply;
    if (!mailbox_dialogue_ask(mailbox, "STARTTLS", NULL, NULL, &reply, fault, "STARTTLS"))
        return false;
    base_free(&mailbox->capabilities);
    base_free(&mailbox->farewell);
    return start_tls(mailbox, config, fault);
}

static bool set_up(struct mailbox *mailbox, const struct config *config, const char *login, struct fault *fault)
{
    bool is_command = *config->imap.command != '\0';
    enum imap_tls tls = is_command ? IMAP_TLS_NONE : config->imap.tls;
    enum reply_status greeting = STATUS_NONE;
    if (tls == IMAP_TLS_IMAPS && !start_tls(mailbox, config, fault))
        return false;
    if (!greeted(mailbox, &greeting, fault))
        return false;
    if (greeting == STATUS_PREAUTH) {
        if (is_command)
            return true;
        /* whose mailboxes these are nobody knows, and STARTTLS is no longer possible */
        fault_set(fault, "%s: greets with PREAUTH, which is for imap.command only", mailbox->where);
        return false;
    }
    if (tls == IMAP_TLS_STARTTLS && !secure(mailbox, config, fault))
        return false;
    return mailbox_login(mailbox, config, login, fault);
}

/* A command that ended says more by its status than by its silence. */
static void explain_command(struct mailbox *mailbox, struct fault *fault)
{
    int status;
    if (mailbox->child == 0 || mailbox->stream != NULL)
        return;
    status = mailbox_spawn_reap(&mailbox->child);
    if (status >= 0 && WIFEXITED(status))
        fault_prefix(fault, "imap.command exited with status %d", WEXITSTATUS(status));
    else if (status >= 0 && WIFSIGNALED(status))
        fault_prefix(fault, "imap.command was killed by signal %d", WTERMSIG(status));
}

struct mailbox *mailbox_open_as(const struct config *config, const char *account, const char *login, bool *ret_refused,
                                struct fault *fault)
{
    *ret_refused = false;
    if (!mailbox_login_valid(account, fault))
        return NULL;
    struct mailbox *mailbox = base_alloc(sizeof *mailbox);
    mailbox->where = describe(config);
    mailbox->timeout = config->imap.timeout;
    mailbox->create = config->imap.create;
    mailbox->subscribe = config->imap.subscribe;
    mailbox->step = "connect";
    mailbox->response_max = mailbox->budget = MAILBOX_RESPONSE_MAX;
    if (!connect_stream(mailbox, config, account, fault) || !set_up(mailbox, config, login, fault)) {
        explain_command(mailbox, fault);
        *ret_refused = mailbox->refused;
        mailbox_close(&mailbox);
    }
    return mailbox;
}

struct mailbox *mailbox_open(const struct config *config, const char *account, struct fault *fault)
{
    bool refused;
    return mailbox_open_as(config, account, mailbox_login_name(config, account), &refused, fault);
}

bool mailbox_alive(struct mailbox *mailbox)
{
    struct mailbox_reply reply;
    struct fault fault;
    return mailbox_dialogue_ask(mailbox, "NOOP", NULL, NULL, &reply, &fault, "NOOP");
}

void mailbox_close(struct mailbox **mailbox)
{
    struct mailbox *it = *mailbox;
    struct fault fault;
    if (it == NULL)
        return;
    if (it->stream != NULL)
        (void) !mailbox_dialogue_send(it, "LOGOUT", &fault, "LOGOUT");
    mailbox_dialogue_drop(it);
    (void) mailbox_spawn_reap(&it->child);
    free(it->where);
    free(it->capabilities);
    free(it->sent);
    free(it->farewell);
    free(it->bytes);
    free(it);
    *mailbox = NULL;
}
