/* SPDX-License-Identifier: ISC */
#include "base/module.h"
#include "imap/imap_tls.h"

/* NULL unless linked to the program. */
#pragma weak imap_tls_module

const struct imap_tls_module *imap_tls_load(struct error *error)
{
    static const struct imap_tls_module *loaded = &imap_tls_module;
    static const struct module module = {
        .file = "oncedrop-tls.so",
        .table = "imap_tls_module",
        .what = "TLS for IMAP",
        .package = "oncedrop",
    };
    if (loaded == NULL)
        loaded = module_load(&module, error);
    return loaded;
}
