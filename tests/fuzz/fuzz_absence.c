/* SPDX-License-Identifier: ISC
 *
 * Whether a server has lost a message, or its user has deleted it, on a server whose answers are legal but wrong
 * (fuzz_server.h), as `restore` asks (delivery/presence.c).
 *
 * A message counts as lost only if one of four facts shows that. There is no mailbox, it has another UIDVALIDITY, its
 * UIDNEXT is not beyond the UID, or the UID is that of a message with another Message-ID. Where the first three hold, it is
 * lost. Only a server that left something out is an excuse for not knowing. */
#include "../message_bytes.h"
#include "fuzz_server.h"
#include "message/message.h"

/* What is recorded: of one of the messages, of one that is not there any more, or not known. */
struct stored {
    uint32_t uidvalidity, uid;
};

static struct stored draw_stored(void)
{
    uint32_t last = mail_count > 0 ? mails[mail_count - 1].uid : 0;
    struct stored stored = {draw(4) > 0 ? UIDVALIDITY : UIDVALIDITY - 1, draw(8) == 0 ? 0 : 1 + draw(last + 3)};

    missing = seldom();
    uidnext = draw(2) ? last + 1 : 0;
    return stored;
}

static bool is_set_back(const struct stored *stored)
{
    bool known = stored->uid != 0;

    return missing || (known && stored->uidvalidity != UIDVALIDITY) ||
           (known && uidnext != 0 && uidnext <= stored->uid);
}

static bool is_of_another(uint32_t uid)
{
    const struct mail *mail = mails;

    while (mail < mails + mail_count && mail->uid != uid)
        mail++;
    return has_id && mail < mails + mail_count && (mail->kind == KIND_OTHER || mail->kind == KIND_NO_ID);
}

static void ask_and_check(struct mailbox *mailbox, const struct message *message)
{
    struct message_comparison *ids OD_CLEANUP(message_comparison_free) = message_comparison_new_id(message);
    const struct search search = {.mailbox = "INBOX", .by_id = true, .ids = has_id ? ids : NULL};
    struct stored stored = draw_stored();
    bool set_back = is_set_back(&stored);
    struct error error = {.text = ""};

    switch (mailbox_explain_missing(mailbox, &search, stored.uidvalidity, stored.uid, &error)) {
    case SEARCH_MISSING:
        FUZZ_CHECK(set_back || is_of_another(stored.uid));
        break;
    case SEARCH_DELETED:
        FUZZ_CHECK(!set_back);
        break;
    case SEARCH_UNKNOWN:
        FUZZ_CHECK(excusable && error.text[0] != '\0');
        break;
    case SEARCH_PRESENT:
        FUZZ_CHECK(false);
    }
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
    ask_and_check(mailbox, message);
    mailbox_close(&mailbox);
    message_free(&message);
    g_string_free(text, TRUE);
    end_server();
    config_free(&config);
    return 0;
}
