#include "catch.hpp"
#include <gsub/core/interface.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace interface_test {

using namespace gsub;

static_assert(std::has_virtual_destructor_v<interface>);

struct shape : interface {
    [[nodiscard]] virtual int corners() const = 0;
};
struct square : shape {
    explicit square(bool& gone) : gone_(gone) {}
    ~square() override { gone_ = true; }
    [[nodiscard]] int corners() const override { return 4; }

private:
    bool& gone_;
};

static_assert(!std::is_copy_constructible_v<square> && !std::is_copy_assignable_v<square>);
static_assert(!std::is_move_constructible_v<square> && !std::is_move_assignable_v<square>);

TEST_CASE("an object is used and destroyed through its interface") {
    bool gone = false;
    auto made = std::make_unique<square>(gone);
    shape const& s = *made;
    CHECK(s.corners() == 4);
    std::unique_ptr<interface> any = std::move(made);
    CHECK_FALSE(gone);
    any.reset();
    CHECK(gone);
}

} // namespace interface_test
