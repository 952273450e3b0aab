// Networks that stand in no catalogue: random ones, the same for the same seed.
#pragma once

#include "random_conv.hpp"
#include "random_recurrent.hpp"
#include "random_transformer.hpp"
#include <gsub/core/format.hpp>
#include <gsub/ir/ops/ops.hpp>

#include <array>

namespace bench {

enum class network_kind { conv, recurrent, transformer };
inline constexpr std::string_view network_kind_names[] = {"conv", "recurrent", "transformer"};

/// Which network: a seed has as many as are asked for, each independent of the others.
struct random_network {
    std::uint64_t seed = 1;
    std::size_t index = 0;
    network_kind kind = network_kind::conv;
    bool small = false; ///< a few million operations: for tests

    [[nodiscard]] std::string name() const {
        return fmt::format("rnd_{}_{}_{}", network_kind_names[static_cast<std::size_t>(kind)], seed, index);
    }
    /// A run takes about 1 to 50 ms on one core, but where it is `small`.
    [[nodiscard]] graph build() const {
        graph g;
        random_builder net{g, random_stream{seed}.split(index).split(static_cast<std::uint64_t>(kind)), small};
        switch (kind) {
        case network_kind::conv:
            random_conv{net}.build();
            break;
        case network_kind::recurrent:
            random_recurrent{net}.build();
            break;
        case network_kind::transformer:
            random_transformer{net}.build();
            break;
        }
        return g;
    }
};

/// The first networks of a seed: of each ten five are convolutional, three transformers, two recurrent.
[[nodiscard]] inline std::vector<random_network> random_networks(std::uint64_t seed, std::size_t count, bool small) {
    using enum network_kind;
    constexpr std::array mix{conv, transformer, conv, recurrent, conv, transformer, conv, recurrent, conv, transformer};
    std::vector<random_network> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back({seed, i, mix[i % mix.size()], small});
    return out;
}

} // namespace bench
