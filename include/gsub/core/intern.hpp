// Interner: an append-only store that gives equal values equal small numbers.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/hash.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace gsub {

/// Append-only, thread-safe interner. Lookup by id and by value takes no lock and writes nothing that other threads
/// read; insertion takes a lock. Entries live as long as the interner, so it is for values that repeat (types,
/// attributes), never for weights. Ids depend on the order of insertion and must not enter a hash, an order or a file.
/// `T` needs `operator==`; `Hash` gives a `hash128` that agrees with it.
template <class T, class Hash>
class interner {
public:
    interner() { tables_.push_back(std::make_unique<table>(first_slots)), ids_ = tables_.back().get(); }
    /// Starts with one entry, of id 0.
    explicit interner(T const& first) : interner() { intern(first); }
    interner(interner const&) = delete;
    interner& operator=(interner const&) = delete;
    ~interner() {
        for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
    }

    /// Id of a value equal to `value`. `make` builds the stored entry when there is none yet. *Complexity* O(1)
    /// expected
    template <class Make>
    std::uint32_t intern(hash128 hash, T const& value, Make&& make) {
        if (auto const known = find(*ids_.load(std::memory_order_acquire), hash, value)) return *known;
        std::lock_guard const lock{mutex_};
        if (auto const known = find(*tables_.back(), hash, value)) return *known; // another thread was faster
        auto const id = size_;
        auto const [chunk, offset] = place(id);
        GSUB_ASSERT(chunk < chunks_.size(), "an interner holds at most 2^31 entries");
        if (2 * (id + std::size_t{1}) > tables_.back()->slots.size()) grow();
        if (!chunks_[chunk].load(std::memory_order_relaxed))
            chunks_[chunk].store(new T[first_chunk << chunk], std::memory_order_release);
        chunks_[chunk].load(std::memory_order_relaxed)[offset] = make();
        add(*tables_.back(), slot_of(hash, id), hash);
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
    static constexpr std::size_t first_slots = 2 * first_chunk;
    struct position {
        std::uint32_t chunk, offset;
    };
    static constexpr position place(std::uint32_t id) noexcept {
        auto const shifted = id / first_chunk + 1;
        auto const chunk = static_cast<std::uint32_t>(std::bit_width(shifted)) - 1;
        return {chunk, id - first_chunk * ((1u << chunk) - 1)};
    }

    // Ids by hash, at most half of the slots taken: an id stands in the first free slot from where its hash points.
    // A slot has 32 bits of the hash over one more than the id; 0 is a free one.
    struct table {
        explicit table(std::size_t size) : slots(size) {}
        std::vector<std::atomic<std::uint64_t>> slots; // a power of two of them
    };
    static constexpr std::uint64_t slot_of(hash128 hash, std::uint32_t id) noexcept {
        return hash.high << 32 | (std::uint64_t{id} + 1);
    }
    std::optional<std::uint32_t> find(table const& in, hash128 hash, T const& value) const {
        auto const mask = in.slots.size() - 1;
        for (auto i = hash.low & mask;; i = (i + 1) & mask) {
            auto const slot = in.slots[i].load(std::memory_order_acquire); // the entry was written before it
            if (slot == 0) return {};
            auto const id = static_cast<std::uint32_t>(slot) - 1;
            if (slot == slot_of(hash, id) && (*this)[id] == value) return id;
        }
    }
    static void add(table& to, std::uint64_t slot, hash128 hash) {
        auto const mask = to.slots.size() - 1;
        auto i = hash.low & mask;
        while (to.slots[i].load(std::memory_order_relaxed) != 0) i = (i + 1) & mask;
        to.slots[i].store(slot, std::memory_order_release);
    }
    // A table of twice the size takes over. The old one stays: other threads may look something up there; what they do
    // not find they look for again under the lock.
    void grow() {
        auto wider = std::make_unique<table>(2 * tables_.back()->slots.size());
        for (std::uint32_t id = 0; id < size_; ++id) {
            auto const hash = Hash{}((*this)[id]);
            add(*wider, slot_of(hash, id), hash);
        }
        tables_.push_back(std::move(wider));
        ids_.store(tables_.back().get(), std::memory_order_release);
    }

    // What readers look at stands apart from what an insertion writes.
    alignas(64) std::array<std::atomic<T*>, 24> chunks_{};
    std::atomic<table const*> ids_{nullptr};
    alignas(64) std::mutex mutex_;
    std::vector<std::unique_ptr<table>> tables_;
    std::uint32_t size_ = 0;
};

} // namespace gsub
