/* SPDX-License-Identifier: MIT
 *
 * Opening a plugin: every size, pointer, name and number that it gives is checked before a route of
 * it exists.
 */
#include "core/plugin_slots.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

struct assay_plugin_file {
    void *library;
    int num_routes;
};

static bool is_open; /* the slots belong to one plugin */

static const size_t largest_struct = 4096; /* a later version's; what is larger is no size */

static assay_status check_size(struct assay_error *error, const char *path, const char *what,
                               uint64_t size, size_t least)
{
    if (size >= least && size <= largest_struct)
        return ASSAY_OK;
    return assay_fail(error, ASSAY_E_CORRUPT, path, what,
                      "its first member must be its size, %zu bytes in version %d, is %llu", least,
                      ASSAY_PLUGIN_VERSION, (unsigned long long)size);
}

static assay_status check_name(struct assay_error *error, const char *path, const char *name)
{
    static const char *const letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = strnlen(name, 64);
    if (length > 63)
        return assay_fail(error, ASSAY_E_ARG, path, "name",
                          "a route's name has at most 63 characters, this begins with '%.32s'",
                          name);
    const char *dot = strchr(name, '.');
    if (strspn(name, letters) != length || dot == NULL || dot == name || dot[1] == '\0')
        return assay_fail(error, ASSAY_E_ARG, path, name,
                          "a route's name must be OP.ANYTHING of letters, digits and . _ -");
    return ASSAY_OK;
}

static assay_status find_op(struct assay_error *error, const char *path, const char *name,
                            const struct assay_op **op)
{
    char op_name[64];
    snprintf(op_name, sizeof op_name, "%.*s", (int)strcspn(name, "."), name);
    *op = assay_op_find(op_name);
    if (*op == NULL)
        return assay_fail(error, ASSAY_E_ARG, path, name, "there is no op '%s'; see: assay ops",
                          op_name);
    if (assay_route_find(name, NULL) != NULL)
        return assay_fail(error, ASSAY_E_ARG, path, name,
                          "the name is taken by another route; rename it");
    return ASSAY_OK;
}

static assay_status find_profile(struct assay_error *error, const char *path, const char *name,
                                 const char *profile, enum assay_profile *found)
{
    for (int i = 0; i < ASSAY_NUM_PROFILES; i++) {
        *found = (enum assay_profile)i;
        if (strcmp(profile, assay_profile_name(*found)) == 0)
            return ASSAY_OK;
    }
    return assay_fail(error, ASSAY_E_UNSUPPORTED, path, name,
                      "there is no profile '%.32s'; see the end of: assay ops --markdown", profile);
}

static assay_status find_backend(struct assay_error *error, const char *path, const char *name,
                                 const char *backend, enum assay_backend *found)
{
    *found = ASSAY_CPU;
    if (strcmp(backend, "cpu") == 0)
        return ASSAY_OK;
    *found = ASSAY_CUDA;
    if (strcmp(backend, "cuda") == 0)
        return ASSAY_OK;
    return assay_fail(error, ASSAY_E_UNSUPPORTED, path, name,
                      "the backend must be cpu or cuda, is '%.32s'", backend);
}

static assay_status copy_boundaries(struct assay_error *error, const char *path,
                                    struct plugin_slot *s)
{
    int count = 0;
    for (const struct assay_plugin_boundary *b = s->plugin->boundaries;
         b != NULL && b->parameter != NULL; b++) {
        if (count == PLUGIN_MAX_BOUNDARIES)
            return assay_fail(error, ASSAY_E_CORRUPT, path, s->name,
                              "more than %d boundaries; the list ends with {NULL, 0}",
                              PLUGIN_MAX_BOUNDARIES);
        s->boundaries[count++] = (struct assay_boundary){b->parameter, b->at};
    }
    s->boundaries[count] = (struct assay_boundary){NULL, 0};
    s->row.boundaries = count > 0 ? s->boundaries : NULL;
    return ASSAY_OK;
}

static assay_status add_route(struct assay_error *error, const char *path, int slot,
                              const struct assay_plugin_route *from)
{
    struct plugin_slot *s = &plugin_slots[slot];
    char what[32];
    snprintf(what, sizeof what, "routes[%d]", slot);
    if (from == NULL)
        return assay_fail(error, ASSAY_E_CORRUPT, path, what, "must not be null");
    ASSAY_TRY(check_size(error, path, what, from->size, sizeof *from));
    if (from->name == NULL || from->profile == NULL || from->backend == NULL || from->run == NULL)
        return assay_fail(error, ASSAY_E_CORRUPT, path, what,
                          "name, profile, backend and run must not be null; %s is",
                          from->name == NULL      ? "name"
                          : from->profile == NULL ? "profile"
                          : from->backend == NULL ? "backend"
                                                  : "run");
    memset(s, 0, sizeof *s);
    s->plugin = from;
    ASSAY_TRY(check_name(error, path, from->name));
    snprintf(s->name, sizeof s->name, "%s", from->name);
    ASSAY_TRY(find_op(error, path, s->name, &s->op));
    ASSAY_TRY(find_profile(error, path, s->name, from->profile, &s->row.profile));
    ASSAY_TRY(find_backend(error, path, s->name, from->backend, &s->row.backend));
    ASSAY_TRY(copy_boundaries(error, path, s));
    snprintf(s->when, sizeof s->when, "%s", from->when != NULL ? from->when : "all calls");
    s->row.name = s->name;
    s->row.when = s->when;
    s->row.depth = from->depth;
    plugin_slot_bind(slot);
    return assay_route_add(&s->row, error);
}

static assay_status add_routes(struct assay_error *error, const char *path, assay_plugin_file *file,
                               const struct assay_plugin *plugin)
{
    if (plugin == NULL)
        return assay_fail(error, ASSAY_E_CORRUPT, path, "assay_plugin_v1", "returned null");
    ASSAY_TRY(check_size(error, path, "struct assay_plugin", plugin->size, sizeof *plugin));
    if (plugin->version != ASSAY_PLUGIN_VERSION)
        return assay_fail(error, ASSAY_E_UNSUPPORTED, path, "version",
                          "must be %d, is %u: compile it against this program's plugin.h",
                          ASSAY_PLUGIN_VERSION, plugin->version);
    if (plugin->num_routes < 1 || plugin->num_routes > ASSAY_PLUGIN_MAX_ROUTES)
        return assay_fail(error, plugin->num_routes == 0 ? ASSAY_E_CORRUPT : ASSAY_E_FULL, path,
                          "num_routes", "must be 1 to %d, is %u", ASSAY_PLUGIN_MAX_ROUTES,
                          plugin->num_routes);
    if (plugin->routes == NULL)
        return assay_fail(error, ASSAY_E_CORRUPT, path, "routes", "must not be null");
    for (int i = 0; i < (int)plugin->num_routes; i++) {
        ASSAY_TRY(add_route(error, path, i, plugin->routes[i]));
        file->num_routes++;
    }
    return ASSAY_OK;
}

/* The library stays loaded when this fails, too: its threads and exit handlers may live on. */
static assay_status load(struct assay_error *error, const char *path, assay_plugin_file *file)
{
    char *resolved = realpath(path, NULL); /* a bare name would be searched for elsewhere */
    if (resolved == NULL)
        return assay_fail(error, ASSAY_E_NOT_FOUND, path, "plugin", "there is no such file");
    plugin_enter("its constructors");
    file->library = dlopen(resolved, RTLD_NOW | RTLD_LOCAL);
    const char *why = file->library == NULL ? dlerror() : NULL;
    plugin_leave();
    free(resolved); /* style: allow engine-allocation (realpath's) */
    if (file->library == NULL)
        return assay_fail(error, ASSAY_E_PARSE, path, "plugin", "cannot be loaded: %.300s",
                          why != NULL ? why : "no reason given");
    const struct assay_plugin *(*entry)(void) = NULL;
    void *symbol = dlsym(file->library, "assay_plugin_v1");
    if (symbol == NULL)
        return assay_fail(error, ASSAY_E_PARSE, path, "plugin",
                          "exports no assay_plugin_v1; see assay/plugin.h");
    memcpy(&entry, &symbol, sizeof entry);
    plugin_enter("assay_plugin_v1");
    const struct assay_plugin *plugin = entry();
    assay_status status = add_routes(error, path, file, plugin);
    plugin_leave();
    return status;
}

assay_status assay_plugin_open(const char *path, const struct assay_plugin_options *options,
                               assay_plugin_file **plugin, struct assay_error *error)
{
    *plugin = NULL;
    if (is_open)
        return assay_fail(error, ASSAY_E_FULL, path, "plugin", "another plugin is open");
    assay_plugin_file *file = assay_alloc_zero(1, sizeof *file);
    if (file == NULL)
        return assay_fail(error, ASSAY_E_MEMORY, path, "plugin", "out of memory");
    is_open = true;
    plugin_options = options != NULL ? *options : (struct assay_plugin_options){.careful = false};
    assay_status status = load(error, path, file);
    if (status != ASSAY_OK) {
        assay_plugin_close(file);
        return status;
    }
    *plugin = file;
    return ASSAY_OK;
}

void assay_plugin_close(assay_plugin_file *plugin)
{
    if (plugin == NULL)
        return;
    for (int i = 0; i < plugin->num_routes; i++)
        assay_route_remove(&plugin_slots[i].row);
    is_open = false;
    assay_free(plugin);
}

int assay_plugin_num_routes(const assay_plugin_file *plugin)
{
    return plugin->num_routes;
}

const struct assay_route *assay_plugin_route_at(const assay_plugin_file *plugin, int index,
                                                const struct assay_op **op)
{
    if (index < 0 || index >= plugin->num_routes)
        return NULL;
    if (op != NULL)
        *op = plugin_slots[index].op;
    return &plugin_slots[index].row;
}
