/* SPDX-License-Identifier: ISC
 *
 * makecontext(3) starts on a new stack; from then on setjmp(3) switches, without system calls. */
#undef _FORTIFY_SOURCE /* it takes a jump to another stack for an error */
#include "coroutine.h"

#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK ((size_t)128 * 1024)

struct coroutine {
    jmp_buf inside, outside;
    void (*body)(void *);
    void *context;
    bool begun, ended;
    ucontext_t start, starter;
    struct coroutine *next; /* in the list of free ones */
};

static struct coroutine *unused, *current;

static void leave(struct coroutine *self)
{
    if (_setjmp(self->inside) == 0)
        _longjmp(self->outside, 1);
}

static void run(void)
{
    for (;;) {
        struct coroutine *self = current;
        self->body(self->context);
        self->ended = true;
        leave(self);
    }
}

static struct coroutine *allocate(void)
{
    struct coroutine *coroutine = base_alloc(sizeof(*coroutine));
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, STACK + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0 || getcontext(&coroutine->start) != 0)
        abort();
    coroutine->start.uc_stack.ss_sp = memory + page;
    coroutine->start.uc_stack.ss_size = STACK;
    makecontext(&coroutine->start, run, 0);
    return coroutine;
}

struct coroutine *coroutine_new(void (*body)(void *context), void *context)
{
    struct coroutine *coroutine = unused != NULL ? unused : allocate();
    unused = coroutine->next;
    coroutine->body = body;
    coroutine->context = context;
    coroutine->ended = false;
    return coroutine;
}

static void enter(struct coroutine *coroutine)
{
    if (_setjmp(coroutine->outside) != 0)
        return;
    if (coroutine->begun)
        _longjmp(coroutine->inside, 1);
    coroutine->begun = true;
    swapcontext(&coroutine->starter, &coroutine->start);
}

bool coroutine_resume(struct coroutine *coroutine)
{
    current = coroutine;
    enter(coroutine);
    current = NULL;
    if (!coroutine->ended)
        return false;
    coroutine->next = unused;
    unused = coroutine;
    return true;
}

void coroutine_suspend(void)
{
    leave(current);
}
