#include "catch.hpp"
#include <gsub/models/bert.hpp>
#include <gsub/models/builder_options.hpp>
#include <gsub/models/cnn_options.hpp>
#include <gsub/models/decoder.hpp>
#include <gsub/models/lstm_lm.hpp>
#include <gsub/models/nasnet.hpp>
#include <gsub/models/nasrnn.hpp>
#include <gsub/models/ssd.hpp>
#include <gsub/models/unet.hpp>
#include <gsub/models/yolo.hpp>

namespace builder_options_test {

using namespace gsub::models;

static_assert(builder_options<cnn_options> && builder_options<ssd_options> && builder_options<nasnet_options> &&
              builder_options<nasrnn_options> && builder_options<bert_options> && builder_options<unet_options> &&
              builder_options<yolo_options> && builder_options<lstm_lm_options> && builder_options<decoder_options>);

struct without_a_table {
    std::uint64_t seed = 1;
    std::int64_t batch = 1;
};
struct without_a_seed {
    std::int64_t batch = 1;
    static constexpr std::array<option_field<without_a_seed>, 1> fields{{{"batch", "", &without_a_seed::batch, 1, 2}}};
};
static_assert(!builder_options<without_a_table> && !builder_options<without_a_seed> && !builder_options<int>);

// A member that is no option cannot be asked for: every other one stands in the table.
template <class Struct>
constexpr bool complete = sizeof(Struct) == sizeof(std::uint64_t) + Struct::fields.size() * sizeof(std::int64_t);
static_assert(complete<cnn_options> && complete<ssd_options> && complete<nasnet_options> && complete<nasrnn_options> &&
              complete<bert_options> && complete<unet_options> && complete<yolo_options> && complete<lstm_lm_options> &&
              complete<decoder_options>);

// Values that do not go together.
static_assert(!bert_options{}.fault() && !nasnet_options{}.fault() && !bert_small_options.fault());
static_assert(bert_options{.sequence = 513}.fault() && bert_options{.heads = 7}.fault());
static_assert(nasnet_options{.filters = 46}.fault());

} // namespace builder_options_test

TEST_CASE("the options of a network have its usual values, and its least image") {
    using namespace builder_options_test;
    static constexpr auto options = options_of(cnn_options{.batch = 2, .image = 299}, 75);
    static_assert(options.size() == 3);
    CHECK(options[0].name == "batch");
    CHECK(options[0].usual == 2);
    CHECK(options[0].least == 1);
    CHECK(options[1].name == "image");
    CHECK(options[1].usual == 299);
    CHECK(options[1].least == 75);
    CHECK(options[1].most == 4096);
    CHECK(options[2].usual == 1000);
    CHECK(options_of(nasnet_options{}, 1)[1].least == 3); // its own bound is higher
    CHECK(options_of(nasrnn_options{}, 75)[0].least == 1);
}
