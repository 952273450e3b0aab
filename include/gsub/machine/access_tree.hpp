// access_tree: loops and the accesses in them, in the order in which they run; what models of caches read.
#pragma once

#include <gsub/core/small_vector.hpp>
#include <gsub/loop/affine.hpp>
#include <gsub/loop/fused_nest.hpp>
#include <gsub/loop/schedule.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::machine {

/// Tensor of an access tree: an array, `pitches` elements from one index to the next.
struct tree_tensor {
    std::string name;
    std::int32_t element_bytes = 4;
    small_vector<std::int64_t, 6> dims, pitches;
};

/// What an access does: reads, writes, or both, as `+=` does.
enum class access_kind : std::uint8_t { read, write, update };

/// Access node: a leaf that touches one element of a tensor each time.
struct tree_access {
    std::int32_t of = 0; ///< number of the tensor
    access_kind kind = access_kind::read;
    std::vector<loop::affine> index; ///< one for each dimension
    std::int64_t spread = 0;         ///< elements beyond the index that a table may add
    std::int64_t entries = 1;        ///< of which the program chooses one each time it runs; the index is of the first

    [[nodiscard]] bool reads() const noexcept { return kind != access_kind::write; }
    [[nodiscard]] bool writes() const noexcept { return kind != access_kind::read; }
};

/// Node of an access tree: a loop, or an access.
struct tree_node {
    std::int32_t parent = -1;
    loop::variable var = -1;  ///< of a loop; -1: the root, which runs once, or an access
    std::int64_t extent = 1;  ///< of a loop: its trip count
    std::int32_t access = -1; ///< of an access: its number
    std::vector<std::int32_t> children{};
};

/// Access tree: loop nodes hold loops and accesses in program order, access nodes are leaves. Node 0 is the root. The
/// same variable may stand for sibling loops, as those of two stages over one tile.
///
///     access_tree tree;
///     auto const a = tree.tensor("a", {m, k}), c = tree.tensor("c", {m});
///     auto const i = tree.loop(0, 0, m), j = tree.loop(i, 1, k);
///     tree.access(j, a, access_kind::read, {affine::of(0), affine::of(1)});
///     tree.access(j, c, access_kind::update, {affine::of(0)});
///
/// *Source* Tuna, 2021, section III.A.2.
class access_tree {
public:
    GSUB_LAZY access_tree();
    /// Adds a row-major tensor. *Returns* its number.
    GSUB_LAZY std::int32_t tensor(std::string_view name, std::span<std::int64_t const> dims,
                                  std::int32_t element_bytes = 4, std::span<std::int64_t const> pitches = {});
    std::int32_t tensor(std::string_view name, std::initializer_list<std::int64_t> dims,
                        std::int32_t element_bytes = 4) {
        return tensor(name, std::span{dims.begin(), dims.size()}, element_bytes);
    }
    /// Adds a loop of `var` from 0 to before `extent`, last in a node. *Returns* its node.
    GSUB_LAZY std::int32_t loop(std::int32_t parent, loop::variable var, std::int64_t extent);
    /// Adds an access, last in a node. *Requires* an index for each dimension. *Returns* its node.
    GSUB_LAZY std::int32_t access(std::int32_t parent, tree_access what);
    std::int32_t access(std::int32_t parent, std::int32_t of, access_kind kind,
                        std::initializer_list<loop::affine> index) {
        return access(parent, tree_access{of, kind, index, 0, 1});
    }

    [[nodiscard]] std::vector<tree_node> const& nodes() const noexcept { return nodes_; }
    [[nodiscard]] std::vector<tree_tensor> const& tensors() const noexcept { return tensors_; }
    [[nodiscard]] std::vector<tree_access> const& accesses() const noexcept { return accesses_; }
    /// The node of each access.
    [[nodiscard]] std::vector<std::int32_t> const& leaves() const noexcept { return leaves_; }
    /// One more than the greatest variable.
    [[nodiscard]] std::int32_t variables() const noexcept { return variables_; }

private:
    std::vector<tree_node> nodes_;
    std::vector<tree_tensor> tensors_;
    std::vector<tree_access> accesses_;
    std::vector<std::int32_t> leaves_;
    std::int32_t variables_ = 0;
};

/// Access tree of a loop nest: what a reduction adds up is read in its loops; what the result needs, and the stores,
/// stand behind them, in the loops of the register tile. A fused loop is the loops of its indices. Bounds are not kept:
/// models cut off what lies outside of a tensor, and trips of tails count as if they existed. *Complexity* linear.
GSUB_LAZY [[nodiscard]] access_tree access_tree_of(loop::loop_nest const& nest);
/// Access tree of a fused nest: stages stand one after another in the loops that they share, their variables numbered
/// anew. A stage whose shared loop is taken apart into other indices has its own loops from there on. The fallback is
/// left out.
GSUB_LAZY [[nodiscard]] access_tree access_tree_of(loop::fused_nest const& nest);

} // namespace gsub::machine

#ifndef GSUB_COMPILED
#include <gsub/machine/impl/access_tree.ipp>
#endif
