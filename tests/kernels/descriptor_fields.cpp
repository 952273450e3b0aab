#include "catch.hpp"
#include "random_record.hpp"
#include <gsub/kernels/descriptor_fields.hpp>

#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace descriptor_fields_test {

using namespace gsub::kernels;

template <class... Ts>
consteval bool all_are_listed(std::variant<Ts...> const*) {
    return (lists_all_members<Ts> && ...);
}

// A member that a shape has and its listing has not: these tell which it is.
static_assert(lists_all_members<array_view> && lists_all_members<elementwise_op>);
static_assert(lists_all_members<row_reduction_op> && lists_all_members<row_reduction_result>);
static_assert(lists_all_members<moved_box> && lists_all_members<chosen_entries> && lists_all_members<winograd_config>);
static_assert(all_are_listed(static_cast<descriptor const*>(nullptr)));

template <class T>
std::string text_of(T const& value) {
    std::string out;
    print_value(out, value);
    return out;
}

/// A field that differs from its default is alone in the text: no member is listed under two names.
template <class S>
void check_fields() {
    record_traits<S>::each_field([](std::string_view name, auto member) {
        S s{};
        random_record::each_change(s.*member, [&] {
            auto const text = text_of(s);
            auto const wanted = "{" + std::string{name} + "=" + text_of(s.*member) + "}";
            if (text != wanted) FAIL_CHECK(text << " is not " << wanted);
        });
    });
}

template <class... Ts>
void check_fields_of(std::variant<Ts...> const&) {
    (check_fields<Ts>(), ...);
}

} // namespace descriptor_fields_test

TEST_CASE("each member of a shape is listed once, under a name of its own") {
    using namespace descriptor_fields_test;
    check_fields_of(descriptor{});
    check_fields<array_view>(), check_fields<elementwise_op>();
    check_fields<row_reduction_op>(), check_fields<row_reduction_result>();
    check_fields<moved_box>(), check_fields<chosen_entries>(), check_fields<winograd_config>();
}

TEST_CASE("each enumerator has a word that no other one has") {
    using namespace descriptor_fields_test;
    auto const check = []<class E>(E last) {
        auto const& words = word_traits<E>::words;
        CHECK(std::size(words) == static_cast<std::size_t>(last) + 1);
        for (auto a = std::begin(words); a != std::end(words); ++a) {
            CHECK(!a->empty());
            for (auto b = std::begin(words); b != a; ++b) CHECK(*a != *b);
        }
    };
    check(gsub::dtype::u16);
    check(gsub::loop::scalar_op::fast_erf);
    check(reduction_step::maximum);
    check(movement_kind::from_blocked);
}
