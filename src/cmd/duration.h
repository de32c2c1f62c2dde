/* SPDX-License-Identifier: ISC
 *
 * Times that something took, for people. */
#ifndef ONCEDROP_DURATION_H
#define ONCEDROP_DURATION_H

#include "base/base.h"

#define DURATION_SIZE 32

/* "5 ms", "2.5 s", "12 min", "2 h 5 min", "11 d 3 h"; returns text. */
const char *duration_text(double ms, char text[DURATION_SIZE]);

#endif
