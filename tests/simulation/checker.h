/* SPDX-License-Identifier: ISC
 *
 * What must hold, checked only by the mailboxes, the answers and the ledger's rows. */
#ifndef ONCEDROP_SIMULATION_CHECKER_H
#define ONCEDROP_SIMULATION_CHECKER_H

#include "imap.h"

/* When the server has stored something: nothing may be there twice. */
void checker_stored(const struct content *content, unsigned account, enum box box);

/* Also check for known open issues: a finished recipient must be finished in the record; and if a Message-ID cannot be
 * searched for, a variant received on another day must find the Sent copy. */
extern bool checker_strict;

/* When a process answers: a success is true now, and nothing bounces because of an error on our side. */
void checker_reply(const struct process *process);

/* When everybody has a final answer and nothing is in progress: everything is there. */
void checker_end(void);

#endif
