/* SPDX-License-Identifier: ISC */
#include "delivery/preview.h"

/* Why this copy is to be made. */
static const char *reason(const struct delivery_work *work, const struct ledger_copy *copy)
{
    switch (copy->state) {
    case COPY_NONE:
        return work->claim.known ? "a mailbox that this message is not in yet" : "a message that is not known yet";
    case COPY_PENDING:
        return copy->doubt ? "recorded, perhaps stored: the mailbox is searched first" : "recorded, but not stored yet";
    case COPY_APPENDING:
        return "its last attempt was cut off: the mailbox is searched first";
    case COPY_STORED:
        return "once more, although it is stored";
    case COPY_FAILED:
        break;
    }
    return "refused before";
}

void preview_report(struct delivery_work *work)
{
    struct delivery *delivery = work->delivery;
    for (size_t i = 0; i < delivery->recipient_count; i++) {
        struct delivery_recipient *recipient = &delivery->recipients[i];
        if (recipient->copy == COPIES_NO_COPY || recipient->report.text[0] != '\0')
            continue;
        const struct ledger_copy *copy = &work->copies[recipient->copy];
        if (copy->state == COPY_STORED && delivery->again == AGAIN_VERIFY)
            report_set(&recipient->report, OUTCOME_DUPLICATE, "stored in mailbox=%s, which would be searched for it",
                       copy->mailbox);
        else
            report_set(&recipient->report, OUTCOME_STORED, "would be stored in mailbox=%s (%s)", copy->mailbox,
                       reason(work, copy));
    }
}
