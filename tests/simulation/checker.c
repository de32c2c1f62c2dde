/* SPDX-License-Identifier: ISC
 *
 * The checks when something is stored, when an answer is given, and at the end. */
#include "checker.h"

#include "scheduler.h"
#include "tables.h"

bool checker_strict;

static const char *box_name(enum box box)
{
    return box == BOX_SENT ? "Sent" : "INBOX";
}

void checker_stored(const struct content *content, unsigned account, enum box box)
{
    size_t count = imap_count(account, box, content, box == BOX_SENT);
    if (count > 1 + (box == BOX_INBOX ? content->forced : 0))
        world_violation("doubled", "message %u is %zu times in %s of %s", content->number, count, box_name(box),
                        world_account(account));
}

static bool is_finished(struct key key, const char *address)
{
    const struct delivery_row *row = tables_delivery(key, (uint8_t)world_number(address));
    return row != NULL && row->finished;
}

static void check_success(const struct content *content, const struct delivery_recipient *recipient)
{
    unsigned account = world_account_of(world_number(recipient->address));
    struct key key = {content->identity, content->digest};
    const struct row *row = tables_row(key, (struct place){(uint8_t)account, BOX_INBOX, COPY_INBOX});
    if (imap_count(account, BOX_INBOX, content, false) == 0)
        world_violation(recipient->report.outcome == OUTCOME_DUPLICATE ? "false duplicate" : "lost",
                        "%s is told \"%s\", but message %u is not there", recipient->address, recipient->report.text,
                        content->number);
    else if (row == NULL || (row->state != COPY_STORED && !content->again))
        world_violation("untrue", "%s is told \"%s\", but the ledger does not say so", recipient->address,
                        recipient->report.text);
    else if (checker_strict && !is_finished(key, recipient->address))
        world_violation("unfinished", "%s is told \"%s\", but the record says that Postfix retries", recipient->address,
                        recipient->report.text);
}

void checker_answer(const struct process *process)
{
    struct content *content = process->job->content;
    for (size_t i = 0; i < process->delivery.recipient_count; i++) {
        const struct delivery_recipient *recipient = &process->recipients[i];
        const struct outcome_row *row = outcome_row(recipient->report.outcome);
        if (!recipient->report.given)
            world_violation("no answer", "%s is told nothing", recipient->address);
        else if (row->exit_status == 0)
            check_success(content, recipient);
        else if (row->final && !process->refused)
            world_violation("bounced", "%s is told \"%s\" for good", recipient->address, recipient->report.text);
    }
}

/* Given up for a reason: refused by the server, or in a try that began sent_retry after the first one. */
static bool given_up(const struct content *content)
{
    struct key key = {content->identity, content->digest};
    const struct row *row = tables_row(key, (struct place){(uint8_t)content->sender, BOX_SENT, COPY_SENT});
    int64_t clocks = 8 * SECOND; /* maximum difference of replicas' clocks */
    return row != NULL && row->state == COPY_FAILED &&
           (content->sent_refused || row->attempt_at - row->first_at >= world.config.delivery.sent_retry * MS - clocks);
}

/* Whether the Sent copy was due, and there is no known reason for its absence: it was given up, or there was a
 * bounce. */
static bool sent_is_expected(const struct content *content)
{
    bool due = false;
    for (size_t i = 0; i < world.job_count; i++) {
        const struct job *job = &world.jobs[i];
        if (job->content->identity == content->identity && job->content->bounced)
            return false;
        due = due || (job->content == content && !job->own_login && !job->off);
    }
    for (size_t i = 0; i < world.content_count; i++)
        if (world.contents[i].identity == content->identity && given_up(&world.contents[i]))
            return false;
    return due && world.config.route.sent_copy != SENT_COPY_OFF;
}

void checker_end(void)
{
    for (size_t i = 0; i < world.job_count; i++) {
        const struct job *job = &world.jobs[i];
        for (size_t k = 0; k < job->count && !job->off && !job->content->bounced; k++)
            if (imap_count(world_account_of(job->addresses[k]), BOX_INBOX, job->content, false) == 0)
                world_violation("lost", "message %u is not in INBOX of %s", job->content->number,
                                world_account(world_account_of(job->addresses[k])));
    }
    for (size_t i = 0; i < world.content_count; i++) {
        const struct content *content = &world.contents[i];
        if (content->sender != NOBODY && sent_is_expected(content) &&
            imap_count(content->sender, BOX_SENT, content, true) == 0)
            world_violation("lost", "message %u is not in Sent of %s", content->number, world_account(content->sender));
    }
}
