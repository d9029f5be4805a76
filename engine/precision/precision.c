/* SPDX-License-Identifier: MIT
 *
 * The trades: names, lists of them, what they change in a session, which routes prove them used.
 */
#include <assay/precision.h>

#include <stdio.h>
#include <string.h>

#include "core/core.h"

static const char *const names[ASSAY_NUM_TRADES] = {
#define TRADE_NAME(enumerator, name, change) name,
    ASSAY_TRADE_TABLE(TRADE_NAME)
#undef TRADE_NAME
};

static const char *const changes[ASSAY_NUM_TRADES] = {
#define TRADE_CHANGE(enumerator, name, change) change,
    ASSAY_TRADE_TABLE(TRADE_CHANGE)
#undef TRADE_CHANGE
};

/* What a trade sets. Two trades of one slot exclude each other: a session stores a matrix in one
 * format only. */
enum slot {
    SLOT_GDN_STATE,
    SLOT_EMBEDDING,
    SLOT_LM_HEAD,
    SLOT_PREFILL_A8,
    SLOT_MLP_DECODE,
    SLOT_PREFILL_W8ROW,
    SLOT_W8ROW_PROJECTIONS
};

static const enum slot slots[ASSAY_NUM_TRADES] = {
    [ASSAY_TRADE_GDN_STATE_FP16] = SLOT_GDN_STATE,
    [ASSAY_TRADE_EMBEDDING_Q4] = SLOT_EMBEDDING,
    [ASSAY_TRADE_EMBEDDING_Q6] = SLOT_EMBEDDING,
    [ASSAY_TRADE_LM_HEAD_Q6] = SLOT_LM_HEAD,
    [ASSAY_TRADE_LM_HEAD_Q4] = SLOT_LM_HEAD,
    [ASSAY_TRADE_NO_PREFILL_A8] = SLOT_PREFILL_A8,
    [ASSAY_TRADE_MLP_A8_DECODE] = SLOT_MLP_DECODE,
    [ASSAY_TRADE_PREFILL_CUBLAS] = SLOT_PREFILL_W8ROW,
    [ASSAY_TRADE_NO_PREFILL_CUBLAS_PROJECTIONS] = SLOT_W8ROW_PROJECTIONS,
};

#define BIT(trade) (1u << (unsigned)(trade))

/* Losses of the default, which their trades take back. */
static const assay_trade_set defaults_taken_back = BIT(ASSAY_TRADE_NO_PREFILL_A8);
/* Losses of other trades, likewise. */
static const assay_trade_set parts_taken_back = BIT(ASSAY_TRADE_NO_PREFILL_CUBLAS_PROJECTIONS);

static bool is_trade(enum assay_trade trade)
{
    return (unsigned)trade < ASSAY_NUM_TRADES;
}

static bool holds(assay_trade_set set, enum assay_trade trade)
{
    return (set >> (unsigned)trade & 1u) != 0;
}

const char *assay_trade_name(enum assay_trade trade)
{
    return is_trade(trade) ? names[trade] : "?";
}

const char *assay_trade_change(enum assay_trade trade)
{
    return is_trade(trade) ? changes[trade] : "?";
}

/* The trade whose name is text[0, length). */
static enum assay_trade find(const char *text, size_t length)
{
    for (unsigned i = 0; i < ASSAY_NUM_TRADES; i++)
        if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0)
            return (enum assay_trade)i;
    return ASSAY_NUM_TRADES;
}

enum assay_trade assay_trade_find(const char *name)
{
    return name == NULL ? ASSAY_NUM_TRADES : find(name, strlen(name));
}

void assay_trade_set_format(assay_trade_set set, char *text, unsigned long size)
{
    if (size == 0)
        return;
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < ASSAY_NUM_TRADES && used < size; i++) {
        if (!holds(set, (enum assay_trade)i))
            continue;
        const int length =
            snprintf(text + used, size - used, "%s%s", used == 0 ? "" : ",", names[i]);
        used += length > 0 ? (size_t)length : 0;
    }
    if (used == 0)
        snprintf(text, size, "none");
}

/* No unknown bits and no excluded pair. */
static assay_status check_set(assay_trade_set set, struct assay_error *error)
{
    if ((set & ~((1u << ASSAY_NUM_TRADES) - 1u)) != 0)
        return assay_fail(error, ASSAY_E_USAGE, "precision", "trades",
                          "the set 0x%x holds a trade that this build does not know", set);
    for (unsigned i = 0; i < ASSAY_NUM_TRADES; i++)
        for (unsigned j = i + 1; j < ASSAY_NUM_TRADES; j++)
            if ((set >> i & 1u) != 0 && (set >> j & 1u) != 0 && slots[i] == slots[j])
                return assay_fail(error, ASSAY_E_EXCLUSIVE, "precision", names[i],
                                  "cannot be combined with %s: both set the same format; drop one",
                                  names[j]);
    if (holds(set, ASSAY_TRADE_NO_PREFILL_CUBLAS_PROJECTIONS) &&
        !holds(set, ASSAY_TRADE_PREFILL_CUBLAS))
        return assay_fail(error, ASSAY_E_USAGE, "precision",
                          names[ASSAY_TRADE_NO_PREFILL_CUBLAS_PROJECTIONS],
                          "has no effect without %s: add that one or drop this",
                          names[ASSAY_TRADE_PREFILL_CUBLAS]);
    return ASSAY_OK;
}

assay_trade_set assay_trade_set_lossy(assay_trade_set set)
{
    return set & ~(defaults_taken_back | parts_taken_back);
}

void assay_trade_set_compared(assay_trade_set set, assay_trade_set *without, assay_trade_set *with)
{
    *with = set & ~defaults_taken_back;
    *without = set & defaults_taken_back;
}

assay_status assay_trade_set_parse(const char *text, assay_trade_set *set,
                                   struct assay_error *error)
{
    *set = 0;
    if (text == NULL)
        return assay_fail(error, ASSAY_E_ARG, "precision", "text", "must not be NULL");
    if (strcmp(text, "none") == 0)
        return ASSAY_OK;
    assay_trade_set found = 0;
    for (const char *item = text;;) {
        const size_t length = strcspn(item, ",");
        const enum assay_trade trade = find(item, length);
        if (trade == ASSAY_NUM_TRADES) {
            char known[256];
            assay_trade_set_format((1u << ASSAY_NUM_TRADES) - 1u, known, sizeof known);
            return assay_fail(error, ASSAY_E_USAGE, "precision", "trades",
                              "unknown trade \"%.*s\"; known: %s, or none",
                              (int)(length < 64 ? length : 64), item, known);
        }
        found |= 1u << (unsigned)trade;
        if (item[length] == '\0')
            break;
        item += length + 1;
    }
    ASSAY_TRY(check_set(found, error));
    *set = found;
    return ASSAY_OK;
}

/* The format of the one that the set holds. */
static enum assay_weight_format pick(assay_trade_set set, enum assay_trade q4, enum assay_trade q6)
{
    if (holds(set, q4))
        return ASSAY_WEIGHT_Q4G64;
    return holds(set, q6) ? ASSAY_WEIGHT_Q6G64 : ASSAY_NUM_WEIGHT_FORMATS;
}

static struct assay_products prefill_products(assay_trade_set set)
{
    const enum assay_product base =
        holds(set, ASSAY_TRADE_NO_PREFILL_A8) ? ASSAY_PRODUCT_A16 : ASSAY_PRODUCT_A8;
    struct assay_products products = {base, base, base};
    if (!holds(set, ASSAY_TRADE_PREFILL_CUBLAS))
        return products;
    products.gate_up = products.down = ASSAY_PRODUCT_W8ROW;
    if (!holds(set, ASSAY_TRADE_NO_PREFILL_CUBLAS_PROJECTIONS))
        products.projections = ASSAY_PRODUCT_W8ROW;
    return products;
}

assay_status assay_precision_resolve(assay_trade_set set, struct assay_precision *precision,
                                     struct assay_error *error)
{
    ASSAY_TRY(check_set(set, error));
    precision->gdn_state = holds(set, ASSAY_TRADE_GDN_STATE_FP16) ? ASSAY_F16 : ASSAY_F32;
    precision->kv_cache = ASSAY_BF16;
    precision->embedding = pick(set, ASSAY_TRADE_EMBEDDING_Q4, ASSAY_TRADE_EMBEDDING_Q6);
    precision->lm_head = pick(set, ASSAY_TRADE_LM_HEAD_Q4, ASSAY_TRADE_LM_HEAD_Q6);
    precision->prefill = prefill_products(set);
    precision->gate_up_of_decode =
        holds(set, ASSAY_TRADE_MLP_A8_DECODE) ? ASSAY_PRODUCT_A8 : ASSAY_PRODUCT_A16;
    return ASSAY_OK;
}

struct assay_products assay_precision_products(const struct assay_precision *precision,
                                               enum assay_pass_kind kind, int64_t tokens)
{
    struct assay_products products = {ASSAY_PRODUCT_A16, ASSAY_PRODUCT_A16, ASSAY_PRODUCT_A16};
    if (kind == ASSAY_PASS_PREFILL && tokens >= ASSAY_PREFILL_TILE)
        products = precision->prefill;
    if (kind == ASSAY_PASS_DECODE && tokens >= ASSAY_A8_DECODE_LEAST)
        products.gate_up = precision->gate_up_of_decode;
    return products;
}

const char *const *assay_trade_coverage_routes(enum assay_trade trade)
{
    static const char *const gdn_state_fp16[] = {"gdn_recurrent.state16", "gdn_chunked.state16",
                                                 NULL};
    static const char *const embedding[] = {"embedding_grouped.", NULL};
    static const char *const linear[] = {"linear_grouped.", NULL};
    static const char *const a8[] = {"linear_a8.", NULL};
    static const char *const w8row[] = {"linear_w8row.", NULL};
    static const char *const none[] = {NULL};
    switch (trade) {
    case ASSAY_TRADE_GDN_STATE_FP16:
        return gdn_state_fp16;
    case ASSAY_TRADE_EMBEDDING_Q4:
    case ASSAY_TRADE_EMBEDDING_Q6:
        return embedding;
    case ASSAY_TRADE_LM_HEAD_Q6:
    case ASSAY_TRADE_LM_HEAD_Q4:
        return linear;
    case ASSAY_TRADE_NO_PREFILL_A8:
    case ASSAY_TRADE_MLP_A8_DECODE:
        return a8;
    case ASSAY_TRADE_PREFILL_CUBLAS:
    case ASSAY_TRADE_NO_PREFILL_CUBLAS_PROJECTIONS:
        return w8row;
    case ASSAY_NUM_TRADES:
        break;
    }
    return none;
}
