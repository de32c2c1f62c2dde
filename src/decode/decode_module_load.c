/* SPDX-License-Identifier: ISC
 *
 * Finds and loads the module. */
#include "decode/decode_module.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "decode_build.h"

#define NAME "oncedrop-decode.so"
#define INSTALLED LIBEXECDIR "/oncedrop/" NAME

/* NULL unless the module is linked to the program. */
#pragma weak decode_module

static void *open_beside(void)
{
    char path[PATH_MAX + sizeof(NAME)];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);

    if (length == PATH_MAX) /* not all of it */
        return NULL;
    while (length > 0 && path[length - 1] != '/')
        length--;
    if (length <= 0)
        return NULL;
    memcpy(path + length, NAME, sizeof(NAME));
    return dlopen(path, RTLD_NOW);
}

const struct decode_module *decode_module_load(struct fault *fault)
{
    static const struct decode_module *loaded = &decode_module;

    if (loaded != NULL)
        return loaded;
    void *module = open_beside();
    if (module == NULL)
        module = dlopen(INSTALLED, RTLD_NOW);
    if (module == NULL) {
        fault_set(fault, "cannot load the decoder, which make install puts into " LIBEXECDIR "/oncedrop: %s",
                  dlerror());
        return NULL;
    }
    const char *build = dlsym(module, "decode_module_build");
    if (build != NULL && strcmp(build, DECODE_BUILD) == 0)
        loaded = dlsym(module, "decode_module");
    if (loaded == NULL) /* not closed: this process is about to end, or to say so */
        fault_set(fault, "%s belongs to another build of oncedrop", NAME);
    return loaded;
}
