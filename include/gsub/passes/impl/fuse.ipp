#pragma once

#include <gsub/core/message.hpp>
#include <gsub/ir/traversal.hpp>
#include <gsub/passes/fuse.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace gsub::passes {

namespace detail {

inline constexpr std::uint32_t no_group = 0xffffffffu;

GSUB_LAZY bool same_shape(tensor_type const& a, tensor_type const& b) noexcept {
    if (!a.ranked || !b.ranked || a.rank() != b.rank()) return false;
    for (std::size_t i = 0; i < a.rank(); ++i)
        if (!provably_equal(a.dims[i], b.dims[i])) return false;
    return true;
}

// Whether the shape of a result follows from nothing that is known before the run.
GSUB_LAZY bool of_unknown_shape(tensor_type const& t) noexcept {
    return !t.ranked || std::any_of(t.dims.begin(), t.dims.end(), [](dim d) { return d.unknown(); });
}

// Groups as union-find over the operators in topological order. The root of a group is its last node.
class grouping {
public:
    grouping(any_graph const& g, fuse_ops const& options) : g_(g), options_(options) {
        find_operators();
        find_edges();
        find_post_dominators();
        for (int sweep = 0; sweep < 2; ++sweep)
            for (std::uint32_t i = 0; i < nodes_.size(); ++i) visit(i, sweep);
    }

    [[nodiscard]] std::size_t operators() const noexcept { return nodes_.size(); }
    [[nodiscard]] node_id node(std::uint32_t i) const noexcept { return nodes_[i]; }
    [[nodiscard]] bool stays(std::uint32_t i) const noexcept {
        return g_.is<ops::opaque>(nodes_[i]) || g_.is<ops::call>(nodes_[i]);
    }
    [[nodiscard]] std::uint32_t root(std::uint32_t i) const noexcept {
        while (group_[i] != i) i = group_[i];
        return i;
    }
    [[nodiscard]] std::vector<std::uint32_t> const& members(std::uint32_t of_root) const noexcept {
        return members_[of_root];
    }
    // Group that a node belongs to, or none.
    [[nodiscard]] std::uint32_t group_of(node_id n) const noexcept {
        auto const i = index_[n.index];
        return i == no_group ? no_group : root(i);
    }
    [[nodiscard]] pass_outcome const& outcome() const noexcept { return outcome_; }

private:
    struct edge {
        std::uint32_t to;
        fuse_kind kind;
    };
    // A node of the post-dominator tree: its parent is the first node that all paths from it go through, and `kind` the
    // most restrictive edge on the way. `jump` is an ancestor farther up, so that ancestors are found in O(log n).
    struct tree_node {
        std::uint32_t parent, jump, depth;
        fuse_kind kind, jump_kind;
    };

    void find_operators() {
        index_.assign(g_.capacity(), no_group);
        auto const results = g_.results_node();
        auto const needed = upstream(g_, {&results, 1});
        for (auto n : g_.order()) {
            auto const graph_own = g_.op(n).category == op_category::structural && !g_.is<ops::call>(n);
            if (graph_own || g_.constant(n) || !needed[n.index]) continue;
            index_[n.index] = static_cast<std::uint32_t>(nodes_.size());
            nodes_.push_back(n);
            kinds_.push_back(fuse_kind_of(g_, n));
            group_.push_back(index_[n.index]);
            members_.push_back({index_[n.index]});
        }
    }

    void find_edges() {
        edges_.resize(nodes_.size());
        ends_.assign(nodes_.size(), false);
        for (std::uint32_t i = 0; i < nodes_.size(); ++i)
            for (std::uint32_t port = 0; port < g_.result_count(nodes_[i]); ++port) {
                value_id const v{nodes_[i], port};
                g_.for_each_use(v, [&](use u) {
                    auto const to = index_[u.user.index];
                    if (to == no_group) {
                        ends_[i] = true; // an output, or read by what no output needs
                        return;
                    }
                    auto kind = kinds_[to];
                    if (kind == fuse_kind::broadcast && same_shape(g_.type(v), g_.type(value_id{u.user, 0})))
                        kind = fuse_kind::elementwise;
                    edges_[i].push_back({to, kind});
                });
            }
    }

    void find_post_dominators() {
        auto const outside = static_cast<std::uint32_t>(nodes_.size()); // the root: behind all outputs
        tree_.resize(nodes_.size() + 1);
        tree_[outside] = {outside, outside, 0, fuse_kind::opaque, fuse_kind::opaque};
        for (auto i = outside; i-- > 0;) {
            auto& t = tree_[i];
            t.parent = outside, t.kind = fuse_kind::opaque;
            if (!ends_[i] && !edges_[i].empty()) {
                t.parent = edges_[i].front().to, t.kind = edges_[i].front().kind;
                for (auto e : edges_[i]) {
                    t.kind = std::max(t.kind, e.kind);
                    t.parent = common_ancestor(t.parent, e.to, t.kind);
                }
            }
            auto const& p = tree_[t.parent];
            t.depth = p.depth + 1;
            auto const doubles = p.depth - tree_[p.jump].depth == tree_[p.jump].depth - tree_[tree_[p.jump].jump].depth;
            t.jump = doubles ? tree_[p.jump].jump : t.parent;
            t.jump_kind = doubles ? std::max({t.kind, p.jump_kind, tree_[p.jump].jump_kind}) : t.kind;
        }
    }

    // `kind` becomes at least that of every edge on the two ways.
    std::uint32_t common_ancestor(std::uint32_t a, std::uint32_t b, fuse_kind& kind) const {
        auto const step = [&](std::uint32_t& n, bool jump) {
            kind = std::max(kind, jump ? tree_[n].jump_kind : tree_[n].kind);
            n = jump ? tree_[n].jump : tree_[n].parent;
        };
        if (tree_[a].depth < tree_[b].depth) std::swap(a, b);
        while (tree_[a].depth > tree_[b].depth) step(a, tree_[tree_[a].jump].depth >= tree_[b].depth);
        while (a != b) {
            auto const jump = tree_[a].jump != tree_[b].jump;
            step(a, jump), step(b, jump);
        }
        return a;
    }

    void visit(std::uint32_t i, int sweep) {
        auto const kind = kinds_[i];
        auto const sink = tree_[i].parent;
        if (kind == fuse_kind::opaque || kind == fuse_kind::reduction || sink == nodes_.size()) return;
        if (root(i) == root(sink)) return;
        fuse_kind between{}, last{};
        if (kind == fuse_kind::out_fusable) {
            if (sweep != 0 || tree_[i].kind != fuse_kind::elementwise) return;
            between = last = fuse_kind::broadcast;
        } else if (kind <= fuse_kind::broadcast) {
            if (tree_[i].kind > fuse_kind::reduction) return;
            between = fuse_kind::injective, last = fuse_kind::out_fusable;
        } else {
            if (sweep != 1) return;
            between = last = fuse_kind::injective;
        }
        if (kinds_[root(sink)] <= last && find_region(i, sink, between) && within_limits(sink)) merge_into(root(sink));
    }

    // Collects `from` and everything between it and `sink`; false where something between is of another kind.
    bool find_region(std::uint32_t from, std::uint32_t sink, fuse_kind between) {
        seen_.resize(nodes_.size(), 0);
        ++visits_;
        region_.assign(1, from);
        seen_[from] = visits_;
        for (std::size_t at = 0; at < region_.size(); ++at) {
            for (auto e : edges_[region_[at]]) {
                if (e.to == sink || seen_[e.to] == visits_) continue;
                if (kinds_[root(e.to)] > between) return false;
                seen_[e.to] = visits_;
                region_.push_back(e.to);
            }
            if (region_.size() >= options_.max_ops) return refuse("too many operators");
        }
        return true;
    }

    bool refuse(std::string_view reason) {
        outcome_.skip(reason);
        return false;
    }

    bool within_limits(std::uint32_t sink) {
        std::set<std::uint32_t> roots{root(sink)};
        for (auto i : region_) roots.insert(root(i));
        std::size_t count = 0;
        for (auto r : roots) count += members_[r].size();
        if (count > options_.max_ops) return refuse("too many operators");
        std::set<value_id> read;
        for (auto r : roots)
            for (auto i : members_[r])
                for (auto v : g_.operands(nodes_[i]))
                    if (v.valid() && !roots.contains(group_of(v.node))) read.insert(v);
        return read.size() <= options_.max_parameters || refuse("too many parameters");
    }

    void merge_into(std::uint32_t target) {
        for (auto i : region_) {
            auto const r = root(i);
            if (r == target) continue;
            group_[r] = target;
            members_[target].insert(members_[target].end(), members_[r].begin(), members_[r].end());
            members_[r].clear();
            // What leads a group decides what may join it.
            if (kinds_[r] == fuse_kind::out_fusable) kinds_[target] = fuse_kind::out_fusable;
        }
        for (auto i : region_) group_[i] = target; // short ways to the root
    }

    any_graph const& g_;
    fuse_ops options_;
    std::vector<node_id> nodes_;
    std::vector<std::uint32_t> index_; // by node id
    std::vector<fuse_kind> kinds_;     // of the node; at a root, of the group
    std::vector<std::uint32_t> group_;
    std::vector<std::vector<std::uint32_t>> members_;
    std::vector<std::vector<edge>> edges_;
    std::vector<bool> ends_;
    std::vector<tree_node> tree_;
    std::vector<std::uint32_t> seen_, region_; // seen in which visit
    std::uint32_t visits_ = 0;
    pass_outcome outcome_;
};

// `GlobalAveragePool` as `global_average_pool`, anything but letters and digits as `_`.
GSUB_LAZY std::string identifier_of(std::string_view op) {
    auto const lower = [](char c) { return c >= 'a' && c <= 'z'; };
    auto const upper = [](char c) { return c >= 'A' && c <= 'Z'; };
    std::string out;
    for (std::size_t i = 0; i < op.size(); ++i) {
        auto const c = op[i];
        if (upper(c)) {
            if (i > 0 && lower(op[i - 1])) out += '_';
            out += static_cast<char>(c - 'A' + 'a');
        } else {
            out += lower(c) || (c >= '0' && c <= '9') ? c : '_';
        }
    }
    return out;
}

// Gives names that no function of a module has.
class function_names {
public:
    explicit function_names(module const& m) {
        for (auto const& f : m.functions()) taken_.insert(f.name);
    }
    std::string next(std::string const& stem) {
        for (auto& number = numbers_[stem];; ++number)
            if (auto name = message({stem, "_", static_cast<unsigned long long>(number)}); taken_.insert(name).second)
                return name;
    }

private:
    std::set<std::string> taken_;
    std::map<std::string, std::uint64_t> numbers_;
};

// Rewrites one function's body: groups become functions of `m`.
template <class = void>
class fusion {
public:
    fusion(any_graph const& g, module& m, function_names& names, fuse_ops const& options)
        : g_(g), m_(m), names_(names), groups_(g, options), owner_(g.capacity(), no_group), main_(g.operators()) {
        find_owners();
    }

    // The new body, with the number of functions made.
    any_graph run(pass_outcome& outcome) {
        outcome += groups_.outcome();
        for (auto n : g_.inputs()) place(n, main_.add_input(g_.type_of({n, 0}), g_.name({n, 0})).node);
        for (auto n : g_.order()) {
            if (n == g_.results_node() || g_.is<ops::input>(n)) continue;
            auto const i = owner_[n.index];
            if (i == no_group || groups_.stays(i)) {
                small_vector<value_id, 6> operands;
                for (auto v : g_.operands(n)) operands.push_back(mapped(v));
                place(n, copy_node(main_, g_, n, operands, true));
            } else if (n == groups_.node(i)) {
                make_function(i);
                ++outcome.matches;
                outcome.changed = true;
            }
        }
        small_vector<value_id, 6> outputs;
        for (std::size_t i = 0; i < g_.output_count(); ++i) outputs.push_back(mapped(g_.output(i)));
        main_.set_info(g_.info());
        auto const names = g_.info().output_names;
        main_.set_outputs(outputs, names);
        return std::move(main_);
    }

private:
    // The group of each operator, and of each weight and piece of weight arithmetic that one group alone reads.
    void find_owners() {
        auto const order = g_.order();
        for (auto at = order.size(); at-- > 0;) {
            auto const n = order[at];
            if (!g_.constant(n)) {
                owner_[n.index] = groups_.group_of(n);
                continue;
            }
            bool first = true;
            auto owner = no_group;
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port)
                g_.for_each_use({n, port}, [&](use u) {
                    auto const by = owner_[u.user.index];
                    owner = first || owner == by ? by : no_group;
                    first = false;
                });
            owner_[n.index] = owner != no_group && groups_.stays(owner) ? no_group : owner;
        }
        contents_.resize(groups_.operators());
        for (auto n : order)
            if (owner_[n.index] != no_group) contents_[owner_[n.index]].push_back(n);
    }

    void place(node_id from, node_id to) {
        for (std::uint32_t port = 0; port < g_.result_count(from); ++port) moved_[{from, port}] = {to, port};
    }
    value_id mapped(value_id v) const { return v.valid() ? moved_.at(v) : v; }

    void make_function(std::uint32_t group) {
        any_graph body{g_.operators()};
        std::map<value_id, value_id> inside;
        std::vector<value_id> arguments;
        std::vector<std::string> sources;
        std::string stem = "fused";
        auto const bring = [&](value_id v) {
            if (!v.valid()) return v;
            auto& to = inside[v];
            if (!to.valid()) {
                arguments.push_back(mapped(v));
                to = body.add_input(g_.type_of(v), g_.name(v));
            }
            return to;
        };
        for (auto n : contents_[group]) {
            small_vector<value_id, 6> operands;
            for (auto v : g_.operands(n)) operands.push_back(bring(v));
            auto const copy = copy_node(body, g_, n, operands, true);
            for (std::uint32_t port = 0; port < g_.result_count(n); ++port) inside[{n, port}] = {copy, port};
            if (g_.constant(n)) continue;
            for (auto& s : g_.sources(n))
                if (std::find(sources.begin(), sources.end(), s) == sources.end()) sources.push_back(std::move(s));
            if (auto const op = identifier_of(g_.op(n).name); stem.size() + op.size() < 64) stem += message({"_", op});
        }
        auto const last = groups_.node(group);
        std::vector<value_id> outputs, stands_for;
        for (std::uint32_t port = 0; port < g_.result_count(last); ++port)
            if (g_.used(value_id{last, port}))
                outputs.push_back(inside.at({last, port})), stands_for.push_back({last, port});
        body.set_outputs(outputs);
        auto const& f = m_.add(names_.next(stem), std::move(body), {.primitive = true});
        auto const call = add_call(main_, m_, f.name, arguments);
        main_.set_sources(call, sources);
        for (std::uint32_t port = 0; port < stands_for.size(); ++port) {
            moved_[stands_for[port]] = {call, port};
            if (auto const name = g_.name(stands_for[port]); !name.empty()) main_.set_name({call, port}, name);
        }
    }

    any_graph const& g_;
    module& m_;
    function_names& names_;
    grouping groups_;
    std::vector<std::uint32_t> owner_;
    std::vector<std::vector<node_id>> contents_; // by group, in order
    any_graph main_;
    std::map<value_id, value_id> moved_;
};

} // namespace detail

GSUB_LAZY_BODY fuse_kind fuse_kind_of(any_graph const& g, node_id n) {
    auto const& op = g.op(n);
    auto const known_shapes = [&] {
        for (std::uint32_t port = 0; port < g.result_count(n); ++port)
            if (detail::of_unknown_shape(g.type({n, port}))) return false;
        return true;
    };
    switch (op.category) {
    case op_category::elementwise:
        return fuse_kind::broadcast;
    case op_category::injective:
    case op_category::source: // the shapes of these may be computed by the graph
        return known_shapes() ? fuse_kind::injective : fuse_kind::opaque;
    case op_category::reduction:
        return op.plain_reduction ? fuse_kind::reduction : fuse_kind::out_fusable;
    case op_category::contraction:
        return fuse_kind::out_fusable;
    case op_category::structural:
    case op_category::opaque:
        break;
    }
    return fuse_kind::opaque;
}

GSUB_LAZY_BODY std::vector<std::vector<node_id>> fuse_groups(any_graph const& g, fuse_ops const& options) {
    detail::grouping const groups{g, options};
    std::vector<std::vector<node_id>> found;
    for (std::uint32_t i = 0; i < groups.operators(); ++i) {
        if (groups.root(i) != i || groups.stays(i)) continue;
        auto members = groups.members(i);
        std::sort(members.begin(), members.end());
        auto& nodes = found.emplace_back();
        for (auto m : members) nodes.push_back(groups.node(m));
    }
    return found;
}

GSUB_LAZY_BODY result<pass_outcome> fuse_ops::operator()(module& m, pass_context& cx) const {
    pass_outcome outcome;
    detail::function_names names{m};
    std::vector<std::string> todo;
    for (auto const& f : m.functions())
        if (opaque_to(pass_info::of<fuse_ops>(), f))
            outcome.skip("opaque function");
        else
            todo.push_back(f.name);
    for (auto const& function_name : todo) {
        cx.check_stop();
        auto const body = m.find(function_name)->body; // functions move when others are added
        pass_outcome here;
        auto fused = detail::fusion{body, m, names, *this}.run(here);
        if (here.changed) m.find(function_name)->body = std::move(fused);
        outcome += here;
    }
    return outcome;
}

GSUB_LAZY_BODY bool is_view(any_graph const& body) {
    for (auto n : body.order())
        if (body.op(n).category != op_category::structural && !body.constant(n) && !body.op(n).free_view) return false;
    return true;
}

namespace detail {

// Functions of a module whose calls are replaced, and in which order their callers can be rewritten.
template <class = void>
class unfusion {
public:
    unfusion(module const& m) : m_(m) {
        for (auto const& f : m.functions()) {
            functions_[f.name] = &f;
            for (auto n : f.body.order())
                if (f.body.is<ops::call>(n)) ++calls_[f.body.attributes<ops::call>(n).callee];
        }
    }

    module run(pass_outcome& outcome, pass_context const& cx) {
        std::map<std::string_view, bool> entered; // true when done
        std::vector<std::pair<function const*, bool>> stack;
        for (auto const& f : m_.functions()) stack.push_back({&f, false});
        while (!stack.empty()) {
            auto const [f, callees_done] = stack.back();
            stack.pop_back();
            if (callees_done) {
                bodies_.emplace(f->name, rewritten(f->body, outcome));
                entered[f->name] = true;
                continue;
            }
            if (entered.contains(f->name)) continue;
            cx.check_stop();
            entered[f->name] = false;
            stack.push_back({f, true});
            for (auto n : f->body.order())
                if (auto const* callee = replaceable(f->body, n)) {
                    auto const known = entered.find(callee->name);
                    if (known == entered.end())
                        stack.push_back({callee, false});
                    else if (!known->second)
                        fail(f->body, n, message({"function ", in_quotes(callee->name), " calls itself"}));
                }
        }
        module out;
        out.set_entry_points(m_.entry_points());
        auto const& entries = m_.entry_points();
        for (auto const& f : m_.functions()) {
            auto const entry = std::find(entries.begin(), entries.end(), f.name) != entries.end();
            if (primitive(f) && !entry)
                outcome.changed = true;
            else
                out.add(f.name, std::move(bodies_.at(f.name)), f.attributes);
        }
        return out;
    }

private:
    static bool primitive(function const& f) { return f.attributes.primitive && f.attributes.compiler.empty(); }
    [[noreturn]] static void fail(any_graph const& g, node_id call, std::string reason) {
        throw error{problem{error_code::invalid_input, g.display_name(call), "call", std::move(reason), {}}};
    }
    function const* replaceable(any_graph const& g, node_id n) const {
        if (!g.is<ops::call>(n)) return nullptr;
        auto const found = functions_.find(g.attributes<ops::call>(n).callee);
        return found != functions_.end() && primitive(*found->second) ? found->second : nullptr;
    }

    any_graph rewritten(any_graph const& g, pass_outcome& outcome) {
        auto const has_calls =
            std::any_of(g.order().begin(), g.order().end(), [&](node_id n) { return replaceable(g, n); });
        if (!has_calls) return g;
        any_graph out{g.operators()};
        std::map<value_id, value_id> moved;
        for (auto n : g.inputs()) moved[{n, 0}] = out.add_input(g.type_of({n, 0}), g.name({n, 0}));
        for (auto n : g.order()) {
            if (g.is<ops::input>(n)) continue;
            std::vector<value_id> operands;
            for (auto v : g.operands(n)) operands.push_back(v.valid() ? moved.at(v) : v);
            if (n == g.results_node()) {
                out.set_info(g.info());
                auto const names = g.info().output_names;
                out.set_outputs(operands, names);
            } else if (auto const* callee = replaceable(g, n)) {
                auto const results = splice(out, g, n, *callee, operands);
                for (std::uint32_t port = 0; port < results.size(); ++port) {
                    moved[{n, port}] = results[port];
                    if (auto const name = g.name({n, port}); !name.empty() && out.name(results[port]).empty())
                        out.set_name(results[port], name);
                }
                ++outcome.matches;
                outcome.changed = true;
            } else {
                auto const copy = copy_node(out, g, n, operands, true);
                for (std::uint32_t port = 0; port < g.result_count(n); ++port) moved[{n, port}] = {copy, port};
            }
            if (out.size() > max_inlined_nodes)
                throw error{error_code::unsupported,
                            message({"more than ", max_inlined_nodes, " nodes after inlining"})};
        }
        return out;
    }

    // Appends the callee's nodes; gives what stands for the call's results.
    std::vector<value_id> splice(any_graph& out, any_graph const& g, node_id call, function const& callee,
                                 std::span<value_id const> operands) const {
        auto const& body = bodies_.at(callee.name);
        auto const inputs = body.inputs();
        if (inputs.size() != operands.size() || body.output_count() != g.result_count(call))
            fail(g, call,
                 message({operands.size(), " operands and ", g.result_count(call), " results; the function has ",
                          inputs.size(), " and ", body.output_count()}));
        std::map<value_id, value_id> moved;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            auto const& taken = body.type({inputs[i], 0});
            if (!operands[i].valid() || !compatible(out.type(operands[i]), taken))
                fail(g, call, message({"operand ", i, " does not fit; the function takes ", to_string(taken)}));
            moved[{inputs[i], 0}] = operands[i];
        }
        for (std::uint32_t i = 0; i < body.output_count(); ++i)
            if (auto const& given = body.type(body.output(i)); !compatible(g.type({call, i}), given))
                fail(g, call,
                     message({"result ", i, " has type ", to_string(g.type({call, i})), "; the function has ",
                              to_string(given)}));
        std::vector<value_id> results;
        for (auto n : body.order()) {
            if (body.is<ops::input>(n)) continue;
            small_vector<value_id, 6> given;
            for (auto v : body.operands(n)) given.push_back(v.valid() ? moved.at(v) : v);
            if (n == body.results_node()) {
                results.assign(given.begin(), given.end());
                continue;
            }
            auto const copy = copy_node(out, body, n, given, calls_.at(callee.name) == 1);
            for (std::uint32_t port = 0; port < body.result_count(n); ++port) moved[{n, port}] = {copy, port};
        }
        return results;
    }

    module const& m_;
    std::map<std::string_view, function const*> functions_;
    std::map<std::string, std::size_t, std::less<>> calls_;
    std::map<std::string_view, any_graph> bodies_;
};

} // namespace detail

GSUB_LAZY_BODY result<pass_outcome> defuse_ops::operator()(module& m, pass_context& cx) const {
    return capture([&] {
        pass_outcome outcome;
        auto defused = detail::unfusion{m}.run(outcome, cx);
        if (outcome.changed) m = std::move(defused);
        return outcome;
    });
}

} // namespace gsub::passes
