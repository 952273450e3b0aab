// Compiles emitted kernels, many in one run of the compiler, and runs them on buffers that end at pages without access.
#pragma once

#include "oracles/interpret.hpp"
#include <gsub/codegen/cpp/emit_cpp.hpp>
#include <gsub/runtime/compiler/jit.hpp>
#include <gsub/target/target.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace compiled_kernel {

using namespace gsub;
using gsub::isa;

/// The instruction sets that run here.
inline std::vector<isa const*> sets() {
    auto const machine = host();
    std::vector<isa const*> out{&isa::baseline};
    if (machine.has(isa::sse42)) out.push_back(&isa::sse42);
    if (machine.has(isa::avx2)) out.push_back(&isa::avx2);
    if (machine.has(isa::avx512)) out.push_back(&isa::avx512);
    return out;
}

/// Floats between two pages without access: reading or writing past one end is a fault.
class guarded {
public:
    enum class side { begin, end };
    guarded(std::size_t elements, side flush, std::size_t element_bytes = sizeof(float))
        : elements_(elements), bytes_(elements * element_bytes) {
        auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        auto const inside = (bytes_ + page - 1) / page * page;
        size_ = inside + 2 * page;
        base_ = static_cast<char*>(::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (base_ == MAP_FAILED || ::mprotect(base_ + page, inside, PROT_READ | PROT_WRITE) != 0)
            throw std::runtime_error{"no memory for a guarded buffer"};
        first_ = base_ + page;
        last_ = first_ + inside;
        std::memset(first_, 0xff, inside); // NaN, which no result may take up
        data_ = reinterpret_cast<float*>(flush == side::begin ? first_ : last_ - bytes_);
    }
    guarded(guarded&& other) noexcept { *this = std::move(other); }
    guarded& operator=(guarded&& other) noexcept {
        std::swap(base_, other.base_), std::swap(first_, other.first_), std::swap(last_, other.last_);
        std::swap(data_, other.data_), std::swap(size_, other.size_), std::swap(elements_, other.elements_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~guarded() {
        if (base_) ::munmap(base_, size_);
    }
    [[nodiscard]] float* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return elements_; }
    /// Whether what lies beside the elements is as it was.
    [[nodiscard]] bool intact() const {
        auto const* begin = reinterpret_cast<char const*>(data_);
        for (auto const* p = first_; p < last_; ++p)
            if ((p < begin || p >= begin + bytes_) && *p != static_cast<char>(0xff)) return false;
        return true;
    }

private:
    char* base_ = nullptr;
    char *first_ = nullptr, *last_ = nullptr;
    float* data_ = nullptr;
    std::size_t size_ = 0, elements_ = 0, bytes_ = 0;
};

/// Emits the text of a kernel, whose function has this name and is called as `codegen::kernel_function` is.
using emitter = std::string (*)(codegen::kernel const& k, std::string const& symbol);

/// Kernels of one instruction set, compiled together.
class batch {
public:
    /// `header` stands before the texts of all kernels.
    explicit batch(isa const& isa, std::string header = {}, emitter emit = &codegen::emit_cpp)
        : isa_(&isa), emit_(emit), text_(std::move(header)) {}

    /// Number of the kernel.
    std::size_t add(codegen::kernel k) {
        auto const number = std::to_string(kernels_.size());
        text_ += "namespace space_" + number + " {\n" + emit_(k, "kernel_" + number) + "}\n";
        kernels_.push_back(std::move(k));
        return kernels_.size() - 1;
    }
    /// One run of the compiler, with a table of all kernels as the symbol to load. By default what takes time is left
    /// out; flags may ask for more.
    void compile(std::vector<std::string> flags = {"-O1"},
                 runtime::compiler const& with = runtime::find_compiler().value()) {
        if (kernels_.empty()) return;
        auto source = text_ + "extern \"C\" {\nextern void* const kernels[];\n"
                              "__attribute__((visibility(\"default\"))) void* const kernels[] = {\n";
        for (std::size_t i = 0; i < kernels_.size(); ++i)
            source += "(void*)&space_" + std::to_string(i) + "::kernel_" + std::to_string(i) + ",\n";
        source += "};\n}\n";
        runtime::jit_options options;
        options.use_cache = false;
        options.flags = std::move(flags);
        std::vector<runtime::kernel_source> const sources{{source, "kernels", std::string{isa_->flags}}};
        loaded_ = runtime::load_kernels(sources, with, options).value();
    }
    [[nodiscard]] std::size_t size() const { return kernels_.size(); }
    [[nodiscard]] codegen::kernel const& operator[](std::size_t i) const { return kernels_[i]; }
    /// Runs this function in place of a compiled one.
    void set_function(std::size_t i, void* function) {
        emitted_.resize(kernels_.size());
        emitted_[i] = function;
    }
    [[nodiscard]] codegen::kernel_function function(std::size_t i) const {
        if (!emitted_.empty()) return reinterpret_cast<codegen::kernel_function>(emitted_[i]);
        return reinterpret_cast<codegen::kernel_function>(static_cast<void* const*>(loaded_.at(0).function())[i]);
    }

    /// Runs a kernel over pieces of its parallel range, the buffers flush with a guarded page on one side.
    void run(std::size_t i, interpret::arrays& data, guarded::side flush,
             std::vector<std::int64_t> const& pieces) const {
        std::vector<guarded> memory;
        std::vector<void*> addresses;
        auto const type = [&](std::size_t b) { return kernels_[i].buffers[b].element; };
        auto const place = [&](std::size_t b, std::size_t e) {
            return reinterpret_cast<char*>(memory[b].data()) + e * byte_size(type(b));
        };
        for (auto const& array : data) {
            auto const b = memory.size();
            auto& m = memory.emplace_back(array.size(), flush, byte_size(type(b)));
            for (std::size_t e = 0; e < array.size(); ++e) interpret::put(array[e], type(b), place(b, e));
            if (!kernels_[i].buffers[memory.size() - 1].workspace) addresses.push_back(m.data());
        }
        guarded const workspace{std::max<std::size_t>(codegen::workspace_bytes(kernels_[i]) / sizeof(float), 16),
                                flush};
        addresses.push_back(workspace.data());
        for (std::size_t p = 0; p + 1 < pieces.size(); ++p) function(i)(addresses.data(), pieces[p], pieces[p + 1]);
        for (std::size_t b = 0; b < data.size(); ++b) {
            if (!memory[b].intact() || !workspace.intact())
                throw std::runtime_error{"memory beside a buffer is written"};
            for (std::size_t e = 0; e < data[b].size(); ++e) data[b][e] = interpret::get(type(b), place(b, e));
        }
    }

    /// What differs between a compiled kernel and an expression; empty where nothing does.
    [[nodiscard]] std::string difference(std::size_t i, loop::tensor_expression const& what, std::uint64_t seed) const {
        return difference(i, what, interpret::random_data(what, seed));
    }
    [[nodiscard]] std::string difference(std::size_t i, loop::tensor_expression const& what,
                                         interpret::arrays const& data) const {
        auto expected = data;
        interpret::run(what, expected);
        auto const& k = kernels_[i];
        auto const last = k.parallel_extent;
        for (auto flush : {guarded::side::end, guarded::side::begin}) {
            auto actual = data;
            auto const whole = k.parallel < 0 || flush == guarded::side::end;
            run(i, actual, flush,
                whole ? std::vector<std::int64_t>{0, last}
                      : std::vector<std::int64_t>{0, last / 3, last / 3, last / 2, last});
            for (std::size_t b = 0; b < data.size(); ++b)
                for (std::size_t e = 0; e < data[b].size(); ++e) {
                    auto const x = actual[b][e], y = expected[b][e];
                    if (!(std::abs(x - y) <= 1e-5 * (1 + std::abs(y)) || x == y || (x != x && y != y)))
                        return "element " + std::to_string(e) + " of buffer " + std::to_string(b) + " is " +
                               std::to_string(x) + ", not " + std::to_string(y);
                }
        }
        return {};
    }

private:
    isa const* isa_;
    emitter emit_;
    std::string text_;
    std::vector<codegen::kernel> kernels_;
    std::vector<runtime::loaded_kernel> loaded_;
    std::vector<void*> emitted_;
};

} // namespace compiled_kernel
