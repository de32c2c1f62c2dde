/* SPDX-License-Identifier: ISC
 *
 * As GLib's GVariant has it: start, queue id or nothing, sender, recipients with their original address or nothing, message. */
#include "lmtp/lmtp_parcel.h"

#include <string.h>

#include "message/message_builder.h"

#define PARCEL "(xm^ay^aya(aymay)@ay)"
#define PARCEL_BORROWED "(xm^&ay^&aya(aymay)@ay)"
#define PARCEL_TYPE "(xmayaya(aymay)ay)"

GBytes *lmtp_parcel_pack(const struct lmtp_transaction *transaction, const struct message *message, int64_t started_ms)
{
    g_auto(GVariantBuilder) recipients;
    g_variant_builder_init(&recipients, G_VARIANT_TYPE("a(aymay)"));
    for (guint i = 0; i < transaction->recipients->len; i++) {
        const struct lmtp_recipient *it = &g_array_index(transaction->recipients, struct lmtp_recipient, i);
        g_variant_builder_add(&recipients, "(^aym^ay)", it->path, it->original);
    }
    GVariant *data = g_variant_new_from_data(G_VARIANT_TYPE_BYTESTRING, message->data, message->size, TRUE, NULL, NULL);
    g_autoptr(GVariant) parcel = g_variant_ref_sink(
        g_variant_new(PARCEL, (gint64)started_ms, transaction->queue_id, transaction->sender, &recipients, data));
    return g_variant_get_data_as_bytes(parcel);
}

/* The message is as it was: what makes it one has been done already, and changes nothing now. */
static bool build_message(const struct config *config, GVariant *data, struct message **ret)
{
    struct fault fault;
    gsize size;
    const void *bytes = g_variant_get_fixed_array(data, &size, 1);
    struct message_builder *builder OD_CLEANUP(message_builder_free) =
        message_builder_new(0, (const char *const *)config->identity.ignore);
    message_builder_no_from_line(builder);
    return message_builder_feed(builder, bytes, size, &fault) &&
           message_builder_end(builder, ret, &fault) == MESSAGE_OK;
}

bool lmtp_parcel_unpack(const struct config *config, const void *bytes, size_t size, struct lmtp_transaction *ret,
                        struct message **ret_message, int64_t *ret_started_ms)
{
    g_autoptr(GVariant) parcel =
        g_variant_ref_sink(g_variant_new_from_data(G_VARIANT_TYPE(PARCEL_TYPE), bytes, size, FALSE, NULL, NULL));
    g_autoptr(GVariant) data = NULL;
    g_autoptr(GVariantIter) recipients = NULL;
    const char *queue_id, *sender;
    char *path, *original;
    gint64 started_ms;
    struct lmtp_transaction transaction OD_CLEANUP(lmtp_transaction_clear) = lmtp_transaction_new(NULL, 0);
    if (!g_variant_is_normal_form(parcel))
        return false;
    g_variant_get(parcel, PARCEL_BORROWED, &started_ms, &queue_id, &sender, &recipients, &data);
    transaction.sender = base_strdup(sender);
    transaction.queue_id = queue_id != NULL ? base_strdup(queue_id) : NULL;
    while (g_variant_iter_next(recipients, "(^aym^ay)", &path, &original)) {
        struct lmtp_recipient recipient = {.path = path, .original = original};
        struct fault fault;
        bool valid = address_parse(path, &recipient.address, &fault);
        g_array_append_val(transaction.recipients, recipient);
        if (!valid)
            return false;
    }
    if (transaction.recipients->len == 0 || !build_message(config, data, ret_message))
        return false;
    *ret = transaction;
    transaction = lmtp_transaction_new(NULL, 0);
    *ret_started_ms = started_ms;
    return true;
}
