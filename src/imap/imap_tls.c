/* SPDX-License-Identifier: ISC
 *
 * libetpan verifies nothing (its server_certificate functions are empty under GnuTLS), so the chain is verified
 * here. */
#include <arpa/inet.h>
#include <gnutls/x509.h>
#include <libetpan/libetpan_version.h>
#include <libetpan/mailstream_socket.h>
#include <libetpan/mailstream_ssl.h>
#include <libetpan/mmapstring.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "imap/imap_tls.h"
#include "module_build.h"

/* Read by module.c. */
extern const char imap_tls_module_build[];
extern char *imap_tls_module_libraries(void);
const char imap_tls_module_build[] = MODULE_BUILD;
char *imap_tls_module_libraries(void)
{
    return base_printf("GnuTLS %s, libetpan %d.%d", gnutls_check_version(NULL), libetpan_get_version_major(),
                       libetpan_get_version_minor());
}

#define CHAIN_MAX 16 /* as in GnuTLS */
#define AUTHORITIES_KEPT_MS INT64_C(600000)

/* libetpan's own timeouts are whole seconds; 0 means this variable. */
static void set_timeout(int64_t ms)
{
    mailstream_network_delay.tv_sec = ms / 1000;
    mailstream_network_delay.tv_usec = ms % 1000 * 1000;
}

struct chain {
    gnutls_x509_crt_t certificates[CHAIN_MAX];
    unsigned count;
};

static void free_chain(struct chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        gnutls_x509_crt_deinit(chain->certificates[i]);
}

/* The expected name; also in binary if it is an IP address. */
struct peer {
    char *name;
    unsigned char address[sizeof(struct in6_addr)];
    unsigned address_size; /* 0: a DNS name */
};

static struct peer expected_peer(const struct config *config)
{
    struct peer peer = {.name = *config->imap.server_name != '\0' ? config->imap.server_name : config->imap.host};
    if (inet_pton(AF_INET, peer.name, peer.address) == 1)
        peer.address_size = sizeof(struct in_addr);
    else if (inet_pton(AF_INET6, peer.name, peer.address) == 1)
        peer.address_size = sizeof(struct in6_addr);
    return peer;
}

/* RFC 6066, 3: SNI is for DNS names only. */
static void set_server_name(struct mailstream_ssl_context *context, void *data)
{
    struct peer *peer = data;
    if (peer->address_size == 0)
        (void)mailstream_ssl_set_server_name(context, peer->name);
}

/* The first certificate is the server's. */
static void record_certificate(gnutls_x509_crt_t certificate, struct imap_certificate *ret)
{
    int64_t ends = gnutls_x509_crt_get_expiration_time(certificate);
    size_t subject = sizeof(ret->subject), issuer = sizeof(ret->issuer);
    if (!ret->shown && gnutls_x509_crt_get_dn(certificate, ret->subject, &subject) < 0)
        strcpy(ret->subject, "(no readable name)");
    if (!ret->shown && gnutls_x509_crt_get_issuer_dn(certificate, ret->issuer, &issuer) < 0)
        strcpy(ret->issuer, "(no readable name)");
    if (!ret->shown || ends < ret->ends)
        ret->ends = ends;
    ret->shown = true;
}

static void get_chain(mailstream_low *session, struct chain *ret, struct imap_certificate *ret_leaf)
{
    carray *array = mailstream_low_get_certificate_chain(session);
    ret->count = 0;
    for (unsigned i = 0; array != NULL && i < carray_count(array) && ret->count < CHAIN_MAX; i++) {
        MMAPString *der = carray_get(array, i);
        gnutls_datum_t datum = {.data = (unsigned char *)der->str, .size = (unsigned)der->len};
        gnutls_x509_crt_t *certificate = &ret->certificates[ret->count];
        if (gnutls_x509_crt_init(certificate) < 0)
            break;
        ret->count++;
        if (gnutls_x509_crt_import(*certificate, &datum, GNUTLS_X509_FMT_DER) < 0)
            break;
        record_certificate(*certificate, ret_leaf);
    }
    mailstream_certificate_chain_free(array);
}

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
    trust->until_ms = added > 0 ? base_now_ms() + AUTHORITIES_KEPT_MS : 0;
    if (added > 0)
        return true;
    const char *why = added < 0 ? gnutls_strerror(added) : "no certificate in it";
    if (*trust->file != '\0')
        return error_set(error, "imap.ca_file %s: %s", trust->file, why);
    return error_set(error, "the system's certificate authorities: %s (install ca-certificates or set imap.ca_file)",
                     why);
}

/* Returns the authorities in this PEM file; "": the system's. Caches them, since reading the system's takes longer than a
 * login. Valid until the next call. NULL with the error set: none. */
static gnutls_x509_trust_list_t trusted_authorities(const char *file, struct error *error)
{
    struct trust *trust = find_authorities(file);
    struct stat now = {.st_size = 0};
    bool known = *file == '\0' || stat(file, &now) == 0;
    if (known && base_now_ms() < trust->until_ms && is_same_file(&now, &trust->stat))
        return trust->list;
    trust->stat = now;
    return read_authorities(trust, error) ? trust->list : NULL;
}

static const char *hint(unsigned status)
{
    if (status & GNUTLS_CERT_UNEXPECTED_OWNER)
        return "set imap.host or imap.server_name to a name in the certificate";
    if (status & (GNUTLS_CERT_EXPIRED | GNUTLS_CERT_NOT_ACTIVATED))
        return "renew the certificate, or set the clock";
    if (status & GNUTLS_CERT_PURPOSE_MISMATCH)
        return "the certificate must be one for server authentication";
    return "set imap.ca_file to the certificate of the authority that signed it";
}

static bool verify(const struct config *config, const char *peer_name, struct peer *peer, struct chain *chain,
                   struct error *error)
{
    static char purpose[] = GNUTLS_KP_TLS_WWW_SERVER;
    gnutls_typed_vdata_st wanted[] = {
        {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (unsigned char *)purpose},
        {.type = GNUTLS_DT_DNS_HOSTNAME, .data = (unsigned char *)peer->name},
    };
    unsigned status = 0;

    if (peer->address_size > 0)
        wanted[1] = (gnutls_typed_vdata_st){GNUTLS_DT_IP_ADDRESS, peer->address, peer->address_size};
    if (chain->count == 0)
        return error_set(error, "%s: the server presented no certificate", peer_name);
    gnutls_x509_trust_list_t trust = trusted_authorities(config->imap.ca_file, error);
    if (trust == NULL)
        return false;
    int result =
        gnutls_x509_trust_list_verify_crt2(trust, chain->certificates, chain->count, wanted, 2, 0, &status, NULL);
    if (result == 0 && status == 0)
        return true;
    gnutls_datum_t text = {.data = NULL};
    if (result == 0)
        result = gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0);
    error_set(error, "%s: certificate of %s not accepted: %s(%s)", peer_name, peer->name,
              text.data != NULL ? (const char *)text.data : gnutls_strerror(result), hint(status));
    gnutls_free(text.data);
    return false;
}

static bool tls_begin(int fd, const struct config *config, const char *peer_name, int64_t ms, void **ret,
                      struct error *error)
{
    struct peer peer = expected_peer(config);
    const struct descriptors pipe_ends = {IMAP_TLS_DESCRIPTORS - 1, IMAP_TLS_BELOW};
    if (fd >= IMAP_TLS_BELOW || !descriptors_available(pipe_ends, error)) /* else libetpan writes beyond an fd_set */
        return error_set(error, "%s: too many open files for TLS; lower imap.sessions", peer_name);
    set_timeout(ms);
    mailstream_low *low = mailstream_low_tls_open_with_callback_timeout(fd, 0, set_server_name, &peer);
    if (low == NULL)
        return error_set(error, "%s: TLS handshake failed (is imap.tls right for this port?)", peer_name);
    *ret = low;
    return true;
}

static bool tls_verify(void *session, const struct config *config, const char *peer_name, struct imap_certificate *ret,
                       struct error *error)
{
    struct chain chain OD_CLEANUP(free_chain) = {.count = 0};
    struct peer peer = expected_peer(config);
    get_chain(session, &chain, ret);
    ret->accepted = verify(config, peer_name, &peer, &chain, error);
    return ret->accepted;
}

static ssize_t tls_read(void *session, void *to, size_t size, int64_t ms)
{
    set_timeout(ms);
    return mailstream_low_read(session, to, size);
}

static ssize_t tls_write(void *session, const void *bytes, size_t size, int64_t ms)
{
    set_timeout(ms);
    return mailstream_low_write(session, bytes, size);
}

static void tls_end(void *session)
{
    (void)mailstream_low_close(session);
    mailstream_low_free(session);
}

const struct imap_tls_module imap_tls_module = {
    .begin = tls_begin,
    .verify = tls_verify,
    .read = tls_read,
    .write = tls_write,
    .end = tls_end,
};
