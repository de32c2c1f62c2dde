/* SPDX-License-Identifier: ISC */
#include "imap/imap_password.h"

#include <glib.h>
#include <string.h>

#include "base/private.h"
#include "imap/imap_connect.h"

#define ANSWERS_MOST 10000 /* per process */

static void free_secret(gpointer text)
{
    char *it = text;
    base_free_secret(&it);
}

static GHashTable *known_answers(void)
{
    static GHashTable *answers;
    if (answers == NULL)
        answers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_secret);
    return answers;
}

bool imap_password_is_own(const struct config *config)
{
    return strstr(config->imap.password_command, CONFIG_USER) != NULL;
}

static char *answer_key(const struct config *config, const char *login)
{
    return base_printf("%s\n%s", imap_password_is_own(config) ? login : "", config->imap.password_command);
}

/* Runs the command, and caches its output. */
static char *have_answer(const struct config *config, const char *login, int64_t ms, struct fault *fault)
{
    size_t size;
    char *output OD_CLEANUP(base_free_secret) = imap_spawn_password(config, login, ms, &size, fault);
    char *answer = output != NULL ? private_first_line("imap.password_command", output, size, fault) : NULL;
    if (answer == NULL)
        return NULL;
    if (g_hash_table_size(known_answers()) >= ANSWERS_MOST)
        g_hash_table_remove_all(known_answers());
    g_hash_table_insert(known_answers(), answer_key(config, login), base_strdup(answer));
    return answer;
}

char *imap_password(const struct config *config, const char *login, int64_t ms, struct fault *fault)
{
    if (*config->imap.password_command == '\0' || *config->imap.command != '\0')
        return base_strdup(config->imap.password->text);
    char *key OD_CLEANUP(base_free) = answer_key(config, login);
    const char *answer = g_hash_table_lookup(known_answers(), key);
    return answer != NULL ? base_strdup(answer) : have_answer(config, login, ms, fault);
}

static char *read_anew(const struct config *config, const char *login, int64_t ms, struct fault *fault)
{
    if (*config->imap.password_command != '\0' && *config->imap.command == '\0')
        return have_answer(config, login, ms, fault);
    return config_renew_password(config, fault) ? base_strdup(config->imap.password->text) : NULL;
}

char *imap_password_renew(const struct config *config, const char *login, const char *refused, int64_t ms,
                          struct fault *fault)
{
    struct fault why;
    char *password = read_anew(config, login, ms, &why);
    if (password == NULL)
        fault_set(fault, "%s; then imap.password_%s: %s", fault->text,
                  *config->imap.password_command != '\0' ? "command was run again" : "file was read again", why.text);
    else if (strcmp(password, refused) == 0)
        base_free_secret(&password);
    return password;
}
