/* SPDX-License-Identifier: ISC
 *
 * What the program that users call, oncedrop, loads: oncedrop-main.so. */
#ifndef ONCEDROP_FRONT_H
#define ONCEDROP_FRONT_H

#include <iconv.h>

/* The module's object, oncedrop_program. */
struct front_program {
    int (*run)(int argc, char **argv); /* returns the exit status */
    /* For libraries, instead of the C library's iconv_open(3) and iconv(3). */
    iconv_t (*iconv_open)(const char *to, const char *from);
    size_t (*iconv)(iconv_t converter, char **in, size_t *left, char **out, size_t *room);
};

#endif
