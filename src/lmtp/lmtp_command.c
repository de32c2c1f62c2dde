/* SPDX-License-Identifier: ISC */
#include "lmtp/lmtp_internal.h"

#include <string.h>
#include <strings.h>

enum lmtp_verb lmtp_command_verb(const char *line, const char **ret_arguments)
{
    static const struct {
        const char *name;
        enum lmtp_verb verb;
    } verbs[] = {
        {"LHLO", LMTP_LHLO},         {"MAIL", LMTP_MAIL},         {"RCPT", LMTP_RCPT},       {"DATA", LMTP_DATA},
        {"RSET", LMTP_RSET},         {"NOOP", LMTP_NOOP},         {"QUIT", LMTP_QUIT},       {"VRFY", LMTP_VRFY},
        {"XFORWARD", LMTP_XFORWARD}, {"XDELIVER", LMTP_XDELIVER}, {"XCONFIG", LMTP_XCONFIG}, {"HELO", LMTP_HELO},
        {"EHLO", LMTP_HELO},
    };
    size_t length = strcspn(line, " \t");
    *ret_arguments = line + length + strspn(line + length, " \t");
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strlen(verbs[i].name) == length && strncasecmp(line, verbs[i].name, length) == 0)
            return verbs[i].verb;
    return LMTP_UNKNOWN;
}

/* Returns the path's unquoted '>', or NULL. at: after '<'. */
static const char *path_end(const char *at)
{
    for (bool quoted = false; *at != '\0'; at++) {
        if (*at == '\\' && at[1] != '\0')
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (*at == '>' && !quoted)
            return at;
        else if (*at == '<' && !quoted)
            return NULL;
    }
    return NULL;
}

/* Returns what follows "@relay,@relay:" (RFC 5321, appendix C). */
static const char *skip_route(const char *at, const char *end)
{
    if (*at != '@')
        return at;
    const char *colon = memchr(at, ':', (size_t)(end - at));
    return colon != NULL ? colon + 1 : at;
}

static char *unquote(const char *at, const char *end)
{
    char *text = base_alloc((size_t)(end - at) + 1), *to = text;
    bool quoted = *at == '"';
    for (at += quoted; at < end; at++) {
        if (quoted && *at == '"') {
            quoted = false;
            continue;
        }
        if (quoted && *at == '\\' && at + 1 < end)
            at++;
        *to++ = *at;
    }
    return text;
}

bool lmtp_command_path(const char *arguments, const char *keyword, char **ret_path, const char **ret_parameters)
{
    if (strncasecmp(arguments, keyword, strlen(keyword)) != 0)
        return false;
    arguments += strlen(keyword);
    arguments += strspn(arguments, " ");
    if (*arguments != '<')
        return false;
    const char *end = path_end(++arguments);
    if (end == NULL || (end[1] != '\0' && end[1] != ' '))
        return false;
    *ret_path = unquote(skip_route(arguments, end), end);
    *ret_parameters = end + 1;
    return true;
}

bool lmtp_command_parameter(const char **parameters, char **ret_name, char **ret_value)
{
    const char *at = *parameters + strspn(*parameters, " ");
    size_t length = strcspn(at, " "), name = strcspn(at, " =");
    if (length == 0)
        return false;
    *ret_name = base_strndup(at, name);
    *ret_value = base_strndup(at + name + (at[name] == '='), at[name] == '=' ? length - name - 1 : 0);
    *parameters = at + length;
    return true;
}

bool lmtp_command_xtext(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at != '+') {
            *to++ = *at;
            continue;
        }
        int high = g_ascii_xdigit_value(at[1]), low = high >= 0 ? g_ascii_xdigit_value(at[2]) : -1;
        if (low < 0 || (high == 0 && low == 0))
            return false;
        *to++ = (char)(high * 16 + low);
        at += 2;
    }
    *to = '\0';
    return true;
}

char *lmtp_command_orcpt(const char *value)
{
    static const char type[] = "rfc822;";
    if (strncasecmp(value, type, strlen(type)) != 0)
        return NULL;
    char *address = base_strdup(value + strlen(type));
    if (address[0] == '\0' || !lmtp_command_xtext(address))
        base_free(&address);
    return address;
}
