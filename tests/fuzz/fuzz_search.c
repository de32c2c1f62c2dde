/* SPDX-License-Identifier: ISC
 *
 * Searches in the mailbox of a server whose answers are legal but wrong (fuzz_server.h), as deliveries make them.
 *
 * A message that was there all the time is never absent, and what is found is that message. Only a server that left
 * something out is an excuse for not knowing. */
#include "../message_bytes.h"
#include "fuzz_server.h"
#include "message/message.h"

/* As deliveries search (delivery/presence.c). */
static struct search search_of(const struct message *message)
{
    bool by_id = has_id && draw(2), newest_only = by_id && draw(2), searchable = has_id && !seldom();

    return (struct search){
        .mailbox = "INBOX",
        .message_id = searchable && !newest_only ? ID : NULL,
        .internal_date = RECEIVED,
        .smallest = has_id ? 1 : (int64_t)message->content_size / 2,
        .largest = has_id ? 0 : (int64_t)message->size + 1024,
        .newest = by_id ? (draw(2) ? 1 + draw(8) : 500) : 0,
        .newest_only = newest_only,
        .by_id = by_id,
        .complete = by_id ? NULL : message_comparison_new(message, NULL),
        .ids = has_id ? message_comparison_new_id(message) : NULL,
    };
}

static bool is_it(const struct search *search, const struct mail *mail)
{
    return mail->kind == KIND_SAME || (search->by_id && mail->kind == KIND_VARIANT);
}

/* Nothing that was there from the beginning to the end, where it is looked for. */
static void check_absent(const struct search *search)
{
    size_t examined = 0, place = 0;

    for (const struct mail *mail = mails; mail < mails + mail_count; mail++)
        examined += mail->examined;
    for (const struct mail *mail = mails; mail < mails + examined; mail++, place++) {
        bool dated = mail->received >= RECEIVED - DAY && mail->received <= RECEIVED + DAY;
        bool among = search->newest_only ? examined - place <= search->newest : dated;

        FUZZ_CHECK(mail->gone || !among || !is_it(search, mail));
    }
}

static void check_found(const struct search *search, uint32_t uidvalidity, uint32_t uid)
{
    const struct mail *mail = mails;

    while (mail < mails + mail_count && mail->uid != uid)
        mail++;
    FUZZ_CHECK(uidvalidity == UIDVALIDITY && mail < mails + mail_count && is_it(search, mail));
}

static void search_and_check(struct mailbox *mailbox, const struct message *message)
{
    struct search search = search_of(message);
    uint32_t uidvalidity = 7, uid = 7;
    struct error error = {.text = ""};
    enum search_result result = mailbox_search(mailbox, &search, &uidvalidity, &uid, &error);

    if (result == SEARCH_PRESENT)
        check_found(&search, uidvalidity, uid);
    else if (result == SEARCH_MISSING)
        check_absent(&search);
    else
        FUZZ_CHECK(excusable);
    message_comparison_free(&search.complete);
    message_comparison_free(&search.ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct config *config = server_settings();
    struct error error = {.text = ""};
    struct message *message = NULL;

    begin_server(bytes, size);
    GString *text = text_of(KIND_SAME, 0, false);
    FUZZ_CHECK(message_from_bytes(text->str, text->len, 0, &message, &error) == MESSAGE_OK);
    struct mailbox *mailbox = mailbox_open(config, "lisa", 0, &error);
    FUZZ_CHECK(mailbox != NULL);
    search_and_check(mailbox, message);
    mailbox_close(&mailbox);
    message_free(&message);
    g_string_free(text, TRUE);
    end_server();
    config_free(&config);
    return 0;
}
