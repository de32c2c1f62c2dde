/* SPDX-License-Identifier: ISC */
#include "base/module.h"
#include "decode/decode_module.h"

/* NULL unless linked */
#pragma weak decode_module

const struct decode_module *decode_module_load(struct error *error)
{
    static const struct decode_module *loaded = &decode_module;
    static const struct module module = {
        .file = "oncedrop-decode.so",
        .table = "decode_module",
        .what = "the decoder",
        .package = "oncedrop",
    };
    if (loaded == NULL)
        loaded = module_load(&module, error);
    return loaded;
}
