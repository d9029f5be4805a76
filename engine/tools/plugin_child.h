/* SPDX-License-Identifier: MIT
 *
 * Foreign code at arm's length: items of work that call a plugin run in child processes, made by
 * fork alone, so that what a child sends may hold pointers to the program's constants. A child that
 * crashes or hangs is reported with its item, and another one goes on behind it.
 */
#ifndef ASSAY_TOOLS_PLUGIN_CHILD_H
#define ASSAY_TOOLS_PLUGIN_CHILD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <assay/plugin_host.h>

#include "case.h"

enum {
    PLUGIN_CHILD_MAX_JOBS = 64,
    PLUGIN_CHILD_MAX_MESSAGE = 1 << 16,
    PLUGIN_CHILD_OUTPUT = 1024 /* of what it printed last */
};

/* Seen by both processes. */
struct plugin_shared {
    atomic_llong item;       /* in work; -1: the plugin is being opened */
    atomic_llong item_since; /* microseconds of the clock that progress_now() shows */
    atomic_llong entered;    /* the plugin's function was entered then; 0: outside of it */
    atomic_bool shrinking;   /* the item's result has been sent */
    atomic_llong step;       /* from item to item; plugin_child_limit changes it */
    char function[32];       /* the last one that was entered */
    struct assay_case c;     /* of the item; spec NULL: none */
};

/* A child, as itself sees it. */
struct plugin_child {
    int worker;
    int64_t first, step; /* its items: first, first + step, ... */
    int jobs;
    struct plugin_shared *shared;
    int pipe;
    double time_limit;
};

enum plugin_end {
    PLUGIN_CRASHED,
    PLUGIN_HUNG,
    PLUGIN_BROKE_PIPE /* what came through the pipe is no message; by which item is not known */
};

struct plugin_work {
    int jobs;
    double time_limit; /* seconds that one call of the plugin may take */
    bool keep_output;  /* what the child prints is the program's output; else it is captured */
    void *user;
    /* In the child. Returns when its items are done. */
    void (*run)(void *user, struct plugin_child *child);
    /* In the parent: a message of a child. False: all children are to be stopped. */
    bool (*receive)(void *user, int kind, const void *payload, size_t bytes);
    /* In the parent: a child ended within an item (or while it opened the plugin: item -1). `how`
     * is one line, output what it had printed last. False: all children are to be stopped. */
    bool (*ended)(void *user, const struct plugin_shared *shared, enum plugin_end end,
                  const char *how, const char *output);
};

/* Runs all of it; false when a process or pipe could not be made (said on stderr). */
bool plugin_supervise(const struct plugin_work *work);

/* Whether a case that came from a child can be printed: a plugin may have written anywhere. */
bool plugin_case_is_sound(const struct assay_case *c);

/* ---- for run() ------------------------------------------------------------------------------ */
/* At most so many children share the items: for devices, whose memory each takes a part of. False:
 * this one has none. Before the first item, with the same number in each child. */
bool plugin_child_limit(struct plugin_child *child, int jobs);
void plugin_child_begin(struct plugin_child *child, int64_t item, const struct assay_case *c);
void plugin_child_send(struct plugin_child *child, int kind, const void *payload, size_t bytes);
/* Hooks that tell the parent when the plugin's code runs. */
struct assay_plugin_options plugin_child_options(struct plugin_child *child, bool careful);

#endif
