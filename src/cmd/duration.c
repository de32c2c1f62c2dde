/* SPDX-License-Identifier: ISC
 *
 * At most two units, and no more digits than people read. */
#include "cmd/duration.h"

#include <inttypes.h>
#include <stdio.h>

const char *duration_text(double ms, char text[DURATION_SIZE])
{
    int64_t minutes = (int64_t)(ms / 60000);
    if (ms < 999.5)
        snprintf(text, DURATION_SIZE, "%.0f ms", ms);
    else if (ms < 59950)
        snprintf(text, DURATION_SIZE, "%.1f s", ms / 1000);
    else if (minutes < 60)
        snprintf(text, DURATION_SIZE, "%d min", minutes > 0 ? (int)minutes : 1);
    else if (minutes < 24 * 60)
        snprintf(text, DURATION_SIZE, "%d h %d min", (int)(minutes / 60), (int)(minutes % 60));
    else
        snprintf(text, DURATION_SIZE, "%" PRId64 " d %d h", minutes / 1440, (int)(minutes / 60 % 24));
    return text;
}
