// Records for tests: AutoTVM's of the slides, Ansor's of TVM's tutorial, random ones, and folders for files of them.
#pragma once

#include "catch.hpp"
#include <gsub/core/random.hpp>
#include <gsub/loop/config_space.hpp>
#include <gsub/tune/record.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tuning_records {

using namespace gsub;

inline std::string const autotvm_line =
    R"({"input": ["cuda -keys=cuda,gpu -arch=sm_75 -max_num_threads=1024 -model=unknown -thread_warp_size=32", )"
    R"("conv2d_nchw.cuda", [["TENSOR", [1, 256, 14, 14], "float32"], ["TENSOR", [512, 256, 1, 1], "float32"], [2, 2], )"
    R"([0, 0, 0, 0], [1, 1], "float32"], {}], "config": {"index": 11312, "code_hash": null, "entity": [["tile_f", "sp", )"
    R"([-1, 4, 32, 2]], ["tile_y", "sp", [-1, 1, 1, 7]], ["tile_x", "sp", [-1, 1, 1, 1]], ["tile_rc", "sp", [-1, 8]], )"
    R"(["tile_ry", "sp", [-1, 1]], ["tile_rx", "sp", [-1, 1]], ["auto_unroll_max_step", "ot", 0], )"
    R"(["unroll_explicit", "ot", 0]]}, "result": [[0.00010343405303678358], 0, 1.5358951091766357, 1658184289.7048202], )"
    R"("version": 0.2, "tvm_version": "0.9.dev0"})";

/// The space that the record is of: a 1x1 convolution of 256 to 512 channels, 14x14 pixels, strides of 2.
inline loop::config_space slides_space() {
    loop::config_space s;
    s.split("tile_f", 512, {.parts = 4});
    s.split("tile_y", 7, {.parts = 4});
    s.split("tile_x", 7, {.parts = 4});
    s.split("tile_rc", 256);
    s.split("tile_ry", 1);
    s.split("tile_rx", 1);
    s.choice("auto_unroll_max_step", {0, 512, 1500});
    s.choice("unroll_explicit", {0, 1});
    return s;
}

inline std::string const ansor_line =
    R"({"i": [["[\"matmul_add\", 1024, 1024, 1024, \"float32\"]", "llvm -keys=cpu -link-params=0", )"
    R"([18, 64, 64, 0, 0, 0, 0, 0]], [[], [["SP", 2, 0, 1024, [2, 1, 4], 1], ["SP", 2, 4, 1024, [1, 1, 8], 1], )"
    R"(["SP", 2, 8, 1024, [4], 1], ["RE", 2, [0, 4, 1, 5, 8, 2, 6, 9, 3, 7]], ["FSP", 4, 0, 0, 2], ["FSP", 4, 3, 1, 2], )"
    R"(["RE", 4, [0, 3, 1, 4, 2, 5]], ["CA", 2, 4, 3], ["FU", 4, [0, 1]], ["AN", 4, 0, 3], )"
    R"(["PR", 2, 0, "auto_unroll_max_step$8"], ["AN", 2, 9, 2], ["AN", 4, 4, 2]]]], )"
    R"("r": [[0.0044742], 0, 0.335558, 1607112214], "v": "v0.3"})";

/// The text with a piece of it replaced.
inline std::string with(std::string text, std::string_view piece, std::string_view by) {
    auto const at = text.find(piece);
    INFO(text);
    INFO("lacks " << piece);
    REQUIRE(at != std::string::npos);
    return text.replace(at, piece.size(), by);
}

/// A record of a task `t`, number `n` of a writer.
inline tune::record numbered(int writer, int n, double cost) {
    tune::record r;
    r.target = "llvm -keys=cpu";
    r.task = "t";
    r.args = {tune::json_number::integer(writer)};
    r.index = static_cast<std::uint64_t>(n);
    r.entity = {{"tile", tune::entity_kind::split, std::vector<tune::json_value>{tune::json_number::integer(n + 1)}}};
    r.costs = {tune::json_number{cost}};
    return r;
}

/// A folder that goes with its object.
class temporary_folder {
public:
    temporary_folder() {
        std::string name = (std::filesystem::temp_directory_path() / "gsub_tune_XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    temporary_folder(temporary_folder const&) = delete;
    temporary_folder& operator=(temporary_folder const&) = delete;
    ~temporary_folder() { std::filesystem::remove_all(path_); }
    [[nodiscard]] std::string file(std::string_view name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

} // namespace tuning_records
