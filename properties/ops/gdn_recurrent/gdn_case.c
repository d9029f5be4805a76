/* SPDX-License-Identifier: MIT
 *
 * What the cases of gdn_recurrent and gdn_chunked share.
 */
#include "gdn_case.h"

#include <math.h>
#include <string.h>

#include "trial.h"
#include "words.h"

const int64_t gdn_key_heads[] = {1, 2, 3, -1};
const int64_t gdn_ratios[] = {1, 2, 3, 5, -1};
const int64_t gdn_key_dims[] = {1, 2, 3, 16, 17, 64, 128, 129, -1};
const int64_t gdn_value_dims[] = {1, 2, 3, 20, 33, 128, 129, -1};

enum gates { GATES_MIXED, GATES_NONE, GATES_STRONG };
const char *const gdn_gate_names[] = {"mixed", "none", "strong"};
enum betas { BETA_MIXED, BETA_ZERO, BETA_ONE, BETA_WIDE };
const char *const gdn_beta_names[] = {"mixed", "zero", "one", "wide"};
enum scales { SCALE_MODEL, SCALE_ONE, SCALE_NEGATIVE };
const char *const gdn_scale_names[] = {"model", "one", "negative"};

static double work(const struct assay_case *c)
{
    return (double)(case_get(c, "T") + 1) * (double)case_get(c, "Hk") * (double)case_get(c, "r") *
           (double)case_get(c, "dk") * (double)case_get(c, "dv");
}

struct reduction {
    const char *param;
    int64_t least;
};

/* Few tokens keep their heads' size (the models' is 128 x 128), many keep their number. */
static void limit_work(struct assay_case *c)
{
    static const struct reduction few[] = {{"T", 5},  {"Hk", 2}, {"r", 2},    {"Hk", 1},
                                           {"r", 1},  {"T", 1},  {"dv", 128}, {"dk", 128},
                                           {"dv", 8}, {"dk", 8}};
    static const struct reduction many[] = {{"T", 130}, {"Hk", 1}, {"r", 2}, {"dv", 8},
                                            {"dk", 8},  {"r", 1},  {"T", 1}};
    bool long_run = case_get(c, "T") > 30;
    const struct reduction *order = long_run ? many : few;
    size_t count = long_run ? sizeof many / sizeof many[0] : sizeof few / sizeof few[0];
    for (size_t i = 0; i < count; i++)
        while (work(c) > 6e4 && case_get(c, order[i].param) > order[i].least) {
            int64_t less = case_get(c, order[i].param) * 2 / 3;
            case_set(c, order[i].param, less > order[i].least ? less : order[i].least);
        }
}

/* With beta = 0 nothing is added, and what decays below the format's smallest step can show no
 * fault: then every output is as right as zero. */
static void keep_something(struct assay_case *c)
{
    if (case_get(c, "gates") == GATES_STRONG)
        case_set(c, "gates", GATES_MIXED);
    if (case_get(c, "state") == ASSAY_F16)
        case_set(c, "gates", GATES_NONE);
    if (case_get(c, "T") > 32)
        case_set(c, "T", 32);
}

void gdn_adjust(struct assay_case *c)
{
    if (strstr(c->route, ".state16.") != NULL || strstr(c->route, ".state_bf16.") != NULL)
        case_set(c, "state", ASSAY_F16);
    if (strstr(c->route, ".state32.") != NULL)
        case_set(c, "state", ASSAY_F32);
    if (c->layout == CASE_INPLACE)
        case_set(c, "o", case_get(c, "v"));
    if (c->dist == CASE_DIST_EXACT) { /* long integer keys multiply the state at every token */
        case_set(c, "T", case_get(c, "T") > 0);
        case_set(c, "scale", SCALE_ONE);
        case_set(c, "gates", GATES_NONE);
        case_set(c, "beta", case_get(c, "beta") == BETA_ZERO ? BETA_ZERO : BETA_ONE);
    }
}

void gdn_limit(struct assay_case *c)
{
    if (case_get(c, "beta") == BETA_ZERO)
        keep_something(c);
    limit_work(c);
}

bool gdn_exact(const struct assay_case *c)
{
    return case_get(c, "T") <= 1 && case_get(c, "dk") <= 64;
}

struct values gdn_finite_values(const struct assay_case *c)
{
    struct values values = values_of(c);
    if (values.dist == CASE_DIST_NONFINITE)
        values.dist = CASE_DIST_NORMAL;
    return values;
}

static void normalise(struct trial *trial, const struct assay_tensor *k)
{
    int64_t width = k->extent[2];
    if (trial_find(trial, "k")->is_virtual) /* only measured: nothing to read */
        return;
    for (int64_t row = 0; row < assay_tensor_rows(k); row++) {
        double squares = 0;
        for (int64_t i = 0; i < width; i++)
            squares += pow(oracle_get(k, row * width + i), 2);
        for (int64_t i = 0; i < width && squares > 0; i++)
            trial_put(trial, k, row * width + i, oracle_get(k, row * width + i) / sqrt(squares));
    }
}

static double draw_gate(const struct trial *trial, enum gates gates, int64_t i)
{
    double u = trial_uniform(trial, "gate", (uint64_t)i);
    static const double strong[] = {-INFINITY, -1e30, -200, -100, -20, -1, -1e-3, 0};
    if (gates == GATES_STRONG)
        return strong[trial_below(trial, "strong", (uint64_t)i, 8)];
    return gates == GATES_NONE ? 0 : -exp(log(1e-4) + u * (log(8.0) - log(1e-4)));
}

static double draw_beta(const struct trial *trial, enum betas beta, int64_t i)
{
    double u = trial_uniform(trial, "beta", (uint64_t)i);
    if (beta == BETA_WIDE)
        return -0.1 + 2.2 * u;
    return beta == BETA_ZERO ? 0 : beta == BETA_ONE ? 1 : u;
}

static void fill_gates(struct trial *trial, const struct assay_tensor *g,
                       const struct assay_tensor *beta)
{
    enum gates gates = (enum gates)case_get(trial->c, "gates");
    enum betas betas = (enum betas)case_get(trial->c, "beta");
    for (int64_t i = 0; i < assay_tensor_count(g); i++) {
        trial_put(trial, g, i, draw_gate(trial, gates, i));
        trial_put(trial, beta, i, draw_beta(trial, betas, i));
    }
}

static enum assay_dtype format(const struct assay_case *c, const char *param)
{
    return (enum assay_dtype)case_get(c, param);
}

void gdn_build(struct trial *trial, struct assay_gdn_recurrent_args *a, struct values values)
{
    const struct assay_case *c = trial->c;
    int64_t tokens = case_get(c, "T"), heads = case_get(c, "Hk") * case_get(c, "r");
    int64_t key_dim = case_get(c, "dk"), value_dim = case_get(c, "dv");
    int64_t key_shape[] = {tokens, case_get(c, "Hk"), key_dim};
    int64_t value_shape[] = {tokens, heads, value_dim}, gate_shape[] = {tokens, heads};
    int64_t state_shape[] = {heads, key_dim, value_dim};
    const struct values normal = {.dist = CASE_DIST_NORMAL, .scale = 1};
    struct values k_values = gdn_finite_values(c), q_values = k_values;
    if (c->dist == CASE_DIST_LARGE) { /* room for sums */
        q_values = normal;
        k_values.scale = values.scale = 0x1p-12;
    }
    struct values v_values = values;
    if (c->dist == CASE_DIST_LARGE && format(c, "state") == ASSAY_F16)
        v_values.scale *= 0x1p-112; /* must fit into the state's format */
    /* v comes first: in place, the output is the first input of its shape */
    a->v = trial_input(trial, "v", format(c, "v"), 3, value_shape, v_values);
    a->q = trial_input(trial, "q", format(c, "q"), 3, key_shape, q_values);
    a->k = trial_input(trial, "k", format(c, "k"), 3, key_shape, k_values);
    a->g = trial_input(trial, "g", ASSAY_F32, 2, gate_shape, normal);
    a->beta = trial_input(trial, "beta", ASSAY_F32, 2, gate_shape, normal);
    a->state = trial_inout(trial, "state", format(c, "state"), 3, state_shape, values);
    a->o = trial_output(trial, "o", format(c, "o"), 3, value_shape);
    if (c->dist != CASE_DIST_EXACT)
        normalise(trial, &a->k);
    fill_gates(trial, &a->g, &a->beta);
    int64_t scale = case_get(c, "scale");
    a->scale = scale == SCALE_MODEL ? 1 / sqrt((double)key_dim) : scale == SCALE_ONE ? 1 : -0.3;
}

void gdn_claims(struct trial *trial, const struct assay_tensor *g)
{
    if (case_get(trial->c, "gates") != GATES_STRONG || assay_tensor_count(g) < 64)
        return;
    int64_t forgets = 0;
    for (int64_t i = 0; i < assay_tensor_count(g); i++)
        forgets += oracle_get(g, i) < -1e30;
    trial_claim(trial, "a token forgets everything before it", forgets > 0);
}
