/* SPDX-License-Identifier: ISC */

#include <string.h>

#include "message/message_internal.h"

#define HEADER_MAX ((size_t)64 * 1024) /* largest Message-ID field compared */

/* A digest without CRs and final newlines. Initially zero, except for the digest. */
struct loose {
    struct message_digest *digest;
    bool munge; /* header bytes >= 0x80 become X */
    bool in_line, in_body;
    size_t held_lf; /* may be at the end */
};

struct message_comparison {
    const struct message *message;
    const char **forgiven;         /* identity.ignore_headers, and the stores' fields */
    struct message_digest *strict; /* of the candidate; NULL: compare Message-IDs */
    struct loose loose;
    bool has_expected;
    unsigned char expected[2][MESSAGE_DIGEST_SIZE]; /* loose digests, as it is and munged */
    unsigned char *header;
    size_t header_size;           /* HEADER_MAX + 1: too large */
    struct notice_reader *notice; /* NULL: candidates are no notices */
    const unsigned char (*variants)[MESSAGE_DIGEST_SIZE];
    size_t variant_count;
    bool unclear;
};

static void end_loose(struct loose *loose, unsigned char ret[MESSAGE_DIGEST_SIZE])
{
    message_digest_end(loose->digest, ret);
    *loose = (struct loose){.digest = loose->digest};
}

static void release_lf(struct loose *loose)
{
    loose->in_body |= loose->held_lf >= 2 || (loose->held_lf == 1 && !loose->in_line);
    for (; loose->held_lf > 0; loose->held_lf--)
        message_digest_feed(loose->digest, (const unsigned char *)"\n", 1);
}

static void feed_munged(struct loose *loose, const unsigned char *bytes, size_t size)
{
    unsigned char munged[256];

    for (size_t i = 0; i < size;) {
        size_t n = 0;

        while (n < sizeof(munged) && i < size) {
            munged[n++] = bytes[i] >= 0x80 ? 'X' : bytes[i];
            i++;
        }
        message_digest_feed(loose->digest, munged, n);
    }
}

static void feed_loose(struct loose *loose, const unsigned char *bytes, size_t size)
{
    const unsigned char *end = bytes + size;

    while (bytes < end) {
        const unsigned char *run = bytes;

        if (*bytes == '\r' || *bytes == '\n') {
            loose->held_lf += *bytes++ == '\n';
            continue;
        }
        while (bytes < end && *bytes != '\r' && *bytes != '\n')
            bytes++;
        release_lf(loose);
        if (loose->munge && !loose->in_body)
            feed_munged(loose, run, (size_t)(bytes - run));
        else
            message_digest_feed(loose->digest, run, (size_t)(bytes - run));
        loose->in_line = true;
    }
}

/* Returns a new array: ignore, and the fields of mbox stores (Dovecot, GNU mailutils, UW). */
static const char **forgiven_of(const char *const *ignore)
{
    static const char *const store_fields[] = {"X-UID",  "Status",     "X-Status",       "X-Keywords",
                                               "X-IMAP", "X-IMAPbase", "Content-Length", NULL};
    const size_t stores = sizeof(store_fields) / sizeof(*store_fields);
    size_t count = 0;

    while (ignore != NULL && ignore[count] != NULL)
        count++;
    const char **all = base_alloc((count + stores) * sizeof(*all));
    for (size_t i = 0; i < count; i++)
        all[i] = ignore[i];
    memcpy(all + count, store_fields, sizeof(store_fields));
    return all;
}

struct message_comparison *message_comparison_new(const struct message *message, const char *const *ignore)
{
    struct message_comparison *comparison = base_alloc(sizeof(*comparison));

    comparison->message = message;
    comparison->forgiven = forgiven_of(ignore);
    comparison->strict = message_digest_new(ignore);
    comparison->loose.digest = message_digest_new(comparison->forgiven);
    return comparison;
}

struct message_comparison *message_comparison_new_id(const struct message *message)
{
    struct message_comparison *comparison = base_alloc(sizeof(*comparison));

    comparison->message = message;
    comparison->header = base_alloc(HEADER_MAX);
    return comparison;
}

static void feed_content(void *context, const void *bytes, size_t size)
{
    struct message_comparison *comparison = context;

    message_digest_feed(comparison->strict, bytes, size);
    feed_loose(&comparison->loose, bytes, size);
}

struct message_comparison *message_comparison_new_notice(const struct message *message, const char *const *ignore)
{
    struct message_comparison *comparison = message_comparison_new(message, ignore);

    comparison->notice = base_alloc(sizeof(*comparison->notice));
    comparison->notice->attachment = feed_content;
    comparison->notice->context = comparison;
    return comparison;
}

void message_comparison_set_variants(struct message_comparison *comparison,
                                     const unsigned char (*variants)[MESSAGE_DIGEST_SIZE], size_t count)
{
    comparison->variants = variants;
    comparison->variant_count = count;
}

void message_comparison_feed(struct message_comparison *comparison, const void *bytes, size_t size)
{
    if (comparison->notice != NULL) {
        notice_reader_feed(comparison->notice, bytes, size);
    } else if (comparison->strict != NULL) {
        feed_content(comparison, bytes, size);
    } else if (size <= HEADER_MAX && comparison->header_size <= HEADER_MAX - size) {
        memcpy(comparison->header + comparison->header_size, bytes, size);
        comparison->header_size += size;
    } else {
        comparison->header_size = HEADER_MAX + 1;
    }
}

static void expect(struct message_comparison *comparison)
{
    const struct message *message = comparison->message;

    if (comparison->has_expected)
        return;
    for (int munge = 0; munge < 2; munge++) {
        comparison->loose.munge = munge;
        feed_loose(&comparison->loose, message->data, message->size);
        end_loose(&comparison->loose, comparison->expected[munge]);
    }
    comparison->has_expected = true;
}

static bool is_variant(const struct message_comparison *comparison, const unsigned char digest[MESSAGE_DIGEST_SIZE])
{
    for (size_t i = 0; i < comparison->variant_count; i++)
        if (memcmp(comparison->variants[i], digest, MESSAGE_DIGEST_SIZE) == 0)
            return true;
    return false;
}

static enum message_likeness end_content(struct message_comparison *comparison)
{
    unsigned char strict[MESSAGE_DIGEST_SIZE], loose[MESSAGE_DIGEST_SIZE];

    message_digest_end(comparison->strict, strict);
    end_loose(&comparison->loose, loose);
    if (memcmp(strict, comparison->message->digest, sizeof(strict)) == 0)
        return MESSAGE_SAME;
    if (comparison->message->data == NULL) {
        comparison->unclear |= !is_variant(comparison, strict);
        return MESSAGE_OTHER;
    }
    expect(comparison);
    for (int i = 0; i < 2; i++)
        if (memcmp(loose, comparison->expected[i], sizeof(loose)) == 0)
            return MESSAGE_SIMILAR;
    return MESSAGE_OTHER;
}

/* A truncated id equals none in such a header: unfolding leaves at least a third of it. */
_Static_assert(MESSAGE_ID_MAX / 3 > HEADER_MAX, "ids that are cut would be compared");

static enum message_likeness end_id(struct message_comparison *comparison, size_t size)
{
    const struct message *message = comparison->message;
    struct message other = {0};

    msgid_read(comparison->header, size, &other);
    if (other.message_id == NULL)
        return MESSAGE_SIMILAR;
    char *id OD_CLEANUP(base_free) = other.message_id;
    bool same = other.message_id_length == message->message_id_length &&
                memcmp(id, message->message_id, other.message_id_length) == 0;
    return same ? MESSAGE_SAME : MESSAGE_OTHER;
}

enum message_likeness message_comparison_end(struct message_comparison *comparison)
{
    size_t size = comparison->header_size;

    if (comparison->notice != NULL) {
        bool complete = notice_reader_end(comparison->notice);
        return end_content(comparison) == MESSAGE_SAME && complete ? MESSAGE_SAME : MESSAGE_OTHER;
    }
    if (comparison->strict != NULL)
        return end_content(comparison);
    comparison->header_size = 0;
    return size > HEADER_MAX ? MESSAGE_SIMILAR : end_id(comparison, size);
}

bool message_comparison_unclear(const struct message_comparison *comparison)
{
    return comparison != NULL && comparison->unclear;
}

void message_comparison_free(struct message_comparison **comparison)
{
    if (*comparison == NULL)
        return;
    message_digest_free(&(*comparison)->strict);
    message_digest_free(&(*comparison)->loose.digest);
    base_free(&(*comparison)->forgiven);
    base_free(&(*comparison)->header);
    base_free(&(*comparison)->notice);
    base_free(comparison);
}
