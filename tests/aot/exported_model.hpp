// Models written by `export_program`, built as a stranger builds them, and called through their C API.
#pragma once

#include "catch.hpp"
#include <gsub/aot/export.hpp>
#include <gsub/driver/build.hpp>
#include <gsub/io/file.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

namespace exported_model {

using namespace gsub;
using namespace gsub::aot;

inline auto const evaluators = table_of<eval_row, standard_ops>();
inline std::string const hostile = "a\"); abort(); /* */ \\ ?\?/ \n\t \x7f\xff @name@ $<1:x> ${y} %s";

struct temporary_folder {
    std::filesystem::path path;
    temporary_folder() {
        auto form = (std::filesystem::temp_directory_path() / "gsub-compile-XXXXXX").string();
        REQUIRE(::mkdtemp(form.data()));
        path = form;
    }
    temporary_folder(temporary_folder const&) = delete;
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    std::string at(std::string_view name) const { return (path / name).string(); }
    std::string text(std::string_view name) const { return io::read_file(at(name)).value(); }
};

inline export_report written(runtime::program const& p, std::string const& folder, export_options const& o = {}) {
    return export_program(p, folder, o).value();
}

// The C API of a model, as its header has it.
struct c_tensor {
    char const* name;
    int type;
    std::size_t rank;
    std::int64_t const* dims;
    std::size_t bytes;
};
struct c_executor {
    void (*parallel_for)(void*, std::size_t, void (*)(void*, std::size_t), void*);
    void* user;
    std::size_t concurrency;
};
struct c_options {
    void const* weights_of = nullptr;
    void const* weights = nullptr;
    std::size_t weights_size = 0;
    char const* weights_path = nullptr;
    c_executor const* executor = nullptr;
    std::size_t threads = 0;
};
enum c_status {
    ok,
    bad_argument,
    no_weights,
    bad_weights,
    no_instructions,
    no_memory,
    no_threads,
    busy,
    bad_input,
    function_failed
};

struct c_api {
    std::size_t (*input_count)(), (*output_count)();
    c_tensor const* (*input)(std::size_t);
    c_tensor const* (*output)(std::size_t);
    int (*create)(c_options const*, void**);
    int (*run)(void*, void const* const*, void* const*);
    void (*destroy)(void*);
    char const* (*status_text)(int);
    char const* (*message)(void const*);
};

// Builds the folder as a stranger does, with the compiler that the executable's kernels have.
inline c_api loaded(std::string const& folder, std::string const& name, std::string const& settings = {}) {
    auto const with = runtime::find_compiler().value();
    auto const build = folder + "/build";
    auto const command = "( cmake -G Ninja -S '" + folder + "' -B '" + build +
                         "' -DBUILD_SHARED_LIBS=ON '-DCMAKE_CXX_COMPILER=" + with.path + "' " + settings +
                         " && cmake --build '" + build + "' -j2 ) > '" + folder + "/log' 2>&1";
    auto const failed = std::system(command.c_str());
    INFO(io::read_file(folder + "/log").value());
    REQUIRE(failed == 0);
    void* const library = ::dlopen((build + "/lib" + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library);
    c_api api{};
    auto const bind = [&](char const* function, auto& to) {
        void* const found = ::dlsym(library, (name + "_" + function).c_str());
        REQUIRE(found);
        std::memcpy(&to, &found, sizeof found);
    };
    bind("input_count", api.input_count);
    bind("output_count", api.output_count);
    bind("input", api.input);
    bind("output", api.output);
    bind("create", api.create);
    bind("run", api.run);
    bind("destroy", api.destroy);
    bind("status_text", api.status_text);
    bind("message", api.message);
    return api;
}

inline bool has_cmake() {
    return std::system("cmake --version > /dev/null 2>&1") == 0;
}

inline int run(c_api const& api, void* context, std::vector<tensor> const& inputs, std::vector<tensor>& outputs) {
    std::vector<void const*> in;
    std::vector<void*> out;
    for (auto const& t : inputs) in.push_back(t.raw().data());
    for (auto& t : outputs) out.push_back(t.mutable_raw().data());
    return api.run(context, in.data(), out.data());
}
inline std::vector<tensor> outputs_of(c_api const& api, void* context, runtime::program const& p,
                                      std::vector<tensor> const& inputs) {
    std::vector<tensor> outputs;
    for (auto const& t : p.outputs) outputs.push_back(tensor::zeros(t));
    if (run(api, context, inputs, outputs) != ok) outputs.clear();
    return outputs;
}

inline bool same_bits(std::vector<tensor> const& a, std::vector<tensor> const& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](tensor const& x, tensor const& y) {
        auto const bits = x.raw(), expected = y.raw();
        return std::equal(bits.begin(), bits.end(), expected.begin(), expected.end());
    });
}

} // namespace exported_model
