#pragma once

#include <gsub/loop/expression.hpp>

#include <utility>

namespace gsub::loop {

GSUB_LAZY_BODY std::int64_t buffer::elements() const noexcept {
    std::int64_t n = 1;
    if (strides.empty()) {
        for (auto d : dims) n *= d;
        return n;
    }
    for (std::size_t d = 0; d < dims.size(); ++d) {
        if (dims[d] == 0) return 0;
        n += (dims[d] - 1) * strides[d];
    }
    return n;
}

GSUB_LAZY_BODY affine tensor_expression::offset_of(access const& a) const {
    auto const& from = buffers[static_cast<std::size_t>(a.of)];
    affine offset;
    std::int64_t stride = 1;
    for (auto d = a.index.size(); d-- > 0;) {
        offset += a.index[d] * (from.strides.empty() ? stride : from.strides[d]);
        stride *= from.dims[d];
    }
    return offset;
}

GSUB_LAZY_BODY double tensor_expression::operations() const {
    double places = 1, steps = 1;
    for (auto const& a : axes) (a.kind == axis_kind::spatial ? places : steps) *= static_cast<double>(a.extent);
    std::vector<char> inside(exprs.size(), 0); // which expressions belong to the update
    double per_step = 0, per_place = 0;
    if (update >= 0) inside[static_cast<std::size_t>(update)] = 1, per_step = 1;
    for (auto i = exprs.size(); i-- > 0;) {
        auto const counts = exprs[i].op > scalar_op::select ? 1.0 : 0.0;
        (inside[i] ? per_step : per_place) += counts;
        if (inside[i])
            for (auto o : exprs[i].operands)
                if (o >= 0) inside[static_cast<std::size_t>(o)] = 1;
    }
    return places * (per_place + (update >= 0 ? steps * per_step : 0));
}

GSUB_INLINE scalar_expr const& value::made() const noexcept {
    return in_->made_.exprs[static_cast<std::size_t>(id_)];
}
GSUB_INLINE dtype value::type() const noexcept {
    return made().type;
}

GSUB_INLINE value apply(scalar_op op, value a, value b) {
    GSUB_ASSERT(info(op).operands == 2, "an operation of two operands");
    GSUB_ASSERT(a.type() == b.type() && computes(op, a.type()),
                "operands of one type that the operation computes with");
    scalar_expr t;
    t.op = op;
    t.type = info(op).truth ? dtype::boolean : a.type();
    t.operands[0] = a.id_;
    t.operands[1] = b.id_;
    return a.in_->add(t);
}
GSUB_INLINE value apply(scalar_op op, value a) {
    GSUB_ASSERT(is_unary(op), "an operation of one operand");
    GSUB_ASSERT(computes(op, a.type()), "an operand of a type that the operation computes with");
    scalar_expr t;
    t.op = op;
    t.type = a.type();
    t.operands[0] = a.id_;
    return a.in_->add(t);
}
GSUB_INLINE value cast(value a, dtype to) {
    if (a.type() == to) return a;
    scalar_expr t;
    t.op = scalar_op::cast;
    t.type = to;
    t.operands[0] = a.id_;
    return a.in_->add(t);
}
GSUB_INLINE value select(value condition, value a, value b) {
    GSUB_ASSERT(condition.type() == dtype::boolean && a.type() == b.type(), "a bool selects among values of one type");
    scalar_expr t;
    t.op = scalar_op::select;
    t.type = a.type();
    t.operands[0] = condition.id_;
    t.operands[1] = a.id_;
    t.operands[2] = b.id_;
    return a.in_->add(t);
}

GSUB_LAZY_BODY affine expression_builder::add_axis(std::string_view name, std::int64_t extent, axis_kind kind) {
    GSUB_ASSERT(extent > 0, "an axis has a positive extent");
    GSUB_ASSERT(made_.chosen.empty(), "axes come before chosen indices");
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
                                                           std::initializer_list<std::int64_t> dims, bool written,
                                                           dtype element) {
    made_.buffers.push_back(
        {std::string{name}, element, small_vector<std::int64_t, 6>(std::span{dims.begin(), dims.size()}), written});
    return static_cast<std::int32_t>(made_.buffers.size() - 1);
}
GSUB_LAZY_BODY std::int32_t expression_builder::input(std::string_view name, std::initializer_list<std::int64_t> dims,
                                                      dtype element) {
    return add_buffer(name, dims, false, element);
}
GSUB_LAZY_BODY std::int32_t expression_builder::output(std::string_view name, std::initializer_list<std::int64_t> dims,
                                                       dtype element) {
    return add_buffer(name, dims, true, element);
}
GSUB_LAZY_BODY std::int32_t expression_builder::workspace(std::string_view name,
                                                          std::initializer_list<std::int64_t> dims, dtype element) {
    auto const b = add_buffer(name, dims, true, element);
    made_.buffers.back().workspace = true;
    return b;
}

GSUB_LAZY_BODY std::int32_t expression_builder::set_strides(std::int32_t b,
                                                            std::initializer_list<std::int64_t> strides) {
    auto& of = made_.buffers[static_cast<std::size_t>(b)];
    GSUB_ASSERT(strides.size() == of.dims.size(), "a stride a dimension");
    of.strides.clear();
    for (auto const s : strides) of.strides.push_back(s);
    return b;
}

GSUB_LAZY_BODY value expression_builder::add(scalar_expr const& t) {
    made_.exprs.push_back(t);
    return {*this, static_cast<std::int32_t>(made_.exprs.size() - 1)};
}
GSUB_LAZY_BODY value expression_builder::constant(double v, dtype type) {
    GSUB_ASSERT(is_floating(type), "a constant of a floating type; others are integer()");
    return number(v, 0, type);
}
GSUB_LAZY_BODY value expression_builder::integer(std::int64_t v, dtype type) {
    GSUB_ASSERT(!is_floating(type), "an integer or a bool; others are constant()");
    return number(0, v, type);
}
GSUB_LAZY_BODY value expression_builder::number(double real, std::int64_t whole, dtype type) {
    scalar_expr t;
    t.type = type;
    t.value = is_floating(type) ? real : 0;
    t.integer = is_floating(type) ? 0 : whole;
    return add(t);
}
GSUB_LAZY_BODY value expression_builder::at(std::int32_t of, std::initializer_list<affine> index) {
    GSUB_ASSERT(index.size() == made_.buffers[static_cast<std::size_t>(of)].dims.size(),
                "an access has an index for each dimension of its buffer");
    scalar_expr t;
    t.op = scalar_op::load;
    t.type = made_.buffers[static_cast<std::size_t>(of)].element;
    t.load = static_cast<std::int32_t>(made_.loads.size());
    made_.loads.emplace_back().source = {of, {index.begin(), index.end()}};
    return add(t);
}
GSUB_LAZY_BODY value expression_builder::at(std::int32_t of, std::initializer_list<affine> index,
                                            std::initializer_list<bound> predicate) {
    auto const v = at(of, index);
    made_.loads.back().predicate.assign(predicate.begin(), predicate.end());
    return v;
}

GSUB_LAZY_BODY value expression_builder::at(std::int32_t of, std::initializer_list<affine> index,
                                            std::vector<bound> predicate, value outside) {
    GSUB_ASSERT(outside.made().op == scalar_op::constant, "outside of its bounds a load is a constant");
    auto const instead = outside.made();
    auto const v = at(of, index);
    auto& t = made_.exprs.back();
    GSUB_ASSERT(instead.type == t.type, "outside of its bounds a load has the type of its buffer");
    t.value = instead.value, t.integer = instead.integer;
    made_.loads.back().predicate = std::move(predicate);
    return v;
}

GSUB_LAZY_BODY value expression_builder::at(std::int32_t of, std::initializer_list<affine> index, lookup beyond) {
    auto const v = at(of, index);
    made_.loads.back().source.beyond = std::move(beyond);
    return v;
}

GSUB_LAZY_BODY void expression_builder::check_choice(std::int64_t entries, std::int32_t status) const {
    GSUB_ASSERT(entries > 0, "there is an entry to choose");
    auto const& tells = made_.buffers[static_cast<std::size_t>(status)];
    GSUB_ASSERT(tells.written && tells.element == dtype::i32, "a written i32 tells of choices that are out of range");
}

GSUB_LAZY_BODY affine expression_builder::choose(std::int32_t of, std::initializer_list<affine> index,
                                                 std::int64_t entries, std::int32_t status) {
    auto const& from = made_.buffers[static_cast<std::size_t>(of)];
    GSUB_ASSERT(from.element == dtype::i32 || from.element == dtype::i64, "an i32 or i64 chooses an index");
    GSUB_ASSERT(index.size() == from.dims.size(), "an access has an index for each dimension of its buffer");
    check_choice(entries, status);
    auto const var = static_cast<variable>(made_.axes.size() + made_.chosen.size());
    made_.chosen.push_back({var, {of, {index.begin(), index.end()}}, entries, status});
    return affine::of(var);
}

GSUB_LAZY_BODY value expression_builder::at(std::int32_t of, std::initializer_list<affine> index, value by,
                                            std::int64_t entries, std::int64_t stride, std::int32_t status) {
    GSUB_ASSERT(by.type() == dtype::i32 || by.type() == dtype::i64, "an i32 or i64 chooses an entry");
    check_choice(entries, status);
    auto const v = at(of, index);
    made_.loads.back().chosen = {by.id(), entries, stride, status};
    return v;
}

GSUB_LAZY_BODY value expression_builder::reduce(scalar_op combine, value initial, value update,
                                                std::initializer_list<bound> predicate) {
    GSUB_ASSERT(made_.update < 0, "a computation has one reduction");
    GSUB_ASSERT(initial.type() == update.type() && computes(combine, update.type()),
                "a reduction of values of one type, which it computes with");
    made_.combine = combine;
    made_.initial = initial.id();
    made_.update = update.id();
    made_.bounds.assign(predicate.begin(), predicate.end());
    scalar_expr t;
    t.op = scalar_op::reduced;
    t.type = update.type();
    return add(t);
}
GSUB_LAZY_BODY value expression_builder::sum(value initial, value update, std::initializer_list<bound> predicate) {
    return reduce(scalar_op::add, initial, update, predicate);
}
GSUB_LAZY_BODY value expression_builder::maximum(value initial, value update, std::initializer_list<bound> predicate) {
    return reduce(scalar_op::maximum, initial, update, predicate);
}

GSUB_LAZY_BODY void expression_builder::also_store(std::int32_t of, std::initializer_list<affine> index, value v,
                                                   std::initializer_list<bound> predicate) {
    GSUB_ASSERT(index.size() == made_.buffers[static_cast<std::size_t>(of)].dims.size(),
                "an access has an index for each dimension of its buffer");
    GSUB_ASSERT(made_.buffers[static_cast<std::size_t>(of)].written, "a result goes to an output");
    GSUB_ASSERT(made_.buffers[static_cast<std::size_t>(of)].element == v.type(), "a result has the type of its buffer");
    made_.more_stores.push_back({{of, {index.begin(), index.end()}}, v.id(), {predicate.begin(), predicate.end()}});
}

GSUB_LAZY_BODY void expression_builder::guard(value v, std::initializer_list<affine> at) {
    made_.guard = v.id();
    made_.fallback_at.assign(at.begin(), at.end());
}

GSUB_LAZY_BODY tensor_expression expression_builder::store(std::int32_t of, std::initializer_list<affine> index,
                                                           value v, std::vector<bound> predicate) {
    GSUB_ASSERT(index.size() == made_.buffers[static_cast<std::size_t>(of)].dims.size(),
                "an access has an index for each dimension of its buffer");
    GSUB_ASSERT(made_.buffers[static_cast<std::size_t>(of)].written, "a result goes to an output");
    GSUB_ASSERT(made_.buffers[static_cast<std::size_t>(of)].element == v.type(), "a result has the type of its buffer");
    made_.result = v.id();
    made_.target = {of, {index.begin(), index.end()}};
    made_.target_predicate = std::move(predicate);
    return std::move(made_);
}

} // namespace gsub::loop
