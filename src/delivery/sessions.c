/* SPDX-License-Identifier: ISC
 *
 * Sessions are found by account; the least recently used one makes room. */
#include "delivery/sessions.h"

#include <string.h>

#define TRUST_MS INT64_C(3600000)

struct session {
    char *account;
    struct mailbox *mailbox;
    uint64_t used; /* value of the clock at the last use */
};

struct sessions {
    const struct config *config;
    uint64_t clock;
    size_t most;
    int64_t trusted_until; /* base_now_ms() */
    struct session kept[];
};

struct sessions *sessions_new(const struct config *config, size_t most)
{
    struct sessions *sessions = base_alloc(sizeof(*sessions) + most * sizeof(struct session));
    sessions->most = most;
    sessions->config = config;
    return sessions;
}

static void end_session(struct session *session)
{
    mailbox_close(&session->mailbox);
    base_free(&session->account);
}

void sessions_free(struct sessions **sessions)
{
    if (*sessions == NULL)
        return;
    for (size_t i = 0; i < (*sessions)->most; i++)
        end_session(&(*sessions)->kept[i]);
    base_free(sessions);
}

static struct session *find_session(struct sessions *sessions, const char *account)
{
    for (size_t i = 0; i < sessions->most; i++)
        if (sessions->kept[i].account != NULL && strcmp(sessions->kept[i].account, account) == 0)
            return &sessions->kept[i];
    return NULL;
}

static struct session *longest_unused(struct sessions *sessions)
{
    struct session *oldest = &sessions->kept[0];
    for (size_t i = 1; i < sessions->most; i++)
        if (sessions->kept[i].used < oldest->used)
            oldest = &sessions->kept[i];
    return oldest;
}

struct mailbox *sessions_get(struct sessions *sessions, const char *account, struct fault *fault)
{
    struct session *session = find_session(sessions, account);
    if (session != NULL && !mailbox_alive(session->mailbox))
        end_session(session);
    if (session == NULL || session->mailbox == NULL) {
        struct mailbox *mailbox = mailbox_open(sessions->config, account, fault);
        if (mailbox == NULL)
            return NULL;
        session = session != NULL ? session : longest_unused(sessions);
        end_session(session);
        session->account = base_strdup(account);
        session->mailbox = mailbox;
    }
    session->used = ++sessions->clock;
    return session->mailbox;
}

bool sessions_trusted(const struct sessions *sessions)
{
    return base_now_ms() < sessions->trusted_until;
}

void sessions_trust(struct sessions *sessions)
{
    sessions->trusted_until = base_now_ms() + TRUST_MS;
}

void sessions_drop(struct sessions *sessions, const char *account)
{
    struct session *session = find_session(sessions, account);
    if (session != NULL)
        end_session(session);
}
