/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mailbox/mailbox_internal.h"

#define NAME_MAX_BYTES 1000

/* Adds UTF-16 in base64, ',' for '/', no padding. */
static void add_run(GString *out, const char *run, size_t length)
{
    glong units;
    g_autofree gunichar2 *wide = g_utf8_to_utf16(run, (glong)length, NULL, &units, NULL);
    for (glong i = 0; i < units; i++)
        wide[i] = GUINT16_TO_BE(wide[i]);
    g_autofree char *encoded = g_base64_encode((const guchar *)wide, (gsize)units * sizeof(*wide));
    g_strdelimit(encoded, "/", ',');
    g_string_append_printf(out, "&%.*s-", (int)strcspn(encoded, "="), encoded);
}

/* In modified UTF-7: not every iconv(3) has it. */
static char *encode(const char *name)
{
    GString *out = g_string_new(NULL);
    while (*name != '\0') {
        size_t length = 0;
        while ((unsigned char)name[length] >= 0x80)
            length++;
        if (length > 0)
            add_run(out, name, length);
        else
            g_string_append_printf(out, "%c%s", *name, *name == '&' ? "-" : "");
        name += length > 0 ? length : 1;
    }
    return g_string_free(out, FALSE);
}

char *mailbox_name_encode(const char *name, struct error *error)
{
    size_t length = strlen(name);
    const char *wrong = NULL;
    if (length == 0)
        wrong = "is empty";
    else if (length > NAME_MAX_BYTES)
        wrong = "is longer than 1000 bytes";
    else if (!g_utf8_validate(name, (gssize)length, NULL))
        wrong = "is not valid UTF-8";
    for (const char *p = name; wrong == NULL && *p != '\0'; p += g_utf8_skip[(unsigned char)*p])
        if (g_unichar_iscntrl(g_utf8_get_char(p)))
            wrong = "has a control character";
    if (wrong != NULL) {
        error_set(error, "mailbox name %.200s %s", name, wrong);
        return NULL;
    }
    return encode(name);
}

/* INBOX ignores case (RFC 3501, 5.1), also in a prefix. */
static bool begins_with(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    size_t either = g_ascii_strncasecmp(prefix, "INBOX", 5) == 0 ? 5 : 0;
    return strlen(name) >= length && g_ascii_strncasecmp(name, prefix, either) == 0 &&
           strncmp(name + either, prefix + either, length - either) == 0;
}

static bool has_prefix(const struct mailbox_namespaces *namespaces, const char *name)
{
    for (guint i = 0; namespaces->prefixes != NULL && i < namespaces->prefixes->len; i++)
        if (begins_with(name, namespaces->prefixes->pdata[i]))
            return true;
    return false;
}

/* Replaces '/' by the separator, and adds the prefix unless the name has that of any namespace. Not for INBOX. */
static char *apply_namespace(const struct mailbox_namespaces *namespaces, const char *name)
{
    if (namespaces->own == NULL)
        return base_strdup(name);
    g_autofree char *mapped = g_strdup(name);
    if (namespaces->separator != '\0')
        g_strdelimit(mapped, "/", namespaces->separator); /* modified UTF-7 has no '/' */
    return base_printf("%s%s", has_prefix(namespaces, mapped) ? "" : namespaces->own, mapped);
}

/* Prefers an own namespace without a prefix, else the first. */
static void record_prefix(void *context, const struct reply_namespace *namespace)
{
    struct mailbox_namespaces *namespaces = context;
    bool own = namespace->personal && (namespaces->own == NULL || namespace->prefix_size == 0);
    if (namespace->prefix_size > 0) {
        if (namespaces->prefixes == NULL)
            namespaces->prefixes = g_ptr_array_new_with_free_func(free);
        g_ptr_array_add(namespaces->prefixes, base_strndup(namespace->prefix, namespace->prefix_size));
    }
    if (!own)
        return;
    free(namespaces->own);
    namespaces->own = base_strndup(namespace->prefix, namespace->prefix_size);
    namespaces->separator = namespace->separator;
}

static void record_namespaces(void *context, struct imap_reply *reply)
{
    struct mailbox_namespaces reported = {.asked = true};
    struct mailbox_namespaces *namespaces = context;
    bool complete = imap_reply_namespaces(reply, record_prefix, &reported);
    mailbox_namespace_clear(complete ? namespaces : &reported);
    if (complete)
        *namespaces = reported;
}

/* Asking for unknown capabilities takes as long as asking for namespaces. */
static bool has_any(const struct imap *imap)
{
    return imap->capabilities == NULL || imap_can(imap, "NAMESPACE") || imap_can(imap, "IMAP4rev2");
}

/* Returns a new string: the name to send; both in modified UTF-7. Asks the server once per session, and never for INBOX.
 * Returns NULL and sets the error without a response: the name might mean another mailbox. */
static char *in_namespace(struct mailbox_namespaces *namespaces, struct imap *imap, const char *name,
                          struct error *error)
{
    if (g_ascii_strcasecmp(name, "INBOX") == 0)
        return base_strdup("INBOX");
    if (!namespaces->asked && has_any(imap)) {
        namespaces->asked = imap_command(imap, record_namespaces, namespaces, error, "NAMESPACE") ||
                            imap->reply.status == STATUS_BAD; /* unknown command */
        if (!namespaces->asked)
            return NULL;
    }
    return apply_namespace(namespaces, name);
}

void mailbox_namespace_clear(struct mailbox_namespaces *namespaces)
{
    free(namespaces->own);
    if (namespaces->prefixes != NULL)
        g_ptr_array_free(namespaces->prefixes, TRUE);
    *namespaces = (struct mailbox_namespaces){.asked = false};
}

/* The shortest name wins: other users' and shared mailboxes have a prefix. */
static void record_sent(void *context, struct imap_reply *reply)
{
    char **sent = context;
    struct reply_list list;
    if (!imap_reply_list(reply, &list) || !list.sent || !list.selectable)
        return;
    if (*sent != NULL && strlen(*sent) <= list.name_size)
        return;
    free(*sent);
    *sent = base_strndup(list.name, list.name_size);
}

static bool lists_uses(const struct imap *imap)
{
    return imap_can(imap, "SPECIAL-USE") && imap_can(imap, "LIST-EXTENDED");
}

/* Runs once per session. If none is marked \Sent, it is the account's "Sent". */
static bool find_sent(struct mailbox *mailbox, struct error *error)
{
    struct error ignored;
    if (mailbox->sent != NULL)
        return true;
    if (!imap_capabilities(mailbox->imap, error))
        return false;
    bool reported = lists_uses(mailbox->imap) &&
                    imap_command(mailbox->imap, record_sent, &mailbox->sent, &ignored, "LIST (SPECIAL-USE) \"\" \"*\"");
    if (!reported && !imap_command(mailbox->imap, record_sent, &mailbox->sent, error, "LIST \"\" \"*\"")) {
        base_free(&mailbox->sent);
        return false;
    }
    if (mailbox->sent != NULL)
        return true;
    mailbox->sent = in_namespace(&mailbox->namespaces, mailbox->imap, "Sent", error);
    mailbox->sent_unmarked = true;
    return mailbox->sent != NULL;
}

char *mailbox_folder_name(struct mailbox *mailbox, const char *name, struct error *error)
{
    char *encoded OD_CLEANUP(base_free) = NULL;
    char *mapped OD_CLEANUP(base_free) = NULL;
    bool by_use = strcasecmp(name, "\\Sent") == 0;
    if (by_use && !find_sent(mailbox, error))
        return NULL;
    if (!by_use && ((encoded = mailbox_name_encode(name, error)) == NULL ||
                    (mapped = in_namespace(&mailbox->namespaces, mailbox->imap, encoded, error)) == NULL))
        return NULL;
    char *quoted = imap_quote(by_use ? mailbox->sent : mapped);
    if (quoted == NULL)
        error_set(error, "%s: a mailbox name or prefix of the server has a control character",
                  mailbox->imap->peer_name);
    return quoted;
}

/* Special in patterns, or in the regular expressions that Cyrus 3.6 makes of them, and crashes on. */
#define SPECIAL "*%{}|()[]+?^$"

/* Returns a new string: the pattern for LIST, with '*' for characters that are special there, or that a server
 * misunderstands; ascii: also for modified UTF-7. */
static char *make_pattern(const char *name, bool ascii)
{
    char *pattern = base_strdup(name), *out = pattern;
    for (const char *in = name; *in != '\0'; in++) {
        bool run = *in == '&' && in[1] != '-' && ascii; /* modified UTF-7, up to '-' */
        *out++ = run || strchr(SPECIAL, *in) != NULL ? '*' : *in;
        while (run && *in != '-' && in[1] != '"' && in[1] != '\0')
            in++;
    }
    *out = '\0';
    return pattern;
}

/* Returns true if the response to LIST means this mailbox: the pattern may match others. */
static bool is_listed(const struct reply_list *list, const char *name, bool ascii)
{
    if (!list->selectable || (strpbrk(name, SPECIAL) == NULL && !ascii))
        return list->selectable;
    char *listed OD_CLEANUP(base_free) = base_strndup(list->name, list->name_size);
    char *quoted OD_CLEANUP(base_free) = imap_quote(listed);
    return quoted != NULL && strcmp(quoted, name) == 0;
}

struct sought {
    const char *name;
    bool ascii;
    struct mailbox_folder folder;
};

static void record_listed(void *context, struct imap_reply *reply)
{
    struct sought *sought = context;
    struct reply_list list;
    if (!imap_reply_list(reply, &list) || !is_listed(&list, sought->name, sought->ascii))
        return;
    sought->folder = (struct mailbox_folder){.exists = true, .is_sent = list.sent};
    snprintf(sought->folder.name, sizeof(sought->folder.name), "%.*s", (int)list.name_size, list.name);
}

/* Courier refuses characters beyond U+FFFF, also in LIST: then asks with a wider pattern. */
static bool list_folder(struct imap *imap, const char *name, bool with_use, struct mailbox_folder *ret,
                        struct error *error)
{
    struct sought sought = {.name = name};
    bool reported = false;
    snprintf(sought.folder.name, sizeof(sought.folder.name), "%s", name);
    for (int i = 0; i < 2 && !reported; i++) {
        char *pattern OD_CLEANUP(base_free) = make_pattern(name, i > 0);
        sought.ascii = i > 0;
        reported = imap_command(imap, record_listed, &sought, error, "LIST \"\" %s%s", pattern,
                                with_use ? " RETURN (SPECIAL-USE)" : "");
        if (imap->reply.status != STATUS_NO || strchr(name, '&') == NULL)
            break;
    }
    *ret = sought.folder;
    return reported;
}

bool mailbox_folder_exists(struct imap *imap, const char *name, bool *ret_exists, struct error *error)
{
    struct mailbox_folder folder;
    bool reported = list_folder(imap, name, false, &folder, error);
    *ret_exists = folder.exists;
    return reported;
}

bool mailbox_folder(struct mailbox *mailbox, const char *name, struct mailbox_folder *ret, struct error *error)
{
    char *quoted OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, name, error);
    return quoted != NULL && list_folder(mailbox->imap, quoted, lists_uses(mailbox->imap), ret, error);
}
