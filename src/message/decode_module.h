/* SPDX-License-Identifier: ISC
 *
 * Where decode_message_steps comes from. gmime and the libraries that it needs take a quarter of the time in which the
 * program is loaded, and only the child that decodes uses them. They are therefore not linked to the program but to a
 * module beside it, oncedrop-decode.so, which the child loads (dlopen(3)). The module uses the functions of the program
 * that are listed in decode_module.symbols. */
#ifndef ONCEDROP_DECODE_MODULE_H
#define ONCEDROP_DECODE_MODULE_H

#include "message/decoded.h"

/* The exit status of a child that cannot load the module. */
#define DECODE_MODULE_MISSING 76

typedef struct decoded *(*decode_module_steps)(const struct message *message, enum record_level level, decode_step step,
                                               void *context);

/* decode_message_steps: this program's own, if the module is linked to it (as tests are), else the module's. It is
 * looked for in the program's own directory, then in the one that `make install` puts it into. If the program has more
 * rights than its caller (AT_SECURE, getauxval(3)), its own directory counts only if nobody but root can write there:
 * the caller may have linked the program to some other place (ln(1)). A module of another build is refused.
 *
 * Once it is loaded, children have it as well: to be called by a process that gives up the right to read the file, or
 * outlives an upgrade.
 *
 * NULL with the fault set: there is none that can be used. */
decode_module_steps decode_module_load(struct fault *fault) OD_MUST;

#endif
