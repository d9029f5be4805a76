/* SPDX-License-Identifier: MIT
 *
 * The bound weights of an open model, private to the engine: one tensor view per role, checked
 * against the config when the model was opened (qwen3_5.md sections 3.2 to 3.4). Views point into
 * the mapped files and live as long as the model; all are contiguous and must not be written.
 *
 * Symbols as in qwen3_5.md section 0: H hidden, V vocabulary rows, I MLP width, Nq/Nkv/D attention
 * heads, Hk/Hv/dk/dv GDN heads, Kd = Hk*dk, Vd = Hv*dv, Cc = 2*Kd + Vd, Kc convolution taps, E
 * experts of width Im, Is the shared expert's.
 * Matrices are struct assay_weights, of which bf16 is one format. Vectors and the convolution are
 * bf16; from an .assay folder or a GGUF file they may be f32.
 */
#ifndef ASSAY_MODEL_BIND_H
#define ASSAY_MODEL_BIND_H

#include <assay/model.h>
#include <assay/tensor.h>
#include <assay/weights.h>

/* Gated full attention (F5), (F6). */
struct attention_weights {
    struct assay_weights q_proj; /* [2*Nq*D, H]; head h: rows h*2D.. query, h*2D + D.. gate */
    struct assay_weights k_proj; /* [Nkv*D, H] */
    struct assay_weights v_proj; /* [Nkv*D, H] */
    struct assay_weights o_proj; /* [H, Nq*D] */
    struct assay_tensor q_norm;  /* [D], offset norm */
    struct assay_tensor k_norm;  /* [D], offset norm */
};

/* Gated DeltaNet (F9) to (F17). */
struct gdn_weights {
    struct assay_weights in_proj_qkv; /* [Cc, H]; rows: Kd query, Kd key, Vd value */
    struct assay_weights in_proj_z;   /* [Vd, H] */
    struct assay_weights in_proj_b;   /* [Hv, H] */
    struct assay_weights in_proj_a;   /* [Hv, H] */
    struct assay_tensor conv;         /* [Cc, Kc]: the stored [Cc, 1, Kc] without its middle 1 */
    struct assay_tensor a_log;        /* [Hv], f32 or bf16 */
    struct assay_tensor dt_bias;      /* [Hv] */
    struct assay_tensor norm;         /* [dv], f32 or bf16, plain norm */
    struct assay_weights out_proj;    /* [H, Vd] */
};

/* SwiGLU (F18); of a mixture of experts the shared one, whose I is Is. */
struct mlp_weights {
    struct assay_weights gate_proj; /* [I, H] */
    struct assay_weights up_proj;   /* [I, H] */
    struct assay_weights down_proj; /* [H, I] */
};

/* What a mixture of experts (F19) has beside the shared one. Banks are matrices of all experts'
 * rows, one expert after another, both in bf16 or both in grouped formats. */
struct moe_weights {
    struct assay_weights router;      /* [E, H] */
    struct assay_weights gate_up;     /* [E*2*Im, H]; an expert's rows: Im gate, Im up */
    struct assay_weights down;        /* [E*H, Im] */
    struct assay_weights shared_gate; /* [1, H] */
};

struct layer_weights {
    enum assay_layer_kind kind;     /* which member of mixer is bound */
    struct assay_tensor input_norm; /* [H], offset norm, before the mixer */
    union {
        struct attention_weights attention; /* ASSAY_LAYER_FULL */
        struct gdn_weights gdn;             /* ASSAY_LAYER_LINEAR */
    } mixer;
    struct assay_tensor post_attention_norm; /* [H], offset norm, before the MLP */
    struct mlp_weights mlp;
    struct moe_weights moe; /* config.is_moe; else all data NULL */
};

struct model_weights {
    struct assay_weights embed;     /* [V, H] */
    struct layer_weights *layers;   /* [config.num_layers] */
    struct assay_tensor final_norm; /* [H], offset norm */
    struct assay_weights lm_head;   /* [V, H]; the embedding when the two are tied */
    bool final_norms;               /* offset norms hold 1 + w: (F2) instead of (F1) */
};

/* The bound weights of an open model; never NULL. */
const struct model_weights *model_bound_weights(const assay_model *model);

#endif
