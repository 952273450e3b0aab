#pragma once

#include <gsub/core/format.hpp>
#include <gsub/driver/external_codegen.hpp>
#include <gsub/ir/graph_cloner.hpp>
#include <gsub/ir/ops/ops.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace gsub {

namespace detail {

inline constexpr std::string_view region_domain = "gsub.region";

template <class = void>
class region_binder {
public:
    region_binder(module const& m, std::span<external_codegen const> codegens) : m_(m) {
        for (auto const& r : codegens) {
            if (r.compiler.empty() == r.composite.empty() || !r.compile)
                throw error{errors::user_kernel_entry,
                            "a code generator has a function, and either a compiler or a composite"};
            auto& found = r.compiler.empty() ? composites_[r.composite] : compilers_[r.compiler];
            if (std::exchange(found, &r))
                throw error{errors::user_kernel_entry,
                            format_text("two code generators of {}", quoted{r.compiler + r.composite})};
        }
    }

    bound_regions bind(std::string_view entry) {
        out_.what = m_;
        visit(entry);
        if (!problems_.empty()) throw error{std::move(problems_)};
        return std::move(out_);
    }

private:
    // The code generator of a function; null where it stays one.
    external_codegen const* codegen_of(function const& f) {
        auto const& a = f.attributes;
        if (!a.compiler.empty() && a.compiler != "default") {
            if (auto const found = compilers_.find(a.compiler); found != compilers_.end()) return found->second;
            std::string known;
            for (auto const& [name, r] : compilers_)
                known += format_text("{}{}", known.empty() ? "" : ", ", quoted{name});
            problems_.push_back(
                {errors::no_code_generator, f.name, "call",
                 format_text("it is a region for the compiler {}, which has no code generator; code generators: {}",
                             quoted{a.compiler}, known.empty() ? "none" : known),
                 "register a code generator, or leave partition-graph out"});
            return nullptr;
        }
        auto const found = a.composite_name.empty() ? composites_.end() : composites_.find(a.composite_name);
        return found == composites_.end() ? nullptr : found->second;
    }
    // Whether calls of a function are nodes of a code generator's kernel; its kernel is made at the first.
    bool is_region(function const& f) {
        if (auto const found = regions_.find(f.name); found != regions_.end()) return found->second;
        auto const* const r = codegen_of(f);
        if (r) compile(f, *r);
        return regions_[f.name] = r != nullptr;
    }
    void compile(function const& f, external_codegen const& r) {
        auto const body = m_.inlined(f.name).value();
        auto made = r.compile({f, body});
        if (!made || !made->function) {
            auto const e = made ? error{error_code::internal, "the code generator gives no function"} : made.error();
            for (auto p : e.problems()) {
                p.reason = format_text("the region {}: {}", f.name, p.reason);
                if (p.node.empty()) p.node = f.name;
                problems_.push_back(std::move(p));
            }
            return;
        }
        auto k = runtime::extern_kernel(std::string{region_domain}, f.name, made->function, nullptr, made->user);
        k.symbol = std::move(made->symbol);
        k.elements.clear();
        k.min_operands = k.max_operands = static_cast<int>(body.inputs().size());
        k.results = static_cast<int>(body.output_count());
        k.owner = std::move(made->owner);
        out_.kernels.push_back(std::move(k));
    }

    void visit(std::string_view name) {
        auto* const f = out_.what.find(name);
        if (!f || !visited_.insert(std::string{name}).second) return;
        auto const& g = f->body;
        auto any = false;
        std::vector<std::string> callees;
        for (auto n : g.order()) {
            if (g.is<ops::if_else>(n)) {
                auto const& branches = g.attributes<ops::if_else>(n);
                callees.insert(callees.end(), {branches.then_branch, branches.else_branch});
            }
            if (g.is<ops::opaque>(n) && g.attributes<ops::opaque>(n).domain == region_domain)
                problems_.push_back({error_code::invalid_input,
                                     g.display_name(n),
                                     g.attributes<ops::opaque>(n).op_type,
                                     format_text("operators of {} are gsub's own", region_domain),
                                     {}});
            if (!g.is<ops::call>(n)) continue;
            auto const* const callee = m_.find(g.attributes<ops::call>(n).callee);
            if (!callee) continue; // whoever inlines says so
            if (is_region(*callee))
                any = true;
            else
                callees.push_back(callee->name);
        }
        if (any) f->body = without_calls(g);
        for (auto const& c : callees) visit(c);
    }
    any_graph without_calls(any_graph const& g) {
        any_graph made{g.operators()};
        graph_cloner to{g, made};
        for (auto n : g.inputs()) to.add_input({n, 0});
        for (auto n : g.order()) {
            if (g.is<ops::input>(n) || n == g.return_node()) continue;
            auto const* const callee = g.is<ops::call>(n) ? m_.find(g.attributes<ops::call>(n).callee) : nullptr;
            if (!callee || !is_region(*callee)) {
                to.clone(n);
                continue;
            }
            small_vector<type_id, 4> types;
            for (std::uint32_t port = 0; port < g.result_count(n); ++port) types.push_back(g.type_of({n, port}));
            auto const made_node =
                made.add_opaque({.domain = std::string{region_domain},
                                 .op_type = callee->name,
                                 .reason = format_text("a region for {}{}", callee->attributes.compiler,
                                                       callee->attributes.composite_name)},
                                tensor::zeros(dtype::u8, ints{0}), to.operands(n), types);
            made.set_source(made_node, g.display_name(n));
            to.stand(n, made_node);
        }
        small_vector<value_id, 6> outputs;
        for (std::size_t i = 0; i < g.output_count(); ++i) outputs.push_back(to(g.output(i)));
        made.set_info(g.info());
        auto const names = g.info().output_names;
        made.set_outputs(outputs, names);
        return made;
    }

    module const& m_;
    bound_regions out_;
    std::map<std::string, external_codegen const*> compilers_, composites_;
    std::map<std::string, bool> regions_;
    std::set<std::string> visited_;
    std::vector<problem> problems_;
};

} // namespace detail

GSUB_LAZY_BODY result<bound_regions> bind_regions(module const& m, std::span<external_codegen const> codegens,
                                                  std::string_view entry) {
    return capture([&] { return detail::region_binder{m, codegens}.bind(entry); });
}

} // namespace gsub
