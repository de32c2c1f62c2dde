/* SPDX-License-Identifier: ISC
 *
 * The module oncedrop-decode.so. Only children load it (base/module.h): gmime, libseccomp and their libraries take a
 * quarter of the program's load time. */
#ifndef ONCEDROP_DECODE_MODULE_H
#define ONCEDROP_DECODE_MODULE_H

#include "decode/decoded.h"

/* exit status of a child without the module */
#define DECODE_MODULE_MISSING 76

struct decode_module {
    struct decoded *(*decode)(const struct message *message, enum record_level level, decode_step step, void *context);
    int (*sandbox)(const struct message *message);
};

/* decode_message.c */
extern const struct decode_module decode_module;

/* Returns the module, if linked (as in tests), or loads it. Returns NULL and sets the error on failure. */
const struct decode_module *decode_module_load(struct error *error) OD_MUST;

#endif
