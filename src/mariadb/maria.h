/* SPDX-License-Identifier: ISC
 *
 * A session with MariaDB on which every wait has a limit (the connector's non-blocking calls and poll). A batch is one text
 * of several statements, COM_QUERY with CLIENT_MULTI_STATEMENTS, and so one round trip: the connector does not let a second
 * query follow before the answers to the first are read, and what its API prepares is a round trip of its own. The server
 * executes the statements one after the other, answers each, and stops at the first that fails; what a delivery writes it
 * answers once (maria_add_write). A delivery takes three round trips: look, claim with hold, settle; what a session must be
 * is set at the beginning of its first.
 *
 * No value can end its literal (maria_text.c): numbers are digits; bytes are hexadecimal digits between X' and '; a text of
 * letters, digits and a few signs stands between '...', every other is hexadecimal, too, behind _utf8mb4. None of these has a
 * quote, a backslash or a byte beyond ASCII in it, so that they mean the same in every sql_mode and character set that the
 * session may have, and nothing has to be escaped as the server has it just then.
 *
 * Functions that have their like in sql_engine.h do what is said there, or in sql.h. */
#ifndef ONCEDROP_MARIA_H
#define ONCEDROP_MARIA_H

#include <glib.h>
#include <mysql.h>

#include "sql/sql.h"
#include "sql/sql_engine.h"

#define MARIA_RECEIVE_MAX (INT64_C(32) << 20) /* maximum bytes of the results of a batch */
#define MARIA_OLDEST 101100                   /* the oldest server that this was tested with, as the connector has it */

/* An answer that is to come. */
struct maria_answer {
    enum maria_answer_kind {
        MARIA_ANSWER_PART,    /* of a statement that is not its step's last, or of no step */
        MARIA_ANSWER_STEP,    /* the step's result */
        MARIA_ANSWER_COMMIT,  /* the same, of a COMMIT */
        MARIA_ANSWER_SITE,    /* the same, of the site's own statement */
        MARIA_ANSWER_SET_UP,  /* what the session is */
        MARIA_ANSWER_NOTHING, /* none: the step was not sent, or is answered with the one before */
    } kind;
    const char *gives; /* of a step */
};

struct sql_session {
    MYSQL *mysql;
    bool secured, remote; /* by TLS, certificate and name verified; on another machine */
    bool on_socket;       /* a unix socket */
    bool set_up;          /* the session's settings were sent */
    bool ready;           /* and have taken effect: else the session is of no use */
    enum lock_method method;
    bool named;    /* @message is the number of the message with this identity and digest */
    bool recorded; /* by this session, so that it is there in the next batch, too */
    unsigned char message[64];
    GString *recipient;     /* then @delivery is that of its delivery to this one; "": it is not */
    bool answered_it;       /* recorded by this session, likewise */
    bool without;           /* since the last begin_look there is no transaction to commit */
    GString *group;         /* of the batch: statements that are to be answered as one, not yet part of text */
    size_t grouped;         /* how many */
    guint group_answer;     /* which one */
    GString *settings;      /* the text that has set what transactions need; "": not known */
    bool any_durability;    /* database.durability = server */
    GHashTable *prepared;   /* struct prepared by text (maria_prepared.c) */
    GString *text;          /* of the batch, what is not sent yet */
    size_t sent;            /* bytes of what was sent last */
    GString *released;      /* of the transaction: what is to follow its COMMIT */
    GArray *answers;        /* of the batch: struct maria_answer, in their order */
    size_t asked, answered; /* how many of these belong to what was sent, and were read */
    int64_t changed;        /* rows, by the last answer */
    bool begun;             /* an answer to what was sent last was read: more follow */
    GPtrArray *results;     /* of the batch: struct sql_rows by mark; NULL: taken */
    size_t added;           /* to the batch: steps, executed or not */
    bool failed;            /* a step of the batch has; the fault says why, and results ends there */
    bool told;              /* the caller has the fault */
    struct fault fault;
    bool lost;                     /* not to be used any more */
    int64_t timeout_ms;            /* limit of each wait for the server */
    int64_t received, receive_max; /* of the batch, in bytes */
};

/* maria_conninfo.c: mariadb://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?OPTION=VALUE&..., with % as in URIs; mysql:// is the
 * same. All is optional: the user is that of the process; without a host, or with "localhost", the server is reached by its
 * unix socket; the database is "oncedrop". Options: socket, password_file, ssl_ca, ssl_cert, ssl_key. A server named by an
 * address is verified if ssl_ca is given, wherever it is. */
struct maria_host {
    char *name;    /* NULL: the unix socket */
    unsigned port; /* 0: the default */
};

struct maria_conninfo {
    char *user, *password, *database;                           /* user, password: NULL if not given */
    char *socket, *password_file, *ssl_ca, *ssl_cert, *ssl_key; /* NULL if not given */
    GArray *hosts;                                              /* struct maria_host, at least one; tried in turn */
};

/* NULL with the fault set. It shows nothing of the conninfo, for a password that was not escaped may be anywhere. */
struct maria_conninfo *maria_conninfo_new(const char *conninfo, struct fault *fault) OD_MUST;
void maria_conninfo_free(struct maria_conninfo **conninfo);

char *maria_nth_host(const struct config *config, size_t n, char **ret_name) OD_MUST;
bool maria_login_is_service(const struct config *config) OD_MUST;

/* Whether a connection to this host stays within this machine, by what it is called: an address, for a name may lead
 * anywhere. */
bool maria_is_local(const struct maria_host *host) OD_MUST;

/* maria_session.c */

/* One that is not connected yet. */
struct sql_session *maria_session_new(const struct config *config) OD_MUST;
void maria_session_free(struct sql_session *maria);

/* What the session's first batch begins with, a new string: statements, of which the last gives a row for
 * maria_is_fit. */
char *maria_set_up(const struct sql_session *maria) OD_MUST;

/* Whether mail may be delivered with this server, by the row that the set-up gives; else the fault says what to do. */
bool maria_is_fit(const struct sql_session *maria, const struct sql_rows *rows, struct fault *fault) OD_MUST;

/* Whether a COMMIT is on the disk when it is answered; likewise, by its first two columns. */
bool maria_is_durable(const struct sql_rows *rows, struct fault *fault) OD_MUST;

/* maria_connect.c */

/* Connects to the first host that answers. Another machine must prove by TLS who it is, unless database.tls = conninfo. A
 * server that is not MariaDB is refused. */
struct sql_session *maria_open(const struct config *config, const char *application, struct fault *fault) OD_MUST;
void maria_close(struct sql_session *maria);
const char *maria_secured(const struct sql_session *maria, bool *ret_good) OD_MUST;

/* maria_wire.c */

bool maria_usable(const struct sql_session *maria) OD_MUST;
bool maria_in_transaction(const struct sql_session *maria) OD_MUST; /* when nothing is under way */
void maria_look(struct sql_session *maria);

/* Waits until the connector's call can go on: what its _start or _cont returned, for its next _cont. 0: not in time, and the
 * session is lost. until: base_now_ms(). */
int maria_wait(struct sql_session *maria, int status, int64_t until) OD_MUST;

/* Marks the session as lost, and ends its connection. */
void maria_hang_up(struct sql_session *maria);

/* Sets the fault to `what` and the connector's message, and marks the session as lost. Always false. */
bool maria_lose(struct sql_session *maria, struct fault *fault, const char *what);

/* Sets the fault and its code, the server's number of the error. Always false. */
bool maria_statement_failed(struct sql_session *maria, struct fault *fault);

bool maria_send_text(struct sql_session *maria, const char *text, size_t size, struct fault *fault) OD_MUST;

/* maria_rows.c: reads the next answer to what was sent. first: there was none before. gives: as struct sql_step_text has it.
 * NULL with the fault set. */
struct sql_rows *maria_read(struct sql_session *maria, bool first, const char *gives, struct fault *fault) OD_MUST;

/* maria_answer.c: answers to what was sent, kept in results */

/* Reads until this step's is there; false: it is that of a failure, or an earlier one was. */
bool maria_read_until(struct sql_session *maria, size_t mark) OD_MUST;

/* Reads the rest. */
void maria_read_all(struct sql_session *maria);

/* Rolls back. A transaction of which a statement has failed cannot go on: what its other statements did must not be committed.
 * Whether one is open is not known, for an error does not say so. */
void maria_undo(struct sql_session *maria);

/* maria_batch.c */

/* The text of a step that does nothing, which is not sent. */
#define MARIA_NOTHING "DO 0"

/* gives: of the text's last statement. statements: how many it has. */
void maria_add(struct sql_session *maria, const char *text, size_t statements, const char *gives);

/* A step of which nobody takes rows. Several that follow each other are sent as one compound statement, with one answer: each
 * answer costs the server a packet, and wakes us. counted: how many rows it changes will be asked for; before it there is at
 * most the beginning of the transaction. */
void maria_add_write(struct sql_session *maria, const char *text, bool counted);

/* The site's own statement, with as many results as it likes: the first is its step's. */
void maria_add_site(struct sql_session *maria, const char *text);

/* What is to be executed once the transaction is committed: to release a lock before that would let others see what was
 * before it. */
void maria_add_released(struct sql_session *maria, const char *text);

/* A COMMIT, and what was added for it, answered with what was written before. If that fails, the session is lost, for what is
 * committed is not known; but not if it conflicts with another transaction: that is certain. */
void maria_add_commit(struct sql_session *maria);

bool maria_send(struct sql_session *maria, struct fault *fault) OD_MUST;
size_t maria_mark(const struct sql_session *maria) OD_MUST;
struct sql_rows *maria_take(struct sql_session *maria, size_t mark, struct fault *fault) OD_MUST;
bool maria_passed(struct sql_session *maria, size_t mark, struct fault *fault) OD_MUST;
bool maria_finish(struct sql_session *maria);
bool maria_script(struct sql_session *maria, const char *text, struct fault *fault) OD_MUST;

/* maria_text.c */

/* The statements of a step for these values, a new string. A list stands behind "IN (" as its items, behind "VALUES (" or
 * "VALUES (@message, " as a column of as many rows as it has items, of which the lists that follow are the others, and
 * elsewhere as JSON. given: the values are appended to it, for EXECUTE, and ? stands for each; NULL: they stand in the text. */
char *maria_text(const char *text, const struct sql_value *values, GString *given) OD_MUST;

/* How many statements a step has. */
size_t maria_statements(const char *text) OD_MUST;

/* A statement of the site's own, with $1 outside of its quotes and comments for the value, as one that executes it and
 * nothing else: a new string. */
char *maria_site_text(const char *text, const struct sql_value *value) OD_MUST;

/* maria_prepared.c */

/* Appends the statements of a step that a session executes for each message. Those that it has executed before are prepared. */
void maria_append_prepared(struct sql_session *maria, GString *all, const char *text, const struct sql_value *values);

/* What is prepared is not known any more: it is prepared anew, which replaces what there may be. */
void maria_forget_prepared(struct sql_session *maria);

/* maria_remedy.c */
enum sql_failure maria_failure(const struct fault *fault) OD_MUST;
void maria_add_remedy(const struct config *config, const char *role, struct fault *fault);

/* maria_prove.c */
enum sql_proof maria_prove(const struct config *config, bool connects, size_t n, const char **ret_name,
                           struct fault *ret) OD_MUST;

/* maria_schema.c */
int maria_schema_needed(void) OD_MUST;
char *maria_schema_sql(const struct config *config, int from) OD_MUST;
const char *maria_schema_begin(bool alone) OD_MUST;

#endif
