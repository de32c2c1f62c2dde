/* SPDX-License-Identifier: ISC
 *
 * The line for the descriptor of the answer. */
#include "delivery/answer.h"

#include <string.h>

#include "base/output.h"

void answer_give(const struct report *report)
{
    char line[1024];
    report_line(report, line, sizeof(line) - 1);
    size_t length = strlen(line);
    line[length++] = '\n';
    output_give(line, length, outcome_row(report->outcome)->exit_status);
}
