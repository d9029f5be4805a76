/* SPDX-License-Identifier: MIT
 *
 * Places for a plugin's routes. A route's functions get no pointer of their own, so each place has
 * functions that know its number. Private to engine/core.
 */
#ifndef ASSAY_CORE_PLUGIN_SLOTS_H
#define ASSAY_CORE_PLUGIN_SLOTS_H

#include <assay/plugin.h>
#include <assay/plugin_host.h>

enum { PLUGIN_MAX_BOUNDARIES = 32 };

struct plugin_slot {
    const struct assay_plugin_route *plugin;
    const struct assay_op *op;
    struct assay_route row;
    char name[64], when[128];
    struct assay_boundary boundaries[PLUGIN_MAX_BOUNDARIES + 1];
};

extern struct plugin_slot plugin_slots[ASSAY_PLUGIN_MAX_ROUTES];
extern struct assay_plugin_options plugin_options;

/* Fills row.run of the slot, whose plugin and op are set, and row.accepts and .workspace where the
 * plugin has such functions. */
void plugin_slot_bind(int slot);
void plugin_enter(const char *function);
void plugin_leave(void);

#endif
