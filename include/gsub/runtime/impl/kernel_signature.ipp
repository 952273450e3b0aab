#pragma once

#include <gsub/core/format.hpp>
#include <gsub/runtime/extern_kernel.hpp>
#include <gsub/runtime/impl/c_arguments.ipp>
#include <gsub/runtime/impl/user_kernel_step.ipp>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::runtime::detail {

// What a user kernel takes and gives at one node: the operands and results that it is registered for, and the types
// that its shape function tells.
template <class = void>
class kernel_signature {
public:
    kernel_signature(node_label const& label, user_kernel const& kernel, any_graph const& g,
                     std::span<value_id const> operands)
        : label_(label), kernel_(kernel), g_(g), operands_(operands) {}

    void check_operands(std::size_t results) const {
        auto const count = static_cast<int>(operands_.size());
        if (count < kernel_.min_operands || (kernel_.max_operands != variadic && count > kernel_.max_operands))
            fail(errors::user_kernel_signature, format_text("it has {} operands; its kernel is registered for {}",
                                                            count, range(kernel_.min_operands, kernel_.max_operands)));
        if (kernel_.results != variadic && static_cast<int>(results) != kernel_.results)
            fail(errors::user_kernel_signature,
                 format_text("it has {} results; its kernel is registered for {}", results, kernel_.results));
        for (std::size_t i = 0; i < operands_.size(); ++i)
            if (operands_[i].valid()) check_element("operand", i, g_.type(operands_[i]).element);
    }

    // Makes the types of the results known.
    void complete(small_vector<type_id, 4>& types, c_attributes<> const& attributes) const {
        auto const known = std::all_of(operands_.begin(), operands_.end(),
                                       [&](value_id v) { return !v.valid() || g_.type(v).is_static(); });
        if (!known) return; // whoever needs static types says so
        if (kernel_.shape) ask(types, attributes);
        for (std::size_t i = 0; i < types.size(); ++i) {
            if (!types[i]->is_static())
                fail(errors::user_kernel_signature,
                     format_text("the type of result {} is not known: {}", i, to_string(*types[i])),
                     kernel_.shape ? ""
                                   : "register its kernel with a shape function, or give the model its value_info");
            check_element("result", i, types[i]->element);
        }
    }

private:
    [[noreturn]] void fail(error_id id, std::string reason, std::string hint = {}) const {
        throw error{label_.says(id, std::move(reason), std::move(hint))};
    }

    void check_element(std::string_view what, std::size_t i, dtype given) const {
        auto const& elements = kernel_.elements;
        if (elements.empty() || given == dtype::undefined ||
            std::find(elements.begin(), elements.end(), given) != elements.end())
            return;
        std::string takes;
        for (auto e : elements) takes += format_text("{}{}", takes.empty() ? "" : ", ", to_string(e));
        fail(errors::user_kernel_signature,
             format_text("{} {} has elements of type {}; its kernel is registered for {}", what, i, to_string(given),
                         takes));
    }
    static std::string range(int least, int most) {
        if (most == variadic) return format_text("at least {}", least);
        return least == most ? format_text("{}", least) : format_text("{} to {}", least, most);
    }

    // Calls the shape function.
    void ask(small_vector<type_id, 4>& types, c_attributes<> const& attributes) const {
        auto const arrays = c_operands();
        std::vector<gsub_result_type> results;
        for (auto t : types) results.push_back(c_type_of(*t));
        std::array<char, GSUB_MESSAGE_SIZE> text{};
        gsub_shape_call call{};
        call.operands = arrays.list().data();
        call.operand_count = operands_.size();
        call.results = results.data();
        call.result_count = results.size();
        call.attributes = attributes.list().data();
        call.attribute_count = attributes.list().size();
        call.typed = attributes.typed();
        call.user = kernel_.user;
        call.message = text.data();
        guarded_call(label_, text, [&] { return kernel_.shape(&call); });
        for (std::size_t i = 0; i < types.size(); ++i) types[i] = answered(i, results[i], *types[i]);
    }

    // The operands, with the data of constants.
    c_arrays<> c_operands() const {
        c_arrays<> arrays;
        for (auto v : operands_) {
            if (!v.valid()) {
                arrays.add_absent();
                continue;
            }
            auto const fixed = g_.is<ops::constant>(v.node);
            auto const* const data = fixed ? g_.constant_data(v.node).raw().data() : nullptr;
            arrays.add(g_.type(v), const_cast<std::byte*>(data)); // read by contract
        }
        return arrays;
    }
    static gsub_result_type c_type_of(tensor_type const& t) {
        gsub_result_type r{};
        r.dtype = static_cast<std::int32_t>(t.element);
        r.rank = t.ranked && t.rank() <= GSUB_MAX_RANK ? static_cast<std::int32_t>(t.rank()) : -1;
        for (std::int32_t d = 0; d < r.rank; ++d) {
            auto const size = t.dims[static_cast<std::size_t>(d)];
            r.dims[d] = size.fixed() ? size.size() : -1;
        }
        return r;
    }

    // The type of a result that the shape function gives, which refines the one declared.
    tensor_type answered(std::size_t result, gsub_result_type const& r, tensor_type declared) const {
        auto const invalid = [&](std::string const& why) {
            fail(error_code::invalid_input, format_text("its shape function gives result {} {}", result, why));
        };
        if (r.dtype < GSUB_UNDEFINED || r.dtype > GSUB_BOOL) invalid(format_text("the element type {}", r.dtype));
        if (r.rank < -1 || r.rank > GSUB_MAX_RANK) invalid(format_text("the rank {}", r.rank));
        tensor_type t;
        t.element = static_cast<dtype>(r.dtype);
        t.ranked = r.rank >= 0;
        for (std::int32_t d = 0; d < r.rank; ++d) {
            if (r.dims[d] < -1) invalid(format_text("the size {}", r.dims[d]));
            t.dims.push_back(r.dims[d] < 0 ? dim{} : dim{r.dims[d]});
        }
        declared.layout = {};
        if (!compatible(declared, t))
            invalid(format_text("the type {}; in the graph it is {}", to_string(t), to_string(declared)));
        t = unify(declared, t);
        if (t.is_static() && !t.elements()) invalid("more than 2^62 elements");
        return t;
    }

    node_label const& label_;
    user_kernel const& kernel_;
    any_graph const& g_;
    std::span<value_id const> operands_;
};

} // namespace gsub::runtime::detail
