/* SPDX-License-Identifier: ISC
 *
 * Parts with separate libraries, loaded on demand. They call the functions in modules.symbols. */
#ifndef ONCEDROP_MODULE_H
#define ONCEDROP_MODULE_H

#include "base/base.h"

struct module {
    const char *file;    /* "oncedrop-decode.so" */
    const char *table;   /* exported object; TABLE_build has MODULE_BUILD */
    const char *what;    /* for messages: "the decoder" */
    const char *package; /* Debian's: "oncedrop" */
};

/* Loads a module from the program's directory, else from that of `make install`. Refuses one of another build,
 * truncated, or writable by others. Returns its object, or NULL. Children inherit it: load it before giving up the
 * right to read it, and before an upgrade. */
const void *module_load(const struct module *module, struct error *error) OD_MUST;

/* Returns a new string: the file's path in the program's directory, else in that of `make install`. */
char *module_path(const char *file) OD_MUST;

#endif
