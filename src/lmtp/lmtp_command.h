/* SPDX-License-Identifier: ISC
 *
 * The words of LMTP (RFC 2033, RFC 5321, 4.1): parsing, without a session. */
#ifndef ONCEDROP_LMTP_COMMAND_H
#define ONCEDROP_LMTP_COMMAND_H

#include "base/base.h"

enum lmtp_verb {
    LMTP_UNKNOWN,
    LMTP_LHLO,
    LMTP_MAIL,
    LMTP_RCPT,
    LMTP_DATA,
    LMTP_RSET,
    LMTP_NOOP,
    LMTP_QUIT,
    LMTP_VRFY,
    LMTP_XFORWARD,
    LMTP_HELO, /* HELO and EHLO: SMTP, refused by RFC 2033 */
};

/* The verb of a line; *ret_arguments points behind it and the blanks that follow. */
enum lmtp_verb lmtp_command_verb(const char *line, const char **ret_arguments) OD_MUST;

/* Parses "FROM:<path> parameters" or "TO:<path> parameters" (keyword with its colon, any case). A source route is dropped,
 * a quoted local part is unquoted, as Postfix gives it to a command.
 *
 * *ret_path is a new string (free(3)), "" for <>; *ret_parameters points behind the path. False: syntax. */
bool lmtp_command_path(const char *arguments, const char *keyword, char **ret_path,
                       const char **ret_parameters) OD_MUST;

/* Takes the next "NAME" or "NAME=value" off *parameters; both outputs are new strings (free(3)), the value "" when there is
 * none. False at the end. */
bool lmtp_command_parameter(const char **parameters, char **ret_name, char **ret_value) OD_MUST;

/* The address in the value of ORCPT (RFC 3461, 4.2) if that is of the type rfc822, as a new string; NULL for any other,
 * which is no reason to refuse mail. */
char *lmtp_command_orcpt(const char *value) OD_MUST;

/* Decodes xtext (RFC 3461, 4), in place; false when it is none. */
bool lmtp_command_xtext(char *text) OD_MUST;

#endif
