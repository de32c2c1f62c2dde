/* SPDX-License-Identifier: ISC
 *
 * Who is at the other end of a connection to the service, by what the kernel says (SO_PEERCRED, unix(7)). */
#ifndef ONCEDROP_LMTP_PEER_H
#define ONCEDROP_LMTP_PEER_H

#include <sys/types.h>

#include "base/config.h"

struct lmtp_peer {
    bool is_local; /* of a unix socket, so that uid is known */
    uid_t uid;     /* effective, when it connected */
    bool believed; /* may deliver to everybody, and say who the sender is */
    char *login;   /* its login name, if it is not believed; else NULL */
};

/* Believed are root, the user that this process runs as, and the users in service.clients. So is everybody who connects
 * by TCP: there nothing is known of a client, and the administrator who chose TCP has said that every user of this host
 * may deliver. Anybody else delivers to the own account only.
 *
 * fd  the connection
 *
 * The result must be cleared with lmtp_peer_clear. False with the fault set, and nothing to clear: the kernel does not
 * say who it is, or the user has no name, perhaps because the user database does not answer. */
bool lmtp_peer_find(const struct config *config, int fd, struct lmtp_peer *ret, struct fault *fault) OD_MUST;

void lmtp_peer_clear(struct lmtp_peer *peer);

#endif
