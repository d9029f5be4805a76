/* SPDX-License-Identifier: MIT
 *
 * Ops and routes as data: what verification, benchmarks, documentation and dispatch walk.
 * A route that is not in an op's table does not exist.
 */
#ifndef ASSAY_ROUTE_H
#define ASSAY_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/context.h>
#include <assay/tensor.h>
#include <assay/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a route does to precision. An allowance belongs to a profile, its derivation stands in the
 * op's <op>_bound.md.  X(enumerator, name, meaning) */
#define ASSAY_PROFILE_TABLE(X)                                                                 \
    X(EXACT, "exact", "moves or selects values; no rounding but a declared output rounding")   \
    X(F64, "f64", "binary64 arithmetic, one rounding into the output format")                  \
    X(F32, "f32", "binary32 arithmetic and accumulation, one rounding into the output format") \
    X(A16, "a16", "bf16 or fp16 operands in tensor cores, binary32 accumulation")              \
    X(A16X2, "a16x2",                                                                          \
      "binary32 operands as sums of two bf16 numbers in tensor cores, binary32 accumulation")  \
    X(A8, "a8", "int8 activations per token and column group, int32 accumulation")             \
    X(W8ROW, "w8row", "int8 weights with one scale a row, int8 activations")                   \
    X(STATE16, "state16", "binary32 arithmetic, recurrent state rounded to fp16 between steps")

enum assay_profile {
#define ASSAY_PROFILE_ENUM(enumerator, name, meaning) ASSAY_PROFILE_##enumerator,
    ASSAY_PROFILE_TABLE(ASSAY_PROFILE_ENUM)
#undef ASSAY_PROFILE_ENUM
        ASSAY_NUM_PROFILES
};

const char *assay_profile_name(enum assay_profile profile);
const char *assay_profile_meaning(enum assay_profile profile);

/* What a call must move and compute at least: the floor that a benchmark is measured against. */
struct assay_floor {
    double bytes_read;    /* each input byte once */
    double bytes_written; /* each output byte once */
    double operations;    /* multiply and add count as two */
};

/* A size at which a route's code path changes: verification tries at-1, at, at+1. */
struct assay_boundary {
    const char *parameter; /* a parameter of the op's cases: "K" */
    int64_t at;
};

/* What a route's row does not depend on, to the bit. Measured by `assay verify --invariance`. */
enum assay_invariance {
    ASSAY_BATCH_INVARIANT = 1, /* the other rows of the call */
    ASSAY_WIDTH_INVARIANT = 2  /* the number of rows; with a state: the split into calls */
};

struct assay_route {
    const char *name; /* "linear.bf16.avx2.cpu": op, formats or method, instruction set, backend */
    enum assay_backend backend;
    enum assay_profile profile;
    enum assay_isa isa;                /* cpu backend: what it needs */
    const char *when;                  /* the predicate in words, for docs */
    bool (*accepts)(const void *args); /* predicate on valid args; NULL: always */
    size_t (*workspace)(const assay_context *context, const void *args); /* bytes; NULL: none */
    assay_status (*run)(assay_context *context, const void *args, void *workspace);
    size_t (*shared_bytes)(const void *args); /* device rows: dynamic shared memory that a block of
                                               * the call takes at most; NULL: none */
    const struct assay_boundary *boundaries;  /* ends with {NULL, 0}; NULL: none */
    /* Longest chain of binary32 additions that any one product passes through for an inner
     * length K (products: K additions at most). The oracle's accumulation bound uses it; NULL: the
     * op has no accumulation, or its bound does not depend on the route. */
    int64_t (*depth)(int64_t inner_length);
    unsigned invariance; /* mask of enum assay_invariance */
};

enum assay_argument_role { ASSAY_INPUT, ASSAY_OUTPUT, ASSAY_INOUT };

/* A tensor of an op's args struct. */
struct assay_argument {
    const char *name;
    size_t offset; /* of its struct assay_tensor in the args */
    enum assay_argument_role role;
    /* Narrows a copy of the view to what this call may touch; NULL: all of it. */
    void (*reach)(const void *args, struct assay_tensor *view);
};

#define ASSAY_ARGUMENT(type, field, role)         \
    {                                             \
#field, offsetof(type, field), role, NULL \
    }
#define ASSAY_ARGUMENT_REACH(type, field, role, reach) \
    {                                                  \
#field, offsetof(type, field), role, reach     \
    }

/* What a scalar of an args struct is. X(enumerator, type, meaning) */
#define ASSAY_SCALAR_TABLE(X)                            \
    X(FLAG, bool, "0 or 1")                              \
    X(INTEGER, int64_t, "a count, an index, a position") \
    X(UNSIGNED, uint64_t, "a seed, a counter")           \
    X(REAL, double, "a real number")                     \
    X(WEIGHT_FORMAT, enum assay_weight_format, "a format of weights")

enum assay_scalar_kind {
#define ASSAY_SCALAR_ENUM(enumerator, type, meaning) ASSAY_SCALAR_##enumerator,
    ASSAY_SCALAR_TABLE(ASSAY_SCALAR_ENUM)
#undef ASSAY_SCALAR_ENUM
        ASSAY_NUM_SCALAR_KINDS
};

/* A member of an op's args struct that is no tensor. */
struct assay_scalar {
    const char *name;
    size_t offset;
    enum assay_scalar_kind kind;
};

/* The kind follows from the field's type. A field of an array is named with its index:
 * ASSAY_SCALAR(struct assay_rope_args, sections[0]). C only. */
#define ASSAY_SCALAR(type, field)                                  \
    {                                                              \
#field, offsetof(type, field),                             \
            _Generic(((const type *)NULL)->field, bool             \
                     : ASSAY_SCALAR_FLAG, int64_t                  \
                     : ASSAY_SCALAR_INTEGER, uint64_t              \
                     : ASSAY_SCALAR_UNSIGNED, double               \
                     : ASSAY_SCALAR_REAL, enum assay_weight_format \
                     : ASSAY_SCALAR_WEIGHT_FORMAT)                 \
    }

struct assay_op {
    const char *name;
    const char *summary;                    /* the formula in one line */
    size_t args_bytes;                      /* sizeof(struct assay_<op>_args) */
    const struct assay_argument *arguments; /* all tensors of the args; ends with name NULL */
    /* All other members of the args, those of struct assay_weights included; ends with name NULL.
     * NULL: the args are tensors only. structure.arguments holds that no member is left out. */
    const struct assay_scalar *scalars;
    assay_status (*validate)(assay_context *context, const void *args); /* all contract errors */
    struct assay_floor (*floor)(const void *args);                      /* of valid args */
    const struct assay_route *routes; /* ordered: dispatch takes the first that accepts */
    int num_routes;
};

/* All ops, sorted by name. */
const struct assay_op *const *assay_ops(int *num_ops);
/* NULL when there is none of this name. */
const struct assay_op *assay_op_find(const char *name);
/* *op may be NULL. NULL when there is none of this name. */
const struct assay_route *assay_route_find(const char *name, const struct assay_op **op);

/* Adds a route to its op (the name up to the first dot) until it is removed. Dispatch takes an
 * added route only when it is forced. Used for candidate kernels and for mutants; not thread safe:
 * call it before contexts run. *route and all that it points to must stay valid.
 * Errors: ASSAY_E_ARG (no such op, name taken, incomplete row), ASSAY_E_FULL (64 added routes). */
ASSAY_MUST_USE assay_status assay_route_add(const struct assay_route *route,
                                            struct assay_error *error);
/* Takes an added route back. Contexts drop it with assay_context_force_route(context, NULL) first.
 * Unknown routes: no effect. */
void assay_route_remove(const struct assay_route *route);
/* The op's rows, table first and added ones last: index 0 .. assay_op_num_routes - 1. */
int assay_op_num_routes(const struct assay_op *op);
const struct assay_route *assay_op_route(const struct assay_op *op, int index);

/* Whether the route can take the valid call here: the context's backend and instruction set, the
 * row's predicate, and the shared memory that a block gets on the context's device. */
bool assay_route_takes(const assay_context *context, const struct assay_route *route,
                       const void *args);

/* Validates, chooses a route, takes its workspace from the context's arena, counts it, runs it.
 * All public op functions are this call. */
ASSAY_MUST_USE assay_status assay_run_op(assay_context *context, const struct assay_op *op,
                                         const void *args);

/* Called before (is_after false) and after each op call of a context, with valid args. It may look
 * at shapes, must not call ops, and sees calls that a graph records, not its replays. */
typedef void assay_op_observer(void *user, const struct assay_op *op,
                               const struct assay_route *route, const void *args, bool is_after);
/* One observer a context; NULL takes it off. */
void assay_context_observe(assay_context *context, assay_op_observer *observer, void *user);

#ifdef __cplusplus
}
#endif
#endif
