/* SPDX-License-Identifier: ISC
 *
 * Names and numbers, the printed story, and failed checks. */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>

#include "scheduler.h"

struct world world;
struct counts counts;
bool world_tells;

const char *world_address(unsigned number)
{
    static const char *const addresses[ADDRESSES] = {
        "r0@example.org", "r1@example.org", "r2@example.org", "r3@example.org",
        "r4@example.org", "r5@example.org", "r6@example.org", "r7@example.org",
    };
    return addresses[number];
}

const char *world_account(unsigned number)
{
    static const char *const accounts[ACCOUNTS] = {"a0", "a1", "a2", "a3", "a4", "a5"};
    return accounts[number];
}

unsigned world_account_of(unsigned address)
{
    return address % ACCOUNTS;
}

unsigned world_number(const char *name)
{
    return (unsigned)(name[1] - '0');
}

enum box world_box(const char *mailbox)
{
    return mailbox[0] == 'S' ? BOX_SENT : mailbox[0] == 'F' ? BOX_FOLDER : BOX_INBOX;
}

const char *world_box_name(enum box box)
{
    static const char *const names[BOXES] = {[BOX_INBOX] = "INBOX", [BOX_SENT] = "Sent", [BOX_FOLDER] = "Folder"};
    return names[box];
}

enum box world_box_of(unsigned address)
{
    return world.folders > 0 && address >= ACCOUNTS ? BOX_FOLDER : BOX_INBOX;
}

void world_violation(const char *kind, const char *format, ...)
{
    va_list arguments;
    if (world.violation.kind != NULL)
        return;
    world.violation.kind = kind;
    va_start(arguments, format);
    vsnprintf(world.violation.text, sizeof(world.violation.text), format, arguments);
    va_end(arguments);
    TELL("*** %s: %s", kind, world.violation.text);
}

void world_tell(const char *format, ...)
{
    va_list arguments;
    if (world.violation.kind != NULL && format[0] != '*')
        return;
    printf("%12.4f s  ", (double)now / SECOND);
    if (world.current != NULL)
        printf("%s %u.%u: ",
               world.current->job->kind == JOB_LMTP   ? "lmtp"
               : world.current->job->kind == JOB_PIPE ? "pipe"
                                                      : "replay",
               world.current->job->number, world.current->number + 1);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}
