// Tutorial, step 8: the product as a folder of sources that needs gsub neither to be built nor to run.
#include "product.hpp"

int main(int argc, char** argv) {
    auto const better = app::optimized_product(app::digits{argc, argv});
    auto const machine = gsub::host(); // or another: gsub::parse_target("x86-64-avx2,threads=2")
    auto const program = gsub::plan(better, machine).value();
    auto const written = gsub::aot::export_program(program, "reader", {.name = "reader"}).value();
    std::cout << written.kernels << " kernels, " << written.steps << " steps, " << written.weight_bytes
              << " bytes of weights, " << written.arena_bytes << " of memory a run\n";
}
