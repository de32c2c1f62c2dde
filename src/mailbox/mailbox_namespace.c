/* SPDX-License-Identifier: ISC */
#include "mailbox/mailbox_internal.h"

#include <stdlib.h>
#include <string.h>

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
    char *mapped = base_strdup(name);
    if (namespaces->own == NULL)
        return mapped;
    /* modified UTF-7 has no '/' */
    for (char *slash = mapped; namespaces->separator != '\0' && (slash = strchr(slash, '/')) != NULL; slash++)
        *slash = namespaces->separator;
    if (has_prefix(namespaces, mapped))
        return mapped;
    char *complete = base_printf("%s%s", namespaces->own, mapped);
    free(mapped);
    return complete;
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

char *mailbox_namespace_name(struct mailbox_namespaces *namespaces, struct imap *imap, const char *name,
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
