#pragma once

#include <gsub/codegen/opencl/emit_opencl.hpp>
#include <gsub/core/format.hpp>
#include <gsub/runtime/opencl/impl/opencl_api.hpp>
#include <gsub/runtime/opencl/opencl_device.hpp>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace gsub::runtime {

namespace detail {

// All devices of all platforms, in order.
GSUB_LAZY result<std::vector<cl::device>> opencl_devices(opencl_api const& api) {
    std::uint32_t count = 0;
    if (api.platforms(0, nullptr, &count) != cl::success || count == 0)
        return error{errors::no_device, "OpenCL has no platform: no driver is installed (Debian: pocl-opencl-icd for "
                                        "processors; a GPU's comes with its vendor's driver)"};
    std::vector<cl::platform> platforms(count);
    api.platforms(count, platforms.data(), nullptr);
    std::vector<cl::device> out;
    for (auto* const p : platforms) {
        std::uint32_t own = 0;
        if (api.devices(p, cl::every_type, 0, nullptr, &own) != cl::success || own == 0) continue;
        auto const at = out.size();
        out.resize(at + own);
        api.devices(p, cl::every_type, own, out.data() + at, nullptr);
    }
    if (out.empty()) return error{errors::no_device, "OpenCL's platforms have no device"};
    return out;
}

template <class T>
[[nodiscard]] T opencl_info(opencl_api const& api, cl::device d, std::uint32_t what) {
    T out{};
    api.device_info(d, what, sizeof out, &out, nullptr);
    return out;
}
GSUB_LAZY std::string opencl_text(opencl_api const& api, cl::device d, std::uint32_t what) {
    std::size_t bytes = 0;
    api.device_info(d, what, 0, nullptr, &bytes);
    std::string out(bytes, '\0');
    api.device_info(d, what, bytes, out.data(), nullptr);
    while (!out.empty() && out.back() == '\0') out.pop_back();
    return out;
}

template <class = void>
class opencl_kernel final : public device_kernel {
public:
    opencl_kernel(opencl_api const& api, cl::program from, cl::kernel function, codegen::kernel const& k,
                  codegen::thread_group how)
        : group(how),
          lanes(static_cast<std::size_t>(k.lanes)),
          workspace(codegen::workspace_bytes(k)),
          name(k.name),
          kernel(function),
          api_(api),
          program_(from) {}
    ~opencl_kernel() override {
        api_.release_kernel(kernel);
        api_.release_program(program_);
    }

    codegen::thread_group group;
    std::size_t lanes, workspace;
    std::string name;
    cl::kernel kernel;

private:
    opencl_api const& api_;
    cl::program program_;
};

template <class = void>
class opencl_queue final : public device {
public:
    opencl_queue(opencl_api const& api, cl::device on, std::size_t number)
        : api_(api), on_(on), id_(format_text("opencl:{}", number)), title_(opencl_text(api, on, cl::device_name)) {
        auto status = cl::success;
        context_ = api_.create_context(nullptr, 1, &on_, nullptr, nullptr, &status);
        check(status, "makes no context");
        queue_ = api_.create_queue(context_, on_, 0, &status);
        if (status != cl::success) api_.release_context(context_);
        check(status, "makes no queue");
        shared_bytes_ = opencl_info<std::uint64_t>(api_, on_, cl::local_memory_bytes);
        units_ = std::max<std::uint32_t>(opencl_info<std::uint32_t>(api_, on_, cl::compute_units), 1);
        largest_group_ = opencl_info<std::size_t>(api_, on_, cl::largest_group);
        if ((opencl_info<std::uint64_t>(api_, on_, cl::single_config) & cl::correctly_rounded) != 0)
            options_ += " -cl-fp32-correctly-rounded-divide-sqrt";
        // PoCL 3.1 compiles branches that work items take apart wrongly where its front end has joined them.
        if (opencl_text(api_, on_, cl::device_version).find("PoCL") != std::string::npos)
            options_ += " -cl-opt-disable";
    }
    ~opencl_queue() override {
        if (lent_) api_.release_memory(lent_);
        api_.release_queue(queue_);
        api_.release_context(context_);
    }

    std::string_view id() const noexcept override { return id_; }
    std::string_view title() const noexcept override { return title_; }

    std::uintptr_t allocate(std::size_t bytes) override {
        return reinterpret_cast<std::uintptr_t>(make_buffer(std::max<std::size_t>(bytes, 64)));
    }
    void release(std::uintptr_t memory) noexcept override {
        if (memory != 0) api_.release_memory(memory_of(memory));
    }
    void upload(device_address to, std::span<std::byte const> from) override {
        if (from.empty()) return;
        check(api_.write(queue_, memory_of(to.memory), 1, to.offset, from.size(), from.data(), 0, nullptr, nullptr),
              "takes no values");
    }
    void download(std::span<std::byte> to, device_address from) override {
        if (to.empty()) return finish();
        check(api_.read(queue_, memory_of(from.memory), 1, from.offset, to.size(), to.data(), 0, nullptr, nullptr),
              "gives no values");
    }
    void copy(device_copy const& c) override {
        if (c.size == 0 || c.times == 0) return;
        auto* const from = memory_of(c.from.memory);
        auto* const to = memory_of(c.to.memory);
        // Rows of two images; within one memory object they must be as far apart.
        auto const rows = c.times > 1 && c.from_step >= c.size && c.to_step >= c.size;
        if (rows && (from != to || c.from_step == c.to_step)) {
            std::size_t const from_at[] = {c.from.offset, 0, 0}, to_at[] = {c.to.offset, 0, 0};
            std::size_t const region[] = {c.size, static_cast<std::size_t>(c.times), 1};
            return check(api_.copy_rows(queue_, from, to, from_at, to_at, region, c.from_step, 0, c.to_step, 0, 0,
                                        nullptr, nullptr),
                         "copies no rows");
        }
        for (std::int64_t t = 0; t < c.times; ++t) {
            auto const row = static_cast<std::size_t>(t);
            check(api_.copy(queue_, from, to, c.from.offset + row * c.from_step, c.to.offset + row * c.to_step, c.size,
                            0, nullptr, nullptr),
                  "copies nothing");
        }
    }
    void fill_with_zeros(device_address at, std::size_t bytes) override {
        unsigned char const zero = 0;
        check(api_.fill(queue_, memory_of(at.memory), &zero, 1, at.offset, bytes, 0, nullptr, nullptr),
              "fills nothing");
    }
    void finish() override { check(api_.finish(queue_), "has not done its work"); }

    std::vector<std::shared_ptr<device_kernel>> load(std::span<program_kernel const> kernels,
                                                     jit_options const& how) override {
        std::vector<std::shared_ptr<device_kernel>> out;
        for (auto const& k : kernels) {
            if (how.observe) how.observe->on_progress({"compile", out.size(), kernels.size(), {}});
            out.push_back(compile(k));
        }
        return out;
    }

    void launch(device_kernel const& given, std::span<device_address const> buffers, std::int64_t positions) override {
        auto const& k = static_cast<opencl_kernel<> const&>(given);
        if (positions == 0) return;
        std::lock_guard const lock{arguments_}; // are the kernel's until it is in the queue
        std::uint32_t argument = 0;
        auto const set = [&](auto const& value) {
            check(api_.set_argument(k.kernel, argument++, sizeof value, &value), "takes no arguments", k.name);
        };
        for (auto const& b : buffers) set(memory_of(b.memory)), set(static_cast<std::int64_t>(b.offset));
        auto groups = positions;
        if (k.workspace > 0 && !k.group.shared_workspace) {
            groups = std::min<std::int64_t>(positions, std::int64_t{16} * units_);
            set(lent(static_cast<std::size_t>(groups) * k.workspace));
        }
        set(positions);
        std::size_t const local = k.lanes, global = static_cast<std::size_t>(groups) * local;
        check(api_.run(queue_, k.kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr), "does not start a kernel",
              k.name);
    }

private:
    static cl::memory memory_of(std::uintptr_t memory) noexcept { return reinterpret_cast<cl::memory>(memory); }

    void check(std::int32_t status, std::string_view what, std::string_view kernel = {}) const {
        if (status == cl::success) return;
        auto const too_little = status == cl::memory_failure || status == cl::host_memory_failure;
        throw error{too_little ? errors::device_memory : errors::device_failed,
                    format_text("device {} ({}) {}{}{}: OpenCL's error {}", id_, title_, what,
                                kernel.empty() ? "" : ", ", kernel, status)};
    }
    cl::memory make_buffer(std::size_t bytes) {
        auto status = cl::success;
        auto* const out = api_.create_buffer(context_, cl::read_write, bytes, nullptr, &status);
        if (status != cl::success)
            throw error{errors::device_memory,
                        format_text("device {} ({}) has no {} bytes: OpenCL's error {}", id_, title_, bytes, status)};
        return out;
    }
    // Memory that kernels take as workspace, one after another.
    cl::memory lent(std::size_t bytes) {
        if (bytes > lent_bytes_) {
            if (lent_) api_.release_memory(lent_); // kept by what is in the queue
            lent_ = nullptr, lent_bytes_ = 0;
            lent_ = make_buffer(bytes), lent_bytes_ = bytes;
        }
        return lent_;
    }

    std::shared_ptr<device_kernel> compile(program_kernel const& from) {
        if (!from.ir)
            throw error{errors::kernel_form, format_text("device {} runs no kernel that is a text alone", id_)};
        auto const& k = *from.ir;
        if (static_cast<std::size_t>(k.lanes) > largest_group_)
            throw error{errors::device_failed,
                        format_text("device {} ({}) runs groups of {} work items, kernel {} takes "
                                    "{}",
                                    id_, title_, largest_group_, k.name, k.lanes)};
        auto const exchange = std::size_t{8} * static_cast<std::size_t>(k.lanes);
        auto const group = codegen::group_of(k, shared_bytes_ > exchange ? shared_bytes_ - exchange : 0, 1);
        auto const text = codegen::emit_opencl(k, "gsub_kernel", group);
        auto status = cl::success;
        auto const* const begin = text.data();
        auto const size = text.size();
        auto* const program = api_.create_program(context_, 1, const_cast<char const**>(&begin), &size, &status);
        check(status, "takes no text", k.name);
        if (api_.build_program(program, 1, &on_, options_.c_str(), nullptr, nullptr) != cl::success) {
            auto const said = log_of(program);
            api_.release_program(program);
            throw error{errors::device_failed,
                        format_text("device {} ({}) does not compile kernel {}: {}", id_, title_, k.name, said)};
        }
        auto* const kernel = api_.create_kernel(program, "gsub_kernel", &status);
        if (status != cl::success) api_.release_program(program);
        check(status, "has no kernel", k.name);
        return std::make_shared<opencl_kernel<>>(api_, program, kernel, k, group);
    }
    std::string log_of(cl::program program) const {
        std::size_t bytes = 0;
        api_.build_info(program, on_, cl::build_log, 0, nullptr, &bytes);
        std::string out(bytes, '\0');
        api_.build_info(program, on_, cl::build_log, bytes, out.data(), nullptr);
        return out.substr(0, 2000);
    }

    opencl_api const& api_;
    cl::device on_;
    std::string id_, title_, options_ = "-cl-std=CL1.2";
    cl::context context_ = nullptr;
    cl::queue queue_ = nullptr;
    cl::memory lent_ = nullptr;
    std::size_t lent_bytes_ = 0, shared_bytes_ = 0, largest_group_ = 0;
    std::uint32_t units_ = 1;
    std::mutex arguments_;
};

} // namespace detail

GSUB_LAZY_BODY result<std::shared_ptr<device>> opencl_device(std::size_t number) {
    auto const api = detail::opencl_api::get();
    if (!api) return api.error();
    auto const all = detail::opencl_devices(**api);
    if (!all) return all.error();
    if (number >= all->size())
        return error{errors::no_device,
                     format_text("there is no device opencl:{}, but {} of OpenCL", number, all->size())};
    try {
        return std::shared_ptr<device>{std::make_shared<detail::opencl_queue<>>(**api, (*all)[number], number)};
    } catch (error const& e) { return e; }
}

GSUB_LAZY_BODY result<std::vector<std::string>> opencl_device_titles() {
    auto const api = detail::opencl_api::get();
    if (!api) return api.error();
    auto const all = detail::opencl_devices(**api);
    if (!all) return all.error();
    std::vector<std::string> out;
    for (auto* const d : *all) out.push_back(detail::opencl_text(**api, d, detail::cl::device_name));
    return out;
}

} // namespace gsub::runtime
