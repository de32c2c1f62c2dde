/* SPDX-License-Identifier: ISC
 *
 * Formats libpq's messages. */
#include <glib.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "postgres/pg.h"

static void drop_full_stop(GString *text)
{
    if (text->len > 0 && text->str[text->len - 1] == '.')
        g_string_truncate(text, text->len - 1);
}

/* libpq has a line per address and method, often the same. A line that is indented, or begins with DETAIL or HINT,
 * explains. */
char *pg_reason(const char *message)
{
    GString *text = g_string_new(NULL);
    g_auto(GStrv) lines = g_strsplit(message, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        bool explains = g_ascii_isspace(**line), detail = g_str_has_prefix(*line, "DETAIL:  ");
        const char *said = g_strstrip(*line) + (detail ? strlen("DETAIL:  ") : 0);
        if (*said == '\0' || strstr(text->str, said) != NULL)
            continue;
        drop_full_stop(text);
        const char *between = detail ? ": " : !explains ? "; " : g_ascii_isupper(*said) ? ". " : " ";
        g_string_append_printf(text, "%s%s", text->len == 0 ? "" : between, said);
    }
    drop_full_stop(text);
    g_string_replace(text, ":  ", ": ", 0);
    return g_string_free(text, FALSE);
}

/* Quoted parts may contain a password or a URI. */
static void mask_quoted(GString *text)
{
    for (char *open = strchr(text->str, '"'); open != NULL;) {
        size_t start = (size_t)(open - text->str) + 1;
        size_t length = strcspn(text->str + start, "\"");
        if (text->str[start + length] == '\0')
            length = text->len - start;
        if (length > 1) { /* a single character is a missing '=' or bracket */
            g_string_erase(text, (gssize)start, (gssize)length);
            g_string_insert(text, (gssize)start, "...");
            length = 3;
        }
        open = start + length < text->len ? strchr(text->str + start + length + 1, '"') : NULL;
    }
}

char *pg_reason_conninfo(const char *conninfo, const char *message)
{
    char *reason OD_CLEANUP(base_free) = pg_reason(message);
    GString *text = g_string_new(reason);
    if (strcasestr(conninfo, "pass") != NULL || strstr(conninfo, "://") != NULL)
        mask_quoted(text);
    return g_string_free(text, FALSE);
}

bool pg_reason_is_login(const PGconn *conn)
{
    const struct passwd *user = getpwuid(geteuid());
    const char *host = PQhost(conn), *name = PQuser(conn);
    const char *said = strstr(PQerrorMessage(conn), "failed: "); /* the socket's name precedes this */
    bool by_socket = host != NULL && host[0] == '/';
    if (!by_socket || user == NULL || name == NULL || strcmp(user->pw_name, name) != 0 || said == NULL)
        return false;
    char *english OD_CLEANUP(base_free) = base_printf("role \"%s\" does not exist", name);
    /* Messages may be translated. The name alone suffices only for root: the database often has the user's name. */
    return strstr(said, english) != NULL || (geteuid() == 0 && strstr(said, name) != NULL);
}
