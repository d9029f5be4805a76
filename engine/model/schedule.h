/* SPDX-License-Identifier: MIT
 *
 * The network once, in terms of ops: what one forward pass over a block of tokens calls, in which
 * order, on which views. Nothing here knows a backend, a route or a trade; formats arrive as the
 * dtypes of the state views, memory arrives ready.
 */
#ifndef ASSAY_MODEL_SCHEDULE_H
#define ASSAY_MODEL_SCHEDULE_H

#include <assay/context.h>
#include <assay/model.h>
#include <assay/precision.h>
#include <assay/tensor.h>

#include "model/bind.h"

/* What a layer remembers between passes; the other kind's views have data NULL. */
struct layer_state {
    struct assay_tensor k_cache; /* full: [capacity, Nkv, D], normalised and rotated keys */
    struct assay_tensor v_cache; /* full: [capacity, Nkv, D], raw values */
    struct assay_tensor conv;    /* linear: [Kc-1, Cc] f32, inputs of the convolution */
    struct assay_tensor gdn;     /* linear: [Hv, dk, dv] f32 or f16, S of (F15) */
};

/* Floats that a pass needs for each token of its block. The three wide buffers are reused by the
 * mixers and the MLP; each is as wide as its widest tenant (schedule_widths says which). */
struct schedule_widths {
    int64_t residual; /* x of (F4), also the normed copy: H */
    int64_t first;    /* q and gate | convolution channels | MLP gate, or the shared expert's */
    int64_t second;   /* attention output | z | MLP up */
    int64_t third;    /* k and v | output of the delta rule | sum of the experts */
    int64_t gates;    /* a and b, later g and beta | router's logits, shared gate, weights, ids */
};
struct schedule_widths schedule_widths(const struct assay_model_config *config);

/* Scratch for blocks of up to max_tokens tokens. Contents have no meaning between passes. */
struct schedule_scratch {
    int64_t max_tokens;
    float *x;      /* [max_tokens, H]: after a pass, the residual stream of its tokens */
    float *normed; /* [max_tokens, H] */
    float *first, *second, *third, *gates;
};

/* A sequence with a share in a block of several. */
struct schedule_lane {
    const struct layer_state *layers; /* [config->num_layers] */
    int64_t start;                    /* KV slot of its first token in the block */
};

/* A block of T tokens and where it stands. Whatever differs from block to block of one T is in
 * memory but for `start`; with start_at that one is a bound and may stay the same as well, so that
 * a recording of the calls serves every block below it.
 *
 * A block of lanes holds T / num_lanes tokens of each, one lane after the other: what mixes tokens
 * runs once for each lane, all else once. */
struct schedule_block {
    struct assay_tensor ids;           /* [T] i32 */
    struct assay_tensor positions;     /* [T] i32: the first token's, and so on */
    int64_t start;                     /* KV slot of the first token, or its upper bound */
    struct assay_tensor start_at;      /* absent, or [1] i32: the slot */
    const struct schedule_lane *lanes; /* NULL: one, schedule.layers and start */
    int64_t num_lanes;                 /* of `lanes` */
};

struct schedule {
    assay_context *context;
    const struct assay_model_config *config;
    const struct model_weights *weights;
    struct layer_state *layers; /* [config->num_layers], of blocks without lanes */
    struct schedule_scratch scratch;
    int64_t gdn_chunk;       /* chunk of gdn_chunked */
    int64_t recurrent_limit; /* blocks of at most this many tokens go through gdn_recurrent */
    /* Of the pass that is about to run: */
    struct assay_products products;
    bool is_decode; /* all of it goes through gdn_recurrent */
};

/* Runs all layers over a block; leaves its residual stream in scratch.x and the states advanced.
 * 1 <= T <= max_tokens. On failure the error is in the context and the states are partly advanced.
 */
ASSAY_MUST_USE assay_status schedule_layers(const struct schedule *schedule,
                                            const struct schedule_block *block);
/* logits[0, num_rows) = head of residual rows x[0, num_rows): final norm and lm_head (F4). num_rows
 * <= max_tokens; x may be scratch.x. */
ASSAY_MUST_USE assay_status schedule_head(const struct schedule *schedule, float *x,
                                          int64_t num_rows, float *logits);

#endif
