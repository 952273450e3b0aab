// An append-only store that gives equal things equal small numbers.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/hash.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace gsub {

/// Append-only, thread-safe interner. Reading by id takes no lock; inserting takes one. Entries live as long as the
/// interner, so it is for things that repeat (types, attributes), never for weights. Ids depend on the order of
/// insertion and must not enter a hash, an order or a file.
/// `T` needs `operator==`; `Hash` gives a `hash128` that agrees with it.
template <class T, class Hash>
class interner {
public:
    interner() = default;
    interner(interner const&) = delete;
    interner& operator=(interner const&) = delete;
    ~interner() {
        for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
    }

    /// Id of a value equal to `value`. `make` builds the stored entry when there is none yet.
    template <class Make>
    std::uint32_t intern(hash128 hash, T const& value, Make&& make) {
        std::lock_guard const lock{mutex_};
        auto [first, last] = ids_.equal_range(hash);
        for (; first != last; ++first)
            if ((*this)[first->second] == value) return first->second;
        auto const id = size_;
        auto const [chunk, offset] = place(id);
        GSUB_ASSERT(chunk < chunks_.size(), "an interner holds at most 2^31 entries");
        if (!chunks_[chunk].load(std::memory_order_relaxed))
            chunks_[chunk].store(new T[first_chunk << chunk], std::memory_order_release);
        chunks_[chunk].load(std::memory_order_relaxed)[offset] = make();
        ids_.emplace(hash, id);
        ++size_;
        return id;
    }
    std::uint32_t intern(T const& value) {
        return intern(Hash{}(value), value, [&] { return value; });
    }

    /// The entry with an id that this interner gave.
    T const& operator[](std::uint32_t id) const noexcept {
        auto const [chunk, offset] = place(id);
        return chunks_[chunk].load(std::memory_order_acquire)[offset];
    }

private:
    // Chunk k holds 2^(k+8) entries, so that entries never move and their place follows from the id alone.
    static constexpr std::uint32_t first_chunk = 256;
    struct position {
        std::uint32_t chunk, offset;
    };
    static constexpr position place(std::uint32_t id) noexcept {
        auto const shifted = id / first_chunk + 1;
        auto const chunk = static_cast<std::uint32_t>(std::bit_width(shifted)) - 1;
        return {chunk, id - first_chunk * ((1u << chunk) - 1)};
    }

    std::mutex mutex_;
    std::array<std::atomic<T*>, 24> chunks_{};
    std::unordered_multimap<hash128, std::uint32_t> ids_;
    std::uint32_t size_ = 0;
};

} // namespace gsub
