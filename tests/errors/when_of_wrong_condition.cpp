// expect: the condition of a when is called with a gsub::module const&
#include <gsub/passes/eliminate/dead_code_elimination.hpp>
#include <gsub/passes/pipeline.hpp>

auto made() {
    return gsub::when{[](int) { return true; }, gsub::passes::dead_code_elimination{}};
}
