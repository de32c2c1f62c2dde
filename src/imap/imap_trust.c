/* SPDX-License-Identifier: ISC
 *
 * Lists are cached: reading the system's takes longer than a login. */
#include "imap/imap_trust.h"

#include <string.h>
#include <sys/stat.h>

#define KEPT_MS INT64_C(600000)

struct trust {
    struct trust *next;
    char *file;
    gnutls_x509_trust_list_t list; /* NULL: unreadable */
    struct stat stat;              /* before reading */
    int64_t until_ms;              /* base_now_ms() */
};

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static struct trust *find_authorities(const char *file)
{
    static struct trust *first;
    struct trust *trust = first;
    while (trust != NULL && strcmp(trust->file, file) != 0)
        trust = trust->next;
    if (trust == NULL) {
        trust = base_alloc(sizeof(*trust));
        trust->next = first;
        trust->file = base_strdup(file);
        first = trust;
    }
    return trust;
}

static bool read_authorities(struct trust *trust, struct error *error)
{
    if (trust->list != NULL)
        gnutls_x509_trust_list_deinit(trust->list, 1);
    trust->list = NULL;
    int added = gnutls_x509_trust_list_init(&trust->list, 0);
    if (added >= 0)
        added = *trust->file != '\0'
                    ? gnutls_x509_trust_list_add_trust_file(trust->list, trust->file, NULL, GNUTLS_X509_FMT_PEM, 0, 0)
                    : gnutls_x509_trust_list_add_system_trust(trust->list, 0, 0);
    trust->until_ms = added > 0 ? base_now_ms() + KEPT_MS : 0;
    if (added > 0)
        return true;
    const char *why = added < 0 ? gnutls_strerror(added) : "no certificate in it";
    if (*trust->file != '\0')
        return error_set(error, "imap.ca_file %s: %s", trust->file, why);
    return error_set(error, "the system's certificate authorities: %s (install ca-certificates or set imap.ca_file)",
                     why);
}

gnutls_x509_trust_list_t imap_trust(const char *file, struct error *error)
{
    struct trust *trust = find_authorities(file);
    struct stat now = {.st_size = 0};
    bool known = *file == '\0' || stat(file, &now) == 0;
    if (known && base_now_ms() < trust->until_ms && is_same_file(&now, &trust->stat))
        return trust->list;
    trust->stat = now;
    return read_authorities(trust, error) ? trust->list : NULL;
}
