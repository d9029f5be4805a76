/* SPDX-License-Identifier: MIT
 *
 * sample.block: a block takes a row from its logits to its id (sample_device.cuh).
 *
 * Profile f64. Reads a row two times for top_k up to the number of threads, from L2 the second
 * time; else some six times with an exponential a token in four of them, which is then the limit.
 * One block a row: few rows leave most of a device idle.
 * sass: word stores, one id a row.
 */
#include "ops/sample/sample_device.cuh"

SIMT_KERNEL(sample_block)(struct sample_rows p)
{
    SAMPLE_SHARED(s);
    uint64_t step = sample_first_step(p);
    for (int64_t t = simt_block_index().x; t < p.rows; t += simt_grid_extent().x) {
        double u = sample_uniform(p.seed, step + static_cast<uint64_t>(t));
        int32_t chosen = sample_one(p, s, row_address(p.logits, t), u);
        if (simt_thread() == 0)
            simt_store(p.ids + t, chosen);
        simt_sync_block(); /* the next row writes what this one reads */
    }
}

static assay_status sample_block_launch(const void *args, struct simt_launch *launch)
{
    const struct assay_sample_args *a = static_cast<const struct assay_sample_args *>(args);
    bool is_small = a->limit <= 8192;
    struct sample_rows p = sample_rows_of(a);
    p.list = is_small ? 32 : static_cast<int>(SAMPLE_MAX_LIST);
    p.bits = is_small ? 6 : 11;
    p.bins_per_unit = is_small ? 2 : 64;
    if (p.rows == 0)
        return ASSAY_OK;
    row_launch_shape(p.rows, p.limit, launch);
    if (!is_small)
        launch->block.x = SAMPLE_MAX_THREADS;
    return SIMT_LAUNCH(launch, sample_block, p);
}

DEVICE_ROUTE_RUN(sample_route_block, &assay_op_sample, sample_block_launch)
