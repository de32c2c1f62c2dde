/* SPDX-License-Identifier: ISC
 *
 * For the sessions, each call is a delivery. */
#include "cmd/visit.h"

#include <string.h>

#include "delivery/sessions.h"

struct visits {
    struct sessions *sessions;
    GHashTable *failed; /* key_of → reason */
};

void visits_end(struct visits **visits)
{
    if (*visits == NULL)
        return;
    sessions_free(&(*visits)->sessions);
    g_hash_table_unref((*visits)->failed);
    base_free(visits);
}

static struct visits *have_visits(struct cmd *cmd)
{
    if (cmd->visits == NULL) {
        cmd->visits = base_alloc(sizeof(*cmd->visits));
        cmd->visits->sessions = sessions_new(cmd->config, 1);
        cmd->visits->failed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    }
    return cmd->visits;
}

/* account "": all accounts of the server. */
static char *key_of(const struct config *server, const char *account)
{
    return base_printf("%s\n%s", server->server, account);
}

static bool has_failed(const struct visits *visits, const struct config *server, const char *account,
                       struct fault *fault)
{
    char *key OD_CLEANUP(base_free) = key_of(server, account);
    const char *why = g_hash_table_lookup(visits->failed, key);
    if (why != NULL)
        fault_set(fault, "%s", why);
    return why != NULL;
}

static void remember_failure(const struct visits *visits, const struct config *server, const char *account,
                             const struct fault *fault)
{
    bool of_all = config_is_shared(server) || strcmp(fault->code, MAILBOX_UNREACHABLE) == 0;
    g_hash_table_insert(visits->failed, key_of(server, of_all ? "" : account), base_strdup(fault->text));
}

void visits_forget_failures(struct cmd *cmd)
{
    if (cmd->visits != NULL)
        g_hash_table_remove_all(cmd->visits->failed);
}

/* *ret_again: a reused session was lost. */
static enum search_result visit_once(struct visits *visits, const struct config *server, const char *account,
                                     visit_look *look, void *context, bool *ret_again, struct fault *fault)
{
    bool kept = *ret_again = false;
    sessions_begin(visits->sessions);
    struct mailbox *mailbox = sessions_take(visits->sessions, server, account, SESSIONS_KEPT, 0, &kept, fault);
    if (mailbox == NULL) {
        remember_failure(visits, server, account, fault);
        return SEARCH_TROUBLE;
    }
    *fault = (struct fault){.text = ""};
    enum search_result result = look(context, mailbox, fault);
    *ret_again = result == SEARCH_TROUBLE && kept && !mailbox_connected(mailbox);
    sessions_give_back(visits->sessions, server, account);
    return result;
}

enum search_result visit_mailbox(struct cmd *cmd, const struct config *server, const char *account, visit_look *look,
                                 void *context, struct fault *fault)
{
    struct visits *visits = have_visits(cmd);
    enum search_result result = SEARCH_TROUBLE;
    bool again = true;
    if (has_failed(visits, server, "", fault) || has_failed(visits, server, account, fault))
        return SEARCH_TROUBLE;
    while (again)
        result = visit_once(visits, server, account, look, context, &again, fault);
    return result;
}
