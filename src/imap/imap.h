/* SPDX-License-Identifier: ISC
 *
 * A connection to an IMAP server (RFC 3501): setup, login, commands, each answered by responses up to its tagged one, and
 * the end. If the connection cannot go on, these functions close it. */
#ifndef ONCEDROP_IMAP_H
#define ONCEDROP_IMAP_H

#include "base/config.h"
#include "imap/imap_stream.h"

/* imap_setup.c: one that is not connected yet; never NULL; end it with imap_setup_end. */
struct imap *imap_setup_new(const struct config *config) OD_MUST;

/* Connects, starts TLS, and reads the greeting: everything before the login; sets imap->certificate and logged_in. False
 * with the fault set. */
bool imap_setup(struct imap *imap, const struct config *config, const char *account, struct fault *fault) OD_MUST;

/* Sets the account that the debug log names for this session. */
void imap_set_account(struct imap *imap, const char *account);

/* Sends LOGOUT, if there is a connection, and waits up to `ms` milliseconds for the server to close its end; then closes
 * it. imap.command gets up to a second to end and is then killed. *imap may be NULL, and is afterwards. */
void imap_setup_end_wait(struct imap **imap, int64_t ms);

/* The same without waiting. */
void imap_setup_end(struct imap **imap);

/* imap_login.c: the login name for an account. */
const char *imap_login_name(const struct config *config, const char *account) OD_MUST;

/* Logs in with this password; before that, all is checked that would show it to somebody. False with the fault set;
 * imap->refused, crowded and ended say more. */
bool imap_login(struct imap *imap, const struct config *config, const char *login, const char *password,
                struct fault *fault) OD_MUST;

/* Receives each untagged response to a command; may modify the bytes. */
typedef void imap_untagged(void *context, struct imap_reply *reply);

/* Sends "TAG command CRLF" with a new tag. */
bool imap_send(struct imap *imap, struct fault *fault, const char *format, ...) OD_PRINTF(3, 4) OD_MUST;

/* Reads up to the tagged response, whatever its status: imap->reply. `untagged` may be NULL. False: there is none. */
bool imap_finish(struct imap *imap, imap_untagged *untagged, void *context, struct fault *fault) OD_MUST;

/* Both; a status other than OK is also a failure. True: tagged OK. False: the fault is set, and the status of imap->reply
 * is NO, BAD, or NONE (no answer: the connection is lost). */
bool imap_ask(struct imap *imap, imap_untagged *untagged, void *context, struct fault *fault, const char *format, ...)
    OD_PRINTF(5, 6) OD_MUST;

/* Asks for the capabilities unless they are known. */
bool imap_capabilities(struct imap *imap, struct fault *fault) OD_MUST;

/* Whether the server announced that capability. */
bool imap_can(const struct imap *imap, const char *capability) OD_MUST;

/* Whether there are control characters, which could end a command. */
bool imap_has_control(const char *text) OD_MUST;

/* Text as an IMAP quoted string; NULL if it has control characters. */
char *imap_quote(const char *text) OD_MUST;

/* "14-Nov-2023", with_time: "14-Nov-2023 22:13:20 +0000": in UTC. */
#define IMAP_DATE_SIZE 32
void imap_date(int64_t seconds, bool with_time, char ret[IMAP_DATE_SIZE]);

#endif
