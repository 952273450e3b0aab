// The running model of the tutorial: a trained classifier of digits, and 360 images that took no part in its training.
#pragma once

#include "../require.hpp"
#include <gsub/gsub.hpp>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

namespace app {

struct reading {
    int right = 0, wrong = 0, unsure = 0;
};
inline std::ostream& operator<<(std::ostream& out, reading const& r) {
    return out << r.right << " right, " << r.wrong << " wrong, " << r.unsure << " unsure\n";
}

struct digits {
    std::string folder; // examples/digits
    gsub::tensor images = gsub::io::load_npy(folder + "/images.npy").value();
    gsub::tensor labels = gsub::io::load_npy(folder + "/labels.npy").value();

    explicit digits(int argc, char** argv) : folder(argc > 1 ? argv[1] : "examples/digits") {}
    [[nodiscard]] std::string model() const { return folder + "/digits.onnx"; }

    /// The images as the product's scanner gives them: whole numbers from 0 to 16.
    [[nodiscard]] gsub::tensor scans() const {
        auto out = images;
        for (auto& pixel : out.mutable_data<float>()) pixel *= 16;
        return out;
    }
    /// Reads each image as the digit of its largest score; where no score is positive it is unsure.
    [[nodiscard]] reading read(gsub::tensor const& scores) const {
        auto const truth = labels.data<std::int64_t>();
        reading out;
        for (std::size_t i = 0; i < truth.size(); ++i) {
            auto const row = scores.data<float>().subspan(10 * i, 10);
            auto const best = std::max_element(row.begin(), row.end());
            ++(*best <= 0 ? out.unsure : best - row.begin() == truth[i] ? out.right : out.wrong);
        }
        return out;
    }
};

} // namespace app
