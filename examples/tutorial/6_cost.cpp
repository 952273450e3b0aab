// Tutorial, step 6: a cost model of one's own.
#include "product.hpp"

int main(int argc, char** argv) {
    auto const better = app::optimized_product(app::digits{argc, argv});
    std::cout << gsub::report::to_text(better.report);
    require(better.report.unit == "J" && better.report.cost_after < better.report.cost_before, "it takes less energy");
}
