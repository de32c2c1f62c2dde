/* SPDX-License-Identifier: ISC
 *
 * The settings. One table (config_table.c) gives the group, name, type, default, range and help text of each; parsing,
 * `oncedrop config` and the checks of the manual and of the sample file all use that table. */
#ifndef ONCEDROP_CONFIG_H
#define ONCEDROP_CONFIG_H

#include <stdio.h>

#include "base/base.h"

#define CONFIG_DEFAULT_FILE SYSCONFDIR "/oncedrop/oncedrop.conf"
#define CONFIG_SERVICE_SOCKET "/run/oncedrop/lmtp" /* where `deliver` finds the service without being told */
#define CONFIG_USER "%{user}"                      /* in imap.password_command: the login name */
#define CONFIG_STORE_MS 200000 /* how long a server may still take to store the APPEND of a client that has died */
#define CONFIG_FRONT_MS 270000 /* how long `deliver` may take for the service, on top of a delivery by itself */

enum database_tls { DATABASE_TLS_VERIFY, DATABASE_TLS_CONNINFO };
enum database_durability { DATABASE_DURABILITY_VERIFY, DATABASE_DURABILITY_SERVER };
#define CONFIG_SQLITE "sqlite:" /* how a conninfo begins that names a file; its path follows */
#define CONFIG_MARIADB "mariadb://"
#define CONFIG_MYSQL "mysql://" /* the same */

/* By how a conninfo begins. */
enum config_engine { CONFIG_ENGINE_POSTGRES, CONFIG_ENGINE_SQLITE, CONFIG_ENGINE_MARIADB };

enum lock_method { LOCK_METHOD_ADVISORY, LOCK_METHOD_ROW, LOCK_METHOD_LEASE, LOCK_METHOD_SESSION, LOCK_METHODS };
enum imap_tls { IMAP_TLS_IMAPS, IMAP_TLS_STARTTLS, IMAP_TLS_NONE };
enum imap_auth { IMAP_AUTH_PLAIN, IMAP_AUTH_LOGIN, IMAP_AUTH_XOAUTH2, IMAP_AUTH_OAUTHBEARER };
enum imap_match { IMAP_MATCH_CONTENT, IMAP_MATCH_MESSAGE_ID };
enum imap_search { IMAP_SEARCH_DOUBT, IMAP_SEARCH_ALWAYS };
enum route_sent_copy { SENT_COPY_AUTHENTICATED, SENT_COPY_FROM, SENT_COPY_OFF };
enum route_detail { DETAIL_OFF, DETAIL_FOLDER };
enum route_unknown { UNKNOWN_BOUNCE, UNKNOWN_DEFER };
enum delivery_overquota { OVERQUOTA_DEFER, OVERQUOTA_BOUNCE };
enum delivery_rejected { REJECTED_BOUNCE, REJECTED_QUARANTINE };
enum record_level { RECORD_ENVELOPE, RECORD_HEADERS, RECORD_TEXT, RECORD_RAW };
enum log_to { LOG_TO_SYSLOG, LOG_TO_STDERR };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };
enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* What may change while the configuration is in use: config_renew_password. */
struct config_password {
    char *text;         /* "": none */
    int64_t written_ns; /* when the file was, since 1970; 0: unknown */
};

/* Strings are never NULL ("" when empty) and belong to the struct; times are milliseconds, sizes bytes. */
struct config {
    struct {
        char *conninfo;        /* CONFIG_SQLITE and a path; a URI of MariaDB; or a connection string or URI of libpq */
        enum database_tls tls; /* what a connection to another machine must prove */
        enum database_durability durability; /* whether every COMMIT must be on the disk */
        char *schema;                        /* contains all our tables */
    } database;
    struct {
        enum lock_method method;
        int64_t wait;    /* how long to wait for a lock that is held; 0: try once */
        char *namespace; /* hashed into the lock key, before the Message-ID */
    } lock;
    struct {
        char *host;
        int64_t port; /* 0: 993 with imaps, else 143 */
        enum imap_tls tls;
        char *ca_file;     /* "": the system's certificate authorities */
        char *server_name; /* expected in the certificate and sent as SNI; "": host */
        char *command;     /* a PREAUTH server to run over a socketpair, instead of host */
        enum imap_auth auth;
        char *user;        /* login name; "": the account. See config_is_shared */
        char *master_user; /* authentication id, if it is not the account */
        char *password_file;
        char *password_command;           /* prints the password, or the bearer token, of CONFIG_USER; "": none */
        struct config_password *password; /* read from password_file; may be a bearer token; not a setting itself */
        int64_t timeout;                  /* for connecting, and for each read and write */
        int64_t sessions;                 /* kept by a process */
        int64_t idle;                     /* how long an unused one is kept */
        enum imap_search search;
        enum imap_match match;
        bool create;
        bool subscribe;
    } imap;
    struct {
        char *account;       /* template */
        char *account_query; /* SQL; "": the template decides */
        char *server;        /* template of the name of a server; "" is [imap] */
        char *account_file;  /* of SQLite, which the query reads; "": it reads the database of the ledger */
        char *inbox;         /* a name; a template if config_is_shared */
        char *sent;          /* the same, or \Sent: found by SPECIAL-USE (RFC 6154) */
        enum route_sent_copy sent_copy;
        enum route_detail detail;
        enum route_unknown unknown;
    } route;
    struct {
        int64_t deadline;
        int64_t hold_off;
        int64_t size_limit;
        int64_t memory; /* data limit of deliver and lmtp in bytes, on top of their initial size; 0: no limit */
        enum delivery_overquota overquota;
        int64_t sent_retry;
        enum delivery_rejected rejected;
        int64_t reject_after;
    } delivery;
    struct {
        char **ignore; /* NULL-terminated field names; a trailing * matches any rest */
    } identity;
    struct {
        enum record_level level;
        char *notify;          /* channel; "": none */
        int64_t abandon_after; /* after the last try of an unfinished message */
        bool trace;            /* give each try the ids of a trace span */
    } record;
    struct {
        char *user; /* that deliveries run as; "": the user who runs the program */
        int64_t workers;
        char *socket;   /* path of a unix socket, or ADDRESS:PORT */
        char *clients;  /* names of users, separated by blanks or commas, who may deliver to everybody */
        char *networks; /* likewise, from which clients may connect to an ADDRESS:PORT, besides this host; network.h */
    } service;
    struct {
        enum log_to to;
        enum log_format format; /* on stderr */
        enum log_level level;
        char *debug_accounts; /* accounts and addresses whose deliveries are logged in full (debug.h); "": none */
        char *unrecorded;     /* path of the counter (counter.h) of deferrals that the ledger does not have; "": none */
    } log;
    /* Not settings themselves: */
    char *server; /* the NAME of the group [imap NAME] that is in force instead of [imap]; "": none */
    struct config *
        *servers; /* one for each such group, NULL-terminated; NULL: there are none, or this is one of them */
};

/* Reads the file, applies the overrides, checks every value and reads the secrets.
 *
 * file       path of the configuration file
 * overrides  NULL-terminated list of "GROUP.NAME=VALUE" (from -o); later ones win; may be NULL
 *
 * Values are taken literally, without surrounding blanks: there are no quotes and no escapes. If delivery.hold_off is
 * not set, it is at least config_safe_hold_off. A file in $CREDENTIALS_DIRECTORY (systemd.exec(5)) with the name
 * of imap.password_file takes its place.
 *
 * Returns a new configuration, or NULL with the fault set to the file, group, name and reason: the file is missing,
 * unreadable or accessible to others, a group or setting is unknown, a value is out of range, or a secret cannot be
 * read. */
struct config *config_load(const char *file, const char *const *overrides, struct fault *fault) OD_MUST;

/* Returns the least delivery.hold_off, in milliseconds, with which no delivery begins while the server may still store the APPEND of
 * an earlier one that has died: the deadline, and for how long the server may go on after that. */
int64_t config_safe_hold_off(const struct config *config) OD_MUST;

/* Reads the password again, from the same file and by the same rules as config_load; from now on config->imap.password is
 * what the file says. Does nothing if no password is used. False with the fault set: the password remains as it was. */
bool config_renew_password(const struct config *config, struct fault *fault) OD_MUST;

/* The configuration in which [imap] is the server of this name; "": config itself. NULL: there is none. */
const struct config *config_server(const struct config *config, const char *name) OD_MUST;

/* How many there are besides [imap]. */
size_t config_server_count(const struct config *config) OD_MUST;

/* Whether one login, imap.user, opens everybody's mailboxes: route.inbox then names whose, with the variables of
 * route.account. */
bool config_is_shared(const struct config *config) OD_MUST;

/* What the ledger is in. */
enum config_engine config_engine(const struct config *config) OD_MUST;

/* Whether that is a file, by SQLite: conninfo begins with CONFIG_SQLITE. */
bool config_is_file(const struct config *config) OD_MUST;

/* A configuration of defaults; reads no file. */
struct config *config_defaults(void) OD_MUST;

void config_free(struct config **config);

/* Which settings config_print prints, and config_tell tells. */
enum config_print { CONFIG_PRINT_ALL, CONFIG_PRINT_NON_DEFAULT, CONFIG_PRINT_DEFAULTS };

/* Prints settings as "group.name = value", one a line, as postconf(1) does. Secrets are not settings and never appear;
 * a password inside database.conninfo is shown as "***". */
void config_print(FILE *out, const struct config *config, enum config_print which);

/* The same, one call for each: name is "group.name". */
void config_tell(const struct config *config, enum config_print which,
                 void (*take)(void *context, const char *name, const char *value), void *context);

/* database.conninfo as config_print shows it; a new string. */
char *config_conninfo_shown(const struct config *config) OD_MUST;

/* SHA-256, in hex, of all settings and the IMAP password, but not of the name of its file, which may be systemd's. To
 * be compared, and not shown: it depends on secrets. To be freed by the caller. */
char *config_digest(const struct config *config) OD_MUST;

/* Parses "90s", "2m", "1h", "7d", "500ms" or "0" (a bare number is seconds) to milliseconds. On false *ret is
 * untouched. */
bool config_parse_duration(const char *text, int64_t *ret) OD_MUST;

/* Parses "100M", "64K", "1G" or "4096" (powers of 1024) to bytes. On false *ret is untouched. */
bool config_parse_size(const char *text, int64_t *ret) OD_MUST;

#endif
