/* SPDX-License-Identifier: ISC
 *
 * An IMAP server with one mailbox, whose answers are legal, and as unhelpful as that allows. What it finds by text means
 * nothing; what it finds by date and size is complete, and more than that. What it fetches comes in any order and form,
 * in between news of other messages. To be included once. */
#ifndef ONCEDROP_FUZZ_SERVER_H
#define ONCEDROP_FUZZ_SERVER_H

#include <glib.h>
#include <time.h>

#include "fuzz_stream.h"

#define DAY 86400
#define RECEIVED 1700000000
#define UIDVALIDITY 77
#define MAILS_MAX 300
#define DRAWN_MAX 24 /* the others are all alike */
#define ID "a$b+c_d=e@example.org"

enum kind { KIND_OTHER, KIND_SAME, KIND_VARIANT, KIND_NO_ID, KINDS }; /* VARIANT: another content with the id */

struct mail {
    uint32_t uid;
    enum kind kind;
    int64_t received;
    int zone; /* of the server, or of its INTERNALDATE: hours */
    GString *text;
    bool examined, gone;
};

static struct fuzz_input input;
static struct fuzz_cuts cuts;
static GString *asked, *reply;
static size_t reply_read;
static struct mail mails[MAILS_MAX];
static size_t mail_count;
static bool has_id;      /* what is searched for */
static bool excusable;   /* something was left out */
static bool missing;     /* there is no such mailbox */
static uint32_t uidnext; /* 0: not sent */

static unsigned draw(unsigned below)
{
    return fuzz_option(&input) % below;
}

static bool seldom(void)
{
    return draw(8) == 7;
}

/* What is searched for; transport may have added a field to a copy. */
static GString *text_of(enum kind kind, uint32_t uid, bool transported)
{
    GString *text = g_string_new(transported ? "Received: from somewhere by us; today\r\n" : NULL);

    g_string_append_printf(text, "Subject: %s\r\n", kind == KIND_SAME ? "it" : "not it");
    if (kind == KIND_OTHER)
        g_string_append_printf(text, "Message-ID: <x%u" ID ">\r\n", uid);
    else if (kind != KIND_NO_ID && has_id)
        g_string_append(text, kind == KIND_VARIANT ? "Message-Id:\r\n <" ID ">\r\n" : "Message-ID: <" ID ">\r\n");
    g_string_append_printf(text, "\r\nBody %u\r\n", kind == KIND_SAME ? 0 : uid);
    return text;
}

static void add_mail(enum kind kind, bool drawn)
{
    struct mail *mail = &mails[mail_count++];
    uint32_t before = mail_count > 1 ? mail[-1].uid : 0;

    mail->uid = before + 1 + (drawn ? draw(3) : 0);
    mail->kind = kind;
    mail->received = RECEIVED + (drawn ? (int64_t)draw(97) - 48 : 0) * (DAY / 24);
    mail->zone = drawn ? (int)draw(27) - 12 : 0;
    mail->text = text_of(kind, mail->uid, drawn && draw(2));
    mail->examined = mail->gone = false;
}

static void make_mails(void)
{
    size_t drawn = draw(DRAWN_MAX + 1), others = seldom() ? draw(256) : 0;

    for (size_t i = 0; i < drawn; i++)
        add_mail(draw(KINDS), true);
    for (size_t i = 0; i < others; i++)
        add_mail(KIND_OTHER, false);
}

/* From 1; of one that is gone: where it would be. */
static size_t number_of(const struct mail *mail)
{
    size_t number = 1;

    for (const struct mail *it = mails; it < mail; it++)
        number += !it->gone;
    return number;
}

static size_t count_mails(void)
{
    return number_of(mails + mail_count) - 1;
}

static void say(const char *format, ...) OD_PRINTF(1, 2);
static void say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    g_string_append_vprintf(reply, format, arguments);
    va_end(arguments);
    g_string_append(reply, "\r\n");
}

static void expunge(struct mail *mail)
{
    if (mail->gone)
        return;
    say("* %zu EXPUNGE", number_of(mail));
    mail->gone = true;
    excusable = true;
}

/* Of any message, in the middle of any answer. */
static void say_news(bool by_uid)
{
    struct mail *mail = mail_count > 0 ? &mails[draw((unsigned)mail_count)] : NULL;

    switch (seldom() ? draw(6) : 0) {
    case 1:
        say("* OK Still here");
        break;
    case 2:
        if (mail && !mail->gone)
            say("* %zu FETCH (FLAGS (\\Seen))", number_of(mail));
        break;
    case 3:
        if (mail && !mail->gone)
            say("* %zu FETCH (UID %u FLAGS (\\Seen))", number_of(mail), mail->uid);
        break;
    case 4:
        if (mail_count < MAILS_MAX)
            add_mail(draw(KINDS), true);
        say("* %zu EXISTS", count_mails());
        break;
    case 5:
        if (by_uid && mail) /* RFC 3501, 7.4.1: not in FETCH or SEARCH without UID */
            expunge(mail);
        break;
    default:
        break;
    }
}

/* SINCE and BEFORE with dates as in RFC 3501, LARGER and SMALLER, UID with a number. */
static bool matches(const struct mail *mail, const char *criteria)
{
    int64_t day = (mail->received + mail->zone * 3600) / DAY, value;
    char key[16], word[32];
    int length;

    for (; sscanf(criteria, " %15s %31s%n", key, word, &length) == 2; criteria += length) {
        struct tm tm = {.tm_year = 0};
        bool dated = strptime(word, "%d-%b-%Y", &tm) != NULL;

        value = dated ? timegm(&tm) / DAY : atoll(word);
        if ((strcmp(key, "SINCE") == 0 && day < value) || (strcmp(key, "BEFORE") == 0 && day >= value) ||
            (strcmp(key, "UID") == 0 && mail->uid != value) ||
            (strcmp(key, "LARGER") == 0 && (int64_t)mail->text->len <= value) ||
            (strcmp(key, "SMALLER") == 0 && (int64_t)mail->text->len >= value))
            return false;
    }
    return true;
}

static void shuffle(struct mail **list, size_t count)
{
    for (size_t i = count; draw(2) && i > 1; i--) {
        size_t other = draw((unsigned)i);
        struct mail *swapped = list[i - 1];

        list[i - 1] = list[other];
        list[other] = swapped;
    }
}

/* What a search by text finds is accidental. */
static void say_hits(const char *criteria)
{
    struct mail *hits[2 * MAILS_MAX];
    size_t count = 0;
    bool by_text = g_str_has_prefix(criteria, "HEADER ");

    for (struct mail *mail = mails; mail < mails + mail_count; mail++) {
        bool hit = by_text ? draw(2) : !mail->gone && (matches(mail, criteria) || seldom());

        excusable |= hit && mail->gone;
        for (unsigned times = hit ? 1 + seldom() : 0; times > 0; times--)
            hits[count++] = mail;
    }
    shuffle(hits, count);
    if (count == 0 && seldom()) { /* mandatory, but some leave it out */
        excusable = true;
        return;
    }
    g_string_append(reply, seldom() ? "* search" : "* SEARCH");
    for (size_t i = 0; i < count; i++) {
        g_string_append_printf(reply, " %u", hits[i]->uid);
        if (seldom())
            g_string_append(reply, "\r\n* SEARCH");
    }
    say("%s", "");
}

/* The part of it that the command names. */
static GString *part_of(const struct mail *mail, const char *wanted)
{
    const char *body = strstr(mail->text->str, "\r\n\r\n") + 4;
    const char *field = strstr(mail->text->str, "Message-I");

    if (strstr(wanted, "[HEADER.FIELDS")) {
        GString *fields = g_string_new(NULL);
        if (field)
            g_string_append_len(fields, field, strchr(field, '>') + 3 - field);
        return g_string_append(fields, "\r\n");
    }
    return g_string_new_len(mail->text->str, strstr(wanted, "[HEADER]") ? body - mail->text->str : -1);
}

/* A literal; or, if it is small, as a server might make a string of it; or what it cannot read now. */
static char *string_of(const struct mail *mail, const char *wanted)
{
    GString *part = part_of(mail, wanted);
    bool fields = strstr(wanted, "[HEADER.FIELDS") != NULL;
    unsigned how = seldom() ? 1 + draw(4) : 0;
    char *string;

    if (how == 1 && fields)
        string = g_strdup_printf("\"%s\"", g_strdelimit(part->str, "\r\n", ' '));
    else if (how > 1)
        string = g_strdup(how == 2 ? "\"\"" : how == 3 ? "NIL" : "{0}\r\n");
    else
        string = g_strdup_printf("{%zu}\r\n%s", part->len, part->str);
    excusable |= how > 1;
    g_string_free(part, TRUE);
    return string;
}

static void say_fetched(const struct mail *mail, const char *wanted, bool by_uid)
{
    const char *section = strstr(wanted, "[HEADER.FIELDS") ? "[HEADER.FIELDS (\"Message-Id\")]"
                          : strstr(wanted, "[HEADER]")     ? "[HEADER]"
                                                           : "[]";
    char *string = string_of(mail, wanted);
    size_t number = number_of(mail);

    switch (seldom() ? 1 + draw(4) : 0) {
    case 1:
        say("* %zu FETCH (FLAGS () BODY%s %s UID %u)", number, section, string, mail->uid);
        break;
    case 2:
        say("* %zu fetch (uid %u body%s %s flags (\\Seen))", number, mail->uid, section, string);
        break;
    case 3: /* in two: the client does not relate them */
        say("* %zu FETCH (UID %u)", number, mail->uid);
        say("* %zu FETCH (BODY%s %s)", number, section, string);
        excusable = true;
        break;
    case 4:
        say("* %zu FETCH (UID %u BODY%s %s)", number, mail->uid, section, string);
        __attribute__((fallthrough));
    default:
        say("* %zu FETCH (UID %u BODY%s %s)", number, mail->uid, section, string);
    }
    g_free(string);
    say_news(by_uid);
}

static bool is_in_set(const char *set, uint32_t number)
{
    for (char *at = (char *)(size_t)set; g_ascii_isdigit(*at); at += *at == ',') {
        unsigned long first = strtoul(at, &at, 10), last = *at == ':' ? strtoul(at + 1, &at, 10) : first;

        if (number >= first && number <= last)
            return true;
    }
    return false;
}

/* Those of the set, and sometimes others; some say OK to a number that is not there. */
static bool say_all_fetched(const char *set, bool by_uid)
{
    struct mail *list[MAILS_MAX];
    size_t count = 0;
    const char *range = strchr(set, ':');

    if (!by_uid && range && strtoul(range + 1, NULL, 10) > count_mails()) {
        excusable = true;
        if (draw(2))
            return false;
    }
    for (struct mail *mail = mails; mail < mails + mail_count; mail++)
        if (!mail->gone &&
            (is_in_set(set, by_uid ? mail->uid : (uint32_t)number_of(mail)) || (mail_count < 9 && seldom())))
            list[count++] = mail;
    shuffle(list, count);
    for (size_t i = 0; i < count; i++)
        if (!list[i]->gone)
            say_fetched(list[i], strchr(set, ' '), by_uid);
    return true;
}

static bool examine(void)
{
    if (missing)
        return false;
    for (struct mail *mail = mails; mail < mails + mail_count; mail++)
        mail->examined = true;
    say("* OK [UIDVALIDITY %d] Valid", UIDVALIDITY);
    if (uidnext > 0)
        say("* OK [UIDNEXT %u] Next", uidnext);
    say("* %zu EXISTS", count_mails());
    return true;
}

static void serve(const char *line)
{
    size_t tag = strcspn(line, " ");
    const char *command = line + tag + 1;
    bool good = true, there = true, by_uid = g_str_has_prefix(command, "UID ");

    say_news(by_uid);
    if (g_str_has_prefix(command, "EXAMINE "))
        there = examine();
    else if (g_str_has_prefix(command, "UID SEARCH "))
        say_hits(command + strlen("UID SEARCH "));
    else if (g_str_has_prefix(command, "UID FETCH ") || g_str_has_prefix(command, "FETCH "))
        good = say_all_fetched(strstr(command, "FETCH ") + strlen("FETCH "), by_uid);
    say_news(by_uid);
    say("%.*s %s Done", (int)tag, line, !there ? "NO" : good ? "OK" : "BAD");
}

static ssize_t low_write(const void *bytes, size_t size)
{
    g_string_append_len(asked, bytes, (gssize)size);
    for (char *end; (end = strstr(asked->str, "\r\n")) != NULL; g_string_erase(asked, 0, end + 2 - asked->str)) {
        *end = '\0';
        serve(asked->str);
    }
    return (ssize_t)size;
}

static ssize_t low_read(void *buffer, size_t size)
{
    size_t left = reply->len - reply_read, n = fuzz_cut(&cuts, left < size ? left : size);

    memcpy(buffer, reply->str + reply_read, n);
    reply_read += n;
    return (ssize_t)n;
}

static void low_opened(void)
{
    say("* OK [CAPABILITY IMAP4rev1 AUTH=PLAIN SASL-IR UNSELECT] Hello");
}

static struct config *server_settings(void)
{
    struct config *config = config_defaults();

    config->imap.tls = IMAP_TLS_NONE;
    free(config->imap.host);
    config->imap.host = base_strdup("mail.example");
    free(config->imap.password->text);
    config->imap.password->text = base_strdup("secret");
    return config;
}

static void begin_server(const uint8_t *bytes, size_t size)
{
    input = (struct fuzz_input){bytes, size};
    cuts = fuzz_cuts(&input);
    asked = g_string_new(NULL);
    reply = g_string_new(NULL);
    reply_read = mail_count = 0;
    excusable = missing = false;
    uidnext = 0;
    has_id = draw(4) != 3;
    make_mails();
}

static void end_server(void)
{
    for (size_t i = 0; i < mail_count; i++)
        g_string_free(mails[i].text, TRUE);
    g_string_free(asked, TRUE);
    g_string_free(reply, TRUE);
}

#endif
