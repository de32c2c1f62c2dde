/* SPDX-License-Identifier: ISC
 *
 * libetpan verifies nothing (its server_certificate functions are empty under GnuTLS), so the chain is verified
 * here. */
#include <arpa/inet.h>
#include <gnutls/x509.h>
#include <libetpan/mailstream_socket.h>
#include <libetpan/mailstream_ssl.h>
#include <libetpan/mmapstring.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "imap/imap_tls.h"
#include "imap/imap_trust.h"
#include "module_build.h"

/* Read by module_load(). */
extern const char imap_tls_module_build[];
const char imap_tls_module_build[] = MODULE_BUILD;

#define CHAIN_MAX 16 /* as in GnuTLS */

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
    gnutls_x509_trust_list_t trust = imap_trust(config->imap.ca_file, error);
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
        return error_set(error, "%s: too many open files for TLS", peer_name);
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
