#pragma once

#include <gsub/kernels/depth_direction.hpp>

#include <initializer_list>
#include <vector>

namespace gsub::kernels::detail {

// Depth in a computation. Planes follow each other as rows do, so buffers have the rows of all planes: row `r` of plane
// `p` is row `p * rows + r`. Where there is no depth, all of this is zero.
struct depth_axes {
    loop::affine out, tap;
    loop::affine plane;         // of the image
    std::int64_t in, count = 1; // planes of the image and of results
    bool exist;

    depth_axes(loop::expression_builder& e, depth_direction const& d, std::int64_t places)
        : in(d.in), exist(d.exists()) {
        if (!exist) return;
        count = places;
        out = e.spatial("od", places), tap = e.reduction("kd", d.kernel);
        plane = out * d.stride + tap * d.dilation - loop::affine{d.pads[0]};
    }
    // An order of loops, with those of depth before those of rows and of rows of taps.
    [[nodiscard]] std::vector<loop::variable> within(loop::schedule const& plan, loop::variable rows,
                                                     loop::variable tap_rows,
                                                     std::vector<loop::variable> const& order) const {
        std::vector<loop::variable> all;
        for (auto const v : order) {
            if (exist && v == rows) all.push_back(plan.loop_of("od"));
            if (exist && v == tap_rows) all.push_back(plan.loop_of("kd"));
            all.push_back(v);
        }
        return all;
    }
};

} // namespace gsub::kernels::detail
