/* SPDX-License-Identifier: ISC
 *
 * The line that says what became of a recipient. */
#include "base/log.h"
#include "delivery/delivery.h"

void delivery_log(const struct delivery *delivery)
{
    const struct message *message = delivery->message;
    /* so that a long value cuts none but the text off the line */
    char id[512], to[384], account[320], mailbox[320], queue_id[128], text[2048];
    log_escape_field(message->message_id != NULL ? message->message_id : "", id, sizeof(id));
    log_escape_field(delivery->queue_id != NULL ? delivery->queue_id : "NOQUEUE", queue_id, sizeof(queue_id));
    for (size_t i = 0; i < delivery->recipient_count; i++) {
        const struct delivery_recipient *recipient = &delivery->recipients[i];
        const struct outcome_row *row = outcome_row(recipient->report.outcome);
        const struct route *route = &recipient->route;
        log_info(
            "%s: message-id=<%s>, to=<%s>, account=%s, mailbox=%s, uid=%u, size=%zu, delay=%.3f,"
            " delays=%.3f/%.3f/%.3f/%.3f, dsn=%s, status=%s (%s)",
            queue_id, id, log_escape_field(recipient->address, to, sizeof(to)),
            log_escape_field(route->account != NULL ? route->account : "", account, sizeof(account)),
            log_escape_field(route->inbox != NULL ? route->inbox : "", mailbox, sizeof(mailbox)), recipient->uid,
            message->size, (double)(base_now_ms() - delivery->started_ms) / 1000, (double)delivery->read_ms / 1000,
            (double)delivery->lock_ms / 1000, (double)delivery->imap_ms / 1000, (double)delivery->settle_ms / 1000,
            row->dsn, row->status, log_escape_text(recipient->report.text, text, sizeof(text)));
    }
}
