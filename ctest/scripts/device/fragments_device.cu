/* SPDX-License-Identifier: MIT
 *
 * Writes golden/device/fragments.vec: what a real device gives for the kernels of
 * engine/cuda/executor/selftest/fragment_kernels.cu and the engine's row kernels on random inputs.
 * Built and run by fragments.sh; the fixture goes to standard output. Arguments: the lines of
 * provenance that only the script knows, written as comments.
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/executor/selftest/fragment_kernels.h"
#include "numeric/float_words.h"

enum { CASES = 6, MAX_WORDS = FRAGMENT_LANES * FRAGMENT_MAX_WORDS };

static void check(cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "fragments: %s: %s\n", call, cudaGetErrorString(error));
    exit(1);
}

/* splitmix64 */
static uint32_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return static_cast<uint32_t>((z ^ z >> 31) >> 32);
}

/* Small integers in exact cases: sums stay below 2^24, so order and width cannot matter. Real ones:
 * either sign, exponents 2^-6 to 2^6. */
static float draw_f32(uint64_t *state, bool exact)
{
    if (exact)
        return static_cast<float>(static_cast<int>(draw(state) % 17) - 8);
    uint32_t bits = draw(state);
    return f32_from_bits((bits & 0x807fffffu) | (121 + draw(state) % 13) << 23);
}

static uint32_t draw_word(uint64_t *state, enum fragment_operands operands, int word, bool exact)
{
    bool is_addend = word >= 6;
    if (operands == OPERANDS_BITS)
        return draw(state);
    if (operands == OPERANDS_CONVERTED) /* any, or in the range where fp16 has all its branches */
        return exact ? draw(state) : (draw(state) & 0x8fffffffu) + 0x33000000u;
    float low = draw_f32(state, exact);
    if (operands == OPERANDS_F32 || (operands != OPERANDS_BF16 && is_addend))
        return f32_bits(low);
    float high = draw_f32(state, exact);
    if (operands == OPERANDS_MMA_F16)
        return f16_from_f32(low) | static_cast<uint32_t>(f16_from_f32(high)) << 16;
    return bf16_from_f32(low) | static_cast<uint32_t>(bf16_from_f32(high)) << 16;
}

static void print_words(const char *label, const uint32_t *words, int count)
{
    for (int i = 0; i < count; i++)
        printf("%s%08x", i % 8 == 0 ? (i == 0 ? label : "\n  ") : " ", words[i]);
    putchar('\n');
}

static void run_case(const struct fragment_op *op, uint64_t *state, int number)
{
    bool exact = number % 2 == 0;
    uint32_t in[MAX_WORDS], out[MAX_WORDS], *device_in, *device_out;
    int num_in = FRAGMENT_LANES * op->in_words, num_out = FRAGMENT_LANES * op->out_words;
    for (int i = 0; i < num_in; i++)
        in[i] = draw_word(state, op->operands, i % op->in_words, exact);
    check(cudaMalloc(&device_in, sizeof in), "cudaMalloc");
    check(cudaMalloc(&device_out, sizeof out), "cudaMalloc");
    check(cudaMemcpy(device_in, in, sizeof in, cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaMemset(device_out, 0xa5, sizeof out), "cudaMemset");
    struct assay_error error = {};
    struct simt_launch launch = {};
    launch.grid = {1, 1, 1};
    launch.block = {FRAGMENT_LANES, 1, 1};
    launch.error = &error;
    if (op->run(&launch, device_in, device_out) != ASSAY_OK) {
        fprintf(stderr, "fragments: %s: %s\n", op->name, error.message);
        exit(1);
    }
    check(cudaDeviceSynchronize(), op->name);
    check(cudaMemcpy(out, device_out, sizeof out, cudaMemcpyDeviceToHost), "cudaMemcpy");
    check(cudaFree(device_in), "cudaFree");
    check(cudaFree(device_out), "cudaFree");
    printf("case %s %s\n", op->name, exact ? "exact" : "real");
    print_words("in\n  ", in, num_in);
    print_words("out\n  ", out, num_out);
}

int main(int argc, char **argv)
{
    struct cudaDeviceProp properties;
    int runtime = 0;
    check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    printf("# What a device gives for the kernels of fragment_kernels.cu and row_launches.c.\n");
    printf("# device: %s, compute capability %d.%d\n", properties.name, properties.major,
           properties.minor);
    printf("# CUDA runtime: %d.%d\n", runtime / 1000, runtime % 1000 / 10);
    for (int i = 1; i < argc; i++)
        printf("# %s\n", argv[i]);
    uint64_t state = 1;
    for (int i = 0; i < num_fragment_ops; i++)
        for (int n = 0; n < CASES; n++)
            run_case(&fragment_ops[i], &state, n);
    for (int i = 0; i < num_row_ops; i++)
        for (int n = 0; n < CASES; n++)
            run_case(&row_ops[i], &state, n);
    printf("end\n");
    return fflush(stdout) == 0 ? 0 : 1;
}
