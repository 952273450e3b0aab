// Nest work: the instructions of a stage of a fused nest, each once, with the unrolled loops that repeat it.
#pragma once

#include <gsub/cost/impl/block_work.ipp>
#include <gsub/cost/impl/nest_tile.ipp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::cost::detail {

// A set of unrolled loops of a tile, a bit each.
using loop_set = std::uint64_t;
inline constexpr std::size_t most_unrolled = 32; // loops; more take no part

// An instruction of a block: what one is, and what repeats it: all positions of loops, or the places of an index.
struct repeated_instruction {
    block_work work;
    loop_set loops = 0;
    struct step {
        std::size_t of;      // loop
        std::int64_t factor; // of the index
    };
    small_vector<step, 4> steps{}; // in place of `loops`
    bool multiplied = false;       // an operand of multiply-adds
    double count = 1;              // of such instructions

    [[nodiscard]] double times(tile_extents const& extents) const {
        if (!steps.empty()) {
            all_steps all;
            for (auto const& s : steps) all.push_back({s.factor, extents[s.of]});
            return distinct_values(std::move(all));
        }
        double out = 1;
        for (std::size_t u = 0; loops >> u != 0; ++u)
            if (loops >> u & 1) out *= static_cast<double>(extents[u]);
        return out;
    }
};

// A block that unrolled loops make.
struct repeated_block {
    std::vector<repeated_instruction> code;
    std::vector<codegen::instruction> accesses; // of memory, each once, and a step of a reduction

    // Its instructions where the loops have some extents. `products`: its multiply-adds.
    [[nodiscard]] block_work work(tile_extents const& extents, double products) const {
        block_work w;
        for (auto const& i : code) {
            auto const times = i.count * i.times(extents);
            auto const used = products / times;
            w += times * i.work;
            if (i.multiplied && used > 1 && used <= read_again) w.loads += times * (used - 1) * i.work.loads;
        }
        return w;
    }
};

// A block with how often a tile has it. `asked`: whether it stands behind a condition.
struct counted_block {
    block_work work;
    double times = 1;
    bool asked = false;
};

// A stage: what its tile does.
template <class = void>
class nest_work {
public:
    // `names`: numbers of its variables among those of all stages.
    nest_work(nest_tile<> const& tile, std::span<loop::variable const> names, block_counter<> const& counter)
        : tile_(tile), nest_(tile.nest()), names_(names), counter_(counter) {
        for (std::size_t u = 0; u < std::min(tile.unrolled().size(), most_unrolled); ++u)
            (tile.unrolled()[u]->reduction ? reductions_ : places_) |= loop_set{1} << u;
        for (std::size_t v = 0; v < names.size(); ++v) renames_ = renames_ || index(names[v]) != v;
        for (auto* const b : {&update_, &begin_, &end_}) b->code.reserve(8), b->accesses.reserve(4);
        (reduces() ? update_ : end_).accesses.reserve(2 + nest_.what.loads.size() + nest_.what.more_stores.size());
        if (reduces()) write_update();
        write_ends();
        if (reduces()) count_updates();
    }

    [[nodiscard]] nest_tile<> const& tile() const noexcept { return tile_; }
    [[nodiscard]] bool reduces() const noexcept { return nest_.what.update >= 0; }
    // What a step of the reduction is, and what stands before and behind all steps.
    [[nodiscard]] repeated_block& update() noexcept { return update_; }
    [[nodiscard]] repeated_block& begin() noexcept { return begin_; }
    [[nodiscard]] repeated_block& end() noexcept { return end_; }
    // All blocks of a step.
    [[nodiscard]] std::span<counted_block const> updates() const noexcept { return as_span(updates_); }

private:
    static std::size_t index(std::int32_t v) noexcept { return static_cast<std::size_t>(v); }

    // ---- what is computed

    [[nodiscard]] loop_set loops_of(loop::affine const& a, loop_set among) const {
        loop_set out = 0;
        for (std::size_t u = 0; among >> u != 0; ++u)
            if (among >> u & 1 && a.depends_on(tile_.unrolled()[u]->var)) out |= loop_set{1} << u;
        return out;
    }
    // An index without its lane, over the variables of all stages.
    [[nodiscard]] loop::affine named(loop::affine&& a) const {
        if (auto const step = a.factor(tile_.lane())) a += loop::affine::of(tile_.lane(), -step);
        return renames_ ? a.renamed(names_) : std::move(a);
    }

    // Writes expressions and what they need to a block, each once.
    struct writer {
        nest_work const& of;
        repeated_block& block;
        loop_set around;               // unrolled loops
        std::vector<loop_set> known{}; // by expression, plus 1; 0: not yet
        codegen::instruction scratch{};
        std::optional<std::size_t> last_access{}; // that was added: its place in the block
        // Instructions that touch no memory, by what they are.
        struct computed {
            codegen::opcode op;
            loop::scalar_op function;
            dtype type;
            loop_set loops;
            friend bool operator==(computed const&, computed const&) = default;
        };
        std::vector<std::pair<computed, std::size_t>> seen{}; // with their place in the block

        loop_set write(std::int32_t id, bool multiplied = false) {
            auto const& what = of.nest_.what;
            if (known.empty()) known.assign(what.exprs.size(), 0);
            if (auto const k = known[index(id)]) return k - 1;
            auto const& t = what.exprs[index(id)];
            loop_set set = 0;
            if (t.op == loop::scalar_op::load) {
                set = load(t, multiplied);
            } else if (t.op == loop::scalar_op::reduced) {
                set = of.places_;
            } else {
                for (auto const o : t.operands)
                    if (o >= 0) set |= write(o);
                add(t.op == loop::scalar_op::constant ? codegen::opcode::splat : codegen::opcode::compute, t.op, t.type,
                    set);
            }
            known[index(id)] = set + 1;
            return set;
        }
        void add(codegen::opcode op, loop::scalar_op function, dtype type, loop_set loops) {
            computed const what{op, function, type, loops};
            auto const same = std::ranges::find_if(seen, [&](auto const& k) { return k.first == what; });
            if (same != seen.end()) return void(block.code[same->second].count += 1);
            scratch.op = op, scratch.function = function, scratch.type = type;
            seen.emplace_back(what, block.code.size());
            block.code.push_back({of.counter_.work_of(scratch, 0, [] { return false; }), loops});
        }
        // *Returns* the instruction that counts it: that of the access before, where they differ by a constant alone.
        repeated_instruction& add(codegen::instruction&& access, loop_set loops, bool multiplied = false) {
            if (last_access && !multiplied && continues(access)) {
                auto& same = block.code[*last_access];
                if (!same.multiplied && same.loops == loops) {
                    ++same.count;
                    block.accesses.push_back(std::move(access));
                    return same;
                }
            }
            auto const transposed = [&] {
                return repeated_instruction{{}, loops}.times(of.tile_.extents()) >= static_cast<double>(access.lanes);
            };
            last_access = block.code.size();
            auto& made =
                block.code.emplace_back(repeated_instruction{of.counter_.work_of(access, 0, transposed), loops});
            made.multiplied = multiplied;
            block.accesses.push_back(std::move(access));
            return made;
        }
        [[nodiscard]] bool continues(codegen::instruction const& i) const {
            auto const& last = block.accesses.back();
            return i.op == last.op && i.buffer == last.buffer && i.type == last.type && i.lanes == last.lanes &&
                   i.stride == last.stride && i.operands[0] < 0 && last.operands[0] < 0 && i.order.empty() &&
                   last.order.empty() && std::ranges::equal(i.offset.terms(), last.offset.terms());
        }
        loop_set load(loop::scalar_expr const& t, bool multiplied) {
            auto const& read = of.nest_.what.read_by(t);
            auto offset = of.nest_.what.offset_of(read.source);
            auto set = of.loops_of(offset, around);
            auto const looked_up = !read.source.beyond.table.empty(), chosen = read.chosen.by >= 0;
            auto const step = offset.factor(of.tile_.lane());
            decltype(repeated_instruction::steps) steps;
            if (!looked_up && !chosen)
                for (std::size_t u = 0; set >> u != 0; ++u)
                    if (set >> u & 1) steps.push_back({u, std::abs(offset.factor(of.tile_.unrolled()[u]->var))});
            codegen::instruction i;
            i.type = t.type, i.buffer = read.source.of;
            i.offset = of.named(std::move(offset));
            if (looked_up) {
                set |= of.loops_of(read.source.beyond.by, around);
                i.order = of.order_of(read.source.beyond, step);
            }
            i.op = step == 0 && !looked_up ? codegen::opcode::broadcast : codegen::opcode::load;
            i.lanes = static_cast<std::int32_t>(of.tile_.lanes());
            i.stride = step == 0 ? 1 : step;
            if (chosen) {
                auto const by = write(read.chosen.by);
                add(codegen::opcode::choose, t.op, dtype::i64, by);
                set |= by;
                i.operands[0] = 0, i.entry = read.chosen.stride;
                if (of.varies(read.chosen.by)) i.op = codegen::opcode::gather;
            }
            add(std::move(i), set, multiplied).steps = std::move(steps);
            return set;
        }
    };
    [[nodiscard]] bool varies(std::int32_t id) const {
        auto const& t = nest_.what.exprs[index(id)];
        if (t.op == loop::scalar_op::load &&
            nest_.what.offset_of(nest_.what.read_by(t).source).factor(tile_.lane()) != 0)
            return true;
        return std::any_of(std::begin(t.operands), std::end(t.operands), [&](auto o) { return o >= 0 && varies(o); });
    }
    // Where the lanes of the first vector read that look their places up.
    [[nodiscard]] std::vector<std::int64_t> order_of(loop::lookup const& beyond, std::int64_t step) const {
        std::vector<std::int64_t> order;
        auto const size = static_cast<std::int64_t>(beyond.table.size());
        for (std::int64_t i = 0; i < tile_.lanes(); ++i) {
            auto const place = beyond.by.constant() + beyond.by.factor(tile_.lane()) * i;
            order.push_back(beyond.table[static_cast<std::size_t>(std::clamp<std::int64_t>(place, 0, size - 1))] +
                            step * i);
        }
        return order;
    }

    void write_update() {
        auto const& what = nest_.what;
        auto const& update = what.exprs[index(what.update)];
        multiplies_ = what.combine == loop::scalar_op::add && update.op == loop::scalar_op::multiply;
        writer write{*this, update_, places_ | reductions_};
        if (multiplies_)
            for (auto const o : {update.operands[0], update.operands[1]}) write.write(o, true);
        else
            write.write(what.update);
        write.add(multiplies_ ? codegen::opcode::multiply_add : codegen::opcode::accumulate, what.combine, update.type,
                  places_ | reductions_);
        codegen::instruction step; // beside what it reads: how far apart lines are asked for
        step.op = codegen::opcode::multiply_add;
        update_.accesses.push_back(std::move(step));
    }
    void write_ends() {
        auto const& what = nest_.what;
        writer first{*this, begin_, places_}, last{*this, end_, places_};
        if (reduces()) {
            auto const type = what.exprs[index(what.initial)].type;
            (tile_.lanes_reduce() ? last : first).write(what.initial);
            first.add(codegen::opcode::copy, what.combine, type, places_);
            if (tile_.lanes_reduce())
                for (auto const op : {codegen::opcode::reduce, codegen::opcode::copy, codegen::opcode::accumulate})
                    last.add(op, what.combine, type, places_);
        }
        auto const store = [&](loop::access const& target, std::int32_t value) {
            last.write(value);
            codegen::instruction i;
            i.op = codegen::opcode::store;
            i.type = what.exprs[index(value)].type;
            i.buffer = target.of, i.offset = named(what.offset_of(target));
            i.lanes = tile_.lanes_reduce() ? 1 : static_cast<std::int32_t>(tile_.lanes());
            last.add(std::move(i), places_);
        };
        for (auto const& c : what.chosen) {
            codegen::instruction i;
            i.op = codegen::opcode::broadcast;
            i.buffer = c.source.of, i.offset = named(what.offset_of(c.source));
            i.type = what.buffers[index(i.buffer)].element;
            last.add(std::move(i), places_);
        }
        store(what.target, what.result);
        for (auto const& s : what.more_stores) store(s.target, s.value);
        if (what.guard < 0) return;
        last.write(what.guard);
        last.add(codegen::opcode::reduce, loop::scalar_op::add, what.exprs[index(what.guard)].type, places_);
    }

    // ---- the blocks of a step

    // Those of all tiles, which together have the steps that exist.
    void count_updates() {
        double counted = 0;
        tile_.each_tile([&](tile_extents const& extents, double share) { count_tile(extents, share, counted); });
        auto const all = tile_.exists() / tile_.tiles() * product(tile_.extents(), places_ | reductions_);
        if (counted > 0)
            for (auto& u : updates_) u.times *= all / counted;
    }
    // One block, or those that conditions cut it into, which share no values.
    void count_tile(tile_extents const& extents, double share, double& counted) {
        auto const add = [&](tile_extents const& part, double times, bool asked) {
            auto const products = product(part, places_ | reductions_);
            auto& u = updates_.emplace_back();
            u.work = update_.work(part, multiplies_ ? products : 0);
            u.work.chain = product(part, reductions_);
            u.times = times, u.asked = asked;
            counted += times * products;
        };
        auto const [at, asked] = tile_.asked_loop(extents);
        if (asked == 0) return add(extents, share, false);
        auto part = extents;
        for (std::size_t u = 0; u < at; ++u) share *= static_cast<double>(std::exchange(part[u], 1));
        part[at] = 1;
        add(part, share * static_cast<double>(asked), true);
        part[at] = extents[at] - asked;
        if (part[at] > 0) add(part, share, false);
    }
    [[nodiscard]] static double product(tile_extents const& extents, loop_set loops) {
        return repeated_instruction{{}, loops}.times(extents);
    }

    nest_tile<> const& tile_;
    loop::loop_nest const& nest_;
    std::span<loop::variable const> names_;
    block_counter<> const& counter_;
    loop_set places_ = 0, reductions_ = 0; // unrolled loops, spatial and of the reduction
    bool multiplies_ = false, renames_ = false;
    repeated_block update_, begin_, end_;
    std::vector<counted_block> updates_;
};

} // namespace gsub::cost::detail
