/* SPDX-License-Identifier: ISC
 *
 * The delivery protocol as it is built (src/delivery: delivery.c, plan.c, inboxes.c, append.c, sent.c; src/ledger), for an
 * exhaustive check: deliveries of one message that are retried until they succeed, and a world in which whatever can go
 * wrong does, in every order, as often as it likes.
 *
 * WHAT MUST HOLD
 *   - no mailbox ever has two copies (put);
 *   - a recipient is answered with success only when its copy is in its mailbox and the ledger says `stored` (answer);
 *   - when every recipient has been answered with success, the Sent mailbox has its copy (answer);
 *   - nothing gets stuck: no deadlock, and, with -DCALM, once the world stops causing trouble, whatever it has caused,
 *     every delivery succeeds.
 *
 * WHAT STANDS FOR WHAT
 *   worker          a process that delivers; Postfix starts it again until nothing is left in todo[w]
 *   todo[w]         recipients that Postfix still has to deliver by this worker (a set of bits): one for `deliver`,
 *                   one or more for an LMTP transaction
 *   lock            who holds the advisory lock in an open transaction; while a worker believes that it holds it but
 *                   lock says otherwise, its session has ended without its knowing. With -DOWN_KEYS each worker locks a key
 *                   of its own, as if the lock excluded nobody: only the rows are between them
 *   row[c]          table copy: state, by (claimed_by). Copy r is the inbox of recipient r, SENT the Sent copy
 *   row[c].doubt    column doubt of a copy that is pending (one that is appending is in doubt for whoever claims it next)
 *   row[c].fresh    attempt_at is younger than delivery.hold_off, by the database's clock
 *   row[c].owner    the living process whose attempt number and token stand in the row; NOBODY when it has ended or has
 *                   settled. So "WHERE attempt = ours AND claim = ours" is: owner == w
 *   row[c].stored   how many times the message is in the mailbox
 *   current[w]      appends whose literal the server has wholly received and that it has not decided on, of the claim
 *   past[w]         that stands in the row, or of an older one. They survive their process
 *   awaited[w]      the append whose answer the worker still waits for
 *   early[w]        copies of which the server has received all but the last byte, before the claim is committed. It stores
 *                   none of them, whatever becomes of the worker
 *   late...[w]      a COMMIT (of a claim or of a settle) on its way in a connection that was given up: the database may
 *                   still execute it, at any time, even after its process has died. With -DLOCK_ENDS_FIRST a claim on its
 *                   way has no lock, as with a ledger in a file: there another process commits, and the lock is the worker's
 *   wanted, doubt   the plan's targets that are made, and those of them in doubt; sent_owner, sent_waits: struct plan
 *   stored, unknown, new_doubt     what settle writes: `stored`, else `appending` if unknown, else `pending`
 *   ok              recipients whose report is a success
 *
 * WHAT IS LEFT OUT
 *   Time is a flag: a claim's hold-off may end only when the process that made it is done with it (its deadline comes
 *   first) and no append of it is undecided; this is what delivery.deadline and delivery.hold_off have to ensure. The
 *   deadline itself is one of the deaths. Statements of one batch are one step where nothing that others do could come
 *   between them; the two tries of ledger_settle are one, as they write the same. A delivery that meets the lock or a
 *   fresh claim changes nothing and is not made. Attempt numbers are only ever compared with the one in the row, so these
 *   comparisons are kept instead of the numbers: retries and deaths have no bound. Each worker has at most one late
 *   COMMIT at a time; that of a claim keeps its lock until it is executed or dropped. A tagged NO means that the server
 *   stores nothing from then on; one without a code that says so may have come after storing. Not here: permanent
 *   refusals and delivery.sent_expire_after (copies `failed`), other contents with the same Message-ID, copies that mail
 *   programs file or users move, a database that loses commits.
 *
 * BY HAND
 *     spin -a delivery.pml && cc -w -O2 -DSAFETY -o pan pan.c && ./pan -m1000000
 *   says "errors: 0" and how many states there are. With a switch that breaks the protocol, say
 *     spin -a -DNO_SEARCH -DSHORTEST delivery.pml && cc -w -O2 -DSAFETY -DBFS -o pan pan.c && ./pan -m1000000
 *   it writes delivery.pml.trail, the shortest story in which that goes wrong (-DSHORTEST with -DBFS, else any story);
 *     spin -t -DNO_SEARCH -DSHORTEST delivery.pml
 *   tells it in words, and with -p -g every statement and variable. Sets are numbers there: 5 is copies 0 and 2. The
 *   configurations and the switches, with what they mean, stand in the file `run`, which checks them all; `run NO_SEARCH`
 *   tells a story. */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef RECIPIENTS
#define RECIPIENTS 1
#endif
#ifndef TASK0
#define TASK0 1                 /* every worker brings recipient 0 */
#define TASK1 1
#endif

#ifdef WITH_SENT
#define COPIES (RECIPIENTS + 1)
#else
#define COPIES RECIPIENTS
#endif
#define SENT RECIPIENTS
#define INBOXES (BIT(RECIPIENTS) - 1)

#define BIT(n) (1 << (n))
#define HAS(set, n) (((set) >> (n)) & 1)
#define ADD(set, n) set = set | BIT(n)
#define DROP(set, n) set = set & ~BIT(n)

#define NONE 0                  /* states of a copy */
#define PENDING 1
#define APPENDING 2
#define STORED 3

#define NOBODY 9
#define GIVEN_UP(w) (10 + (w))  /* as holder of the lock: a session of w that only the database still knows */

typedef copy_row {
    byte state;
    bool doubt;
    bool fresh;
    byte owner;
    byte by;
    byte stored
}

copy_row row[COPIES];
#ifdef OWN_KEYS
byte locks[WORKERS] = NOBODY;
#define lock locks[w]
#else
byte lock = NOBODY;
#endif
#if defined(OWN_KEYS) || defined(LOCK_ENDS_FIRST)
#define OTHERS_CLAIM            /* although one has looked under its lock */
byte changed[WORKERS];          /* copies that were claimed since it looked */
#endif
byte todo[WORKERS];
byte current[WORKERS];
byte past[WORKERS];
byte awaited[WORKERS];
byte early[WORKERS];

#define NO_COMMIT 0
#define CLAIM 1
#define SETTLE 2
#define CLAIM_IF_NEW 3          /* takes the lock only when it is executed, and does nothing unless the message is new then */
byte late[WORKERS];             /* which COMMIT is late; the rest is what it does */
byte late_copies[WORKERS];      /* those whose row still has the attempt number that it asks for */
byte late_doubt[WORKERS];
byte late_stored[WORKERS];
byte late_unknown[WORKERS];
byte late_by[WORKERS];

#ifdef UNDO_BY_NUMBER
byte once[WORKERS], twice[WORKERS];     /* copies claimed once, or more, since this worker's claim was lost */
#endif

#ifdef SHORTEST
#define hidden                  /* a search for the shortest story takes no hidden variables */
#endif
hidden byte c, v, not_ours;     /* for use within a step */

#ifdef CALM
bool calm = false;
#define TROUBLE !calm
ltl finishes { [] (calm -> <> (todo[0] == 0 && todo[1] == 0 && todo[WORKERS - 1] == 0)) }
#else
#define TROUBLE true
#endif

#ifdef WITHOUT_LATE_COMMITS
#define CAN_BE_LATE(w) false
#else
#define CAN_BE_LATE(w) (TROUBLE && late[w] == NO_COMMIT)
#endif

#ifdef NO_HOLD_OFF
#define FRESH(c) false
#else
#define FRESH(c) (row[c].state == APPENDING && row[c].fresh)
#endif

#if defined(NO_DEADLINE)
#define DEADLINE_OVER(c) true
#elif defined(NEVER_OVER)
#define DEADLINE_OVER(c) false
#else
#define DEADLINE_OVER(c) (row[c].owner == NOBODY)
#endif

#ifdef LATER_THAN_HOLD_OFF
#define LANDED(c) true
#else
#define LANDED(c) (!HAS(current[0] | current[1] | current[WORKERS - 1], c))
#endif

#ifdef NO_SEARCH
#define MUST_SEARCH(n) false
#else
/* A Sent copy that is not in doubt is looked for, too: the protocol must hold without that. */
#define MUST_SEARCH(n) HAS(doubt, n)
#endif

/* What ledger_add_hold counts, and what ledger_settle asks for. */
#if defined(OTHERS_CLAIM) && !defined(CLAIM_BLINDLY)
#define UNCHANGED(n) (!HAS(changed[w], n) && row[n].state != STORED)
#else
#define UNCHANGED(n) true
#endif
#ifdef SETTLE_BLINDLY
#define OURS(n) true
#define OURS_LATE true
#else
#define OURS(n) (row[n].owner == w)
#define OURS_LATE false
#endif
#if defined(WITH_SENT) && RECIPIENTS == 2
#define NEW (row[0].state == NONE && row[1].state == NONE && row[2].state == NONE)
#elif defined(WITH_SENT)
#define NEW (row[0].state == NONE && row[1].state == NONE)
#else
#define NEW (row[0].state == NONE)
#endif
#ifdef GUARD_UNCHECKED
#define MAY_CLAIM true
#else
#define MAY_CLAIM (lock == NOBODY && NEW)
#endif
#ifdef LOCK_ENDS_FIRST
#define LATE_CLAIM_LOCK(w) NOBODY
#else
#define LATE_CLAIM_LOCK(w) GIVEN_UP(w)
#endif
#define HELD(n) (!HAS(wanted, n) || (row[n].owner == w && row[n].state == APPENDING))
#if defined(WITH_SENT) && RECIPIENTS == 2
#define ALL_HELD (HELD(0) && HELD(1) && HELD(2))
#elif defined(WITH_SENT)
#define ALL_HELD (HELD(0) && HELD(1))
#else
#define ALL_HELD HELD(0)
#endif

/* There is more to do for recipient r than to meet a fresh claim. */
#if defined(WITH_SENT) && !defined(NO_OWNER)
#define SENT_WAITS(r) (row[r].state == STORED && FRESH(SENT) && row[SENT].by == (r))
#else
#define SENT_WAITS(r) false
#endif
#define OPEN(r) (HAS(todo[w], r) && !FRESH(r) && !SENT_WAITS(r))
#if RECIPIENTS == 2
#define CAN_GO (OPEN(0) || OPEN(1))
#else
#define CAN_GO OPEN(0)
#endif

#define DIE :: TROUBLE -> goto dead

/* The server stores the message. */
inline put(n)
{
    row[n].stored++;
    printf("    (mailbox %d: stored)\n", n);
    assert(row[n].stored <= 1)
}

/* The server has decided. */
inline land(who, n)
{
    DROP(current[who], n);
    DROP(past[who], n);
    DROP(awaited[who], n)
}

inline forget_late(who)
{
    late[who] = NO_COMMIT;
    late_copies[who] = 0;
    late_doubt[who] = 0;
    late_stored[who] = 0;
    late_unknown[who] = 0;
    late_by[who] = 0
}

/* add_copy of ledger_claim.c: attempt + 1, and what that means to all who know the old number. */
inline claim_row(n, who, recipient)
{
    row[n].state = APPENDING;
    row[n].doubt = false;
    row[n].fresh = true;
    row[n].owner = who;
    row[n].by = ((n) == SENT -> recipient : 0);
    for (v : 0 .. WORKERS - 1) {
#ifdef OTHERS_CLAIM
        ADD(changed[v], n);
#endif
#if defined(LOCK_ENDS_FIRST) && !defined(CLAIM_BLINDLY)
        if
        :: late[v] == CLAIM -> DROP(late_copies[v], n)
        :: else
        fi;
#endif
#ifdef UNDO_BY_NUMBER
        twice[v] = twice[v] | (once[v] & BIT(n));
        ADD(once[v], n);
#endif
        past[v] = past[v] | (current[v] & BIT(n));
        DROP(current[v], n);
        if
        :: late[v] == SETTLE && !OURS_LATE && HAS(late_copies[v], n) ->
            DROP(late_copies[v], n);
            DROP(late_doubt[v], n);
            DROP(late_stored[v], n);
            DROP(late_unknown[v], n);
            if
            :: late_copies[v] == 0 -> late[v] = NO_COMMIT
            :: else
            fi
        :: else
        fi
    }
}

inline claim_rows(set, who, recipient)
{
    for (c : 0 .. COPIES - 1) {
        if
        :: HAS(set, c) && UNCHANGED(c) -> claim_row(c, who, recipient)
        :: else
        fi
    }
}

/* Those that were claimed since it looked are no longer in the set. */
inline claim_late_rows(set, recipient)
{
    for (c : 0 .. COPIES - 1) {
        if
#ifdef LOCK_ENDS_FIRST
        :: HAS(set, c) && row[c].state != STORED -> claim_row(c, NOBODY, recipient)
#else
        :: HAS(set, c) && UNCHANGED(c) -> claim_row(c, NOBODY, recipient)
#endif
        :: else
        fi
    }
}

/* add_copy_state of ledger_settle.c, where attempt and token are ours. */
inline settle_row(n, is_stored, is_unknown, in_doubt)
{
    row[n].state = ((is_stored) -> STORED : ((is_unknown) -> APPENDING : PENDING));
    row[n].doubt = (in_doubt) && row[n].state == PENDING;
    if
    :: row[n].state != APPENDING -> row[n].fresh = false; row[n].by = 0
    :: else
    fi
}

inline settle_rows(set)
{
    not_ours = 0;
    for (c : 0 .. COPIES - 1) {
        if
        :: HAS(set, c) && OURS(c) ->
            settle_row(c, HAS(stored, c), HAS(unknown, c), HAS(new_doubt, c));
            row[c].owner = NOBODY
        :: HAS(set, c) && !OURS(c) -> ADD(not_ours, c)
        :: else
        fi
    }
}

inline release()
{
    lock = (lock == w -> NOBODY : lock)
}

inline want(n)
{
    ADD(wanted, n);
    if
    :: row[n].doubt || row[n].state == APPENDING -> ADD(doubt, n)
    :: else
    fi
}

/* plan_make. */
inline decide()
{
#ifdef OTHERS_CLAIM
    changed[w] = 0;
#endif
#ifdef UNDO_BY_NUMBER
    once[w] = 0;
    twice[w] = 0;
#endif
    for (c : 0 .. RECIPIENTS - 1) {
        if
        :: HAS(todo[w], c) && !FRESH(c) ->
            if
            :: row[c].state == STORED -> ADD(ok, c)
            :: else -> want(c)
            fi;
            sent_owner = (sent_owner == NOBODY -> c : sent_owner)
        :: else
        fi
    }
#ifdef WITH_SENT
    if
    :: row[SENT].state == STORED
    :: row[SENT].state != STORED && FRESH(SENT) ->
#ifndef NO_OWNER
        sent_waits = HAS(todo[w], row[SENT].by);
#endif
#ifndef FIRST_WAITS
        sent_owner = (sent_waits -> row[SENT].by : sent_owner)
#endif
    :: else -> want(SENT)
    fi;
    sent_owner = (HAS(wanted, SENT) || sent_waits -> sent_owner : NOBODY)
#else
    sent_owner = NOBODY
#endif
}

/* take_result for what is certain: this attempt has stored nothing. */
inline certainly_not(n, absent)
{
#ifdef DOUBT_CLEARED_BY_REFUSAL
    skip
#else
    if
    :: HAS(doubt, n) && !(absent) -> ADD(new_doubt, n)
    :: else
    fi
#endif
}

/* take_result for a NO that tells nothing. */
inline perhaps_not(n)
{
#ifdef ANY_NO_IS_CERTAIN
    skip
#else
    ADD(new_doubt, n)
#endif
}

/* The connections of what is begun are closed, or their process dies. */
inline drop_early()
{
#ifdef INCOMPLETE_IS_STORED
    past[w] = past[w] | early[w];
#endif
    early[w] = 0
}

/* An older append of this worker that is still undecided (never so unless the protocol is broken) lands first. */
inline send_literal(n)
{
    if
    :: HAS(current[w] | past[w], n) -> land(w, n); put(n)
    :: else
    fi;
    if
    :: row[n].owner == w -> ADD(current[w], n)
    :: else -> ADD(past[w], n)
    fi;
    awaited[w] = BIT(n);
    DROP(early[w], n);
    DROP(doubt, n)
}

#define SEARCH_OR_NOT(n) (!MUST_SEARCH(n) || row[n].stored == 0)

/* append_copy: to what is known of the copy. */
inline append_copy(n)
{
    if
    :: !HAS(wanted, n)
    :: d_step {
            HAS(wanted, n) && MUST_SEARCH(n) && row[n].stored > 0 -> ADD(stored, n);
            printf("worker %d: finds copy %d\n", w, n)
        }
    :: d_step {
            HAS(wanted, n) && MUST_SEARCH(n) && TROUBLE -> certainly_not(n, false);
            printf("worker %d: cannot search for copy %d\n", w, n)
        }
    :: d_step {
            HAS(wanted, n) && SEARCH_OR_NOT(n) && TROUBLE -> certainly_not(n, MUST_SEARCH(n)); DROP(early[w], n);
            printf("worker %d: appends copy %d (searched before: %d): refused for certain\n", w, n, MUST_SEARCH(n))
        }
    :: d_step {
            HAS(wanted, n) && SEARCH_OR_NOT(n) ->
            printf("worker %d: sends copy %d (searched before: %d)\n", w, n, MUST_SEARCH(n));
            send_literal(n)
        };
        if
        :: d_step {
                land(w, n); put(n); ADD(stored, n); printf("worker %d: append of copy %d is answered OK\n", w, n)
            }
        :: d_step {
                TROUBLE -> ADD(unknown, n); ADD(new_doubt, n); DROP(awaited[w], n);
                printf("worker %d: append of copy %d is not answered\n", w, n)
            }
        :: d_step {
                TROUBLE -> land(w, n); perhaps_not(n);
                printf("worker %d: append of copy %d is answered NO, was not stored\n", w, n)
            }
        :: d_step {
                TROUBLE -> land(w, n); put(n); perhaps_not(n);
                printf("worker %d: append of copy %d is answered NO, but was stored\n", w, n)
            }
        DIE
        fi
    DIE
    fi
}

/* The end of ledger_settle for the copies in set. What it means for the answer: report_copies, retract, sent_report.
 * told: the COMMIT was answered. When nothing more is to be done, the answer is given. */
inline settled(set, told)
{
    release();
    if
    :: told -> ok = ok | (stored & set & INBOXES & ~not_ours)
#ifdef SETTLE_UNCHECKED
    :: !(told) -> ok = ok | (stored & set & INBOXES)
#endif
    :: else
    fi;
    if
    :: HAS(set, SENT) && !(told && HAS(stored & ~not_ours, SENT)) -> DROP(ok, sent_owner)
    :: else
    fi;
    wanted = wanted & ~(set);
    stored = 0;
    unknown = 0;
    new_doubt = 0;
    if
    :: wanted == 0 -> answer()
    :: else
    fi
}

/* ledger_settle. The connection may end before the COMMIT is executed, after it, or while it is on its way. */
inline settle(set)
{
    if
    :: d_step {
            printf("worker %d: settles copies %d: stored %d, unknown %d, doubt %d\n", w, set, stored, unknown, new_doubt);
            settle_rows(set); settled(set, true)
        }
    :: d_step {
            TROUBLE ->
            printf("worker %d: settles copies %d on a new session: stored %d, unknown %d, doubt %d\n", w, set, stored,
                   unknown, new_doubt);
            settle_rows(set); session_lost = true; settled(set, true)
        }
    :: d_step {
            TROUBLE ->
            printf("worker %d: settles copies %d: stored %d, unknown %d, doubt %d, but is not told so\n", w, set, stored,
                   unknown, new_doubt);
            settle_rows(set); session_lost = true; settled(set, false)
        }
    :: d_step {
            TROUBLE -> printf("worker %d: cannot settle copies %d\n", w, set); not_ours = 0; session_lost = true; settled(set, false)
        }
    :: d_step {
            CAN_BE_LATE(w) ->
            printf("worker %d: loses the connection while its settling of copies %d is on its way\n", w, set);
            send_late_settle(set); not_ours = 0; session_lost = true; settled(set, false)
        }
    DIE
    fi
}

inline send_late_settle(set)
{
    for (c : 0 .. COPIES - 1) {
        if
        :: HAS(set, c) && OURS(c) -> ADD(late_copies[w], c); row[c].owner = NOBODY
        :: else
        fi
    }
    if
    :: late_copies[w] != 0 ->
        late[w] = SETTLE;
        late_stored[w] = stored & late_copies[w];
        late_unknown[w] = unknown & late_copies[w];
        late_doubt[w] = new_doubt & late_copies[w]
    :: else
    fi
}

/* What ledger_release writes: as if nothing had been claimed, but what was in doubt stays so. */
inline undone()
{
#ifdef UNDO_CLEARS_DOUBT
    new_doubt = 0;
#else
    new_doubt = doubt;
#endif
#ifdef WAITS_AFTER_HOLD
    sent_waits = false;
#endif
    drop_early()
}

/* The process is gone, and all that only it knew. */
inline forget()
{
    release();
    drop_early();
    awaited[w] = 0;
    for (c : 0 .. COPIES - 1) {
        row[c].owner = (row[c].owner == w -> NOBODY : row[c].owner)
    }
    wanted = 0; doubt = 0; ok = 0; stored = 0; unknown = 0; new_doubt = 0; sent_owner = NOBODY; sent_waits = false;
    session_lost = false
}

/* Postfix is told. A Sent copy that has still to be made, or waited for, keeps its owner from succeeding. */
inline answer()
{
    if
    :: HAS(wanted, SENT) || sent_waits -> DROP(ok, sent_owner)
    :: else
    fi;
    printf("worker %d: success for recipients %d of %d\n", w, ok, todo[w]);
    for (c : 0 .. RECIPIENTS - 1) {
        assert(!HAS(ok, c) || (row[c].stored == 1 && row[c].state == STORED))
    }
    todo[w] = todo[w] & ~ok;
#ifdef WITH_SENT
    assert(todo[0] != 0 || todo[1] != 0 || (row[SENT].stored == 1 && row[SENT].state == STORED));
#endif
    forget()
}

proctype worker(byte w)
{
    byte wanted, doubt, ok, stored, unknown, new_doubt, sent_owner = NOBODY;
    bool sent_waits, session_lost;

    /* ledger_read_state, plan_make; with nothing to make: record. */
again:
    if
    :: todo[w] == 0 -> goto over
    :: d_step {
            todo[w] != 0 && lock == NOBODY && CAN_GO -> decide();
            printf("worker %d: locks; wants copies %d, in doubt %d, duplicate for %d, Sent waits %d\n", w, wanted, doubt,
                   ok, sent_waits); /* and sends all but the last byte of those not in doubt: mailbox_append_begin */
            if
            :: wanted != 0 -> lock = w; early[w] = wanted & INBOXES & ~doubt
            :: else -> answer()
            fi
        }
#ifdef IF_NEW
    /* ledger_claim_if_new. What is refused goes on as above. */
    :: d_step {
            todo[w] != 0 && lock == NOBODY && NEW && CAN_GO -> decide(); claim_rows(wanted, w, sent_owner);
            early[w] = wanted & INBOXES;
            printf("worker %d: claims copies %d as new\n", w, wanted)
        };
        goto hold
    :: d_step {
            todo[w] != 0 && lock == NOBODY && NEW && CAN_GO && TROUBLE -> decide(); claim_rows(wanted, NOBODY, sent_owner);
            printf("worker %d: claims copies %d as new, but is not told so\n", w, wanted)
        };
        goto not_reported
    :: d_step {
            todo[w] != 0 && NEW && CAN_GO && CAN_BE_LATE(w) -> decide();
            late[w] = CLAIM_IF_NEW; late_copies[w] = wanted; late_by[w] = (HAS(wanted, SENT) -> sent_owner : 0);
            printf("worker %d: loses the connection while its claim of copies %d as new is on its way\n", w, wanted)
        };
        goto not_reported
#endif
    fi;

    /* ledger_claim, and of ledger_hold what concerns its COMMIT: whether it was executed may stay unknown. */
    if
    :: wanted == 0 -> goto again
    :: d_step {
            wanted != 0 && lock == w -> claim_rows(wanted, w, sent_owner); lock = NOBODY;
            printf("worker %d: claims copies %d\n", w, wanted)
        }
    :: d_step {
            wanted != 0 && lock == w && TROUBLE -> claim_rows(wanted, NOBODY, sent_owner); lock = NOBODY;
            printf("worker %d: claims copies %d, but is not told so\n", w, wanted)
        };
        goto not_reported
    :: d_step {
            wanted != 0 && lock == w && CAN_BE_LATE(w) ->
            lock = LATE_CLAIM_LOCK(w); late[w] = CLAIM; late_copies[w] = wanted;
            late_by[w] = (HAS(wanted, SENT) -> sent_owner : 0);
            printf("worker %d: loses the connection while its claim of copies %d is on its way\n", w, wanted)
        };
        goto not_reported
    :: d_step {
            wanted != 0 && (lock != w || TROUBLE) -> release();
            printf("worker %d: its session ends before the claim\n", w)
        };
        goto not_reported
    DIE
    fi;

hold:
    /* ledger_hold: the lock again, and the count of what is still ours. Also the reader of our answer that is gone. */
    if
    :: d_step { lock == NOBODY && ALL_HELD -> lock = w; printf("worker %d: locks again\n", w) }
    :: d_step { TROUBLE || (lock == NOBODY && !ALL_HELD) -> undone(); printf("worker %d: cannot hold\n", w) };
        goto undo
    DIE
    fi;

    /* deliver_inboxes: append, one COMMIT for what is known, and with it, on the first session, the hold for Sent. */
inboxes:
    if
    :: (wanted & INBOXES) == 0 -> goto sent
    :: (wanted & INBOXES) != 0
    fi;
    append_copy(0);
#if RECIPIENTS == 2
    append_copy(1);
#endif
    settle(wanted & INBOXES);
    if
    :: wanted == 0 -> goto again
    :: d_step {
            wanted != 0 && !session_lost && lock == NOBODY && ALL_HELD -> lock = w;
            printf("worker %d: locks for Sent\n", w)
        };
        goto sent
    :: d_step {
            wanted != 0 && (session_lost || TROUBLE || (lock == NOBODY && !ALL_HELD)) -> undone();
            printf("worker %d: cannot hold Sent\n", w)
        };
        goto undo
    DIE
    fi;

    /* sent_deliver */
sent:
    append_copy(SENT);
    settle(BIT(SENT));
    goto again;

    /* ledger_release, of a claim that is known to stand: nothing was sent. */
undo:
    settle(wanted);
    goto again;

not_reported:
#ifdef COMMIT_UNCHECKED
    goto inboxes;
#endif
#ifdef UNDO_BY_NUMBER
    if
    :: d_step {
            true ->
            for (c : 0 .. COPIES - 1) {
                if
                :: HAS(wanted & once[w] & ~twice[w], c) ->
                    settle_row(c, false, false, HAS(doubt, c));
                    printf("worker %d: undoes the claim of copy %d\n", w, c)
                :: else
                fi
            }
        }
    fi;
#endif
    if
    :: d_step { true -> undone(); answer() };
        goto again
    DIE
    fi;

dead:
    if
    :: d_step { true -> printf("worker %d: dies\n", w); forget() }
    fi;
    goto again;
over:
    skip
}

/* The time since a claim. Its process had the deadline before it. */
proctype hold_off(byte n)
{
end:
    do
    :: d_step {
            row[n].state == APPENDING && row[n].fresh && DEADLINE_OVER(n) && LANDED(n) -> row[n].fresh = false;
            printf("    (copy %d: the hold-off is over)\n", n)
        }
    od
}

/* An append that the server has and whose client is gone: stored, now or later, or never. */
proctype server(byte w; byte n)
{
end:
    do
    :: d_step { HAS((current[w] | past[w]) & ~awaited[w], n) -> land(w, n); put(n) }
    :: d_step {
            HAS((current[w] | past[w]) & ~awaited[w], n) -> land(w, n);
            printf("    (mailbox %d: append of worker %d dropped)\n", n, w)
        }
    od
}

/* A COMMIT whose client is gone: executed, now or later, or never. */
proctype database(byte w)
{
end:
    do
    :: d_step {
            late[w] == CLAIM && (LATE_CLAIM_LOCK(w) == NOBODY || lock == GIVEN_UP(w)) ->
            printf("    (late claim of copies %d by worker %d is executed)\n", late_copies[w], w);
            lock = (lock == GIVEN_UP(w) -> NOBODY : lock);
            claim_late_rows(late_copies[w], late_by[w]);
            forget_late(w)
        }
    :: d_step {
            late[w] == CLAIM_IF_NEW && MAY_CLAIM ->
            printf("    (late claim of copies %d as new by worker %d is executed)\n", late_copies[w], w);
            for (c : 0 .. COPIES - 1) {
                if
                :: HAS(late_copies[w], c) -> claim_row(c, NOBODY, late_by[w])
                :: else
                fi
            }
            forget_late(w)
        }
    :: d_step {
            late[w] == SETTLE ->
            printf("    (late settling of copies %d by worker %d is executed)\n", late_copies[w], w);
            for (c : 0 .. COPIES - 1) {
                if
                :: HAS(late_copies[w], c) ->
                    settle_row(c, HAS(late_stored[w], c), HAS(late_unknown[w], c), HAS(late_doubt[w], c))
                :: else
                fi
            }
            forget_late(w)
        }
    :: d_step {
            late[w] != NO_COMMIT -> forget_late(w); lock = (lock == GIVEN_UP(w) -> NOBODY : lock);
            printf("    (late COMMIT of worker %d is dropped)\n", w)
        }
    od
}

/* A session that ends while its process goes on. */
proctype sessions(byte w)
{
end:
    do
    :: d_step { TROUBLE && lock < NOBODY -> printf("    (session of worker %d ends)\n", lock); lock = NOBODY }
    od
}

init {
    byte i, k;
    atomic {
        for (i : 0 .. COPIES - 1) {
            row[i].owner = NOBODY;
            run hold_off(i)
        }
#ifndef OWN_KEYS
        run sessions(0);
#endif
        for (i : 0 .. WORKERS - 1) {
#ifdef OWN_KEYS
            run sessions(i);
#endif
            todo[i] = (i == 1 -> TASK1 : TASK0);
            run worker(i);
            run database(i);
            for (k : 0 .. COPIES - 1) {
                run server(i, k)
            }
        }
        i = 0;
        k = 0
    }
#ifdef CALM
    calm = true
#endif
}
