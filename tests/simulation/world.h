/* SPDX-License-Identifier: ISC
 *
 * What there is in an episode: messages, their recipients, the jobs of the mail servers that bring them, the processes that
 * deliver, and who made what go wrong. One episode at a time, in one place.
 *
 *     scheduler   virtual time, and who goes on when
 *     faults      what goes wrong at a step of a process, or to everybody
 *     tables      the ledger's rows: what each SQL statement of src/ledger means
 *     database    its sessions, transactions, locks and batches
 *     client      src/ledger/ledger.h on top of that
 *     imap        the mailboxes, and src/mailbox/mailbox.h on top of them
 *     layers      what else src/delivery calls: routes, decoding, clock, log
 *     postfix     jobs: who brings which message for whom, again and again until a reply says that it is done
 *     episode     an episode made from its seed, and run
 *     checker     what must hold
 *     breakage    the protocol broken on purpose
 *     shrink      a failed episode made short */
#ifndef ONCEDROP_SIMULATION_WORLD_H
#define ONCEDROP_SIMULATION_WORLD_H

#include "delivery/delivery.h"
#include "dice.h"
#include "message/message.h"

/* Virtual time is in microseconds. */
#define MS INT64_C(1000)
#define SECOND (1000 * MS)
#define NEVER INT64_MAX

enum {
    HOSTS = 3,
    ACCOUNTS = 6,
    ADDRESSES = 8,
    MESSAGES = 4,
    JOBS = 16,
    RECIPIENTS = 4,
    TARGETS = RECIPIENTS + 1,
    TRIES = 256,
    FAULTS_OF_A_TRY = 2,
    TROUBLES = 8,
    PROCESSES = JOBS,
    FAULTS = JOBS * TRIES * FAULTS_OF_A_TRY + TROUBLES,
    NO_SENDER = 255,
};

enum box { BOX_INBOX, BOX_SENT, BOX_FOLDER, BOXES };

/* The server's verdict on a content, whenever it is delivered. */
enum verdict { VERDICT_GOOD, VERDICT_REFUSED, VERDICT_TOO_BIG };

/* A content. Several may have one Message-ID. */
struct content {
    struct message message;
    unsigned number;
    uint64_t identity, digest;
    char id[24];
    unsigned sender; /* the account with a Sent copy, or NO_SENDER */
    enum verdict verdict;
    size_t forced; /* how often further inbox copies were requested */
    bool again;    /* or may have been, or a search was requested */
    bool bounced;
    bool sent_refused;              /* the server refused the Sent copy for good */
    const struct content *explains; /* NULL: it is no explanation (decode/notice.c) */
};

enum job_kind { JOB_PIPE, JOB_LMTP, JOB_REPLAY };

/* A message for some recipients in one queue. */
struct job {
    unsigned number;
    enum job_kind kind;
    unsigned host;
    struct content *content;
    unsigned addresses[RECIPIENTS];
    bool done[RECIPIENTS];
    size_t count, open;
    enum delivery_redeliver again;
    bool own_login; /* on behalf of a user, about whose mail nothing is believed: no Sent copy */
    int64_t start;
    unsigned tries, faulty_tries;
    bool calm; /* no more faults */
    bool off;  /* left out (shrink.h) */
    struct dice dice;
};

/* What a resident process keeps between messages. */
struct worker {
    struct ledger *ledger;
    struct sessions *sessions;
    bool busy;
};

struct process {
    struct coroutine *coroutine;
    struct job *job;
    struct worker *worker; /* NULL: it ends with its message */
    unsigned number;       /* which try of the job */
    struct dice dice, error_dice;
    int64_t deadline_at;
    int step, error_at[FAULTS_OF_A_TRY];
    bool dead; /* unwinding: nothing that it does has any effect */
    bool struck, peer_closed, decoder_gone;
    bool refused; /* the server's answer may lead to a bounce */
    bool certain; /* its last APPEND certainly stored nothing */
    uint32_t tag; /* of the wake-up it waits for */
    struct batch *waiting;
    struct ledger *ledger;
    struct sessions *sessions;
    struct delivery delivery;
    struct delivery_request request;
    struct delivery_recipient recipients[RECIPIENTS];
    size_t place[RECIPIENTS]; /* of each recipient in the job */
};

struct violation {
    const char *kind; /* NULL: none */
    char text[256];
};

struct world {
    uint64_t seed, episode;
    struct config config;
    int64_t hold_off; /* the required value, us */
    int64_t late_max; /* how long after its client's end a server may still store what it received */
    int folders;      /* the last addresses name a folder, which cannot be made so often (percent); 0: they do not */
    bool lookups;     /* routes are looked up in the database */
    bool delegates;   /* one credential opens every account (delivery/server.c) */
    struct content contents[MESSAGES], explanations[MESSAGES];
    size_t content_count;
    struct job jobs[JOBS];
    size_t job_count, open_jobs;
    size_t calm_jobs;          /* when all are, nothing goes wrong any more */
    int64_t host_clock[HOSTS]; /* by how much a host's wall clock is ahead */
    int64_t host_boot[HOSTS];  /* how often a host was started again, ... */
    int64_t host_start[HOSTS]; /* ... and when */
    bool one_host;             /* the database is on it, too, and has its clock */
    bool database_jumps;       /* with several hosts: its clock is set, and theirs are not */
    struct worker workers[HOSTS][2];
    struct process processes[PROCESSES]; /* each job has one at a time */
    struct process *current;
    struct violation violation;
};

extern struct world world;

/* Names. */
const char *world_address(unsigned number);
const char *world_account(unsigned number);
unsigned world_account_of(unsigned address); /* two addresses belong to an account that also has another */
unsigned world_number(const char *name);     /* of an address or an account */
enum box world_box(const char *mailbox);
const char *world_box_name(enum box box);
enum box world_box_of(unsigned address); /* where its mail goes, or to the INBOX instead */

/* Only the first one counts. */
void world_violation(const char *kind, const char *format, ...) OD_PRINTF(2, 3);

/* A line of the story, if it is printed. */
extern bool world_tells;
void world_tell(const char *format, ...) OD_PRINTF(1, 2);
#define TELL(...) \
    do { \
        if (world_tells) \
            world_tell(__VA_ARGS__); \
    } while (0)

/* Over all episodes. */
struct counts {
    uint64_t episodes, deliveries, struck, replies, stored, duplicates, busy, deferred, bounced, copies;
};
extern struct counts counts;

#endif
