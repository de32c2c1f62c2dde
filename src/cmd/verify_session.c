/* SPDX-License-Identifier: ISC
 *
 * For the sessions, each call is a delivery. */
#include "cmd/verify_session.h"

#include <string.h>

#include "delivery/sessions.h"

struct verify_sessions {
    struct sessions *sessions;
    GHashTable *failed; /* key_of → reason */
};

void verify_sessions_end(struct verify_sessions **verify_sessions)
{
    if (*verify_sessions == NULL)
        return;
    sessions_free(&(*verify_sessions)->sessions);
    g_hash_table_unref((*verify_sessions)->failed);
    base_free(verify_sessions);
}

static struct verify_sessions *have_visits(struct cmd *cmd)
{
    if (cmd->verify_sessions == NULL) {
        cmd->verify_sessions = base_alloc(sizeof(*cmd->verify_sessions));
        cmd->verify_sessions->sessions = sessions_new(cmd->config, 1);
        cmd->verify_sessions->failed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    }
    return cmd->verify_sessions;
}

/* account "": all accounts of the server. */
static char *key_of(const struct config *server, const char *account)
{
    return base_printf("%s\n%s", server->server, account);
}

static bool has_failed(const struct verify_sessions *verify_sessions, const struct config *server, const char *account,
                       struct error *error)
{
    char *key OD_CLEANUP(base_free) = key_of(server, account);
    const char *why = g_hash_table_lookup(verify_sessions->failed, key);
    if (why != NULL)
        error_set(error, "%s", why);
    return why != NULL;
}

static void remember_failure(const struct verify_sessions *verify_sessions, const struct config *server,
                             const char *account, const struct error *error)
{
    bool of_all = config_is_shared(server) || strcmp(error->code, MAILBOX_UNREACHABLE) == 0;
    g_hash_table_insert(verify_sessions->failed, key_of(server, of_all ? "" : account), base_strdup(error->text));
}

void verify_sessions_forget_failures(struct cmd *cmd)
{
    if (cmd->verify_sessions != NULL)
        g_hash_table_remove_all(cmd->verify_sessions->failed);
}

/* *ret_again: a reused session was lost. */
static enum search_result visit_once(struct verify_sessions *verify_sessions, const struct config *server,
                                     const char *account, verify_session_function *verify, void *context,
                                     bool *ret_again, struct error *error)
{
    bool reused = *ret_again = false;
    sessions_begin(verify_sessions->sessions);
    struct mailbox *mailbox =
        sessions_acquire(verify_sessions->sessions, server, account, SESSIONS_REUSED, 0, &reused, error);
    if (mailbox == NULL) {
        remember_failure(verify_sessions, server, account, error);
        return SEARCH_ERROR;
    }
    *error = (struct error){.text = ""};
    enum search_result result = verify(context, mailbox, error);
    *ret_again = result == SEARCH_ERROR && reused && !mailbox_connected(mailbox);
    sessions_release(verify_sessions->sessions, server, account);
    return result;
}

enum search_result verify_session_run(struct cmd *cmd, const struct config *server, const char *account,
                                      verify_session_function *verify, void *context, struct error *error)
{
    struct verify_sessions *verify_sessions = have_visits(cmd);
    enum search_result result = SEARCH_ERROR;
    bool again = true;
    if (has_failed(verify_sessions, server, "", error) || has_failed(verify_sessions, server, account, error))
        return SEARCH_ERROR;
    while (again)
        result = visit_once(verify_sessions, server, account, verify, context, &again, error);
    return result;
}
