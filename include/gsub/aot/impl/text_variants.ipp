// The dispatcher of a model that is exported for several instruction sets. @name@ and the like are replaced; nothing in
// the text is of gsub.
#pragma once

namespace gsub::aot::detail {

// Before: the header of the model and those of its variants, system headers.
inline constexpr char const* export_variant_types = R"text(
namespace {

// A part of the file of weights.
struct mapping {
    void* at = nullptr;
    std::size_t size = 0;
    mapping() = default;
    mapping(mapping const&) = delete;
    mapping& operator=(mapping const&) = delete;
    ~mapping() {
        if (at) munmap(at, size);
    }
};

// The model for one instruction set, and where its weights stand in the file.
struct variant {
    @name@_status (*create)(@name@_options const&, void const* shared, void const* data, std::size_t size, void** made);
    @name@_status (*run)(void*, void const* const*, void* const*);
    char const* (*message)(void const*);
    void (*destroy)(void*);
    std::size_t (*memory)();
    std::size_t at, size;
};

)text";

// For each variant, @v@.
inline constexpr char const* export_variant_calls =
    R"text(@name@_status create_@v@(@name@_options const& o, void const* shared, void const* data, std::size_t size, void** made) {
    @v@_executor threads{};
    @v@_options own{};
    own.weights_of = static_cast<@v@_context const*>(shared);
    own.weights = data;
    own.weights_size = size;
    own.threads = o.threads;
    if (o.executor) {
        threads = {o.executor->parallel_for, o.executor->user, o.executor->concurrency};
        own.executor = &threads;
    }
    @v@_context* context = nullptr;
    auto const status = @v@_create(&own, &context);
    *made = context;
    return static_cast<@name@_status>(status);
}
@name@_status run_@v@(void* c, void const* const* in, void* const* out) {
    return static_cast<@name@_status>(@v@_run(static_cast<@v@_context*>(c), in, out));
}
char const* message_@v@(void const* c) { return @v@_message(static_cast<@v@_context const*>(c)); }
void destroy_@v@(void* c) { @v@_destroy(static_cast<@v@_context*>(c)); }

)text";

// Before: the tables `variants`, `inputs_` and `outputs_`, and `weights_size`.
inline constexpr char const* export_dispatcher = R"text(
constexpr std::size_t input_count = sizeof inputs_ / sizeof *inputs_ - 1, output_count = sizeof outputs_ / sizeof *outputs_ - 1;

// The first variant whose instructions the processor has: it then asks for weights.
variant const* fitting() {
    @name@_options const nothing{};
    for (auto const& v : variants) {
        void* made = nullptr;
        if (v.create(nothing, nullptr, nullptr, 0, &made) != @NAME@_NO_INSTRUCTIONS) return &v;
    }
    return nullptr;
}

// Maps the weights of a variant alone.
@name@_status open_weights(mapping& m, variant const& v, char const* path) {
    int const file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return @NAME@_NO_WEIGHTS;
    struct stat about;
    auto status = @NAME@_NO_WEIGHTS;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode)) {
        status = @NAME@_BAD_WEIGHTS;
        if (static_cast<std::size_t>(about.st_size) == weights_size) {
            void* const at = mmap(nullptr, v.size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, static_cast<off_t>(v.at));
            status = at == MAP_FAILED ? @NAME@_NO_MEMORY : @NAME@_OK;
            if (at != MAP_FAILED) m.at = at, m.size = v.size;
        }
    }
    close(file);
    return status;
}

} // namespace

struct @name@_context {
    variant const* what = nullptr;
    std::shared_ptr<mapping const> weights; // outlive what reads them
    void* of_variant = nullptr;
    ~@name@_context() {
        if (of_variant) what->destroy(of_variant);
    }
};

namespace {

@name@_status make(@name@_options const& o, @name@_context& c) {
    c.what = o.weights_of ? o.weights_of->what : fitting();
    if (!c.what) return @NAME@_NO_INSTRUCTIONS;
    auto const& v = *c.what;
    if (o.weights_of) {
        c.weights = o.weights_of->weights;
        return v.create(o, o.weights_of->of_variant, nullptr, 0, &c.of_variant);
    }
    if (o.weights) {
        if (o.weights_size != weights_size) return @NAME@_BAD_WEIGHTS;
        return v.create(o, nullptr, static_cast<unsigned char const*>(o.weights) + v.at, v.size, &c.of_variant);
    }
    if (!o.weights_path) return @NAME@_BAD_ARGUMENT;
    auto const mapped = std::make_shared<mapping>();
    auto const status = open_weights(*mapped, v, o.weights_path);
    if (status != @NAME@_OK) return status;
    c.weights = mapped;
    return v.create(o, nullptr, mapped->at, v.size, &c.of_variant);
}

} // namespace

extern "C" {

const char* @name@_status_text(@name@_status status) {
    return @first@_status_text(static_cast<@first@_status>(status));
}

size_t @name@_input_count(void) { return input_count; }
size_t @name@_output_count(void) { return output_count; }
const @name@_tensor* @name@_input(size_t i) { return i < input_count ? &inputs_[i] : nullptr; }
const @name@_tensor* @name@_output(size_t i) { return i < output_count ? &outputs_[i] : nullptr; }
size_t @name@_memory(void) {
    auto const* const v = fitting();
    return v ? v->memory() : 0;
}

@name@_status @name@_create(const @name@_options* options, @name@_context** context) {
    if (context) *context = nullptr;
    if (!options || !context) return @NAME@_BAD_ARGUMENT;
    try {
        std::unique_ptr<@name@_context> made{new @name@_context};
        auto const status = make(*options, *made);
        if (status == @NAME@_OK) *context = made.release();
        return status;
    } catch (...) { return @NAME@_NO_MEMORY; }
}

@name@_status @name@_run(@name@_context* context, const void* const* inputs, void* const* outputs) {
    return context ? context->what->run(context->of_variant, inputs, outputs) : @NAME@_BAD_ARGUMENT;
}

const char* @name@_message(const @name@_context* context) {
    return context ? context->what->message(context->of_variant) : "";
}

void @name@_destroy(@name@_context* context) { delete context; }

} // extern "C"
)text";

inline constexpr char const* export_variants_cmake = R"text(
# Library @name@, for several instruction sets; built alone, also the program @name@_demo.
cmake_minimum_required(VERSION 3.13)
project(@name@ LANGUAGES CXX)
foreach(variant@variants@)
  add_subdirectory(${variant})
endforeach()
add_library(@name@ @name@.cpp)
target_compile_features(@name@ PRIVATE cxx_std_17)
target_include_directories(@name@ PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
set_target_properties(@name@ PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_link_libraries(@name@ PRIVATE@variants@)
@functions@
if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  enable_language(C)
  add_executable(@name@_demo main.c)
  target_link_libraries(@name@_demo PRIVATE @name@)
endif()
)text";

// Where functions of the application come from, behind the variants that call them.
inline constexpr char const* export_functions_of_variants = R"text(
# Where their sources are not given, whoever links the library has them.
set(@name@_FUNCTIONS "" CACHE STRING "Sources of @functions@")
if(@name@_FUNCTIONS)
  enable_language(C)
  add_library(@name@_application STATIC ${@name@_FUNCTIONS})
  set_target_properties(@name@_application PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(@name@ PRIVATE @name@_application)
endif()
)text";

} // namespace gsub::aot::detail
