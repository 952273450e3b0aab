#pragma once

#include <gsub/core/format.hpp>
#include <gsub/passes/partition/outline.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace gsub::passes {

namespace detail {

inline constexpr std::uint32_t no_part = 0xffffffffu;

// What stands for the values of one graph in another.
class value_map {
public:
    explicit value_map(any_graph const& g) : values_(g.capacity()) {}
    value_id operator()(value_id v) const {
        if (!v.valid()) return v;
        auto const& row = values_[v.node.index];
        return v.port < row.size() ? row[v.port] : value_id{};
    }
    void set(value_id v, value_id to) {
        auto& row = values_[v.node.index];
        while (row.size() <= v.port) row.push_back(value_id{});
        row[v.port] = to;
    }
    void set(any_graph const& g, node_id n, node_id to) {
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) set({n, port}, {to, port});
    }

private:
    std::vector<small_vector<value_id, 1>> values_;
};

// Inputs, name and outputs are as before; `place(out, n, operands, map)` appends what stands for each other node.
template <class Place>
any_graph rebuilt(any_graph const& g, Place&& place) {
    any_graph out{g.operators()};
    value_map map{g};
    small_vector<value_id, 6> operands;
    for (auto n : g.inputs()) {
        auto const copy = out.add_input(g.type_of({n, 0}), g.name({n, 0})).node;
        out.set_sources(copy, g.sources(n));
        map.set(g, n, copy);
    }
    for (auto n : g.order()) {
        if (n == g.return_node() || g.is<ops::input>(n)) continue;
        operands.clear();
        for (auto v : g.operands(n)) operands.push_back(map(v));
        place(out, n, operands, map);
    }
    operands.clear();
    for (std::size_t i = 0; i < g.output_count(); ++i) operands.push_back(map(g.output(i)));
    out.set_info(g.info());
    auto const names = g.info().output_names;
    out.set_outputs(operands, names);
    return out;
}

// One outlining: the new body, and functions as they are made.
template <class = void>
class outlining {
public:
    outlining(any_graph const& g, module& m, std::span<outlined_part const> parts, outline_options const& options)
        : g_(g),
          m_(m),
          parts_(parts),
          options_(options),
          owner_(g.capacity(), no_part),
          left_out_(g.capacity(), false),
          contents_(parts.size()),
          last_(parts.size()),
          state_(parts.size()),
          main_(g.operators()),
          moved_(g) {
        for (auto n : options.left_out) left_out_[n.index] = true;
        find_owners();
    }

    any_graph run(outliner& names, std::vector<std::string>& made) {
        made.assign(parts_.size(), {});
        for (auto n : g_.inputs()) {
            auto const copy = main_.add_input(g_.type_of({n, 0}), g_.name({n, 0})).node;
            main_.set_sources(copy, g_.sources(n));
            moved_.set(g_, n, copy);
            placed(n);
        }
        for (auto n : g_.order()) {
            if (n == g_.return_node() || g_.is<ops::input>(n) || left_out_[n.index]) continue;
            if (auto const part = owner_[n.index]; part == no_part || n == last_[part]) emit(n, names, made);
        }
        small_vector<value_id, 6> outputs;
        for (std::size_t i = 0; i < g_.output_count(); ++i) outputs.push_back(moved_(g_.output(i)));
        main_.set_info(g_.info());
        auto const output_names = g_.info().output_names;
        main_.set_outputs(outputs, output_names);
        return std::move(main_);
    }

private:
    enum class state : std::uint8_t { waiting, open, done };

    // The part of each operator, and of each weight and piece of weight arithmetic that one part alone reads.
    void find_owners() {
        for (std::uint32_t i = 0; i < parts_.size(); ++i)
            for (auto n : parts_[i].nodes) owner_[n.index] = i;
        auto const order = g_.order();
        for (auto at = order.size(); at-- > 0;) {
            auto const n = order[at];
            if (!g_.constant(n) || owner_[n.index] != no_part) continue;
            bool first = true;
            auto owner = no_part;
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
                g_.for_each_use({n, port}, [&](use u) {
                    auto const by = owner_[u.user.index];
                    owner = first || owner == by ? by : no_part;
                    first = false;
                });
            owner_[n.index] = owner;
        }
        for (auto n : order)
            if (auto const part = owner_[n.index]; part != no_part) {
                contents_[part].push_back(n);
                if (!g_.constant(n) || !last_[part].valid()) last_[part] = n;
            }
        node_state_.assign(g_.capacity(), state::waiting);
    }

    state& state_of(node_id n) {
        auto const part = owner_[n.index];
        return part == no_part ? node_state_[n.index] : state_[part];
    }
    void placed(node_id n) { state_of(n) = state::done; }
    bool copied(node_id n) const {
        return g_.is<ops::constant>(n) && g_.constant_data(n).elements() <= options_.copied_elements;
    }

    // Appends a node, or the call of its part, after all that it reads. Iterative: graphs are deep.
    void emit(node_id wanted, outliner& names, std::vector<std::string>& made) {
        stack_.assign(1, wanted);
        while (!stack_.empty()) {
            auto const n = stack_.back();
            auto const part = owner_[n.index];
            auto& s = state_of(n);
            if (s == state::done) {
                stack_.pop_back();
                continue;
            }
            auto const depth = stack_.size();
            auto const need = [&](node_id reader) {
                for (auto v : g_.operands(reader)) {
                    if (!v.valid() || (part != no_part && owner_[v.node.index] == part)) continue;
                    auto const before = state_of(v.node);
                    if (before == state::waiting) stack_.push_back(v.node);
                    if (before == state::open)
                        throw error{error_code::internal,
                                    format_text("part {} needs its own results",
                                                part == no_part ? std::string{"?"} : parts_[part].stem)};
                }
            };
            if (s == state::waiting) {
                s = state::open;
                if (part == no_part)
                    need(n);
                else
                    for (auto member : contents_[part]) need(member);
                if (stack_.size() > depth) continue;
            }
            stack_.pop_back();
            if (part == no_part)
                take_over(n);
            else
                made[part] = make_function(part, names);
            state_of(n) = state::done;
        }
    }

    void take_over(node_id n) {
        if (copied(n)) { // where parts alone read it, each has its own
            bool anybody = false, outside = false;
            g_.for_each_use({n, 0}, [&](use u) {
                anybody = true;
                outside |= owner_[u.user.index] == no_part;
            });
            if (anybody && !outside) return;
        }
        small_vector<value_id, 6> operands;
        for (auto v : g_.operands(n)) operands.push_back(moved_(v));
        moved_.set(g_, n, clone_node(main_, g_, n, operands));
    }

    std::string make_function(std::uint32_t part, outliner& names) {
        any_graph body{g_.operators()};
        std::map<value_id, value_id> inside;
        std::vector<value_id> arguments, outputs, stand_for;
        std::vector<std::string> sources;
        std::set<std::string> known_sources;
        auto const bring = [&](value_id v) {
            if (!v.valid()) return v;
            auto& to = inside[v];
            if (to.valid()) return to;
            if (copied(v.node)) {
                to = {clone_node(body, g_, v.node, {}), 0};
            } else {
                arguments.push_back(moved_(v));
                to = body.add_input(g_.type_of(v), g_.name(v));
            }
            return to;
        };
        for (auto n : contents_[part]) {
            small_vector<value_id, 6> operands;
            for (auto v : g_.operands(n)) operands.push_back(bring(v));
            auto const copy = clone_node(body, g_, n, operands);
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port) {
                inside[{n, port}] = {copy, port};
                bool read_outside = false;
                g_.for_each_use({n, port}, [&](use u) {
                    read_outside = owner_[u.user.index] != part && !left_out_[u.user.index];
                    return !read_outside;
                });
                if (read_outside) outputs.push_back({copy, port}), stand_for.push_back({n, port});
            }
            if (g_.constant(n)) continue;
            for (auto& s : g_.sources(n))
                if (known_sources.insert(s).second) sources.push_back(std::move(s));
        }
        body.set_outputs(outputs);
        auto const& f = m_.add(names.next_name(parts_[part].stem), std::move(body), parts_[part].attributes);
        auto const call = add_call(main_, m_, f.name, arguments);
        main_.set_sources(call, sources);
        for (std::uint32_t port = 0; port < stand_for.size(); ++port) {
            moved_.set(stand_for[port], {call, port});
            if (auto const name = g_.name(stand_for[port]); !name.empty()) main_.set_name({call, port}, name);
        }
        return f.name;
    }

    any_graph const& g_;
    module& m_;
    std::span<outlined_part const> parts_;
    outline_options options_;
    std::vector<std::uint32_t> owner_; // by node id
    std::vector<bool> left_out_;
    std::vector<std::vector<node_id>> contents_; // by part, in order
    std::vector<node_id> last_;                  // operator of each part
    std::vector<state> state_, node_state_;      // of parts; of other nodes
    std::vector<node_id> stack_;
    any_graph main_;
    value_map moved_;
};

} // namespace detail

GSUB_LAZY_BODY std::string identifier_of(std::string_view name) {
    auto const lower = [](char c) { return c >= 'a' && c <= 'z'; };
    auto const upper = [](char c) { return c >= 'A' && c <= 'Z'; };
    std::string out;
    for (std::size_t i = 0; i < name.size(); ++i) {
        auto const c = name[i];
        if (upper(c)) {
            if (i > 0 && lower(name[i - 1])) out += '_';
            out += static_cast<char>(c - 'A' + 'a');
        } else {
            out += lower(c) || (c >= '0' && c <= '9') ? c : '_';
        }
    }
    return out;
}

GSUB_LAZY_BODY outliner::outliner(module& m) : m_(&m) {
    for (auto const& f : m.functions()) taken_.insert(f.name);
}

GSUB_LAZY_BODY std::string outliner::next_name(std::string const& stem) {
    for (auto& number = numbers_[stem];; ++number)
        if (auto name = format_text("{}_{}", stem, static_cast<unsigned long long>(number)); taken_.insert(name).second)
            return name;
}

GSUB_LAZY_BODY std::vector<std::string>
outliner::operator()(std::string_view function, std::span<outlined_part const> parts, outline_options const& options) {
    auto const body = m_->find(function)->body; // functions move when others are added
    std::vector<std::string> made;
    auto changed = detail::outlining{body, *m_, parts, options}.run(*this, made);
    m_->find(function)->body = std::move(changed);
    return made;
}

} // namespace gsub::passes
