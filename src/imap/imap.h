/* SPDX-License-Identifier: ISC
 *
 * A connection to an IMAP server (RFC 3501). A function that fails sets *error, and closes an unusable connection. */
#ifndef ONCEDROP_IMAP_H
#define ONCEDROP_IMAP_H

#include "base/config.h"
#include "imap/imap_stream.h"

/* imap_setup.c: returns an unconnected one; never NULL. */
struct imap *imap_setup_new(const struct config *config) OD_MUST;

/* Connects, starts TLS, and reads the greeting. Sets imap->certificate and logged_in. */
bool imap_setup(struct imap *imap, const struct config *config, const char *account, struct error *error) OD_MUST;

/* Sets the account for the debug log. */
void imap_set_account(struct imap *imap, const char *account);

/* Sends LOGOUT, waits up to `ms` milliseconds for the server to close, and frees *imap (may be NULL). */
void imap_setup_end_wait(struct imap **imap, int64_t ms);

/* Like imap_setup_end_wait(), without waiting. */
void imap_setup_end(struct imap **imap);

/* imap_login.c. */
const char *imap_login_name(const struct config *config, const char *account) OD_MUST;

/* Logs in, unless that would expose the password. After a failure, imap->refused, too_many_sessions and ended say more. */
bool imap_login(struct imap *imap, const struct config *config, const char *login, const char *password,
                struct error *error) OD_MUST;

/* Callback for an untagged response; may modify its bytes. */
typedef void imap_untagged(void *context, struct imap_reply *reply);

/* Sends "TAG command CRLF". */
bool imap_send(struct imap *imap, struct error *error, const char *format, ...) OD_PRINTF(3, 4) OD_MUST;

/* Reads up to the tagged response, of any status: imap->reply. `untagged` may be NULL. False: the connection is
 * lost. */
bool imap_finish(struct imap *imap, imap_untagged *untagged, void *context, struct error *error) OD_MUST;

/* Like imap_send() and imap_finish(), but fails unless tagged OK. imap->reply then has NO, BAD, or NONE (connection
 * lost). */
bool imap_command(struct imap *imap, imap_untagged *untagged, void *context, struct error *error, const char *format,
                  ...) OD_PRINTF(5, 6) OD_MUST;

/* Sends CAPABILITY unless the capabilities are known. */
bool imap_capabilities(struct imap *imap, struct error *error) OD_MUST;

/* Returns whether the server announced the capability. */
bool imap_can(const struct imap *imap, const char *capability) OD_MUST;

/* Returns whether the text has control characters, which could end a command. */
bool imap_has_control(const char *text) OD_MUST;

/* Returns an IMAP quoted string; NULL if the text has control characters. */
char *imap_quote(const char *text) OD_MUST;

/* Formats in UTC: "14-Nov-2023", with_time "14-Nov-2023 22:13:20 +0000". */
#define IMAP_DATE_SIZE 32
void imap_date(int64_t seconds, bool with_time, char ret[IMAP_DATE_SIZE]);

#endif
