#pragma once

#include <gsub/core/algorithm.hpp>
#include <gsub/core/format.hpp>
#include <gsub/ir/graph.hpp>

#include <cstring>

namespace gsub {

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
    throw error{problem{errors::ill_typed, {}, std::string{operators().ops[row].name}, std::string{reason}, {}}};
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
    return format_text("{}_{}", op(n).name, n.index);
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

GSUB_INLINE std::uint64_t any_graph::own_bytes() const noexcept {
    auto const of = [](auto const& v) { return v.capacity() * sizeof(v[0]); };
    auto sum = sizeof *this + of(nodes_) + of(slots_) + of(results_) + of(order_) + of(places_) + of(origins_) +
               of(inputs_) + of(hashes_) + of(journal_.added) + of(journal_.erased) + of(journal_.rewired) +
               of(journal_.released);
    if (constants_ && constants_.use_count() == 1) sum += of(*constants_);
    if (names_ && names_.use_count() == 1) sum += of(*names_);
    return sum;
}

} // namespace gsub
