/* SPDX-License-Identifier: MIT
 *
 * gdn_chunked: argument checks, floor, and the route table. The state's format decides between two
 * sets of rows, so that a route's counter tells which format really ran.
 */
#include "ops/gdn_chunked/gdn_chunked_routes.h"
#include "core/core.h"
#include "ops/gdn_recurrent/gdn_checks.h"

#if defined(ASSAY_PARANOID)
enum { MATRIX_FLOATS = 1 << 11, OPERAND_BYTES = 1 }; /* several launches even for small calls */
#else
enum { MATRIX_FLOATS = 1 << 24, OPERAND_BYTES = 1 << 27 };
#endif

/* The same tensors under the other op's type. */
static struct assay_gdn_recurrent_args tensors_of(const struct assay_gdn_chunked_args *a)
{
    return (struct assay_gdn_recurrent_args){.q = a->q,
                                             .k = a->k,
                                             .v = a->v,
                                             .g = a->g,
                                             .beta = a->beta,
                                             .state = a->state,
                                             .o = a->o,
                                             .scale = a->scale};
}

static assay_status validate(assay_context *context, const void *arguments)
{
    const struct assay_gdn_chunked_args *a = arguments;
    const struct assay_gdn_recurrent_args tensors = tensors_of(a);
    const char *op = "gdn_chunked";
    ASSAY_TRY(gdn_check_args(context, op, &tensors));
    if (a->chunk < 1 || a->chunk > GDN_CHUNKED_MAX_CHUNK)
        return assay_refuse(context, ASSAY_E_ARG, op, "chunk", "must be 1 to %d, is %lld",
                            GDN_CHUNKED_MAX_CHUNK, (long long)a->chunk);
    return gdn_check_aliases(context, op, &tensors);
}

static struct assay_floor floor_of(const void *arguments)
{
    const struct assay_gdn_chunked_args *a = arguments;
    const struct assay_gdn_recurrent_args tensors = tensors_of(a);
    double tokens = (double)a->q.extent[0], heads = (double)a->v.extent[1];
    double key_dim = (double)a->state.extent[1], value_dim = (double)a->state.extent[2];
    /* Per token: prediction, update and output against the state, and against the tokens before it
     * in the chunk: Gram products of k and q, then substitution and output. */
    double before = ((double)(a->chunk < a->q.extent[0] ? a->chunk : a->q.extent[0]) - 1) / 2;
    double operations =
        tokens * heads * (6 * key_dim * value_dim + before * 4 * (key_dim + value_dim));
    return gdn_floor(&tensors, operations);
}

int64_t gdn_chunked_slots(const assay_context *context, const void *args)
{
    const struct assay_gdn_chunked_args *a = args;
    int64_t threads = assay_context_num_threads(context), heads = a->v.extent[1];
    return threads < heads ? threads : heads;
}

int64_t gdn_chunked_longest(const void *args)
{
    const struct assay_gdn_chunked_args *a = args;
    return a->chunk < a->q.extent[0] ? a->chunk : a->q.extent[0];
}

int64_t gdn_chunked_padded(int64_t count)
{
    return (count + GDN_CHUNKED_LANES - 1) / GDN_CHUNKED_LANES * GDN_CHUNKED_LANES;
}

size_t gdn_chunked_scratch_bytes(const void *args)
{
    const struct assay_gdn_chunked_args *a = args;
    int64_t rows = gdn_chunked_longest(args), padded = gdn_chunked_padded(rows);
    int64_t key_dim = gdn_chunked_padded(a->q.extent[2]);
    int64_t floats = 2 * padded * key_dim +                    /* q, k by rows */
                     key_dim * padded +                        /* k by columns */
                     2 * rows * padded +                       /* solve, mix */
                     (key_dim + rows) * GDN_CHUNKED_MAX_TILE + /* state, delta */
                     2 * padded;                               /* decay, remain */
    return (size_t)floats * sizeof(float) + (size_t)(padded + GDN_CHUNKED_LANES) * sizeof(double);
}

size_t gdn_chunked_workspace(const assay_context *context, const void *args)
{
    return (size_t)gdn_chunked_slots(context, args) * gdn_chunked_scratch_bytes(args);
}

size_t gdn_chunked_scratch_bytes_plain(const void *args)
{
    const struct assay_gdn_chunked_args *a = args;
    int64_t rows = gdn_chunked_longest(args);
    return sizeof(double) * (size_t)(3 * rows * rows + 2 * rows + a->q.extent[2]);
}

size_t gdn_chunked_workspace_plain(const assay_context *context, const void *args)
{
    return (size_t)gdn_chunked_slots(context, args) * gdn_chunked_scratch_bytes_plain(args);
}

int64_t gdn_chunked_device_padded(const void *args)
{
    return (gdn_chunked_longest(args) + GDN_CHUNKED_SUB - 1) / GDN_CHUNKED_SUB * GDN_CHUNKED_SUB;
}

int64_t gdn_chunked_device_floats(const void *args)
{
    int64_t padded = gdn_chunked_device_padded(args);
    return 2 * padded * padded + 2 * padded;
}

/* Enough chunks to fill a device, and at most MATRIX_FLOATS of matrices or one chunk. */
int64_t gdn_chunked_device_wave(const void *args)
{
    const struct assay_gdn_chunked_args *a = args;
    int64_t longest = gdn_chunked_longest(args);
    if (longest == 0)
        return 0;
    int64_t chunks = (a->q.extent[0] + longest - 1) / longest;
    int64_t fit = MATRIX_FLOATS / (gdn_chunked_device_floats(args) * a->v.extent[1]);
    return fit < 1 ? 1 : fit < chunks ? fit : chunks;
}

size_t gdn_chunked_device_workspace(const assay_context *context, const void *args)
{
    const struct assay_gdn_chunked_args *a = args;
    (void)context;
    return (size_t)(gdn_chunked_device_wave(args) * gdn_chunked_device_floats(args) *
                    a->v.extent[1]) *
           sizeof(float);
}

static int64_t tensor_chunk_bytes(const void *args)
{
    const struct assay_gdn_chunked_args *a = args;
    return a->q.extent[1] * GDN_TENSOR_KEY_BYTES + a->v.extent[1] * GDN_TENSOR_HEAD_BYTES;
}

/* As many chunks as fit into OPERAND_BYTES, or one. */
int64_t gdn_chunked_tensor_wave(const void *args)
{
    const struct assay_gdn_chunked_args *a = args;
    int64_t longest = gdn_chunked_longest(args);
    if (longest == 0)
        return 0;
    int64_t chunks = (a->q.extent[0] + longest - 1) / longest;
    int64_t fit = OPERAND_BYTES / tensor_chunk_bytes(args);
    return fit < 1 ? 1 : fit < chunks ? fit : chunks;
}

size_t gdn_chunked_tensor_workspace(const assay_context *context, const void *args)
{
    (void)context;
    return (size_t)(gdn_chunked_tensor_wave(args) * tensor_chunk_bytes(args));
}

static bool state_is_f32(const void *arguments)
{
    const struct assay_gdn_chunked_args *a = arguments;
    return a->state.dtype == ASSAY_F32;
}

static bool state_is_f16(const void *arguments)
{
    const struct assay_gdn_chunked_args *a = arguments;
    return a->state.dtype == ASSAY_F16;
}

/* The chunk's length and not that of the call decides, so that a split between chunks changes no
 * bit. Short chunks would be zeros for the most part. */
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
static bool suits_tensor_cores(const void *arguments)
{
    const struct assay_gdn_chunked_args *a = arguments;
    return a->state.dtype == ASSAY_F32 && a->q.extent[2] == GDN_TENSOR_DIM &&
           a->chunk > GDN_TENSOR_ROWS / 2 && a->chunk <= GDN_TENSOR_ROWS;
}
#endif

/* Column tiles of four vectors and of one, rows of one vector, and whole chunks. */
#if defined(ASSAY_SIMD)
static const struct assay_boundary boundaries_avx2[] = {
    {"dv", 8}, {"dv", 32}, {"chunk", 8}, {"chunk", 32}, {"T", 64}, {"T", 128}, {NULL, 0}};
static const struct assay_boundary boundaries_avx512[] = {
    {"dv", 16}, {"dv", 64}, {"chunk", 16}, {"chunk", 64}, {"T", 64}, {"T", 128}, {NULL, 0}};
#endif
static const struct assay_boundary boundaries_plain[] = {{"T", 64}, {"T", 128}, {NULL, 0}};

/* Substituted tokens, token tiles, state tiles, columns of a block. */
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
static const struct assay_boundary boundaries_device[] = {
    {"chunk", 16}, {"chunk", 64}, {"T", 64}, {"dk", 32}, {"dk", 64}, {"dv", 32}, {NULL, 0}};
static const struct assay_boundary boundaries_tensor[] = {{"chunk", 48}, {"chunk", 63}, {"T", 64},
                                                          {"T", 128},    {"dv", 32},    {NULL, 0}};
#endif

static const struct assay_route routes[] = {
#if defined(ASSAY_HAVE_DEVICE_ROUTES)
    DEVICE_ROUTE("gdn_chunked.tensor", gdn_chunked_route_tensor, .profile = ASSAY_PROFILE_A16X2,
                 .when = "state is f32, dk = 128, chunk 33 to 64", .accepts = suits_tensor_cores,
                 .workspace = gdn_chunked_tensor_workspace, .boundaries = boundaries_tensor),
    DEVICE_ROUTE("gdn_chunked.state32", gdn_chunked_route_state32, .profile = ASSAY_PROFILE_F32,
                 .when = "state is f32", .accepts = state_is_f32,
                 .workspace = gdn_chunked_device_workspace, .boundaries = boundaries_device),
    DEVICE_ROUTE("gdn_chunked.state16", gdn_chunked_route_state16, .profile = ASSAY_PROFILE_STATE16,
                 .when = "state is f16", .accepts = state_is_f16,
                 .workspace = gdn_chunked_device_workspace, .boundaries = boundaries_device),
#endif
#if defined(ASSAY_SIMD)
    {.name = "gdn_chunked.state32.avx512.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX512,
     .when = "state is f32",
     .accepts = state_is_f32,
     .workspace = gdn_chunked_workspace,
     .run = gdn_chunked_route_avx512,
     .boundaries = boundaries_avx512},
    {.name = "gdn_chunked.state16.avx512.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_STATE16,
     .isa = ASSAY_ISA_AVX512,
     .when = "state is f16",
     .accepts = state_is_f16,
     .workspace = gdn_chunked_workspace,
     .run = gdn_chunked_route_avx512,
     .boundaries = boundaries_avx512},
    {.name = "gdn_chunked.state32.avx2.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .isa = ASSAY_ISA_AVX2,
     .when = "state is f32",
     .accepts = state_is_f32,
     .workspace = gdn_chunked_workspace,
     .run = gdn_chunked_route_avx2,
     .boundaries = boundaries_avx2},
    {.name = "gdn_chunked.state16.avx2.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_STATE16,
     .isa = ASSAY_ISA_AVX2,
     .when = "state is f16",
     .accepts = state_is_f16,
     .workspace = gdn_chunked_workspace,
     .run = gdn_chunked_route_avx2,
     .boundaries = boundaries_avx2},
#endif
    {.name = "gdn_chunked.state32.plain.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_F32,
     .when = "state is f32",
     .accepts = state_is_f32,
     .workspace = gdn_chunked_workspace_plain,
     .run = gdn_chunked_route_plain,
     .boundaries = boundaries_plain},
    {.name = "gdn_chunked.state16.plain.cpu",
     .backend = ASSAY_CPU,
     .profile = ASSAY_PROFILE_STATE16,
     .when = "state is f16",
     .accepts = state_is_f16,
     .workspace = gdn_chunked_workspace_plain,
     .run = gdn_chunked_route_plain,
     .boundaries = boundaries_plain},
};

static const struct assay_argument arguments[] = {
    ASSAY_ARGUMENT(struct assay_gdn_chunked_args, q, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_gdn_chunked_args, k, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_gdn_chunked_args, v, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_gdn_chunked_args, g, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_gdn_chunked_args, beta, ASSAY_INPUT),
    ASSAY_ARGUMENT(struct assay_gdn_chunked_args, state, ASSAY_INOUT),
    ASSAY_ARGUMENT(struct assay_gdn_chunked_args, o, ASSAY_OUTPUT),
    {NULL, 0, ASSAY_INPUT, NULL}};

static const struct assay_scalar scalars[] = {ASSAY_SCALAR(struct assay_gdn_chunked_args, scale),
                                              ASSAY_SCALAR(struct assay_gdn_chunked_args, chunk),
                                              {NULL, 0, ASSAY_SCALAR_FLAG}};

const struct assay_op assay_op_gdn_chunked = {
    .name = "gdn_chunked",
    .summary = "the gated delta rule of gdn_recurrent, a chunk of tokens at a time",
    .args_bytes = sizeof(struct assay_gdn_chunked_args),
    .arguments = arguments,
    .scalars = scalars,
    .validate = validate,
    .floor = floor_of,
    .routes = routes,
    .num_routes = (int)(sizeof routes / sizeof routes[0]),
};

assay_status assay_gdn_chunked(assay_context *context, const struct assay_gdn_chunked_args *args)
{
    return assay_run_op(context, &assay_op_gdn_chunked, args);
}
