/* SPDX-License-Identifier: MIT
 *
 * Trades: named lossy options, what each changes, which exclude each other. This is the one place
 * where a flag becomes formats. Whether a trade may be used is decided by its gate records.
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
    X(LM_HEAD_Q4, "lm-head-q4", "output head stored as q4g64, encoded as the model loads")

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

/* What a set of trades means for a session. */
struct assay_precision {
    enum assay_dtype gdn_state; /* f32, or f16 with gdn-state-fp16 */
    enum assay_dtype kv_cache;  /* bf16 (the models' own format) */
    /* ASSAY_NUM_WEIGHT_FORMATS: as the model stores it. */
    enum assay_weight_format embedding, lm_head;
};
ASSAY_MUST_USE assay_status assay_precision_resolve(assay_trade_set set,
                                                    struct assay_precision *precision,
                                                    struct assay_error *error);

/* The op routes whose execution proves that the trade was exercised: a NULL-terminated list of
 * route name prefixes. Coverage is the sum of their counters. */
const char *const *assay_trade_coverage_routes(enum assay_trade trade);

#ifdef __cplusplus
}
#endif
#endif
