#pragma once

#include <gsub/driver/gsub_codegen.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace gsub {

namespace detail {

// Runs an executable as a kernel of the application.
struct region_executable {
    runtime::executable built;
    std::vector<tensor_type> operands;

    static int run(gsub_call const* call) {
        auto const& self = *static_cast<region_executable const*>(call->user);
        std::vector<tensor> inputs;
        for (std::size_t i = 0; i < call->operand_count; ++i) {
            auto t = tensor::uninitialized(self.operands[i].element, self.operands[i].sizes());
            if (t.size_bytes() > 0) std::memcpy(t.mutable_raw().data(), call->operands[i].data, t.size_bytes());
            inputs.push_back(std::move(t));
        }
        auto const outputs = self.built.run(inputs);
        if (!outputs) {
            auto const text = outputs.error().message();
            auto const size = std::min(text.size(), std::size_t{GSUB_MESSAGE_SIZE - 1});
            std::memcpy(call->message, text.data(), size);
            call->message[size] = '\0';
            return GSUB_ENVIRONMENT;
        }
        for (std::size_t i = 0; i < call->result_count; ++i)
            if (auto const bytes = (*outputs)[i].raw(); !bytes.empty())
                std::memcpy(call->results[i].data, bytes.data(), bytes.size());
        return GSUB_OK;
    }
};

} // namespace detail

GSUB_LAZY_BODY external_codegen gsub_codegen(std::string compiler, target const& machine, build_options options) {
    external_codegen r;
    r.compiler = std::move(compiler);
    r.compile = [machine, options](marked_region const& what) -> result<region_kernel> {
        auto built = build(what.body, table_of<eval_row, standard_ops>(), machine, options);
        if (!built) return built.error();
        std::vector<tensor_type> operands;
        for (auto n : what.body.inputs()) operands.push_back(what.body.type({n, 0}));
        auto const owner = std::make_shared<detail::region_executable>(
            detail::region_executable{std::move(*built), std::move(operands)});
        return region_kernel{&detail::region_executable::run, owner.get(), {}, owner};
    };
    return r;
}

} // namespace gsub
