/* SPDX-License-Identifier: MIT
 *
 * The config.json of models whose tensors fit into an input.
 */
#ifndef FUZZ_SMALL_CONFIG_H
#define FUZZ_SMALL_CONFIG_H

/* One layer of each kind: small enough that all its tensors fit into an input. */
static const char fuzz_small_config[] =
    "{\"architectures\":[\"Qwen3_5ForCausalLM\"],\"model_type\":\"qwen3_5_text\","
    "\"vocab_size\":8,\"hidden_size\":8,\"intermediate_size\":8,\"num_hidden_layers\":2,"
    "\"num_attention_heads\":1,\"num_key_value_heads\":1,\"head_dim\":8,"
    "\"linear_num_key_heads\":1,\"linear_num_value_heads\":1,\"linear_key_head_dim\":4,"
    "\"linear_value_head_dim\":4,\"linear_conv_kernel_dim\":4,\"rms_norm_eps\":1e-6,"
    "\"max_position_embeddings\":64,\"tie_word_embeddings\":true,"
    "\"layer_types\":[\"linear_attention\",\"full_attention\"],"
    "\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":10000,"
    "\"partial_rotary_factor\":0.25,\"mrope_section\":[1,0,0]}}";

/* A mixture of two experts, one linear layer. */
static const char fuzz_small_mixture[] =
    "{\"architectures\":[\"Qwen3_5MoeForCausalLM\"],\"model_type\":\"qwen3_5_moe_text\","
    "\"vocab_size\":2,\"hidden_size\":2,\"num_hidden_layers\":1,"
    "\"num_attention_heads\":1,\"num_key_value_heads\":1,\"head_dim\":2,"
    "\"linear_num_key_heads\":2,\"linear_num_value_heads\":4,\"linear_key_head_dim\":1,"
    "\"linear_value_head_dim\":1,\"linear_conv_kernel_dim\":2,\"rms_norm_eps\":1e-6,"
    "\"num_experts\":2,\"num_experts_per_tok\":1,\"moe_intermediate_size\":1,"
    "\"shared_expert_intermediate_size\":1,"
    "\"max_position_embeddings\":64,\"tie_word_embeddings\":true,"
    "\"layer_types\":[\"linear_attention\"],"
    "\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":10000,"
    "\"partial_rotary_factor\":1,\"mrope_section\":[1,0,0]}}";

#endif
