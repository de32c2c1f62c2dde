/* SPDX-License-Identifier: ISC
 *
 * What a service says to systemd. */
#ifndef ONCEDROP_NOTIFY_H
#define ONCEDROP_NOTIFY_H

/* Sends these lines, such as READY=1, by the protocol of sd_notify(3), if NOTIFY_SOCKET is set. Best effort. */
void notify_systemd(const char *lines);

#endif
