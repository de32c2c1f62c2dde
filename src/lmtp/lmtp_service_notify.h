/* SPDX-License-Identifier: ISC
 *
 * What a service tells systemd, by the protocol of sd_notify(3). */
#ifndef ONCEDROP_LMTP_SERVICE_NOTIFY_H
#define ONCEDROP_LMTP_SERVICE_NOTIFY_H

/* Sends lines such as "READY=1" to the socket in NOTIFY_SOCKET; does nothing if there is none. Best effort. */
void lmtp_service_notify(const char *lines);

/* The same for the beginning of a reload, which needs the time as well (Type=notify-reload). */
void lmtp_service_notify_reload(void);

#endif
