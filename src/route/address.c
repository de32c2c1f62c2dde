/* SPDX-License-Identifier: ISC */
#include "route/route.h"

#include <glib.h>
#include <string.h>

static bool contains_control(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return true;
    return false;
}

/* Returns the length of a local part that is a Quoted-string (RFC 5321, 4.1.2), and its content in *ret, a new string;
 * else 0. */
static size_t take_quoted(const char *text, size_t length, char **ret)
{
    size_t at = 1;
    if (text[0] != '"')
        return 0;
    g_autoptr(GString) content = g_string_new(NULL);
    for (; at < length && text[at] != '"'; at++) {
        at += text[at] == '\\' && at + 1 < length;
        g_string_append_c(content, text[at]);
    }
    if (at >= length || (at + 1 < length && text[at + 1] != '@'))
        return 0;
    *ret = g_string_free(g_steal_pointer(&content), FALSE);
    return at + 1;
}

/* Needs no quotes (RFC 5321, 4.1.2; RFC 6531). */
static bool is_dot_string(const char *local)
{
    size_t length = strlen(local);
    for (const char *c = local; *c != '\0'; c++)
        if (!g_ascii_isalnum(*c) && strchr("!#$%&'*+-/=?^_`{|}~.", *c) == NULL && (unsigned char)*c < 0x80)
            return false;
    return length > 0 && local[0] != '.' && local[length - 1] != '.' && strstr(local, "..") == NULL;
}

/* Keeps necessary quotes: "lisa@elsewhere" must not become another user's account. */
static char *plain_user(const char *content, size_t length)
{
    char *user = g_ascii_strdown(content, (gssize)length);
    if (is_dot_string(user))
        return user;
    GString *text = g_string_new("\"");
    for (const char *c = user; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            g_string_append_c(text, '\\');
        g_string_append_c(text, *c);
    }
    base_free(&user);
    g_string_append_c(text, '"');
    return g_string_free(text, FALSE);
}

bool address_parse(const char *text, struct address *ret, struct error *error)
{
    size_t length = strlen(text), blanks = strspn(text, " \t");
    bool too_long = length > ADDRESS_MAX; /* as it is recorded */
    text += blanks;
    length -= blanks;
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    if (length >= 2 && text[0] == '<' && text[length - 1] == '>') {
        text++;
        length -= 2;
    }
    if (length == 0)
        return error_set(error, "address is empty");
    if (too_long || contains_control(text, length) || !g_utf8_validate(text, (gssize)length, NULL))
        return error_set(error, "address %.*s%s: %s", length > 80 ? 80 : (int)length, text, length > 80 ? "..." : "",
                         too_long ? "longer than 512 bytes" : "contains control characters or invalid UTF-8");
    const char *end = text + length;
    char *unquoted OD_CLEANUP(base_free) = NULL;
    size_t quoted = take_quoted(text, length, &unquoted);
    const char *at = unquoted == NULL ? memrchr(text, '@', length) : text + quoted < end ? text + quoted : NULL;
    const char *local = unquoted != NULL ? unquoted : text;
    size_t local_length = unquoted != NULL ? strlen(unquoted) : at != NULL ? (size_t)(at - text) : length;
    if (local_length == 0 || (at != NULL && at + 1 == end))
        return error_set(error, "address %.*s has nothing %s its @", length > 80 ? 80 : (int)length, text,
                         local_length == 0 ? "before" : "after");
    if (at != NULL && memchr(at + 1, '@', (size_t)(end - at - 1)) != NULL)
        return error_set(error, "address %.*s has a second @ after its quotes", length > 80 ? 80 : (int)length, text);
    const char *plus = local_length > 1 ? memchr(local + 1, '+', local_length - 1) : NULL;
    size_t user = plus != NULL ? (size_t)(plus - local) : local_length;
    ret->user = unquoted != NULL ? plain_user(local, user) : g_ascii_strdown(local, (gssize)user);
    ret->detail = base_strndup(plus != NULL ? plus + 1 : "", plus != NULL ? local_length - user - 1 : 0);
    ret->domain = at != NULL ? g_ascii_strdown(at + 1, end - at - 1) : base_strdup("");
    ret->address = ret->domain[0] != '\0' ? base_printf("%s@%s", ret->user, ret->domain) : base_strdup(ret->user);
    return true;
}

void address_clear(struct address *address)
{
    base_free(&address->address);
    base_free(&address->user);
    base_free(&address->detail);
    base_free(&address->domain);
}

char *address_clean(const char *text)
{
    GString *clean = g_string_new(NULL);
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    for (char *at = valid; *at != '\0'; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);
        g_string_append_unichar(clean, c < 0x20 || c == 0x7f ? 0xfffd : c);
    }
    return g_string_free(clean, FALSE);
}

/* Moves *at from after "%{" past '}'. */
static const char *lookup(const char **at, const struct address *address)
{
    const struct {
        const char *name;
        const char *value;
    } names[] = {
        {"address}", address != NULL ? address->address : ""},
        {"user}", address != NULL ? address->user : ""},
        {"domain}", address != NULL ? address->domain : ""},
        {"detail}", address != NULL ? address->detail : ""},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (g_str_has_prefix(*at, names[i].name)) {
            *at += strlen(names[i].name);
            return names[i].value;
        }
    }
    return NULL;
}

char *address_expand(const char *template, const struct address *address, struct error *error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (const char *at = template; *at != '\0';) {
        const char *value;
        if (*at != '%') {
            g_string_append_c(text, *at++);
        } else if (at[1] == '%') {
            g_string_append_c(text, '%');
            at += 2;
        } else if (at[1] == '{' && (at += 2, value = lookup(&at, address)) != NULL) {
            g_string_append(text, value);
        } else {
            error_set(error, "%s: only %%{address}, %%{user}, %%{domain}, %%{detail} and %%%% are known", template);
            return NULL;
        }
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}
