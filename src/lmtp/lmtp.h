/* SPDX-License-Identifier: ISC
 *
 * LMTP (RFC 2033): a session, and the resident service. */
#ifndef ONCEDROP_LMTP_H
#define ONCEDROP_LMTP_H

#include "delivery/delivery.h"

/* lmtp_serve.c */

/* In milliseconds. */
struct lmtp_times {
    int64_t session;   /* no new transaction afterwards */
    int64_t last_data; /* added for a message already begun */
    int64_t idle;      /* per wait (RFC 5321, 4.5.3.2.7) */
};

#define LMTP_OTHER_CONFIG "550 5.0.0 another" /* to XCONFIG, for trusted local clients */

/* What the next connection reuses. The decoder's process is global (decode/decoding.c). */
struct lmtp_cache {
    struct ledger *ledger;     /* NULL before the first message */
    struct sessions *sessions; /* IMAP */
};

struct lmtp_cache lmtp_cache_new(const struct config *config) OD_MUST;

/* Ends all sessions and the decoder's process. */
void lmtp_cache_clear(struct lmtp_cache *cache);

/* Of one connection. */
struct lmtp_terms {
    struct lmtp_times times;
    const char *only_login;                /* see delivery.h; NULL: a trusted client */
    bool is_local;                         /* unix socket: accepts XDELIVER */
    int stop_fd;                           /* readable: no new transaction; -1: none */
    int others_fd;                         /* readable: other clients wait; -1: none */
    bool (*all_busy)(const void *context); /* all workers; needed with others_fd */
    const void *context;
};

/* Standard input, with one client. spawn(8) kills us after 1000 s. */
#define LMTP_ALONE \
    ((struct lmtp_terms){.times = {.session = 600000, .last_data = 100000, .idle = 300000}, \
                         .stop_fd = -1, \
                         .others_fd = -1})

/* Serves until QUIT, end of input, or a limit.
 *
 * A client unresponsive between transactions soon gets 421 if the service stops, or if all workers are busy and others
 * wait. Postfix probes a reused connection by RSET: after 421 to RSET it reconnects; 421 to MAIL defers the message,
 * and is avoided. */
void lmtp_serve(const struct config *config, int in, int out, const struct lmtp_terms *terms, struct lmtp_cache *cache);

/* For deadline_install(): logs deliveries in flight, and ends the process. The peer defers recipients without a
 * reply. */
void lmtp_end_by_signal(int signal);

/* Greets with 421 and this text. */
void lmtp_refuse(int out, const char *text);

/* lmtp_service_socket.c */

struct lmtp_service_socket {
    int fd;      /* listening; non-blocking */
    int lock_fd; /* locks the path; -1: not needed */
    char *path;  /* of our unix socket, else NULL */
    dev_t device;
    ino_t inode;
};

/* Opens the socket that systemd passes (sd_listen_fds(3), with Accept=no), or else a new one.
 *
 * name      path of a unix socket, or HOST:PORT; HOST: localhost or numeric ([::1]:PORT)
 * networks  service.allowed_networks; "": HOST must be loopback
 *
 * A unix socket has mode 0666: lmtp_service_worker.c says who may do what. Replaces a dead service's socket, but no
 * other file. Creates PATH.lock. */
bool lmtp_service_socket_open(const char *name, const char *networks, struct lmtp_service_socket *ret,
                              struct error *error) OD_MUST;

/* Returns whether it is HOST:PORT, and other hosts may reach it. */
bool lmtp_service_socket_is_remote(const char *name) OD_MUST;

/* Stops listening. Removes the file if it is still ours. */
void lmtp_service_socket_close(struct lmtp_service_socket *socket);

/* lmtp_service.c
 * The resident service: a parent that only supervises workers, which are processes (see replay/replay_workers.c) with
 * one connection at a time. */

struct lmtp_service {
    struct config *config;             /* replaced by a reload */
    struct lmtp_service_socket socket; /* see lmtp_service_socket_open() */
    /* Loads the configuration again. NULL with the error set: it is wrong, and nothing changed. */
    struct config *(*load)(void *context, struct error *error);
    void *context;
};

/* Runs until SIGTERM or SIGINT: then it waits for transactions in flight, up to delivery.deadline or a second signal.
 * SIGHUP reloads: new workers start, old ones finish their transactions; a wrong configuration is logged and ignored. A
 * dead worker is replaced, with backoff. Notifies systemd (sd_notify(3)).
 *
 * Precondition: these signals are neither blocked nor ignored, and the process has no other children. */
void lmtp_service_run(struct lmtp_service *service);

#endif
