// Messages between a search and its remote workers: a head of fixed size and what it announces.
#pragma once

#include <gsub/core/result.hpp>
#include <gsub/tune/remote_scorer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::tune::detail {

// To a worker: the ticket of a point, and how many bytes of it follow.
struct request_head {
    std::uint64_t ticket = 0;
    std::uint64_t length = 0;
};

// From a worker: the score; or what the objective threw, of which so many bytes of text follow.
struct answer_head {
    std::uint64_t ticket = 0;
    double score = 0;
    std::uint32_t code = 0; // of an error; 0: there is a score, or what the text tells in its place
    std::uint32_t length = 0;
};

inline constexpr std::size_t most_text = std::size_t{64} << 10; // of an answer

template <class Head>
[[nodiscard]] std::vector<std::byte> message_of(Head const& head, std::span<std::byte const> rest) {
    std::vector<std::byte> out(sizeof head + rest.size());
    std::memcpy(out.data(), &head, sizeof head);
    if (!rest.empty()) std::memcpy(out.data() + sizeof head, rest.data(), rest.size());
    return out;
}
// *Requires* as many bytes as a head has.
template <class Head>
[[nodiscard]] Head head_of(std::span<std::byte const> message) {
    Head out;
    std::memcpy(&out, message.data(), sizeof out);
    return out;
}

// An error's identity as a number other than 0, and back.
[[nodiscard]] constexpr std::uint32_t number_of(error_id id) noexcept {
    return static_cast<std::uint32_t>(id.code) | std::uint32_t{id.number} << 8;
}
[[nodiscard]] constexpr error_id id_of(std::uint32_t number) noexcept {
    return {static_cast<error_code>(number & 0xff), static_cast<std::uint16_t>(number >> 8)};
}

// What a worker answers: the message that `work` makes. Nothing that it throws gets past.
template <class Work>
[[nodiscard]] std::vector<std::byte> answer_by(std::uint64_t ticket, Work const& work) {
    auto const thrown = [&](error_id id, std::string_view text) {
        text = text.substr(0, most_text);
        return message_of(answer_head{ticket, 0, number_of(id), static_cast<std::uint32_t>(text.size())},
                          std::as_bytes(std::span{text.data(), text.size()}));
    };
    try {
        return work();
    } catch (error const& e) { return thrown(e.id(), e.what()); } catch (std::exception const& e) {
        return thrown(error_code::usage, e.what());
    } catch (...) { return thrown(error_code::usage, "an exception without a text"); }
}

// The score of a point as a worker answers it.
template <class = void> // compiled in two libraries
[[nodiscard]] std::vector<std::byte> answer_to(std::uint64_t ticket, std::span<std::byte const> point,
                                               remote_objective const& objective) {
    return answer_by(ticket, [&] { return message_of(answer_head{ticket, objective(point)}, {}); });
}

// Throws what the objective threw on a worker.
template <class = void>
[[noreturn]] void rethrow_answer(answer_head const& head, std::span<std::byte const> text) {
    throw error{id_of(head.code), "the objective failed on a worker: " +
                                      std::string{reinterpret_cast<char const*>(text.data()), text.size()}};
}

} // namespace gsub::tune::detail
