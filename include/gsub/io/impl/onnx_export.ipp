#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/io/file.hpp>
#include <gsub/io/impl/onnx_traits.ipp>
#include <gsub/io/onnx_export.hpp>
#include <gsub/io/protobuf.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace gsub::io {

namespace detail {

/// The least IR version that a version of ONNX's operator set goes with. *Source* ONNX, docs/Versioning.md.
[[nodiscard]] constexpr std::int64_t ir_version_for(std::int64_t opset) noexcept {
    return opset <= 8    ? 3
           : opset == 9  ? 4
           : opset == 10 ? 5
           : opset == 11 ? 6
           : opset <= 14 ? 7
           : opset <= 18 ? 8
           : opset <= 20 ? 9
                         : 10;
}

/// Collects the parts of a model; weights are written from where they are.
template <class = void>
class onnx_exporter {
public:
    onnx_exporter(any_graph const& g, std::span<onnx_row const> table, save_options const& options,
                  std::string data_name, std::map<std::string, any_graph> const& branches)
        : g_(g), table_(table), options_(options), branches_(branches), data_name_(std::move(data_name)) {
        for (auto const& [name, type] : g.info().foreign_types) foreign_types_.emplace(name, type);
    }

    void collect() {
        choose_opset();
        name_values();
        write_nodes();
        place_externally();
    }

    // A branch as a subgraph, its inputs under the names of the values that it captures. Its weights are those of the
    // model: a subgraph may read them.
    std::string write_branch(onnx_exporter& around, std::span<std::string const> captured) {
        depth_ = around.depth_ + 1;
        if (depth_ > onnx_limits{}.max_depth)
            throw error{error_code::unsupported,
                        fmt::format("branches are nested more than {} deep", onnx_limits{}.max_depth)};
        opset_ = around.opset_;
        shared_ = around.shared_;
        for (std::size_t i = 0; i < captured.size(); ++i) names_.emplace(value_id{g_.inputs()[i], 0}, captured[i]);
        // Outputs are made by nodes of the branch.
        for (std::size_t i = 0; i < g_.output_count(); ++i)
            if (auto const v = g_.output(i); g_.is<ops::constant>(v.node) && !names_.contains(v))
                names_.emplace(v, fresh("const"));
        name_values();
        write_nodes();
        std::string out;
        wire_writer w{out};
        for (auto const& n : nodes_) w.bytes(1, n);
        w.bytes(2, g_.info().name.empty() ? "branch" : g_.info().name);
        for (std::size_t i = 0; i < g_.output_count(); ++i)
            w.bytes(12, value_info(output_names_[i], g_.type(g_.output(i))));
        return out;
    }

    void write_nodes() {
        for (auto n : g_.order()) {
            if (n == g_.return_node()) continue;
            if (g_.is<ops::constant>(n))
                add_initializer(name_of({n, 0}), g_.blob(n));
            else if (g_.is<ops::opaque>(n))
                write_opaque(n);
            else if (!g_.is<ops::input>(n))
                write_known(n);
            // Subgraphs of later nodes may read the copies.
            if (auto const found = copies_.find(n); found != copies_.end())
                for (auto const& [from, to] : found->second) write_identity(from, to);
        }
    }

    // Calls `text(string_view)` and `raw(span)` with the pieces of the file, in order.
    template <class Text, class Raw>
    void write(Text&& text, Raw&& raw) const {
        std::string head, graph_head, graph_tail, tail;
        wire_writer{head}
            .integer(1, std::max(ir_version_for(opset_), lowest_ir_))
            .bytes(2, "gsub")
            .bytes(3, fmt::format("{}.{}.{}", GSUB_VERSION_MAJOR, GSUB_VERSION_MINOR, GSUB_VERSION_PATCH));
        wire_writer{graph_head}.bytes(2, g_.info().name.empty() ? "graph" : g_.info().name);
        wire_writer values{graph_tail};
        for (auto n : g_.inputs()) values.bytes(11, value_info(name_of({n, 0}), g_.type({n, 0})));
        for (std::size_t i = 0; i < g_.output_count(); ++i)
            values.bytes(12, value_info(output_names_[i], g_.type(g_.output(i))));
        // What the file said of an unknown operator's results; for all others inference finds it again.
        for (auto n : g_.order())
            for (std::uint32_t port = 0; g_.is<ops::opaque>(n) && port < g_.result_count(n); ++port)
                if (value_id const v{n, port};
                    is_written(v) && (g_.type(v).element != dtype::undefined || foreign_types_.contains(name_of(v))))
                    values.bytes(13, value_info(name_of(v), g_.type(v)));
        std::uint64_t length = graph_head.size() + graph_tail.size();
        for (auto const& n : nodes_) length += wire_writer::header_size(1, n.size()) + n.size();
        for (auto const& t : shared_->initializers)
            length += wire_writer::header_size(5, tensor_size(t)) + tensor_size(t);
        wire_writer w{tail};
        for (auto const& d : domains_) w.message(8, [&](wire_writer& o) { o.bytes(1, d.first).integer(2, d.second); });
        for (auto const& entry : g_.info().metadata)
            w.message(14, [&](wire_writer& e) { e.bytes(1, entry.first).bytes(2, entry.second); });
        for (auto const& f : g_.info().functions) w.bytes(25, f);

        text(head);
        text(wire_writer::header(7, length));
        for (auto const& n : nodes_) text(wire_writer::header(1, n.size())), text(n);
        text(graph_head);
        for (auto const& t : shared_->initializers) {
            text(wire_writer::header(5, tensor_size(t)));
            text(t.fields);
            if (t.external) continue;
            text(wire_writer::header(9, t.data.size_bytes()));
            raw(t.data.raw());
        }
        text(graph_tail);
        text(tail);
    }

    [[nodiscard]] bool has_external() const noexcept { return external_; }
    // Writes the weights that have a file of their own.
    void write_external(output_file& out) const {
        static constexpr std::array<std::byte, buffer_alignment> zeros{};
        for (auto const& t : shared_->initializers) {
            if (!t.external) continue;
            out.write(std::span{zeros}.first((buffer_alignment - out.written() % buffer_alignment) % buffer_alignment));
            out.write(t.data.raw());
        }
    }

private:
    struct initializer {
        std::string name, fields; // all fields but the elements
        tensor data;
        bool external = false;
    };

    // What a model and its branches have in common.
    struct shared_state {
        std::unordered_set<std::string> taken;
        std::map<std::string, std::size_t> counters;
        std::unordered_map<hash128, std::uint32_t> small; // to initializers
        std::vector<initializer> initializers;
    };

    static std::uint64_t tensor_size(initializer const& t) {
        return t.fields.size() +
               (t.external ? 0 : wire_writer::header_size(9, t.data.size_bytes()) + t.data.size_bytes());
    }

    void choose_opset() {
        std::int64_t needed = 1, imported = 0;
        for (auto const& [domain, version] : g_.info().domains)
            if (domain.empty()) imported = version;
        bool bound = !g_.info().functions.empty(); // to the imported version
        auto const see = [&](any_graph const& g) {
            for (auto n : g.order()) {
                if (g.is<ops::opaque>(n)) {
                    bound |= g.attributes<ops::opaque>(n).domain.empty() || has_subgraph(g, n);
                } else if (auto const& row = table_[g.row(n)];
                           row.since != 0 && (g.op(n).domain.empty() || g.op(n).domain == "gsub")) {
                    needed =
                        std::max(needed, row.needed_opset ? std::max(row.since, row.needed_opset(g, n)) : row.since);
                }
            }
        };
        see(g_);
        for (auto const& [name, body] : branches_) see(body);
        bound &= imported > 0;
        opset_ = options_.opset != 0 ? options_.opset
                 : bound             ? imported
                                     : std::max({needed, imported, std::int64_t{13}});
        if (bound && opset_ != imported)
            throw error{problem{
                error_code::unsupported,
                {},
                {},
                fmt::format(
                    "operator set {} is asked for, but the model's unknown operators and functions are written in {}",
                    opset_, imported)}};
        if (opset_ < needed)
            throw error{
                problem{error_code::unsupported,
                        {},
                        {},
                        fmt::format("the graph needs operator set {}, it would be written in {}", needed, opset_),
                        bound ? "the unknown operators of the model belong to its own operator set" : ""}};
        domains_ = g_.info().domains;
        auto const own = std::find_if(domains_.begin(), domains_.end(), [](auto const& d) { return d.first.empty(); });
        if (own == domains_.end())
            domains_.insert(domains_.begin(), {"", opset_});
        else
            own->second = opset_;
        // Operators of the user's own, in domains that no file has named.
        auto const add_domains = [&](any_graph const& g) {
            for (auto n : g.order())
                if (auto const& op = g.op(n); table_[g.row(n)].since != 0 && !op.domain.empty() &&
                                              op.domain != "gsub" &&
                                              !any_of(domains_, [&](auto const& d) { return d.first == op.domain; }))
                    domains_.emplace_back(op.domain, table_[g.row(n)].since);
        };
        add_domains(g_);
        for (auto const& [name, body] : branches_) add_domains(body);
    }

    // Inputs, outputs and captured names are fixed; the rest keeps its name where that is free.
    void name_values() {
        for (auto n : g_.inputs())
            if (auto const name = g_.name({n, 0}); !name.empty() && !names_.contains({n, 0}))
                fix({n, 0}, std::string{name});
        output_names_ = g_.info().output_names;
        output_names_.resize(g_.output_count());
        for (std::size_t i = 0; i < g_.output_count(); ++i)
            if (!output_names_[i].empty()) {
                if (depth_ > 0) output_names_[i] = vacant(output_names_[i]); // a name is used once in the whole model
                fix(g_.output(i), output_names_[i]);
            }
        for (auto n : g_.order()) {
            if (!g_.is<ops::opaque>(n)) continue;
            auto const captured = captures(n);
            auto const first = g_.operand_count(n) - captured.size();
            for (std::size_t i = 0; i < captured.size(); ++i) fix(g_.operand(n, first + i), std::string{captured[i]});
        }
        for (auto n : g_.inputs())
            if (g_.name({n, 0}).empty() && !names_.contains({n, 0}))
                fix({n, 0}, vacant(fmt::format("input_{}", g_.input_position(n))));
        for (std::size_t i = 0; i < g_.output_count(); ++i)
            if (output_names_[i].empty()) fix(g_.output(i), output_names_[i] = vacant(fmt::format("output_{}", i)));
        for (auto n : g_.order())
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port) {
                value_id const v{n, port};
                if (names_.contains(v)) continue;
                auto const own = g_.name(v);
                if (!own.empty() && shared_->taken.insert(std::string{own}).second) names_.emplace(v, own);
            }
    }
    // Gives a value a name that it must have; where it has another already, a copy of it gets the name.
    void fix(value_id v, std::string name) {
        if (auto const known = names_.find(v); known == names_.end() && !shared_->taken.contains(name)) {
            shared_->taken.insert(name);
            names_.emplace(v, std::move(name));
        } else if (known == names_.end() || known->second != name) {
            auto& copies = copies_[v.node];
            if (contains(copies, std::pair{v, name})) return;
            if (!shared_->taken.insert(name).second)
                throw error{
                    problem{error_code::unsupported,
                            std::move(name),
                            {},
                            "two values must have this name: inputs, outputs and values that subgraphs read keep "
                            "theirs",
                            "give the outputs other names"}};
            copies.emplace_back(v, std::move(name));
        }
    }

    [[nodiscard]] std::string vacant(std::string name) const {
        while (shared_->taken.contains(name)) name += '_';
        return name;
    }
    std::string fresh(std::string_view stem) {
        std::string name{stem};
        for (auto& number = shared_->counters[name]; !shared_->taken.insert(name).second || name.empty();)
            name = fmt::format("{}_{}", stem, ++number);
        return name;
    }
    std::string name_of(value_id v) const { return const_cast<onnx_exporter*>(this)->assigned_name(v); }
    std::string const& assigned_name(value_id v) {
        auto found = names_.find(v);
        if (found == names_.end()) found = names_.emplace(v, fresh(g_.op(v.node).name)).first;
        return found->second;
    }

    void write_known(node_id n) {
        if (g_.is<ops::if_else>(n)) return write_if(n);
        auto const& row = table_[g_.row(n)];
        if (row.since == 0)
            throw error{problem{error_code::unsupported, g_.display_name(n), std::string{g_.op(n).name},
                                "this operator has no form in ONNX files",
                                g_.is<ops::let>(n) ? "run to-graph-normal-form before saving"
                                : g_.constant(n)   ? "fold constants before saving"
                                                   : ""}};
        onnx_export_context cx{g_,
                               n,
                               opset_,
                               [this](value_id v) { return assigned_name(v); },
                               [this](std::string_view stem) { return fresh_node_name(stem); },
                               [this](tensor const& t) { return small_initializer(t); },
                               [this](std::string node) { nodes_.push_back(std::move(node)); }};
        row.write ? row.write(cx) : cx.write_by_fields();
    }
    void write_if(node_id n) {
        auto const& a = g_.attributes<ops::if_else>(n);
        std::vector<std::string> captured;
        for (std::size_t i = 1; i < g_.operand_count(n); ++i) captured.push_back(assigned_name(g_.operand(n, i)));
        std::string node;
        wire_writer w{node};
        w.bytes(1, assigned_name(g_.operand(n, 0)));
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port) w.bytes(2, assigned_name({n, port}));
        w.bytes(3, fresh_node_name(g_.display_name(n))).bytes(4, "If");
        for (auto const& [key, branch] :
             {std::pair{"then_branch", &a.then_branch}, std::pair{"else_branch", &a.else_branch}}) {
            auto const found = branches_.find(*branch);
            if (found == branches_.end())
                throw error{problem{error_code::unsupported, g_.display_name(n), "If",
                                    fmt::format("function {} is not at hand", quoted{*branch}), "save the module"}};
            auto const body =
                onnx_exporter{found->second, table_, options_, {}, branches_}.write_branch(*this, captured);
            auto const name = std::string_view{key};
            w.message(5, [&](wire_writer& attribute) {
                attribute.bytes(1, name).bytes(6, body).integer(20,
                                                                static_cast<std::int64_t>(onnx_attribute_type::graph));
            });
        }
        nodes_.push_back(std::move(node));
    }

    // Node names share no name space with values, but a name in a fused node may serve as a value's; so all are
    // distinct.
    std::string fresh_node_name(std::string_view stem) { return fresh(stem); }

    std::string small_initializer(tensor const& t) {
        // Equal settings are written once.
        auto const index = static_cast<std::uint32_t>(shared_->initializers.size());
        auto const [found, added] = shared_->small.try_emplace(t.hash(), index);
        if (added) add_initializer(fresh("const"), std::make_shared<constant_blob const>(t));
        return shared_->initializers[found->second].name;
    }

    void add_initializer(std::string name, std::shared_ptr<constant_blob const> const& blob) {
        initializer t;
        t.data = blob->data();
        wire_writer{t.fields}.integers(1, t.data.dims()).integer(2, info(t.data.element()).onnx).bytes(8, name);
        t.name = std::move(name);
        shared_->initializers.push_back(std::move(t));
    }

    [[nodiscard]] std::vector<std::string_view> captures(node_id n) const {
        auto const raw = g_.constant_data(n).raw();
        return parse_onnx_node({reinterpret_cast<char const*>(raw.data()), raw.size()}).inputs;
    }

    // Whether a result of an unknown operator has a name in the file.
    [[nodiscard]] bool is_written(value_id v) const { return g_.used(v) || !g_.name(v).empty(); }

    [[nodiscard]] static bool has_subgraph(any_graph const& g, node_id n) {
        auto const raw = g.constant_data(n).raw();
        auto const node = parse_onnx_node({reinterpret_cast<char const*>(raw.data()), raw.size()});
        return any_of(node.attributes, [](onnx_attribute const& a) {
            return a.type == onnx_attribute_type::graph || a.type == onnx_attribute_type::graphs;
        });
    }

    void write_opaque(node_id n) {
        auto const raw = g_.constant_data(n).raw();
        std::string_view const blob{reinterpret_cast<char const*>(raw.data()), raw.size()};
        std::string node;
        wire_writer w{node};
        std::vector<std::string> inputs;
        auto const captured = captures(n).size();
        for (std::size_t i = 0; i + captured < g_.operand_count(n); ++i) {
            auto const v = g_.operand(n, i);
            inputs.push_back(v.valid() ? assigned_name(v) : std::string{});
        }
        for (auto const& name : inputs) w.bytes(1, name);
        for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
            w.bytes(2, is_written({n, port}) ? assigned_name({n, port}) : std::string{});
        w.bytes(3, fresh_node_name(g_.display_name(n)));
        for (wire_reader r{blob}; r.next();)
            if (r.is_bytes() && r.field() != 1) {
                auto const field = r.field();
                w.bytes(field, r.bytes());
            }
        nodes_.push_back(std::move(node));
    }

    void write_identity(value_id from, std::string const& to) {
        std::string node;
        wire_writer{node}
            .bytes(1, name_of(from))
            .bytes(2, to)
            .bytes(3, fresh_node_name("identity"))
            .bytes(4, "Identity");
        nodes_.push_back(std::move(node));
    }

    void place_externally() {
        if (data_name_.empty()) return;
        std::uint64_t total = 0, at = 0;
        for (auto const& t : shared_->initializers) total += t.data.size_bytes();
        auto const least = total > options_.external_total_bytes ? std::uint64_t{1024} : options_.external_tensor_bytes;
        for (auto& t : shared_->initializers) {
            if (t.data.size_bytes() < least) continue;
            at = (at + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
            auto const entry = [&](wire_writer& w, std::string_view key, std::string_view value) {
                w.message(13, [&](wire_writer& e) { e.bytes(1, key).bytes(2, value); });
            };
            wire_writer w{t.fields};
            entry(w, "location", data_name_);
            entry(w, "offset", fmt::format("{}", at));
            entry(w, "length", fmt::format("{}", t.data.size_bytes()));
            w.integer(14, 1);
            at += t.data.size_bytes();
            t.external = external_ = true;
        }
    }

    [[nodiscard]] std::string value_info(std::string const& name, tensor_type const& t) const {
        std::string out;
        wire_writer w{out};
        w.bytes(1, name);
        if (t.element == dtype::undefined) {
            if (auto const foreign = foreign_types_.find(name); foreign != foreign_types_.end())
                w.bytes(2, foreign->second);
            return out;
        }
        w.message(2, [&](wire_writer& type) {
            type.message(1, [&](wire_writer& tensor) {
                tensor.integer(1, info(t.element).onnx);
                if (!t.ranked) return;
                tensor.message(2, [&](wire_writer& shape) {
                    for (auto d : t.dims)
                        shape.message(1, [&](wire_writer& one) {
                            if (d.fixed())
                                one.integer(1, d.size());
                            else if (d.named())
                                one.bytes(2, d.name().text());
                        });
                });
            });
        });
        return out;
    }

    any_graph const& g_;
    std::span<onnx_row const> table_;
    save_options const& options_;
    std::map<std::string, any_graph> const& branches_; // functions that `If` nodes name, without calls
    std::size_t depth_ = 0;                            // of the branch that is written
    std::string data_name_;                            // of the file for large weights, empty: none
    std::int64_t opset_ = 0, lowest_ir_ = 4;
    std::vector<std::pair<std::string, std::int64_t>> domains_;
    std::map<value_id, std::string> names_;
    std::vector<std::string> output_names_;
    std::map<node_id, std::vector<std::pair<value_id, std::string>>> copies_; // by the source's node
    std::map<std::string_view, std::string_view> foreign_types_;
    std::shared_ptr<shared_state> shared_ = std::make_shared<shared_state>();
    std::vector<std::string> nodes_;
    bool external_ = false;
};

} // namespace detail

namespace detail {

GSUB_LAZY void save_model(any_graph const& g, std::span<onnx_row const> table, std::string const& path,
                          save_options const& options, std::map<std::string, any_graph> const& branches) {
    auto const slash = path.rfind('/');
    auto const data_name = (slash == std::string::npos ? path : path.substr(slash + 1)) + ".data";
    onnx_exporter<> exporter{g, table, options, data_name, branches};
    exporter.collect();
    output_file out{path};
    exporter.write([&](std::string_view text) { out.write(text); },
                   [&](std::span<std::byte const> raw) { out.write(raw); });
    // The weights first: the model never names a file that is not there.
    if (exporter.has_external()) {
        output_file data{path + ".data"};
        exporter.write_external(data);
        data.commit();
    }
    out.commit();
}

GSUB_LAZY std::string write_model(any_graph const& g, std::span<onnx_row const> table, save_options const& options,
                                  std::map<std::string, any_graph> const& branches) {
    onnx_exporter<> exporter{g, table, options, {}, branches};
    exporter.collect();
    std::string out;
    exporter.write(
        [&](std::string_view text) { out += text; },
        [&](std::span<std::byte const> raw) { out.append(reinterpret_cast<char const*>(raw.data()), raw.size()); });
    return out;
}

} // namespace detail

GSUB_LAZY_BODY result<void> save_onnx(any_graph const& g, std::span<onnx_row const> table, std::string const& path,
                                      save_options const& options) {
    return capture([&] { detail::save_model(g, table, path, options, {}); });
}
GSUB_LAZY_BODY result<void> save_onnx(module const& m, std::span<onnx_row const> table, std::string const& path,
                                      save_options const& options, std::string_view entry) {
    return capture([&] {
        auto const g = m.inlined(entry).value();
        detail::save_model(g, table, path, options, m.branches(g).value());
    });
}

GSUB_LAZY_BODY result<std::string> to_onnx(any_graph const& g, std::span<onnx_row const> table,
                                           save_options const& options) {
    return capture([&] { return detail::write_model(g, table, options, {}); });
}
GSUB_LAZY_BODY result<std::string> to_onnx(module const& m, std::span<onnx_row const> table,
                                           save_options const& options, std::string_view entry) {
    return capture([&] {
        auto const g = m.inlined(entry).value();
        return detail::write_model(g, table, options, m.branches(g).value());
    });
}

} // namespace gsub::io
