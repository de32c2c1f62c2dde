/* SPDX-License-Identifier: ISC
 *
 * EPOLLEXCLUSIVE wakes the first free worker in the kernel's list: at a low rate always the same, whose sessions are
 * open. */
#include "lmtp/lmtp_internal.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

#define ERROR_MS 100 /* retry delay without a free descriptor */

/* Postfix reuses connections; a user's client sends one message. */
static const struct lmtp_times trusted_client_times = {.session = 3600000, .last_data = 100000, .idle = 300000};
static const struct lmtp_times user_times = {.session = 60000, .last_data = 0, .idle = 20000};

struct peer {
    bool is_local; /* unix socket: uid is known */
    uid_t uid;     /* effective, at connect(2) */
    char *login;   /* NULL: trusted */
};

/* By name first: several may share a user id. */
static bool is_client(const char *clients, const char *login, uid_t uid)
{
    g_auto(GStrv) names = g_strsplit_set(clients, " \t,", -1);
    if (g_strv_contains((const char *const *)names, login))
        return true;
    for (char **name = names; *name != NULL; name++) {
        const struct passwd *user = (*name)[0] != '\0' ? getpwnam(*name) : NULL;
        if (user != NULL && user->pw_uid == uid)
            return true;
    }
    return false;
}

static bool is_from_network(const struct config *config, int fd, struct error *error)
{
    struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
    const struct sockaddr *address = (const struct sockaddr *)&peer;
    char host[NI_MAXHOST] = "an unknown address";
    socklen_t size = sizeof(peer);
    if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0)
        return error_set(error, "it is gone: %m");
    if (network_is_loopback(address) || network_list_contains(config->service.allowed_networks, address))
        return true;
    (void)getnameinfo(address, size, host, sizeof(host), NULL, 0, NI_NUMERICHOST);
    return error_set(error, "%s is in none of service.allowed_networks", host);
}

/* Identifies the peer (SO_PEERCRED, unix(7)). False with the error set: it is unknown, or its network not allowed. */
static bool find_peer(const struct config *config, int fd, struct peer *ret, struct error *error)
{
    struct ucred client = {.pid = 0};
    int domain = AF_UNSPEC;
    socklen_t size = sizeof(client), domain_size = sizeof(domain);
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) != 0 ||
        (domain == AF_UNIX && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &client, &size) != 0))
        return error_set(error, "the kernel does not say who is connected: %m");
    if (domain != AF_UNIX && !is_from_network(config, fd, error))
        return false;
    if (domain != AF_UNIX || client.uid == 0 || client.uid == geteuid()) {
        *ret = (struct peer){.is_local = domain == AF_UNIX, .uid = client.uid};
        return true;
    }
    errno = 0;
    const struct passwd *user = getpwuid(client.uid);
    if (user == NULL || user->pw_name[0] == '\0')
        return error_set(error, "user id %u has no name%s%s", (unsigned)client.uid, errno != 0 ? ": " : "",
                         errno != 0 ? strerror(errno) : "");
    *ret = (struct peer){.is_local = true, .uid = client.uid, .login = base_strdup(user->pw_name)};
    if (is_client(config->service.trusted_users, ret->login, client.uid))
        base_free(&ret->login);
    return true;
}

static void peer_clear(struct peer *peer)
{
    base_free(&peer->login);
}

static bool all_busy(const void *context)
{
    const struct lmtp_service_load *load = context;
    for (size_t i = 0; i < load->workers; i++)
        if (!atomic_load(&load->worker[i].busy))
            return false;
    return true;
}

/* Admits an untrusted client. False: its user has a connection, half of the workers serve such clients, or another
 * worker holds the mutex. */
static bool admit_untrusted(struct lmtp_service_load *load, size_t number, uid_t uid)
{
    const int64_t ours = (int64_t)uid + 1;
    size_t free_mutex = 0, untrusted = 1;
    bool first = true;
    if (!atomic_compare_exchange_strong(&load->admission_mutex, &free_mutex, number + 1))
        return false;
    for (size_t i = 0; i < load->workers; i++) {
        int64_t other = atomic_load(&load->worker[i].uid);
        untrusted += other != 0;
        first = first && other != ours;
    }
    bool admitted = first && (untrusted == 1 || untrusted <= load->workers / 2);
    if (admitted)
        atomic_store(&load->worker[number].uid, ours);
    atomic_store(&load->admission_mutex, 0);
    return admitted;
}

void lmtp_service_leave(struct lmtp_service_load *load, size_t number)
{
    size_t ours = number + 1;
    (void)atomic_compare_exchange_strong(&load->admission_mutex, &ours, 0);
    atomic_store(&load->worker[number].uid, 0);
    atomic_store(&load->worker[number].busy, false);
}

static void serve_client(const struct config *config, int fd, int listen_fd, int stop_fd,
                         struct lmtp_service_load *load, size_t number, struct lmtp_cache *cache)
{
    struct peer peer OD_CLEANUP(peer_clear) = {.uid = 0};
    struct error error;
    int on = 1;
    if (!find_peer(config, fd, &peer, &error)) {
        char *text OD_CLEANUP(base_free) = base_printf("4.7.0 %s", error.text);
        log_warning("a client of the service is refused: %s", error.text);
        lmtp_refuse(fd, text);
        return;
    }
    if (peer.login != NULL && !admit_untrusted(load, number, peer.uid)) {
        lmtp_refuse(fd, "4.3.2 busy with other users, or with another connection of yours: try again");
        return;
    }
    if (!peer.is_local)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    const struct lmtp_terms terms = {
        .times = peer.login == NULL ? trusted_client_times : user_times,
        .only_login = peer.login,
        .is_local = peer.is_local,
        .stop_fd = stop_fd,
        .others_fd = listen_fd,
        .all_busy = all_busy,
        .context = load,
    };
    lmtp_serve(config, fd, fd, &terms, cache);
}

/* -1: no connection. */
static int accept_client(int listen_fd)
{
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
        log_error("cannot accept a connection: %m");
        (void)poll(NULL, 0, ERROR_MS);
    }
    return fd;
}

static bool watch(int epoll_fd, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.fd = fd}};
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

bool lmtp_service_worker(const struct config *config, int listen_fd, int stop_fd, struct lmtp_service_load *load,
                         size_t number, struct error *error)
{
    int epoll_fd OD_CLEANUP(base_close) = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0 || !watch(epoll_fd, stop_fd, EPOLLIN) || !watch(epoll_fd, listen_fd, EPOLLIN | EPOLLEXCLUSIVE))
        return error_set(error, "cannot wait for connections: %m");
    signal(SIGINT, SIG_IGN); /* a terminal signals all processes; the parent decides */
    signal(SIGHUP, SIG_IGN);
    deadline_install(lmtp_end_by_signal);
    if (config->delivery.memory > 0)
        base_limit_memory(config->delivery.memory);
    struct lmtp_cache cache OD_CLEANUP(lmtp_cache_clear) = lmtp_cache_new(config);
    for (int64_t rest_ms = 0;;) {
        struct epoll_event events[2];
        int64_t left = rest_ms - base_now_ms();
        int n = epoll_wait(epoll_fd, events, 2, (int)CLAMP(left, 0, INT32_MAX));
        for (int i = 0; i < n; i++)
            if (events[i].data.fd == stop_fd)
                return true;
        int fd OD_CLEANUP(base_close) = n > 0 ? accept_client(listen_fd) : -1;
        if (fd >= 0) {
            atomic_store(&load->worker[number].busy, true);
            serve_client(config, fd, listen_fd, stop_fd, load, number, &cache);
            lmtp_service_leave(load, number);
            (void)shutdown(fd, SHUT_RDWR); /* a new decoder may have inherited it */
            rest_ms = 0;
        } else if (n == 0) {
            rest_ms = sessions_expire(cache.sessions);
        }
    }
}
