#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/io/impl/onnx_traits.ipp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/io/protobuf.hpp>
#include <gsub/ir/graph_cloner.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

namespace gsub::io {

namespace detail {

/// Turns `TensorProto`s into tensors, wherever their elements lie.
template <class = void>
class tensor_reader {
public:
    tensor_reader(onnx_model const& model, std::string const* path, load_options const& options)
        : model_(model), path_(path), options_(options) {}

    /// *Errors* throws `error`; `not_supported` for an element type that gsub does not compute with.
    tensor read(onnx_tensor const& t) {
        for (auto d : t.dims)
            if (d < 0) malformed(fmt::format("a negative dimension in {}", to_string(attribute_value{t.dims})));
        auto const element = dtype_of_onnx(t.data_type);
        if (!element)
            throw not_supported{{error_code::unsupported,
                                 std::string{t.name},
                                 {},
                                 fmt::format("element type number {}", t.data_type),
                                 {}}};
        auto const count = checked_product(t.dims);
        if (!count || static_cast<std::uint64_t>(*count) > options_.limits.max_tensor_bytes / byte_size(*element))
            throw error{error_code::unsupported,
                        fmt::format("a tensor of dimensions {} exceeds the limit of {} bytes",
                                    to_string(attribute_value{t.dims}), options_.limits.max_tensor_bytes)};
        auto const needed = static_cast<std::uint64_t>(*count) * byte_size(*element);
        auto const sources = int{t.has_raw} + int{t.typed_elements > 0} + int{t.external};
        if (sources > 1) malformed("elements are given in more than one way");
        if (t.external) return read_external(t, *element, needed);
        if (t.has_raw) return read_raw(t, *element, needed);
        if (t.typed_elements == 0 && *count == 0) return tensor::zeros(*element, t.dims);
        return read_typed(t, *element, static_cast<std::size_t>(*count));
    }

private:
    static void check_length(std::uint64_t given, std::uint64_t needed, ints const& dims) {
        if (given != needed)
            malformed(fmt::format("{} bytes of elements for dimensions {}; {} are needed", given,
                                  to_string(attribute_value{dims}), needed));
    }
    static tensor finish(tensor t) {
        if (t.element() == dtype::boolean)
            for (auto& b : t.mutable_raw()) b = b == std::byte{0} ? std::byte{0} : std::byte{1};
        return t;
    }

    tensor read_raw(onnx_tensor const& t, dtype element, std::uint64_t needed) const {
        check_length(t.length > 0 ? t.length : t.raw.size(), needed, t.dims);
        if (t.length > 0) return from_file(*model_.file, t.offset, element, t.dims, needed);
        auto out = uninitialized(element, t.dims, needed);
        if (needed > 0) std::memcpy(out.mutable_raw().data(), t.raw.data(), t.raw.size());
        return finish(std::move(out));
    }

    static constexpr std::uint64_t large = std::uint64_t{64} << 10; // bytes; from here on a tensor has pages of its own
    static tensor uninitialized(dtype element, ints const& dims, std::uint64_t needed) {
        return needed >= large ? tensor::in_pages(element, dims) : tensor::uninitialized(element, dims);
    }
    tensor from_file(input_file const& file, std::uint64_t offset, dtype element, ints const& dims,
                     std::uint64_t needed) const {
        // An odd offset cannot be borrowed: elements must be aligned. Each tensor has a mapping of its own, which goes
        // with it.
        if (options_.map && needed >= large && element != dtype::boolean && offset % byte_size(element) == 0) {
            auto const mapped = file.map(offset, needed);
            return tensor::borrowed(element, dims, mapped->data(), mapped);
        }
        auto out = uninitialized(element, dims, needed);
        file.read(offset, out.mutable_raw());
        return finish(std::move(out));
    }

    tensor read_external(onnx_tensor const& t, dtype element, std::uint64_t needed) {
        if (!path_) malformed("external data of a model that is in memory; load the file by its path");
        if (t.has_external_length) check_length(t.external_length, needed, t.dims);
        if (!folder_) folder_ = folder::of(*path_).value();
        auto found = files_.find(t.location);
        if (found == files_.end()) found = files_.emplace(t.location, folder_->open(t.location).value()).first;
        auto const& file = found->second;
        if (t.external_offset > file.size() || needed > file.size() - t.external_offset)
            malformed(fmt::format("external data at {} with {} bytes in {}, which has {}", t.external_offset, needed,
                                  quoted{t.location}, file.size()));
        return from_file(file, t.external_offset, element, t.dims, needed);
    }

    // The field of a `TensorProto` for the elements of a type.
    static constexpr std::uint32_t typed_field(dtype element) {
        struct row {
            dtype element;
            std::uint32_t field;
        };
        for (auto const& r :
             {row{dtype::f32, 4}, row{dtype::i64, 7}, row{dtype::f64, 10}, row{dtype::u32, 11}, row{dtype::u64, 11}})
            if (r.element == element) return r.field;
        return 5; // int32_data, which has 16-bit floats as their bits
    }

    static tensor read_typed(onnx_tensor const& t, dtype element, std::size_t count) {
        if (t.typed_elements != count)
            malformed(fmt::format("{} elements for dimensions {}; {} are needed", t.typed_elements,
                                  to_string(attribute_value{t.dims}), count));
        auto out = tensor::uninitialized(element, t.dims);
        auto const field = typed_field(element);
        auto* to = out.mutable_raw().data();
        auto const item = byte_size(element);
        auto const append = [&](auto v) {
            std::memcpy(to, &v, item); // of integers the low bytes, which come first
            to += item;
        };
        for (wire_reader r{t.message}; r.next();) {
            if ((r.field() < 4 || r.field() > 7) && r.field() != 10 && r.field() != 11) continue;
            if (r.field() != field)
                malformed(fmt::format("elements in field {} of element type {}", r.field(), to_string(element)));
            if (element == dtype::f32)
                r.each_float(append);
            else if (element == dtype::f64)
                r.each_double(append);
            else
                r.each_integer([&](std::int64_t v) { append(element == dtype::boolean ? std::int64_t{v != 0} : v); });
        }
        return out;
    }

    onnx_model const& model_;
    std::string const* path_;
    load_options const& options_;
    std::optional<folder> folder_;
    std::map<std::string_view, input_file> files_;
};

/// Makes a graph of a parsed model. Collects problems and goes on after each as far as that makes sense.
template <class = void>
class onnx_importer {
public:
    onnx_importer(onnx_model const& model, std::string const* path, dialect const& d, std::span<onnx_row const> table,
                  load_options const& options, module* functions = nullptr)
        : model_(model),
          path_(path),
          dialect_(d),
          table_(table),
          options_(options),
          functions_(functions),
          tensors_(model, path, options),
          graph_(d),
          builder_(graph_) {}

    /// What a branch reads from the graph around it, by name.
    struct capture {
        std::string_view name;
        type_id type;
        tensor const* known = nullptr; // small constants are taken along
        tensor_knowledge const* elements = nullptr;
    };

    /// The graph of a branch: its inputs are the captured values in their order, but for small constants.
    any_graph run_branch(std::span<capture const> captured) {
        for (auto const& c : captured) {
            auto const v = c.known ? builder_.constant(*c.known, c.name) : graph_.add_input(c.type, c.name);
            if (c.elements && !c.known) builder_.set_known(v, *c.elements);
            values_[c.name] = v;
            outside_.insert(c.name);
        }
        return run();
    }
    [[nodiscard]] std::map<std::string_view, std::string_view> const& foreign() const noexcept { return foreign_; }

    any_graph run() {
        read_opsets();
        collect_names();
        give_up_if_wrong();
        sort_nodes();
        give_up_if_wrong();
        make_inputs();
        for (auto i : order_) make_node(i);
        make_outputs();
        give_up_if_wrong();
        graph_.erase_dead();
        graph_.order_canonically(); // what the file had as Constant nodes or as initializers comes out the same
        graph_.compact();
        report_notes();
        return std::move(graph_);
    }

private:
    static constexpr std::int64_t max_size = std::int64_t{1} << 62; // of a dimension

    void wrong(error_code code, std::string_view node, std::string_view op, std::string reason, std::string hint = {}) {
        ++problem_count_;
        if (problems_.empty() || problems_.size() < options_.limits.max_problems)
            problems_.push_back({code, std::string{node}, std::string{op}, std::move(reason), std::move(hint)});
    }
    void give_up_if_wrong() {
        if (problem_count_ == 0) return;
        if (problem_count_ > problems_.size())
            problems_.push_back({problems_.back().code,
                                 {},
                                 {},
                                 fmt::format("{} more problems are not listed", problem_count_ - problems_.size()),
                                 {}});
        throw error{std::move(problems_)};
    }
    void note(std::string text) {
        if (options_.observe) options_.observe->on_note(text);
    }

    // Version of an operator's domain, or 0.
    [[nodiscard]] std::int64_t opset(std::string_view domain) const {
        auto const found = opsets_.find(domain);
        return found == opsets_.end() ? 0 : model_.opsets[found->second].second;
    }

    void read_opsets() {
        graph_info info;
        for (std::uint32_t i = 0; i < model_.opsets.size(); ++i) {
            auto const& [domain, v] = model_.opsets[i];
            if (opsets_.emplace(domain, i).second)
                info.domains.emplace_back(domain, v);
            else if (auto const before = opset(domain); before != v)
                wrong(error_code::invalid_input, {}, {},
                      fmt::format("versions {} and {} of operator set {}", before, v, quoted{domain}));
        }
        auto const version = opset({});
        if (version > newest_opset)
            wrong(error_code::unsupported, {}, {},
                  fmt::format("operator set {} is newer than {}, the newest that gsub reads", version, newest_opset),
                  fmt::format("convert the model with onnx.version_converter to operator set {}", newest_opset));
        for (auto const& n : model_.graph.nodes)
            if (n.domain.empty() && version < 1) {
                wrong(error_code::invalid_input, {}, {}, "the model does not say which operator set it uses");
                break;
            }
        if (model_.graph.has_sparse_initializers)
            wrong(error_code::unsupported, {}, {}, "sparse initializers", "store the weights densely");
        if (model_.has_training) note("the training graph of the model is left out");
        info.name = model_.graph.name;
        for (auto const& [key, value] : model_.metadata) info.metadata.emplace_back(key, value);
        for (auto const& f : model_.functions) info.functions.emplace_back(f);
        graph_.set_info(std::move(info));
    }

    // Who makes each value. A name is made once.
    void collect_names() {
        auto const& g = model_.graph;
        captures_.resize(g.nodes.size());
        for (std::uint32_t i = 0; i < g.initializers.size(); ++i)
            if (!initializers_.emplace(g.initializers[i].name, i).second)
                wrong(error_code::invalid_input, g.initializers[i].name, {}, "two initializers have this name");
        for (auto const* list : {&g.outputs, &g.values})
            for (auto const& v : *list)
                if (!v.type.empty() && declared_.emplace(v.name, static_cast<std::uint32_t>(typed_.size())).second)
                    typed_.push_back(&v);
        for (auto const* list : {&g.inputs, &g.outputs})
            for (auto const& v : *list)
                if (v.name.empty()) wrong(error_code::invalid_input, {}, {}, "an input or output has no name");
        std::unordered_set<std::string_view> inputs;
        for (auto const& v : g.inputs)
            if (!inputs.insert(v.name).second)
                wrong(error_code::invalid_input, v.name, {}, "two inputs have this name");
        for (std::uint32_t i = 0; i < g.nodes.size(); ++i)
            for (auto name : g.nodes[i].outputs) {
                if (name.empty()) continue;
                if (inputs.contains(name) || initializers_.contains(name) || !producers_.emplace(name, i).second)
                    wrong(error_code::invalid_input, label(i), g.nodes[i].op_type,
                          fmt::format("value {} is made more than once", quoted{name}));
            }
        // Inputs with an initializer are weights with a default; the default stands.
        for (auto const& v : g.inputs)
            if (!initializers_.contains(v.name)) signature_.push_back(&v), outside_.insert(v.name);
    }

    [[nodiscard]] std::string_view label(std::uint32_t i) const {
        auto const& n = model_.graph.nodes[i];
        for (auto name : n.outputs)
            if (n.name.empty() && !name.empty()) return name;
        return n.name;
    }

    // Values that a node reads: its inputs, then what its subgraphs capture. Asked once a node.
    std::vector<std::string_view> reads(std::uint32_t i) {
        auto const& n = model_.graph.nodes[i];
        auto names = n.inputs;
        bool has_graphs = false;
        for (auto const& a : n.attributes)
            has_graphs |= a.type == onnx_attribute_type::graph || a.type == onnx_attribute_type::graphs;
        for (auto name : names) read_.insert(name);
        if (!has_graphs) return names;
        auto& captured = captures_[i];
        try {
            for (auto name : captured_names(n, options_.limits)) {
                if (exists(name))
                    captured.push_back(name);
                else
                    wrong(error_code::invalid_input, label(i), n.op_type,
                          fmt::format("a subgraph reads value {}, which does not exist", quoted{name}));
            }
        } catch (error const& e) {
            for (auto const& p : e.problems()) wrong(p.code, label(i), n.op_type, p.reason, p.hint);
        }
        for (auto name : captured) read_.insert(name);
        append(names, captured);
        return names;
    }
    [[nodiscard]] bool exists(std::string_view name) const {
        return producers_.contains(name) || initializers_.contains(name) || outside_.contains(name);
    }

    // Nodes from which an output can be reached, operands first: an order that the file's own order has no part in.
    // Every node is visited, so that faults are found in dead ones too; those come last and are dropped.
    void sort_nodes() {
        auto const& g = model_.graph;
        for (auto const& v : g.outputs) read_.insert(v.name);
        enum class mark : std::uint8_t { fresh, open, done };
        std::vector<mark> marks(g.nodes.size(), mark::fresh);
        struct frame {
            std::uint32_t node;
            std::vector<std::string_view> names;
            std::size_t next = 0;
        };
        std::vector<frame> stack;
        std::vector<std::uint32_t> sorted;
        auto const visit = [&](std::uint32_t root) {
            if (marks[root] != mark::fresh) return;
            marks[root] = mark::open;
            stack.push_back({root, reads(root)});
            while (!stack.empty()) {
                auto& top = stack.back();
                if (top.next == top.names.size()) {
                    marks[top.node] = mark::done;
                    sorted.push_back(top.node);
                    stack.pop_back();
                    continue;
                }
                auto const name = top.names[top.next++];
                if (name.empty()) continue;
                auto const made = producers_.find(name);
                if (made == producers_.end()) {
                    if (!exists(name))
                        wrong(error_code::invalid_input, label(top.node), g.nodes[top.node].op_type,
                              fmt::format("input {} does not exist", quoted{name}));
                    continue;
                }
                if (marks[made->second] == mark::open) {
                    wrong(error_code::invalid_input, label(top.node), g.nodes[top.node].op_type,
                          fmt::format("input {} depends on the node itself", quoted{name}));
                    for (auto const& f : stack) marks[f.node] = mark::done; // one report a cycle
                    return stack.clear();
                }
                if (marks[made->second] == mark::fresh) {
                    marks[made->second] = mark::open;
                    auto const next = made->second;
                    stack.push_back({next, reads(next)});
                }
            }
        };
        for (auto const& v : g.outputs)
            if (auto const made = producers_.find(v.name); made != producers_.end())
                visit(made->second);
            else if (!exists(v.name))
                wrong(error_code::invalid_input, v.name, {}, "the graph's output does not exist");
        order_ = sorted;
        for (std::uint32_t i = 0; i < g.nodes.size(); ++i) visit(i);
        if (sorted.size() > order_.size())
            note(fmt::format("{} nodes lead to no output and are left out", sorted.size() - order_.size()));
    }

    static tensor_type type_of(onnx_value const& v) {
        tensor_type t;
        if (!v.is_tensor) return t;
        t.element = dtype_of_onnx(v.data_type).value_or(dtype::undefined);
        t.ranked = v.has_shape;
        for (auto const& d : v.dims)
            t.dims.push_back(d.size >= 0 && d.size <= max_size ? dim{d.size}
                             : d.name.empty()                  ? dim{}
                                                               : dim{symbol{d.name}});
        return t;
    }

    void make_inputs() {
        for (auto const* v : signature_) {
            auto const type = type_of(*v);
            for (auto const& d : v->dims)
                if (d.size < -1 || d.size > max_size)
                    wrong(error_code::invalid_input, v->name, "input", fmt::format("a dimension of {}", d.size));
            if (!type.elements() && type.is_static())
                wrong(error_code::unsupported, v->name, "input", "more than 2^62 elements");
            values_[v->name] = graph_.add_input(type, v->name);
            remember_if_foreign(*v);
        }
        for (auto const& v : model_.graph.outputs) remember_if_foreign(v);
    }
    // What the file says of a result of an unknown operator.
    type_id declared_type(std::string_view name) {
        auto const found = declared_.find(name);
        if (name.empty() || found == declared_.end()) return {}; // a result that nobody reads has no name
        auto const& v = *typed_[found->second];
        remember_if_foreign(v);
        return type_of(v);
    }
    void remember_if_foreign(onnx_value const& v) {
        if (!v.type.empty() && !dtype_of_onnx(v.data_type)) foreign_.emplace(v.name, v.type);
    }

    // The value of a name, made on first use where it is an initializer. Invalid where making it failed.
    value_id value(std::string_view name) {
        if (auto const known = values_.find(name); known != values_.end()) return known->second;
        auto const initializer = initializers_.find(name);
        if (initializer == initializers_.end()) return {};
        auto const& t = model_.graph.initializers[initializer->second];
        value_id made;
        try {
            made = builder_.constant(tensors_.read(t), name);
        } catch (not_supported const& e) {
            // Kept as an opaque Constant node, which holds the whole tensor.
            made = opaque_constant(t, name, e.what.reason);
        } catch (error const& e) {
            for (auto const& p : e.problems())
                wrong(p.code, name, "initializer",
                      p.node.empty() ? p.reason : fmt::format("{}: {}", quoted{p.node}, p.reason), p.hint);
            made = graph_.add_constant(tensor::zeros(dtype::f32, ints{0}));
        }
        return values_[name] = made;
    }

    value_id opaque_constant(onnx_tensor const& t, std::string_view name, std::string const& reason) {
        std::string whole{t.message};
        if (t.length > 0 && t.length <= std::min<std::uint64_t>(options_.limits.max_tensor_bytes, 1 << 30)) {
            std::string raw(t.length, '\0');
            model_.file->read(t.offset, std::as_writable_bytes(std::span{raw}));
            wire_writer{whole}.bytes(9, raw);
        } else if (t.external || t.length > 0) {
            wrong(error_code::unsupported, name, "initializer",
                  fmt::format("element type number {} with elements in a file of their own or beyond 1 GiB",
                              t.data_type));
            return graph_.add_constant(tensor::zeros(dtype::f32, ints{0}));
        }
        std::string node;
        wire_writer w{node};
        w.bytes(4, "Constant");
        w.message(5, [&](wire_writer& a) {
            a.bytes(1, "value").bytes(5, whole).integer(20, static_cast<std::int64_t>(onnx_attribute_type::tensor));
        });
        auto const type = declared_type(name);
        auto const n =
            graph_.add_opaque({.domain = "", .op_type = "Constant", .reason = reason}, blob_of(node), {}, {&type, 1});
        graph_.set_name({n, 0}, name);
        return {n, 0};
    }

    static tensor blob_of(std::string_view text) {
        return tensor::from<std::uint8_t>(ints{static_cast<std::int64_t>(text.size())},
                                          std::span{reinterpret_cast<std::uint8_t const*>(text.data()), text.size()});
    }

    void make_node(std::uint32_t i) {
        auto const& n = model_.graph.nodes[i];
        auto outputs = n.outputs;
        while (outputs.size() > 1 && outputs.back().empty()) outputs.pop_back();
        std::vector<value_id> operands;
        for (auto name : n.inputs) operands.push_back(name.empty() ? value_id{} : value(name));
        while (!operands.empty() && !operands.back().valid()) operands.pop_back();
        auto const version = opset(n.domain);
        auto const first_new = graph_.capacity();
        std::optional<problem> reason;
        value_id made;
        small_vector<value_id, 4> given; // results that other nodes have
        try {
            made = n.op_type == "If" && n.domain.empty()
                       ? import_if(i, operands, outputs.size(), reason, given)
                       : import_known(n, version, operands, outputs.size(), reason, given);
        } catch (not_supported const& e) { reason = e.what; } catch (error const& e) {
            for (auto const& p : e.problems())
                wrong(p.code, label(i), fmt::format("{}-{}", n.op_type, version), p.reason, p.hint);
            made = graph_.add_constant(tensor::zeros(dtype::f32, ints{0})); // something to go on with
            type_id const unknown{};
            for (auto name : outputs)
                if (!name.empty()) values_[name] = graph_.add_input(unknown, {});
            return;
        }
        if (!made.valid()) {
            made = {make_opaque(i, operands, outputs, *reason), 0};
        } else {
            if (given.empty() || !given[0].valid()) made = folded(made, outputs.size());
        }
        for (std::uint32_t port = 0; port < outputs.size(); ++port) {
            if (outputs[port].empty()) continue;
            auto const other = port < given.size() ? given[port] : value_id{};
            if (!other.valid() && port >= graph_.result_count(made.node)) continue; // nothing reads it
            auto const v = other.valid() ? other : value_id{made.node, port};
            values_[outputs[port]] = v;
            if (v.node.index >= first_new) graph_.set_name(v, outputs[port]);
        }
        for (auto k = static_cast<std::uint32_t>(first_new); k < graph_.capacity(); ++k)
            if (graph_.sources({k}).empty()) graph_.set_source({k}, label(i)); // those of a branch have theirs
    }

    // The node as one of gsub's operators; an invalid value with a reason where it must stay opaque.
    value_id import_known(onnx_node const& n, std::int64_t version, std::vector<value_id> const& operands,
                          std::size_t results, std::optional<problem>& reason, small_vector<value_id, 4>& given) {
        problem why{
            error_code::unsupported, {}, {}, "gsub does not know this operator", "gsub ops lists the operators"};
        std::optional<std::uint16_t> row = n.op_type == "Constant" && n.domain.empty()
                                               ? std::optional{structural::constant}
                                               : find_row(dialect_.ops, n.domain, n.op_type);
        if (row && (n.domain == "gsub" || table_[*row].since == 0)) row.reset();
        if (row && version < table_[*row].since) {
            why.reason = fmt::format("its form in operator set {} is not supported; from {} on it is", version,
                                     table_[*row].since);
            why.hint = "convert the model with onnx.version_converter";
            row.reset();
        }
        if (!row) {
            reason = std::move(why);
            return {};
        }
        onnx_import_context cx{
            builder_,
            n,
            version,
            operands,
            results,
            [this](std::string_view text) { return tensors_.read(parse_onnx_tensor(text)); },
            [this, &n](std::size_t i) { return i < n.outputs.size() && read_.contains(n.outputs[i]); }};
        auto const import = table_[*row].import;
        auto const made = import ? import(cx) : cx.add_by_fields(*row);
        if (auto const extra = cx.unread_attribute()) {
            why.reason = fmt::format("attribute {} is not supported", quoted{*extra});
            why.hint = {};
            reason = std::move(why);
            return {};
        }
        given = cx.given();
        return made;
    }

    // Where the condition is known the branch taken, node by node, so that its types follow from what is known here.
    value_id import_if(std::uint32_t i, std::vector<value_id> const& operands, std::size_t results,
                       std::optional<problem>& reason, small_vector<value_id, 4>& given) {
        auto const& n = model_.graph.nodes[i];
        auto const fail = [](std::string text) {
            throw error{problem{error_code::invalid_input, {}, {}, std::move(text), {}}};
        };
        if (operands.size() != 1 || n.inputs.size() != 1)
            fail(fmt::format("{} operands; it takes a condition", n.inputs.size()));
        std::string_view branches[2]; // else, then
        for (auto const& a : n.attributes)
            for (wire_reader r{a.message}; r.next();)
                if (r.field() == 6 && r.is_bytes() && (a.name == "then_branch" || a.name == "else_branch"))
                    branches[a.name == "then_branch"] = r.bytes();
        if (branches[0].data() == nullptr || branches[1].data() == nullptr) fail("a branch is missing");
        if (auto const condition = known_condition(operands[0])) {
            std::vector<value_id> passed;
            auto const body = import_branch(i, branches[*condition], passed, functions_);
            auto const values = insert(body, passed);
            if (values.size() != results) fail(fmt::format("{} results; the branch gives {}", results, values.size()));
            for (auto v : values) given.push_back(v);
            return values.empty() ? builder_.constant(tensor::scalar(false)) : values[0];
        }
        if (!functions_ || !find_row(dialect_.ops, {}, "If")) {
            reason = problem{error_code::unsupported,
                             {},
                             {},
                             functions_ ? "gsub does not know this operator"
                                        : "which branch it takes is not known, and a graph has no functions",
                             functions_ ? "" : "load_onnx_module gives a module"};
            return {};
        }
        std::vector<value_id> passed;
        std::string names[2];
        for (int which : {1, 0}) {
            passed.clear();
            auto body = import_branch(i, branches[which], passed, functions_);
            if (body.output_count() != results)
                fail(fmt::format("{} results; a branch gives {}", results, body.output_count()));
            names[which] = fmt::format("{}{}", label(i), which ? ".then_branch" : ".else_branch");
            while (functions_->find(names[which])) names[which] += '_';
            if (functions_->functions().size() >= options_.limits.max_functions)
                throw error{problem{error_code::unsupported,
                                    {},
                                    {},
                                    fmt::format("more than {} functions", options_.limits.max_functions),
                                    {}}};
            functions_->add(names[which], std::move(body));
        }
        auto const made = add_if(graph_, *functions_, operands[0], names[1], names[0], passed);
        return {made, 0};
    }

    [[nodiscard]] std::optional<bool> known_condition(value_id v) const {
        if (!v.valid()) return std::nullopt;
        if (auto const* k = builder_.known(v); k && k->size() == 1 && (*k)[0].fixed) return (*k)[0].value != 0;
        if (!graph_.is<ops::constant>(v.node)) return std::nullopt;
        auto const& t = graph_.constant_data(v.node);
        if (t.element() != dtype::boolean || t.elements() != 1) return std::nullopt;
        return t.data<bool>()[0];
    }

    // A branch as a graph of what it captures; `passed` are the captured values here.
    any_graph import_branch(std::uint32_t i, std::string_view branch, std::vector<value_id>& passed,
                            module* functions) {
        // On the heap: branches nest.
        auto const made = std::make_unique<onnx_model>();
        auto& part = *made;
        part.ir_version = model_.ir_version;
        part.opsets = model_.opsets;
        part.graph = parse_onnx_graph(branch);
        part.has_graph = true;
        part.file = model_.file;
        part.memory = model_.memory;
        if (!part.graph.inputs.empty())
            throw error{problem{error_code::invalid_input, {}, {}, "a branch has inputs; it takes none", {}}};
        std::vector<capture> captured;
        for (auto name : captures_[i]) {
            auto const v = value(name);
            if (!v.valid()) continue; // already a problem
            capture c{name, graph_.type_of(v), nullptr, builder_.known(v)};
            if (graph_.is<ops::constant>(v.node) &&
                graph_.constant_data(v.node).elements() <= static_cast<std::int64_t>(max_known_elements))
                c.known = &graph_.constant_data(v.node);
            captured.push_back(c);
            if (!c.known) passed.push_back(v);
        }
        auto const inner = std::make_unique<onnx_importer<>>(part, path_, dialect_, table_, options_, functions);
        try {
            auto body = inner->run_branch(as_span(captured));
            for (auto const& f : inner->foreign()) foreign_.insert(f);
            return body;
        } catch (error const& e) { // the file's node is the `If`
            auto problems = std::vector<problem>(e.problems().begin(), e.problems().end());
            for (auto& p : problems)
                p.reason =
                    fmt::format("in a branch, {}{}{}: {}", p.op, p.op.empty() ? "" : " ", quoted{p.node}, p.reason);
            throw error{std::move(problems)};
        }
    }

    // The nodes of a graph, applied to values of this one; gives its outputs.
    std::vector<value_id> insert(any_graph const& body, std::span<value_id const> passed) {
        graph_cloner copies{body, graph_};
        for (std::size_t k = 0; k < passed.size(); ++k) copies.stand({body.inputs()[k], 0}, passed[k]);
        for (auto n : body.order()) {
            if (n == body.return_node() || body.is<ops::input>(n)) continue;
            if (body.is<ops::opaque>(n) || body.is<ops::if_else>(n)) {
                copies.clone(n);
                continue;
            }
            auto const operands = copies.operands(n);
            auto const results = body.result_count(n);
            auto const made = body.is<ops::constant>(n)
                                  ? builder_.constant(body.constant_data(n))
                                  : folded(builder_.emit(body.row(n), body.attributes(n), operands, results), results);
            copies.stand(n, made.node);
            graph_.set_sources(made.node, body.sources(n));
            for (std::uint32_t port = 0; port < results; ++port)
                if (graph_.name({made.node, port}).empty()) graph_.set_name({made.node, port}, body.name({n, port}));
        }
        std::vector<value_id> outputs;
        for (std::size_t i = 0; i < body.output_count(); ++i) outputs.push_back(copies(body.output(i)));
        return outputs;
    }

    // A value all of whose elements are known needs no computation.
    value_id folded(value_id v, std::size_t results) {
        auto const* known = builder_.known(v);
        auto const& type = graph_.type(v);
        if (!known || results != 1 || graph_.is<ops::constant>(v.node) ||
            !(is_integer(type.element) || type.element == dtype::boolean) || !type.is_static())
            return v;
        auto t = tensor::uninitialized(dtype::i64, type.sizes());
        if (static_cast<std::size_t>(t.elements()) != known->size()) return v;
        for (std::size_t i = 0; i < known->size(); ++i) {
            if (!(*known)[i].fixed) return v;
            t.mutable_data<std::int64_t>()[i] = (*known)[i].value;
        }
        return builder_.constant(t.converted_to(type.element));
    }

    node_id make_opaque(std::uint32_t i, std::vector<value_id> operands, std::vector<std::string_view> const& outputs,
                        problem const& reason) {
        auto const& n = model_.graph.nodes[i];
        // The node without the names that the graph itself keeps; in place of its inputs, the captured names.
        std::string blob;
        wire_writer w{blob};
        auto const& captured = captures_[i];
        operands.resize(n.inputs.size());
        for (auto name : captured) w.bytes(1, name), operands.push_back(value(name));
        for (wire_reader r{n.message}; r.next();)
            if (r.is_bytes() && (r.field() == 4 || r.field() == 5 || r.field() == 7 || r.field() == 8)) {
                auto const field = r.field();
                w.bytes(field, r.bytes());
            }
        std::vector<type_id> types;
        for (auto name : outputs) types.push_back(declared_type(name));
        opaque_[fmt::format("{}{}{}", n.domain, n.domain.empty() ? "" : ".", n.op_type)].push_back(reason.reason);
        return graph_.add_opaque(
            {.domain = std::string{n.domain}, .op_type = std::string{n.op_type}, .reason = reason.reason},
            blob_of(blob), operands, types);
    }

    void make_outputs() {
        std::vector<value_id> outputs;
        std::vector<std::string> names;
        for (auto const& v : model_.graph.outputs) {
            auto const made = value(v.name);
            if (!made.valid()) continue; // already a problem
            auto const declared = type_of(v);
            if (!compatible(graph_.type(made), declared))
                note(fmt::format("output {} is declared as {} and is {}", quoted{v.name}, to_string(declared),
                                 to_string(graph_.type(made))));
            outputs.push_back(made);
            names.emplace_back(v.name);
        }
        auto info = graph_.info();
        for (auto const& [name, type] : foreign_) info.foreign_types.emplace_back(name, type);
        graph_.set_info(std::move(info));
        graph_.set_outputs(outputs, names);
    }

    void report_notes() {
        for (auto const& [op, reasons] : opaque_)
            note(fmt::format("{}{}{}{} as in the file: {}", reasons.size(), reasons.size() == 1 ? " node " : " nodes ",
                             op, reasons.size() == 1 ? " stays" : " stay", reasons.front()));
    }

    onnx_model const& model_;
    std::string const* path_;
    dialect const& dialect_;
    std::span<onnx_row const> table_;
    load_options const& options_;
    module* functions_; // where branches go; null: a graph alone is wanted
    tensor_reader<> tensors_;
    any_graph graph_;
    graph_builder builder_;
    std::vector<problem> problems_;
    std::size_t problem_count_ = 0;
    // To places in the lists of the model, and of `typed_`.
    std::unordered_map<std::string_view, std::uint32_t> initializers_, producers_, opsets_, declared_;
    std::vector<onnx_value const*> typed_;
    std::unordered_map<std::string_view, value_id> values_;
    std::unordered_set<std::string_view> read_;            // values that a node or the outside reads
    std::map<std::string_view, std::string_view> foreign_; // types that gsub does not compute with
    std::vector<onnx_value const*> signature_;
    std::unordered_set<std::string_view> outside_;        // names of the signature
    std::vector<std::vector<std::string_view>> captures_; // of each node
    std::vector<std::uint32_t> order_;
    std::map<std::string, std::vector<std::string>> opaque_; // operator -> reasons
};

} // namespace detail

GSUB_LAZY_BODY result<any_graph> load_onnx(std::string const& path, dialect const& d, std::span<onnx_row const> table,
                                           load_options const& options) {
    auto model = parse_onnx_file(path, options.limits);
    if (!model) return model.error();
    auto g = capture([&] { return detail::onnx_importer<>{*model, &path, d, table, options}.run(); });
    if (!g) return g.error().within(path);
    return g;
}

GSUB_LAZY_BODY result<any_graph> load_onnx(std::span<std::byte const> data, dialect const& d,
                                           std::span<onnx_row const> table, load_options const& options) {
    auto model = parse_onnx(data, options.limits);
    if (!model) return model.error();
    return capture([&] { return detail::onnx_importer<>{*model, nullptr, d, table, options}.run(); });
}

namespace detail {
GSUB_LAZY module import_module(onnx_model const& model, std::string const* path, dialect const& d,
                               std::span<onnx_row const> table, load_options const& options) {
    module m;
    m.add("main", any_graph{d});
    auto main = onnx_importer<>{model, path, d, table, options, &m}.run();
    m.add("main", std::move(main));
    return m;
}
} // namespace detail

GSUB_LAZY_BODY result<module> load_onnx_module(std::string const& path, dialect const& d,
                                               std::span<onnx_row const> table, load_options const& options) {
    auto model = parse_onnx_file(path, options.limits);
    if (!model) return model.error();
    auto m = capture([&] { return detail::import_module(*model, &path, d, table, options); });
    if (!m) return m.error().within(path);
    return m;
}

GSUB_LAZY_BODY result<module> load_onnx_module(std::span<std::byte const> data, dialect const& d,
                                               std::span<onnx_row const> table, load_options const& options) {
    auto model = parse_onnx(data, options.limits);
    if (!model) return model.error();
    return capture([&] { return detail::import_module(*model, nullptr, d, table, options); });
}

} // namespace gsub::io
