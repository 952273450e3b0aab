#pragma once

#include <gsub/loop/expression.hpp>

#include <utility>

namespace gsub::loop {

GSUB_LAZY_BODY std::int64_t buffer::elements() const noexcept {
    std::int64_t n = 1;
    for (auto d : dims) n *= d;
    return n;
}

GSUB_LAZY_BODY double tensor_expression::operations() const {
    double places = 1, steps = 1;
    for (auto const& a : axes) (a.kind == axis_kind::spatial ? places : steps) *= static_cast<double>(a.extent);
    std::vector<char> inside(terms.size(), 0); // which terms belong to the update
    double per_step = 0, per_place = 0;
    if (update >= 0) inside[static_cast<std::size_t>(update)] = 1, per_step = 1;
    for (auto i = terms.size(); i-- > 0;) {
        auto const counts = terms[i].op > scalar_op::reduced ? 1.0 : 0.0;
        (inside[i] ? per_step : per_place) += counts;
        if (inside[i])
            for (auto o : terms[i].operands)
                if (o >= 0) inside[static_cast<std::size_t>(o)] = 1;
    }
    return places * (per_place + (update >= 0 ? steps * per_step : 0));
}

GSUB_LAZY_BODY std::string_view to_string(scalar_op op) noexcept {
    constexpr std::string_view names[] = {"constant", "load",    "reduced", "add",  "subtract", "multiply",
                                          "divide",   "maximum", "minimum", "sqrt", "negate",   "abs",
                                          "floor",    "exp",     "log",     "tanh", "erf",      "sigmoid"};
    return names[static_cast<std::size_t>(op)];
}

GSUB_INLINE value apply(scalar_op op, value a, value b) {
    GSUB_ASSERT(op > scalar_op::reduced && !is_unary(op), "an operation of two operands");
    term t;
    t.op = op;
    t.operands[0] = a.id_;
    t.operands[1] = b.id_;
    return a.in_->add(std::move(t));
}
GSUB_INLINE value apply(scalar_op op, value a) {
    GSUB_ASSERT(is_unary(op), "an operation of one operand");
    term t;
    t.op = op;
    t.operands[0] = a.id_;
    return a.in_->add(std::move(t));
}

GSUB_LAZY_BODY affine expression_builder::add_axis(std::string_view name, std::int64_t extent, axis_kind kind) {
    GSUB_ASSERT(extent > 0, "an axis has a positive extent");
    made_.axes.push_back({std::string{name}, extent, kind});
    return affine::of(static_cast<variable>(made_.axes.size() - 1));
}
GSUB_LAZY_BODY affine expression_builder::spatial(std::string_view name, std::int64_t extent) {
    return add_axis(name, extent, axis_kind::spatial);
}
GSUB_LAZY_BODY affine expression_builder::reduction(std::string_view name, std::int64_t extent) {
    return add_axis(name, extent, axis_kind::reduction);
}

GSUB_LAZY_BODY std::int32_t expression_builder::add_buffer(std::string_view name,
                                                           std::initializer_list<std::int64_t> dims, bool written) {
    made_.buffers.push_back(
        {std::string{name}, dtype::f32, small_vector<std::int64_t, 6>(std::span{dims.begin(), dims.size()}), written});
    return static_cast<std::int32_t>(made_.buffers.size() - 1);
}
GSUB_LAZY_BODY std::int32_t expression_builder::input(std::string_view name, std::initializer_list<std::int64_t> dims) {
    return add_buffer(name, dims, false);
}
GSUB_LAZY_BODY std::int32_t expression_builder::output(std::string_view name,
                                                       std::initializer_list<std::int64_t> dims) {
    return add_buffer(name, dims, true);
}
GSUB_LAZY_BODY std::int32_t expression_builder::scratch(std::string_view name,
                                                        std::initializer_list<std::int64_t> dims) {
    auto const b = add_buffer(name, dims, true);
    made_.buffers.back().scratch = true;
    return b;
}

GSUB_LAZY_BODY value expression_builder::add(term t) {
    made_.terms.push_back(std::move(t));
    return {*this, static_cast<std::int32_t>(made_.terms.size() - 1)};
}
GSUB_LAZY_BODY value expression_builder::constant(double v) {
    term t;
    t.value = v;
    return add(std::move(t));
}
GSUB_LAZY_BODY value expression_builder::at(std::int32_t of, std::initializer_list<affine> index) {
    GSUB_ASSERT(index.size() == made_.buffers[static_cast<std::size_t>(of)].dims.size(),
                "an access has an index for each dimension of its buffer");
    term t;
    t.op = scalar_op::load;
    t.source = {of, {index.begin(), index.end()}};
    return add(std::move(t));
}
GSUB_LAZY_BODY value expression_builder::at(std::int32_t of, std::initializer_list<affine> index,
                                            std::initializer_list<bound> within) {
    auto const v = at(of, index);
    made_.terms.back().within.assign(within.begin(), within.end());
    return v;
}

GSUB_LAZY_BODY value expression_builder::reduce(scalar_op combine, value initial, value update,
                                                std::initializer_list<bound> within) {
    GSUB_ASSERT(made_.update < 0, "a computation has one reduction");
    made_.combine = combine;
    made_.initial = initial.id();
    made_.update = update.id();
    made_.bounds.assign(within.begin(), within.end());
    term t;
    t.op = scalar_op::reduced;
    return add(std::move(t));
}
GSUB_LAZY_BODY value expression_builder::sum(value initial, value update, std::initializer_list<bound> within) {
    return reduce(scalar_op::add, initial, update, within);
}
GSUB_LAZY_BODY value expression_builder::maximum(value initial, value update, std::initializer_list<bound> within) {
    return reduce(scalar_op::maximum, initial, update, within);
}

GSUB_LAZY_BODY void expression_builder::also(std::int32_t of, std::initializer_list<affine> index, value v,
                                             std::initializer_list<bound> within) {
    GSUB_ASSERT(index.size() == made_.buffers[static_cast<std::size_t>(of)].dims.size(),
                "an access has an index for each dimension of its buffer");
    GSUB_ASSERT(made_.buffers[static_cast<std::size_t>(of)].written, "a result goes to an output");
    made_.also.push_back({{of, {index.begin(), index.end()}}, v.id(), {within.begin(), within.end()}});
}

GSUB_LAZY_BODY void expression_builder::check(value v, std::initializer_list<affine> at) {
    made_.check = v.id();
    made_.rescue_at.assign(at.begin(), at.end());
}

GSUB_LAZY_BODY tensor_expression expression_builder::store(std::int32_t of, std::initializer_list<affine> index,
                                                           value v, std::initializer_list<bound> within) {
    GSUB_ASSERT(index.size() == made_.buffers[static_cast<std::size_t>(of)].dims.size(),
                "an access has an index for each dimension of its buffer");
    GSUB_ASSERT(made_.buffers[static_cast<std::size_t>(of)].written, "a result goes to an output");
    made_.result = v.id();
    made_.target = {of, {index.begin(), index.end()}};
    made_.target_within.assign(within.begin(), within.end());
    return std::move(made_);
}

} // namespace gsub::loop
