// expect: every stage of a pipeline is a pass
#include <gsub/passes/eliminate/dead_code_elimination.hpp>
#include <gsub/passes/pipeline.hpp>

auto made() {
    return gsub::pipeline{gsub::passes::dead_code_elimination{}, 7};
}
