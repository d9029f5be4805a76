/* SPDX-License-Identifier: MIT
 *
 * rope: argument checks, floor, and the route table.
 */
#include "core/core.h"
#include "ops/rope/rope_routes.h"

enum { POSITION_LIMIT = 1 << 24 }; /* [ROPE-6] */

static assay_status check_positions(assay_context *context, const char *op,
                                    const struct assay_rope_args *a)
{
    int last = a->positions.rank - 1;
    if (last == 1)
        ASSAY_TRY(assay_check_extent(context, op, "positions", &a->positions, 0, 3));
    return assay_check_extent(context, op, "positions", &a->positions, last, a->x.extent[0]);
}

assay_status rope_check_range(assay_context *context, const char *op,
                              const struct assay_rope_args *a)
{
    if (assay_on_device(context))
        return ASSAY_OK;
    int64_t tokens = a->x.extent[0], axes = a->positions.rank == 2 ? 3 : 1;
    for (int64_t axis = 0; axis < axes && tokens > 0; axis++) {
        const int32_t *row = assay_tensor_row(&a->positions, axis);
        for (int64_t t = 0; t < tokens; t++)
            if (row[t] < 0 || row[t] >= POSITION_LIMIT)
                return assay_refuse(context, ASSAY_E_RANGE, op, "positions",
                                    "element [%lld, %lld] must be in [0, %d), is %ld",
                                    (long long)axis, (long long)t, POSITION_LIMIT, (long)row[t]);
    }
    return ASSAY_OK;
}

static assay_status check_numbers(assay_context *context, const char *op,
                                  const struct assay_rope_args *a)
{
    int64_t dim = a->rotary_dim;
    if (dim < 2 || dim % 2 != 0 || dim > a->x.extent[2])
        return assay_refuse(context, ASSAY_E_ARG, op, "rotary_dim",
                            "must be even, > 0 and at most D (%lld), is %lld",
                            (long long)a->x.extent[2], (long long)dim);
    ASSAY_TRY(assay_check_number(context, op, "theta", a->theta, true));
    if (!(a->theta > 1))
        return assay_refuse(context, ASSAY_E_ARG, op, "theta", "must be > 1, is %g", a->theta);
    if (a->positions.rank == 1)
        return ASSAY_OK;
    int64_t rest = dim / 2;
    for (int axis = 0; axis < 3; axis++) {
        int64_t pairs = a->sections[axis];
        if (pairs < 0 || pairs > rest || (axis == 2 && pairs != rest))
            return assay_refuse(context, ASSAY_E_ARG, op, "sections",
                                "must be >= 0 and sum to rotary_dim / 2 (%lld), are %lld %lld %lld",
                                (long long)(dim / 2), (long long)a->sections[0],
                                (long long)a->sections[1], (long long)a->sections[2]);
        rest -= pairs;
    }
    return ASSAY_OK;
}

assay_status rope_check_rotation(assay_context *context, const char *op,
                                 const struct assay_rope_args *a)
{
    ASSAY_TRY(check_numbers(context, op, a));
    return check_positions(context, op, a);
}

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_rope_args *a = arguments;
    const char *op = "rope";
    ASSAY_TRY(assay_check_tensor(context, op, "x", &a->x, 3, 3, ASSAY_FORMATS_FLOAT, false));
    ASSAY_TRY(assay_check_tensor(context, op, "positions", &a->positions, 1, 2,
                                 ASSAY_FORMAT(ASSAY_I32), false));
    ASSAY_TRY(assay_check_tensor(context, op, "y", &a->y, 3, 3, ASSAY_FORMATS_FLOAT, true));
    ASSAY_TRY(assay_check_shape(context, op, "y", &a->y, "x", &a->x));
    if (a->x.extent[1] < 1)
        return assay_refuse(context, ASSAY_E_SHAPE, op, "x", "must have at least one head");
    ASSAY_TRY(rope_check_rotation(context, op, a));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "x", &a->x, true));
    ASSAY_TRY(assay_check_alias(context, op, "y", &a->y, "positions", &a->positions, false));
    return rope_check_range(context, op, a); /* last: it reads the data */
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_rope_args *a = arguments;
    double count = (double)assay_tensor_count(&a->x);
    double rotated = (double)assay_tensor_rows(&a->x) * (double)a->rotary_dim;
    return (struct assay_floor){
        .bytes_read = count * (double)assay_dtype_bytes(a->x.dtype) +
                      4.0 * (double)assay_tensor_count(&a->positions),
        .bytes_written = count * (double)assay_dtype_bytes(a->y.dtype),
        .operations = 3 * rotated, /* two products and a sum for each element */
    };
}

/* The frequencies in binary64. */
static size_t workspace_plain(const assay_context *context, const void *args)
{
    const struct assay_rope_args *a = args;
    (void)context;
    return (size_t)(a->rotary_dim / 2) * sizeof(double);
}

#if defined(ASSAY_SIMD)
/* The frequencies in binary64, then cos and sin of every pair and token in binary32. */
static size_t workspace_simd(const assay_context *context, const void *args)
{
    const struct assay_rope_args *a = args;
    return workspace_plain(context, args) +
           (size_t)a->x.extent[0] * (size_t)a->rotary_dim * sizeof(float);
}

/* Vector routes step by whole vectors of pairs and finish with a tail. */
#if defined(ASSAY_SIMD)
static const struct assay_boundary boundaries_avx2[] = {{"pairs", 8}, {"pairs", 16}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {{"pairs", 16}, {"pairs", 32}, {NULL, 0}};
#endif
#endif

#if defined(ASSAY_HAVE_DEVICE_ROUTES)
/* 8 pairs a thread, 128 pairs at a time. */
static const struct assay_boundary boundaries_token[] = {{"pairs", 8}, {"pairs", 128}, {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("rope.token", rope_route_token,
                 .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
                 .profile = ASSAY_PROFILE_F32, .when = "all calls", .boundaries = boundaries_token),
#endif
#if defined(ASSAY_SIMD)
    {.name = "rope.avx512.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "all calls",
     .workspace = workspace_simd,
     .run = rope_route_avx512,
     .boundaries = boundaries_avx512},
    {.name = "rope.avx2.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "all calls",
     .workspace = workspace_simd,
     .run = rope_route_avx2,
     .boundaries = boundaries_avx2},
#endif
    {.name = "rope.plain.cpu",
     .invariance = ASSAY_BATCH_INVARIANT | ASSAY_WIDTH_INVARIANT,
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F64,
     .when = "all calls",
     .workspace = workspace_plain,
     .run = rope_route_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_rope_args, x, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_rope_args, positions, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_rope_args, y, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {ASSAY_SCALAR(struct assay_rope_args, rotary_dim),
                                              ASSAY_SCALAR(struct assay_rope_args, theta),
                                              ASSAY_SCALAR(struct assay_rope_args, sections[0]),
                                              ASSAY_SCALAR(struct assay_rope_args, sections[1]),
                                              ASSAY_SCALAR(struct assay_rope_args, sections[2]),
                                              {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_rope = {
    .name = "rope",
    .summary = "pairs (i, i + R/2) of each head rotate by p theta^(-2i/R)",
    .args_bytes = sizeof(struct assay_rope_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_rope(assay_context *context, const struct assay_rope_args *args)
{
    return assay_run_op(context, &assay_op_rope, args);
}
