/* SPDX-License-Identifier: ISC
 *
 * Sessions are found by server and account; the least recently used one makes room. */
#include "delivery/sessions.h"

#include <glib.h>
#include <poll.h>
#include <string.h>

#include "base/log.h"

#define TRUST_MS INT64_C(3600000)
#define GOODBYE_MS 1000 /* for the server to count those less that make room for another */
#define SHARED_MOST 4   /* sessions of one login for everybody: several mailboxes are filled at the same time */
#define NOTICE_MS 20    /* between tries, for the server to notice the end of their processes too, as Courier must, */
#define NOTICE_TRIES 10 /* and how many */
#define QUIET_TIMES 2   /* of imap.timeout: nobody waits for a server that was silent, where there are others; ... */
#define FIRST_SHARE \
    15 /* ... then this part of it at first, twice as much each time, up to all of it, so that a slow one is
                         * reached in the end; ... */
#define LIMIT_TIMES 10   /* ... and the pause is at least so many times as long */
#define NO_ROOM_MS 60000 /* that long, it is not tried again to make room after that did not help */

struct session {
    const struct config *config; /* with its server */
    char *account;               /* or the first of those it serves; NULL: this slot is free */
    struct mailbox *mailbox;
    uint64_t used;      /* value of the clock at the last use */
    uint64_t opened;    /* number of the delivery */
    int64_t used_at_ms; /* base_now_ms() */
    bool out;           /* given out */
};

/* What is known of a server; the times are of base_now_ms(). */
struct known {
    const struct config *config; /* with this server */
    int64_t trusted_until;
    int64_t no_room_until;
    int64_t quiet_until;
    int64_t limit_ms; /* for the next session, after it was silent; 0: none of its own */
};

struct sessions {
    const struct config *config;
    uint64_t clock, delivery;
    size_t most;
    size_t servers;
    struct known *known; /* [servers] */
    struct session kept[];
};

struct sessions *sessions_new(const struct config *config, size_t processes)
{
    size_t share = (size_t)config->imap.sessions / processes, most = share > 0 ? share : 1;
    struct sessions *sessions = base_alloc(sizeof(*sessions) + most * sizeof(struct session));
    sessions->most = most;
    sessions->config = config;
    sessions->servers = config_server_count(config) + 1;
    sessions->known = base_alloc(sessions->servers * sizeof(*sessions->known));
    for (size_t i = 0; i < sessions->servers; i++)
        sessions->known[i].config = i == 0 ? config : config->servers[i - 1];
    return sessions;
}

static struct known *known_server(const struct sessions *sessions, const struct config *config)
{
    size_t i = 0;
    while (i + 1 < sessions->servers && sessions->known[i].config != config)
        i++;
    return &sessions->known[i];
}

static void end_kept(struct session *session)
{
    mailbox_close(&session->mailbox);
    base_free(&session->account);
    *session = (struct session){.used = 0};
}

void sessions_free(struct sessions **sessions)
{
    if (*sessions == NULL)
        return;
    for (size_t i = 0; i < (*sessions)->most; i++)
        end_kept(&(*sessions)->kept[i]);
    base_free(&(*sessions)->known);
    base_free(sessions);
}

void sessions_begin(struct sessions *sessions)
{
    sessions->delivery++;
}

/* Where one login opens everybody's mailboxes, each session serves some of the accounts, always the same ones: servers
 * remember what they have opened. */
static bool is_served(const struct sessions *sessions, const struct session *session, const struct config *config,
                      const char *account)
{
    if (session->account == NULL || session->config != config)
        return false;
    if (!config_is_shared(config))
        return strcmp(session->account, account) == 0;
    guint count = sessions->most < SHARED_MOST ? (guint)sessions->most : SHARED_MOST;
    return g_str_hash(session->account) % count == g_str_hash(account) % count;
}

static struct session *find_session(struct sessions *sessions, const struct config *config, const char *account)
{
    for (size_t i = 0; i < sessions->most; i++)
        if (is_served(sessions, &sessions->kept[i], config, account))
            return &sessions->kept[i];
    return NULL;
}

/* The session unused longest, with this server, or NULL: with any, or a free slot before that. NULL: there is none. */
static struct session *longest_unused(struct sessions *sessions, const struct config *config)
{
    struct session *oldest = NULL;
    for (size_t i = 0; i < sessions->most; i++) {
        struct session *it = &sessions->kept[i];
        if (!it->out && (config == NULL || it->config == config) && (oldest == NULL || it->used < oldest->used))
            oldest = it;
    }
    return oldest;
}

bool sessions_available(struct sessions *sessions, const struct config *config, const char *account)
{
    const struct session *session = find_session(sessions, config, account);
    return session != NULL ? !session->out : longest_unused(sessions, NULL) != NULL;
}

bool sessions_open(struct sessions *sessions, const struct config *config, const char *account)
{
    const struct session *session = find_session(sessions, config, account);
    return session != NULL && !session->out && mailbox_connected(session->mailbox);
}

static bool is_idle(const struct session *session)
{
    return base_now_ms() - session->used_at_ms >= session->config->imap.idle;
}

static bool is_usable(const struct sessions *sessions, const struct session *session, enum sessions_age age)
{
    bool will_do = session->opened == sessions->delivery || (age == SESSIONS_KEPT && !is_idle(session));
    return will_do && mailbox_connected(session->mailbox);
}

/* With this server. */
static size_t count_unused(const struct sessions *sessions, const struct config *config)
{
    size_t count = 0;
    for (size_t i = 0; i < sessions->most; i++)
        count += sessions->kept[i].config == config && !sessions->kept[i].out;
    return count;
}

/* Ends this many, those that are unused longest first, and waits until the server has noticed. */
static void end_unused(struct sessions *sessions, const struct config *config, size_t count)
{
    int64_t until = base_now_ms() + GOODBYE_MS;
    struct session *oldest;
    for (; count > 0 && (oldest = longest_unused(sessions, config)) != NULL; count--) {
        int64_t left = until - base_now_ms();
        mailbox_close_wait(&oldest->mailbox, left > 0 ? left : 0);
        end_kept(oldest);
    }
}

static bool is_crowded(const struct fault *fault)
{
    return strcmp(fault->code, MAILBOX_CROWDED) == 0;
}

bool sessions_in_the_way(const struct sessions *sessions, const struct fault *fault)
{
    bool any = false;
    for (size_t i = 0; i < sessions->most; i++)
        any |= sessions->kept[i].out;
    return any && is_crowded(fault);
}

static struct mailbox *open_in_room(const struct config *config, const char *account, int64_t limit_ms,
                                    struct fault *fault)
{
    struct mailbox *mailbox = mailbox_open(config, account, limit_ms, fault);
    for (int tries = 0; mailbox == NULL && is_crowded(fault) && tries < NOTICE_TRIES; tries++) {
        (void)poll(NULL, 0, NOTICE_MS);
        mailbox = mailbox_open(config, account, limit_ms, fault);
    }
    return mailbox;
}

/* Makes room for it if the server may have refused because of the number of sessions. */
static struct mailbox *open_kept(struct sessions *sessions, struct known *known, const char *account, int64_t limit_ms,
                                 struct fault *fault)
{
    struct mailbox *mailbox = mailbox_open(known->config, account, limit_ms, fault);
    size_t unused;
    bool tried = false;
    while (mailbox == NULL && is_crowded(fault) && (unused = count_unused(sessions, known->config)) > 0) {
        if (base_now_ms() < known->no_room_until)
            return NULL;
        size_t closed = unused > 1 ? unused / 2 : 1;
        log_info("the IMAP server refused a session: %zu of %zu unused ones are closed to make room for another",
                 closed, unused);
        end_unused(sessions, known->config, closed);
        mailbox = open_in_room(known->config, account, limit_ms, fault);
        tried = true;
    }
    if (mailbox == NULL && tried)
        known->no_room_until = base_now_ms() + NO_ROOM_MS;
    return mailbox;
}

/* It was silent: not a refusal, nor anything else that may concern one account only. */
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

/* The mail of other servers does not wait for one that was silent: it is not asked for a while, and then does not get long
 * to answer. */
static struct mailbox *open_unless_quiet(struct sessions *sessions, const struct config *config, const char *account,
                                         int64_t limit_ms, struct fault *fault)
{
    struct known *known = known_server(sessions, config);
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

struct mailbox *sessions_take(struct sessions *sessions, const struct config *config, const char *account,
                              enum sessions_age age, int64_t limit_ms, bool *ret_kept, struct fault *fault)
{
    struct session *session = find_session(sessions, config, account);
    if (session != NULL && !session->out && !is_usable(sessions, session, age))
        end_kept(session);
    if (session == NULL)
        session = longest_unused(sessions, NULL);
    if (session == NULL || session->out) {
        fault_set(fault, "no more than %zu IMAP sessions can be used at once (imap.sessions)", sessions->most);
        return NULL;
    }
    if (!is_served(sessions, session, config, account)) {
        struct mailbox *mailbox = open_unless_quiet(sessions, config, account, limit_ms, fault);
        if (mailbox == NULL)
            return NULL;
        end_kept(session);
        session->config = config;
        session->account = base_strdup(account);
        session->mailbox = mailbox;
        session->opened = sessions->delivery;
    }
    session->used = ++sessions->clock;
    session->used_at_ms = base_now_ms();
    session->out = true;
    *ret_kept = session->opened != sessions->delivery;
    return session->mailbox;
}

void sessions_give_back(struct sessions *sessions, const struct config *config, const char *account)
{
    struct session *session = find_session(sessions, config, account);
    if (session == NULL)
        return;
    session->out = false;
    session->used_at_ms = base_now_ms();
    if (!mailbox_connected(session->mailbox))
        end_kept(session);
}

void sessions_drop(struct sessions *sessions, const struct config *config, const char *account)
{
    struct session *session = find_session(sessions, config, account);
    if (session != NULL)
        end_kept(session);
}

int64_t sessions_expire(struct sessions *sessions)
{
    struct session *first = NULL;
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < sessions->most; i++) {
        struct session *it = &sessions->kept[i];
        if (it->account == NULL || it->used_at_ms + it->config->imap.idle >= next)
            continue;
        first = it;
        next = it->used_at_ms + it->config->imap.idle;
    }
    if (first == NULL || base_now_ms() < next)
        return next;
    end_kept(first);
    return base_now_ms(); /* there may be another */
}

bool sessions_trusted(const struct sessions *sessions, const struct config *config)
{
    return base_now_ms() < known_server(sessions, config)->trusted_until;
}

void sessions_trust(struct sessions *sessions, const struct config *config)
{
    known_server(sessions, config)->trusted_until = base_now_ms() + TRUST_MS;
}
