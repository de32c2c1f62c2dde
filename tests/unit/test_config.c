/* SPDX-License-Identifier: ISC
 *
 * config.h: files, overrides, checks, and the way back to text. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/config.h"

static char directory[] = "/tmp/test_config.XXXXXX";
static char file[64];   /* the configuration */
static char secret[64]; /* a good password file */
static char other[64];  /* a file for one test */

static void write_bytes(const char *path, const void *bytes, size_t size, mode_t mode)
{
    unlink(path);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void write_text(const char *path, const char *text, mode_t mode)
{
    write_bytes(path, text, strlen(text), mode);
}

static int make_files(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(file, sizeof(file), "%s/od.conf", directory);
    snprintf(secret, sizeof(secret), "%s/password", directory);
    snprintf(other, sizeof(other), "%s/other", directory);
    write_text(secret, "open sesame\r\nsecond line\n", 0600);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    unlink(file);
    unlink(secret);
    unlink(other);
    return rmdir(directory);
}

/* Loads text with "imap.password_file" set first and up to two more overrides. */
static struct config *load(const char *text, const char *first, const char *second, struct error *error)
{
    char *password OD_CLEANUP(base_free) = base_printf("imap.password_file=%s", secret);
    const char *overrides[] = {password, first, first != NULL ? second : NULL, NULL};

    write_text(file, text, 0600);
    memset(error, 0, sizeof(*error));
    return config_load(file, overrides, error);
}

static struct config *must_load(const char *text, const char *first, const char *second)
{
    struct error error;
    struct config *config = load(text, first, second, &error);

    if (config == NULL)
        fail_msg("%s", error.text);
    return config;
}

static void test_durations(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t want; /* -1: refused */
    } cases[] = {
        /* clang-format off */
        {"90s", 90000}, {"2m", 120000}, {"1h", 3600000}, {"7d", 604800000}, {"500ms", 500}, {"0", 0}, {"0s", 0},
        {"15", 15000}, {"007s", 7000}, {"106751991167d", 106751991167 * 86400000},
        {"", -1}, {"s", -1}, {"ms", -1}, {"5x", -1}, {"-1s", -1}, {"+1s", -1}, {" 1s", -1}, {"1s ", -1}, {"1 s", -1},
        {"1.5h", -1}, {"1h30m", -1}, {"1S", -1}, {"1mss", -1}, {"0x10", -1}, {"1e3", -1}, {"\xd9\xa1s", -1},
        {"9223372036854775807ms", INT64_MAX}, {"9223372036854775808ms", -1}, {"9223372036854775807s", -1},
        {"99999999999999999999999999", -1}, {"18446744073709551621s", -1}, {"106751991168d", -1},
        /* clang-format on */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int64_t got = -7;
        bool ok = config_parse_duration(cases[i].text, &got);
        if (ok != (cases[i].want >= 0) || got != (ok ? cases[i].want : -7))
            fail_msg("'%s': %d, %lld", cases[i].text, ok, (long long)got);
    }
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t want;
    } cases[] = {
        /* clang-format off */
        {"100M", 104857600}, {"64K", 65536}, {"1G", 1073741824}, {"4096", 4096}, {"0", 0},
        {"", -1}, {"M", -1}, {"1KB", -1}, {"1T", -1}, {"1m", -1}, {"-1", -1}, {"1 K", -1}, {"10s", -1},
        {"8589934591G", 8589934591 * 1073741824}, {"8589934592G", -1}, {"9223372036854775808", -1},
        /* clang-format on */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int64_t got = -7;
        bool ok = config_parse_size(cases[i].text, &got);
        if (ok != (cases[i].want >= 0) || got != (ok ? cases[i].want : -7))
            fail_msg("'%s': %d, %lld", cases[i].text, ok, (long long)got);
    }
}

static void test_defaults(void **state)
{
    (void)state;
    struct config *c OD_CLEANUP(config_free) = config_defaults();

    assert_string_equal(c->database.conninfo, "sqlite:/var/lib/oncedrop/ledger.db");
    assert_string_equal(c->database.schema, "oncedrop");
    assert_int_equal(c->lock.method, LOCK_METHOD_SESSION);
    assert_int_equal(c->lock.wait, 0);
    assert_string_equal(c->lock.namespace, "oncedrop");
    assert_string_equal(c->imap.host, "localhost");
    assert_int_equal(c->imap.port, 0);
    assert_int_equal(c->imap.tls, IMAP_TLS_IMAPS);
    assert_string_equal(c->imap.command, "");
    assert_int_equal(c->imap.auth, IMAP_AUTH_PLAIN);
    assert_string_equal(c->imap.password->text, "");
    assert_int_equal(c->imap.timeout, 30000);
    assert_int_equal(c->imap.search, IMAP_SEARCH_DOUBT);
    assert_true(c->imap.create);
    assert_true(c->imap.subscribe);
    assert_string_equal(c->route.account, "%{address}");
    assert_string_equal(c->route.account_query, "");
    assert_string_equal(c->route.inbox, "INBOX");
    assert_string_equal(c->route.sent, "Sent");
    assert_int_equal(c->route.sent_copy, SENT_COPY_AUTHENTICATED);
    assert_int_equal(c->route.detail, DETAIL_OFF);
    assert_int_equal(c->route.unknown_account, UNKNOWN_BOUNCE);
    assert_int_equal(c->delivery.deadline, 120000);
    assert_int_equal(c->delivery.hold_off, 320000);
    assert_int_equal(c->delivery.size_limit, 104857600);
    assert_int_equal(c->delivery.overquota, OVERQUOTA_DEFER);
    assert_int_equal(c->delivery.sent_expire_after, 3600000);
    assert_int_equal(c->delivery.refused, REFUSED_BOUNCE);
    assert_int_equal(c->delivery.refuse_after, 3600000);
    assert_non_null(c->identity.ignore_headers);
    assert_null(c->identity.ignore_headers[0]);
    assert_int_equal(c->record.level, RECORD_TEXT);
    assert_string_equal(c->record.notify, "");
    assert_int_equal(c->log.to, LOG_TO_SYSLOG);
    assert_int_equal(c->log.level, LOG_LEVEL_INFO);
    config_free(&c);
    assert_null(c);
    config_free(&c);
}

static void test_values_are_literal(void **state)
{
    (void)state;
    struct config *c OD_CLEANUP(config_free) = must_load(
        "# comment\n"
        "\n"
        "   # indented comment\r\n"
        "[route]\r\n"
        "sent=\\Sent\r\n"
        "inbox = a\\nb \"c\" 'd' = e;f,g#h  \t\n"
        "account_query = SELECT a # b\n"
        "[database]\n"
        "  conninfo   =   host=x password='a #b\\\\'   \n"
        "[identity]\n"
        "ignore_headers = X-Scan-*; X-A,X-B  X-C ;\n"
        "[imap]\n"
        "create=no\n"
        "tls = starttls\n"
        "[route]\n"
        "account = \xc3\xa4\n",
        NULL, NULL);

    assert_string_equal(c->route.sent, "\\Sent");
    assert_string_equal(c->route.inbox, "a\\nb \"c\" 'd' = e;f,g#h");
    assert_string_equal(c->route.account_query, "SELECT a # b");
    assert_string_equal(c->route.account, "\xc3\xa4");
    assert_string_equal(c->database.conninfo, "host=x password='a #b\\\\'");
    assert_string_equal(c->identity.ignore_headers[0], "X-Scan-*");
    assert_string_equal(c->identity.ignore_headers[1], "X-A");
    assert_string_equal(c->identity.ignore_headers[2], "X-B");
    assert_string_equal(c->identity.ignore_headers[3], "X-C");
    assert_null(c->identity.ignore_headers[4]);
    assert_false(c->imap.create);
    assert_true(c->imap.subscribe);
    assert_int_equal(c->imap.tls, IMAP_TLS_STARTTLS);
    assert_string_equal(c->imap.password->text, "open sesame");
}

static void test_overrides(void **state)
{
    (void)state;
    struct config *c OD_CLEANUP(config_free) =
        must_load("[log]\nlevel = error\nto=stderr\n", "log.level=warning", " log.level =  debug ");
    assert_int_equal(c->log.level, LOG_LEVEL_DEBUG);
    assert_int_equal(c->log.to, LOG_TO_STDERR);
    config_free(&c);

    c = must_load("", "database.conninfo=host=a.b port=5", "route.sent=\\Sent");
    assert_string_equal(c->database.conninfo, "host=a.b port=5");
    assert_string_equal(c->route.sent, "\\Sent");
    config_free(&c);

    struct error error;
    write_text(file, "[imap]\ncommand = doveadm exec imap\npassword_file = /nonexistent\n", 0640);
    c = config_load(file, NULL, &error);
    assert_non_null(c);
    assert_string_equal(c->imap.command, "doveadm exec imap");
}

static void test_hold_off_follows_deadline(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t want;
    } cases[] = {
        {"[delivery]\ndeadline = 60s\n", 320000},
        {"[delivery]\ndeadline = 120s\n", 320000},
        {"[delivery]\ndeadline = 121s\n", 321000},
        {"[delivery]\ndeadline = 10m\n", 800000},
        {"[delivery]\ndeadline = 10m\nhold_off = 601s\n", 601000},
        {"[delivery]\ndeadline = 5s\nhold_off = 6s\n", 6000},
        {"[delivery]\nhold_off = 320s\ndeadline = 200s\n", 320000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct config *c OD_CLEANUP(config_free) = must_load(cases[i].text, NULL, NULL);
        if (c->delivery.hold_off != cases[i].want)
            fail_msg("case %zu: %lld", i, (long long)c->delivery.hold_off);
    }
}

struct refusal {
    const char *text; /* contents of the file */
    const char *override;
    const char *want; /* in the fault; FILE is replaced by the file's name */
};

#define SIXTY_FOUR "a234567890123456789012345678901234567890123456789012345678901234"

static const struct refusal syntax[] = {
    {"x = 1\n", NULL, "FILE: line 1: a setting before the first [group]"},
    {"# c\n\nsecret\n[imap]\n", NULL, "FILE: line 3: neither [group] nor name = value nor # comment"},
    {"[imap]\nhost = a\nhunter2\n", NULL, "FILE: line 3: neither"},
    {"[imap]\n; comment\n", NULL, "FILE: line 2: neither"},
    {"[imap]\n= 5\n", NULL, "FILE: line 2: neither"},
    {"[imap\nhost = a\n", NULL, "FILE: line 1: neither"},
    {"[imap = a\n", NULL, "FILE: line 1: neither"},
    {"\xef\xbb\xbf[imap]\n", NULL, "FILE: line 1: neither"},
    {"[imap] x\nhost = a\n", NULL, "FILE: line 1: neither"},
    {"[imap]\nhost = a\nhost = b\n", NULL, "FILE: [imap] host: set twice"},
    {"[imap]\nhost = a\n[log]\n[imap]\nhost = a\n", NULL, "FILE: [imap] host: set twice"},
    {"[imap]\nhost[de] = a\n", NULL, "FILE: [imap] host[de]: no such setting"},
    {"[imap]\nhots = a\n", NULL, "FILE: [imap] hots: no such setting (known are host, port, tls,"},
    {"[imap]\nHost = a\n", NULL, "FILE: [imap] Host: no such setting"},
    {"[imap]\npassword = a\n", NULL, "FILE: [imap] password: no such setting"},
    {"[mail]\nhost = a\n", NULL, "FILE: [mail]: no such group (known are database, lock, imap, route, delivery,"},
    {"[mail]\n", NULL, "FILE: [mail]: no such group"},
    {"", "host=a", "-o host: not of the form GROUP.NAME=VALUE"},
    {"", "imap.host", "-o imap.host: not of the form GROUP.NAME=VALUE"},
    {"", "conninfo=host=a.example password=x", "-o conninfo: not of the form GROUP.NAME=VALUE"},
    {"", "", "-o : not of the form GROUP.NAME=VALUE"},
    {"", "imap.hots=a", "-o: [imap] hots: no such setting"},
    {"[imap]\nidle = 1s\n", NULL, "FILE: [imap] idle: no such setting; it is now idle_timeout"},
    {"", "record.abandon_after=9d", "-o: [record] abandon_after: no such setting; it is now expire_after"},
    {"", "mail.host=a", "-o: [mail]: no such group"},
    {"", "imap.password=a", "-o: [imap] password: no such setting"},
};

static const struct refusal values[] = {
    {"[delivery]\ndeadline = 5x\n", NULL, "FILE: [delivery] deadline = 5x: not a duration (examples: 90s, 2m, 1h)"},
    {"[delivery]\ndeadline =\n", NULL, "FILE: [delivery] deadline = : not a duration"},
    {"[delivery]\ndeadline = 90s # c\n", NULL, "[delivery] deadline = 90s # c: a comment must be on a separate line"},
    {"[route]\ninbox = INBOX # c\n", NULL, "[route] inbox = INBOX # c: a comment must be"},
    {"[imap]\npassword_file = # none\n", NULL, "[imap] password_file = # none: a comment must be"},
    {"", "delivery.deadline=99ms", "-o: [delivery] deadline = 99ms: out of range; allowed is 100ms to 15m"},
    {"", "delivery.deadline=901s", "-o: [delivery] deadline = 901s: out of range; allowed is 100ms to 15m"},
    {"", "delivery.hold_off=25h", "out of range; allowed is 100ms to 1d"},
    {"", "delivery.sent_expire_after=5d", "out of range; allowed is 0s to 4d"},
    {"", "delivery.refuse_after=5d", "out of range; allowed is 0s to 4d"},
    {"", "delivery.size_limit=100", "[delivery] size_limit = 100: out of range; allowed is 0, or 1K to 4095M"},
    {"", "delivery.size_limit=4G", "out of range"},
    {"", "delivery.size_limit=10s", "not a size (examples: 64K, 100M, 1G)"},
    {"", "imap.port=65536", "[imap] port = 65536: out of range; allowed is 0 to 65535"},
    {"", "imap.port=1K", "[imap] port = 1K: not a number"},
    {"", "imap.port=-1", "not a number"},
    {"", "imap.timeout=0", "[imap] timeout = 0: out of range"},
    {"", "imap.timeout=16m", "[imap] timeout = 16m: out of range"},
    {"", "lock.wait=16m", "[lock] wait = 16m: out of range"},
    {"", "imap.create=true", "[imap] create = true: must be yes or no"},
    {"", "imap.subscribe=", "must be yes or no"},
    {"", "imap.tls=ssl", "[imap] tls = ssl: must be imaps, starttls or none"},
    {"", "imap.tls=IMAPS", "must be imaps, starttls or none"},
    {"", "log.to=", "[log] to = : must be syslog or stderr"},
    {"", "lock.method=table", "[lock] method = table: must be advisory, row, lease or session;"},
    {"", "delivery.refused=defer", "[delivery] refused = defer: must be bounce or quarantine"},
    {"", "database.conninfo=", "[database] conninfo: must not be empty"},
    {"", "database.conninfo=password=tell\nx", "[database] conninfo: contains a control character"},
    {"", "imap.host=a\x7f", "contains a control character"},
    {"[imap]\nuser = \xe4\n", NULL, "not valid UTF-8"},
    {"", "imap.host=a b", "[imap] host = a b: must not contain blanks"},
    {"", "lock.namespace=", "[lock] namespace = : must not be empty"},
    {"", "route.account=  ", "[route] account = : must not be empty"},
    {"", "route.inbox=", "[route] inbox = : must not be empty"},
    {"", "route.sent=", "[route] sent = : must not be empty"},
    {"", "database.schema=", "[database] schema = : must not be empty"},
    {"", "identity.ignore_headers=X-A *", "* is not a header field name"},
    {"", "identity.ignore_headers=X-*-B", "X-*-B is not a header field name"},
    {"", "identity.ignore_headers=Subject:", "Subject: is not a header field name"},
    {"", "identity.ignore_headers=X-\xc3\xa4", "is not a header field name"},
};

#define POSTGRES "[database]\nconninfo = dbname=x\n"
#define MARIADB "[database]\nconninfo = mariadb://u@h/x\n"

static const struct refusal together[] = {
    {POSTGRES, "database.schema=Mail", "-o: [database] schema = Mail: must be at most 63 letters"},
    {"", "database.schema=1a", "must be at most 63 letters"},
    {"", "database.schema=a-b", "must be at most 63 letters"},
    {"", "database.schema=a\"b", "must be at most 63 letters"},
    {"", "database.schema=" SIXTY_FOUR, "must be at most 63 letters"},
    {"", "database.schema=pg_mail", "names that begin with pg_ belong to PostgreSQL"},
    {"[delivery]\ndeadline = 10s\n[lock]\nwait = 10s\n", NULL,
     "FILE: [lock] wait = 10s: must be less than delivery.deadline"},
    {"[lock]\nwait = 10s\n", "delivery.deadline=5s", "FILE: [lock] wait = 10s: must be less than"},
    {"", "delivery.hold_off=120s", "-o: [delivery] hold_off = 2m: must be more than delivery.deadline"},
    {"[delivery]\ndeadline = 5s\nhold_off = 5s\n", NULL, "FILE: [delivery] hold_off = 5s: must be more than"},
    {"[imap]\nhost=\n", NULL, "FILE: [imap] host: must be set if command is not"},
    {"[imap]\nhost = mail.example.org\ntls = none\n", NULL,
     "FILE: [imap] tls = none: passwords and mail would cross the"},
    {"[imap]\nhost = 128.0.0.1\ntls = none\n", NULL, "FILE: [imap] tls = none"},
    {"[imap]\nhost = 127.0.0.1.example.org\ntls = none\n", NULL, "FILE: [imap] tls = none"},
    {"[imap]\nhost = localhost.example.org\ntls = none\n", NULL, "FILE: [imap] tls = none"},
    {"[imap]\nhost = ::2\ntls = none\n", NULL, "FILE: [imap] tls = none"},
    {"[imap]\nhost = /run/imap\n", NULL, "FILE: [imap] tls = imaps: a unix socket (host = /run/imap) needs tls = none"},
    {"", "imap.ca_file=ca.pem", "-o: [imap] ca_file = ca.pem: must be an absolute path"},
    {"", "imap.password_file=pw", "-o: [imap] password_file = pw: must be an absolute path"},
    {"", "imap.password_file=",
     "[imap] password_file: must be set, or password_command: logging in to the IMAP server needs a password"},
    {"[imap]\ncommand = a 'b\n", NULL, "FILE: [imap] command = a 'b: cannot be split into words"},
    {"[imap]\ncommand = # none\n", NULL, "FILE: [imap] command = # none: cannot be split into words"},
    {"[imap]\nmaster_user = m\nauth = login\n", NULL, "FILE: [imap] auth = login: master_user needs auth = plain"},
    {"", "route.inbox=\\Inbox", "[route] inbox = \\Inbox: must be the name of a mailbox"},
    {"", "route.sent=\\\\Sent", "[route] sent = \\\\Sent: must be the name of a mailbox, or \\Sent"},
    {POSTGRES, "record.notify=" SIXTY_FOUR, "longer than the 63 bytes"},
    {"", "database.conninfo=sqlite:",
     "-o: [database] conninfo = sqlite:: behind sqlite: comes the path of a file, from / on"},
    {"", "database.conninfo=sqlite:a.db", "such as sqlite:/var/lib/oncedrop/ledger.db"},
    {"", "database.conninfo=sqlite: /a.db", "comes the path of a file"},
    {"", "database.conninfo=sqlite:/var/lib/oncedrop/", "comes the path of a file"},
    {"[database]\ntls = verify\n", NULL,
     "FILE: [database] tls = verify: belongs to PostgreSQL, but database.conninfo is one of SQLite; remove it,"
     " or change conninfo"},
    {"[database]\nschema = oncedrop\n", "database.conninfo=sqlite:/a",
     "FILE: [database] schema = oncedrop: belongs to PostgreSQL, but database.conninfo is one of SQLite;"},
    {"", "record.notify=mail", "-o: [record] notify = mail: belongs to PostgreSQL, but"},
    {"[lock]\nmethod = advisory\n", NULL, "FILE: [lock] method = advisory: belongs to PostgreSQL, but"},
    {"[lock]\nmethod = row\n", NULL, "FILE: [lock] method = row: belongs to PostgreSQL, but"},
    {"[lock]\nmethod = lease\n", NULL, "FILE: [lock] method = lease: belongs to PostgreSQL, but"},
    {POSTGRES "[lock]\nmethod = session\n", NULL,
     "FILE: [lock] method = session: belongs to SQLite and MariaDB; PostgreSQL"},
    {POSTGRES, "route.account_file=/a.db", "-o: [route] account_file = /a.db: belongs to SQLite; with PostgreSQL"},
    {"", "route.account_file=a.db", "-o: [route] account_file = a.db: must be an absolute path"},
    {MARIADB "[lock]\nmethod = advisory\n", NULL,
     "method = advisory: belongs to PostgreSQL; MariaDB has session, row and lease"},
    {MARIADB "schema = x\n", NULL,
     "[database] schema = x: belongs to PostgreSQL, but database.conninfo is one of MariaDB"},
    {MARIADB, "record.notify=mail", "notify = mail: belongs to PostgreSQL, but database.conninfo is one of MariaDB"},
    {MARIADB, "route.account_file=/a.db", "account_file = /a.db: belongs to SQLite; with PostgreSQL and MariaDB"},
    {POSTGRES, "database.durability=server",
     "durability = server: belongs to MariaDB, but database.conninfo is one of PostgreSQL"},
    {"", "database.durability=server",
     "durability = server: belongs to MariaDB, but database.conninfo is one of SQLite"},
};

static void check_refusals(const struct refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct refusal *r = &refusals[i];
        bool from_file = strncmp(r->want, "FILE", 4) == 0;
        char *want OD_CLEANUP(base_free) = base_printf("%s%s", from_file ? file : "", r->want + (from_file ? 4 : 0));
        struct error error;
        struct config *config OD_CLEANUP(config_free) = load(r->text, r->override, NULL, &error);

        if (config != NULL)
            fail_msg("case %zu was taken; wanted: %s", i, want);
        const char *found = strstr(error.text, want);
        if (found == NULL || (from_file && found != error.text))
            fail_msg("case %zu: %s\nwanted: %s", i, error.text, want);
        if (strstr(error.text, "hunter2") != NULL || strstr(error.text, "secret") != NULL ||
            strstr(error.text, "tell") != NULL)
            fail_msg("case %zu tells: %s", i, error.text);
    }
}

static void test_syntax(void **state)
{
    (void)state;
    check_refusals(syntax, sizeof(syntax) / sizeof(*syntax));
}

static void test_values(void **state)
{
    (void)state;
    check_refusals(values, sizeof(values) / sizeof(*values));
}

static void test_together(void **state)
{
    (void)state;
    check_refusals(together, sizeof(together) / sizeof(*together));
}

static void test_accepted(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *override;
    } cases[] = {
        {"", NULL},
        {POSTGRES "tls = conninfo\nschema = mail\n[lock]\nmethod = lease\n[record]\nnotify = mail\n", NULL},
        {POSTGRES "[lock]\nmethod = row\n", NULL},
        {"[database]\nconninfo = sqlite:/a b.db\n[lock]\nmethod = session\n[record]\nnotify =\n", NULL},
        {"", "route.account_file=/a.db"},
        {"\n# nothing\n", NULL},
        {"[imap]\n", NULL},
        {"[imap]\ntls = none\n", NULL},
        {"[imap]\ntls = none\nhost = 127.9.9.9\n", NULL},
        {"[imap]\ntls = none\nhost = ::1\n", NULL},
        {"[imap]\ntls = none\nhost = /run/dovecot/imap\n", NULL},
        {"[imap]\nmaster_user = m\nuser = u\n", NULL},
        {"[imap]\ncommand = a 'b c' %{account}\n", NULL},
        {"[imap]\ntls = none\nhost = mail.example.org\ncommand = x\n", NULL},
        {"[imap]\nhost =\ncommand = x\n", NULL},
        {"[imap]\nuser = archive\n", NULL},
        {"[imap]\nauth = xoauth2\n", NULL},
        {"", "delivery.size_limit=0"},
        {"", "delivery.size_limit=4095M"},
        {"", "delivery.sent_expire_after=0"},
        {"", "delivery.deadline=15m"},
        {"", "lock.wait=119s"},
        {POSTGRES, "database.schema=_a1"},
        {POSTGRES, "record.notify=mail.new"},
        {"", "identity.ignore_headers=,; "},
        {"", "identity.ignore_headers=X-#1"},
        {"[route]\naccount_query = # odd, but SQL\n", NULL},
        {"[route]\ninbox = a#b\n", NULL},
        {"[route]\ninbox = a\tb\n", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct error error;
        struct config *config OD_CLEANUP(config_free) = load(cases[i].text, cases[i].override, NULL, &error);
        if (config == NULL)
            fail_msg("case %zu: %s", i, error.text);
    }
}

/* By mode bits: root, who may run the tests, could read all of these. */
static void test_file_access(void **state)
{
    (void)state;
    static const struct {
        mode_t mode;
        bool good;
    } modes[] = {
        {0600, true},  {0400, true},  {0640, true},  {0660, true},
        {0644, false}, {0602, false}, {0601, false}, {0666, false},
    };
    char *override OD_CLEANUP(base_free) = base_printf("imap.password_file=%s", other);
    char *hint OD_CLEANUP(base_free) = base_printf("accessible to others (mode 0644); run: chmod o-rwx %s", other);
    const char *overrides[] = {override, NULL};
    struct error error;

    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        write_text(other, "[imap]\ncommand = x\n", modes[i].mode);
        struct config *config OD_CLEANUP(config_free) = config_load(other, NULL, &error);
        assert_int_equal(config != NULL, modes[i].good);
        if (modes[i].mode == 0644)
            assert_non_null(strstr(error.text, hint));

        write_text(file, "", 0600);
        write_text(other, "password\n", modes[i].mode);
        struct config *with_password OD_CLEANUP(config_free) = config_load(file, overrides, &error);
        assert_int_equal(with_password != NULL, modes[i].good);
        if (modes[i].mode == 0644) {
            assert_non_null(strstr(error.text, "-o: [imap] password_file: "));
            assert_non_null(strstr(error.text, hint));
        }
    }
}

static void test_file_kinds(void **state)
{
    (void)state;
    struct error error;

    unlink(other);
    assert_null(config_load(other, NULL, &error));
    assert_non_null(strstr(error.text, "No such file or directory"));
    assert_int_equal(strncmp(error.text, other, strlen(other)), 0);
    assert_null(config_load(directory, NULL, &error));
    assert_non_null(strstr(error.text, "not a regular file"));
    assert_int_equal(mkfifo(other, 0600), 0);
    alarm(20); /* it must not wait for a writer */
    assert_null(config_load(other, NULL, &error));
    assert_non_null(strstr(error.text, "not a regular file"));
    alarm(0);
    write_bytes(other, "[imap]\nhost = a\0b\n", 18, 0600);
    assert_null(config_load(other, NULL, &error));
    assert_non_null(strstr(error.text, "contains a NUL byte"));
    write_text(other, "#", 0600);
    assert_int_equal(truncate(other, 1048577), 0);
    assert_null(config_load(other, NULL, &error));
    assert_non_null(strstr(error.text, "longer than 1048576 bytes"));
    if (geteuid() != 0) {
        write_text(other, "", 0000);
        assert_null(config_load(other, NULL, &error));
        assert_non_null(strstr(error.text, "Permission denied"));
    }
}

static void test_password(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *password; /* NULL: refused */
        const char *want;
    } cases[] = {
        {"plain", 5, "plain", NULL},
        {"plain\n", 6, "plain", NULL},
        {"plain\r\n", 7, "plain", NULL},
        {" # \\ \xe4 \r\nx", 11, " # \\ \xe4 ", NULL},
        {"one\n\0", 5, "one", NULL},
        {"", 0, NULL, "the first line is empty"},
        {"\n", 1, NULL, "the first line is empty"},
        {"\r\nsecond\n", 9, NULL, "the first line is empty"},
        {"a\0b\n", 4, NULL, "the first line contains a NUL byte"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct error error;
        char *override OD_CLEANUP(base_free) = base_printf("imap.password_file=%s", other);
        write_bytes(other, cases[i].bytes, cases[i].size, 0600);
        struct config *config OD_CLEANUP(config_free) = load("", override, NULL, &error);
        if ((config != NULL) != (cases[i].password != NULL))
            fail_msg("case %zu: %s", i, error.text);
        if (config != NULL)
            assert_string_equal(config->imap.password->text, cases[i].password);
        else if (strstr(error.text, cases[i].want) == NULL)
            fail_msg("case %zu: %s", i, error.text);
    }
    struct error error;
    char *override OD_CLEANUP(base_free) = base_printf("imap.password_file=%s", other);
    unlink(other);
    assert_null(load("", override, NULL, &error));
    assert_non_null(strstr(error.text, "-o: [imap] password_file: "));
    assert_non_null(strstr(error.text, "No such file or directory"));
}

static char *printed(const struct config *config, enum config_print which)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    config_print(out, config, which);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void test_print(void **state)
{
    (void)state;
    struct config *c OD_CLEANUP(config_free) = must_load(
        "[delivery]\ndeadline = 60000ms\nhold_off = 90s\nsize_limit = 2048K\nsent_expire_after = 60m\nrefuse_after = 0\n"
        "[lock]\nwait = 1500ms\n[imap]\nport = 143\ntls = starttls\ncreate = no\nsubscribe = yes\n"
        "[identity]\nignore_headers = X-A; X-B*\n[route]\nsent = \\Sent\n[imap]\nca_file =\n",
        NULL, NULL);
    char *text OD_CLEANUP(base_free) = printed(c, CONFIG_PRINT_NON_DEFAULT);
    char *want OD_CLEANUP(base_free) = base_printf(
        "lock.wait = 1500ms\nimap.port = 143\nimap.tls = starttls\nimap.password_file = %s\nimap.create = no\n"
        "route.sent = \\Sent\ndelivery.deadline = 1m\ndelivery.hold_off = 90s\ndelivery.size_limit = 2M\n"
        "delivery.refuse_after = 0s\nidentity.ignore_headers = X-A X-B*\n",
        secret);
    assert_string_equal(text, want);

    char *all OD_CLEANUP(base_free) = printed(c, CONFIG_PRINT_ALL);
    assert_non_null(strstr(all, "\nimap.ca_file =\n"));
    assert_non_null(strstr(all, "\ndelivery.sent_expire_after = 1h\n"));
    assert_null(strstr(all, "sesame"));

    char *defaults OD_CLEANUP(base_free) = printed(c, CONFIG_PRINT_DEFAULTS);
    assert_non_null(strstr(defaults, "\nlock.wait = 0s\n"));
    assert_non_null(strstr(defaults, "\ndelivery.deadline = 120s\n"));
    struct config *fresh OD_CLEANUP(config_free) = config_defaults();
    char *fresh_all OD_CLEANUP(base_free) = printed(fresh, CONFIG_PRINT_ALL);
    char *fresh_different OD_CLEANUP(base_free) = printed(fresh, CONFIG_PRINT_NON_DEFAULT);
    assert_non_null(strstr(defaults, "\ndatabase.tls = verify\n"));
    assert_null(strstr(fresh_all, "database.tls")); /* which is not in force */
    assert_null(strstr(fresh_all, "database.schema"));
    for (char *save = NULL, *line = strtok_r(fresh_all, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
        assert_non_null(strstr(defaults, line));
    assert_string_equal(fresh_different, "");
}

/* Each kind of ledger has its own method. */
static void test_method_follows_conninfo(void **state)
{
    (void)state;
    struct config *embedded OD_CLEANUP(config_free) = must_load("", "database.conninfo=sqlite:/a", NULL);
    struct config *server OD_CLEANUP(config_free) = must_load(POSTGRES, NULL, NULL);
    char *text OD_CLEANUP(base_free) = printed(server, CONFIG_PRINT_NON_DEFAULT);
    assert_int_equal(embedded->lock.method, LOCK_METHOD_SESSION);
    assert_int_equal(server->lock.method, LOCK_METHOD_ADVISORY);
    struct config *mariadb OD_CLEANUP(config_free) =
        must_load(MARIADB "durability = server\n", "database.tls=verify", NULL);
    struct config *mysql OD_CLEANUP(config_free) = must_load("", "database.conninfo=mysql://h", "lock.method=row");
    assert_int_equal(mariadb->lock.method, LOCK_METHOD_SESSION);
    assert_int_equal(mariadb->database.durability, DATABASE_DURABILITY_SERVER);
    assert_int_equal(config_engine(mysql), CONFIG_ENGINE_MARIADB);
    assert_int_equal(mysql->lock.method, LOCK_METHOD_ROW);
    assert_non_null(strstr(text, "database.conninfo = dbname=x\nlock.method = advisory\n"));
}

static void test_print_round_trip(void **state)
{
    (void)state;
    struct config *c OD_CLEANUP(config_free) = must_load(
        "[delivery]\ndeadline = 70s\nhold_off = 5m\nsize_limit = 1025\n[lock]\nwait = 7ms\n"
        "[identity]\nignore_headers = A;B\n[route]\ninbox = a \\ \"b\n[log]\nlevel = debug\n[imap]\nsubscribe = no\n",
        NULL, NULL);
    char *text OD_CLEANUP(base_free) = printed(c, CONFIG_PRINT_ALL);
    char *lines OD_CLEANUP(base_free) = base_strdup(text);
    const char *overrides[100];
    size_t count = 0;

    for (char *save = NULL, *line = strtok_r(lines, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
        overrides[count++] = line;
    overrides[count] = NULL;
    assert_in_range(count, 30, 98);
    write_text(file, "", 0600);
    struct error error;
    struct config *again OD_CLEANUP(config_free) = config_load(file, overrides, &error);
    if (again == NULL)
        fail_msg("%s", error.text);
    char *text_again OD_CLEANUP(base_free) = printed(again, CONFIG_PRINT_ALL);
    assert_string_equal(text, text_again);
}

static void test_print_hides_passwords(void **state)
{
    (void)state;
    static const struct {
        const char *conninfo;
        const char *shown;
    } cases[] = {
        {"dbname=x user=y", "dbname=x user=y"},
        {"dbname=x password=hunter2 user=y", "dbname=x password=*** user=y"},
        {"password = 'hunter2 \\' hunter2'  user = 'y z'", "password = ***  user = 'y z'"},
        {"password=hunter2\\ hunter2 user=y", "password=*** user=y"},
        {"sslpassword=hunter2", "sslpassword=***"},
        {"passfile=/etc/x", "passfile=/etc/x"},
        {"password='hunter2", "***"},
        {"host=x hunter2", "***"},
        {"postgresql://u@h/db", "postgresql://u@h/db"},
        {"postgresql://h:5432/db?sslmode=verify-full&a=b", "postgresql://h:5432/db?sslmode=verify-full&a=b"},
        {"postgresql://u:hunter2@h:5432/db", "postgresql://u:***@h:5432/db"},
        {"postgres://u:hun@ter/hunter2@h/db?x=y", "postgres://u:***@h/db?x=y"},
        {"postgresql://h/db?password=hunter2&user=u", "postgresql://h/db?password=***&user=u"},
        {"postgresql://h/db?user=u&pass%77ord=hunter2", "postgresql://h/db?user=u&pass%77ord=***"},
        {"postgresql://h/db?password&a=b", "postgresql://h/db?password&a=b"},
        {"mariadb://u:hunter2@h:3306,i/db?ssl_ca=/ca", "mariadb://u:***@h:3306,i/db?ssl_ca=/ca"},
        {"mysql://u:hun@ter2@h/db", "mysql://u:***@h/db"},
        {"postgresql:///db?x&sslpassword=hunter2", "postgresql:///db?x&sslpassword=***"},
        {"sqlite:/var/lib/a b/password=x.db", "sqlite:/var/lib/a b/password=x.db"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *override OD_CLEANUP(base_free) = base_printf("database.conninfo=%s", cases[i].conninfo);
        struct config *c OD_CLEANUP(config_free) = must_load("", override, NULL);
        char *text OD_CLEANUP(base_free) = printed(c, CONFIG_PRINT_ALL);
        char *want OD_CLEANUP(base_free) = base_printf("database.conninfo = %s\n", cases[i].shown);
        assert_string_equal(c->database.conninfo, cases[i].conninfo);
        if (strncmp(text, want, strlen(want)) != 0)
            fail_msg("case %zu: %.*s", i, (int)strcspn(text, "\n"), text);
        assert_null(strstr(text, "hunter2"));
    }
}

int main(void)
{
    /* The locale must not change anything; only the C library's own messages are compared in English. */
    setlocale(LC_ALL, "");
    setlocale(LC_MESSAGES, "C");
    umask(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_values_are_literal),
        cmocka_unit_test(test_overrides),
        cmocka_unit_test(test_hold_off_follows_deadline),
        cmocka_unit_test(test_syntax),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_file_access),
        cmocka_unit_test(test_file_kinds),
        cmocka_unit_test(test_password),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_print_round_trip),
        cmocka_unit_test(test_print_hides_passwords),
        cmocka_unit_test(test_method_follows_conninfo),
    };
    return cmocka_run_group_tests_name("config", tests, make_files, remove_files);
}
