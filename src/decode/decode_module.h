/* SPDX-License-Identifier: ISC
 *
 * Where decode_message comes from. gmime, libseccomp and the libraries that they need take a quarter of the time
 * in which the program is loaded, and only the child that decodes uses them. They are therefore not linked to the
 * program but to a module, oncedrop-decode.so, which the child loads (base/module.h). */
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

/* The module that is linked to this program (as it is to tests), or else is loaded (module_load). NULL with the fault set:
 * there is none that can be used. */
const struct decode_module *decode_module_load(struct fault *fault) OD_MUST;

#endif
