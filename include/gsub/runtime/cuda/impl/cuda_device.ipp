#pragma once

#include <gsub/codegen/cuda/emit_cuda.hpp>
#include <gsub/core/format.hpp>
#include <gsub/core/hash.hpp>
#include <gsub/runtime/compiler/impl/jit.ipp>
#include <gsub/runtime/cuda/cuda_device.hpp>
#include <gsub/runtime/cuda/impl/cuda_api.hpp>
#include <gsub/target/gpu.hpp>

#include <algorithm>
#include <array>
#include <mutex>

namespace gsub::runtime {

namespace detail {

GSUB_LAZY [[nodiscard]] result<compiled_cuda> compile_cuda_anew(nvrtc_api const& api, std::string const& text,
                                                                std::string_view architecture) {
    nvrtc_api::program program = nullptr;
    if (api.create(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0)
        return error{errors::compiler_failed, "NVRTC takes no program"};
    auto const target = format_text("--gpu-architecture={}", architecture);
    std::array<char const*, 2> const options{target.c_str(), "--std=c++17"};
    auto const status = api.compile(program, static_cast<int>(options.size()), options.data());
    auto const take = [&](auto size_of, auto read) {
        std::size_t bytes = 0;
        std::string out;
        if (size_of(program, &bytes) == 0) {
            out.resize(bytes);
            read(program, out.data());
        }
        return out;
    };
    compiled_cuda out;
    out.log = take(api.log_size, api.log);
    while (!out.log.empty() && out.log.back() == '\0') out.log.pop_back();
    if (status == 0) {
        auto const cubin = architecture.starts_with("sm_");
        out.code = cubin ? take(api.cubin_size, api.cubin) : take(api.ptx_size, api.ptx);
        if (!cubin && !out.code.empty()) out.code.pop_back(); // the zero that ends it
    }
    api.destroy(&program);
    if (status != 0 || out.code.empty())
        return error{errors::compiler_failed,
                     format_text("NVRTC does not compile for {}: {}", architecture, out.log.substr(0, 2000))};
    return out;
}

} // namespace detail

GSUB_LAZY_BODY result<compiled_cuda> compile_cuda(std::string const& text, std::string_view architecture,
                                                  jit_options const& how) {
    auto const api = detail::nvrtc_api::get();
    if (!api) return api.error();
    int major = 0, minor = 0;
    (*api)->version(&major, &minor);
    auto const key = hasher{1}
                         .add(text)
                         .add(architecture)
                         .add(static_cast<std::uint64_t>(major))
                         .add(static_cast<std::uint64_t>(minor))
                         .finish();
    auto const name = detail::entry_name(key);
    detail::kernel_cache<> const cache{how};
    if (cache.folder)
        if (auto bytes = detail::read_object(cache.folder.get(), name, true); bytes && detail::open_entry(*bytes, name))
            return compiled_cuda{std::move(*bytes), {}};
    auto made = detail::compile_cuda_anew(**api, text, architecture);
    if (made && cache.folder) {
        static_cast<void>(detail::store(cache.folder.get(), key, made->code)); // without, it is compiled again
        static_cast<void>(detail::collect(cache.folder.get(), how.cache_limit_bytes));
    }
    return made;
}

namespace detail {

template <class = void>
class cuda_kernel final : public device_kernel {
public:
    cuda_kernel(cuda_api const& api, cu::module from, cu::function start, codegen::kernel const& k,
                codegen::thread_group how)
        : function(start),
          group(how),
          threads(static_cast<unsigned>(how.threads(k))),
          workspace(codegen::workspace_bytes(k)),
          name(k.name),
          api_(api),
          module_(from) {}
    ~cuda_kernel() override { api_.unload_module(module_); }

    cu::function function;
    codegen::thread_group group;
    unsigned threads;
    std::size_t workspace;
    std::string name;

private:
    cuda_api const& api_;
    cu::module module_;
};

// The row for a GPU: the one of its name, else one of its compute capability or of the greatest below it.
GSUB_LAZY [[nodiscard]] gpu const& model_of(std::int32_t capability, std::string_view title) noexcept {
    auto const* best = &gpus().front();
    for (auto const& g : gpus()) {
        auto const name = g.title.substr(g.title.find(' ') + 1); // without the vendor's
        if (title.find(name.substr(0, name.find(' '))) != title.npos && g.architecture->capability == capability)
            return g;
        if (g.architecture->capability <= capability && g.architecture->capability > best->architecture->capability)
            best = &g;
    }
    return *best;
}

template <class = void>
class cuda_stream final : public device {
public:
    cuda_stream(cuda_api const& api, int number) : api_(api), id_(format_text("cuda:{}", number)) {
        std::array<char, 256> name{};
        check(api_.device_get(&on_, number), "cannot be opened");
        api_.device_name(name.data(), static_cast<int>(name.size()), on_);
        title_ = name.data();
        auto const major = attribute(cu::capability_major), minor = attribute(cu::capability_minor);
        if (major < 7)
            throw error{errors::no_device, format_text("device {} ({}) has compute capability {}.{}; kernels take 7.0",
                                                       id_, title_, major, minor)};
        architecture_ = format_text("sm_{}{}", major, minor);
        model_ = &model_of(10 * major + minor, title_);
        processors_ = std::max(attribute(cu::processors), 1);
        check(api_.retain_context(&context_, on_), "makes no context");
        enter();
        auto const made = api_.create_stream(&stream_, 1); // beside the default stream
        if (made != cu::success) api_.release_context(on_);
        check(made, "makes no stream");
    }
    ~cuda_stream() override {
        api_.set_context(context_);
        if (lent_ != 0) api_.release(lent_);
        api_.destroy_stream(stream_);
        api_.release_context(on_);
    }

    std::string_view id() const noexcept override { return id_; }
    std::string_view title() const noexcept override { return title_; }
    gpu const* model() const noexcept override { return model_; }

    std::uintptr_t allocate(std::size_t bytes) override {
        enter();
        cu::address out = 0;
        auto const status = api_.allocate(&out, std::max<std::size_t>(bytes, 64));
        if (status != cu::success)
            throw error{errors::device_memory,
                        format_text("device {} ({}) has no {} bytes: {}", id_, title_, bytes, name_of(status))};
        return static_cast<std::uintptr_t>(out);
    }
    void release(std::uintptr_t memory) noexcept override {
        if (memory == 0) return;
        api_.set_context(context_);
        api_.release(memory);
    }
    void upload(device_address to, std::span<std::byte const> from) override {
        if (from.empty()) return;
        enter();
        check(api_.to_device(address(to), from.data(), from.size(), stream_), "takes no values");
        check(api_.wait(stream_), "takes no values"); // the caller may change them
    }
    void download(std::span<std::byte> to, device_address from) override {
        if (to.empty()) return finish();
        enter();
        check(api_.to_host(to.data(), address(from), to.size(), stream_), "gives no values");
        finish();
    }
    void copy(device_copy const& c) override {
        if (c.size == 0 || c.times == 0) return;
        enter();
        if (c.times > 1 && c.from_step >= c.size && c.to_step >= c.size) {
            cu::rows r;
            r.from = address(c.from), r.from_pitch = c.from_step, r.to = address(c.to), r.to_pitch = c.to_step;
            r.bytes = c.size, r.height = static_cast<std::size_t>(c.times);
            if (api_.copy_rows(&r, stream_) == cu::success) return; // else the rows are too far apart for it
        }
        for (std::int64_t t = 0; t < c.times; ++t) {
            auto const row = static_cast<std::size_t>(t);
            check(api_.within_device(address(c.to) + row * c.to_step, address(c.from) + row * c.from_step, c.size,
                                     stream_),
                  "copies nothing");
        }
    }
    void fill_with_zeros(device_address at, std::size_t bytes) override {
        enter();
        check(api_.fill(address(at), 0, bytes, stream_), "fills nothing");
    }
    void finish() override {
        enter();
        check(api_.wait(stream_), "has not done its work");
    }

    // Texts are compiled side by side, then loaded.
    std::vector<std::shared_ptr<device_kernel>> load(std::span<program_kernel const> kernels,
                                                     jit_options const& how) override {
        std::vector<result<compiled_cuda>> compiled(kernels.size(), error{errors::stopped, "not compiled"});
        if (auto const note = kernel_cache<>{how}.note; how.observe && !note.empty()) how.observe->on_note(note);
        inline_executor alone;
        (how.threads ? *how.threads : static_cast<executor&>(alone)).parallel_for(kernels.size(), [&](std::size_t i) {
            compiled[i] = compile(kernels[i], how);
        });
        enter();
        std::vector<std::shared_ptr<device_kernel>> out;
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            if (!compiled[i]) throw compiled[i].error();
            out.push_back(load(*kernels[i].ir, *compiled[i]));
        }
        return out;
    }

    void launch(device_kernel const& given, std::span<device_address const> buffers, std::int64_t positions) override {
        auto const& k = static_cast<cuda_kernel<> const&>(given);
        if (positions == 0) return;
        enter();
        auto blocks = (positions + k.group.positions - 1) / k.group.positions;
        std::vector<std::uint64_t> values;
        for (auto const& b : buffers) values.push_back(address(b));
        std::unique_lock lock{lending_, std::defer_lock};
        if (k.workspace > 0 && !k.group.shared_workspace) {
            lock.lock(); // until it is in the stream
            blocks = std::min<std::int64_t>(blocks, std::int64_t{8} * processors_);
            values.push_back(lent(static_cast<std::size_t>(blocks * k.group.positions) * k.workspace));
        }
        values.push_back(static_cast<std::uint64_t>(positions));
        std::vector<void*> arguments;
        for (auto& v : values) arguments.push_back(&v);
        constexpr std::int64_t most = 0x7fffffff;
        check(api_.launch(k.function, static_cast<unsigned>(std::min(blocks, most)), 1, 1, k.threads, 1, 1, 0, stream_,
                          arguments.data(), nullptr),
              "does not start a kernel", k.name);
    }

private:
    // Shared memory that a kernel may declare itself.
    static constexpr std::size_t declared_bytes = std::size_t{48} << 10;

    static cu::address address(device_address a) noexcept { return a.memory + a.offset; }
    void enter() const { check(api_.set_context(context_), "cannot be used"); }
    int attribute(int which) const {
        int out = 0;
        api_.device_attribute(&out, which, on_);
        return out;
    }
    std::string name_of(int status) const {
        char const* name = nullptr;
        api_.error_name(status, &name);
        return name ? name : format_text("CUDA's error {}", status);
    }
    void check(int status, std::string_view what, std::string_view kernel = {}) const {
        if (status == cu::success) return;
        throw error{status == cu::out_of_memory ? errors::device_memory : errors::device_failed,
                    format_text("device {} ({}) {}{}{}: {}", id_, title_, what, kernel.empty() ? "" : ", ", kernel,
                                name_of(status))};
    }
    // Memory that kernels take as workspace, one after another.
    cu::address lent(std::size_t bytes) {
        if (bytes > lent_bytes_) {
            finish();
            if (lent_ != 0) api_.release(lent_);
            lent_ = 0, lent_bytes_ = 0;
            lent_ = static_cast<cu::address>(allocate(bytes)), lent_bytes_ = bytes;
        }
        return lent_;
    }

    codegen::thread_group group_of(codegen::kernel const& k) const {
        return codegen::group_of(k, declared_bytes, codegen::positions_of_group(k, processors_));
    }
    result<compiled_cuda> compile(program_kernel const& from, jit_options const& how) const {
        if (!from.ir)
            return error{errors::kernel_form, format_text("device {} runs no kernel that is a text alone", id_)};
        auto const& k = *from.ir;
        if (k.lanes < 1 || 32 % k.lanes != 0)
            return error{errors::kernel_form,
                         format_text("device {} runs kernels of 32 lanes or a part of them, kernel "
                                     "{} has {}",
                                     id_, k.name, k.lanes)};
        auto made = compile_cuda(codegen::emit_cuda(k, "gsub_kernel", group_of(k)), architecture_, how);
        if (!made) return made.error().within(format_text("kernel {}", k.name));
        return made;
    }
    std::shared_ptr<device_kernel> load(codegen::kernel const& k, compiled_cuda const& compiled) {
        cu::module module = nullptr;
        cu::function function = nullptr;
        check(api_.load_module(&module, compiled.code.data()), "loads no kernel", k.name);
        auto const found = api_.find_function(&function, module, "gsub_kernel");
        if (found != cu::success) api_.unload_module(module);
        check(found, "has no kernel", k.name);
        return std::make_shared<cuda_kernel<>>(api_, module, function, k, group_of(k));
    }

    cuda_api const& api_;
    cu::device on_ = 0;
    std::string id_, title_, architecture_;
    gpu const* model_ = nullptr;
    int processors_ = 1;
    cu::context context_ = nullptr;
    cu::stream stream_ = nullptr;
    cu::address lent_ = 0;
    std::size_t lent_bytes_ = 0;
    std::mutex lending_;
};

GSUB_LAZY result<int> cuda_device_count(cuda_api const& api) {
    int count = 0;
    if (auto const status = api.device_count(&count); status != cu::success || count == 0)
        return error{errors::no_device, "CUDA's driver has no GPU"};
    return count;
}

} // namespace detail

GSUB_LAZY_BODY result<std::shared_ptr<device>> cuda_device(std::size_t number) {
    auto const api = detail::cuda_api::get();
    if (!api) return api.error();
    auto const count = detail::cuda_device_count(**api);
    if (!count) return count.error();
    if (number >= static_cast<std::size_t>(*count))
        return error{errors::no_device, format_text("there is no device cuda:{}, but {} of CUDA", number, *count)};
    if (auto const compiler = detail::nvrtc_api::get(); !compiler) return compiler.error();
    try {
        return std::shared_ptr<device>{std::make_shared<detail::cuda_stream<>>(**api, static_cast<int>(number))};
    } catch (error const& e) { return e; }
}

GSUB_LAZY_BODY result<std::vector<std::string>> cuda_device_titles() {
    auto const api = detail::cuda_api::get();
    if (!api) return api.error();
    auto const count = detail::cuda_device_count(**api);
    if (!count) return count.error();
    std::vector<std::string> out;
    for (int i = 0; i < *count; ++i) {
        int device = 0;
        std::array<char, 256> name{};
        (*api)->device_get(&device, i);
        (*api)->device_name(name.data(), static_cast<int>(name.size()), device);
        out.emplace_back(name.data());
    }
    return out;
}

} // namespace gsub::runtime
