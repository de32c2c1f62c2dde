/* SPDX-License-Identifier: ISC
 *
 * Parses LMTP commands (RFC 2033, RFC 5321, 4.1). Strings returned are for free(3). */
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
    LMTP_HELO, /* SMTP's HELO and EHLO */
};

/* Returns the line's verb; *ret_arguments points past it and blanks. */
enum lmtp_verb lmtp_command_verb(const char *line, const char **ret_arguments) OD_MUST;

/* Parses "FROM:<path> parameters" or "TO:<path> parameters". keyword: with its colon, in any case. *ret_path: without
 * source route, the local part unquoted (like Postfix); "" for <>. *ret_parameters points past the path. False: syntax
 * error. */
bool lmtp_command_path(const char *arguments, const char *keyword, char **ret_path,
                       const char **ret_parameters) OD_MUST;

/* Removes the next "NAME" or "NAME=value" from *parameters; value: "" if absent. False: none left. */
bool lmtp_command_parameter(const char **parameters, char **ret_name, char **ret_value) OD_MUST;

/* Returns the address in ORCPT (RFC 3461, 4.2). NULL: not of type rfc822, which is no error. */
char *lmtp_command_orcpt(const char *value) OD_MUST;

/* Decodes xtext (RFC 3461, 4) in place; false if invalid. */
bool lmtp_command_xtext(char *text) OD_MUST;

#endif
