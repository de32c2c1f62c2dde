/* SPDX-License-Identifier: ISC
 *
 * A dialogue with an IMAP server that sends the input regardless of the commands. Both sides are recorded, and must justify
 * every result: no "stored" without the tagged OK to our APPEND, no "absent" without an answer to the search, no
 * credential before TLS, greeting and capabilities allow it.
 *
 * TLS only counts as started. */
#include "fuzz_stream.h"

#include <ctype.h>
#include <glib.h>

#define PASSWORD "correct-horse-battery"
#define MESSAGE "Message-ID: <a@b>\r\n\r\nA1 OK no\r\n* BYE\r\n"
#define LAST_BYTE "\n" /* of the message */
#define COMMANDS_MAX 4096
#define NUL "\x7f"       /* recorded instead of one; it ends a line like a blank */
#define SAME "yes"       /* a candidate that contains it is the message searched for */
#define SIMILAR "nearly" /* one that contains this may be, too */

static struct fuzz_input server;
static struct fuzz_cuts server_cuts;
static GString *said; /* sent by the server and read by us */
static GString *sent;
static GString *credential; /* as sent */
static size_t sent_checked;
static struct {
    enum imap_tls tls;
    bool tls_refused, tls_begun;
    size_t said_before_tls;
    size_t said_before[COMMANDS_MAX]; /* when the command of that number went out */
    unsigned last_command;
    unsigned wanted; /* how often APPEND asked whether to go on */
    size_t sent_before_literal;
    GString *candidate;
    enum message_likeness best;
} dialogue;

static bool is_in(const GString *text, size_t from, const char *word)
{
    return from <= text->len && strcasestr(text->str + from, word) != NULL;
}

/* Where the last line begins that has this behind its tag; NULL when none has. */
static const char *last_command(const char *verb)
{
    const char *found = NULL;

    for (const char *line = sent->str; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t tag = strspn(line, "A0123456789");

        if (tag > 1 && line[tag] == ' ' && g_str_has_prefix(line + tag + 1, verb))
            found = line;
    }
    return found;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

/* What the server sent after the command. */
static const char *said_after(const char *command)
{
    unsigned long number = strtoul(command + 1, NULL, 10);

    return said->str + dialogue.said_before[number < COMMANDS_MAX ? number : 0];
}

/* Whether the server answered the command like this: its tag and a status, the first time. */
static bool replied(const char *command, const char *status)
{
    size_t tag = command != NULL ? strcspn(command, " ") + 1 : 0;

    for (const char *line = command != NULL ? said_after(command) : ""; *line;
         line += strcspn(line, "\n"), line += *line == '\n') {
        size_t length = strcspn(line, " \r\n") + 1 == tag ? strcspn(line + tag, " \n" NUL) : 0;
        if (length > 0 && strncmp(line + tag + length - 1, "\r\n", 2) == 0)
            length--;
        bool is_reply = length > 0 && strncmp(line, command, tag) == 0 &&
                        (is_word(line + tag, length, "OK") || is_word(line + tag, length, "NO") ||
                         is_word(line + tag, length, "BAD"));

        if (is_reply)
            return is_word(line + tag, length, status);
    }
    return false;
}

static const char *last_line(const GString *text)
{
    size_t at = text->len;

    while (at > 0 && text->str[at - 1] == '\n')
        at--;
    while (at > 0 && text->str[at - 1] != '\n')
        at--;
    return text->str + at;
}

/* The credential is being sent: were all conditions met? */
static void check_credential(void)
{
    const char *line = last_line(sent);

    FUZZ_CHECK(dialogue.tls == IMAP_TLS_NONE || (dialogue.tls_begun && !dialogue.tls_refused));
    FUZZ_CHECK(is_in(said, 0, "* OK"));
    FUZZ_CHECK(is_in(said, dialogue.said_before_tls, "CAPABILITY"));
    if (strstr(line, " LOGIN ") != NULL)
        return;
    FUZZ_CHECK(is_in(said, dialogue.said_before_tls, "AUTH="));
    if (strstr(line, " AUTHENTICATE ") != NULL)
        FUZZ_CHECK(is_in(said, dialogue.said_before_tls, "SASL-IR"));
    else
        FUZZ_CHECK(is_in(said, dialogue.said_before[dialogue.last_command], "+"));
}

static ssize_t low_write(const void *bytes, size_t size)
{
    size_t before = sent->len;

    g_string_append_len(sent, bytes, (gssize)size);
    /* what the server said first is no secret, and may be in a mailbox's name */
    if (strstr(sent->str + sent_checked, credential->str) != NULL && strstr(said->str, credential->str) == NULL) {
        check_credential();
        sent_checked = sent->len;
    }
    if ((before == 0 || sent->str[before - 1] == '\n') &&
        sent->str[before] == 'A') { /* perhaps with an early literal */
        unsigned long number = strtoul(sent->str + before + 1, NULL, 10);

        dialogue.last_command = number < COMMANDS_MAX ? (unsigned)number : 0;
        dialogue.said_before[dialogue.last_command] = said->len;
    }
    return (ssize_t)size;
}

/* At most a line, since the server cannot know our next command. */
static ssize_t low_read(void *buffer, size_t size)
{
    const uint8_t *end = server.size > 0 ? memchr(server.bytes, '\n', server.size) : NULL;
    size_t n = end != NULL ? (size_t)(end - server.bytes) + 1 : server.size;

    n = fuzz_cut(&server_cuts, n < size ? n : size);
    if (n == 0)
        return 0;
    memcpy(buffer, server.bytes, n);
    for (size_t i = 0; i < n; i++)
        g_string_append_c(said, server.bytes[i] != '\0' ? (char)server.bytes[i] : *NUL);
    server.bytes += n;
    server.size -= n;
    return (ssize_t)n;
}

static void low_opened(void)
{
    dialogue.said_before_tls = said->len;
    dialogue.tls_begun = false;
}

bool __wrap_imap_stream_secure(struct imap *imap, const struct config *config, struct error *error);

bool __wrap_imap_stream_secure(struct imap *imap, const struct config *config, struct error *error)
{
    (void)config;
    FUZZ_CHECK(!imap_stream_unread(imap));
    dialogue.tls_begun = true;
    dialogue.said_before_tls = said->len;
    return !dialogue.tls_refused || error_set(error, "the certificate is not accepted");
}

static bool wanted(void *context)
{
    dialogue.wanted++;
    dialogue.sent_before_literal = sent->len;
    return *(const bool *)context;
}

void __wrap_message_comparison_feed(struct message_comparison *comparison, const void *bytes, size_t size);
enum message_likeness __wrap_message_comparison_end(struct message_comparison *comparison);

void __wrap_message_comparison_feed(struct message_comparison *comparison, const void *bytes, size_t size)
{
    (void)comparison;
    g_string_append_len(dialogue.candidate, bytes, (gssize)size);
}

enum message_likeness __wrap_message_comparison_end(struct message_comparison *comparison)
{
    const GString *it = dialogue.candidate;
    enum message_likeness likeness = MESSAGE_OTHER;

    (void)comparison;
    if (memmem(it->str, it->len, SAME, strlen(SAME)) != NULL)
        likeness = MESSAGE_SAME;
    else if (memmem(it->str, it->len, SIMILAR, strlen(SIMILAR)) != NULL)
        likeness = MESSAGE_SIMILAR;
    if (likeness > dialogue.best)
        dialogue.best = likeness;
    g_string_truncate(dialogue.candidate, 0);
    return likeness;
}

/* By itself, or its ids among others. */
static bool was_fetched(unsigned long uid)
{
    static const char verb[] = " UID FETCH ";

    for (const char *line = sent->str; (line = strstr(line, verb)) != NULL;) {
        line += strlen(verb);
        for (char *at = sent->str + (line - sent->str); g_ascii_isdigit(*at); at += *at == ',')
            if (strtoul(at, &at, 10) == uid)
                return true;
    }
    return false;
}

/* Every message named in the answer to the search was examined. */
static void check_all_fetched(void)
{
    const char *tag = last_command("UID SEARCH "), *line = said_after(tag);

    for (; *line && strncmp(line, tag, strcspn(tag, " ") + 1) != 0;
         line += strcspn(line, "\n"), line += *line == '\n') {
        const char *at = line + strlen("* SEARCH");
        char *end;

        if (strncasecmp(line, "* SEARCH", strlen("* SEARCH")) != 0)
            continue;
        for (unsigned long uid; *at == ' ' || g_ascii_isdigit(*at); at = end) {
            while (*at == ' ')
                at++;
            if (!g_ascii_isdigit(*at))
                break; /* strtoul(3) would go on to the next line */
            uid = strtoul(at, &end, 10);
            FUZZ_CHECK(was_fetched(uid));
        }
    }
}

/* Whether an APPEND has a literal that waits for no '+'. */
static bool is_early(const char *command)
{
    return command != NULL && strncmp(strchrnul(command, '\n') - 3, "+}\r", 3) == 0;
}

/* Whether the text up to there ends with the message without its last byte. */
static bool ends_early(size_t end)
{
    const size_t size = strlen(MESSAGE) - 1;

    return end >= size && memcmp(sent->str + end - size, MESSAGE, size) == 0;
}

/* The literal, or the last byte of an early one, was begun. */
static bool literal_begun(const char *command)
{
    char first = is_early(command) ? *LAST_BYTE : *MESSAGE;

    return dialogue.wanted > 0 && sent->len > dialogue.sent_before_literal &&
           sent->str[dialogue.sent_before_literal] == first;
}

/* All of the literal was sent, after a '+' or early, and nothing else since. */
static bool literal_sent(const char *command)
{
    const char *literal = sent->str + dialogue.sent_before_literal;

    if (is_early(command))
        return dialogue.wanted > 0 && ends_early(dialogue.sent_before_literal) &&
               g_str_has_prefix(literal, LAST_BYTE "\r\n");
    return dialogue.wanted > 0 && is_in(said, 0, "+") && g_str_has_prefix(literal, MESSAGE "\r\n");
}

/* Whether the line's end, at `end`, announces a literal, and its size. */
static bool announced(const char *line, const char *end, size_t *ret)
{
    const char *at = end;

    if (at > line && at[-1] == '\r')
        at--;
    if (at == line || *--at != '}')
        return false;
    while (at > line && g_ascii_isdigit(at[-1]))
        at--;
    *ret = strtoul(at, NULL, 10);
    return *at != '}' && at > line && at[-1] == '{' && end - at < 18;
}

static bool is_data(const char *line)
{
    static const char *const statuses[] = {"OK", "NO", "BAD", "PREAUTH", "BYE"};
    size_t length;

    if (strncmp(line, "* ", 2) != 0)
        return false;
    length = strcspn(line + 2, " \r\n" NUL);
    for (size_t i = 0; i < G_N_ELEMENTS(statuses); i++)
        if (is_word(line + 2, length, statuses[i]))
            return false;
    return true;
}

/* A literal, and what follows it, belongs to its line. */
static void join_literals(void)
{
    for (size_t at = 0; at < said->len;) {
        bool goes_on = is_data(said->str + at);

        do {
            char *end = strchrnul(said->str + at, '\n');
            size_t literal = 0;

            goes_on = goes_on && *end == '\n' && announced(said->str + at, end, &literal);
            at = (size_t)(end - said->str) + 1;
            if (goes_on)
                *end = ' ';
            for (; goes_on && literal > 0 && at < said->len; literal--, at++)
                said->str[at] = said->str[at] == '\n' ? ' ' : said->str[at];
        } while (goes_on && at < said->len);
    }
}

/* Closed in the middle of an APPEND: any bytes sent would be its literal. */
static void check_cancel(struct mailbox *mailbox)
{
    const char *command = last_command("APPEND ");
    bool begun = command != NULL && (is_early(command) ? ends_early(sent->len) : last_line(sent) == command);
    size_t before = sent->len;
    bool open = mailbox->imap->stream != NULL;

    mailbox_close(&mailbox);
    FUZZ_CHECK((sent->len == before) == (begun || !open));
}

/* Takes the session. */
static void check_append(struct mailbox *mailbox, const char *name, bool is_wanted, bool is_begun_only)
{
    char message[] = MESSAGE;
    struct iovec pieces[] = {{message, 10}, {message + 10, sizeof(message) - 11}};
    struct append append = {
        .mailbox = name,
        .seen = true,
        .internal_date = 1700000000,
        .pieces = pieces,
        .piece_count = 2,
        .wanted = wanted,
        .context = &is_wanted,
    };
    uint32_t uidvalidity = 7, uid = 7;
    struct error error = {.text = ""};
    mailbox_append_begin(mailbox, &append);
    FUZZ_CHECK(dialogue.wanted == 0);
    if (is_begun_only) {
        check_cancel(mailbox);
        return;
    }
    mailbox_append_send(mailbox, base_now_ms() + 10);
    enum append_result result = mailbox_append(mailbox, &uidvalidity, &uid, &error);
    join_literals();
    const char *command = last_command("APPEND ");
    bool begun = literal_begun(command);

    FUZZ_CHECK((result == APPEND_STORED) == (error.text[0] == '\0'));
    FUZZ_CHECK(result == APPEND_STORED || (uidvalidity == 7 && uid == 7));
    FUZZ_CHECK(is_wanted || !begun);
    switch (result) {
    case APPEND_STORED:
        FUZZ_CHECK(literal_sent(command) && replied(command, "OK"));
        FUZZ_CHECK(strncmp(last_line(said), command, strcspn(command, " ") + 1) == 0);
        break;
    case APPEND_UNKNOWN:
        FUZZ_CHECK(begun);
        break;
    case APPEND_LOST:
    case APPEND_NOT_SENT:
        FUZZ_CHECK(result != APPEND_LOST || !mailbox_connected(mailbox));
        FUZZ_CHECK(!begun || last_command("CREATE ") != NULL);
        break;
    case APPEND_UNAVAILABLE:
        FUZZ_CHECK(replied(command, "NO") || replied(command, "BAD"));
        FUZZ_CHECK(!begun || last_command("CREATE ") != NULL);
        break;
    case APPEND_NO_MAILBOX:
        FUZZ_CHECK(replied(command, "NO") && is_in(said, 0, "[TRYCREATE"));
        break;
    case APPEND_ERROR:
        FUZZ_CHECK(begun && (replied(command, "NO") || replied(command, "BAD")));
        break;
    default: // these may bounce the message
        FUZZ_CHECK(replied(command, "NO"));
    }
    mailbox_close(&mailbox);
}

/* Takes the session. */
static void check_search(struct mailbox *mailbox, const char *name, uint8_t options)
{
    static const struct message any;
    struct message_comparison *comparison OD_CLEANUP(message_comparison_free) = message_comparison_new_id(&any);
    struct search search = {
        .mailbox = name,
        .message_id = options & 1 ? "a@b" : NULL,
        .internal_date = 1700000000,
        .smallest = 20,
        .largest = options & 2 ? 90 : 0,
        .newest = (options & 12) == 12 ? 500 : 0,
        .newest_only = (options & 28) == 28,
        .by_id = options & 8,
        .complete = comparison,
        .ids = options & (8 | 32) ? comparison : NULL,
    };
    uint32_t uidvalidity = 7, uid = 7;
    struct error error = {.text = ""};
    enum search_result result = mailbox_search(mailbox, &search, &uidvalidity, &uid, &error);
    bool open = mailbox_connected(mailbox);
    mailbox_close(&mailbox);
    join_literals();
    const char *examined = last_command("EXAMINE "), *searched = last_command("UID SEARCH ");
    const char *fetched = last_command("UID FETCH "), *newest = last_command("FETCH ");

    FUZZ_CHECK((result == SEARCH_UNKNOWN) == (error.text[0] != '\0'));
    FUZZ_CHECK(result != SEARCH_UNKNOWN || !open);
    if (open && replied(examined, "OK")) /* no mailbox is selected any more */
        FUZZ_CHECK(replied(last_command("UNSELECT"), "OK") || replied(last_command("CLOSE"), "OK"));
    if (result == SEARCH_PRESENT) {
        FUZZ_CHECK(replied(examined, "OK") && dialogue.best != MESSAGE_OTHER);
        FUZZ_CHECK(newest != NULL || (replied(searched, "OK") && replied(fetched, "OK") && was_fetched(uid)));
        /* one that is only similar was taken when all had been looked at */
        if (newest == NULL && dialogue.best != MESSAGE_SAME)
            check_all_fetched();
        return;
    }
    FUZZ_CHECK(uidvalidity == 7 && uid == 7);
    if (result != SEARCH_MISSING)
        return;
    if (fetched != NULL)
        FUZZ_CHECK(replied(fetched, "OK") && strcasestr(said_after(fetched), "FETCH") != NULL);
    if (newest != NULL)
        FUZZ_CHECK(replied(newest, "OK"));
    if (searched != NULL) {
        const char *reply = said_after(searched);
        bool alone = strncmp(reply, searched, strcspn(searched, " ") + 1) == 0;
        FUZZ_CHECK(replied(searched, "OK") && (alone || strcasestr(reply, "* SEARCH") != NULL));
        FUZZ_CHECK(strncmp(strchr(searched, ' '), " UID SEARCH SINCE ", 18) == 0);
        check_all_fetched();
    } else if (replied(examined, "OK")) {
        FUZZ_CHECK(strcasestr(said_after(examined), " EXISTS"));
    } else {
        FUZZ_CHECK(replied(examined, "NO") && replied(last_command("LIST "), "OK"));
    }
}

static void set(char **field, const char *value)
{
    free(*field);
    *field = base_strdup(value);
}

static struct config *settings(uint8_t options, uint8_t more)
{
    static const enum imap_tls tls[] = {IMAP_TLS_NONE, IMAP_TLS_STARTTLS, IMAP_TLS_IMAPS, IMAP_TLS_STARTTLS};
    static const enum imap_auth methods[] = {IMAP_AUTH_PLAIN, IMAP_AUTH_LOGIN, IMAP_AUTH_XOAUTH2, IMAP_AUTH_PLAIN};
    struct config *config = config_defaults();

    dialogue.tls_refused = (options & 3) == 3;
    config->imap.tls = dialogue.tls = tls[options & 3];
    config->imap.auth = methods[options >> 2 & 3];
    set(&config->imap.host, "mail.example");
    set(&config->imap.password->text, PASSWORD);
    if ((options >> 2 & 3) == 3)
        set(&config->imap.master_user, "master");
    config->imap.create = options & 16;
    config->imap.subscribe = options & 32;
    config->delivery.size_limit = more & 16 ? 0 : 65536;
    return config;
}

/* What the login sends, as RFC 4616 and the others write it. */
static GString *credential_of(const struct config *config)
{
    static const char plain[] = "\0lisa\0" PASSWORD, master[] = "lisa\0master\0" PASSWORD;
    static const char bearer[] = "user=lisa\001auth=Bearer " PASSWORD "\001\001";
    GString *text = g_string_new(PASSWORD);
    char *encoded;

    if (config->imap.auth == IMAP_AUTH_LOGIN)
        return text;
    if (config->imap.auth == IMAP_AUTH_XOAUTH2)
        encoded = g_base64_encode((const guchar *)bearer, sizeof(bearer) - 1);
    else if (*config->imap.master_user != '\0')
        encoded = g_base64_encode((const guchar *)master, sizeof(master) - 1);
    else
        encoded = g_base64_encode((const guchar *)plain, sizeof(plain) - 1);
    g_string_assign(text, encoded);
    g_free(encoded);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    struct fuzz_cuts cuts = fuzz_cuts(&input);
    uint8_t options = fuzz_option(&input), more = fuzz_option(&input);
    const char *name = options & 64 ? "\\Sent" : "INBOX";
    struct error error = {.text = ""};
    struct config *config;

    memset(&dialogue, 0, sizeof(dialogue));
    dialogue.candidate = g_string_new(NULL);
    config = settings(options, more);
    credential = credential_of(config);
    said = g_string_new(NULL);
    sent = g_string_new(NULL);
    sent_checked = 0;
    server = input;
    server_cuts = cuts;
    low_late = more & 128;
    struct mailbox *mailbox = mailbox_open(config, "lisa", 0, &error);
    FUZZ_CHECK((mailbox == NULL) == (error.text[0] != '\0'));
    FUZZ_CHECK(mailbox == NULL || strstr(sent->str, credential->str) != NULL);
    if (mailbox != NULL && options & 128)
        check_search(mailbox, name, more);
    else if (mailbox != NULL)
        check_append(mailbox, name, !(more & 32), more & 64);
    FUZZ_CHECK(strlen(sent->str) == sent->len);
    g_string_free(said, TRUE);
    g_string_free(sent, TRUE);
    g_string_free(credential, TRUE);
    g_string_free(dialogue.candidate, TRUE);
    config_free(&config);
    return 0;
}
