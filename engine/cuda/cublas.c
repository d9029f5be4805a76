/* SPDX-License-Identifier: MIT
 *
 * cuBLAS through dlopen: the names that matrix products need, and one handle a context.
 */
#include "cuda/cublas.h"

#include <cublas_v2.h>
#include <dlfcn.h>
#include <pthread.h>

#include "core/context_state.h"
#include "cuda/cuda_device.h"

/* X(member, symbol, parameters) */
#define CUBLAS_TABLE(X)                                                                        \
    X(create, "cublasCreate_v2", (cublasHandle_t *))                                           \
    X(destroy, "cublasDestroy_v2", (cublasHandle_t))                                           \
    X(set_stream, "cublasSetStream_v2", (cublasHandle_t, cudaStream_t))                        \
    X(set_workspace, "cublasSetWorkspace_v2", (cublasHandle_t, void *, size_t))                \
    X(gemm, "cublasGemmEx",                                                                    \
      (cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void *,      \
       const void *, cudaDataType, int, const void *, cudaDataType, int, const void *, void *, \
       cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t))

static struct {
    void *library;
#define CUBLAS_MEMBER(member, symbol, parameters) cublasStatus_t(*member) parameters;
    CUBLAS_TABLE(CUBLAS_MEMBER)
#undef CUBLAS_MEMBER
} cublas;

static pthread_once_t loaded = PTHREAD_ONCE_INIT;

static void load(void)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    bool complete = library != NULL;
    /* POSIX: a function's address through an object pointer. */
#define CUBLAS_LOAD(member, symbol, parameters)                    \
    if (complete) {                                                \
        *(void **)(void *)&cublas.member = dlsym(library, symbol); \
        complete = cublas.member != NULL;                          \
    }
    CUBLAS_TABLE(CUBLAS_LOAD)
#undef CUBLAS_LOAD
    if (complete)
        cublas.library = library;
    else if (library != NULL)
        dlclose(library);
}

bool cublas_is_there(void)
{
    return pthread_once(&loaded, load) == 0 && cublas.library != NULL;
}

static assay_status check(assay_context *context, cublasStatus_t status, const char *call)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return ASSAY_OK;
    return assay_refuse(context, ASSAY_E_CUDA, "cublas", call, "cuBLAS status %d", (int)status);
}

#define TRY_CUBLAS(member, ...) ASSAY_TRY(check(context, cublas.member(__VA_ARGS__), #member))

static void destroy(void *handle)
{
    (void)cublas.destroy(handle);
}

/* The context's handle, made at the first call. */
static assay_status handle_of(assay_context *context, cublasHandle_t *handle)
{
    struct cuda_device *device = context->device;
    *handle = cuda_device_handle(device);
    if (*handle != NULL)
        return ASSAY_OK;
    TRY_CUBLAS(create, handle);
    cuda_device_keep(device, *handle, destroy);
    TRY_CUBLAS(set_stream, *handle, cuda_device_stream(device));
    return ASSAY_OK;
}

static cudaDataType type_of(const struct assay_tensor *tensor)
{
    return tensor->dtype == ASSAY_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

assay_status cublas_linear(assay_context *context, const struct assay_tensor *x,
                           const struct assay_tensor *w, const struct assay_tensor *y,
                           bool accumulate, void *workspace)
{
    const float one = 1, add = accumulate ? 1 : 0;
    cublasHandle_t handle;
    ASSAY_TRY(handle_of(context, &handle));
    TRY_CUBLAS(set_workspace, handle, workspace, CUBLAS_WORKSPACE);
    /* Its matrices are column-major: y^T [N, T] = w [N, K] x^T [K, T]. */
    TRY_CUBLAS(gemm, handle, CUBLAS_OP_T, CUBLAS_OP_N, (int)w->extent[0], (int)x->extent[0],
               (int)w->extent[1], &one, w->data, type_of(w), (int)w->stride[0], x->data, type_of(x),
               (int)x->stride[0], &add, y->data, type_of(y), (int)y->stride[0], CUBLAS_COMPUTE_32F,
               CUBLAS_GEMM_DEFAULT);
    return ASSAY_OK;
}

assay_status cublas_linear_s8(assay_context *context, const struct cublas_s8 *product,
                              void *workspace)
{
    const int32_t one = 1, zero = 0;
    int rows = (int)product->rows, columns = (int)product->columns, inner = (int)product->inner;
    cublasHandle_t handle;
    ASSAY_TRY(handle_of(context, &handle));
    TRY_CUBLAS(set_workspace, handle, workspace, CUBLAS_WORKSPACE);
    TRY_CUBLAS(gemm, handle, CUBLAS_OP_T, CUBLAS_OP_N, columns, rows, inner, &one, product->w,
               CUDA_R_8I, inner, product->x, CUDA_R_8I, inner, &zero, product->sums, CUDA_R_32I,
               columns, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT);
    return ASSAY_OK;
}
