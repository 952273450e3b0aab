#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/ir/graph.hpp>

#include <algorithm>
#include <cstring>
#include <functional>

namespace gsub {

GSUB_INLINE hash128 constant_blob::hash() const {
    if (!hashed_.load(std::memory_order_acquire)) {
        auto const h = data_.hash();
        high_.store(h.high, std::memory_order_relaxed);
        low_.store(h.low, std::memory_order_relaxed);
        hashed_.store(true, std::memory_order_release);
    }
    return {high_.load(std::memory_order_relaxed), low_.load(std::memory_order_relaxed)};
}

GSUB_INLINE any_graph::any_graph(dialect const& d)
    : node_sink(d),
      constants_(std::make_shared<std::vector<std::shared_ptr<constant_blob const>>>()),
      names_(std::make_shared<std::vector<std::string>>()),
      info_(std::make_shared<graph_info const>()) {
    append_node(structural::results, {}, 0, {}, {});
}

GSUB_INLINE any_graph::any_graph(any_graph const& other) : node_sink(other) {
    *this = other;
}

GSUB_INLINE any_graph& any_graph::operator=(any_graph const& other) {
    if (this == &other) return *this;
    node_sink::operator=(other);
    // A copy is usually made to be rewritten: room for a patch avoids a second copy of the whole.
    auto const copy = [](auto& to, auto const& from, std::size_t slack) {
        to.clear();
        to.reserve(from.size() + slack);
        to.resize(from.size());
        if (!from.empty()) std::memcpy(static_cast<void*>(to.data()), from.data(), from.size() * sizeof from[0]);
    };
    copy(nodes_, other.nodes_, 8);
    copy(slots_, other.slots_, 24);
    copy(results_, other.results_, 8);
    copy(order_, other.order_, 8);
    copy(places_, other.places_, 8);
    copy(origins_, other.origins_, 8);
    copy(inputs_, other.inputs_, 0);
    copy(hashes_, other.hashes_, other.hashes_.empty() ? 0 : 8);
    graph_hash_ = other.graph_hash_;
    hashed_ = other.hashed_;
    start_journal(); // keeps the room of an earlier one
    journalling_ = false;
    constants_ = other.constants_;
    names_ = other.names_;
    info_ = other.info_;
    return *this;
}

GSUB_INLINE std::uint32_t any_graph::add_text(std::string_view text) {
    if (text.empty()) return none;
    if (names_.use_count() > 1) names_ = std::make_shared<std::vector<std::string>>(*names_);
    names_->emplace_back(text);
    return static_cast<std::uint32_t>(names_->size() - 1);
}

GSUB_INLINE std::uint32_t any_graph::add_blob(tensor t) {
    return add_blob(std::make_shared<constant_blob const>(std::move(t)));
}

GSUB_INLINE std::uint32_t any_graph::add_blob(std::shared_ptr<constant_blob const> shared) {
    if (constants_.use_count() > 1)
        constants_ = std::make_shared<std::vector<std::shared_ptr<constant_blob const>>>(*constants_);
    constants_->push_back(std::move(shared));
    return static_cast<std::uint32_t>(constants_->size() - 1);
}

GSUB_INLINE void any_graph::release_constant(node_id n) {
    GSUB_ASSERT(is<ops::constant>(n), "elements of a constant are released");
    if (constants_.use_count() > 1)
        constants_ = std::make_shared<std::vector<std::shared_ptr<constant_blob const>>>(*constants_);
    (*constants_)[record(n).payload] = std::make_shared<constant_blob const>(tensor{});
}

GSUB_INLINE node_id any_graph::append_node(std::uint16_t row, attributes_id attributes, std::uint32_t payload,
                                           std::span<value_id const> operands, std::span<type_id const> results) {
    node_id const id{static_cast<std::uint32_t>(nodes_.size())};
    node_record n{};
    n.op = operators().ops[row].id;
    n.attributes = attributes;
    n.payload = payload;
    n.first_slot = static_cast<std::uint32_t>(slots_.size());
    n.operands = static_cast<std::uint32_t>(operands.size());
    n.first_result = static_cast<std::uint32_t>(results_.size());
    n.results = static_cast<std::uint32_t>(results.size());
    n.origin = none;
    n.row = row;
    n.flags = dirty;
    nodes_.push_back(n);
    for (auto v : operands) {
        slots_.push_back({v, id.index, none, none});
        link(static_cast<std::uint32_t>(slots_.size() - 1));
    }
    for (auto t : results) results_.push_back({t, none, none});
    refresh_constness(id);
    // The results node stays the last of the order.
    places_.push_back(order_.empty() ? 0 : static_cast<std::uint32_t>(order_.size() - 1));
    if (order_.empty()) {
        order_.push_back(id);
    } else {
        order_.insert(order_.end() - 1, id);
        ++places_[0];
    }
    hashed_ = false;
    if (journalling_) journal_.added.push_back(id);
    return id;
}

GSUB_INLINE value_id any_graph::append(std::uint16_t row, attributes_id attributes, std::span<value_id const> operands,
                                       std::span<type_id const> results) {
    return {append_node(row, attributes, 0, operands, results), 0};
}

GSUB_INLINE void any_graph::on_ill_typed(std::uint16_t row, std::string_view reason) {
    throw error{
        problem{error_code::invalid_input, {}, std::string{operators().ops[row].name}, std::string{reason}, {}}};
}

GSUB_INLINE value_id any_graph::add_input(type_id type, std::string_view name) {
    auto const n = append_node(structural::input, {}, static_cast<std::uint32_t>(inputs_.size()), {}, {&type, 1});
    inputs_.push_back(n);
    set_name({n, 0}, name);
    return {n, 0};
}

GSUB_INLINE value_id any_graph::add_constant(tensor value, std::string_view name) {
    return add_constant(std::make_shared<constant_blob const>(std::move(value)), name);
}

GSUB_INLINE value_id any_graph::add_constant(std::shared_ptr<constant_blob const> shared, std::string_view name) {
    type_id const type{shared->data().type()};
    value_id const v{append_node(structural::constant, {}, add_blob(std::move(shared)), {}, {&type, 1}), 0};
    set_name(v, name);
    return v;
}

GSUB_INLINE node_id any_graph::add_opaque(attributes_of<ops::opaque> const& attributes, tensor blob,
                                          std::span<value_id const> operands, std::span<type_id const> results) {
    return append_node(structural::opaque, intern<ops::opaque>(attributes), add_blob(std::move(blob)), operands,
                       results);
}

GSUB_INLINE void any_graph::set_outputs(std::span<value_id const> values, std::span<std::string const> names) {
    auto& n = record(return_node());
    for (std::uint32_t i = 0; i < n.operands; ++i) unlink(n.first_slot + i);
    n.first_slot = static_cast<std::uint32_t>(slots_.size());
    n.operands = static_cast<std::uint32_t>(values.size());
    for (auto v : values) {
        slots_.push_back({v, 0, none, none});
        link(static_cast<std::uint32_t>(slots_.size() - 1));
    }
    auto info = *info_;
    info.output_names.clear();
    gsub::append(info.output_names, names);
    set_info(std::move(info));
    mark_rewired(return_node());
}

GSUB_INLINE void any_graph::set_name(value_id value, std::string_view name) {
    results_[result_index(value)].name = add_text(name);
}

GSUB_INLINE void any_graph::set_source(node_id node, std::string_view name) {
    if (name.empty()) return;
    origins_.push_back({add_text(name), none});
    record(node).origin = static_cast<std::uint32_t>(origins_.size() - 1);
}

GSUB_INLINE void any_graph::set_sources(node_id node, std::span<std::string const> names) {
    auto joined = none;
    for (auto const& name : names) {
        if (name.empty()) continue;
        origins_.push_back({add_text(name), none});
        auto const leaf = static_cast<std::uint32_t>(origins_.size() - 1);
        if (joined != none) origins_.push_back({joined, leaf});
        joined = static_cast<std::uint32_t>(origins_.size() - 1);
    }
    record(node).origin = joined;
}

GSUB_INLINE void any_graph::inherit_sources(node_id node, std::span<node_id const> nodes) {
    auto joined = record(node).origin;
    for (auto n : nodes) {
        auto const o = record(n).origin;
        if (o == none || o == joined) continue;
        if (joined != none) origins_.push_back({joined, o});
        joined = joined == none ? o : static_cast<std::uint32_t>(origins_.size() - 1);
    }
    record(node).origin = joined;
}

GSUB_INLINE std::vector<std::string> any_graph::sources(node_id n) const {
    std::vector<std::string> found;
    std::vector<std::uint32_t> open;
    if (record(n).origin != none) open.push_back(record(n).origin);
    while (!open.empty()) {
        auto const [left, right] = origins_[open.back()];
        open.pop_back();
        if (right != none) {
            open.push_back(right);
            open.push_back(left);
        } else if (auto const& name = (*names_)[left]; !contains(found, name)) {
            found.push_back(name);
        }
    }
    return found;
}

GSUB_INLINE std::string any_graph::display_name(node_id n) const {
    if (auto o = record(n).origin; o != none) { // the first of its sources
        while (origins_[o].right != none) o = origins_[o].left;
        return (*names_)[origins_[o].left];
    }
    if (record(n).results > 0)
        if (auto const first = name({n, 0}); !first.empty()) return std::string{first};
    return fmt::format("{}_{}", op(n).name, n.index);
}

GSUB_INLINE small_vector<value_id, 6> any_graph::operands(node_id n) const {
    small_vector<value_id, 6> out;
    for (std::uint32_t i = 0; i < record(n).operands; ++i) out.push_back(slots_[record(n).first_slot + i].value);
    return out;
}

GSUB_INLINE bool any_graph::used(node_id n) const noexcept {
    for (std::uint32_t port = 0; port < record(n).results; ++port)
        if (used(value_id{n, port})) return true;
    return false;
}

GSUB_INLINE std::size_t any_graph::use_count(value_id v) const noexcept {
    std::size_t count = 0;
    for (auto s = results_[result_index(v)].first_use; s != none; s = slots_[s].next) ++count;
    return count;
}

// ---- uses -----------------------------------------------------------------------------------------------------------

GSUB_INLINE void any_graph::link(std::uint32_t slot) {
    auto& s = slots_[slot];
    if (!s.value.valid()) return;
    auto& head = results_[result_index(s.value)].first_use;
    s.previous = none;
    s.next = head;
    if (head != none) slots_[head].previous = slot;
    head = slot;
}

GSUB_INLINE void any_graph::unlink(std::uint32_t slot) {
    auto& s = slots_[slot];
    if (!s.value.valid()) return;
    if (s.previous != none)
        slots_[s.previous].next = s.next;
    else
        results_[result_index(s.value)].first_use = s.next;
    if (s.next != none) slots_[s.next].previous = s.previous;
    s.value = {};
}

GSUB_INLINE void any_graph::mark_rewired(node_id n) {
    record(n).flags |= dirty;
    hashed_ = false;
    if (journalling_) journal_.rewired.push_back(n);
}

GSUB_INLINE void any_graph::set_operand(node_id n, std::size_t i, value_id to) {
    auto const slot = record(n).first_slot + static_cast<std::uint32_t>(i);
    unlink(slot);
    slots_[slot].value = to;
    link(slot);
    mark_rewired(n);
    refresh_constness(n);
}

GSUB_INLINE void any_graph::replace_uses(value_id from, value_id to, std::uint32_t first_exempt) {
    GSUB_ASSERT(!(from == to), "replace_uses() of a value by itself");
    small_vector<use, 8> uses;
    for_each_use(from, [&](use u) {
        if (u.user.index < first_exempt) uses.push_back(u);
    });
    // In order of age, so that the new use list does not depend on how often it was rebuilt.
    std::reverse(uses.begin(), uses.end());
    for (auto u : uses) set_operand(u.user, u.operand, to);
    auto& inherited = results_[result_index(to)].name;
    if (inherited == none) inherited = results_[result_index(from)].name;
}

GSUB_INLINE void any_graph::refresh_constness(node_id first) {
    small_vector<node_id, 16> open{first};
    while (!open.empty()) {
        auto const id = open.back();
        open.pop_back();
        auto& n = record(id);
        auto const category = operators().ops[n.row].category;
        bool value = n.row == structural::constant;
        if (category != op_category::structural && category != op_category::opaque) {
            value = n.operands > 0 || category == op_category::source;
            for (std::uint32_t i = 0; i < n.operands && value; ++i)
                if (auto const v = slots_[n.first_slot + i].value; v.valid()) value = constant(v);
        }
        if (value == ((n.flags & is_constant) != 0)) continue;
        n.flags = static_cast<std::uint16_t>(n.flags ^ is_constant);
        if (journalling_ && id != first) journal_.rewired.push_back(id); // costs depend on it
        for (std::uint32_t port = 0; port < n.results; ++port)
            for_each_use({id, port}, [&](use u) { open.push_back(u.user); });
    }
}

GSUB_INLINE void any_graph::erase_unused(node_id first) {
    small_vector<node_id, 16> open{first};
    auto earliest = none; // place of what goes
    while (!open.empty()) {
        auto const id = open.back();
        open.pop_back();
        auto& n = record(id);
        if ((n.flags & erased) || id == return_node() || n.row == structural::input || used(id)) continue;
        for (std::uint32_t i = 0; i < n.operands; ++i) {
            auto const source = slots_[n.first_slot + i].value.node;
            unlink(n.first_slot + i);
            if (!source.valid()) continue;
            open.push_back(source);
            if (journalling_) journal_.released.push_back(source);
        }
        n.flags |= erased;
        earliest = std::min(earliest, places_[id.index]);
        if (journalling_) journal_.erased.push_back(id);
    }
    if (earliest == none) return;
    drop_erased(earliest);
    hashed_ = false;
}

GSUB_INLINE void any_graph::erase_dead() {
    for (auto i = order_.size(); i-- > 0;) { // backwards: users go before what they use
        auto const id = order_[i];
        auto& n = record(id);
        if (id == return_node() || n.row == structural::input || used(id)) continue;
        for (std::uint32_t k = 0; k < n.operands; ++k) {
            if (auto const source = slots_[n.first_slot + k].value.node; journalling_ && source.valid())
                journal_.released.push_back(source);
            unlink(n.first_slot + k);
        }
        n.flags |= erased;
        hashed_ = false;
        if (journalling_) journal_.erased.push_back(id);
    }
    drop_erased(0);
}

GSUB_INLINE void any_graph::note_places(std::size_t first) {
    for (auto i = static_cast<std::uint32_t>(first); i < order_.size(); ++i) places_[order_[i].index] = i;
}

GSUB_INLINE void any_graph::set_order(std::vector<node_id> order) {
    order_ = std::move(order);
    note_places(0);
}

GSUB_INLINE void any_graph::drop_erased(std::size_t first) {
    auto const from = order_.begin() + static_cast<std::ptrdiff_t>(first);
    order_.erase(std::remove_if(from, order_.end(), [&](node_id n) { return !live(n); }), order_.end());
    note_places(first);
}

GSUB_INLINE void any_graph::order_canonically() {
    std::vector<node_id> canonical;
    canonical.reserve(order_.size());
    std::vector<bool> seen(nodes_.size(), false);
    auto const take = [&](node_id n) {
        seen[n.index] = true;
        canonical.push_back(n);
    };
    for (auto n : inputs_) take(n);
    struct frame {
        node_id node;
        std::uint32_t next;
    };
    std::vector<frame> stack;
    auto const visit = [&](node_id root) {
        stack.push_back({root, 0});
        while (!stack.empty()) {
            auto& top = stack.back();
            if (top.next == record(top.node).operands) {
                if (!seen[top.node.index]) take(top.node);
                stack.pop_back();
            } else if (auto const v = slots_[record(top.node).first_slot + top.next++].value;
                       v.valid() && !seen[v.node.index]) {
                stack.push_back({v.node, 0});
            }
        }
    };
    for (auto v : operands(return_node()))
        if (!seen[v.node.index]) visit(v.node);
    for (auto n : order_) // what no output needs comes last, as it stood
        if (!seen[n.index] && n != return_node()) visit(n);
    canonical.push_back(return_node());
    set_order(std::move(canonical));
}

GSUB_INLINE bool any_graph::restore_order(std::uint32_t first_new) {
    // New nodes stand at the end of the order, before the results node. They belong behind the last of their operands
    // and before the first of their users. Where these overlap, the window between them is split: what depends on new
    // nodes goes behind them. An operand of theirs among what depends on them is a cycle.
    auto const end = order_.size() - 1;
    auto begin = end;
    while (begin > 0 && order_[begin - 1].index >= first_new) --begin;
    auto const old = [&](node_id n) { return n.index < first_new; };
    auto const at = [&](std::size_t place) { return order_.begin() + static_cast<std::ptrdiff_t>(place); };
    std::size_t after = 0, before = begin;
    for (auto i = begin; i < end; ++i) {
        auto const n = order_[i];
        for (auto v : operands(n))
            if (v.valid() && old(v.node)) after = std::max<std::size_t>(after, places_[v.node.index] + 1);
        for (std::uint32_t port = 0; port < record(n).results; ++port)
            for_each_use({n, port}, [&](use u) {
                if (old(u.user)) before = std::min<std::size_t>(before, places_[u.user.index]);
            });
    }
    if (after <= before) {
        std::rotate(at(after), at(begin), at(end));
        note_places(after);
        return true;
    }
    std::vector<bool> depends(nodes_.size(), false);
    for (auto i = begin; i < end; ++i) depends[order_[i].index] = true;
    std::vector<node_id> window;
    window.reserve(end - before);
    small_vector<node_id, 32> behind;
    for (auto i = before; i < after; ++i) {
        auto const n = order_[i];
        for (auto v : operands(n))
            if (v.valid() && depends[v.node.index]) depends[n.index] = true;
        if (depends[n.index])
            behind.push_back(n);
        else
            window.push_back(n);
    }
    for (auto i = begin; i < end; ++i)
        for (auto v : operands(order_[i]))
            if (v.valid() && old(v.node) && depends[v.node.index]) return false;
    window.insert(window.end(), at(begin), at(end));
    gsub::append(window, behind);
    window.insert(window.end(), at(after), at(begin));
    std::copy(window.begin(), window.end(), at(before));
    note_places(before);
    return true;
}

GSUB_INLINE bool any_graph::sort() {
    std::vector<std::uint32_t> place(nodes_.size(), none), waiting(nodes_.size(), 0);
    for (std::uint32_t i = 0; i < order_.size(); ++i) place[order_[i].index] = i;
    std::vector<std::uint32_t> ready; // a heap of places: the earliest node that has all operands goes next
    for (auto n : order_) {
        for (auto v : operands(n)) waiting[n.index] += v.valid();
        if (waiting[n.index] == 0) ready.push_back(place[n.index]);
    }
    std::make_heap(ready.begin(), ready.end(), std::greater<>{});
    std::vector<node_id> sorted;
    sorted.reserve(order_.size());
    while (!ready.empty()) {
        std::pop_heap(ready.begin(), ready.end(), std::greater<>{});
        auto const n = order_[ready.back()];
        ready.pop_back();
        if (n != return_node()) sorted.push_back(n);
        for (std::uint32_t port = 0; port < record(n).results; ++port)
            for_each_use({n, port}, [&](use u) {
                if (--waiting[u.user.index] != 0) return;
                ready.push_back(place[u.user.index]);
                std::push_heap(ready.begin(), ready.end(), std::greater<>{});
            });
    }
    sorted.push_back(return_node());
    if (sorted.size() != order_.size()) return false;
    set_order(std::move(sorted));
    return true;
}

GSUB_INLINE void any_graph::compact() {
    any_graph fresh{operators()};
    fresh.constants_ = std::make_shared<std::vector<std::shared_ptr<constant_blob const>>>();
    fresh.names_ = names_;
    fresh.info_ = info_;
    fresh.origins_ = origins_;
    std::vector<node_id> moved(nodes_.size());
    std::vector<std::uint32_t> blobs(constants_->size(), none);
    auto const map = [&](value_id v) { return v.valid() ? value_id{moved[v.node.index], v.port} : v; };
    for (auto id : order_) {
        auto const& n = record(id);
        small_vector<value_id, 6> operands;
        for (std::uint32_t i = 0; i < n.operands; ++i) operands.push_back(map(slots_[n.first_slot + i].value));
        if (id == return_node()) {
            fresh.set_outputs(operands, info_->output_names);
            continue;
        }
        small_vector<type_id, 4> types;
        for (std::uint32_t port = 0; port < n.results; ++port) types.push_back(results_[n.first_result + port].type);
        auto payload = n.payload;
        if (structural::has_blob(n.row)) {
            if (blobs[payload] == none) {
                fresh.constants_->push_back((*constants_)[payload]);
                blobs[payload] = static_cast<std::uint32_t>(fresh.constants_->size() - 1);
            }
            payload = blobs[payload];
        }
        auto const to = moved[id.index] = fresh.append_node(n.row, n.attributes, payload, operands, types);
        fresh.record(to).origin = n.origin;
        for (std::uint32_t port = 0; port < n.results; ++port)
            fresh.results_[fresh.record(to).first_result + port].name = results_[n.first_result + port].name;
    }
    for (auto n : inputs_) fresh.inputs_.push_back(moved[n.index]);
    *this = std::move(fresh);
}

// ---- hashes ---------------------------------------------------------------------------------------------------------

GSUB_INLINE hash128 any_graph::compute_hash(node_id id, std::span<hash128 const> hashes) const {
    auto const& n = record(id);
    hasher h{static_cast<std::uint64_t>(n.op)};
    h.add(n.attributes.hash()).add(n.results);
    if (n.row == structural::input) h.add(n.payload).add(results_[n.first_result].type.hash());
    if (structural::has_blob(n.row)) h.add((*constants_)[n.payload]->hash());
    if (n.row == structural::opaque)
        for (std::uint32_t port = 0; port < n.results; ++port) h.add(results_[n.first_result + port].type.hash());
    small_vector<hash128, 8> operands;
    for (std::uint32_t i = 0; i < n.operands; ++i) {
        auto const v = slots_[n.first_slot + i].value;
        if (!v.valid())
            operands.push_back({});
        else
            operands.push_back({hashes[v.node.index].high, hashes[v.node.index].low + v.port * 0x9e3779b97f4a7c15u});
    }
    if (operators().ops[n.row].commutative) std::sort(operands.begin(), operands.end());
    for (auto const& o : operands) h.add(o);
    return h.finish();
}

GSUB_INLINE std::uint64_t any_graph::own_bytes() const noexcept {
    auto const of = [](auto const& v) { return v.capacity() * sizeof(v[0]); };
    auto sum = sizeof *this + of(nodes_) + of(slots_) + of(results_) + of(order_) + of(places_) + of(origins_) +
               of(inputs_) + of(hashes_) + of(journal_.added) + of(journal_.erased) + of(journal_.rewired) +
               of(journal_.released);
    if (constants_ && constants_.use_count() == 1) sum += of(*constants_);
    if (names_ && names_.use_count() == 1) sum += of(*names_);
    return sum;
}

GSUB_INLINE hash128 any_graph::combine_hashes(std::span<hash128 const> hashes) const {
    // The results' hash sees what the graph computes; the sum over nodes sees how often it computes it.
    std::uint64_t high = 0, low = 0;
    for (auto n : order_) high += hashes[n.index].high, low += hashes[n.index].low;
    return hasher{}.add(hashes[0]).add(high).add(low).finish();
}

GSUB_INLINE std::vector<hash128> any_graph::all_hashes() const {
    std::vector<hash128> hashes(nodes_.size());
    for (auto n : order_) hashes[n.index] = compute_hash(n, as_span(hashes));
    return hashes;
}

GSUB_INLINE hash128 any_graph::hash() const {
    return hashed_ ? graph_hash_ : combine_hashes(as_span(all_hashes()));
}
GSUB_INLINE hash128 any_graph::hash(node_id n) const {
    return hashed_ ? hashes_[n.index] : all_hashes()[n.index];
}

GSUB_INLINE void any_graph::rehash() {
    if (hashed_) return;
    auto const first_time = hashes_.empty();
    hashes_.resize(nodes_.size());
    std::vector<bool> differs(nodes_.size(), false);
    for (auto id : order_) {
        auto& n = record(id);
        bool stale = first_time || (n.flags & dirty);
        for (std::uint32_t i = 0; i < n.operands && !stale; ++i)
            if (auto const v = slots_[n.first_slot + i].value; v.valid()) stale = differs[v.node.index];
        n.flags = static_cast<std::uint16_t>(n.flags & ~dirty);
        if (!stale) continue;
        auto const h = compute_hash(id, as_span(hashes_));
        differs[id.index] = !(h == hashes_[id.index]);
        hashes_[id.index] = h;
    }
    graph_hash_ = combine_hashes(as_span(hashes_));
    hashed_ = true;
}

} // namespace gsub
