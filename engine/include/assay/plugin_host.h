/* SPDX-License-Identifier: MIT
 *
 * The host's side of <assay/plugin.h>: opens a plugin and turns its routes into routes of the ops.
 * A plugin is foreign code from the moment it is opened: the assay program does so in a child
 * process only.
 */
#ifndef ASSAY_PLUGIN_HOST_H
#define ASSAY_PLUGIN_HOST_H

#include <stdbool.h>

#include <assay/route.h>
#include <assay/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ASSAY_PLUGIN_MAX_ROUTES = 32 };

/* How the routes are run. */
struct assay_plugin_options {
    /* Before and after each call of one of the plugin's functions; NULL: none. `enter` may not
     * return where the caller ends the process. */
    void (*enter)(void *user, const char *function);
    void (*leave)(void *user);
    void *user;
    /* Workspaces hold NaN before each run, and run() has ended (backend cuda: its kernels too) when
     * `leave` is called. For verification; a benchmark measures without it. */
    bool careful;
};

typedef struct assay_plugin_file assay_plugin_file;

/* Loads the file, checks all that it says and adds its routes (assay_route_add); all or none.
 * One plugin at a time. Errors, each with file and route in its record: ASSAY_E_NOT_FOUND,
 * ASSAY_E_PARSE (no shared object, no assay_plugin_v1), ASSAY_E_UNSUPPORTED (another version, an
 * unknown profile or backend), ASSAY_E_CORRUPT (sizes, null members), ASSAY_E_ARG (an unknown op, a
 * name that is taken or malformed), ASSAY_E_FULL. */
ASSAY_MUST_USE assay_status assay_plugin_open(const char *path,
                                              const struct assay_plugin_options *options,
                                              assay_plugin_file **plugin,
                                              struct assay_error *error);
/* Takes the routes back; the shared object stays loaded. NULL is fine. */
void assay_plugin_close(assay_plugin_file *plugin);
int assay_plugin_num_routes(const assay_plugin_file *plugin);
/* As added: `op`.`anything` under the plugin's own name. *op may be NULL. */
const struct assay_route *assay_plugin_route_at(const assay_plugin_file *plugin, int index,
                                                const struct assay_op **op);

#ifdef __cplusplus
}
#endif
#endif
