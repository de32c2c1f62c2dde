/* SPDX-License-Identifier: ISC
 *
 * Where decode_message comes from. gmime, libseccomp and the libraries that they need take a quarter of the time
 * in which the program is loaded, and only the child that decodes uses them. They are therefore not linked to the
 * program but to a module beside it, oncedrop-decode.so, which the child loads (dlopen(3)). The module uses the
 * functions of the program that are listed in decode_module.symbols. */
#ifndef ONCEDROP_DECODE_MODULE_H
#define ONCEDROP_DECODE_MODULE_H

#include "decode/decoded.h"

/* The exit status of a child that cannot load the module. */
#define DECODE_MODULE_MISSING 76

/* What it offers: decode_message, and decode_confine. */
struct decode_module {
    struct decoded *(*decode)(const struct message *message, enum record_level level, decode_step step, void *context);
    int (*confine)(const struct message *message);
};

/* In decode_message.c; for decode_module_load. */
extern const struct decode_module decode_module;

/* This program's own module, if it is linked to it (as it is to tests), else the one in the file. It is looked for in
 * the program's own directory, then in the one that `make install` puts it into. A module of another build is refused.
 *
 * Once it is loaded, children have it as well: to be called by a process that gives up the right to read the file, or
 * outlives an upgrade.
 *
 * NULL with the fault set: there is none that can be used. */
const struct decode_module *decode_module_load(struct fault *fault) OD_MUST;

#endif
