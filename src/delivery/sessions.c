/* SPDX-License-Identifier: ISC */
#include "delivery/sessions.h"

#include <glib.h>
#include <poll.h>
#include <string.h>

#include "base/log.h"
#include "delivery/sessions_limit.h"

#define TRUST_MS INT64_C(3600000)
#define GOODBYE_MS 1000 /* wait for the server to count a closed session less */
#define SHARED_MAX 4    /* sessions of one login for all mailboxes */
#define NOTICE_MS 20    /* between retries: Courier counts a process until it notices its end */
#define NOTICE_ATTEMPTS 10
/* The circuit breaker, if there are several servers. A timeout opens it for UNRESPONSIVE_FACTOR * imap.timeout. The next
 * connection gets imap.timeout / FIRST_SHARE, doubled after each failure; the pause is at least LIMIT_TIMES as long. */
#define UNRESPONSIVE_FACTOR 2
#define FIRST_SHARE 15
#define LIMIT_TIMES 10
#define KEY_SIZE 16
#define NO_ROOM_MS 60000 /* how long making room is not retried, after it did not help */

struct session {
    GList unused; /* link in the pool's list, while free */
    struct server_state *server;
    char *key; /* account, or see find_key() */
    struct mailbox *mailbox;
    uint64_t opened; /* number of the delivery */
    int64_t used_at_ms;
    bool out; /* in use */
};

/* Times by base_now_ms(). */
struct server_state {
    const struct config *config;
    GHashTable *reused; /* sessions, by key */
    int64_t identity_verified_until;
    int64_t no_room_until;
    int64_t opens_until; /* LOGIN_BACKOFF_UNCERTAIN_MS after the last login */
    int64_t unresponsive_until;
    int64_t limit_ms; /* timeout after the breaker was open; 0: none */
};

struct sessions {
    uint64_t delivery;
    size_t max, count;
    GQueue unused; /* the one unused longest is first */
    int64_t shortest_idle_ms;
    struct refusals *refusals;
    GHashTable *failures; /* reasons, by failure_key(); NULL: not kept */
    size_t servers;
    struct server_state server_state[];
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
    struct sessions *sessions = base_alloc(sizeof(*sessions) + servers * sizeof(struct server_state));
    sessions->max = sessions_limit(config, processes);
    sessions->servers = servers;
    sessions->shortest_idle_ms = INT64_MAX;
    sessions->refusals = login_backoff_new();
    for (size_t i = 0; i < servers; i++) {
        const struct config *server = i == 0 ? config : config->servers[i - 1];
        sessions->server_state[i].config = server;
        sessions->server_state[i].reused = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, end_kept);
        sessions->shortest_idle_ms = MIN(sessions->shortest_idle_ms, server->imap.idle_timeout);
    }
    return sessions;
}

void sessions_free(struct sessions **sessions)
{
    if (*sessions == NULL)
        return;
    for (size_t i = 0; i < (*sessions)->servers; i++)
        g_hash_table_unref((*sessions)->server_state[i].reused);
    login_backoff_free(&(*sessions)->refusals);
    g_clear_pointer(&(*sessions)->failures, g_hash_table_unref);
    base_free(sessions);
}

void sessions_keep_failures(struct sessions *sessions)
{
    sessions->failures = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

/* account "": all accounts of the server. */
static char *failure_key(const struct config *config, const char *account)
{
    return base_printf("%s\n%s", config->server, account);
}

static bool has_failed(const struct sessions *sessions, const struct config *config, const char *account,
                       struct error *error)
{
    char *key OD_CLEANUP(base_free) = failure_key(config, account);
    const char *why = g_hash_table_lookup(sessions->failures, key);
    if (why != NULL)
        error_set(error, "%s", why);
    return why != NULL;
}

static void keep_failure(const struct sessions *sessions, const struct config *config, const char *account,
                         const struct error *error)
{
    bool of_all = config_is_shared(config) || strcmp(error->code, MAILBOX_UNREACHABLE) == 0;
    g_hash_table_insert(sessions->failures, failure_key(config, of_all ? "" : account), base_strdup(error->text));
}

static const struct server_state *state_of_server(const struct sessions *sessions, const struct config *config)
{
    size_t i = 0;
    while (i + 1 < sessions->servers && sessions->server_state[i].config != config)
        i++;
    return &sessions->server_state[i];
}

static struct server_state *state_of_account(struct sessions *sessions, const struct config *config)
{
    return &sessions->server_state[state_of_server(sessions, config) - sessions->server_state];
}

void sessions_begin(struct sessions *sessions)
{
    sessions->delivery++;
}

/* If one login opens all mailboxes, each session serves a fixed part of the accounts: servers cache what they
 * opened. */
static const char *find_key(const struct sessions *sessions, const struct server_state *server_state,
                            const char *account, char buffer[KEY_SIZE])
{
    if (!config_is_shared(server_state->config))
        return account;
    g_snprintf(buffer, KEY_SIZE, "%u", g_str_hash(account) % (guint)MIN(sessions->max, SHARED_MAX));
    return buffer;
}

static struct session *find_session(const struct sessions *sessions, const struct config *config, const char *account)
{
    char buffer[KEY_SIZE];
    const struct server_state *server_state = state_of_server(sessions, config);
    return g_hash_table_lookup(server_state->reused, find_key(sessions, server_state, account, buffer));
}

static void add_session(struct sessions *sessions, struct server_state *server_state, const char *account,
                        struct mailbox *mailbox)
{
    char buffer[KEY_SIZE];
    struct session *session = base_alloc(sizeof(*session));
    session->unused.data = session;
    session->server = server_state;
    session->key = base_strdup(find_key(sessions, server_state, account, buffer));
    session->mailbox = mailbox;
    session->opened = sessions->delivery;
    session->out = true;
    g_hash_table_insert(server_state->reused, session->key, session);
    sessions->count++;
}

static void end_one(struct sessions *sessions, struct session *session)
{
    if (!session->out)
        g_queue_unlink(&sessions->unused, &session->unused);
    sessions->count--;
    g_hash_table_remove(session->server->reused, session->key);
}

/* NULL: of any server. */
static struct session *longest_unused(const struct sessions *sessions, const struct server_state *server_state)
{
    const GList *at = sessions->unused.head;
    while (at != NULL && server_state != NULL && ((const struct session *)at->data)->server != server_state)
        at = at->next;
    return at != NULL ? at->data : NULL;
}

static bool has_room(const struct sessions *sessions)
{
    return sessions->count < sessions->max || sessions->unused.length > 0;
}

bool sessions_available(const struct sessions *sessions, const struct config *config, const char *account)
{
    const struct session *session = find_session(sessions, config, account);
    return session != NULL ? !session->out : has_room(sessions);
}

bool sessions_is_open(const struct sessions *sessions, const struct config *config, const char *account)
{
    const struct session *session = find_session(sessions, config, account);
    return session != NULL && !session->out && mailbox_connected(session->mailbox);
}

static bool is_usable(const struct sessions *sessions, const struct session *session, enum sessions_age age)
{
    bool is_idle = base_now_ms() - session->used_at_ms >= session->server->config->imap.idle_timeout;
    bool will_do = session->opened == sessions->delivery || (age == SESSIONS_REUSED && !is_idle);
    return will_do && mailbox_connected(session->mailbox);
}

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
    struct session *oldest;
    for (; count > 0 && (oldest = longest_unused(sessions, server_state)) != NULL; count--) {
        int64_t left = until - base_now_ms();
        mailbox_close_wait(&oldest->mailbox, left > 0 ? left : 0);
        end_one(sessions, oldest);
    }
}

static bool is_at_server_limit(const struct error *error)
{
    return strcmp(error->code, MAILBOX_TOO_MANY_SESSIONS) == 0 || strcmp(error->code, MAILBOX_LIMIT) == 0;
}

static bool lacks_files(const struct error *error)
{
    return strcmp(error->code, MAILBOX_NO_FILES) == 0;
}

bool sessions_none_free(const struct sessions *sessions, const struct error *error)
{
    return sessions->count > sessions->unused.length && (is_at_server_limit(error) || lacks_files(error));
}

/* Those that have ended may still count with the server. */
static struct mailbox *open_once_noticed(const struct config *config, const char *account, int64_t limit_ms,
                                         struct error *error)
{
    struct mailbox *mailbox = mailbox_open(config, account, limit_ms, error);
    for (int tries = 0; mailbox == NULL && is_at_server_limit(error) && tries < NOTICE_ATTEMPTS; tries++) {
        (void)poll(NULL, 0, NOTICE_MS);
        mailbox = mailbox_open(config, account, limit_ms, error);
    }
    return mailbox;
}

/* While too many sessions may be the reason of a failure, closes half of the unused ones and tries again: of this server
 * at its limit, of all if this process lacks files. */
static struct mailbox *open_in_room(struct sessions *sessions, struct server_state *server_state, const char *account,
                                    int64_t limit_ms, struct error *error)
{
    struct mailbox *mailbox = mailbox_open(server_state->config, account, limit_ms, error);
    while (mailbox == NULL && (is_at_server_limit(error) || lacks_files(error))) {
        const struct server_state *of = lacks_files(error) ? NULL : server_state;
        size_t unused = count_unused(sessions, of), closed = unused - unused / 2;
        if (unused == 0 || (of != NULL && base_now_ms() < server_state->no_room_until))
            return NULL;
        log_info("%s: %zu of %zu unused sessions are closed to make room", error->text, closed, unused);
        end_unused(sessions, of, closed);
        mailbox = open_once_noticed(server_state->config, account, limit_ms, error);
        if (of != NULL && mailbox == NULL && closed == unused && is_at_server_limit(error))
            server_state->no_room_until = base_now_ms() + NO_ROOM_MS;
    }
    return mailbox;
}

/* Opens the circuit breaker; not after a refusal, which may concern one account only. */
static void set_unresponsive(struct server_state *server_state)
{
    int64_t timeout = server_state->config->imap.timeout;
    server_state->unresponsive_until = base_now_ms() +
                                       MAX(UNRESPONSIVE_FACTOR * timeout, LIMIT_TIMES * server_state->limit_ms);
    server_state->limit_ms = server_state->limit_ms == 0 ? MAX(timeout / FIRST_SHARE, 1)
                                                         : MIN(2 * server_state->limit_ms, timeout);
}

bool sessions_is_unresponsive(const struct sessions *sessions, const struct config *config, struct error *error)
{
    int64_t left = state_of_server(sessions, config)->unresponsive_until - base_now_ms();
    if (left <= 0)
        return false;
    error_set(error, "IMAP server %s timed out; not retried for %lld s",
              *config->server != '\0' ? config->server : config->imap.host, (long long)(left + 999) / 1000);
    return true;
}

static struct mailbox *open_if_responsive(struct sessions *sessions, const struct config *config, const char *account,
                                          int64_t limit_ms, struct error *error)
{
    struct server_state *server_state = state_of_account(sessions, config);
    int64_t started = base_now_ms();
    if (sessions_is_unresponsive(sessions, config, error))
        return NULL;
    if (server_state->limit_ms != 0 && (limit_ms == 0 || limit_ms > server_state->limit_ms))
        limit_ms = server_state->limit_ms;
    struct mailbox *mailbox = open_in_room(sessions, server_state, account, limit_ms, error);
    bool unresponsive = mailbox == NULL && base_now_ms() - started >= config->imap.timeout / FIRST_SHARE &&
                        (strcmp(error->code, MAILBOX_TIMED_OUT) == 0 || strcmp(error->code, MAILBOX_UNREACHABLE) == 0);
    if (mailbox != NULL)
        server_state->limit_ms = 0;
    else if (unresponsive && sessions->servers > 1)
        set_unresponsive(server_state);
    return mailbox;
}

/* A failure that sessions in use may have caused is no refusal. */
static struct mailbox *open_unless_refused(struct sessions *sessions, const struct config *config, const char *account,
                                           int64_t limit_ms, struct error *error)
{
    struct server_state *server_state = state_of_account(sessions, config);
    if (login_backoff_active(sessions->refusals, config, account, error))
        return NULL;
    struct mailbox *mailbox = open_if_responsive(sessions, config, account, limit_ms, error);
    if (mailbox != NULL) {
        server_state->opens_until = base_now_ms() + LOGIN_BACKOFF_UNCERTAIN_MS;
        login_backoff_succeeded(sessions->refusals, config, account);
    } else if (!sessions_none_free(sessions, error)) {
        login_backoff_failed(sessions->refusals, config, account, base_now_ms() < server_state->opens_until, error);
    }
    return mailbox;
}

static struct session *open_session(struct sessions *sessions, const struct config *config, const char *account,
                                    int64_t limit_ms, struct error *error)
{
    struct server_state *server_state = state_of_account(sessions, config);
    struct session *oldest;
    bool keep = sessions->failures != NULL;
    if (keep && (has_failed(sessions, config, "", error) || has_failed(sessions, config, account, error)))
        return NULL;
    struct mailbox *mailbox = open_unless_refused(sessions, config, account, limit_ms, error);
    if (mailbox == NULL && keep)
        keep_failure(sessions, config, account, error);
    if (mailbox == NULL)
        return NULL;
    while (sessions->count >= sessions->max && (oldest = longest_unused(sessions, NULL)) != NULL)
        end_one(sessions, oldest);
    add_session(sessions, server_state, account, mailbox);
    return find_session(sessions, config, account);
}

struct mailbox *sessions_acquire(struct sessions *sessions, const struct config *config, const char *account,
                                 enum sessions_age age, int64_t limit_ms, bool *ret_reused, struct error *error)
{
    struct session *session = find_session(sessions, config, account);
    if (session != NULL ? session->out : !has_room(sessions)) {
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
        if (it->used_at_ms + sessions->shortest_idle_ms >= next)
            break; /* no later one is due earlier */
        if (it->used_at_ms + it->server->config->imap.idle_timeout >= next)
            continue;
        first = it;
        next = it->used_at_ms + it->server->config->imap.idle_timeout;
    }
    if (first == NULL || base_now_ms() < next)
        return next;
    end_one(sessions, first);
    return base_now_ms(); /* there may be another */
}

bool sessions_identity_verified(const struct sessions *sessions, const struct config *config)
{
    return base_now_ms() < state_of_server(sessions, config)->identity_verified_until;
}

void sessions_set_identity_verified(struct sessions *sessions, const struct config *config)
{
    state_of_account(sessions, config)->identity_verified_until = base_now_ms() + TRUST_MS;
}

struct refusals *sessions_login_backoff(struct sessions *sessions)
{
    return sessions->refusals;
}
