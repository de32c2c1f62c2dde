/* SPDX-License-Identifier: ISC */
#include "base/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "module_build.h"

#define INSTALLED LIBEXECDIR "/oncedrop"

/* The directory of the program, with the slash at its end: a new string, or NULL. */
static char *own_directory(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
    if (length == (ssize_t)sizeof(path)) /* not all of it */
        return NULL;
    while (length > 0 && path[length - 1] != '/')
        length--;
    return length > 0 ? base_strndup(path, (size_t)length) : NULL;
}

char *module_path(const char *file)
{
    char *directory OD_CLEANUP(base_free) = own_directory();
    char *beside = directory != NULL ? base_printf("%s%s", directory, file) : NULL;
    if (beside != NULL && access(beside, F_OK) == 0)
        return beside;
    base_free(&beside);
    return base_printf("%s/%s", INSTALLED, file);
}

const void *module_load(const struct module *module, struct fault *fault)
{
    struct stat status;
    char *path OD_CLEANUP(base_free) = module_path(module->file);
    if (stat(path, &status) != 0) {
        if (errno == ENOENT)
            fault_set(fault, "cannot load %s: there is no %s; it comes with `make install' or Debian's package %s",
                      module->what, path, module->package);
        else
            fault_set(fault, "cannot load %s: %s: %m", module->what, path);
        return NULL;
    }
    if ((status.st_mode & S_IWOTH) != 0) {
        fault_set(fault, "cannot load %s: everybody may write %s", module->what, path);
        return NULL;
    }
    void *loaded = dlopen(path, RTLD_NOW);
    if (loaded == NULL) {
        fault_set(fault, "cannot load %s: %s", module->what, dlerror());
        return NULL;
    }
    char *name OD_CLEANUP(base_free) = base_printf("%s_build", module->table);
    const char *build = dlsym(loaded, name);
    const void *table = build != NULL && strcmp(build, MODULE_BUILD) == 0 ? dlsym(loaded, module->table) : NULL;
    if (table == NULL) /* not closed: this process is about to end, or to say so */
        fault_set(fault, "%s belongs to another build of oncedrop", path);
    return table;
}
