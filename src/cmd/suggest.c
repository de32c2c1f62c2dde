/* SPDX-License-Identifier: ISC */
#include "cmd/cmd.h"

#include <glib.h>
#include <string.h>

#define LONGEST 200 /* bytes to compare */
#define CHANGES_MAX 3

static size_t cost_of(const char *a, const char *b, size_t i, size_t j, const size_t rows[3][LONGEST + 1])
{
    char last = g_ascii_tolower(a[i - 1]), other = g_ascii_tolower(b[j - 1]);
    size_t cost = MIN(rows[1][j - 1] + (last != other), MIN(rows[1][j], rows[2][j - 1]) + 1);
    bool exchanged = i > 1 && j > 1 && last == g_ascii_tolower(b[j - 2]) && other == g_ascii_tolower(a[i - 2]);
    return exchanged ? MIN(cost, rows[0][j - 2] + 1) : cost;
}

/* Returns the optimal string alignment distance; exact up to `most`. */
static size_t distance(const char *a, const char *b, size_t max)
{
    size_t rows[3][LONGEST + 1] = {{0}};
    size_t a_length = MIN(strlen(a), LONGEST), b_length = MIN(strlen(b), LONGEST);
    if ((a_length > b_length ? a_length - b_length : b_length - a_length) > max)
        return max + 1;
    for (size_t j = 0; j <= b_length; j++)
        rows[2][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        memmove(rows[0], rows[1], 2 * sizeof(rows[0]));
        rows[2][0] = i;
        for (size_t j = 1; j <= b_length; j++)
            rows[2][j] = cost_of(a, b, i, j, rows);
    }
    return rows[2][b_length];
}

/* Returns SIZE_MAX if too different: see suggest_find(). */
static size_t distance_of(const char *candidate, const char *text)
{
    size_t length = strlen(text), max = CLAMP(length / 4, 1, CHANGES_MAX);
    if (length > 2 && strncmp(candidate, text, length) == 0)
        return 0;
    if (length > 2 && strstr(candidate, text) != NULL)
        return 1;
    size_t changes = distance(candidate, text, max);
    return changes <= max ? changes : SIZE_MAX;
}

size_t suggest_find(const char *const *candidates, size_t count, const char *text, const char *ret[SUGGEST_MAX])
{
    size_t distances[SUGGEST_MAX], found = 0;
    for (size_t i = 0; i < count; i++) {
        size_t changes = distance_of(candidates[i], text), to = found;
        if (changes == SIZE_MAX)
            continue;
        while (to > 0 && changes < distances[to - 1])
            to--;
        if (to == SUGGEST_MAX)
            continue;
        found = MIN(found + 1, SUGGEST_MAX);
        memmove(&ret[to + 1], &ret[to], (found - to - 1) * sizeof(*ret));
        memmove(&distances[to + 1], &distances[to], (found - to - 1) * sizeof(*distances));
        ret[to] = candidates[i];
        distances[to] = changes;
    }
    return found;
}
