// What a build does of a graph before it lowers it, where no list of passes stands in its place.
#pragma once

#include <gsub/passes/fold/fold_constant.hpp>
#include <gsub/passes/fold/fold_explicit_padding.hpp>
#include <gsub/passes/layout/convert_layout.hpp>
#include <gsub/passes/pipeline.hpp>
#include <gsub/passes/simplify/simplify_expr.hpp>

namespace gsub {

/// Constants are folded, expressions written shorter where no bit changes, dimensions put in the order in which
/// convolutions compute, borders into the windows that read them; lowering then lays values out and groups operators.
/// As a list: `default`.
[[nodiscard]] inline auto default_pipeline() {
    return pipeline{passes::fold_constant{}, passes::simplify_expr{.signed_zeros = true}, passes::convert_layout{},
                    passes::fold_constant{}, passes::fold_explicit_padding{}};
}

/// Whether that may pay: images are turned or have borders of their own, or an identity stands between operators that
/// could share a kernel.
GSUB_LAZY [[nodiscard]] bool default_pipeline_pays(any_graph const& g);

} // namespace gsub

#ifndef GSUB_COMPILED
#include <gsub/driver/impl/default_pipeline.ipp>
#endif
