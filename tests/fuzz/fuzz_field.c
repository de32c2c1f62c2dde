/* SPDX-License-Identifier: ISC
 *
 * Header fields and the Message-ID: every byte of a header belongs to exactly one field, and the results do not depend
 * on how the message was read. */
#include "fuzz.h"

#include "message/message.h"
#include "message/message_field.h"

static struct message *build(const struct fuzz_input *input, struct fuzz_cuts cuts)
{
    struct message_builder *builder OD_CLEANUP(message_builder_free) = message_builder_new(0, NULL);
    struct message *message = NULL;
    struct error error;

    for (size_t at = 0, size; at < input->size; at += size) {
        size = fuzz_cut(&cuts, input->size - at);
        FUZZ_CHECK(message_builder_feed(builder, input->bytes + at, size, &error));
    }
    return message_builder_end(builder, &message, &error) == MESSAGE_OK ? message : NULL;
}

/* A line of CRs alone ends a header; without one everything is header. */
static size_t header_size(const unsigned char *bytes, size_t size)
{
    for (size_t line = 0, at; line < size; line = at + 1) {
        bool empty = true;

        for (at = line; at < size && bytes[at] != '\n'; at++)
            empty = empty && bytes[at] == '\r';
        if (empty && at < size)
            return at + 1;
    }
    return size;
}

static size_t check_fields(const struct message *message)
{
    const unsigned char *at = message->data, *end = message->data + message->header_size, *expected = at;
    struct message_field field;
    size_t ids = 0;

    while (message_field_next(&at, end, &field)) {
        FUZZ_CHECK(field.start == expected && field.size > 0 && at == field.start + field.size);
        FUZZ_CHECK(field.name_length < field.size);
        FUZZ_CHECK((const unsigned char *)field.value >= field.start);
        FUZZ_CHECK((const unsigned char *)field.value + field.value_length <= at);
        FUZZ_CHECK(at == end || (*at != ' ' && *at != '\t'));
        for (size_t i = 0; i < field.name_length; i++)
            FUZZ_CHECK(field.start[i] > ' ' && field.start[i] <= '~' && field.start[i] != ':');
        ids += field.name_length == 10 && strncasecmp((const char *)field.start, "Message-ID", 10) == 0;
        expected = at;
    }
    for (; expected < end; expected++) /* the empty line */
        FUZZ_CHECK(*expected == '\r' || *expected == '\n');
    return ids;
}

static enum message_likeness likeness(const struct message *message, const void *header, size_t size)
{
    struct message_comparison *comparison OD_CLEANUP(message_comparison_free) = message_comparison_new_id(message);

    message_comparison_feed(comparison, header, size);
    return message_comparison_end(comparison);
}

/* What was taken for an id is one again when it stands alone. */
static void check_id(const struct message *message)
{
    FUZZ_CHECK(message->message_id_length > 0 && message->message_id_count > 0);
    FUZZ_CHECK(likeness(message, message->data, message->header_size) == MESSAGE_SAME);
    FUZZ_CHECK(memmem(message->message_id, message->message_id_length, "\0", 1) == NULL); /* NUL became 0x80 */
    if (message->message_id_folded)
        return;
    char *field OD_CLEANUP(base_free) = base_printf("Message-ID:<%s>", message->message_id);
    FUZZ_CHECK(likeness(message, field, strlen(field)) == MESSAGE_SAME);
}

/* Without comments the id is what is between the first '<' and the last '>', if that is more than blanks. */
static void check_plain_id(const struct message *message)
{
    struct message_field field;
    const char *open, *close, *at;

    if (!message_field_find(message->data, message->header_size, "Message-ID", &field) ||
        memchr(field.value, '(', field.value_length) != NULL)
        return;
    open = memchr(field.value, '<', field.value_length);
    close = open != NULL ? memrchr(open, '>', (size_t)(field.value + field.value_length - open)) : NULL;
    for (at = open; close != NULL && at + 1 < close && strchr(" \t\r\n", at[1]) != NULL; at++)
        ;
    FUZZ_CHECK((message->message_id != NULL) == (close != NULL && at + 1 < close));
    if (message->message_id != NULL && !message->message_id_folded)
        FUZZ_CHECK(message->message_id_length == (size_t)(close - open - 1) &&
                   memcmp(message->message_id, open + 1, message->message_id_length) == 0);
}

static void check_value(const struct message *message, const char *name)
{
    char *value OD_CLEANUP(base_free) = message_header(message, name);
    struct message_field field;

    FUZZ_CHECK((value != NULL) == message_field_find(message->data, message->header_size, name, &field));
    if (value == NULL)
        return;
    size_t length = strlen(value);
    FUZZ_CHECK(length <= field.value_length);
    FUZZ_CHECK(length == 0 || (strchr(" \t\r\n", value[0]) == NULL && strchr(" \t\r\n", value[length - 1]) == NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    struct fuzz_cuts cuts = fuzz_cuts(&input);
    struct message *complete OD_CLEANUP(message_free) = build(&input, (struct fuzz_cuts){0});
    struct message *cut OD_CLEANUP(message_free) = build(&input, cuts);

    FUZZ_CHECK((complete == NULL) == (cut == NULL));
    if (complete == NULL)
        return 0;
    FUZZ_CHECK(complete->header_size == header_size(complete->data, complete->size));
    FUZZ_CHECK(complete->header_size == cut->header_size && complete->message_id_count == cut->message_id_count);
    FUZZ_CHECK((complete->message_id == NULL) == (cut->message_id == NULL));
    FUZZ_CHECK(check_fields(complete) == complete->message_id_count);
    if (complete->message_id != NULL) {
        FUZZ_CHECK(complete->message_id_length == cut->message_id_length);
        FUZZ_CHECK(memcmp(complete->message_id, cut->message_id, complete->message_id_length) == 0);
        check_id(complete);
    }
    check_plain_id(complete);
    check_value(complete, "Subject");
    check_value(complete, "Received");
    return 0;
}
