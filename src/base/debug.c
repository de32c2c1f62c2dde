/* SPDX-License-Identifier: ISC */

#include <glib.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"

#define LINE_MAX_SIZE 2048 /* the log truncates longer lines */

bool debug_imap, debug_sql;

static bool everything;
static char **chosen;         /* log.debug_accounts; case is ignored */
static GPtrArray *concerned;  /* this delivery's accounts, found by addresses in `chosen` */
static char delivery_id[128]; /* "QUEUEID: ", or "" */

void debug_open(const char *accounts)
{
    g_strfreev(chosen);
    chosen = g_strsplit_set(accounts, ", \t", -1);
    everything = log_shows_debug();
    debug_imap = everything;
    for (char **name = chosen; *name != NULL; name++)
        debug_imap |= **name != '\0';
    if (concerned == NULL)
        concerned = g_ptr_array_new_with_free_func(g_free);
    debug_end();
}

void debug_begin(const char *queue_id)
{
    debug_end();
    if (queue_id != NULL)
        (void)snprintf(delivery_id, sizeof(delivery_id), "%.100s: ", queue_id);
}

static bool is_chosen(const char *name)
{
    for (char **it = chosen; name != NULL && *name != '\0' && it != NULL && *it != NULL; it++)
        if (g_ascii_strcasecmp(*it, name) == 0)
            return true;
    return false;
}

void debug_concerns(const char *address, const char *account)
{
    if (!debug_imap || everything || (!is_chosen(address) && !is_chosen(account)))
        return;
    debug_sql = true;
    if (account != NULL)
        g_ptr_array_add(concerned, g_strdup(account));
}

void debug_end(void)
{
    delivery_id[0] = '\0';
    debug_sql = everything;
    if (concerned != NULL)
        g_ptr_array_set_size(concerned, 0);
}

bool debug_account(const char *account)
{
    return everything || is_chosen(account) ||
           (account != NULL && concerned != NULL &&
            g_ptr_array_find_with_equal_func(concerned, account, g_str_equal, NULL));
}

void debug_line(const char *format, ...)
{
    char text[LINE_MAX_SIZE] = "";
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    log_debug("%s%s", delivery_id, text);
}
