/* SPDX-License-Identifier: ISC */
#include "differential/dump.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const dump_states[] = {
    [COPY_NONE] = "nothing",  [COPY_PENDING] = "pending", [COPY_APPENDING] = "appending",
    [COPY_STORED] = "stored", [COPY_FAILED] = "failed",
};
const char *const dump_results[] = {
    [LEDGER_ERROR] = "tempfail", [LEDGER_OK] = "ok", [LEDGER_BUSY] = "busy", [LEDGER_CONFLICT] = "conflict"};

static int64_t tokens[STEPS_MAX * 2];
static size_t token_count;

void dump_begin(void)
{
    token_count = 0;
}

static size_t number_of(int64_t token)
{
    for (size_t i = 0; i < token_count; i++)
        if (tokens[i] == token)
            return i;
    if (token_count == sizeof(tokens) / sizeof(tokens[0]))
        abort();
    tokens[token_count] = token;
    return token_count++;
}

void dump(const struct history *history, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%3d ", history->step);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

const char *dump_target(const struct ledger_target *target)
{
    static char texts[2][64];
    static unsigned turn;
    char *text = texts[turn++ % 2];
    snprintf(text, sizeof(texts[0]), "%s of %s%s", target->mailbox, target->account,
             target->role == COPY_SENT ? " (sent)" : "");
    return text;
}

void dump_found(const struct history *history, const struct player *player)
{
    const struct ledger_state *found = player->found;
    dump(history, "  finds it %s, of %" PRId64, found->known ? "known" : "not known", found->received_at);
    for (size_t i = 0; i < player->message.target_count; i++) {
        const struct ledger_copy_state *copy = &found->copies[i];
        dump(history,
             "    %s: %s%s, attempt %" PRId64 ", %" PRId64 " h ago, first %" PRId64
             " h ago, owner %s%s%s%s%s%s,"
             " uid %" PRId64 "/%" PRId64,
             dump_target(&player->targets[i]), dump_states[copy->state], copy->doubt ? " in doubt" : "",
             copy->generation, copy->claim_age_ms / HOUR_MS, copy->first_age_ms / HOUR_MS,
             copy->owner != LEDGER_OTHER ? player->recipients[copy->owner].address : "another",
             copy->owner_finished ? ", finished" : "", copy->variant_has_copy ? ", elsewhere" : "",
             copy->variant_in_flight ? ", elsewhere, under way" : "", copy->sibling ? ", beside another" : "",
             copy->sibling_age_ms > 0 ? " under way" : "", copy->uidvalidity, copy->uid);
    }
}

static void dump_delivery(const struct history *history, unsigned address, const struct fixture_delivery *row)
{
    dump(history, "    delivery to %s: %s, %d tries%s%s", history_address(address), row->outcome, row->tries,
         row->finished ? ", finished" : "", row->complete ? ", whole" : "");
}

static void dump_copy(const struct history *history, const struct ledger_target *target, const struct fixture_copy *row)
{
    dump(history,
         "    copy in %s: %s%s%s, attempt %d, %" PRId64 " h ago, first %" PRId64
         " h ago, claim %zu of %s,"
         " repeated %d, uid %" PRId64 "/%" PRId64,
         dump_target(target), dump_states[row->state], row->doubt ? " in doubt" : "",
         row->error ? " with an error" : "", row->generation, row->hours, row->first_hours, number_of(row->token),
         history_address(row->owner), row->repeated, row->uidvalidity, row->uid);
}

static bool same_delivery(const struct fixture_delivery *a, const struct fixture_delivery *b)
{
    return a->there == b->there && a->finished == b->finished && a->complete == b->complete && a->tries == b->tries &&
           strcmp(a->outcome, b->outcome) == 0;
}

static bool same_copy(const struct fixture_copy *a, const struct fixture_copy *b)
{
    return a->state == b->state && a->role == b->role && a->doubt == b->doubt && a->error == b->error &&
           a->generation == b->generation && a->repeated == b->repeated && a->hours == b->hours &&
           a->first_hours == b->first_hours && a->token == b->token && a->owner == b->owner &&
           a->uidvalidity == b->uidvalidity && a->uid == b->uid;
}

static void dump_content(struct history *history, size_t content)
{
    struct fixture_record now, *before = &history->records[content];
    memset(&now, 0, sizeof(now));
    fixture_read(&history->contents[content].message, &now);
    if (now.known != before->known || now.received_at != before->received_at)
        dump(history, "  message %zu is %s, of %" PRId64, content, now.known ? "recorded" : "gone", now.received_at);
    for (unsigned i = 0; i < ADDRESSES_MAX; i++)
        if (!same_delivery(&now.deliveries[i], &before->deliveries[i])) {
            dump(history, "  message %zu:", content);
            dump_delivery(history, i, &now.deliveries[i]);
        }
    for (unsigned i = 0; i < ACCOUNTS_MAX; i++)
        for (int sent = 0; sent < 2; sent++) {
            const struct fixture_copy *row = &now.copies[i][sent];
            const struct ledger_target target = {
                .account = history_account(i),
                .mailbox = sent ? "Sent" : "INBOX",
                .role = row->role,
            };
            if (same_copy(row, &before->copies[i][sent]))
                continue;
            dump(history, "  message %zu:", content);
            dump_copy(history, &target, row);
        }
    *before = now;
}

void dump_changes(struct history *history)
{
    for (size_t i = 0; i < history->content_count; i++)
        dump_content(history, i);
}
