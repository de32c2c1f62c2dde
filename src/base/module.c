/* SPDX-License-Identifier: ISC */
#include "base/base.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "module_build.h"

#define INSTALLED LIBEXECDIR "/oncedrop"
#define AGAIN "; install it again, by `make install' or Debian's package %s"

static const struct module_row {
    const char *file;
    const char *table;   /* exported, as are TABLE_build: MODULE_BUILD, and TABLE_libraries() */
    const char *what;    /* for messages */
    const char *package; /* Debian's */
} modules[] = {
    [MODULE_PROGRAM] = {"oncedrop-main.so", "oncedrop_program", "the program", "oncedrop"},
    [MODULE_TLS] = {"oncedrop-tls.so", "imap_tls_module", "TLS for IMAP", "oncedrop"},
    [MODULE_DECODE] = {"oncedrop-decode.so", "decode_module", "the decoder", "oncedrop"},
    [MODULE_ENGINE] = {"oncedrop-postgres.so", "postgres_engine", "the engine for PostgreSQL", "oncedrop-postgres"},
    {"oncedrop-sqlite.so", "sqlite_engine", "the engine for SQLite", "oncedrop-sqlite"},
    {"oncedrop-mariadb.so", "mariadb_engine", "the engine for MariaDB", "oncedrop-mariadb"},
};

char *module_program(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
    return length > 0 && length < (ssize_t)sizeof(path) ? base_strndup(path, (size_t)length) : NULL;
}

char *module_path(const char *file)
{
    static const char *const below[] = {"", "../libexec/oncedrop/"};
    char *program OD_CLEANUP(base_free) = module_program();
    int length = program != NULL ? (int)(strrchr(program, '/') - program) : 0;
    for (size_t i = 0; i < sizeof(below) / sizeof(*below) && program != NULL; i++) {
        char *candidate OD_CLEANUP(base_free) = base_printf("%.*s/%s%s", length, program, below[i], file);
        if (access(candidate, F_OK) == 0 || errno == EACCES) {
            char *found = candidate;
            candidate = NULL;
            return found;
        }
    }
    return base_printf("%s/%s", INSTALLED, file);
}

/* Sets the error from errno; returns NULL. */
static void *refuse(const struct module_row *module, const char *path, struct error *error)
{
    int errnum = errno;
    if (errnum == ENOENT)
        error_set(error, "cannot load %s: there is no %s; it comes with `make install' or Debian's package %s",
                  module->what, path, module->package);
    else if (errnum == ENOEXEC)
        error_set(error, "cannot load %s: %s is cut short, or is not a module" AGAIN, module->what, path,
                  module->package);
    else if (errnum == EACCES)
        error_set(error, "cannot load %s: %s: %s; let user %d read it, and search the folders above it", module->what,
                  path, strerror(errnum), (int)geteuid());
    else
        error_set(error, "cannot load %s: %s: %s", module->what, path, strerror(errnum));
    return NULL;
}

static void *load(const struct module_row *module, struct error *error)
{
    struct stat status;
    char *path OD_CLEANUP(base_free) = module_path(module->file);
    if (!elf_file_is_complete(path) || stat(path, &status) != 0)
        return refuse(module, path, error);
    if ((status.st_mode & S_IWOTH) != 0) {
        error_set(error, "cannot load %s: everybody may write %s; run: chmod o-w %s", module->what, path, path);
        return NULL;
    }
    bool is_program = module == &modules[MODULE_PROGRAM]; /* others call its functions */
    void *loaded = dlopen(path, is_program ? RTLD_NOW | RTLD_GLOBAL : RTLD_NOW);
    if (loaded == NULL) {
        error_set(error, "cannot load %s: %s; let user %d read it, or install its package again", module->what,
                  dlerror(), (int)geteuid()); /* of what is unreadable ld.so(8) says that it is not there */
        return NULL;
    }
    char *name OD_CLEANUP(base_free) = base_printf("%s_build", module->table);
    const char *build = dlsym(loaded, name);
    if (build != NULL && strcmp(build, MODULE_BUILD) == 0)
        return loaded;
    error_set(error, "cannot load %s: %s belongs to another build of oncedrop" AGAIN, module->what, path,
              module->package);
    return NULL;
}

const void *module_load(enum module module, struct error *error)
{
    void *loaded = load(&modules[module], error);
    return loaded != NULL ? dlsym(loaded, modules[module].table) : NULL;
}

char *module_libraries(enum module module)
{
    struct error error;
    char *path OD_CLEANUP(base_free) = module_path(modules[module].file);
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return NULL;
    char *name OD_CLEANUP(base_free) = base_printf("%s_libraries", modules[module].table);
    void *loaded = load(&modules[module], &error);
    char *(*libraries)(void);
    if (loaded == NULL)
        return base_strdup(error.text);
    *(void **)&libraries = dlsym(loaded, name); /* dlopen(3) */
    return libraries();
}
