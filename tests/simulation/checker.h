/* SPDX-License-Identifier: ISC
 *
 * What must hold, judged by the mailboxes, the answers and the ledger's rows alone. */
#ifndef ONCEDROP_SIMULATION_CHECKER_H
#define ONCEDROP_SIMULATION_CHECKER_H

#include "imap.h"

/* When the server has stored something: nothing is there twice. */
void checker_stored(const struct content *content, unsigned account, enum box box);

/* What is known to be open is looked for, too: who is told that he is done must be so in the record; and where a Message-ID
 * cannot be searched for, a variant received on another day must find the Sent copy. */
extern bool checker_strict;

/* When a process answers: a success is true now, and nothing bounces for our own trouble. */
void checker_answer(const struct process *process);

/* When everybody has been told that it is done, and nothing is under way any more: everything is there. */
void checker_end(void);

#endif
