/* SPDX-License-Identifier: ISC
 *
 * What is decoded without gmime: if decode_plain takes a message, gmime makes the same of it. */
#include "fuzz.h"

#include "../decoded_same.h"
#include "../message_bytes.h"
#include "decode/decode_internal.h"

/* Of what headers are made, plain ones and others: random bytes would hardly ever be plain. */
static const char *const pieces[] = {
    "From: ",
    "To: ",
    "Cc: ",
    "Bcc: ",
    "Sender: ",
    "Reply-To: ",
    "Subject: ",
    "Date: ",
    "References: ",
    "In-Reply-To: ",
    "lisa@mail.example",
    "scuba@MAIL.example",
    "a.b+c@x-y.example",
    "lisa",
    "@",
    "mail.example",
    "Lisa ",
    "Doe",
    " ",
    "  ",
    "\"",
    "\"Doe, Lisa\" ",
    "\"Lisa\" ",
    "<",
    ">",
    "<lisa@mail.example>",
    ",",
    ", ",
    ";",
    ":",
    ".",
    "-",
    "_",
    "'",
    "/",
    "=",
    "\\",
    "(",
    ")",
    "[",
    "]",
    "\r\n",
    "\r\n ",
    "\r\n\t",
    "\t",
    "=?utf-8?q?x?=",
    "=?",
    "?=",
    "xn--",
    "%41",
    "&",
    "a",
    "0",
    "Content-Type: ",
    "text/plain",
    "Text/Plain",
    "text/html",
    "; ",
    "charset=",
    "utf-8",
    "us-ascii",
    "iso-8859-1",
    "utf-7",
    "format=flowed",
    "name=x",
    "Content-Transfer-Encoding: ",
    "7bit",
    "8bit",
    "base64",
    "Content-Disposition: ",
    "inline",
    "Wed, 25 Nov 2026 10:00:00 +0100",
    "<1@mail.example>",
    "\r\n\r\n",
    "Hello",
    "begin 644 x",
    "+AGE-",
    "~{",
    "\x1b(B",
    "undisclosed-recipients:;",
    "\xc3\xa9",
    "\r",
    "\n",
    "X-Other: ",
    "Content-Type: text/plain; charset=utf-8\r\n",
    "From: Lisa <lisa@mail.example>\r\n",
    "To: \"Doe, J.\" <j@mail.example>, k@mail.example\r\n",
    "Subject: hello\r\n",
};

static struct message *assemble(const struct fuzz_input *input, bool from_pieces)
{
    struct message *message = NULL;
    struct error error;
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < input->size; i++) {
        if (from_pieces && input->bytes[i] < 0xe0)
            g_string_append(text, pieces[input->bytes[i] % G_N_ELEMENTS(pieces)]);
        else
            g_string_append_c(text, (char)input->bytes[i]);
    }
    if (message_from_bytes(text->str, text->len, 0, &message, &error) != MESSAGE_OK)
        message = NULL;
    g_string_free(text, TRUE);
    return message;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const enum record_level levels[] = {RECORD_ENVELOPE, RECORD_HEADERS, RECORD_TEXT, RECORD_RAW};
    struct fuzz_input input = {bytes, size};
    uint8_t options = fuzz_option(&input);
    enum record_level level = levels[options & 3];
    struct message *message = assemble(&input, (options & 4) != 0);
    if (message == NULL)
        return 0;
    struct decoded *plain = decode_plain(message, level);
    if (plain != NULL) {
        struct decoded *decoded = decode_message(message, level, NULL, NULL);
        FUZZ_CHECK(same_decoded(plain, decoded));
        decoded_free(&decoded);
    }
    decoded_free(&plain);
    message_free(&message);
    return 0;
}
