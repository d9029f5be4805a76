/* SPDX-License-Identifier: MIT
 *
 * The table of trades: lists of names, what a set resolves to, and that a session with a trade runs
 * the routes that are its coverage while a session without it does not.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/precision.h>
#include <assay/route.h>

#include "engine_common.h"

#define GDN (1u << ASSAY_TRADE_GDN_STATE_FP16)

Test(engine_trades, lists)
{
    const struct {
        const char *text;
        assay_status status;
        assay_trade_set set;
    } lists[] = {
        {"none", ASSAY_OK, 0},
        {"gdn-state-fp16", ASSAY_OK, GDN},
        {"gdn-state-fp16,gdn-state-fp16", ASSAY_OK, GDN},
        {"", ASSAY_E_USAGE, 0},
        {",", ASSAY_E_USAGE, 0},
        {"gdn-state-fp16,", ASSAY_E_USAGE, 0},
        {"gdn-state-fp1", ASSAY_E_USAGE, 0},
        {"gdn-state-fp16x", ASSAY_E_USAGE, 0},
        {"gdn-state-fp16,none", ASSAY_E_USAGE, 0},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct assay_error error = {0};
        assay_trade_set set = 99;
        const assay_status status = assay_trade_set_parse(lists[i].text, &set, &error);
        cr_assert(status == lists[i].status && set == lists[i].set, "\"%s\": %s, 0x%x",
                  lists[i].text, assay_status_name(status), set);
        cr_assert(status == ASSAY_OK || strstr(error.message, "gdn-state-fp16") != NULL,
                  "\"%s\": the message does not list what is known", lists[i].text);
    }
    char text[32];
    assay_trade_set_format(0, text, sizeof text);
    cr_assert(strcmp(text, "none") == 0);
    assay_trade_set_format(GDN, text, sizeof text);
    cr_assert(strcmp(text, "gdn-state-fp16") == 0);
    assay_trade_set_format(GDN, text, 4);
    cr_assert(strcmp(text, "gdn") == 0, "cut text is \"%s\"", text);
    for (unsigned i = 0; i < ASSAY_NUM_TRADES; i++) {
        const enum assay_trade trade = (enum assay_trade)i;
        cr_assert(assay_trade_find(assay_trade_name(trade)) == trade);
        cr_assert(assay_trade_coverage_routes(trade)[0] != NULL, "%s: a trade without coverage",
                  assay_trade_name(trade));
    }
    cr_assert(assay_trade_find("none") == ASSAY_NUM_TRADES);
}

Test(engine_trades, resolution)
{
    struct assay_error error = {0};
    struct assay_precision precision;
    engine_expect_ok(assay_precision_resolve(0, &precision, &error), &error, "none");
    cr_assert(precision.gdn_state == ASSAY_F32 && precision.kv_cache == ASSAY_BF16);
    engine_expect_ok(assay_precision_resolve(GDN, &precision, &error), &error, "gdn-state-fp16");
    cr_assert(precision.gdn_state == ASSAY_F16 && precision.kv_cache == ASSAY_BF16);
    cr_assert(assay_precision_resolve(1u << ASSAY_NUM_TRADES, &precision, &error) == ASSAY_E_USAGE);
}

/* Runs of all routes whose names begin with the prefix. */
static uint64_t runs(const assay_context *context, const char *prefix)
{
    uint64_t count = 0;
    int num_ops;
    const struct assay_op *const *ops = assay_ops(&num_ops);
    for (int i = 0; i < num_ops; i++)
        for (int j = 0; j < assay_op_num_routes(ops[i]); j++) {
            const char *name = assay_op_route(ops[i], j)->name;
            if (strncmp(name, prefix, strlen(prefix)) == 0)
                count += assay_context_route_count(context, name);
        }
    return count;
}

/* 6 linear layers: one chunked call each for the prompt, one recurrent call each for the token. */
Test(engine_trades, coverage)
{
    static const int32_t ids[] = {5, 6, 7, 8, 9};
    struct engine engine;
    engine_open(&engine, NULL);
    for (int with = 0; with < 2; with++) {
        struct assay_error error = {0};
        struct assay_session_options options = assay_session_defaults();
        options.trades = with ? GDN : 0;
        engine_session(&engine, &options);
        assay_context_reset_counts(engine.context);
        engine_expect_ok(
            assay_session_forward(engine.session, ids, 4, ASSAY_LOGITS_NONE, NULL, &error), &error,
            "prompt");
        engine_expect_ok(
            assay_session_forward(engine.session, ids + 4, 1, ASSAY_LOGITS_NONE, NULL, &error),
            &error, "token");
        const char *const *routes = assay_trade_coverage_routes(ASSAY_TRADE_GDN_STATE_FP16);
        for (int i = 0; routes[i] != NULL; i++)
            cr_assert(runs(engine.context, routes[i]) == (with ? 6 : 0), "%s ran %llu times",
                      routes[i], (unsigned long long)runs(engine.context, routes[i]));
        cr_assert(runs(engine.context, "gdn_chunked.") == 6 &&
                  runs(engine.context, "gdn_recurrent.") == 6);
    }
    engine_close(&engine);
}
