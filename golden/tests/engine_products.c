/* SPDX-License-Identifier: MIT
 *
 * Which product a pass uses: by trade, kind of pass, width and format of the weights; that decode
 * steps of several columns are what they claim; and how far integer products are from exact ones on
 * the activations of a real text.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <assay/ops/linear_a8.h>
#include <assay/ops/linear_w8row.h>
#include <assay/precision.h>
#include <assay/route.h>

#include "engine_common.h"
#include "oracle_formats.h"
#include "words.h"

#define BIT(trade) (1u << ASSAY_TRADE_##trade)

/* Matrices of tiny-hybrid's layers in grouped formats after the recipe q4-mixed: 8 MLPs of 3, 2
 * attentions of 4, 6 Gated DeltaNets of 3 (two more stay bf16). */
enum { MLP = 24, GATE_UP = 16, PROJECTIONS = 26, ALL = MLP + PROJECTIONS };
/* In steps of few columns only the last product of each mixer and MLP is a call of its own. */
enum { NOT_FUSED = 16 };

static char folder[64], converted[128];

static void set_up(void)
{
    snprintf(folder, sizeof folder, "/tmp/assay-products-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(converted, sizeof converted, "%s/q4.assay", folder);
    engine_convert(TINY_MODEL, "q4-mixed", converted);
}

static void tear_down(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert(system(command) == 0);
}

static void fill_ids(int32_t *ids, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        ids[i] = (int32_t)(5 + 37 * i % 1900);
}

/* ---- the table ------------------------------------------------------------------------------ */

Test(engine_products, resolution)
{
    const enum assay_product a16 = ASSAY_PRODUCT_A16, a8 = ASSAY_PRODUCT_A8,
                             w8 = ASSAY_PRODUCT_W8ROW;
    const enum assay_pass_kind prefill = ASSAY_PASS_PREFILL, decode = ASSAY_PASS_DECODE;
    const struct {
        assay_trade_set set;
        enum assay_pass_kind kind;
        int64_t tokens;
        enum assay_product projections, gate_up, down;
    } rows[] = {
        {0, prefill, 63, a16, a16, a16},
        {0, prefill, 64, a8, a8, a8},
        {0, prefill, 512, a8, a8, a8},
        {0, decode, 1, a16, a16, a16},
        {0, decode, 16, a16, a16, a16},
        {0, decode, 64, a16, a16, a16},
        {BIT(NO_PREFILL_A8), prefill, 64, a16, a16, a16},
        {BIT(MLP_A8_DECODE), decode, 15, a16, a16, a16},
        {BIT(MLP_A8_DECODE), decode, 16, a16, a8, a16},
        {BIT(MLP_A8_DECODE), decode, 32, a16, a8, a16},
        {BIT(MLP_A8_DECODE), prefill, 16, a16, a16, a16},
        {BIT(MLP_A8_DECODE) | BIT(NO_PREFILL_A8), decode, 16, a16, a8, a16},
        {BIT(MLP_A8_DECODE) | BIT(NO_PREFILL_A8), prefill, 64, a16, a16, a16},
        {BIT(PREFILL_CUBLAS), prefill, 63, a16, a16, a16},
        {BIT(PREFILL_CUBLAS), prefill, 64, w8, w8, w8},
        {BIT(PREFILL_CUBLAS), decode, 32, a16, a16, a16},
        {BIT(PREFILL_CUBLAS) | BIT(NO_PREFILL_CUBLAS_PROJECTIONS), prefill, 64, a8, w8, w8},
        {BIT(PREFILL_CUBLAS) | BIT(NO_PREFILL_CUBLAS_PROJECTIONS) | BIT(NO_PREFILL_A8), prefill, 64,
         a16, w8, w8},
    };
    struct assay_error error = {0};
    struct assay_precision precision;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        engine_expect_ok(assay_precision_resolve(rows[i].set, &precision, &error), &error, "set");
        const struct assay_products p =
            assay_precision_products(&precision, rows[i].kind, rows[i].tokens);
        cr_assert(p.projections == rows[i].projections && p.gate_up == rows[i].gate_up &&
                      p.down == rows[i].down,
                  "row %zu: %d %d %d", i, (int)p.projections, (int)p.gate_up, (int)p.down);
    }
    const assay_trade_set alone = BIT(NO_PREFILL_CUBLAS_PROJECTIONS);
    cr_assert(assay_precision_resolve(alone, &precision, &error) == ASSAY_E_USAGE &&
                  strstr(error.message, "without prefill-cublas") != NULL,
              "%s", error.message);
}

/* What a gate compares, and what a run needs a record for. */
Test(engine_products, settings)
{
    const struct {
        assay_trade_set set, without, with, lossy;
    } rows[] = {
        {BIT(LM_HEAD_Q4), 0, BIT(LM_HEAD_Q4), BIT(LM_HEAD_Q4)},
        {BIT(NO_PREFILL_A8), BIT(NO_PREFILL_A8), 0, 0},
        {BIT(PREFILL_CUBLAS) | BIT(NO_PREFILL_CUBLAS_PROJECTIONS), 0,
         BIT(PREFILL_CUBLAS) | BIT(NO_PREFILL_CUBLAS_PROJECTIONS), BIT(PREFILL_CUBLAS)},
        {BIT(NO_PREFILL_A8) | BIT(MLP_A8_DECODE), BIT(NO_PREFILL_A8), BIT(MLP_A8_DECODE),
         BIT(MLP_A8_DECODE)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assay_trade_set without, with;
        assay_trade_set_compared(rows[i].set, &without, &with);
        cr_assert(without == rows[i].without && with == rows[i].with, "row %zu: 0x%x, 0x%x", i,
                  without, with);
        cr_assert(assay_trade_set_lossy(rows[i].set) == rows[i].lossy, "row %zu", i);
    }
}

/* ---- the calls of a pass -------------------------------------------------------------------- */

/* Runs of an op's routes. */
static uint64_t runs(const assay_context *context, const char *name)
{
    const struct assay_op *op = assay_op_find(name);
    uint64_t count = 0;
    cr_assert_not_null(op);
    for (int i = 0; i < assay_op_num_routes(op); i++)
        count += assay_context_route_count(context, assay_op_route(op, i)->name);
    return count;
}

/* One pass in a new session; the head is one call more of linear_grouped where logits are asked
 * for. */
static void expect_calls(struct engine *engine, assay_trade_set trades, bool verify, int64_t tokens,
                         uint64_t a8, uint64_t w8row, uint64_t grouped)
{
    static int32_t ids[128];
    struct assay_error error = {0};
    struct assay_session_options options = assay_session_defaults();
    float *logits = malloc((size_t)(tokens * engine->vocab) * sizeof *logits);
    cr_assert_not_null(logits);
    fill_ids(ids, tokens);
    options.trades = trades;
    engine_session(engine, &options);
    assay_context_reset_counts(engine->context);
    engine_expect_ok(verify ? assay_session_verify(engine->session, ids, tokens, logits, &error)
                            : assay_session_forward(engine->session, ids, tokens, ASSAY_LOGITS_ALL,
                                                    logits, &error),
                     &error, "pass");
    cr_assert(runs(engine->context, "linear_a8") == a8 &&
                  runs(engine->context, "linear_w8row") == w8row &&
                  runs(engine->context, "linear_grouped") == grouped,
              "set 0x%x, %s of %lld: a8 %llu, w8row %llu, grouped %llu", trades,
              verify ? "step" : "prefill", (long long)tokens,
              (unsigned long long)runs(engine->context, "linear_a8"),
              (unsigned long long)runs(engine->context, "linear_w8row"),
              (unsigned long long)runs(engine->context, "linear_grouped"));
    free(logits);
}

Test(engine_products, calls, .init = set_up, .fini = tear_down)
{
    struct engine engine;
    engine_open_model(&engine, converted);
    const assay_trade_set off = BIT(NO_PREFILL_A8), mlp = BIT(MLP_A8_DECODE);
    const assay_trade_set cublas = BIT(PREFILL_CUBLAS),
                          part = cublas | BIT(NO_PREFILL_CUBLAS_PROJECTIONS);
    expect_calls(&engine, 0, false, 63, 0, 0, ALL + 1);
    expect_calls(&engine, 0, false, 64, ALL, 0, 1);
    expect_calls(&engine, 0, false, 65, ALL, 0, 1);
    expect_calls(&engine, off, false, 64, 0, 0, ALL + 1);
    expect_calls(&engine, 0, true, 16, 0, 0, ALL + 1);
    expect_calls(&engine, mlp, true, 15, 0, 0, ALL + 1);
    expect_calls(&engine, mlp, true, 16, GATE_UP, 0, ALL - GATE_UP + 1);
    expect_calls(&engine, mlp, true, 32, GATE_UP, 0, ALL - GATE_UP + 1);
    expect_calls(&engine, mlp, true, 1, 0, 0, NOT_FUSED + 1);
    expect_calls(&engine, mlp, false, 16, 0, 0, ALL + 1);
    expect_calls(&engine, mlp, false, 32, 0, 0, ALL + 1);
    expect_calls(&engine, mlp | off, false, 64, 0, 0, ALL + 1);
    expect_calls(&engine, mlp | off, true, 16, GATE_UP, 0, ALL - GATE_UP + 1);
    expect_calls(&engine, cublas, false, 63, 0, 0, ALL + 1);
    expect_calls(&engine, cublas, false, 64, 0, ALL, 1);
    expect_calls(&engine, cublas | off, false, 64, 0, ALL, 1);
    expect_calls(&engine, cublas, true, 32, 0, 0, ALL + 1);
    expect_calls(&engine, part, false, 64, PROJECTIONS, MLP, 1);
    expect_calls(&engine, part | off, false, 64, 0, MLP, PROJECTIONS + 1);
    engine_close(&engine);

    engine_open_model(&engine, TINY_MODEL);
    expect_calls(&engine, 0, false, 64, 0, 0, 0);
    expect_calls(&engine, mlp | cublas, false, 64, 0, 0, 0);
    expect_calls(&engine, mlp | cublas, true, 32, 0, 0, 0);
    engine_close(&engine);
}

/* ---- decode steps of several columns -------------------------------------------------------- */

enum { PROMPT = 5, MOST = ASSAY_VERIFY_COLUMNS };

/* A step of n columns is a pass whose tokens go through gdn_recurrent, whatever the session's limit
 * for prefill is: bit by bit what a prefill pass with that limit gives. */
static void expect_same_as_recurrent(const char *path)
{
    struct engine engine;
    struct assay_error error = {0};
    struct assay_session_options options = assay_session_defaults();
    assay_session *recurrent = NULL;
    int32_t ids[PROMPT + MOST];
    fill_ids(ids, PROMPT + MOST);
    engine_open_model(&engine, path);
    engine_session(&engine, &options);
    options.recurrent_limit = MOST;
    engine_expect_ok(
        assay_session_create(engine.context, engine.model, &options, &recurrent, &error), &error,
        "session");
    const size_t floats = (size_t)(MOST * engine.vocab);
    float *a = malloc(floats * sizeof *a), *b = malloc(floats * sizeof *b);
    cr_assert(a != NULL && b != NULL);
    for (int64_t n = 1; n <= MOST; n++) {
        assay_session_reset(engine.session);
        assay_session_reset(recurrent);
        engine_expect_ok(assay_session_verify(engine.session, ids, PROMPT, a, &error), &error,
                         "prompt");
        engine_expect_ok(
            assay_session_forward(recurrent, ids, PROMPT, ASSAY_LOGITS_NONE, NULL, &error), &error,
            "prompt");
        assay_context_reset_counts(engine.context);
        engine_expect_ok(assay_session_verify(engine.session, ids + PROMPT, n, a, &error), &error,
                         "step");
        cr_assert(runs(engine.context, "gdn_recurrent") == 6 &&
                  runs(engine.context, "gdn_chunked") == 0);
        engine_expect_ok(
            assay_session_forward(recurrent, ids + PROMPT, n, ASSAY_LOGITS_ALL, b, &error), &error,
            "pass");
        cr_assert(assay_session_length(engine.session) == PROMPT + n);
        cr_assert(memcmp(a, b, (size_t)(n * engine.vocab) * sizeof *a) == 0, "%lld columns",
                  (long long)n);
    }
    free(a);
    free(b);
    assay_session_destroy(recurrent);
    engine_close(&engine);
}

Test(engine_products, steps, .init = set_up, .fini = tear_down)
{
    expect_same_as_recurrent(TINY_MODEL);
    expect_same_as_recurrent(converted);
}

Test(engine_products, step_errors)
{
    struct engine engine;
    struct assay_session_options options = assay_session_defaults();
    options.capacity = 40;
    options.prefill_chunk = 20;
    int32_t ids[MOST + 1];
    fill_ids(ids, MOST + 1);
    engine_open(&engine, &options);
    float *logits = calloc((size_t)(20 * engine.vocab), sizeof *logits);
    cr_assert_not_null(logits);
    const struct {
        const int32_t *ids;
        int64_t count;
        float *logits;
        assay_status status;
        const char *message;
    } bad[] = {
        {ids, 0, logits, ASSAY_E_ARG, "1 to 20 columns"},
        {ids, -1, logits, ASSAY_E_ARG, "1 to 20 columns"},
        {ids, 21, logits, ASSAY_E_ARG, "larger prefill_chunk"},
        {NULL, 3, logits, ASSAY_E_ARG, "is NULL"},
        {ids, 3, NULL, ASSAY_E_ARG, "must not be NULL"},
        {(const int32_t[]){1, -1}, 2, logits, ASSAY_E_RANGE, ""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct assay_error error = {0};
        const assay_status status =
            assay_session_verify(engine.session, bad[i].ids, bad[i].count, bad[i].logits, &error);
        cr_assert(status == bad[i].status && strstr(error.message, bad[i].message) != NULL,
                  "call %zu: %s", i, error.message);
        cr_assert(assay_session_length(engine.session) == 0 &&
                  !assay_session_broken(engine.session));
    }
    struct assay_error error = {0};
    for (int i = 0; i < 2; i++)
        engine_expect_ok(assay_session_verify(engine.session, ids, 20, logits, &error), &error, "");
    cr_assert(assay_session_verify(engine.session, ids, 1, logits, &error) == ASSAY_E_FULL);
    cr_assert(assay_session_verify(NULL, ids, 1, logits, &error) == ASSAY_E_ARG);
    free(logits);
    engine_close(&engine);
}

/* ---- error on real activations -------------------------------------------------------------- */

enum { TEXT = 64 };

struct watch {
    const char *op;
    double least, most; /* relative L2 of a call's output against exact arithmetic */
    int calls;
};

/* The call's y against the sum of x and the weights as they are, in binary64. */
static void look(void *user, const struct assay_op *op, const struct assay_route *route,
                 const void *args, bool is_after)
{
    struct watch *watch = user;
    (void)route;
    if (!is_after || strcmp(op->name, watch->op) != 0)
        return;
    struct assay_tensor x, y;
    struct assay_weights w;
    if (op == &assay_op_linear_a8) {
        const struct assay_linear_a8_args *a = args;
        x = a->x, y = a->y, w = a->w;
    } else {
        const struct assay_linear_w8row_args *a = args;
        x = a->x, y = a->y, w = a->w;
    }
    const int64_t tokens = x.extent[0], inner = w.columns;
    double *row = malloc((size_t)inner * sizeof *row), squares = 0, errors = 0;
    cr_assert_not_null(row);
    for (int64_t n = 0; n < w.rows; n++) {
        oracle_weight_row(&w, n, row);
        for (int64_t t = 0; t < tokens; t++) {
            const float *values = assay_tensor_row(&x, t);
            double sum = 0;
            for (int64_t k = 0; k < inner; k++)
                sum += (double)values[k] * row[k];
            const double lacks = oracle_get(&y, t * w.rows + n) - sum;
            squares += sum * sum;
            errors += lacks * lacks;
        }
    }
    free(row);
    const double error = sqrt(errors / squares);
    watch->least = watch->calls == 0 ? error : fmin(watch->least, error);
    watch->most = fmax(watch->most, error);
    watch->calls++;
}

/* Passes of TEXT tokens of a prompt, watched; width 0: prefill. */
static struct watch watch_text(struct engine *engine, const char *op, assay_trade_set trades,
                               int64_t width)
{
    size_t num;
    struct assay_error error = {0};
    struct watch watch = {.op = op};
    struct greedy_prompt *prompts = greedy_read(TINY_REFERENCES "/greedy.json", &num);
    const struct greedy_prompt *longest = greedy_longest(prompts, num);
    struct assay_session_options options = assay_session_defaults();
    float *logits = malloc((size_t)(MOST * engine->vocab) * sizeof *logits);
    cr_assert_not_null(logits);
    cr_assert(longest->num_prompt >= TEXT);
    options.trades = trades;
    engine_session(engine, &options);
    assay_context_observe(engine->context, look, &watch);
    if (width == 0)
        engine_expect_ok(assay_session_forward(engine->session, longest->prompt, TEXT,
                                               ASSAY_LOGITS_NONE, NULL, &error),
                         &error, "prefill");
    for (int64_t at = 0; width > 0 && at < TEXT; at += width)
        engine_expect_ok(
            assay_session_verify(engine->session, longest->prompt + at, width, logits, &error),
            &error, "step");
    assay_context_observe(engine->context, NULL, NULL);
    free(logits);
    greedy_free(prompts, num);
    return watch;
}

/* Every product of a pass stays within the profile's allowance of 0.04 (a8). One scale a token is
 * worse here as well; input that takes it beyond the allowance is in linear_a8_laws.c. */
Test(engine_products, error_on_text, .init = set_up, .fini = tear_down)
{
    struct engine engine;
    struct assay_error error = {0};
    engine_open_model(&engine, converted);
    const struct watch prefill = watch_text(&engine, "linear_a8", 0, 0);
    const struct watch step16 = watch_text(&engine, "linear_a8", BIT(MLP_A8_DECODE), 16);
    const struct watch step32 = watch_text(&engine, "linear_a8", BIT(MLP_A8_DECODE), 32);
    const struct watch row = watch_text(&engine, "linear_w8row", BIT(PREFILL_CUBLAS), 0);
    const struct case_mutant *mutant = engine_mutant("linear_a8.mutant.token_scale.cpu");
    engine_expect_ok(assay_route_add(&mutant->route, &error), &error, "mutant");
    cr_assert(assay_context_force_route(engine.context, mutant->route.name) == ASSAY_OK);
    const struct watch planted = watch_text(&engine, "linear_a8", 0, 0);
    cr_assert(assay_context_force_route(engine.context, NULL) == ASSAY_OK);
    assay_route_remove(&mutant->route);
    cr_log_info("prefill %.4f to %.4f, 16 columns %.4f to %.4f, 32 %.4f to %.4f, w8row %.4f to "
                "%.4f, token scale %.4f to %.4f",
                prefill.least, prefill.most, step16.least, step16.most, step32.least, step32.most,
                row.least, row.most, planted.least, planted.most);
    cr_assert(prefill.calls == ALL && step16.calls == TEXT / 16 * GATE_UP &&
              step32.calls == TEXT / 32 * GATE_UP && row.calls == ALL && planted.calls == ALL);
    cr_assert(prefill.most < 0.04 && prefill.least > 0, "prefill: %.4f", prefill.most);
    cr_assert(step16.most < 0.04 && step32.most < 0.04, "steps: %.4f, %.4f", step16.most,
              step32.most);
    cr_assert(planted.most > 1.5 * prefill.most && planted.least > prefill.least,
              "one scale a token is not worse: %.4f to %.4f", planted.least, planted.most);
    engine_close(&engine);
}

/* ---- routes --------------------------------------------------------------------------------- */

static void last_logits(struct engine *engine, assay_trade_set trades, const char *route,
                        float *logits)
{
    int32_t ids[TEXT];
    struct assay_error error = {0};
    struct assay_session_options options = assay_session_defaults();
    fill_ids(ids, TEXT);
    options.trades = trades;
    engine_session(engine, &options);
    cr_assert(assay_context_force_route(engine->context, route) == ASSAY_OK);
    engine_expect_ok(
        assay_session_forward(engine->session, ids, TEXT, ASSAY_LOGITS_LAST, logits, &error),
        &error, "pass");
    cr_assert(assay_context_force_route(engine->context, NULL) == ASSAY_OK);
}

/* Integer products are stated to the bit, so whole passes have the same bits by every route of
 * theirs. (Not by every route of the other ops: a last bit that differs there may move a code.) */
Test(engine_products, routes, .init = set_up, .fini = tear_down)
{
    const struct {
        assay_trade_set trades;
        const struct assay_op *op;
    } cases[] = {{0, &assay_op_linear_a8}, {BIT(PREFILL_CUBLAS), &assay_op_linear_w8row}};
    struct engine engine;
    engine_open_model(&engine, converted);
    const size_t bytes = (size_t)engine.vocab * sizeof(float);
    float *dispatched = malloc(bytes), *forced = malloc(bytes);
    cr_assert(dispatched != NULL && forced != NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        last_logits(&engine, cases[i].trades, NULL, dispatched);
        for (int r = 0; r < assay_op_num_routes(cases[i].op); r++) {
            const struct assay_route *route = assay_op_route(cases[i].op, r);
            if (route->backend != ASSAY_CPU || route->isa > assay_isa_detect())
                continue;
            last_logits(&engine, cases[i].trades, route->name, forced);
            cr_assert(memcmp(dispatched, forced, bytes) == 0, "%s", route->name);
        }
    }
    free(dispatched);
    free(forced);
    engine_close(&engine);
}
