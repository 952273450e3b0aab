// The weights file of an exported model.
#pragma once

#include <gsub/aot/impl/kernels.ipp>
#include <gsub/core/hash.hpp>
#include <gsub/io/file.hpp>

#include <bit>
#include <cstring>
#include <utility>

namespace gsub::aot::detail {

inline constexpr std::uint64_t weights_magic = 0x0a1a73746d627367; // "gsbmts", then what a transfer as text changes
inline constexpr std::uint64_t weights_version = 1;

// `digest` of the generated sources.
template <class = void>
class weights_digest {
public:
    weights_digest() {
        for (std::uint64_t i = 0; i < 8; ++i) lanes_[i] = 0xcbf29ce484222325u + i;
    }
    // The last piece of fewer than 64 bytes counts as filled up with zeros.
    void add(std::span<std::byte const> data) {
        for (std::size_t at = 0; at < data.size(); at += 64) {
            std::uint64_t words[8] = {};
            std::memcpy(words, data.data() + at, std::min<std::size_t>(64, data.size() - at));
            for (std::size_t i = 0; i < 8; ++i) lanes_[i] = mixed(lanes_[i] ^ words[i]);
            size_ += 64;
        }
    }
    std::uint64_t finish() const {
        auto all = size_;
        for (auto l : lanes_) all = mixed(all ^ l);
        return all;
    }

private:
    static std::uint64_t mixed(std::uint64_t word) { return std::rotl(word, 29) * 0x9e3779b97f4a7c15u; }
    std::uint64_t lanes_[8], size_ = 0;
};

// Constants one after the other, each once, at multiples of 64 bytes behind a header of 64.
template <class = void>
class exported_weights {
public:
    exported_weights(runtime::program const& p, exported_kernels<> const& kernels)
        : p_(p), places_(p.values.size(), 0) {
        std::map<std::pair<std::byte const*, std::size_t>, std::size_t> stored; // tensors may share their elements
        for (auto const& s : p.steps)
            for (auto v : s.values) {
                auto const whole = runtime::whole_of(p, v);
                auto const& value = p.values[whole];
                if (value.where.role != runtime::memory_role::constant) continue;
                auto const raw = value.data.raw();
                auto const [found, is_new] = stored.emplace(std::pair{raw.data(), raw.size()}, size_ - header);
                places_[whole] = found->second;
                if (!is_new) continue;
                constants_.push_back(whole);
                size_ += rounded(raw.size());
            }
        // Of what addresses them, not of their values: weights trained further are accepted, those of other sources
        // are not.
        hasher h{weights_version};
        for (auto const& k : kernels.sources()) h.add(std::string_view{k.text}).add(std::string_view{k.isa_flags});
        for (std::size_t i = 0; i < p.steps.size(); ++i) {
            auto const& call = kernels.calls()[i];
            h.add(call.kernel).add(static_cast<std::uint64_t>(call.positions));
            for (auto v : p.steps[i].values) {
                auto const whole = runtime::whole_of(p, v);
                h.add(places_[whole]).add(p.values[whole].size);
            }
        }
        model_ = h.finish().low;
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; } // of the file
    [[nodiscard]] std::uint64_t model() const noexcept { return model_; }
    // Of a value behind the header.
    [[nodiscard]] std::size_t place(std::size_t value) const noexcept { return places_[value]; }

    void write(io::output_file& file) const {
        weights_digest<> digest;
        for (auto v : constants_) digest.add(p_.values[v].data.raw());
        std::uint64_t const head[8] = {weights_magic, weights_version, size_, model_, digest.finish(), 0, 0, 0};
        static_assert(sizeof head == header);
        file.write(std::as_bytes(std::span{head}));
        std::byte const zeros[64] = {};
        for (auto v : constants_) {
            auto const raw = p_.values[v].data.raw();
            file.write(raw);
            file.write(std::span{zeros}.first(rounded(raw.size()) - raw.size()));
        }
    }

    [[nodiscard]] static std::size_t rounded(std::size_t n) noexcept { return (n + 63) / 64 * 64; }

private:
    static constexpr std::size_t header = 64;
    runtime::program const& p_;
    std::vector<std::size_t> places_;    // of each value
    std::vector<std::size_t> constants_; // values, in the order of the file
    std::size_t size_ = header;
    std::uint64_t model_ = 0;
};

} // namespace gsub::aot::detail
