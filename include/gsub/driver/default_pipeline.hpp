// The default pipeline: passes that a build runs before it lowers a graph, where no list of passes replaces them.
#pragma once

#include <gsub/passes/fold/fold_constant.hpp>
#include <gsub/passes/fold/fold_explicit_padding.hpp>
#include <gsub/passes/layout/convert_layout.hpp>
#include <gsub/passes/pipeline.hpp>
#include <gsub/passes/simplify/simplify_expr.hpp>

namespace gsub {

/// The default pipeline: folds constants, simplifies expressions where no bit changes, converts layouts to the order in
/// which convolutions compute, folds explicit padding into the windows that read it; lowering then lays values out and
/// groups operators. As a list: `default`.
template <class = void>
[[nodiscard]] auto default_pipeline() {
    return pipeline{passes::fold_constant{}, passes::simplify_expr{.signed_zeros = true}, passes::convert_layout{},
                    passes::fold_constant{}, passes::fold_explicit_padding{}};
}

/// Whether the default pipeline may pay: images are transposed or padded explicitly, or an identity stands between
/// operators that could share a kernel.
GSUB_LAZY [[nodiscard]] bool default_pipeline_pays(any_graph const& g);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/default_pipeline.ipp>
#endif
