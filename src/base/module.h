/* SPDX-License-Identifier: ISC
 *
 * Parts of the program with libraries of their own, which are loaded (dlopen(3)) by those that need them. They use the
 * functions of the program that are listed in modules.symbols. */
#ifndef ONCEDROP_MODULE_H
#define ONCEDROP_MODULE_H

#include "base/base.h"

struct module {
    const char *file;    /* "oncedrop-decode.so" */
    const char *table;   /* the object that it offers; beside it stands one named TABLE_build, with MODULE_BUILD */
    const char *what;    /* for people: "the decoder" */
    const char *package; /* of Debian, that has it: "oncedrop" */
};

/* Loads it: from the program's own directory, or from the one that `make install` puts it into. Refuses a
 * module of another build, one that was cut short, and one that everybody may write.
 *
 * Once it is loaded, children have it as well: to be called by a process that gives up the right to read the file, or
 * outlives an upgrade.
 *
 * The object that it offers; NULL with the fault set: there is none that can be used. */
const void *module_load(const struct module *module, struct fault *fault) OD_MUST;

/* The path of such a file, a new string: in the program's own directory if it is there, else where `make install` puts it. */
char *module_path(const char *file) OD_MUST;

#endif
