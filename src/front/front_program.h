/* SPDX-License-Identifier: ISC
 *
 * The full program, oncedrop-main, which has all the libraries. */
#ifndef ONCEDROP_FRONT_PROGRAM_H
#define ONCEDROP_FRONT_PROGRAM_H

#include "base/base.h"

/* Replaces this process with the full program, which gets the same arguments, environment and descriptors. It is sought
 * beside this program, in ../libexec/oncedrop from there, and in the directory of `make install`.
 *
 * Returns only if it cannot be executed: then says so, in a way that defers mail unless a person typed the command, and
 * returns the exit status. */
int front_program_execute(char **argv) OD_MUST;

#endif
