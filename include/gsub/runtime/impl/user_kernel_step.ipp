#pragma once

#include <gsub/core/format.hpp>
#include <gsub/runtime/extern_kernel.hpp>
#include <gsub/runtime/impl/c_arguments.ipp>

#include <array>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace gsub::runtime::detail {

// A node with a user kernel, as errors name it.
struct node_label {
    std::string node, op;
    [[nodiscard]] problem says(error_id id, std::string reason, std::string hint = {}) const {
        return {id, node, op, std::move(reason), std::move(hint)};
    }
};

// Calls a function of the application; whatever it does wrong becomes an error that names the node. `text` is what it
// has been given to write to.
template <class F>
void guarded_call(node_label const& label, std::array<char, GSUB_MESSAGE_SIZE>& text, F&& call) {
    int status = GSUB_OK;
    try {
        status = call();
    } catch (error const& e) {
        throw e.within(format_text("{} (node \"{}\")", label.op, label.node));
    } catch (std::exception const& e) {
        throw error{label.says(errors::user_kernel_failed, format_text("its kernel has thrown: {}", e.what()))};
    } catch (...) {
        throw error{label.says(errors::user_kernel_failed, "its kernel has thrown something that is no exception")};
    }
    if (status == GSUB_OK) return;
    auto const known = status == GSUB_UNSUPPORTED || status == GSUB_INVALID_INPUT || status == GSUB_ENVIRONMENT;
    text.back() = 0;
    auto reason = std::string{text.data()};
    if (reason.empty()) reason = "its kernel fails and does not say why";
    if (!known) reason += format_text(" (status {})", status);
    throw error{
        label.says(known ? error_id{static_cast<error_code>(status)} : errors::user_kernel_failed, std::move(reason))};
}

template <class = void>
class user_kernel_step final : public user_op {
public:
    user_kernel_step(user_kernel const& k, node_label label, std::shared_ptr<c_attributes<> const> attributes,
                     any_graph const& g, node_id n)
        : function_(k.function),
          user_(k.user),
          owner_(k.owner),
          symbol_(k.symbol),
          label_(std::move(label)),
          attributes_(std::move(attributes)) {
        for (auto v : g.operands(n)) {
            if (v.valid())
                arrays_.add(g.type(v));
            else
                arrays_.add_absent();
        }
        operands_ = g.operand_count(n);
        for (std::uint32_t port = 0; port < g.result_count(n); ++port) arrays_.add(g.type({n, port}));
    }

    void run(std::span<void* const> values, executor& threads) const override {
        small_vector<gsub_array, 16> arrays{as_span(arrays_.list())};
        std::size_t next = 0;
        for (auto& a : arrays)
            if (a.dtype != GSUB_UNDEFINED) a.data = values[next++];
        std::array<char, GSUB_MESSAGE_SIZE> text{};
        gsub_call call{};
        call.operands = arrays.data();
        call.operand_count = operands_;
        call.results = arrays.data() + operands_;
        call.result_count = arrays.size() - operands_;
        call.attributes = attributes_->list().data();
        call.attribute_count = attributes_->list().size();
        call.typed = attributes_->typed();
        call.user = user_;
        call.message = text.data();
        call.threads = &threads;
        call.concurrency = threads.concurrency();
        call.parallel_for = [](gsub_call const* c, std::size_t count, void (*body)(void*, std::size_t),
                               void* argument) {
            static_cast<executor*>(c->threads)->parallel_for(count, [&](std::size_t i) { body(argument, i); });
        };
        guarded_call(label_, text, [&] { return function_(&call); });
    }

    std::string_view symbol() const noexcept override { return symbol_; }
    std::span<gsub_array const> arrays() const noexcept override { return arrays_.list(); }
    std::size_t operand_count() const noexcept override { return operands_; }
    std::span<gsub_attribute const> attributes() const noexcept override { return attributes_->list(); }

private:
    gsub_kernel function_;
    void* user_;
    std::shared_ptr<void const> owner_;
    std::string symbol_;
    node_label label_;
    std::shared_ptr<c_attributes<> const> attributes_;
    c_arrays<> arrays_; // operands, then results
    std::size_t operands_ = 0;
};

} // namespace gsub::runtime::detail
