#include "catch.hpp"
#include "io/scratch_folder.hpp"
#include <gsub/core/format.hpp>
#include <gsub/driver/pass_dump.hpp>
#include <gsub/driver/run_passes.hpp>
#include <gsub/io/file.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/lower/kernel_graph_text.hpp>
#include <gsub/lower/lower_graph.hpp>
#include <gsub/models/test_graphs.hpp>
#include <gsub/passes/fuse/defuse_ops.hpp>
#include <gsub/passes/fuse/fuse_ops.hpp>

#include <algorithm>
#include <filesystem>

namespace pass_dump_test {

using namespace gsub;

// Wrong, with a name that is no file name and a message that is no HTML.
struct wrong {
    static constexpr pass_facts facts{"../<wrong>", exactness::bit_exact};
    result<pass_outcome> operator()(any_graph& g, pass_context&) const {
        g.set_outputs(std::vector<value_id>{g.add<ops::relu>(g.output(0))});
        return error{error_code::unsupported, "<script>"};
    }
};

std::string read(scratch_folder const& folder, std::string_view name) {
    return io::read_file(folder / name).value();
}
bool has(scratch_folder const& folder, std::string_view name) {
    auto const names = folder.names();
    return std::find(names.begin(), names.end(), name) != names.end();
}

gsub::module small() {
    gsub::module m;
    m.add("main", models::fire_module(1));
    return m;
}

run_passes_options into(scratch_folder const& folder) {
    static auto const dot = [](any_graph const& g) { return fmt::format("digraph {}", g.size()); };
    run_passes_options o;
    o.dump = pass_dump_options{folder.path().string(), dot};
    return o;
}

TEST_CASE("each step that changes something is written, in forms that read back, and the index names all") {
    scratch_folder const folder;
    auto m = small();
    pass_context cx;
    auto const done = run_passes(m, passes::standard_passes(), "dce, fuse-ops, defuse-ops", cx, into(folder)).value();
    CHECK(done.records.size() == 3);
    auto const names = folder.names();
    for (auto name : {"000-start.txt", "000-start.dot", "000-start.onnx", "002-fuse-ops.txt", "002-fuse-ops.dot",
                      "002-fuse-ops.onnx", "003-defuse-ops.txt", "003-defuse-ops.onnx", "index.html"})
        CHECK(has(folder, name));
    CHECK_FALSE(has(folder, "003-defuse-ops.dot")); // the start's
    for (auto const& name : names) CHECK(name.find("001-") == std::string::npos);
    auto const index = read(folder, "index.html");
    for (auto const& name : names)
        if (name != "index.html") CHECK(index.find(name) != std::string::npos);
    CHECK(index.find("dead-code-elimination") != std::string::npos);
    auto const first = io::load_onnx(folder / "000-start.onnx").value();
    CHECK(io::load_onnx(folder / "002-fuse-ops.onnx").value() == first);
    CHECK(read(folder, "003-defuse-ops.txt") == read(folder, "000-start.txt"));
}

TEST_CASE("a pass that fails is written as it left the module, under a safe name, and escaped") {
    scratch_folder const folder;
    auto m = small();
    auto const before = fingerprint(m);
    pass_context cx;
    auto const known = passes::standard_passes().add(wrong{});
    CHECK_FALSE(run_passes(m, known, "fuse-ops, wrong", cx, into(folder)));
    CHECK(fingerprint(m) == before);
    CHECK(has(folder, "002-----wrong--failed.txt"));
    auto const index = read(folder, "index.html");
    CHECK(index.find("&lt;script&gt;") != std::string::npos);
    CHECK(index.find("<script>") == std::string::npos);
}

TEST_CASE("what cannot be written is an error, and the module is as before") {
    scratch_folder const folder;
    auto m = small();
    auto const before = fingerprint(m);
    pass_context cx;
    auto options = into(folder);
    options.dump->folder = folder.file("a file", "and no folder");
    auto const done = run_passes(m, passes::standard_passes(), "fuse-ops", cx, options);
    REQUIRE_FALSE(done);
    CHECK(done.error().id() == errors::file_access);
    CHECK(fingerprint(m) == before);
}

TEST_CASE("models with more weights than the limit are dumped without ONNX") {
    scratch_folder const folder;
    auto m = small();
    pass_context cx;
    auto options = into(folder);
    options.dump->max_weight_bytes = 4;
    REQUIRE(run_passes(m, passes::standard_passes(), "fuse-ops", cx, options));
    for (auto const& name : folder.names()) CHECK(name.find(".onnx") == std::string::npos);
    CHECK(read(folder, "index.html").find("bytes of weights)") != std::string::npos);
}

TEST_CASE("each stage of lowering is written to the folder of the passes") {
    scratch_folder const folder;
    auto const dump = [&](kernel_graph const& k) { dump_kernel_graph(k, folder / "passes").value(); };
    lowering_options options;
    options.on_stage = dump;
    auto const last =
        lower_graph(models::fire_module(1), table_of<eval_row, standard_ops>(), isa::avx512, options).value();
    for (auto const* const name : {"lowering-0-fused.txt", "lowering-1-selected.txt", "lowering-2-laid-out.txt"})
        CHECK(io::read_file((std::filesystem::path{folder / "passes"} / name).string()));
    auto const text = io::read_file((std::filesystem::path{folder / "passes"} / "lowering-3-scheduled.txt").string());
    CHECK(text.value() == to_text(last));
    CHECK(dump_kernel_graph(last, folder / "passes/lowering-0-fused.txt").error().code() == error_code::environment);
}

} // namespace pass_dump_test
