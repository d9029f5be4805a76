/* SPDX-License-Identifier: MIT
 *
 * Cases: op + shape + formats + route + input distribution + seed, spelled as one line.
 *
 *   rmsnorm rows=3 H=65 x=bf16 w=bf16 y=f32 unit_offset=1 layout=strided dist=normal
 *           route=rmsnorm.avx2.cpu seed=7                       (one line; order is free)
 *
 * Grammar: OP { KEY=VALUE }. Keys are the op's parameters and layout, dist, route, seed. Missing
 * keys take the parameter's default, route the first that accepts. An unknown key, a value out of
 * range or a repeated key is an error that names it. Printing then parsing gives the same case.
 *
 * An op describes its cases by one struct case_spec in properties/ops/<op>/<op>_case.c.
 */
#ifndef PROPERTIES_GEN_CASE_H
#define PROPERTIES_GEN_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/context.h>
#include <assay/route.h>
#include <assay/tensor.h>

#include "oracle.h"

#define CASE_MAX_PARAMS 20

enum case_param_kind {
    CASE_COUNT,  /* an extent or other number in [lo, hi]; shrinks towards lo */
    CASE_FORMAT, /* a dtype out of a mask */
    CASE_FLAG,   /* 0 or 1 */
    CASE_CHOICE  /* one of names[0 .. hi], spelled by name */
};

struct case_param {
    const char *name;
    enum case_param_kind kind;
    int64_t lo, hi;           /* CASE_COUNT: range; CASE_CHOICE: 0 .. last name */
    int64_t fallback;         /* value when not given: also the base of the enumeration */
    unsigned formats;         /* CASE_FORMAT: mask of 1u << dtype */
    const char *const *names; /* CASE_CHOICE */
    /* Values worth trying (CASE_COUNT), ends with -1; NULL: lo, lo+1, fallback. Boundaries of the
     * routes (b-1, b, b+1) are added to them. */
    const int64_t *values;
};

/* X(enumerator, name, independent): input distributions. "independent": roundings of different
 * elements may be taken as independent. See values.c for what each one draws. */
#define CASE_DIST_TABLE(X)                                                                        \
    X(NORMAL, "normal", true)            /* N(0, 1) */                                            \
    X(UNIFORM, "uniform", true)          /* [-1, 1) */                                            \
    X(OUTLIERS, "outliers", true)        /* log-normal, random sign, 1 % at 50 times */           \
    X(MASSIVE, "massive", false)         /* N(0, 1) with one channel at 1000 times */             \
    X(CONSTANT, "constant", false)       /* every element the same */                             \
    X(ALTERNATING, "alternating", false) /* the same magnitude, signs alternate */                \
    X(SUBNORMAL, "subnormal", false)     /* around the format's smallest normal and below */      \
    X(ZEROS, "zeros", false)             /* +0 and -0 */                                          \
    X(LARGE, "large", false)         /* up to a quarter of the largest finite value (see spec) */ \
    X(CANCEL, "cancel", false)       /* pairs that nearly cancel: ill-conditioned sums */         \
    X(TIES, "ties", false)           /* halfway between values of bf16 */                         \
    X(EXACT, "exact", false)         /* small integers: sums are exact, match to the bit */       \
    X(NONFINITE, "nonfinite", false) /* N(0, 1) with a few NaN and infinities */

enum case_dist {
#define CASE_DIST_ENUM(enumerator, name, independent) CASE_DIST_##enumerator,
    CASE_DIST_TABLE(CASE_DIST_ENUM)
#undef CASE_DIST_ENUM
        CASE_NUM_DISTS
};

enum case_layout {
    CASE_PACKED,  /* contiguous */
    CASE_STRIDED, /* NaN-filled (inputs) or guarded (outputs) lanes between rows, odd offset */
    CASE_INPLACE, /* packed; the op's first output is its first input, where the contract allows */
    CASE_FAR,     /* offsets pass 2^32 elements; only rows have memory. Every op has it */
    CASE_NUM_LAYOUTS
};

struct case_spec;

struct assay_case {
    const struct case_spec *spec;
    int64_t value[CASE_MAX_PARAMS]; /* in the order of spec->params */
    enum case_layout layout;
    enum case_dist dist;
    char route[64]; /* empty: what dispatch takes */
    uint64_t seed;
};

/* One run of a case: memory, args and what the case claims. Opaque but for args. */
struct trial {
    const struct assay_case *c;
    void *args; /* struct assay_<op>_args, zeroed before build */
    struct trial_state *state;
};

/* A mutant: a route with one planted fault, added to the op's routes and run on the op's cases.
 * It must be killed, but for the control (fault NULL), which must survive. */
struct case_mutant {
    const char *fault;        /* "eps is added outside the root"; NULL: the control */
    const char *catalogue;    /* ids of bug-catalogue.md it stands for, or "" */
    struct assay_route route; /* name: "<op>.mutant.<fault_in_short>.cpu", profile as claimed */
};

struct case_spec {
    const struct assay_op *op; /* engine */
    const char *oracle_name;   /* name of the oracle_op */
    const struct case_param *params;
    int num_params;
    unsigned dists;   /* mask of 1u << dist that apply */
    unsigned layouts; /* mask of 1u << layout that apply */
    /* dist=exact must match to the bit for this case. NULL: never. */
    bool (*exact)(const struct assay_case *c);
    /* Corrects parameters that depend on each other (multiples, work limits). May be NULL. */
    void (*adjust)(struct assay_case *c);
    /* Makes tensors with trial_input / trial_output / trial_inout and fills trial->args. False on
     * lack of memory only. */
    bool (*build)(struct trial *trial);
    /* After a run: states with trial_claim what the case should have excited. May be NULL. */
    void (*claims)(struct trial *trial, const struct oracle_output *outputs);
    const struct case_mutant *mutants;
    int num_mutants;
    /* Values that only count together, which one thing at a time does not reach: "T=1 ratio=1",
     * ended by NULL. NULL: none. */
    const char *const *together;
    /* For invariance: the args fields with one row a token or batch row, "x y", in dimension 0, or
     * in the last one when the name is followed by '-'. The parameter that counts the rows; "T"
     * when NULL. NULL: the op has no rows. */
    const char *row_fields, *row_count;
    /* Rows from `first` on: what else in the args moves with them (a start). May be NULL. */
    void (*row_shift)(void *args, int64_t first);
    bool is_sequence; /* a state carries from row to row: only a call's first rows stand alone */
};

/* All ops' specs, sorted by op name. */
const struct case_spec *const *case_specs(int *num_specs);
const struct case_spec *case_spec_find(const char *op);

/* ---- for build, claims and adjust ----------------------------------------------------------- */
int64_t case_get(const struct assay_case *c, const char *param); /* aborts on an unknown name */
void case_set(struct assay_case *c, const char *param, int64_t value);

/* How an input is drawn. scale multiplies finite draws; channels are the innermost dimension. */
struct values {
    enum case_dist dist;
    double scale;
    double shift; /* added after scaling */
};
/* The case's own distribution at scale 1. */
struct values values_of(const struct assay_case *c);

/* Each makes guarded memory for one tensor of the args, with the case's layout, and returns its
 * view. `name` names the random stream and messages: use the args field's name. */
struct assay_tensor trial_input(struct trial *trial, const char *name, enum assay_dtype dtype,
                                int rank, const int64_t *extent, struct values values);
/* Poisoned before the run; must be written completely. Must be named as in oracle_op.outputs. */
struct assay_tensor trial_output(struct trial *trial, const char *name, enum assay_dtype dtype,
                                 int rank, const int64_t *extent);
/* Drawn like an input; holds the result after the run (recurrent state). */
struct assay_tensor trial_inout(struct trial *trial, const char *name, enum assay_dtype dtype,
                                int rank, const int64_t *extent, struct values values);
/* As trial_inout, but elements outside [first, first + count) of dimension 0 must keep their bits
 * (cache slots not addressed). */
struct assay_tensor trial_inout_slots(struct trial *trial, const char *name, enum assay_dtype dtype,
                                      int rank, const int64_t *extent, struct values values,
                                      int64_t first, int64_t count);
/* Overwrites an element of an input or inout while building. */
void trial_put(struct trial *trial, const struct assay_tensor *tensor, int64_t index, double value);
void trial_put_int(struct trial *trial, const struct assay_tensor *tensor, int64_t index,
                   int64_t value);
/* Deterministic draws for build: uniform in [0, 1) and integers in [0, n) from the case's seed. */
double trial_uniform(const struct trial *trial, const char *stream, uint64_t index);
int64_t trial_below(const struct trial *trial, const char *stream, uint64_t index, int64_t n);
/* States that something was excited; false makes the case MISTRUSTED. */
void trial_claim(struct trial *trial, const char *what, bool happened);

/* ---- descriptors ---------------------------------------------------------------------------- */
#define CASE_TEXT_BYTES 512
void case_print(const struct assay_case *c, char text[CASE_TEXT_BYTES]);
/* False: *message says what is wrong, naming the key. */
bool case_parse(const char *text, struct assay_case *c, char *message, size_t message_bytes);
/* The base case of a spec: all fallbacks, packed, normal, no route, seed 1. */
struct assay_case case_base(const struct case_spec *spec);

/* A case of these bytes: they choose distribution, layout, route, parameters and seed. Any bytes
 * are a legal case, short ones a simple one: zeros follow their end. The case runs on `route`; with
 * NULL a byte chooses a row of the table that this machine's cpu backend can run, or none. */
struct assay_case case_from_bytes(const struct case_spec *spec, const struct assay_route *route,
                                  const uint8_t *bytes, size_t num_bytes);

/* A row of the backend by the byte that case_from_bytes chooses a route by; NULL: it has none. */
const struct assay_route *case_route_from_bytes(const struct case_spec *spec,
                                                enum assay_backend backend, const uint8_t *bytes,
                                                size_t num_bytes);

/* Calls visit for each case of a deck: one descriptor a line; empty lines and comments (#) are
 * skipped. False: *message says what is wrong and where; visit's false means out of memory. */
bool case_deck_read(const char *path, bool (*visit)(void *user, const struct assay_case *c),
                    void *user, char *message, size_t message_bytes);

/* ---- enumeration ---------------------------------------------------------------------------- */
enum case_effort { CASE_QUICK, CASE_FULL };
struct case_list {
    struct assay_case *cases;
    int64_t num_cases, capacity;
};
/* Every route of the spec's op that this machine can run: each parameter's values and route
 * boundaries one at a time, every distribution and layout, every format, and seeded mixtures. */
bool case_enumerate(const struct case_spec *spec, uint64_t seed, enum case_effort effort,
                    struct case_list *list);
/* The same for one route, added ones (mutants, candidates) included. */
bool case_enumerate_route(const struct case_spec *spec, const struct assay_route *route,
                          uint64_t seed, enum case_effort effort, struct case_list *list);
/* False when out of memory. */
bool case_list_append(struct case_list *list, const struct assay_case *c);
void case_list_free(struct case_list *list);

#endif
