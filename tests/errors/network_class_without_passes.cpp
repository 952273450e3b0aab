// expect: a class of networks is a value with a static `name`
#include <gsub/passes/select/network_class.hpp>

struct recurrent {
    static constexpr std::string_view name = "recurrent";
    gsub::class_score score(gsub::architecture_features const&) const { return {1, "all are"}; }
};

auto made(gsub::module const& m) {
    return gsub::select_passes<recurrent>(m);
}
