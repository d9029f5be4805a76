/* SPDX-License-Identifier: MIT
 *
 * The oracle: every op again, from its contract and the written formats, sharing nothing with the
 * engine but the public headers.
 *
 * For one call (the op's own args struct, with host tensors) an oracle gives, per output element:
 *   value   the exact real result, rounded to binary64 (the output format's rounding is NOT
 *           applied: it belongs to the bound)
 *   own     a proven bound on |value - exact|
 *   term[]  the parts of the forward-error bound a route of the given profile must respect:
 *           |route - exact| <= sum of terms. See docs/verdicts.md.
 */
#ifndef ASSAY_ORACLE_H
#define ASSAY_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include <assay/route.h>
#include <assay/status.h>
#include <assay/tensor.h>

/* X(enumerator, name) */
#define ORACLE_TERM_TABLE(X)                                                                    \
    X(INPUT, "input rounding")      /* operands rounded or approximated before they are used */ \
    X(PRODUCTS, "products")         /* rounding of products and other elementwise arithmetic */ \
    X(ACCUMULATION, "accumulation") /* rounding of sums, for this length and order */           \
    X(FUNCTIONS, "functions")       /* exp, log, sin, cos, root, quotient */                    \
    X(OUTPUT, "output rounding")    /* the one rounding into the output format */               \
    X(STORAGE, "storage format")    /* rounding of state kept between steps */

enum oracle_term {
#define ORACLE_TERM_ENUM(enumerator, name) ORACLE_TERM_##enumerator,
    ORACLE_TERM_TABLE(ORACLE_TERM_ENUM)
#undef ORACLE_TERM_ENUM
        ORACLE_NUM_TERMS
};

const char *oracle_term_name(enum oracle_term term);

#define ORACLE_MAX_OUTPUTS 4
#define ORACLE_MAX_AUX     6

/* One output tensor. Arrays have `count` elements, in row-major order of the logical extents. The
 * caller allocates and zeroes them. */
struct oracle_output {
    const char *name; /* the args field: "y", "state" */
    enum assay_dtype dtype;
    int64_t count;
    double *value;
    double *own;
    double *term[ORACLE_NUM_TERMS];
    /* What ref leaves for bound: meaning is the op's own (sums of magnitudes, propagated state
     * error ...). */
    double *aux[ORACLE_MAX_AUX];
    /* A second acceptable value where the contract leaves a choice, else NaN (caller fills NaN). */
    double *alternative;
    /* Share of each term that the root mean square over many elements may reach when roundings
     * are independent; 1 claims nothing. Scales the relative L2 allowance only. Caller fills 1. */
    double rms_share[ORACLE_NUM_TERMS];
};

struct oracle_route {
    enum assay_profile profile;
    /* The route's longest chain of binary32 additions; NULL: the op's default (inner length). */
    int64_t (*depth)(int64_t inner_length);
};

struct oracle_op {
    const char *name;
    int num_outputs;
    const char *outputs[ORACLE_MAX_OUTPUTS]; /* args fields that are written, in order */
    /* FP64: fills value, own and aux of every output. ASSAY_E_RANGE etc. only if args break the
     * contract (they are validated before). */
    assay_status (*ref)(const void *args, struct oracle_output *outputs);
    /* MPFR with `precision` bits: fills value and own (own: rounding to binary64 included). */
    assay_status (*mpfr)(const void *args, long precision, struct oracle_output *outputs);
    /* Fills term[] and rms_share[] from value and aux. May set term to infinity for an element on
     * which the contract makes no promise. */
    void (*bound)(const void *args, const struct oracle_route *route,
                  struct oracle_output *outputs);
    /* Where the contract leaves a route a choice that more than one alternative has: called after
     * the route ran, when args' outputs hold what it wrote. Makes an acceptable choice the
     * reference (value, own, term), any other one the reference's opposite. Not called where
     * results are exact and so leave no choice. NULL: ref alone decides. */
    assay_status (*settle)(const void *args, const struct oracle_route *route,
                           struct oracle_output *outputs);
    /* Ceiling of the relative L2 allowance of a profile whatever the terms say; 1 when the terms
     * alone decide. Derivation: <op>_bound.md. */
    double (*ceiling)(const void *args, enum assay_profile profile);
    /* Multiply-adds of ref, for its benchmark; 0 when it has none to speak of. */
    double (*work)(const void *args);
};

#define ORACLE_DEFAULT_PRECISION 256

/* Allocates an output's arrays, zeroed, alternatives NaN, shares 1. False when out of memory. */
bool oracle_output_create(struct oracle_output *output, const char *name, enum assay_dtype dtype,
                          int64_t count);
void oracle_output_destroy(struct oracle_output *output);
/* Reference and bound of one call: FP64, and MPFR at 256 bits where FP64's own error is more than a
 * sixteenth of the bound of some element. Exact ops (bound 0, own 0) stay with FP64. */
assay_status oracle_evaluate(const struct oracle_op *op, const void *args,
                             const struct oracle_route *route, struct oracle_output *outputs,
                             bool *used_mpfr);

/* Frees what the calling thread's oracles cached (MPFR constants); call it before a thread that
 * evaluated oracles ends. */
void oracle_thread_end(void);

/* All ops with an oracle, sorted by name. */
const struct oracle_op *const *oracle_ops(int *num_ops);
const struct oracle_op *oracle_find(const char *name);

#endif
