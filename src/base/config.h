/* SPDX-License-Identifier: ISC
 *
 * The settings. config_table.c describes them for the program, oncedrop.conf(5) for its users. */
#ifndef ONCEDROP_CONFIG_H
#define ONCEDROP_CONFIG_H

#include <stdio.h>

#include "base/base.h"

#define CONFIG_DEFAULT_FILE SYSCONFDIR "/oncedrop/oncedrop.conf"
#define CONFIG_SERVICE_SOCKET "/run/oncedrop/lmtp" /* default of `deliver` */
#define CONFIG_USER "%{user}"                      /* in imap.password_command: the login name */
#define CONFIG_STORE_MS 200000 /* a server may still store the APPEND of a dead client for this long */
#define CONFIG_FRONT_MS 270000 /* what the service may add to the time of `deliver` */

enum database_tls { DATABASE_TLS_VERIFY, DATABASE_TLS_CONNINFO };
enum database_durability { DATABASE_DURABILITY_VERIFY, DATABASE_DURABILITY_SERVER };
#define CONFIG_SQLITE "sqlite:" /* a file's path follows */
#define CONFIG_MARIADB "mariadb://"
#define CONFIG_MYSQL "mysql://" /* a synonym */

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
enum delivery_refused { REFUSED_BOUNCE, REFUSED_QUARANTINE };
enum feed_role { FEED_ROLE_INBOX, FEED_ROLE_SENT, FEED_ROLE_BOTH };
enum record_level { RECORD_ENVELOPE, RECORD_HEADERS, RECORD_TEXT, RECORD_RAW };
enum log_to { LOG_TO_SYSLOG, LOG_TO_STDERR };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };
enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Changed by config_renew_password. */
struct config_password {
    char *text;         /* "": none */
    int64_t written_ns; /* the file's mtime; 0: unknown */
};

/* Strings are never NULL ("": empty). Times are milliseconds, sizes bytes. */
struct config {
    struct {
        char *conninfo; /* CONFIG_SQLITE and a path, MariaDB's URI, or libpq's string */
        enum database_tls tls;
        enum database_durability durability;
        char *schema;
    } database;
    struct {
        enum lock_method method;
        int64_t wait;    /* 0: try once */
        char *namespace; /* hashed into the lock key */
    } lock;
    struct {
        char *host;
        int64_t port; /* 0: 993 with imaps, else 143 */
        enum imap_tls tls;
        char *ca_file;
        char *server_name; /* in certificate and SNI; "": host */
        char *command;     /* PREAUTH server on a socketpair, instead of host */
        enum imap_auth auth;
        char *user;        /* login name; "": the account */
        char *master_user; /* SASL authentication id */
        char *password_file;
        char *password_command;
        struct config_password *password; /* of password_file; not a setting */
        int64_t timeout;
        int64_t sessions;
        int64_t idle_timeout;
        enum imap_search search;
        enum imap_match match;
        bool create;
        bool subscribe;
        bool early_login;
    } imap;
    struct {
        char *account; /* template */
        char *account_query;
        char *server;       /* template */
        char *account_file; /* SQLite, for the query; "": the ledger */
        char *inbox;        /* a template if config_is_shared */
        char *sent;         /* or \Sent: by SPECIAL-USE (RFC 6154) */
        enum route_sent_copy sent_copy;
        enum route_detail detail;
        enum route_unknown unknown_account;
    } route;
    struct {
        int64_t deadline;
        int64_t hold_off;
        int64_t size_limit;
        int64_t memory; /* RLIMIT_DATA, on top of the initial size; 0: none */
        enum delivery_overquota overquota;
        int64_t sent_expire_after;
        enum delivery_refused refused;
        int64_t refuse_after;
    } delivery;
    struct {
        char **ignore_headers; /* NULL-terminated; a trailing * is a wildcard */
    } identity;
    struct {
        enum record_level level;
        char *notify;
        int64_t expire_after;
        bool trace;
    } record;
    struct {
        char *recipient, *account, *mailbox; /* patterns, separated by blanks; "": all */
        enum feed_role role;
    } feed;
    struct {
        char *user;
        int64_t workers;
        char *socket;
        char *trusted_users;
        char *allowed_networks;
    } service;
    struct {
        enum log_to to;
        enum log_format format;
        enum log_level level;
        char *debug_accounts;
        char *unrecorded_file; /* a counter (counter.c) */
    } log;
    /* Not settings: */
    char *name;              /* NAME of [imap NAME] or [feed NAME]; "": neither */
    struct config **servers; /* of each [imap NAME], NULL-terminated; NULL: none, or this is one */
    struct config **feeds;   /* of each [feed NAME], in the same way */
};

/* Reads file, overrides and secrets, and checks all values.
 *
 * overrides  NULL-terminated "GROUP.NAME=VALUE" (-o); the last one wins; may be NULL
 *
 * Values are literal, without surrounding blanks. Unless set, delivery.hold_off is at least config_safe_hold_off. A file
 * in $CREDENTIALS_DIRECTORY (systemd.exec(5)) named like imap.password_file replaces it.
 *
 * Returns a new configuration, or NULL: file unreadable or accessible to others, group or setting unknown, value out
 * of range, secret unreadable. */
struct config *config_load(const char *file, const char *const *overrides, struct error *error) OD_MUST;

/* Returns the least delivery.hold_off, in milliseconds, that `check` does not warn about: the deadline, plus the time in
 * which a server may still store the APPEND of a delivery that died. */
int64_t config_safe_hold_off(const struct config *config) OD_MUST;

/* Reads config->imap.password again, as config_load does, if there is a password_file. On false the password is
 * unchanged. */
bool config_renew_password(const struct config *config, struct error *error) OD_MUST;

/* Returns the configuration whose [imap] is this server; "": config; NULL: unknown. */
const struct config *config_server(const struct config *config, const char *name) OD_MUST;

size_t config_server_count(const struct config *config) OD_MUST;
size_t config_feed_count(const struct config *config) OD_MUST;

/* Returns the configuration whose [feed] is this feed; NULL: unknown. */
const struct config *config_feed(const struct config *config, const char *name) OD_MUST;

/* Returns true if a feed takes a copy. recipients: NULL-terminated, whom it is for, compared in lower case; for a Sent
 * copy they do not count. */
bool config_feed_takes(const struct config *feed, bool is_sent, const char *const *recipients, const char *account,
                       const char *mailbox) OD_MUST;

/* Returns true if the login imap.user opens all mailboxes; route.inbox is then a template, like route.account. */
bool config_is_shared(const struct config *config) OD_MUST;

enum config_engine config_engine(const struct config *config) OD_MUST;

/* Returns true for SQLite. */
bool config_is_file(const struct config *config) OD_MUST;

struct config *config_defaults(void) OD_MUST;

void config_free(struct config **config);

enum config_print { CONFIG_PRINT_ALL, CONFIG_PRINT_NON_DEFAULT, CONFIG_PRINT_DEFAULTS };

/* Prints "group.name = value" lines, like postconf(1). Hides secrets: a password in database.conninfo becomes "***". */
void config_print(FILE *out, const struct config *config, enum config_print which);

/* Like config_print, but calls `take`; name: "group.name". */
void config_visit(const struct config *config, enum config_print which,
                  void (*take)(void *context, const char *name, const char *value), void *context);

/* Returns database.conninfo as config_print shows it, a new string. */
char *config_conninfo_shown(const char *conninfo) OD_MUST;

/* Returns SHA-256 (hex, a new string) of settings and IMAP password, without password_file, which may be systemd's.
 * Never show it: it depends on secrets. */
char *config_digest(const struct config *config) OD_MUST;

/* Parses "90s", "2m", "1h", "7d", "500ms" or "0" to milliseconds; bare numbers are seconds. On false *ret is
 * untouched. */
bool config_parse_duration(const char *text, int64_t *ret) OD_MUST;

/* Parses "4096", "64K", "100M" or "1G" (powers of 1024) to bytes. On false *ret is untouched. */
bool config_parse_size(const char *text, int64_t *ret) OD_MUST;

#endif
