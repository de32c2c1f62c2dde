/* SPDX-License-Identifier: ISC */
#include "delivery/sessions.h"

#include <glib.h>
#include <poll.h>
#include <string.h>

#include "base/log.h"
#include "delivery/sessions_limit.h"

#define TRUST_MS INT64_C(3600000)
#define GOODBYE_MS 1000 /* wait for the server to count a closed session less */
#define SHARED_MOST 4   /* sessions of one login for all mailboxes */
#define NOTICE_MS 20    /* between retries: Courier counts a process until it notices its end */
#define NOTICE_TRIES 10
/* The circuit breaker, if there are several servers. A timeout opens it for QUIET_TIMES * imap.timeout. The next
 * connection gets imap.timeout / FIRST_SHARE, doubled after each failure; the pause is at least LIMIT_TIMES as long. */
#define QUIET_TIMES 2
#define FIRST_SHARE 15
#define LIMIT_TIMES 10
#define MOST_MS 600000 /* how long a server's limit is assumed */
#define KEY_SIZE 16
#define NO_ROOM_MS 60000 /* how long making room is not retried, after it did not help */

struct session {
    GList unused; /* link in the pool's list, while free */
    struct known *server;
    char *key; /* account, or see find_key() */
    struct mailbox *mailbox;
    uint64_t opened; /* number of the delivery */
    int64_t used_at_ms;
    bool out; /* in use */
};

/* Times by base_now_ms(). */
struct known {
    const struct config *config;
    GHashTable *kept; /* sessions, by key */
    size_t most;      /* sessions until most_until, as the server refused more */
    int64_t most_until;
    int64_t trusted_until;
    int64_t opens_until; /* REFUSALS_DOUBT_MS after the last login */
    int64_t no_room_until;
    int64_t quiet_until;
    int64_t limit_ms; /* timeout after the breaker was open; 0: none */
};

struct sessions {
    uint64_t delivery;
    size_t most, count;
    GQueue unused; /* the one unused longest is first */
    int64_t shortest_idle_ms;
    struct refusals *refusals;
    size_t servers;
    struct known known[];
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
    struct sessions *sessions = base_alloc(sizeof(*sessions) + servers * sizeof(struct known));
    sessions->most = sessions_limit(config, processes);
    sessions->servers = servers;
    sessions->shortest_idle_ms = INT64_MAX;
    sessions->refusals = refusals_new();
    for (size_t i = 0; i < servers; i++) {
        const struct config *server = i == 0 ? config : config->servers[i - 1];
        sessions->known[i].config = server;
        sessions->known[i].kept = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, end_kept);
        sessions->shortest_idle_ms = MIN(sessions->shortest_idle_ms, server->imap.idle);
    }
    return sessions;
}

void sessions_free(struct sessions **sessions)
{
    if (*sessions == NULL)
        return;
    for (size_t i = 0; i < (*sessions)->servers; i++)
        g_hash_table_unref((*sessions)->known[i].kept);
    refusals_free(&(*sessions)->refusals);
    base_free(sessions);
}

static const struct known *known_server(const struct sessions *sessions, const struct config *config)
{
    size_t i = 0;
    while (i + 1 < sessions->servers && sessions->known[i].config != config)
        i++;
    return &sessions->known[i];
}

static struct known *known_of(struct sessions *sessions, const struct config *config)
{
    return &sessions->known[known_server(sessions, config) - sessions->known];
}

void sessions_begin(struct sessions *sessions)
{
    sessions->delivery++;
}

/* If one login opens all mailboxes, each session serves a fixed part of the accounts: servers cache what they
 * opened. */
static const char *find_key(const struct sessions *sessions, const struct known *known, const char *account,
                            char buffer[KEY_SIZE])
{
    if (!config_is_shared(known->config))
        return account;
    g_snprintf(buffer, KEY_SIZE, "%u", g_str_hash(account) % (guint)MIN(sessions->most, SHARED_MOST));
    return buffer;
}

static struct session *find_session(const struct sessions *sessions, const struct config *config, const char *account)
{
    char buffer[KEY_SIZE];
    const struct known *known = known_server(sessions, config);
    return g_hash_table_lookup(known->kept, find_key(sessions, known, account, buffer));
}

static void add_session(struct sessions *sessions, struct known *known, const char *account, struct mailbox *mailbox)
{
    char buffer[KEY_SIZE];
    struct session *session = base_alloc(sizeof(*session));
    session->unused.data = session;
    session->server = known;
    session->key = base_strdup(find_key(sessions, known, account, buffer));
    session->mailbox = mailbox;
    session->opened = sessions->delivery;
    session->out = true;
    g_hash_table_insert(known->kept, session->key, session);
    sessions->count++;
}

static void end_one(struct sessions *sessions, struct session *session)
{
    if (!session->out)
        g_queue_unlink(&sessions->unused, &session->unused);
    sessions->count--;
    g_hash_table_remove(session->server->kept, session->key);
}

/* NULL: of any server. */
static struct session *longest_unused(const struct sessions *sessions, const struct known *known)
{
    const GList *at = sessions->unused.head;
    while (at != NULL && known != NULL && ((const struct session *)at->data)->server != known)
        at = at->next;
    return at != NULL ? at->data : NULL;
}

static bool has_room(const struct sessions *sessions)
{
    return sessions->count < sessions->most || sessions->unused.length > 0;
}

bool sessions_available(const struct sessions *sessions, const struct config *config, const char *account)
{
    const struct session *session = find_session(sessions, config, account);
    return session != NULL ? !session->out : has_room(sessions);
}

bool sessions_open(const struct sessions *sessions, const struct config *config, const char *account)
{
    const struct session *session = find_session(sessions, config, account);
    return session != NULL && !session->out && mailbox_connected(session->mailbox);
}

static bool is_usable(const struct sessions *sessions, const struct session *session, enum sessions_age age)
{
    bool is_idle = base_now_ms() - session->used_at_ms >= session->server->config->imap.idle;
    bool will_do = session->opened == sessions->delivery || (age == SESSIONS_KEPT && !is_idle);
    return will_do && mailbox_connected(session->mailbox);
}

static size_t count_unused(const struct sessions *sessions, const struct known *known)
{
    size_t count = 0;
    for (const GList *at = sessions->unused.head; at != NULL; at = at->next)
        count += known == NULL || ((const struct session *)at->data)->server == known;
    return count;
}

/* Closes those unused longest. Waits until the server, if not NULL, has noticed. */
static void end_unused(struct sessions *sessions, const struct known *known, size_t count)
{
    int64_t until = base_now_ms() + (known != NULL ? GOODBYE_MS : 0);
    struct session *oldest;
    for (; count > 0 && (oldest = longest_unused(sessions, known)) != NULL; count--) {
        int64_t left = until - base_now_ms();
        mailbox_close_wait(&oldest->mailbox, left > 0 ? left : 0);
        end_one(sessions, oldest);
    }
}

static bool is_crowded(const struct fault *fault)
{
    return strcmp(fault->code, MAILBOX_CROWDED) == 0 || strcmp(fault->code, MAILBOX_LIMIT) == 0;
}

static bool lacks_files(const struct fault *fault)
{
    return strcmp(fault->code, MAILBOX_NO_FILES) == 0;
}

bool sessions_in_the_way(const struct sessions *sessions, const struct fault *fault)
{
    return sessions->count > sessions->unused.length && (is_crowded(fault) || lacks_files(fault));
}

static size_t half_of(size_t unused)
{
    return unused > 1 ? unused / 2 : 1;
}

static struct mailbox *open_with_files(struct sessions *sessions, const struct config *config, const char *account,
                                       int64_t limit_ms, struct fault *fault)
{
    struct mailbox *mailbox = mailbox_open(config, account, limit_ms, fault);
    while (mailbox == NULL && lacks_files(fault) && sessions->unused.length > 0) {
        size_t unused = sessions->unused.length, closed = half_of(unused);
        log_info("%s: %zu of %zu unused ones are closed", fault->text, closed, unused);
        end_unused(sessions, NULL, closed);
        mailbox = mailbox_open(config, account, limit_ms, fault);
    }
    return mailbox;
}

static struct mailbox *open_in_room(struct sessions *sessions, const struct config *config, const char *account,
                                    int64_t limit_ms, struct fault *fault)
{
    struct mailbox *mailbox = open_with_files(sessions, config, account, limit_ms, fault);
    for (int tries = 0; mailbox == NULL && is_crowded(fault) && tries < NOTICE_TRIES; tries++) {
        (void)poll(NULL, 0, NOTICE_MS);
        mailbox = open_with_files(sessions, config, account, limit_ms, fault);
    }
    return mailbox;
}

/* Makes room if the server may have refused because of too many sessions. If that helps, assumes its limit. */
static struct mailbox *open_kept(struct sessions *sessions, struct known *known, const char *account, int64_t limit_ms,
                                 struct fault *fault)
{
    const size_t before = g_hash_table_size(known->kept);
    const int64_t now = base_now_ms();
    const bool is_full = now < known->most_until && now >= known->no_room_until && before >= known->most;
    if (is_full)
        end_unused(sessions, known, 1);
    struct mailbox *mailbox = is_full ? open_in_room(sessions, known->config, account, limit_ms, fault)
                                      : open_with_files(sessions, known->config, account, limit_ms, fault);
    size_t unused;
    bool tried = false;
    while (mailbox == NULL && is_crowded(fault) && (unused = count_unused(sessions, known)) > 0) {
        if (base_now_ms() < known->no_room_until)
            return NULL;
        size_t closed = half_of(unused);
        log_info("the IMAP server refused a session: %zu of %zu unused ones are closed to make room for another",
                 closed, unused);
        end_unused(sessions, known, closed);
        mailbox = open_in_room(sessions, known->config, account, limit_ms, fault);
        tried = true;
    }
    if (mailbox == NULL && tried)
        known->no_room_until = base_now_ms() + NO_ROOM_MS;
    if (mailbox != NULL && tried) {
        known->most = before;
        known->most_until = base_now_ms() + MOST_MS;
    }
    return mailbox;
}

/* Opens the circuit breaker; not after a refusal, which may concern one account only. */
static void become_quiet(struct known *known)
{
    int64_t timeout = known->config->imap.timeout;
    known->quiet_until = base_now_ms() + MAX(QUIET_TIMES * timeout, LIMIT_TIMES * known->limit_ms);
    known->limit_ms = known->limit_ms == 0 ? MAX(timeout / FIRST_SHARE, 1) : MIN(2 * known->limit_ms, timeout);
}

bool sessions_quiet(const struct sessions *sessions, const struct config *config, struct fault *fault)
{
    int64_t left = known_server(sessions, config)->quiet_until - base_now_ms();
    if (left <= 0)
        return false;
    fault_set(fault, "IMAP server %s was silent, and is not asked again for %lld s",
              *config->server != '\0' ? config->server : config->imap.host, (long long)(left + 999) / 1000);
    return true;
}

static struct mailbox *open_unless_quiet(struct sessions *sessions, const struct config *config, const char *account,
                                         int64_t limit_ms, struct fault *fault)
{
    struct known *known = known_of(sessions, config);
    int64_t started = base_now_ms();
    if (sessions_quiet(sessions, config, fault))
        return NULL;
    if (known->limit_ms != 0 && (limit_ms == 0 || limit_ms > known->limit_ms))
        limit_ms = known->limit_ms;
    struct mailbox *mailbox = open_kept(sessions, known, account, limit_ms, fault);
    bool silent = mailbox == NULL && base_now_ms() - started >= config->imap.timeout / FIRST_SHARE &&
                  (strcmp(fault->code, MAILBOX_LATE) == 0 || strcmp(fault->code, MAILBOX_UNREACHABLE) == 0);
    if (mailbox != NULL)
        known->limit_ms = 0;
    else if (silent && sessions->servers > 1)
        become_quiet(known);
    return mailbox;
}

/* A failure that sessions in use may have caused is no refusal. */
static struct mailbox *open_unless_refused(struct sessions *sessions, const struct config *config, const char *account,
                                           int64_t limit_ms, struct fault *fault)
{
    struct known *known = known_of(sessions, config);
    if (refusals_hold(sessions->refusals, config, account, fault))
        return NULL;
    struct mailbox *mailbox = open_unless_quiet(sessions, config, account, limit_ms, fault);
    if (mailbox != NULL) {
        known->opens_until = base_now_ms() + REFUSALS_DOUBT_MS;
        refusals_opened(sessions->refusals, config, account);
    } else if (!sessions_in_the_way(sessions, fault)) {
        refusals_failed(sessions->refusals, config, account, base_now_ms() < known->opens_until, fault);
    }
    return mailbox;
}

static struct session *open_session(struct sessions *sessions, const struct config *config, const char *account,
                                    int64_t limit_ms, struct fault *fault)
{
    struct known *known = known_of(sessions, config);
    struct session *oldest;
    struct mailbox *mailbox = open_unless_refused(sessions, config, account, limit_ms, fault);
    if (mailbox == NULL)
        return NULL;
    while (sessions->count >= sessions->most && (oldest = longest_unused(sessions, NULL)) != NULL)
        end_one(sessions, oldest);
    add_session(sessions, known, account, mailbox);
    return find_session(sessions, config, account);
}

struct mailbox *sessions_take(struct sessions *sessions, const struct config *config, const char *account,
                              enum sessions_age age, int64_t limit_ms, bool *ret_kept, struct fault *fault)
{
    struct session *session = find_session(sessions, config, account);
    if (session != NULL ? session->out : !has_room(sessions)) {
        fault_set(fault, "no more than %zu IMAP sessions can be used at once (imap.sessions, open files)",
                  sessions->most);
        return NULL;
    }
    if (session != NULL && is_usable(sessions, session, age)) {
        g_queue_unlink(&sessions->unused, &session->unused);
        session->out = true;
    } else {
        if (session != NULL)
            end_one(sessions, session);
        session = open_session(sessions, config, account, limit_ms, fault);
        if (session == NULL)
            return NULL;
    }
    mailbox_set_account(session->mailbox, account);
    *ret_kept = session->opened != sessions->delivery;
    return session->mailbox;
}

void sessions_give_back(struct sessions *sessions, const struct config *config, const char *account)
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

void sessions_drop(struct sessions *sessions, const struct config *config, const char *account)
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
        if (it->used_at_ms + it->server->config->imap.idle >= next)
            continue;
        first = it;
        next = it->used_at_ms + it->server->config->imap.idle;
    }
    if (first == NULL || base_now_ms() < next)
        return next;
    end_one(sessions, first);
    return base_now_ms(); /* there may be another */
}

bool sessions_trusted(const struct sessions *sessions, const struct config *config)
{
    return base_now_ms() < known_server(sessions, config)->trusted_until;
}

void sessions_trust(struct sessions *sessions, const struct config *config)
{
    known_of(sessions, config)->trusted_until = base_now_ms() + TRUST_MS;
}

struct refusals *sessions_refusals(struct sessions *sessions)
{
    return sessions->refusals;
}
