/* SPDX-License-Identifier: ISC
 *
 * The checks when something is stored, when an answer is given, and at the end. */
#include "checker.h"

#include "scheduler.h"
#include "tables.h"

bool checker_strict;

/* Whether any job brings it to this mailbox itself, not instead of another. */
static bool is_meant(const struct content *content, unsigned account, enum box box)
{
    bool meant = false;
    for (size_t i = 0; i < world.job_count; i++)
        for (size_t k = 0; k < world.jobs[i].count && world.jobs[i].content == content; k++)
            meant |= world_account_of(world.jobs[i].addresses[k]) == account &&
                     world_box_of(world.jobs[i].addresses[k]) == box;
    return meant;
}

/* What is meant for a folder only is there or in the INBOX, never in both. */
void checker_stored(const struct content *content, unsigned account, enum box box)
{
    size_t count = imap_count(account, box, content, box == BOX_SENT);
    bool both = box != BOX_SENT && !is_meant(content, account, BOX_INBOX);
    if (both)
        count += imap_count(account, box == BOX_INBOX ? BOX_FOLDER : BOX_INBOX, content, false);
    size_t forced = box == BOX_SENT ? 0 : content->forced;
    if (count > 1 + (world.folders > 0 ? 2 * forced : forced))
        world_violation("doubled", "message %u is %zu times in %s%s of %s", content->number, count, world_box_name(box),
                        both ? ", or what takes its place," : "", world_account(account));
}

/* In the mailbox of an address, or in the one that takes its place. */
static bool is_there(const struct content *content, unsigned address)
{
    unsigned account = world_account_of(address);
    return imap_count(account, BOX_INBOX, content, false) > 0 ||
           (world_box_of(address) == BOX_FOLDER && imap_count(account, BOX_FOLDER, content, false) > 0);
}

static bool is_finished(struct key key, const char *address)
{
    const struct delivery_row *row = tables_delivery(key, (uint8_t)world_number(address));
    return row != NULL && row->finished;
}

static void check_success(const struct content *content, const char *recipient, const struct report *report)
{
    unsigned address = world_number(recipient);
    uint8_t account = (uint8_t)world_account_of(address), box = (uint8_t)world_box_of(address);
    struct key key = {content->identity, content->digest};
    const struct row *row = tables_row(key, (struct place){account, box, COPY_INBOX});
    if (!is_there(content, address))
        world_violation(report->outcome == OUTCOME_DUPLICATE ? "false duplicate" : "lost",
                        "%s is told \"%s\", but message %u is not there", recipient, report->text, content->number);
    else if (row == NULL || (row->state != COPY_STORED && !content->again))
        world_violation("untrue", "%s is told \"%s\", but the ledger does not say so", recipient, report->text);
    else if (checker_strict && !is_finished(key, recipient))
        world_violation("unfinished", "%s is told \"%s\", but the record says that Postfix retries", recipient,
                        report->text);
}

void checker_reply(const struct process *process)
{
    struct content *content = process->job->content;
    for (size_t i = 0; i < process->request.recipient_count; i++) {
        const char *address = process->recipients[i].address;
        const struct report *report = &process->delivery.replies[i].report;
        const struct outcome_row *row = outcome_row(report->outcome);
        if (!report->given)
            world_violation("no answer", "%s is told nothing", address);
        else if (row->exit_status == 0)
            check_success(content, address, report);
        else if (row->final && !process->refused)
            world_violation("bounced", "%s is told \"%s\" for good", address, report->text);
    }
}

/* Abandoned for a reason: refused by the server, or in a try that began sent_expire_after after the first one. */
static bool given_up(const struct content *content)
{
    struct key key = {content->identity, content->digest};
    const struct row *row = tables_row(key, (struct place){(uint8_t)content->sender, BOX_SENT, COPY_SENT});
    int64_t clocks = 8 * SECOND; /* maximum difference of replicas' clocks */
    return row != NULL && row->state == COPY_FAILED &&
           (content->sent_refused || world.one_host || world.database_jumps ||
            row->attempt_at - row->first_at >= world.config.delivery.sent_expire_after * MS - clocks);
}

/* Whether the Sent copy was due, and there is no known reason for its absence: it was abandoned, or there was a
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

/* The rows of a Sent copy, of all contents with this identity: it is one for them. */
static unsigned given_to_sent(struct key key, const struct row *sent)
{
    unsigned given = 0;
    struct key other;
    const struct row *row;
    for (size_t i = 0; (row = tables_next(i, &other)) != NULL; i++)
        if (other.identity == key.identity && row->place.role == COPY_SENT && row->place.account == sent->place.account)
            given += row->given;
    return given;
}

/* Each copy that was stored has one row, and no other copy has any. */
static void check_feed(void)
{
    struct key key;
    const struct row *row;
    for (size_t i = 0; (row = tables_next(i, &key)) != NULL; i++) {
        bool stored = row->state == COPY_STORED || row->repeated > 0;
        unsigned given = row->place.role == COPY_SENT ? given_to_sent(key, row) : row->given;
        if (row->given > (stored ? 1 : 0))
            world_violation("doubled in a feed", "a copy in %s of %s has %u rows, and is %s",
                            world_box_name(row->place.box), world_account(row->place.account), row->given,
                            stored ? "stored" : "not stored");
        else if (stored && given == 0)
            world_violation("lost from a feed", "a copy in %s of %s has no row", world_box_name(row->place.box),
                            world_account(row->place.account));
    }
}

void checker_end(void)
{
    check_feed();
    for (size_t i = 0; i < world.job_count; i++) {
        const struct job *job = &world.jobs[i];
        for (size_t k = 0; k < job->count && !job->off && !job->content->bounced; k++)
            if (!is_there(job->content, job->addresses[k]))
                world_violation("lost", "message %u is not in %s of %s", job->content->number,
                                world_box_name(world_box_of(job->addresses[k])),
                                world_account(world_account_of(job->addresses[k])));
    }
    for (size_t i = 0; i < world.content_count; i++) {
        const struct content *content = &world.contents[i];
        if (content->sender != NO_SENDER && sent_is_expected(content) &&
            imap_count(content->sender, BOX_SENT, content, true) == 0)
            world_violation("lost", "message %u is not in Sent of %s", content->number, world_account(content->sender));
    }
}
