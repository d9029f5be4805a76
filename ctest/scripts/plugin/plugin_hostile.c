/* SPDX-License-Identifier: MIT
 *
 * A plugin that lies in the way that the environment variable ASSAY_HOSTILE names; plugin.hostile
 * holds that each lie is one clear error.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/plugin.h>

static bool is(const char *lie)
{
    const char *told = getenv("ASSAY_HOSTILE");
    return told != NULL && strcmp(told, lie) == 0;
}

__attribute__((constructor)) static void construct(void)
{
    while (is("constructor-hangs"))
        continue;
    if (is("constructor-crashes")) {
        fprintf(stderr, "no such device\n");
        abort();
    }
}

static int run(const struct assay_plugin_call *call)
{
    (void)call;
    return 0;
}

static struct assay_plugin_boundary endless[64];
static struct assay_plugin_route route = {.size = sizeof route,
                                          .name = "rmsnorm.hostile",
                                          .profile = "f32",
                                          .backend = "cpu",
                                          .run = run};
static const struct assay_plugin_route *routes[33] = {&route};
static struct assay_plugin plugin = {
    .size = sizeof plugin, .version = ASSAY_PLUGIN_VERSION, .num_routes = 1, .routes = routes};

static void lie_about_route(void)
{
    if (is("route-null"))
        routes[0] = NULL;
    if (is("route-size"))
        route.size = sizeof route - 8;
    if (is("newer"))
        route.size = plugin.size = 512;
    if (is("route-size-huge"))
        route.size = UINT64_MAX;
    if (is("name-null"))
        route.name = NULL;
    if (is("profile-null"))
        route.profile = NULL;
    if (is("backend-null"))
        route.backend = NULL;
    if (is("run-null"))
        route.run = NULL;
    if (is("profile"))
        route.profile = "fp8";
    if (is("backend"))
        route.backend = "simt";
    if (is("op"))
        route.name = "softmax.hostile";
    if (is("taken"))
        route.name = "rmsnorm.plain.cpu";
    if (is("twice")) {
        routes[1] = &route;
        plugin.num_routes = 2;
    }
    if (is("name-malformed"))
        route.name = "rmsnorm.a b";
    if (is("name-short"))
        route.name = "rmsnorm";
    if (is("name-long"))
        route.name = "rmsnorm.0123456789012345678901234567890123456789012345678901234567890";
    if (is("boundaries")) {
        for (int i = 0; i < 64; i++)
            endless[i] = (struct assay_plugin_boundary){"H", i};
        route.boundaries = endless;
    }
}

ASSAY_PLUGIN_EXPORT const struct assay_plugin *assay_plugin_v1(void)
{
    if (is("entry-crashes"))
        raise(SIGSEGV);
    if (is("null"))
        return NULL;
    if (is("size"))
        plugin.size = 8;
    if (is("version"))
        plugin.version = 2;
    if (is("no-routes"))
        plugin.num_routes = 0;
    if (is("many-routes"))
        plugin.num_routes = 33;
    if (is("routes-null"))
        plugin.routes = NULL;
    lie_about_route();
    return &plugin;
}
