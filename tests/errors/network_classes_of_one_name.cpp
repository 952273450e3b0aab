// expect: two classes of networks have one name
#include <gsub/passes/eliminate/dead_code_elimination.hpp>
#include <gsub/passes/select/network_class.hpp>

struct recurrent {
    static constexpr std::string_view name = "recurrent";
    gsub::class_score score(gsub::architecture_features const&) const { return {1, "all are"}; }
    auto passes() const { return gsub::pipeline{gsub::passes::dead_code_elimination{}}; }
};
struct again : recurrent {};

auto made(gsub::module const& m) {
    return gsub::select_passes<recurrent, again>(m);
}
