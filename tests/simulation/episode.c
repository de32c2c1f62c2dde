/* SPDX-License-Identifier: ISC
 *
 * The dice of an episode, and its run. */
#include "episode.h"

#include <stdio.h>
#include <string.h>

#include "breakage.h"
#include "checker.h"
#include "database.h"
#include "faults.h"
#include "imap.h"
#include "key.h"
#include "postfix.h"
#include "scheduler.h"

#define MARGIN (8 * SECOND) /* in the hold-off, for replicas' clocks */

bool job_off[JOBS];
enum lock_method episode_method = LOCK_METHODS;

static void make_settings(struct dice *dice)
{
    struct config *config = &world.config;
    static char empty[] = "", name[] = "simulation";
    bool fast = dice_percent(dice, 30);
    *config = (struct config){.lock = {.namespace = name},
                              .route = {.account_query = empty},
                              .record = {.notify = empty},
                              .log = {.unrecorded_file = empty},
                              .name = empty};
    config->delivery.deadline = fast ? 20000 : 120000;
    config->delivery.hold_off = fast ? 60000 : 320000;
    config->delivery.sent_expire_after = dice_percent(dice, 20) ? 300000 : 3600000;
    config->delivery.refuse_after = config->delivery.sent_expire_after;
    config->delivery.overquota = dice_percent(dice, 20) ? OVERQUOTA_BOUNCE : OVERQUOTA_DEFER;
    config->imap.user = config->imap.command = config->imap.password_command = empty;
    config->imap.timeout = 30000;
    config->imap.sessions = dice_percent(dice, 50) ? dice_between(dice, 1, 3) : 100;
    config->imap.idle_timeout = dice_percent(dice, 50) ? 30000 : 1000000;
    config->imap.search = dice_percent(dice, 10) ? IMAP_SEARCH_ALWAYS : IMAP_SEARCH_DOUBT;
    config->lock.method = (enum lock_method)dice_below(dice, LOCK_METHODS);
    if (episode_method != LOCK_METHODS)
        config->lock.method = episode_method;
    config->lock.wait = dice_percent(dice, 30) ? 2000 : 0;
    config->route.sent_copy = dice_percent(dice, 90) ? SENT_COPY_AUTHENTICATED : SENT_COPY_OFF;
    config->delivery.refused = dice_percent(dice, 50) ? REFUSED_QUARANTINE : REFUSED_BOUNCE;
    world.hold_off = config->delivery.hold_off * MS;
    world.late_max = (config->delivery.hold_off - config->delivery.deadline) * MS - MARGIN;
    world.folders = dice_percent(dice, 70) ? 0 : dice_percent(dice, 50) ? 100 : 50;
    config->route.detail = world.folders > 0 ? DETAIL_FOLDER : DETAIL_OFF;
    world.lookups = dice_percent(dice, 20);
    world.delegates = dice_percent(dice, 10);
    world.one_host = dice_percent(dice, 30);
    world.database_jumps = !world.one_host && dice_percent(dice, 50);
    if (breakage == BREAK_NO_HOLD_OFF)
        config->delivery.hold_off = 0;
    if (breakage == BREAK_NEVER_OVER)
        config->delivery.hold_off *= 1000000;
}

/* A content has its own Message-ID, or none, or that of the previous one. */
static void make_content(struct dice *dice, unsigned number)
{
    struct content *content = &world.contents[number], *before = number > 0 ? content - 1 : NULL;
    bool variant = before != NULL && before->message.message_id != NULL && dice_percent(dice, 50) &&
                   (!before->message.message_id_folded || checker_strict);
    bool has_id = variant || dice_percent(dice, 85);
    int64_t verdict = dice_below(dice, 64);
    *content = (struct content){.number = number, .sender = NO_SENDER};
    if (variant)
        content->sender = before->sender;
    else if (dice_percent(dice, 85))
        content->sender = (unsigned)dice_below(dice, ACCOUNTS);
    content->verdict = verdict == 0 ? VERDICT_REFUSED : verdict == 1 ? VERDICT_TOO_BIG : VERDICT_GOOD;
    snprintf(content->id, sizeof(content->id), "m%u@example.org", variant ? world_number(before->id) : number);
    content->digest = dice_next(dice);
    struct message *message = &content->message;
    message->data = (const unsigned char *)content;
    message->size = message->header_size = message->content_size = 1000;
    memcpy(message->digest, &content->digest, sizeof(content->digest));
    if (has_id) {
        message->message_id = content->id;
        message->message_id_length = strlen(content->id);
        message->message_id_folded = !variant && dice_percent(dice, 5);
    }
    unsigned char identity[MESSAGE_DIGEST_SIZE];
    message_own_identity(message, "", identity);
    memcpy(&content->identity, identity, sizeof(content->identity));
    if (breakage == BREAK_VARIANT_IS_DUPLICATE)
        content->digest = 0;
}

/* It counts as a copy of the message, and has its own Message-ID. */
static void make_notice(unsigned number)
{
    struct content *explanation = &world.explanations[number];
    *explanation = world.contents[number];
    explanation->explains = &world.contents[number];
    explanation->verdict = VERDICT_GOOD;
    snprintf(explanation->id, sizeof(explanation->id), "explanation %u", number);
    explanation->message.data = (const unsigned char *)explanation;
    explanation->message.message_id = explanation->id;
    explanation->message.message_id_length = strlen(explanation->id);
}

/* Few addresses, so that deliveries meet; a job has each once. */
static void make_recipients(struct dice *dice, struct job *job, bool narrow)
{
    bool one = job->kind == JOB_PIPE || dice_percent(dice, narrow ? 20 : 40);
    unsigned first = (unsigned)dice_below(dice, narrow || dice_percent(dice, 60) ? 2 : ADDRESSES);
    unsigned step = dice_percent(dice, 30) ? 3 : 1;     /* 0, 3, 6: the last is another address of the first */
    unsigned second = world.folders > 0 ? ACCOUNTS : 1; /* another account, or the first one's folder */
    job->count = one ? 1 : narrow ? 2 : (size_t)dice_between(dice, 2, RECIPIENTS);
    for (unsigned i = 0; i < job->count; i++)
        job->addresses[i] = narrow ? (first + i) % 2 * second : (first + step * i) % ADDRESSES;
}

static void make_job(struct dice *dice, unsigned number, bool narrow)
{
    static const enum job_kind kinds[] = {JOB_PIPE, JOB_PIPE, JOB_PIPE, JOB_PIPE, JOB_LMTP,
                                          JOB_LMTP, JOB_LMTP, JOB_LMTP, JOB_LMTP, JOB_REPLAY};
    struct job *job = &world.jobs[number];
    int64_t when = dice_below(dice, 8);
    *job = (struct job){.number = number, .kind = kinds[dice_below(dice, 10)], .off = job_off[number]};
    job->host = world.one_host ? 0 : (unsigned)dice_below(dice, HOSTS);
    job->content = &world.contents[dice_below(dice, (int64_t)world.content_count)];
    job->own_login = job->kind == JOB_PIPE && dice_percent(dice, 15);
    make_recipients(dice, job, narrow);
    if (job->kind == JOB_REPLAY && dice_percent(dice, 40)) {
        job->again = dice_percent(dice, 60) ? REDELIVER_VERIFY : REDELIVER_FORCE;
        job->content->again = true;
    }
    job->start = when < 4   ? dice_below(dice, 100 * MS)
                 : when < 7 ? dice_below(dice, 20 * SECOND)
                            : dice_below(dice, world.hold_off * 2);
    job->faulty_tries = (unsigned)dice_between(dice, 1, 10);
    job->dice = dice_of(world.seed, world.episode, ((uint64_t)(number + 32) << 32));
}

static void make(uint64_t seed, uint64_t episode)
{
    struct dice dice = dice_of(seed, episode, 0);
    world.seed = seed;
    world.episode = episode;
    world.violation.kind = NULL;
    world.calm_jobs = 0;
    memset(world.host_clock, 0, sizeof(world.host_clock));
    memset(world.host_boot, 0, sizeof(world.host_boot));
    for (unsigned i = 0; i < HOSTS; i++)
        world.host_start[i] = -86400 * SECOND;
    memset(world.workers, 0, sizeof(world.workers));
    make_settings(&dice);
    bool narrow = dice_percent(&dice, 50); /* two recipients, so that most deliveries meet */
    world.content_count = (size_t)(dice_percent(&dice, 60) ? 1 : dice_between(&dice, 2, MESSAGES - 1));
    for (unsigned i = 0; i < world.content_count; i++)
        make_content(&dice, i);
    for (unsigned i = 0; i < world.content_count; i++)
        make_notice(i);
    world.job_count = world.open_jobs = (size_t)(narrow ? dice_between(&dice, 1, 3) : dice_between(&dice, 2, 8));
    for (unsigned i = 0; i < world.job_count; i++)
        make_job(&dice, i, narrow);
}

bool episode_run(uint64_t seed, uint64_t episode)
{
    make(seed, episode);
    schedule_clear();
    tables_clear();
    database_clear();
    imap_clear();
    errors_plan_troubles(2 * world.hold_off);
    postfix_begin();
    counts.episodes++;
    if (!schedule_run(NEVER - 1) || world.violation.kind != NULL) {
        postfix_end();
        return false;
    }
    checker_end();
    postfix_end();
    return world.violation.kind == NULL;
}
