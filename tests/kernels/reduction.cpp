#include "catch.hpp"
#include "codegen/compiled_kernel.hpp"
#include <gsub/codegen/lower_nest.hpp>
#include <gsub/core/random.hpp>
#include <gsub/kernels/reduction.hpp>

#include <numeric>
#include <vector>

namespace reduction_test {

using namespace gsub;
using kernels::reduction_shape;
using kernels::reduction_step;

// Dimensions, marks and an order of storage at random.
reduction_shape random_shape(random_stream& r) {
    reduction_shape s;
    s.dims.resize(1 + r.below(4));
    for (auto& d : s.dims) d = 1 + static_cast<std::int64_t>(r.below(s.dims.size() > 2 ? 7 : 40));
    for (std::size_t d = 0; d < s.dims.size(); ++d) s.reduced.push_back(r.below(2) == 0);
    std::vector<std::size_t> order(s.dims.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (auto i = order.size(); i-- > 1;) std::swap(order[i], order[r.below(3) == 0 ? r.below(i + 1) : i]);
    s.x.strides.resize(s.dims.size());
    s.x.elements = 1;
    for (auto i = order.size(); i-- > 0;) {
        s.x.strides[order[i]] = s.x.elements;
        s.x.elements *= s.dims[order[i]];
    }
    s.x.offset = static_cast<std::int64_t>(r.below(3));
    s.x.elements += s.x.offset;
    s.step = r.below(2) ? reduction_step::sum : reduction_step::maximum;
    if (s.step == reduction_step::sum && r.below(2)) s.divisor = 3;
    s.x.element = stored_dtypes[r.below(std::size(stored_dtypes))];
    if (!computes(loop::scalar_op::add, loop::computed_in(s.x.element))) s.x.element = dtype::f32;
    return s;
}

TEST_CASE("a reduction of any type along any dimensions, stored in any order, is that of its elements") {
    for (auto const* isa : compiled_kernel::sets()) {
        compiled_kernel::batch kernels{*isa};
        std::vector<reduction_shape> shapes;
        random_stream r{11};
        for (int i = 0; i < 60; ++i) {
            shapes.push_back(random_shape(r));
            auto const nest = kernels::reduction_nest(shapes.back(), *isa);
            kernels.add(codegen::lower(nest, "reduction").value());
        }
        kernels.compile();
        for (std::size_t i = 0; i < shapes.size(); ++i) {
            auto const& s = shapes[i];
            CAPTURE(isa->name, i, to_string(s.x.element), s.dims, std::vector<int>(s.reduced.begin(), s.reduced.end()));
            interpret::arrays data{std::vector<double>(static_cast<std::size_t>(s.x.elements)), {}};
            for (auto& v : data[0]) v = interpret::small_number(r, s.x.element);
            std::vector<double> want;
            std::vector<std::int64_t> at(s.dims.size(), 0);
            // Kept dimensions row-major, each over all positions of the others.
            auto const visit = [&](auto const& self, std::size_t d, bool reducing, auto&& f) -> void {
                if (d == s.dims.size()) return f();
                if ((s.reduced[d] != 0) != reducing) return self(self, d + 1, reducing, f);
                for (at[d] = 0; at[d] < s.dims[d]; ++at[d]) self(self, d + 1, reducing, f);
                at[d] = 0;
            };
            visit(visit, 0, false, [&] {
                double v = s.step == reduction_step::sum ? 0 : -1e300;
                visit(visit, 0, true, [&] {
                    auto place = s.x.offset;
                    for (std::size_t d = 0; d < at.size(); ++d) place += at[d] * s.x.strides[d];
                    auto const x = data[0][static_cast<std::size_t>(place)];
                    v = s.step == reduction_step::sum ? v + x : std::max(v, x);
                });
                // The sum of a mean does not wrap around.
                auto const type = loop::computed_in(s.x.element);
                v = is_integer(type) ? interpret::held(s.divisor == 1 ? v : std::trunc(v / s.divisor), type)
                                     : interpret::held(v / s.divisor, s.x.element);
                want.push_back(v);
            });
            data[1].assign(want.size(), 0);
            auto const last = kernels[i].parallel_extent;
            kernels.run(i, data, compiled_kernel::guarded::side::end, {0, last / 2, last});
            for (std::size_t e = 0; e < want.size(); ++e) CHECK(data[1][e] == Approx(want[e]).epsilon(1e-6));
        }
    }
}

} // namespace reduction_test
