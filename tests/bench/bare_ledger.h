/* SPDX-License-Identifier: ISC
 *
 * The ledger of bare_delivery.c. Each function ends the process with the first error. */
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct bare_message {
    char hash[32]; /* stands for identity and digest */
    int64_t claim;
    const char *message_id, *account;
    const char *text; /* of its only part */
    int text_size;
    int64_t size;
};

/* kept: by a process that delivers many messages. */
void ledger_open(const char *where, int kept);

/* Takes the lock, and records the message, its delivery and its copy as begun; durable when it returns. */
void ledger_claim(const struct bare_message *message);

/* Records the copy as stored; durable when it returns. */
void ledger_settle(unsigned uidvalidity, unsigned uid);

void ledger_close(void);
