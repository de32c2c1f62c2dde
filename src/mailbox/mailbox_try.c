/* SPDX-License-Identifier: ISC
 *
 * Experiments for `check`: what a server answers tells more than what it announces. They leave nothing behind. */
#include <string.h>

#include "mailbox/mailbox_session.h"

/* The answer to '+'. */
static bool never(void *context)
{
    bool *ready = context;
    *ready = true;
    return false;
}

enum mailbox_tried mailbox_try_append(struct mailbox *mailbox, const char *name, struct fault *fault)
{
    static char text[] = "Subject: oncedrop check\r\n\r\n";
    static const struct iovec pieces[] = {{.iov_base = text, .iov_len = sizeof text - 1}};
    bool ready = false;
    const struct append append = {
        .mailbox = name,
        .internal_date = 0,
        .pieces = pieces,
        .piece_count = 1,
        .wanted = never,
        .context = &ready,
    };
    struct appending *it = &mailbox->appending;
    mailbox_append_begin(mailbox, &append);
    it->settled = true; /* so that nothing is created */
    mailbox_append_feed(mailbox, base_now_ms() + mailbox->timeout);
    if (ready)
        return TRIED_TAKEN;
    *fault = it->why;
    if (it->result != APPEND_NO_MAILBOX && (!it->perhaps_missing || it->never))
        return TRIED_REFUSED;
    if (strcmp(it->name, "\"INBOX\"") == 0)
        (void)!mailbox_create(mailbox, it->name, fault); /* which explains it */
    return TRIED_MISSING;
}

bool mailbox_try_create(struct mailbox *mailbox, const char *name, bool *ret_left, struct fault *fault)
{
    struct mailbox_reply reply;
    struct fault minor;
    bool subscribe = mailbox->subscribe;
    char *quoted OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, name, fault);
    if (quoted == NULL)
        return false;
    mailbox->subscribe = false;
    enum mailbox_made made = mailbox_create(mailbox, quoted, fault);
    mailbox->subscribe = subscribe;
    *ret_left = made == MADE_EXISTS ||
                (made == MADE_CREATED &&
                 !mailbox_dialogue_ask(mailbox, "DELETE", NULL, NULL, &reply, &minor, "DELETE %s", quoted));
    return made >= MADE_EXISTS;
}
