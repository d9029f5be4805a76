/* SPDX-License-Identifier: MIT
 *
 * The same op on a device: one block a row. run() launches on the call's stream and returns; it
 * neither waits nor allocates, so that `assay bench --plugin` can record it in a graph.
 *
 *   make cuda && assay verify --plugin ./rmsnorm_example_cuda.so
 */
#include <cuda_runtime.h>

#include "plugin.h"

enum { THREADS = 256 };

/* A tensor of up to three dimensions, as the kernel needs it. */
struct view {
    char *data;
    long long extent1, stride0, stride1;
    unsigned format;
};

static __device__ char *row_of(const struct view &v, long long row)
{
    long long element = row / v.extent1 * v.stride0 + row % v.extent1 * v.stride1;
    return v.data + element * (v.format == ASSAY_PLUGIN_F32 ? 4 : 2);
}

static __device__ float load(const char *row, unsigned format, long long i)
{
    if (format == ASSAY_PLUGIN_F32)
        return ((const float *)row)[i];
    return __uint_as_float((unsigned)((const unsigned short *)row)[i] << 16);
}

static __device__ void store(char *row, unsigned format, long long i, float value)
{
    if (format == ASSAY_PLUGIN_F32) {
        ((float *)row)[i] = value;
        return;
    }
    unsigned word = __float_as_uint(value);
    if (isnan(value)) /* a NaN stays one */
        ((unsigned short *)row)[i] = (unsigned short)(word >> 16 | 0x40u);
    else
        ((unsigned short *)row)[i] = (unsigned short)((word + 0x7fffu + (word >> 16 & 1u)) >> 16);
}

static __global__ void rmsnorm(struct view x, struct view w, struct view y, long long width,
                               double eps, float offset)
{
    __shared__ double partial[THREADS];
    const char *from = row_of(x, blockIdx.x);
    char *to = row_of(y, blockIdx.x);
    double sum = 0; /* squares of binary32 values cannot overflow it */
    for (long long i = threadIdx.x; i < width; i += THREADS) {
        double value = load(from, x.format, i);
        sum += value * value;
    }
    partial[threadIdx.x] = sum;
    for (int step = THREADS / 2; step > 0; step /= 2) {
        __syncthreads(); /* the partial sums of the step before are there */
        if (threadIdx.x < step)
            partial[threadIdx.x] += partial[threadIdx.x + step];
    }
    __syncthreads();
    double scale = 1 / sqrt(partial[0] / (double)width + eps);
    for (long long i = threadIdx.x; i < width; i += THREADS) {
        double gain = offset + load(w.data, w.format, i);
        store(to, y.format, i, (float)(load(from, x.format, i) * scale * gain));
    }
}

static struct view view_of(const struct assay_plugin_tensor *t)
{
    struct view v = {(char *)t->data, 1, 0, 0, t->format};
    if (t->rank == 3) {
        v.extent1 = t->extent[1];
        v.stride0 = t->stride[0];
        v.stride1 = t->stride[1];
    } else if (t->rank == 2) {
        v.stride0 = t->stride[0];
    }
    return v;
}

static int run(const struct assay_plugin_call *call)
{
    const struct assay_plugin_tensor *x = assay_plugin_tensor(call, "x");
    long long rows = assay_plugin_rows(x);
    if (rows == 0)
        return 0; /* a launch of no blocks is an error */
    rmsnorm<<<(unsigned)rows, THREADS, 0, (cudaStream_t)call->stream>>>(
        view_of(x), view_of(assay_plugin_tensor(call, "w")),
        view_of(assay_plugin_tensor(call, "y")), assay_plugin_width(x),
        assay_plugin_real(call, "eps"), (float)assay_plugin_integer(call, "unit_offset"));
    cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? 0 : assay_plugin_fail(call, cudaGetErrorString(error));
}

/* C++17 has no designated initialisers: members in the header's order. */
static const struct assay_plugin_route route = {sizeof(struct assay_plugin_route),
                                                "rmsnorm.example_cuda",
                                                "f32",
                                                "cuda",
                                                NULL,
                                                NULL,
                                                NULL,
                                                run,
                                                NULL,
                                                NULL};

static const struct assay_plugin_route *const routes[] = {&route};

static const struct assay_plugin plugin = {sizeof(struct assay_plugin), ASSAY_PLUGIN_VERSION, 1,
                                           routes};

ASSAY_PLUGIN_EXPORT const struct assay_plugin *assay_plugin_v1(void)
{
    return &plugin;
}
