/* SPDX-License-Identifier: ISC
 *
 * The mailboxes. */
#ifndef ONCEDROP_SIMULATION_IMAP_H
#define ONCEDROP_SIMULATION_IMAP_H

#include "world.h"

enum { STORED_MAX = 64 };

struct stored {
    const struct content *content;
    int64_t internal_date;
    uint32_t uid;
};

struct box_content {
    size_t count;
    struct stored stored[STORED_MAX];
};

void imap_clear(void);

/* All sessions end. */
void imap_restart(void);

/* Whose session it is, and whether it has ended. */
struct mailbox;
unsigned imap_account(const struct mailbox *mailbox) OD_MUST;
bool imap_is_lost(const struct mailbox *mailbox) OD_MUST;

const struct box_content *imap_box(unsigned account, enum box box) OD_MUST;

/* How many copies there are of this content or, with by_id, of its Message-ID. */
size_t imap_count(unsigned account, enum box box, const struct content *content, bool by_id) OD_MUST;

#endif
