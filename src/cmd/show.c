/* SPDX-License-Identifier: ISC */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/table.h"
#include "ledger/ledger_query.h"
#include "message/message.h"

/* 64 hexadecimal digits to 32 bytes. */
static bool parse_digest(const char *text, unsigned char digest[MESSAGE_DIGEST_SIZE])
{
    if (strlen(text) != 2 * MESSAGE_DIGEST_SIZE || strspn(text, "0123456789abcdefABCDEF") != 2 * MESSAGE_DIGEST_SIZE)
        return false;
    for (size_t i = 0; i < MESSAGE_DIGEST_SIZE; i++) {
        unsigned int byte;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            return false;
        digest[i] = (unsigned char)byte;
    }
    return true;
}

static bool print_part(const char *title, struct ledger_table *table, const struct fault *fault)
{
    if (table == NULL)
        return cmd_fail(0, "%s", fault->text) != 0;
    if (table->rows > 0)
        printf("\n%s\n", title);
    table_print(stdout, table);
    ledger_table_free(&table);
    return true;
}

static bool print_message(struct ledger *ledger, const struct ledger_table *messages, size_t row)
{
    struct fault fault;
    const char *id = ledger_cell(messages, row, 0);
    putchar('\n');
    table_print_row(stdout, messages, row);
    return print_part("deliveries", ledger_deliveries(ledger, id, &fault), &fault) &&
           print_part("copies", ledger_copies(ledger, id, &fault), &fault) &&
           print_part("parts", ledger_parts(ledger, id, &fault), &fault);
}

/* Messages that share an id but not the content are delivered each: say so, for it is asked most. */
static void explain(const struct ledger_table *messages)
{
    bool same = messages->rows > 1;
    for (size_t row = 1; row < messages->rows; row++)
        same = same && strcmp(ledger_cell(messages, row, 3), ledger_cell(messages, 0, 3)) == 0;
    if (same)
        printf("\n%zu messages have this Message-ID and differ in content (digest): each was delivered on its own.\n",
               messages->rows);
}

int cmd_show(const struct cmd_options *options, int argc, char **argv)
{
    struct config *config OD_CLEANUP(config_free) = NULL;
    struct ledger *ledger OD_CLEANUP(ledger_close) = NULL;
    struct ledger_table *messages OD_CLEANUP(ledger_table_free) = NULL;
    unsigned char identity[MESSAGE_DIGEST_SIZE], digest[MESSAGE_DIGEST_SIZE];
    struct fault fault;
    if (argc != 2)
        return cmd_usage("show");
    int status = cmd_open(options, &config, NULL);
    if (status != 0)
        return status;
    char *id OD_CLEANUP(base_free) = base_strdup(argv[1]);
    size_t length = strlen(id);
    if (length >= 2 && id[0] == '<' && id[length - 1] == '>') {
        memmove(id, id + 1, length - 2);
        id[length -= 2] = '\0';
    }
    char escaped[2048];
    message_identity(config->lock.namespace, id, length, identity);
    printf("id: %s\nlock_key: %" PRId64 "\n", log_escape(id, escaped, sizeof(escaped)), message_lock_key(identity));
    fflush(stdout);
    ledger = ledger_open(config, NULL, &fault);
    if (ledger != NULL)
        messages = ledger_find_messages(ledger, identity, parse_digest(id, digest) ? digest : NULL, id, &fault);
    if (messages == NULL)
        return cmd_fail(EX_UNAVAILABLE, "%s", fault.text);
    if (messages->rows == 0) {
        puts("\nno message with this Message-ID, digest or queue id is known");
        return 1;
    }
    for (size_t row = 0; row < messages->rows; row++)
        if (!print_message(ledger, messages, row))
            return EX_UNAVAILABLE;
    explain(messages);
    return 0;
}
