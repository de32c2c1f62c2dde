/* SPDX-License-Identifier: ISC
 *
 * gmime, made ready once in a process. */
#include "decode/decode_internal.h"

void decode_init(void)
{
    static bool ready;

    if (!ready)
        g_mime_init();
    ready = true;
    decode_charset_guard();
}
