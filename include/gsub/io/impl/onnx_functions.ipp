#pragma once

#include <gsub/io/impl/onnx_functions_attention.ipp>
#include <gsub/io/impl/onnx_functions_conv.ipp>
#include <gsub/io/impl/onnx_functions_fourier.ipp>
#include <gsub/io/impl/onnx_functions_heads.ipp>
#include <gsub/io/impl/onnx_functions_index.ipp>
#include <gsub/io/impl/onnx_functions_loss.ipp>
#include <gsub/io/impl/onnx_functions_math.ipp>
#include <gsub/io/impl/onnx_functions_microsoft.ipp>
#include <gsub/io/impl/onnx_functions_nn.ipp>
#include <gsub/io/impl/onnx_functions_product.ipp>
#include <gsub/io/impl/onnx_functions_reduce.ipp>
#include <gsub/io/impl/onnx_functions_resize.ipp>
#include <gsub/io/impl/onnx_functions_rnn.ipp>
#include <gsub/io/impl/onnx_functions_sample.ipp>
#include <gsub/io/impl/onnx_functions_state.ipp>
#include <gsub/io/impl/onnx_functions_tensor.ipp>
#include <gsub/io/impl/onnx_functions_warp.ipp>
#include <gsub/io/onnx_functions.hpp>

#include <algorithm>

namespace gsub::io {

namespace detail {
// By domain and name.
inline constexpr onnx_function function_table[] = {
    {"AffineGrid", 20, &import_affine_grid},
    {"ArgMax", 1, &import_arg_max},
    {"ArgMin", 1, &import_arg_min},
    {"Attention", 23, &import_attention, 4},
    {"BitShift", 11, &import_bit_shift},
    {"BitwiseNot", 18, &import_bitwise_not},
    {"BlackmanWindow", 17, &import_blackman_window},
    {"CastLike", 15, &import_cast_like},
    {"CausalConvWithState", 27, &import_causal_conv, 2},
    {"Celu", 12, &import_celu},
    {"CenterCropPad", 18, &import_center_crop_pad},
    {"Col2Im", 18, &import_col2im},
    {"Compress", 9, &import_compress},
    {"ConvTranspose", 1, &import_conv_transpose},
    {"CumProd", 26, &import_cum_prod},
    {"CumSum", 11, &import_cum_sum},
    {"DFT", 17, &import_dft},
    {"DeformConv", 19, &import_deform_conv},
    {"DepthToSpace", 1, &import_depth_to_space},
    {"Det", 11, &import_det},
    {"DynamicQuantizeLinear", 11, &import_dynamic_quantize, 3},
    {"EyeLike", 9, &import_eye_like},
    {"GRU", 7, &import_gru, 2},
    {"GlobalLpPool", 2, &import_global_lp_pool},
    {"GlobalMaxPool", 1, &import_global_max_pool},
    {"GridSample", 16, &import_grid_sample},
    {"GroupNormalization", 18, &import_group_norm},
    {"HammingWindow", 17, &import_hamming_window},
    {"HannWindow", 17, &import_hann_window},
    {"Hardmax", 1, &import_hardmax},
    {"InstanceNormalization", 6, &import_instance_norm},
    {"LSTM", 7, &import_lstm, 3},
    {"LinearAttention", 27, &import_linear_attention, 2},
    {"LogSoftmax", 1, &import_log_softmax},
    {"LpNormalization", 1, &import_lp_normalization},
    {"LpPool", 2, &import_lp_pool},
    {"Max", 8, &import_max},
    {"MaxUnpool", 9, &import_max_unpool},
    {"Mean", 8, &import_mean},
    {"MeanVarianceNormalization", 9, &import_mean_variance_norm},
    {"MelWeightMatrix", 17, &import_mel_weights},
    {"Min", 8, &import_min},
    {"Mish", 18, &import_mish},
    {"NegativeLogLikelihoodLoss", 12, &import_likelihood_loss},
    {"OneHot", 9, &import_one_hot},
    {"PRelu", 7, &import_prelu},
    {"RMSNormalization", 23, &import_rms_norm},
    {"RNN", 7, &import_rnn, 2},
    {"ReduceL1", 1, &import_reduce_l1},
    {"ReduceL2", 1, &import_reduce_l2},
    {"ReduceLogSum", 1, &import_reduce_log_sum},
    {"ReduceLogSumExp", 1, &import_reduce_log_sum_exp},
    {"ReduceMin", 1, &import_reduce_min},
    {"ReduceProd", 1, &import_reduce_prod},
    {"ReduceSumSquare", 1, &import_reduce_sum_square},
    {"Resize", 10, &import_resize},
    {"ReverseSequence", 10, &import_reverse_sequence},
    {"RoiAlign", 10, &import_roi_align},
    {"RotaryEmbedding", 23, &import_rotary_embedding},
    {"STFT", 17, &import_stft},
    {"Scatter", 9, &import_scatter},
    {"Selu", 6, &import_selu},
    {"Shrink", 9, &import_shrink},
    {"Sign", 9, &import_sign},
    {"SimplifiedLayerNormalization", 1, &import_simplified_layer_norm, 2},
    {"Size", 1, &import_size},
    {"SoftmaxCrossEntropyLoss", 12, &import_cross_entropy_loss, 2},
    {"SpaceToDepth", 1, &import_space_to_depth},
    {"SwiGLU", 28, &import_swiglu},
    {"Swish", 24, &import_swish},
    {"TensorScatter", 24, &import_tensor_scatter},
    {"ThresholdedRelu", 10, &import_thresholded_relu},
    {"Tile", 6, &import_tile},
    {"Trilu", 14, &import_trilu},
    {"Upsample", 7, &import_resize},
    {"Attention", 1, &import_packed_attention, 2, "com.microsoft"},
    {"BiasGelu", 1, &import_biased_gelu, 1, "com.microsoft"},
    {"EmbedLayerNormalization", 1, &import_embed_layer_norm, 3, "com.microsoft"},
    {"FastGelu", 1, &import_fast_gelu, 1, "com.microsoft"},
    {"FusedConv", 1, &import_fused_conv, 1, "com.microsoft"},
    {"FusedGemm", 1, &import_fused_gemm, 1, "com.microsoft"},
    {"FusedMatMul", 1, &import_fused_mat_mul, 1, "com.microsoft"},
    {"Gelu", 1, &import_biased_gelu, 1, "com.microsoft"},
    {"GroupQueryAttention", 1, &import_group_query_attention, 3, "com.microsoft"},
    {"MultiHeadAttention", 1, &import_multi_head_attention, 4, "com.microsoft"},
    {"QuickGelu", 1, &import_quick_gelu, 1, "com.microsoft"},
    {"RotaryEmbedding", 1, &import_rotary_of_microsoft, 1, "com.microsoft"},
    {"SkipLayerNormalization", 1, &import_skip_layer_norm, 4, "com.microsoft"},
    {"SkipSimplifiedLayerNormalization", 1, &import_skip_rms_norm, 4, "com.microsoft"},
};
constexpr bool before(onnx_function const& f, std::string_view domain, std::string_view name) noexcept {
    return f.domain != domain ? f.domain < domain : f.name < name;
}
static_assert(std::ranges::is_sorted(function_table,
                                     [](auto const& a, auto const& b) { return before(a, b.domain, b.name); }));
} // namespace detail

GSUB_INLINE std::span<onnx_function const> onnx_functions() {
    return detail::function_table;
}

GSUB_INLINE onnx_function const* find_onnx_function(std::string_view domain, std::string_view name) {
    auto const all = onnx_functions();
    auto const found =
        std::partition_point(all.begin(), all.end(), [&](auto const& f) { return detail::before(f, domain, name); });
    return found != all.end() && found->name == name && found->domain == domain ? &*found : nullptr;
}

} // namespace gsub::io
