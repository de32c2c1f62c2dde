/* SPDX-License-Identifier: ISC
 *
 * Runs a fuzz target without libFuzzer, with any compiler, and the same way each time:
 *
 *   PROGRAM RUNS PATH...
 *
 * tries every file of the paths (files, or directories of them) unchanged, then RUNS inputs made from them. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

#define INPUT_MAX ((size_t)4096) /* of generated inputs; files may be larger */
#define INPUT_SECONDS 60

struct bytes {
    uint8_t *bytes;
    size_t size;
};

static struct bytes *seeds;
static size_t seed_count;
static struct bytes running; /* the input under trial */
static char save_name[64];   /* where it goes when it fails */
static uint64_t state = 0x6f6e636564726f70;

void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

static size_t below(size_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return limit > 0 ? (size_t)(state >> 11) % limit : 0;
}

/* Also called in a signal handler: only async-signal-safe functions. */
static void save_input(void)
{
    int fd = open(save_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool saved = fd >= 0 && write(fd, running.bytes, running.size) == (ssize_t)running.size;

    if (saved && write(STDERR_FILENO, "the input is in ", 16) > 0 &&
        write(STDERR_FILENO, save_name, strlen(save_name)) > 0)
        saved = write(STDERR_FILENO, "\n", 1) > 0;
}

static void die(int number)
{
    save_input();
    signal(number, SIG_DFL);
    raise(number);
}

static void try_input(const uint8_t *bytes, size_t size)
{
    /* behind the last byte there is nothing that may be read */
    running = (struct bytes){malloc(size > 0 ? size : 1), size};
    FUZZ_CHECK(running.bytes);
    if (size > 0)
        memcpy(running.bytes, bytes, size);
    alarm(INPUT_SECONDS);
    (void)LLVMFuzzerTestOneInput(running.bytes, size);
    free(running.bytes);
}

static void add_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    struct bytes seed = {malloc(size + 1), size};

    FUZZ_CHECK(file != NULL && seed.bytes != NULL && fread(seed.bytes, 1, size, file) == size);
    fclose(file);
    seeds = realloc(seeds, (seed_count + 1) * sizeof(*seeds));
    FUZZ_CHECK(seeds);
    seeds[seed_count++] = seed;
}

/* Directories in alphabetical order; one that does not exist has no files. */
static void add_path(const char *path)
{
    struct stat status;
    struct dirent **entries;
    int count;

    if (stat(path, &status) != 0)
        return;
    if (!S_ISDIR(status.st_mode)) {
        add_file(path, (size_t)status.st_size);
        return;
    }
    count = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char name[4096];

        snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            add_path(name);
        free(entries[i]);
    }
    free(entries);
}

/* Replaces old bytes at a place by new ones, as far as there is room. */
static void replace(struct bytes *input, size_t at, size_t old, const uint8_t *new, size_t size)
{
    if (input->size - old + size > INPUT_MAX)
        return;
    memmove(input->bytes + at + size, input->bytes + at + old, input->size - at - old);
    if (size > 0)
        memmove(input->bytes + at, new, size);
    input->size += size - old;
}

static void change(struct bytes *input)
{
    static const uint8_t odd[] = "\r\n\t \0\x80\xff<>(){}\"\\:;.,=?*+-A0";
    uint8_t piece[64];
    const struct bytes *other = &seeds[below(seed_count)];
    size_t at = below(input->size + 1);
    size_t size = below(sizeof(piece) < other->size ? sizeof(piece) : other->size);
    size_t old = below(input->size - at + 1);

    old = old < sizeof(piece) ? old : sizeof(piece);
    switch (below(5)) {
    case 0:
        piece[0] = (uint8_t)below(256);
        replace(input, at, at < input->size, piece, 1);
        break;
    case 1:
        replace(input, at, below(2) && at < input->size, &odd[below(sizeof(odd) - 1)], 1);
        break;
    case 2:
        replace(input, at, old, NULL, 0);
        break;
    case 3: /* a piece of itself, again */
        memcpy(piece, input->bytes + at, old);
        replace(input, below(input->size + 1), 0, piece, old);
        break;
    default:
        memcpy(piece, other->bytes + below(other->size - size + 1), size);
        replace(input, at, below(old + 1), piece, size);
    }
}

static void try_changed(void)
{
    static uint8_t buffer[INPUT_MAX];
    const struct bytes *seed = &seeds[below(seed_count)];
    struct bytes input = {buffer, seed->size < INPUT_MAX ? seed->size : INPUT_MAX};

    memcpy(input.bytes, seed->bytes, input.size);
    for (size_t changes = 1 + below(8); changes > 0; changes--)
        change(&input);
    try_input(input.bytes, input.size);
}

int main(int argc, char **argv)
{
    long runs = argc > 1 ? atol(argv[1]) : 0;
    const char *name = strrchr(argv[0], '/') != NULL ? strrchr(argv[0], '/') + 1 : argv[0];

    for (int i = 2; i < argc; i++)
        add_path(argv[i]);
    if (seed_count == 0) {
        fprintf(stderr, "usage: %s RUNS PATH...\n", name);
        return 64;
    }
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(save_input);
    snprintf(save_name, sizeof(save_name), "/tmp/oncedrop-fuzz.%s.%ld", name, (long)getpid());
    signal(SIGABRT, die);
    signal(SIGALRM, die);
    if (LLVMFuzzerInitialize)
        (void)LLVMFuzzerInitialize(&argc, &argv);
    for (size_t i = 0; i < seed_count; i++)
        try_input(seeds[i].bytes, seeds[i].size);
    for (long run = 0; run < runs; run++)
        try_changed();
    printf("fuzz %s: %zu inputs as they are, %ld made from them\n", name, seed_count, runs);
    for (size_t i = 0; i < seed_count; i++)
        free(seeds[i].bytes);
    free(seeds);
    return 0;
}
