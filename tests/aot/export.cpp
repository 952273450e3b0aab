#include "exported_model.hpp"
#include <gsub/core/random.hpp>
#include <gsub/models/network_builder.hpp>

#include <set>
#include <thread>

namespace export_test {

using namespace gsub;
using namespace gsub::aot;
using namespace exported_model;
using models::network_builder;
using models::weight_source;

// Blocks of channels, a residual, a join that is copied, and outputs that are an input and a constant.
graph net_with_every_step() {
    graph g;
    network_builder net{g, weight_source{3}};
    auto const x = net.input(dtype::f32, {2, 5, 23, 19}, hostile);
    auto const a = net.relu("r", net.conv("c", x, {24, {3, 3}, {2, 2}, {1, 1}, 1, true}));
    auto const b = net.relu("s", net.sum("t", net.conv("d", a, {24, {1, 1}}), a));
    auto const j = net.concat("j", {net.conv("e", b, {7, {1, 1}}), net.max_pool("m", b, {{3, 3}, {1, 1}, {1, 1}})});
    auto const y = net.linear("fc", net.pooled_features(b), 11);
    net.outputs({y, j, x});
    return g;
}

runtime::program planned(any_graph const& g, isa const& isa = isa::baseline) {
    return plan(g, evaluators, isa).value();
}

int created(c_api const& api, c_options const& options) {
    void* context = nullptr;
    auto const status = api.create(&options, &context);
    CHECK((context != nullptr) == (status == ok));
    api.destroy(context);
    return status;
}

} // namespace export_test

TEST_CASE("an exported model computes what the executable does, bit for bit, with any threads") {
    using namespace export_test;
    if (!has_cmake()) return;
    auto const g = net_with_every_step();
    auto const inputs = random_inputs(g, 7);
    for (auto const* isa : {&isa::baseline, &isa_of(host())}) {
        INFO(isa->name);
        build_options options;
        options.jit.use_cache = false;
        options.isa = isa;
        auto const want = build(g, evaluators, host(), options).value().run(inputs).value();
        auto const p = planned(g, *isa);
        temporary_folder const folder;
        auto const report = written(p, folder.path.string(), {"net", true});
        CHECK(report.steps == p.steps.size());
        CHECK(report.weight_bytes == std::filesystem::file_size(folder.at("weights.bin")));
        auto const api = loaded(folder.path.string(), "net");
        auto const weights = folder.at("weights.bin");

        REQUIRE(api.input_count() == 1);
        REQUIRE(api.output_count() == 3);
        CHECK(api.input(0)->name == hostile);
        CHECK(api.input(0)->rank == 4);
        CHECK(api.input(0)->dims[3] == 19);
        CHECK(api.input(0)->bytes == inputs[0].size_bytes());
        CHECK(api.input(1) == nullptr);

        c_options from_file;
        from_file.weights_path = weights.c_str();
        void* first = nullptr;
        for (std::size_t const threads : {0u, 1u, 2u, 5u}) {
            from_file.threads = threads;
            REQUIRE(api.create(&from_file, &first) == ok);
            for (int i = 0; i < 20; ++i) CHECK(same_bits(outputs_of(api, first, p, inputs), want));
            if (threads != 5) api.destroy(first);
        }

        // Threads of the caller's, more of them than it says.
        c_executor const lent{[](void* count, std::size_t n, void (*body)(void*, std::size_t), void* argument) {
                                  ++*static_cast<int*>(count);
                                  std::vector<std::thread> all;
                                  for (std::size_t i = 0; i < n; ++i) all.emplace_back(body, argument, i);
                                  for (auto& t : all) t.join();
                              },
                              nullptr, 2};
        int calls = 0;
        auto counted = lent;
        counted.user = &calls;
        c_options shared;
        shared.weights_of = first;
        shared.executor = &counted;
        void* second = nullptr;
        REQUIRE(api.create(&shared, &second) == ok);
        api.destroy(first); // the weights stay
        CHECK(same_bits(outputs_of(api, second, p, inputs), want));
        CHECK(calls > 0);

        // A context a thread.
        std::vector<std::thread> others;
        std::vector<int> equal(4, 0);
        for (std::size_t t = 0; t < equal.size(); ++t)
            others.emplace_back([&, t] {
                void* own = nullptr;
                c_options o;
                o.weights_of = second;
                if (api.create(&o, &own) != ok) return;
                equal[t] = 1;
                for (int i = 0; i < 10; ++i) equal[t] &= same_bits(outputs_of(api, own, p, inputs), want);
                api.destroy(own);
            });
        for (auto& t : others) t.join();
        CHECK(equal == std::vector<int>(4, 1));

        void const* in[] = {inputs[0].raw().data()};
        void* out[] = {const_cast<void*>(in[0]), nullptr, nullptr};
        CHECK(api.run(second, in, out) == bad_argument);
        CHECK(api.run(second, nullptr, out) == bad_argument);
        CHECK(api.run(nullptr, in, out) == bad_argument);
        api.destroy(second);
        api.destroy(nullptr);
    }
}

TEST_CASE("each thread lends a kernel memory of its own") {
    using namespace export_test;
    if (!has_cmake()) return;
    constexpr std::int64_t rows = 4000;
    runtime::program p;
    std::int64_t const dims[] = {rows, 64};
    p.inputs = p.outputs = {tensor_type{dtype::f32, dims}};
    p.input_names = p.output_names = {"x"};
    p.values.resize(2);
    p.values[0].where.role = runtime::memory_role::input;
    p.values[1].where.role = runtime::memory_role::output;
    p.values[0].size = p.values[1].size = rows * 64 * sizeof(float);
    p.kernels.push_back({{R"(extern "C" void reverse(void* const* b, long begin, long end) {
        for (long i = begin; i < end; ++i) {
            volatile float* s = (volatile float*)b[2];
            for (int k = 0; k < 64; ++k) s[k] = ((float*)b[0])[i * 64 + k];
            for (int k = 0; k < 64; ++k) ((float*)b[1])[i * 64 + k] = s[63 - k];
        }
    })",
                          "reverse",
                          {}}});
    p.steps.resize(1);
    p.steps[0].what = runtime::kernel_call{0, {rows}, 64 * sizeof(float)};
    p.steps[0].values = {0, 1};
    p.steps[0].operations = 1e6;
    std::vector<float> elements(rows * 64);
    random_stream r{2};
    for (auto& e : elements) e = static_cast<float>(r.uniform());
    std::vector<tensor> const inputs{
        tensor::from(std::span<std::int64_t const>{dims}, std::span<float const>{elements})};
    for (std::size_t i = 0; i < rows; ++i)
        std::reverse(elements.begin() + static_cast<std::ptrdiff_t>(64 * i),
                     elements.begin() + static_cast<std::ptrdiff_t>(64 * (i + 1)));
    std::vector<tensor> const want{tensor::from(std::span<std::int64_t const>{dims}, std::span<float const>{elements})};

    temporary_folder const folder;
    written(p, folder.path.string(), {"net", true});
    auto const api = loaded(folder.path.string(), "net");
    auto const weights = folder.at("weights.bin");
    for (std::size_t const threads : {1u, 4u}) {
        c_options o;
        o.weights_path = weights.c_str();
        o.threads = threads;
        void* context = nullptr;
        REQUIRE(api.create(&o, &context) == ok);
        for (int i = 0; i < 50; ++i) CHECK(same_bits(outputs_of(api, context, p, inputs), want));
        api.destroy(context);
    }
}

TEST_CASE("weights that are damaged, cut off, misplaced or of another model are refused") {
    using namespace export_test;
    if (!has_cmake()) return;
    graph g;
    network_builder net{g, weight_source{5}};
    net.output(net.linear("fc", net.input(dtype::f32, {1, 40}, "x"), 30), "y");
    temporary_folder const folder, other;
    written(planned(g), folder.path.string(), {"fc", false});
    auto const api = loaded(folder.path.string(), "fc");
    auto const good = folder.text("weights.bin");
    std::vector<std::byte> room(good.size() + 128);
    auto* const place = room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64);
    auto const status = [&](std::string const& bytes, std::size_t shift = 0) {
        std::memcpy(place + shift, bytes.data(), bytes.size());
        c_options o;
        o.weights = place + shift;
        o.weights_size = bytes.size();
        auto const from_memory = created(api, o);
        if (shift > 0) return from_memory;
        auto const file = folder.at("w");
        io::write_file(file, bytes).value();
        c_options p;
        p.weights_path = file.c_str();
        CHECK(created(api, p) == from_memory);
        return from_memory;
    };
    CHECK(status(good) == ok);
    CHECK(status(good, 16) == bad_weights);
    random_stream r{1};
    for (std::size_t i = 0; i < 200; ++i) {
        auto bad = good;
        auto const at = i < 64 ? i : static_cast<std::size_t>(r.below(bad.size()));
        bad[at] = static_cast<char>(bad[at] ^ 1 << r.below(8));
        CHECK(status(bad) == bad_weights);
    }
    for (int i = 0; i < 20; ++i) CHECK(status(good.substr(0, r.below(good.size()))) == bad_weights);
    CHECK(status(good + std::string(63, '\0')) == bad_weights);

    graph h;
    network_builder wider{h, weight_source{5}};
    wider.output(wider.linear("fc", wider.input(dtype::f32, {1, 30}, "x"), 40), "y");
    written(planned(h), other.path.string(), {"fc", false});
    CHECK(status(other.text("weights.bin").substr(0, good.size())) == bad_weights);

    c_options none;
    CHECK(created(api, none) == bad_argument);
    auto const missing = folder.at("missing"), itself = folder.path.string();
    none.weights_path = missing.c_str();
    CHECK(created(api, none) == no_weights);
    none.weights_path = itself.c_str();
    CHECK(created(api, none) == no_weights);
    auto const right = folder.at("weights.bin");
    none.weights_path = right.c_str();
    none.threads = 2;
    CHECK(created(api, none) == no_threads); // written without
    CHECK(std::string{api.status_text(no_threads)}.find("threads") != std::string::npos);
}

TEST_CASE("a step without a text of its own is named with all others, and nothing is written") {
    using namespace export_test;
    build_options reference;
    reference.generate = false;
    auto const p = plan(net_with_every_step(), evaluators, isa::baseline, reference).value();
    temporary_folder const folder;
    auto const to = folder.at("new");
    auto const done = export_program(p, to);
    REQUIRE_FALSE(done);
    CHECK(done.error().id() == errors::not_exported);
    std::set<std::string> named;
    for (auto const& problem : done.error().problems()) named.insert(problem.node + " " + problem.op);
    for (auto const* one : {"c Conv", "d Conv", "e Conv", "m MaxPool", "fc Gemm", "j Concat"}) {
        INFO(one);
        CHECK(named.contains(one));
    }
    CHECK_FALSE(std::filesystem::exists(to));
}

TEST_CASE("generated code asks the processor for each instruction set option, or is not written") {
    using namespace export_test;
    auto const g = net_with_every_step();
    temporary_folder const folder;
    written(planned(g, isa::avx2), folder.at("a"));
    auto const source = folder.text("a/model.cpp"), cmake = folder.text("a/CMakeLists.txt");
    for (auto const* word : {"__builtin_cpu_supports(\"avx2\")", "__builtin_cpu_supports(\"fma\")"})
        CHECK(source.find(word) != std::string::npos);
    CHECK(cmake.find(";-mavx2;-mfma") != std::string::npos);
    CHECK(cmake.find("native") == std::string::npos);

    auto strange = planned(g, isa::avx2);
    for (auto& k : strange.kernels) k.source.isa_flags = "-mavx2 -mtbm";
    auto const done = export_program(strange, folder.at("b"));
    REQUIRE_FALSE(done);
    CHECK(done.error().id() == errors::not_exported);
    CHECK(done.error().message().find("-mtbm") != std::string::npos);
}

TEST_CASE("names of models are safe in C and CMake, and stay themselves") {
    using namespace export_test;
    random_stream r{11};
    for (int i = 0; i < 2000; ++i) {
        std::string text(static_cast<std::size_t>(r.below(100)), ' ');
        for (auto& c : text) c = r.below(2) ? static_cast<char>(r.below(256)) : "aZ09_-."[r.below(7)];
        auto const name = exported_name(text);
        INFO(name);
        CHECK((name[0] >= 'a' && name[0] <= 'z'));
        CHECK(name.size() <= 64);
        CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos);
        CHECK(name.find("__") == std::string::npos);
        CHECK(exported_name(name) == name);
    }
    CHECK(exported_name("ResNet-50 (v1.5).x") == "resnet_50_v1_5_x");
    CHECK(exported_name("2go") == "model_2go");
    CHECK(exported_name("") == "model");
    for (auto const* taken : {"math", "stdio", "test", "all", "m", "c", "pthread"})
        CHECK(exported_name(taken) == std::string{taken} + "_model");
    temporary_folder const folder;
    for (auto const* bad : {"", "Net", "a-b", "math", "a;b", "../up"}) {
        auto const done = export_program(planned(net_with_every_step()), folder.path.string(), {bad, true});
        REQUIRE_FALSE(done);
        CHECK(done.error().id() == errors::export_request);
        CHECK(check_export(folder.path.string(), {bad, true}).error().message() == done.error().message());
    }
    CHECK(std::filesystem::is_empty(folder.path));
}

TEST_CASE("texts of a model stand in what is written as escaped literals alone") {
    using namespace export_test;
    temporary_folder const folder;
    auto const report = written(planned(net_with_every_step()), folder.path.string());
    for (auto const& file : report.files) {
        if (file == "weights.bin") continue;
        INFO(file);
        CHECK(folder.text(file).find(hostile.substr(0, 6)) == std::string::npos);
        CHECK(folder.text(file).find("@name@") == std::string::npos);
        CHECK(folder.text(file).find('\xff') == std::string::npos);
    }
}

TEST_CASE("the same program gives the same files, what was there before is replaced, what is another's is kept") {
    using namespace export_test;
    auto const large = planned(net_with_every_step());
    graph g;
    network_builder net{g, weight_source{5}};
    net.output(net.linear("fc", net.input(dtype::f32, {1, 40}, "x"), 30), "y");
    temporary_folder const folder;
    auto const a = written(large, folder.at("a")), b = written(large, folder.at("b"));
    CHECK(a.files == b.files);
    for (auto const& file : a.files) CHECK(folder.text("a/" + file) == folder.text("b/" + file));

    auto const less = written(planned(g), folder.at("a"));
    CHECK(less.kernels == 1);
    std::set<std::string> found;
    for (auto const& entry : std::filesystem::directory_iterator{folder.at("a")})
        found.insert(entry.path().filename().string());
    CHECK(found == std::set<std::string>(less.files.begin(), less.files.end()));

    std::filesystem::create_directory(folder.at("mine"));
    io::write_file(folder.at("mine/main.c"), "precious").value();
    auto const refused = export_program(large, folder.at("mine"));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().id() == errors::export_request);
    CHECK(check_export(folder.at("mine")).error().message() == refused.error().message());
    CHECK(folder.text("mine/main.c") == "precious");
    io::write_file(folder.at("file"), "").value();
    CHECK(export_program(large, folder.at("file")).error().id() == errors::file_access);
    CHECK(check_export(folder.at("file")).error().id() == errors::file_access);
    CHECK(check_export(folder.at("a")));
    CHECK(check_export(folder.at("none")));
    CHECK_FALSE(std::filesystem::exists(folder.at("none")));
}
