#include "aot/exported_model.hpp"
#include <gsub/models/network_builder.hpp>

#include <cstdint>
#include <sys/resource.h>
#include <vector>

namespace variants_test {

using namespace exported_model;
using models::network_builder;
using models::weight_source;

graph small_net(std::int64_t classes = 7) {
    graph g;
    network_builder net{g, weight_source{3}};
    auto const x = net.input(dtype::f32, {1, 5, 9, 11}, "x");
    auto const c = net.relu("r", net.conv("c", x, {24, {3, 3}, {1, 1}, {1, 1}, 1, true}));
    net.output(net.linear("fc", net.pooled_features(net.conv("p", c, {17, {1, 1}, {1, 1}, {0, 0}, 1, true})), classes),
               "y");
    return g;
}
runtime::program planned(isa const& set, std::int64_t classes = 7) {
    return plan(small_net(classes), evaluators, set).value();
}
struct variants {
    std::vector<runtime::program> programs{};
    std::vector<export_variant> all{};
    explicit variants(std::vector<isa const*> const& of) {
        programs.reserve(of.size());
        for (auto const* s : of) {
            programs.push_back(planned(*s));
            all.push_back({s, &programs.back()});
        }
    }
};

std::string command_output(std::string const& command, std::string const& file) {
    static_cast<void>(std::system((command + " > '" + file + "' 2>&1").c_str()));
    return io::read_file(file).value();
}

TEST_CASE("a model for several instruction sets computes what the widest of them does that the processor has") {
    if (!has_cmake() || host().isa->architecture != "x86-64") return;
    auto const& widest = *host().isa;
    build_options options;
    options.jit.use_cache = false;
    auto const inputs = random_inputs(small_net(), 7);
    auto const want = build(small_net(), evaluators, host(), options).value().run(inputs).value();
    // The order in which they are given does not matter.
    variants const v{{&isa::sse42, &isa::avx512, &isa::avx2}};
    temporary_folder const folder;
    auto const report = export_variants(v.all, folder.path.string(), {"net", true}).value();
    CHECK(report.weight_bytes == std::filesystem::file_size(folder.at("weights.bin")));
    for (auto const& f : report.files) CHECK(std::filesystem::exists(folder.path / f));
    auto const api = loaded(folder.path.string(), "net");
    auto const& p = v.programs[widest.runs(isa::avx512) ? 1 : widest.runs(isa::avx2) ? 2 : 0];
    REQUIRE(api.input_count() == 1);
    CHECK(api.input(0)->name == std::string{"x"});
    CHECK(api.output(0)->bytes == 7 * sizeof(float));
    CHECK(api.output(1) == nullptr);
    CHECK(std::string{api.status_text(bad_weights)}.find("weights") != std::string::npos);

    auto const weights = folder.at("weights.bin");
    c_options o;
    o.weights_path = weights.c_str();
    void *first = nullptr, *second = nullptr;
    for (std::size_t const threads : {1u, 3u}) {
        o.threads = threads;
        REQUIRE(api.create(&o, &first) == ok);
        CHECK(same_bits(outputs_of(api, first, p, inputs), want));
        c_options shared;
        shared.weights_of = first;
        REQUIRE(api.create(&shared, &second) == ok);
        api.destroy(first); // the weights stay
        CHECK(same_bits(outputs_of(api, second, p, inputs), want));
        CHECK(api.message(second) == std::string{});
        api.destroy(second);
    }

    // From memory; damaged, cut off, missing.
    auto bytes = folder.text("weights.bin");
    std::vector<std::byte> room(bytes.size() + 64);
    auto* const place = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64);
    std::memcpy(place, bytes.data(), bytes.size());
    c_options m;
    m.weights = place;
    m.weights_size = bytes.size();
    REQUIRE(api.create(&m, &first) == ok);
    CHECK(same_bits(outputs_of(api, first, p, inputs), want));
    api.destroy(first);
    for (std::size_t at = 0; at < bytes.size(); at += 64) place[at] = static_cast<std::byte>(~bytes[at]);
    CHECK(api.create(&m, &first) == bad_weights);
    CHECK(first == nullptr);
    m.weights_size -= 64;
    CHECK(api.create(&m, &first) == bad_weights);
    auto const missing = folder.at("missing");
    o.weights_path = missing.c_str();
    CHECK(api.create(&o, &first) == no_weights);
    c_options const none;
    CHECK(api.create(&none, &first) == bad_argument);
    CHECK(api.run(nullptr, nullptr, nullptr) == bad_argument);
    api.destroy(nullptr);
}

TEST_CASE("an emulated processor gets the variant that it has, or is told that there is none") {
    if (!has_cmake() || host().isa->architecture != "x86-64") return;
    if (std::system("qemu-x86_64 --version > /dev/null 2>&1") != 0) {
        WARN("qemu-x86_64 is not here");
        return;
    }
    variants const v{{&isa::avx512, &isa::avx2, &isa::sse42}};
    temporary_folder const folder;
    CHECK(export_variants(v.all, folder.path.string(), {"net", false}).value().kernels > 0);
    auto const path = "'" + folder.path.string() + "'";
    REQUIRE(std::system(("( cmake -G Ninja -S " + path + " -B " + path +
                         "/build '-DCMAKE_CXX_COMPILER=" + runtime::find_compiler().value().path +
                         "' && cmake --build " + path + "/build -j2 ) > " + path + "/log 2>&1")
                            .c_str()) == 0);
    auto const run_on = [&](std::string const& processor) {
        return command_output("qemu-x86_64 -cpu " + processor + " " + path + "/build/net_demo " + path + "/weights.bin",
                              folder.at("said"));
    };
    auto const newer = run_on("Haswell"), older = run_on("Nehalem");
    INFO(newer << older);
    CHECK(newer.find("y [1, 7] ") != std::string::npos);
    CHECK(older.find("y [1, 7] ") != std::string::npos);
    CHECK(run_on("core2duo").find("lacks instructions") != std::string::npos);
}

TEST_CASE("variants that are no variants are refused") {
    temporary_folder const folder;
    auto const refused = [&](std::span<export_variant const> of, std::string const& name = "net") {
        auto const done = export_variants(of, folder.at("out"), {name, true});
        REQUIRE_FALSE(done);
        CHECK(done.error().code() == error_code::usage);
        CHECK_FALSE(std::filesystem::exists(folder.at("out")));
        return done.error().message();
    };
    auto const avx2 = planned(isa::avx2), neon = planned(isa::neon), other = planned(isa::avx512, 8);
    using list = std::vector<export_variant>;
    refused(list{});
    CHECK(refused(list{{&isa::avx2, &avx2}, {&isa::avx2, &avx2}}).find("twice") != std::string::npos);
    CHECK(refused(list{{&isa::avx2, &avx2}, {&isa::neon, &neon}}).find("architectures") != std::string::npos);
    CHECK(refused(list{{&isa::avx2, &avx2}, {&isa::avx512, &other}}).find("inputs or outputs") != std::string::npos);
    refused(list{{&isa::avx2, &avx2}}, "No Name");
    refused(list{{&isa::avx2, &avx2}}, std::string(62, 'a')); // with the set's name too long
}

// A limit of the size of files ends the writing of the first one that is larger.
TEST_CASE("an export of several sets that failed anywhere can be made again in its folder") {
    variants const v{{&isa::sse42, &isa::avx2}};
    int failed = 0;
    for (rlim_t most = 1 << 9; most < 1 << 18; most += most / 4) {
        temporary_folder const folder;
        rlimit before{};
        REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
        rlimit const limit{most, before.rlim_max};
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
        auto const cut = export_variants(v.all, folder.path.string(), {"net", true});
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
        CAPTURE(most);
        failed += !cut;
        CHECK((cut || cut.error().id() == errors::file_access));
        auto const again = export_variants(v.all, folder.path.string(), {"net", true});
        CHECK((again ? std::string{} : again.error().message()) == "");
    }
    CHECK(failed > 3);
}

} // namespace variants_test
