/* SPDX-License-Identifier: MIT
 *
 * Trades: named lossy options, what each changes, which exclude each other. This is the one place
 * where a flag becomes formats and kinds of products. Whether a trade may be used is decided by its
 * gate records.
 */
#ifndef ASSAY_PRECISION_H
#define ASSAY_PRECISION_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/status.h>
#include <assay/tensor.h>
#include <assay/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(enumerator, name, what it changes) */
#define ASSAY_TRADE_TABLE(X)                                                                      \
    X(GDN_STATE_FP16, "gdn-state-fp16",                                                           \
      "recurrent state of the Gated DeltaNet layers stored in fp16 between steps, arithmetic in " \
      "fp32")                                                                                     \
    X(EMBEDDING_Q4, "embedding-q4", "embedding rows stored as q4g64, encoded as the model loads") \
    X(EMBEDDING_Q6, "embedding-q6", "embedding rows stored as q6g64, encoded as the model loads") \
    X(LM_HEAD_Q6, "lm-head-q6", "output head stored as q6g64, encoded as the model loads")        \
    X(LM_HEAD_Q4, "lm-head-q4", "output head stored as q4g64, encoded as the model loads")        \
    X(NO_PREFILL_A8, "no-prefill-a8",                                                             \
      "prefill keeps 16-bit activations; without it passes of 64 and more tokens multiply the "   \
      "layers' grouped matrices by 8-bit ones")                                                   \
    X(MLP_A8_DECODE, "mlp-a8-decode",                                                             \
      "gate and up projections of decode steps of 16 to 32 columns take 8-bit activations")       \
    X(PREFILL_CUBLAS, "prefill-cublas",                                                           \
      "prefill multiplies the layers' grouped matrices as int8 with one scale a row, channels "   \
      "equalised")                                                                                \
    X(NO_PREFILL_CUBLAS_PROJECTIONS, "no-prefill-cublas-projections",                             \
      "prefill-cublas for the MLP only, not for the projections of attention and Gated DeltaNet")

enum assay_trade {
#define ASSAY_TRADE_ENUM(enumerator, name, change) ASSAY_TRADE_##enumerator,
    ASSAY_TRADE_TABLE(ASSAY_TRADE_ENUM)
#undef ASSAY_TRADE_ENUM
        ASSAY_NUM_TRADES
};

/* A set of trades: bit 1u << trade. */
typedef uint32_t assay_trade_set;

const char *assay_trade_name(enum assay_trade trade);
const char *assay_trade_change(enum assay_trade trade);
/* ASSAY_NUM_TRADES when there is none of this name. */
enum assay_trade assay_trade_find(const char *name);
/* "gdn-state-fp16,lm-head-q4" in table order, "none" for the empty set; into text[size]. */
void assay_trade_set_format(assay_trade_set set, char *text, unsigned long size);
/* Parses such a list. ASSAY_E_USAGE names the unknown trade, ASSAY_E_EXCLUSIVE the pair. */
ASSAY_MUST_USE assay_status assay_trade_set_parse(const char *text, assay_trade_set *set,
                                                  struct assay_error *error);

/* The trades of a set that a run needs a gate record for. The others take a loss back that the
 * default or another trade brings: no-prefill-a8 and no-prefill-cublas-projections. */
assay_trade_set assay_trade_set_lossy(assay_trade_set set);
/* The two settings whose difference is what gating the set decides. `with` is the set itself and
 * `without` none, but a loss that the default has already is in `with` when its trade is not: for
 * no-prefill-a8 the default is compared with the trade. */
void assay_trade_set_compared(assay_trade_set set, assay_trade_set *without, assay_trade_set *with);

/* Passes: a prompt or a text to score, or a decode step of one or several columns. */
enum assay_pass_kind { ASSAY_PASS_PREFILL, ASSAY_PASS_DECODE };

/* How a matrix in a grouped format is multiplied; a bf16 one is not affected. */
enum assay_product {
    ASSAY_PRODUCT_A16,  /* linear_grouped: activations as they are */
    ASSAY_PRODUCT_A8,   /* linear_a8: integers, a scale for each 64 activations */
    ASSAY_PRODUCT_W8ROW /* linear_w8row: integers, a scale a row and a token, equalised */
};

/* One pass. The head is always A16. */
struct assay_products {
    enum assay_product projections; /* into and out of attention and Gated DeltaNet */
    enum assay_product gate_up, down;
};

enum {
    ASSAY_PREFILL_TILE = 64,   /* tokens: shorter prefill passes are A16 */
    ASSAY_A8_DECODE_LEAST = 16 /* columns: narrower decode steps are A16 */
};

/* What a set of trades means for a session. */
struct assay_precision {
    enum assay_dtype gdn_state; /* f32, or f16 with gdn-state-fp16 */
    enum assay_dtype kv_cache;  /* bf16 (the models' own format) */
    /* ASSAY_NUM_WEIGHT_FORMATS: as the model stores it. */
    enum assay_weight_format embedding, lm_head;
    struct assay_products prefill;        /* passes of ASSAY_PREFILL_TILE tokens and more */
    enum assay_product gate_up_of_decode; /* at ASSAY_A8_DECODE_LEAST columns and more */
};
ASSAY_MUST_USE assay_status assay_precision_resolve(assay_trade_set set,
                                                    struct assay_precision *precision,
                                                    struct assay_error *error);

/* The products of a pass of this kind and width. */
struct assay_products assay_precision_products(const struct assay_precision *precision,
                                               enum assay_pass_kind kind, int64_t tokens);

/* The op routes whose execution proves that the trade was exercised: a NULL-terminated list of
 * route name prefixes. Coverage is the sum of their counters. */
const char *const *assay_trade_coverage_routes(enum assay_trade trade);

#ifdef __cplusplus
}
#endif
#endif
