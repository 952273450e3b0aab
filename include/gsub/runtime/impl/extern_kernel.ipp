#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/onnx_model.hpp>
#include <gsub/io/protobuf.hpp>
#include <gsub/ir/builder.hpp>
#include <gsub/ir/graph_cloner.hpp>
#include <gsub/runtime/extern_kernel.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <utility>

namespace gsub::runtime {

namespace detail {

static_assert(GSUB_UNDEFINED == static_cast<int>(dtype::undefined) && GSUB_F64 == static_cast<int>(dtype::f64) &&
              GSUB_F32 == static_cast<int>(dtype::f32) && GSUB_F16 == static_cast<int>(dtype::f16) &&
              GSUB_BF16 == static_cast<int>(dtype::bf16) && GSUB_I64 == static_cast<int>(dtype::i64) &&
              GSUB_I32 == static_cast<int>(dtype::i32) && GSUB_I16 == static_cast<int>(dtype::i16) &&
              GSUB_I8 == static_cast<int>(dtype::i8) && GSUB_U8 == static_cast<int>(dtype::u8) &&
              GSUB_BOOL == static_cast<int>(dtype::boolean) && GSUB_U64 == static_cast<int>(dtype::u64) &&
              GSUB_U32 == static_cast<int>(dtype::u32) && GSUB_U16 == static_cast<int>(dtype::u16));

// `app.Swish`, `Relu`.
GSUB_LAZY std::string qualified(std::string_view domain, std::string_view name) {
    return fmt::format("{}{}{}", domain, domain.empty() ? "" : ".", name);
}

// The attributes of a node as C sees them.
template <class = void>
class c_attributes {
public:
    // Of an operator of the op set.
    c_attributes(op_info const& op, attributes_id attributes) : typed_(attributes.typed()) {
        if (!typed_) typed_ = (defaults_ = op.layout.owned()).get();
        auto const values = op.layout.encode(typed_);
        for (std::size_t i = 0; i < values.size(); ++i) {
            auto& e = add(std::string{op.attributes()[i].name});
            auto const& v = values[i];
            switch (v.kind()) {
            case attribute_kind::integer:
                e.integers = {v.integer()};
                break;
            case attribute_kind::real:
                e.reals = {v.real()}, e.kind = GSUB_REALS;
                break;
            case attribute_kind::text:
                e.texts = {v.text()}, e.kind = GSUB_TEXTS;
                break;
            case attribute_kind::integer_list:
                e.integers.assign(v.integer_list().begin(), v.integer_list().end());
                break;
            case attribute_kind::real_list:
                e.reals.assign(v.real_list().begin(), v.real_list().end()), e.kind = GSUB_REALS;
                break;
            }
        }
        finish();
    }
    // Of a node as it was in the file.
    explicit c_attributes(std::string_view node) {
        for (auto const& a : io::parse_onnx_node(node).attributes) read(add(std::string{a.name}), a);
        finish();
    }
    c_attributes(c_attributes const&) = delete;
    c_attributes& operator=(c_attributes const&) = delete;

    [[nodiscard]] std::vector<gsub_attribute> const& list() const noexcept { return list_; }
    [[nodiscard]] void const* typed() const noexcept { return typed_; }

private:
    struct entry {
        std::string name;
        gsub_attribute_kind kind = GSUB_INTEGERS;
        std::vector<std::int64_t> integers{};
        std::vector<double> reals{};
        std::vector<std::string> texts{};
        std::vector<gsub_text> views{};
    };
    entry& add(std::string name) { return entries_.emplace_back(entry{std::move(name)}); }

    static void read(entry& e, io::onnx_attribute const& a) {
        using type = io::onnx_attribute_type;
        enum : std::uint32_t { real = 2, integer = 3, text = 4, reals = 7, integers = 8, texts = 9 }; // field numbers
        if (a.type == type::real || a.type == type::reals)
            e.kind = GSUB_REALS;
        else if (a.type == type::text || a.type == type::texts)
            e.kind = GSUB_TEXTS;
        else if (a.type != type::integer && a.type != type::integers)
            e.kind = GSUB_SERIALIZED, e.texts.emplace_back(a.message);
        // A field that a file leaves out is zero.
        if (a.type == type::real) e.reals = {0};
        if (a.type == type::integer) e.integers = {0};
        if (a.type == type::text) e.texts = {{}};
        for (io::wire_reader r{a.message}; r.next();) {
            if (a.type == type::real && r.field() == real && r.is_fixed32())
                e.reals = {r.real()};
            else if (a.type == type::integer && r.field() == integer && r.is_varint())
                e.integers = {r.integer()};
            else if (a.type == type::text && r.field() == text && r.is_bytes())
                e.texts = {std::string{r.bytes()}};
            else if (a.type == type::reals && r.field() == reals)
                r.each_float([&](float v) { e.reals.push_back(v); });
            else if (a.type == type::integers && r.field() == integers)
                r.each_integer([&](std::int64_t v) { e.integers.push_back(v); });
            else if (a.type == type::texts && r.field() == texts && r.is_bytes())
                e.texts.emplace_back(r.bytes());
        }
    }

    void finish() {
        for (auto& e : entries_) {
            for (auto const& t : e.texts) e.views.push_back({t.c_str(), t.size()});
            gsub_attribute a{};
            a.name = e.name.c_str();
            a.kind = e.kind;
            a.count = e.integers.size() + e.reals.size() + e.texts.size(); // two of them are empty
            if (e.kind == GSUB_INTEGERS)
                a.integers = e.integers.data();
            else if (e.kind == GSUB_REALS)
                a.reals = e.reals.data();
            else
                a.texts = e.views.data();
            list_.push_back(a);
        }
    }

    std::shared_ptr<void> defaults_;
    void const* typed_ = nullptr;
    std::deque<entry> entries_;
    std::vector<gsub_attribute> list_;
};

// Types of operands and results; data are filled in by each call.
template <class = void>
class c_arrays {
public:
    void add(tensor_type const& t, void* data = nullptr) {
        auto const& dims = dims_.emplace_back(sizes_of(t));
        gsub_array a{};
        a.data = data;
        a.dims = dims.data();
        a.rank = static_cast<std::int32_t>(dims.size());
        a.dtype = static_cast<std::int32_t>(t.element);
        a.elements = t.elements().value_or(-1);
        list_.push_back(a);
    }
    void add_absent() { list_.push_back({}); }
    [[nodiscard]] std::vector<gsub_array> const& list() const noexcept { return list_; }

private:
    static ints sizes_of(tensor_type const& t) {
        ints sizes;
        for (auto d : t.dims) sizes.push_back(d.fixed() ? d.size() : -1);
        return sizes;
    }
    std::deque<ints> dims_; // places stay
    std::vector<gsub_array> list_;
};

struct node_label {
    std::string node, op;
    [[nodiscard]] problem says(error_code code, std::string reason, std::string hint = {}) const {
        return {code, node, op, std::move(reason), std::move(hint)};
    }
};

// Calls a function of the application; whatever it does wrong becomes an error that names the node. `text` is what it
// has been given to write to.
template <class F>
void guarded_call(node_label const& label, std::array<char, GSUB_MESSAGE_SIZE>& text, F&& call) {
    int status = GSUB_OK;
    try {
        status = call();
    } catch (error const& e) {
        throw e.within(fmt::format("{} (node \"{}\")", label.op, label.node));
    } catch (std::exception const& e) {
        throw error{label.says(error_code::environment, fmt::format("its kernel has thrown: {}", e.what()))};
    } catch (...) {
        throw error{label.says(error_code::environment, "its kernel has thrown something that is no exception")};
    }
    if (status == GSUB_OK) return;
    auto const known = status == GSUB_UNSUPPORTED || status == GSUB_INVALID_INPUT || status == GSUB_ENVIRONMENT;
    text.back() = 0;
    auto reason = std::string{text.data()};
    if (reason.empty()) reason = "its kernel fails and does not say why";
    if (!known) reason += fmt::format(" (status {})", status);
    throw error{label.says(known ? static_cast<error_code>(status) : error_code::environment, std::move(reason))};
}

template <class = void>
class user_kernel_step final : public user_op {
public:
    user_kernel_step(user_kernel const& k, node_label label, std::shared_ptr<c_attributes<> const> attributes,
                     any_graph const& g, node_id n)
        : function_(k.function),
          user_(k.user),
          owner_(k.owner),
          symbol_(k.symbol),
          label_(std::move(label)),
          attributes_(std::move(attributes)) {
        for (auto v : g.operands(n)) {
            if (v.valid())
                arrays_.add(g.type(v));
            else
                arrays_.add_absent();
        }
        operands_ = g.operand_count(n);
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) arrays_.add(g.type({n, port}));
    }

    void run(std::span<void* const> values, executor& threads) const override {
        small_vector<gsub_array, 16> arrays{as_span(arrays_.list())};
        std::size_t next = 0;
        for (auto& a : arrays)
            if (a.dtype != GSUB_UNDEFINED) a.data = values[next++];
        std::array<char, GSUB_MESSAGE_SIZE> text{};
        gsub_call call{};
        call.operands = arrays.data();
        call.operand_count = operands_;
        call.results = arrays.data() + operands_;
        call.result_count = arrays.size() - operands_;
        call.attributes = attributes_->list().data();
        call.attribute_count = attributes_->list().size();
        call.typed = attributes_->typed();
        call.user = user_;
        call.message = text.data();
        call.threads = &threads;
        call.concurrency = threads.concurrency();
        call.parallel_for = [](gsub_call const* c, std::size_t count, void (*body)(void*, std::size_t),
                               void* argument) {
            static_cast<executor*>(c->threads)->parallel_for(count, [&](std::size_t i) { body(argument, i); });
        };
        guarded_call(label_, text, [&] { return function_(&call); });
    }

    std::string_view symbol() const noexcept override { return symbol_; }
    std::span<gsub_array const> arrays() const noexcept override { return arrays_.list(); }
    std::size_t operand_count() const noexcept override { return operands_; }
    std::span<gsub_attribute const> attributes() const noexcept override { return attributes_->list(); }

private:
    gsub_kernel function_;
    void* user_;
    std::shared_ptr<void const> owner_;
    std::string symbol_;
    node_label label_;
    std::shared_ptr<c_attributes<> const> attributes_;
    c_arrays<> arrays_; // operands, then results
    std::size_t operands_ = 0;
};

// Copies a graph node by node.
template <class = void>
class kernel_binder {
public:
    kernel_binder(any_graph const& g, std::span<user_kernel const> kernels)
        : g_(g), made_{any_graph{g.operators()}}, builder_(made_.graph) {
        for (auto const& k : kernels) {
            auto const name = qualified(k.domain, k.op_type);
            if (k.op_type.empty() || !k.function)
                throw error{error_code::usage,
                            fmt::format("a user kernel for {} has no {}", k.op_type.empty() ? "?" : name,
                                        k.op_type.empty() ? "operator" : "function")};
            if (!kernels_.emplace(std::pair{std::string_view{k.domain}, std::string_view{k.op_type}}, &k).second)
                throw error{error_code::usage, fmt::format("{} has two user kernels", name)};
        }
    }

    bound_graph run() {
        for (auto n : g_.inputs()) moved_[{n, 0}] = made_.graph.add_input(g_.type_of({n, 0}), g_.name({n, 0}));
        for (auto n : g_.order()) {
            if (g_.is<ops::input>(n)) continue;
            small_vector<value_id, 6> operands;
            for (auto v : g_.operands(n)) operands.push_back(v.valid() ? moved_.at(v) : v);
            if (n == g_.return_node()) {
                made_.graph.set_outputs(operands);
                continue;
            }
            auto const* const kernel = kernel_of(n);
            auto const copy = kernel ? bind(n, operands, *kernel) : copied(n, operands);
            made_.graph.set_sources(copy, g_.sources(n));
            if (kernel && g_.sources(n).empty()) made_.graph.set_source(copy, g_.display_name(n));
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port) {
                moved_[{n, port}] = {copy, port};
                if (auto const name = g_.name({n, port}); !name.empty()) made_.graph.set_name({copy, port}, name);
            }
        }
        made_.graph.set_info(g_.info());
        if (!problems_.empty()) throw error{std::move(problems_)};
        return std::move(made_);
    }

private:
    user_kernel const* kernel_of(node_id n) const {
        auto const& op = g_.op(n);
        auto const opaque = g_.is<ops::opaque>(n);
        if (!opaque && op.category == op_category::structural) return nullptr;
        auto const found =
            opaque ? kernels_.find({g_.attributes<ops::opaque>(n).domain, g_.attributes<ops::opaque>(n).op_type})
                   : kernels_.find({op.domain, op.name});
        return found == kernels_.end() ? nullptr : found->second;
    }

    node_id copied(node_id n, std::span<value_id const> operands) {
        if (g_.is<ops::constant>(n)) return builder_.constant(g_.constant_data(n)).node;
        auto const category = g_.op(n).category;
        auto types = types_of(n);
        // What a shape function has found out goes on.
        auto const changed = [&] {
            for (std::size_t i = 0; i < operands.size(); ++i)
                if (operands[i].valid() && made_.graph.type_of(operands[i]) != g_.type_of(g_.operand(n, i)))
                    return true;
            return false;
        };
        if (category != op_category::structural && category != op_category::opaque && changed()) {
            try {
                auto const first = builder_.emit(g_.row(n), g_.attributes(n), operands, types.size());
                return first.node;
            } catch (error const& e) {
                for (auto p : e.problems()) {
                    p.node = g_.display_name(n);
                    problems_.push_back(std::move(p));
                }
            }
        }
        return clone_node(made_.graph, g_, n, operands, cloned_text::nothing, {types, {}});
    }
    small_vector<type_id, 4> types_of(node_id n) const {
        small_vector<type_id, 4> types;
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port) types.push_back(g_.type_of({n, port}));
        return types;
    }

    node_id bind(node_id n, std::span<value_id const> operands, user_kernel const& k) {
        auto const opaque = g_.is<ops::opaque>(n);
        node_label const label{g_.display_name(n), qualified(k.domain, k.op_type)};
        std::shared_ptr<c_attributes<> const> attributes;
        auto types = types_of(n);
        auto const fine = checked(label, [&] {
            if (opaque) {
                auto const blob = g_.constant_data(n).raw();
                attributes = std::make_shared<c_attributes<> const>(
                    std::string_view{reinterpret_cast<char const*>(blob.data()), blob.size()});
            } else {
                attributes = std::make_shared<c_attributes<> const>(g_.op(n), g_.attributes(n));
            }
            check_operands(label, operands, types.size(), k);
            complete(label, operands, types, k, *attributes);
        });
        // Opaque, so that no pass and no generator takes it for the operator that it is.
        auto const copy =
            made_.graph.add_opaque({.domain = k.domain, .op_type = k.op_type, .reason = std::string{computed_by_user}},
                                   opaque ? g_.constant_data(n) : tensor::zeros(dtype::u8, ints{0}), operands, types);
        if (fine)
            made_.steps.emplace_back(
                copy, std::make_shared<user_kernel_step<> const>(k, label, attributes, made_.graph, copy));
        return copy;
    }
    // Errors are gathered: one report names every node that is wrong.
    template <class F>
    bool checked(node_label const& label, F&& f) {
        try {
            f();
            return true;
        } catch (error const& e) {
            for (auto p : e.problems()) {
                if (p.node.empty()) p.node = label.node, p.op = label.op;
                problems_.push_back(std::move(p));
            }
        }
        return false;
    }

    static void check_element(node_label const& label, std::string_view what, std::size_t i, dtype given,
                              user_kernel const& k) {
        if (k.elements.empty() || given == dtype::undefined ||
            std::find(k.elements.begin(), k.elements.end(), given) != k.elements.end())
            return;
        std::string takes;
        for (auto e : k.elements) takes += fmt::format("{}{}", takes.empty() ? "" : ", ", to_string(e));
        throw error{label.says(error_code::unsupported,
                               fmt::format("{} {} has elements of type {}; its kernel is registered for {}", what, i,
                                           to_string(given), takes))};
    }
    static std::string range(int least, int most) {
        if (most == variadic) return fmt::format("at least {}", least);
        return least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
    }
    void check_operands(node_label const& label, std::span<value_id const> operands, std::size_t results,
                        user_kernel const& k) const {
        auto const count = static_cast<int>(operands.size());
        if (count < k.min_operands || (k.max_operands != variadic && count > k.max_operands))
            throw error{
                label.says(error_code::unsupported, fmt::format("it has {} operands; its kernel is registered for {}",
                                                                count, range(k.min_operands, k.max_operands)))};
        if (k.results != variadic && static_cast<int>(results) != k.results)
            throw error{
                label.says(error_code::unsupported,
                           fmt::format("it has {} results; its kernel is registered for {}", results, k.results))};
        for (std::size_t i = 0; i < operands.size(); ++i)
            if (operands[i].valid()) check_element(label, "operand", i, made_.graph.type(operands[i]).element, k);
    }

    // Makes the types of the results known.
    void complete(node_label const& label, std::span<value_id const> operands, small_vector<type_id, 4>& types,
                  user_kernel const& k, c_attributes<> const& attributes) const {
        auto const known = std::all_of(operands.begin(), operands.end(),
                                       [&](value_id v) { return !v.valid() || made_.graph.type(v).is_static(); });
        if (!known) return; // whoever needs static types says so
        if (k.shape) ask(label, operands, types, k, attributes);
        for (std::size_t i = 0; i < types.size(); ++i) {
            if (!types[i]->is_static())
                throw error{label.says(
                    error_code::unsupported,
                    fmt::format("the type of result {} is not known: {}", i, to_string(*types[i])),
                    k.shape ? "" : "register its kernel with a shape function, or give the model its value_info")};
            check_element(label, "result", i, types[i]->element, k);
        }
    }

    void ask(node_label const& label, std::span<value_id const> operands, small_vector<type_id, 4>& types,
             user_kernel const& k, c_attributes<> const& attributes) const {
        c_arrays<> arrays;
        for (auto v : operands) {
            if (!v.valid()) {
                arrays.add_absent();
                continue;
            }
            auto const fixed = made_.graph.is<ops::constant>(v.node);
            auto const* const data = fixed ? made_.graph.constant_data(v.node).raw().data() : nullptr;
            arrays.add(made_.graph.type(v), const_cast<std::byte*>(data)); // read by contract
        }
        std::vector<gsub_result_type> results;
        for (auto t : types) {
            gsub_result_type r{};
            r.dtype = static_cast<std::int32_t>(t->element);
            r.rank = t->ranked && t->rank() <= GSUB_MAX_RANK ? static_cast<std::int32_t>(t->rank()) : -1;
            for (std::int32_t d = 0; d < r.rank; ++d) {
                auto const size = t->dims[static_cast<std::size_t>(d)];
                r.dims[d] = size.fixed() ? size.size() : -1;
            }
            results.push_back(r);
        }
        std::array<char, GSUB_MESSAGE_SIZE> text{};
        gsub_shape_call call{};
        call.operands = arrays.list().data();
        call.operand_count = operands.size();
        call.results = results.data();
        call.result_count = results.size();
        call.attributes = attributes.list().data();
        call.attribute_count = attributes.list().size();
        call.typed = attributes.typed();
        call.user = k.user;
        call.message = text.data();
        guarded_call(label, text, [&] { return k.shape(&call); });
        for (std::size_t i = 0; i < types.size(); ++i) {
            auto const& r = results[i];
            auto const invalid = [&](std::string const& why) {
                throw error{label.says(error_code::invalid_input,
                                       fmt::format("its shape function gives result {} {}", i, why))};
            };
            if (r.dtype < GSUB_UNDEFINED || r.dtype > GSUB_BOOL) invalid(fmt::format("the element type {}", r.dtype));
            if (r.rank < -1 || r.rank > GSUB_MAX_RANK) invalid(fmt::format("the rank {}", r.rank));
            tensor_type t;
            t.element = static_cast<dtype>(r.dtype);
            t.ranked = r.rank >= 0;
            for (std::int32_t d = 0; d < r.rank; ++d) {
                if (r.dims[d] < -1) invalid(fmt::format("the size {}", r.dims[d]));
                t.dims.push_back(r.dims[d] < 0 ? dim{} : dim{r.dims[d]});
            }
            auto declared = *types[i];
            declared.layout = {};
            if (!compatible(declared, t))
                invalid(fmt::format("the type {}; in the graph it is {}", to_string(t), to_string(declared)));
            t = unify(declared, t);
            if (t.is_static() && !t.elements()) invalid("more than 2^62 elements");
            types[i] = t;
        }
    }

    any_graph const& g_;
    bound_graph made_;
    graph_builder builder_;
    std::map<std::pair<std::string_view, std::string_view>, user_kernel const*> kernels_;
    std::map<value_id, value_id> moved_;
    std::vector<problem> problems_;
};

} // namespace detail

GSUB_LAZY_BODY std::shared_ptr<host_op const> bound_graph::step_of(node_id n) const {
    auto const found =
        std::lower_bound(steps.begin(), steps.end(), n, [](auto const& s, node_id m) { return s.first < m; });
    return found == steps.end() || found->first != n ? nullptr : found->second;
}

GSUB_LAZY_BODY result<bound_graph> bind_kernels(any_graph const& g, std::span<user_kernel const> kernels) {
    return capture([&] { return detail::kernel_binder{g, kernels}.run(); });
}

} // namespace gsub::runtime
