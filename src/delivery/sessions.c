/* SPDX-License-Identifier: ISC */
#include "delivery/sessions.h"

#include <glib.h>
#include <string.h>

#include "base/log.h"

#define GOODBYE_MS 1000  /* wait for the server to count a closed session less */
#define SHARED_MAX 4     /* sessions of one login for all mailboxes */
#define NO_ROOM_MS 60000 /* how long making room is not retried, after it did not help */

struct session {
    GList unused; /* link in the pool's list, while free */
    struct server_state *server;
    char *key; /* session_key() */
    struct mailbox *mailbox;
    uint64_t opened; /* number of the delivery */
    int64_t used_at_ms;
    bool out; /* in use */
};

struct server_state {
    struct breaker breaker; /* has the server's configuration, too */
    GHashTable *by_key;     /* sessions, by key */
    int64_t no_room_until;  /* base_now_ms() */
};

struct sessions {
    uint64_t delivery;
    size_t max, count;
    GQueue unused; /* the one unused longest is first */
    struct refusals *refusals;
    size_t servers;
    struct server_state *server_state;
};

static void end_kept(void *item)
{
    struct session *session = item;
    mailbox_close(&session->mailbox);
    base_free(&session->key);
    base_free(&session);
}

struct sessions *sessions_new(const struct config *config, size_t processes)
{
    size_t servers = config_server_count(config) + 1;
    struct sessions *sessions = base_alloc(sizeof(*sessions));
    sessions->server_state = base_alloc(servers * sizeof(*sessions->server_state));
    sessions->max = sessions_limit(config, processes);
    sessions->servers = servers;
    sessions->refusals = login_backoff_new();
    for (size_t i = 0; i < servers; i++) {
        const struct config *server = i == 0 ? config : config->servers[i - 1];
        sessions->server_state[i] = (struct server_state){
            .breaker = {.config = server, .refusals = sessions->refusals, .alone = servers == 1},
            .by_key = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, end_kept),
        };
    }
    return sessions;
}

void sessions_free(struct sessions **sessions)
{
    if (*sessions == NULL)
        return;
    for (size_t i = 0; i < (*sessions)->servers; i++) {
        g_hash_table_unref((*sessions)->server_state[i].by_key);
        breaker_clear(&(*sessions)->server_state[i].breaker);
    }
    login_backoff_free(&(*sessions)->refusals);
    base_free(&(*sessions)->server_state);
    base_free(sessions);
}

void sessions_keep_failures(struct sessions *sessions)
{
    for (size_t i = 0; i < sessions->servers; i++)
        breaker_keep_failures(&sessions->server_state[i].breaker);
}

static struct server_state *state_of_server(const struct sessions *sessions, const struct config *config)
{
    size_t i = 0;
    while (i + 1 < sessions->servers && sessions->server_state[i].breaker.config != config)
        i++;
    return &sessions->server_state[i];
}

struct breaker *sessions_breaker(struct sessions *sessions, const struct config *config)
{
    return &state_of_server(sessions, config)->breaker;
}

void sessions_begin(struct sessions *sessions)
{
    sessions->delivery++;
}

/* If one login opens all mailboxes, each session serves a fixed part of the accounts: servers cache what they opened.
 * Otherwise the key is the account. */
static char *session_key(const struct sessions *sessions, const struct config *config, const char *account)
{
    if (!config_is_shared(config))
        return base_strdup(account);
    return base_printf("%u", g_str_hash(account) % (guint)MIN(sessions->max, SHARED_MAX));
}

static struct session *find_session(const struct sessions *sessions, const struct config *config, const char *account)
{
    const struct server_state *server_state = state_of_server(sessions, config);
    char *key OD_CLEANUP(base_free) = session_key(sessions, server_state->breaker.config, account);
    return g_hash_table_lookup(server_state->by_key, key);
}

static struct session *add_session(struct sessions *sessions, struct server_state *server_state, const char *account,
                                   struct mailbox *mailbox)
{
    struct session *session = base_alloc(sizeof(*session));
    session->unused.data = session;
    session->server = server_state;
    session->key = session_key(sessions, server_state->breaker.config, account);
    session->mailbox = mailbox;
    session->opened = sessions->delivery;
    session->out = true;
    g_hash_table_insert(server_state->by_key, session->key, session);
    sessions->count++;
    return session;
}

static void end_one(struct sessions *sessions, struct session *session)
{
    if (!session->out)
        g_queue_unlink(&sessions->unused, &session->unused);
    sessions->count--;
    g_hash_table_remove(session->server->by_key, session->key);
}

bool sessions_available(const struct sessions *sessions, const struct config *config, const char *account)
{
    const struct session *session = find_session(sessions, config, account);
    return session != NULL ? !session->out : sessions->count < sessions->max || sessions->unused.length > 0;
}

bool sessions_is_open(const struct sessions *sessions, const struct config *config, const char *account)
{
    const struct session *session = find_session(sessions, config, account);
    return session != NULL && !session->out && mailbox_connected(session->mailbox);
}

static bool is_usable(const struct sessions *sessions, const struct session *session, enum sessions_age age)
{
    bool is_idle = base_now_ms() - session->used_at_ms >= session->server->breaker.config->imap.idle_timeout;
    bool will_do = session->opened == sessions->delivery || (age == SESSIONS_REUSED && !is_idle);
    return will_do && mailbox_connected(session->mailbox);
}

/* server_state: NULL: of any server. */
static size_t count_unused(const struct sessions *sessions, const struct server_state *server_state)
{
    size_t count = 0;
    for (const GList *at = sessions->unused.head; at != NULL; at = at->next)
        count += server_state == NULL || ((const struct session *)at->data)->server == server_state;
    return count;
}

/* Closes those unused longest. Waits until the server, if not NULL, has noticed. */
static void end_unused(struct sessions *sessions, const struct server_state *server_state, size_t count)
{
    int64_t until = base_now_ms() + (server_state != NULL ? GOODBYE_MS : 0);
    for (GList *at = sessions->unused.head, *next; at != NULL && count > 0; at = next) {
        struct session *oldest = at->data;
        next = at->next;
        if (server_state != NULL && oldest->server != server_state)
            continue;
        int64_t left = until - base_now_ms();
        mailbox_close_wait(&oldest->mailbox, left > 0 ? left : 0);
        end_one(sessions, oldest);
        count--;
    }
}

static bool lacks_files(const struct error *error)
{
    return strcmp(error->code, MAILBOX_NO_FILES) == 0;
}

bool sessions_none_free(const struct sessions *sessions, const struct error *error)
{
    return sessions->count > sessions->unused.length && (mailbox_lacks_room(error) || lacks_files(error));
}

/* While too many sessions may be the reason of a failure, closes half of the unused ones and tries again: of this server
 * at its limit, of all if this process lacks files. */
static struct mailbox *open_in_room(struct sessions *sessions, struct server_state *server_state, const char *account,
                                    int64_t limit_ms, struct error *error)
{
    char text[sizeof(error->text)];
    struct mailbox *mailbox = mailbox_open(server_state->breaker.config, account, limit_ms, error);
    while (mailbox == NULL && (mailbox_lacks_room(error) || lacks_files(error))) {
        const struct server_state *of = lacks_files(error) ? NULL : server_state;
        size_t unused = count_unused(sessions, of), closed = unused - unused / 2;
        if (unused == 0 || (of != NULL && base_now_ms() < server_state->no_room_until))
            return NULL;
        log_info("%s: %zu of %zu unused sessions are closed to make room",
                 log_escape_text(error->text, text, sizeof(text)), closed, unused);
        end_unused(sessions, of, closed);
        mailbox = mailbox_open_again(server_state->breaker.config, account, limit_ms, error);
        if (of != NULL && mailbox == NULL && closed == unused && mailbox_lacks_room(error))
            server_state->no_room_until = base_now_ms() + NO_ROOM_MS;
    }
    return mailbox;
}

static struct session *open_session(struct sessions *sessions, const struct config *config, const char *account,
                                    int64_t limit_ms, struct error *error)
{
    struct server_state *server_state = state_of_server(sessions, config);
    struct session *oldest;
    if (!breaker_admits(&server_state->breaker, account, &limit_ms, error))
        return NULL;
    struct mailbox *mailbox = open_in_room(sessions, server_state, account, limit_ms, error);
    if (mailbox == NULL) {
        breaker_failed(&server_state->breaker, account, sessions_none_free(sessions, error), error);
        return NULL;
    }
    breaker_succeeded(&server_state->breaker, account);
    while (sessions->count >= sessions->max && (oldest = g_queue_peek_head(&sessions->unused)) != NULL)
        end_one(sessions, oldest);
    return add_session(sessions, server_state, account, mailbox);
}

struct mailbox *sessions_acquire(struct sessions *sessions, const struct config *config, const char *account,
                                 enum sessions_age age, int64_t limit_ms, bool *ret_reused, struct error *error)
{
    struct session *session = find_session(sessions, config, account);
    if (!sessions_available(sessions, config, account)) {
        error_set(error, "no more than %zu IMAP sessions can be used at once (imap.sessions, open files)",
                  sessions->max);
        return NULL;
    }
    if (session != NULL && is_usable(sessions, session, age)) {
        g_queue_unlink(&sessions->unused, &session->unused);
        session->out = true;
    } else {
        if (session != NULL)
            end_one(sessions, session);
        session = open_session(sessions, config, account, limit_ms, error);
        if (session == NULL)
            return NULL;
    }
    mailbox_set_account(session->mailbox, account);
    *ret_reused = session->opened != sessions->delivery;
    return session->mailbox;
}

void sessions_release(struct sessions *sessions, const struct config *config, const char *account)
{
    struct session *session = find_session(sessions, config, account);
    if (session == NULL || !session->out)
        return;
    session->used_at_ms = base_now_ms();
    session->out = false;
    g_queue_push_tail_link(&sessions->unused, &session->unused);
    if (!mailbox_connected(session->mailbox))
        end_one(sessions, session);
}

void sessions_discard(struct sessions *sessions, const struct config *config, const char *account)
{
    struct session *session = find_session(sessions, config, account);
    if (session != NULL)
        end_one(sessions, session);
}

int64_t sessions_expire(struct sessions *sessions)
{
    struct session *first = NULL;
    int64_t next = INT64_MAX;
    for (const GList *at = sessions->unused.head; at != NULL; at = at->next) {
        struct session *it = at->data;
        int64_t due = it->used_at_ms + it->server->breaker.config->imap.idle_timeout;
        if (due >= next)
            continue;
        first = it;
        next = due;
    }
    if (first == NULL || base_now_ms() < next)
        return next;
    end_one(sessions, first);
    return base_now_ms(); /* there may be another */
}

struct refusals *sessions_login_backoff(struct sessions *sessions)
{
    return sessions->refusals;
}
