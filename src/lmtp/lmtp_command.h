/* SPDX-License-Identifier: ISC
 *
 * Parses LMTP commands (RFC 2033, RFC 5321, 4.1), independently of a session. */
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
    LMTP_XDELIVER,
    LMTP_XCONFIG,
    LMTP_HELO, /* HELO and EHLO: SMTP, which RFC 2033 forbids here */
};

/* The verb of a line; *ret_arguments points past it and the blanks that follow. */
enum lmtp_verb lmtp_command_verb(const char *line, const char **ret_arguments) OD_MUST;

/* Parses "FROM:<path> parameters" or "TO:<path> parameters" (keyword with its colon, in any case). A source route is
 * dropped; a quoted local part is unquoted, as Postfix does for a command.
 *
 * *ret_path is a new string (free(3)), "" for <>; *ret_parameters points past the path. False: syntax error. */
bool lmtp_command_path(const char *arguments, const char *keyword, char **ret_path,
                       const char **ret_parameters) OD_MUST;

/* Removes the next "NAME" or "NAME=value" from *parameters; both outputs are new strings (free(3)), the value "" if
 * there is none. False at the end. */
bool lmtp_command_parameter(const char **parameters, char **ret_name, char **ret_value) OD_MUST;

/* The address in the value of ORCPT (RFC 3461, 4.2) if its type is rfc822, as a new string; NULL for any other type,
 * which is no reason to refuse mail. */
char *lmtp_command_orcpt(const char *value) OD_MUST;

/* Decodes xtext (RFC 3461, 4) in place; false if it is invalid. */
bool lmtp_command_xtext(char *text) OD_MUST;

#endif
