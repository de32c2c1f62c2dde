/* SPDX-License-Identifier: ISC
 *
 * The options of all commands. Each command takes those in the SYNOPSIS of its manual page (parse.c). */
#ifndef ONCEDROP_OPTIONS_H
#define ONCEDROP_OPTIONS_H

#include <glib.h>

#include "cmd/format_time.h"

/* Without the option: false, NULL, "" or the default. */
struct options {
    bool json, utc, dry_run;
    bool running;                     /* ledger copy */
    bool send, quick;                 /* check */
    bool non_default, defaults, test; /* config */
    bool digest, verify;              /* show; verify also: replay */
    bool missing;                     /* list */
    bool prometheus;                  /* stats */
    bool force;                       /* replay */
    bool include_deleted;             /* restore */
    bool yes;                         /* forget */
    bool undo, sent_copies;           /* setup */
    const char *state, *recipient, *sender, *mailbox, *subject, *message_id,
        *queue_id;                                         /* list; sender also: replay -f */
    const char *account;                                   /* restore */
    const char *raw;                                       /* export */
    const char *domain, *passed_on;                        /* setup; its script reads `given` */
    GPtrArray *recipients;                                 /* replay */
    const char *mbox;                                      /* replay: the dialect */
    char since[FORMAT_TIME_SIZE], until[FORMAT_TIME_SIZE]; /* as in struct ledger_filter */
    int64_t min_delay_ms;                                  /* list; -1 */
    int64_t older_than_ms;                                 /* purge; 0 */
    int64_t jobs, limit;
    GPtrArray *given; /* all: "--name" or "--name=value" */
};

#endif
