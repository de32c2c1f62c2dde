/* SPDX-License-Identifier: ISC
 *
 * A session with MariaDB: the connector's non-blocking calls and poll(2), with a timeout for each wait. A batch is one
 * COM_QUERY of several statements: the connector cannot pipeline, and its prepared statements take a round trip each.
 * The server stops at the first error.
 *
 * No value can end its literal (maria_text.c): digits; X'...' for bytes; '...' for text of letters, digits and a few
 * signs; _utf8mb4 X'...' for other text. None contains a quote, a backslash or a non-ASCII byte, so sql_mode and
 * character set do not matter.
 *
 * Functions without a comment: see sql_engine.h. On false or NULL the error is set. */
#ifndef ONCEDROP_MARIA_H
#define ONCEDROP_MARIA_H

#include <glib.h>
#include <mysql.h>

#include "sql/sql.h"
#include "sql/sql_engine.h"

#define MARIA_RECEIVE_MAX (INT64_C(32) << 20) /* bytes of results per batch */
#define MARIA_OLDEST 101100                   /* oldest server tested */

/* An expected result. */
struct maria_result {
    enum maria_result_kind {
        MARIA_RESULT_PART,    /* of a statement before its step's last, or of no step */
        MARIA_RESULT_STEP,    /* the step's */
        MARIA_RESULT_COMMIT,  /* the step's, of a COMMIT */
        MARIA_RESULT_SITE,    /* the step's, of a site's statement */
        MARIA_RESULT_GUARD,   /* the step's, of claim_guard */
        MARIA_RESULT_SET_UP,  /* the set-up's */
        MARIA_RESULT_NOTHING, /* none: not sent, or shares the previous result */
    } kind;
    const char *column_kinds;
};

struct sql_session {
    MYSQL *mysql;
    bool tls_summary, remote; /* TLS, certificate and name verified; another machine */
    bool on_socket;
    bool set_up; /* set-up was sent */
    bool ready;  /* set-up took effect, else unusable */
    enum lock_method method;
    bool named;    /* @message is the id of `message` */
    bool recorded; /* by this session: @message survives the batch */
    unsigned char message[64];
    GString *recipient; /* @delivery is of this recipient; "": of none */
    bool replied_it;    /* as recorded, for @delivery */
    bool without;       /* no transaction since the last begin_read */
    GString *group;     /* statements that share one result, not yet in text */
    size_t grouped;
    guint group_result;       /* the index of that result */
    bool guarded;             /* until COMMIT, writes depend on claim_guard */
    GString *guarded_prepare; /* what their group prepares, whether it writes or not */
    bool refused;             /* claim_guard was false */
    GString *settings;        /* sent last; "": unknown */
    bool any_durability;      /* database.durability = server */
    GHashTable *prepared;     /* text -> struct prepared (maria_prepared.c) */
    GString *text;            /* unsent part of the batch */
    size_t sent;              /* bytes sent last */
    GString *released;        /* to execute after COMMIT */
    GArray *replies;          /* struct maria_result, in order */
    size_t asked, has_result; /* of these: sent, and read */
    int64_t changed;          /* rows, by the last result */
    bool begun;               /* a result of the last send was read */
    GQueue results;           /* struct sql_rows of steps, in order */
    bool failed;              /* a step failed; error is set */
    struct error error;
    bool lost;                     /* unusable */
    int64_t timeout_ms;            /* of each wait */
    int64_t received, receive_max; /* bytes, of the batch */
};

/* maria_conninfo.c: mariadb:// or mysql://, then USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?OPTION=VALUE&..., with %
 * as in URIs. Defaults: the process's user; the unix socket, also for "localhost"; database "oncedrop". With ssl_ca
 * even a local TCP server is verified. */
struct maria_host {
    char *name;    /* NULL: the unix socket */
    unsigned port; /* 0: the default */
};

struct maria_conninfo {
    char *user, *password, *database;                           /* user, password: or NULL */
    char *socket, *password_file, *ssl_ca, *ssl_cert, *ssl_key; /* or NULL */
    GArray *hosts;                                              /* struct maria_host, at least one; tried in turn */
};

/* The error quotes nothing: an unescaped password may be anywhere. */
struct maria_conninfo *maria_conninfo_new(const char *conninfo, struct error *error) OD_MUST;
void maria_conninfo_free(struct maria_conninfo **conninfo);

char *maria_nth_host(const struct config *config, size_t n, char **ret_name) OD_MUST;
bool maria_login_is_service(const struct config *config) OD_MUST;

/* Returns whether a host is on this machine, by address: a name may resolve to anything. */
bool maria_is_local(const struct maria_host *host) OD_MUST;

/* maria_session.c */

/* Returns an unconnected session. */
struct sql_session *maria_session_new(const struct config *config) OD_MUST;
void maria_session_free(struct sql_session *maria);

/* Returns the statements that begin the first batch, a new string. The last returns a row for maria_is_suitable. */
char *maria_set_up(const struct sql_session *maria) OD_MUST;

/* Returns whether this server may be used. */
bool maria_is_suitable(const struct sql_session *maria, const struct sql_rows *rows, struct error *error) OD_MUST;

/* Returns whether a COMMIT is durable, by the row's first two columns. */
bool maria_is_durable(const struct sql_rows *rows, struct error *error) OD_MUST;

/* maria_connect.c */

/* TLS verifies another machine's identity, unless database.tls = conninfo. Refuses servers other than MariaDB. */
struct sql_session *maria_open(const struct config *config, const char *application, struct error *error) OD_MUST;
void maria_close(struct sql_session *maria);
const char *maria_tls_summary(const struct sql_session *maria, bool *ret_ok) OD_MUST;

/* maria_wire.c */

bool maria_usable(const struct sql_session *maria) OD_MUST;
bool maria_in_transaction(const struct sql_session *maria) OD_MUST; /* precondition: nothing in flight */
void maria_check_connection(struct sql_session *maria);

/* Waits for what the connector's _start or _cont returned; returns the next _cont's argument, or 0 after a timeout;
 * then the session is lost. until: base_now_ms(). */
int maria_wait(struct sql_session *maria, int status, int64_t until) OD_MUST;

/* Marks the session as lost, and shuts its connection down. */
void maria_hang_up(struct sql_session *maria);

/* Sets the error to `what` and the connector's message. The session is lost. Returns false. */
bool maria_lose(struct sql_session *maria, struct error *error, const char *what);

/* Sets the error; its code is the server's number. Returns false. */
bool maria_statement_failed(struct sql_session *maria, struct error *error);

bool maria_send_text(struct sql_session *maria, const char *text, size_t size, struct error *error) OD_MUST;

/* maria_rows.c: reads the next result, or the first. column_kinds: as in struct sql_step_text. */
struct sql_rows *maria_read(struct sql_session *maria, bool first, const char *column_kinds,
                            struct error *error) OD_MUST;

/* maria_result.c: stores results */

struct sql_rows *maria_next(struct sql_session *maria, struct error *error) OD_MUST;

/* Reads what was sent, for maria_next. */
void maria_read_all(struct sql_session *maria);

/* Rolls back: after an error nothing of the transaction may be committed. Whether one is open is unknown. */
void maria_undo(struct sql_session *maria);

/* maria_batch.c */

/* The text of a no-op step, which is not sent. */
#define MARIA_NOTHING "DO 0"

/* column_kinds: of the last statement. */
void maria_add(struct sql_session *maria, const char *text, size_t statements, const char *column_kinds);

/* Adds a step whose rows are not read. Consecutive ones are one compound statement: each result costs a packet and a
 * wakeup. counted: its number of changed rows is needed; only the step begin may precede it. */
void maria_add_write(struct sql_session *maria, const char *text, bool counted);

/* Adds a step whose row decides whether the writes up to the COMMIT are executed, by variable @may_claim. */
void maria_add_guard(struct sql_session *maria, const char *text, const char *column_kinds);

/* Adds a site's statement; the first of its results counts. */
void maria_add_site(struct sql_session *maria, const char *text);

/* Adds what follows COMMIT: a lock released earlier would expose the state before it. */
void maria_add_released(struct sql_session *maria, const char *text);

/* Adds a COMMIT, which shares the previous writes' result. If it fails, the session is lost; except after a conflict
 * with another transaction, which is certain to roll back. */
void maria_add_commit(struct sql_session *maria);

bool maria_send(struct sql_session *maria, struct error *error) OD_MUST;
bool maria_finish(struct sql_session *maria);
bool maria_script(struct sql_session *maria, const char *text, struct error *error) OD_MUST;

/* maria_text.c */

/* Returns a step's statements, a new string. A list becomes items after "IN (", a column of rows after "VALUES (" or
 * "VALUES (@message, " (the next lists: further columns), else JSON. given: receives the values for EXECUTE, and the
 * text a ? for each; or NULL. */
char *maria_text(const char *text, const struct sql_value *values, GString *given) OD_MUST;

/* Returns the number of a step's statements. */
size_t maria_statements(const char *text) OD_MUST;

/* Returns a text that executes only the site's statement, a new string. Replaces $1 outside quotes and comments. */
char *maria_site_text(const char *text, const struct sql_value *value) OD_MUST;

/* maria_prepared.c */

/* Appends the statements of a step, those executed before as prepared. */
void maria_append_prepared(struct sql_session *maria, GString *all, const char *text, const struct sql_value *values);

/* Forgets what is prepared; PREPARE replaces existing names. */
void maria_forget_prepared(struct sql_session *maria);

/* maria_hint.c */
extern const struct sql_failure_code maria_failures[];
char *maria_hint(const struct config *config, const char *role, const struct error *error) OD_MUST;

/* maria_self_test.c */
extern const struct sql_self_tester maria_self_tests[];

#endif
