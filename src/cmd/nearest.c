/* SPDX-License-Identifier: ISC
 *
 * The distance between two texts, and the three nearest. */
#include "cmd/nearest.h"

#include <glib.h>
#include <string.h>

#define LONGEST 200 /* only this many bytes are compared */

/* How many bytes must be inserted, deleted or replaced (Levenshtein); the result is only exact below `enough`. */
static size_t distance(const char *a, const char *b, size_t enough)
{
    size_t costs[LONGEST + 1], a_length = MIN(strlen(a), LONGEST), b_length = MIN(strlen(b), LONGEST);
    if ((a_length > b_length ? a_length - b_length : b_length - a_length) >= enough)
        return enough;
    for (size_t j = 0; j <= b_length; j++)
        costs[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = costs[0];
        costs[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t replaced = diagonal + (g_ascii_tolower(a[i - 1]) != g_ascii_tolower(b[j - 1]));
            diagonal = costs[j];
            costs[j] = MIN(replaced, MIN(costs[j], costs[j - 1]) + 1);
        }
    }
    return costs[b_length];
}

static size_t distance_of(const char *candidate, const char *text)
{
    size_t length = strlen(text), enough = MAX(length / 4, 2) + 1;
    if (length > 2 && strncmp(candidate, text, length) == 0)
        return 0;
    if (length > 2 && strstr(candidate, text) != NULL)
        return 1;
    size_t changes = distance(candidate, text, enough);
    return changes < enough ? changes : SIZE_MAX;
}

size_t nearest_find(const char *const *candidates, size_t count, const char *text, const char *ret[NEAREST_MOST])
{
    size_t distances[NEAREST_MOST], found = 0;
    for (size_t i = 0; i < count; i++) {
        size_t changes = distance_of(candidates[i], text), to = found;
        if (changes == SIZE_MAX)
            continue;
        while (to > 0 && changes < distances[to - 1])
            to--;
        if (to == NEAREST_MOST)
            continue;
        found = MIN(found + 1, NEAREST_MOST);
        memmove(&ret[to + 1], &ret[to], (found - to - 1) * sizeof(*ret));
        memmove(&distances[to + 1], &distances[to], (found - to - 1) * sizeof(*distances));
        ret[to] = candidates[i];
        distances[to] = changes;
    }
    return found;
}
