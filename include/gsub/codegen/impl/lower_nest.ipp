#pragma once

#include <gsub/codegen/impl/nest_lowerer.hpp>
#include <gsub/codegen/lower_nest.hpp>

#include <iterator>
#include <utility>

namespace gsub::codegen {

namespace detail {

// Puts stages together: each within the loops that it shares, its variables renamed to those of the kernel.
template <class = void>
class kernel_assembler {
public:
    kernel_assembler(loop::fused_nest const& nest, lower_options const& options) : nest_(nest), options_(options) {}

    kernel run(std::string_view name) {
        made_.name = name;
        made_.buffers.assign(nest_.buffers().begin(), nest_.buffers().end());
        auto const stages = nest_.stages();
        for (std::size_t i = 0; i < stages.size(); ++i) {
            auto& own = variables_.emplace_back();
            for (auto const& n : stages[i].names) {
                own.push_back(static_cast<variable>(made_.names.size()));
                made_.names.push_back(n);
            }
            for (std::size_t d = 0; d < nest_.shared(i); ++d)
                own[index(stages[i].loops[d].var)] = variables_[i - 1][index(stages[i - 1].loops[d].var)];
        }
        if (stages[0].parallel_loops() > 0) {
            made_.parallel = stages[0].loops[0].var;
            made_.parallel_extent = stages[0].parallel_extent();
        }
        assemble(0, stages.size(), 0, made_.body);
        if (nest_.has_fallback()) assemble_fallback(nest_.fallback(), stages.back().what.fallback_at.size());
        return std::move(made_);
    }

private:
    static std::size_t index(variable v) { return static_cast<std::size_t>(v); }

    // Stages that stand within `depth` common loops.
    void assemble(std::size_t first, std::size_t last, std::size_t depth, std::vector<statement>& out) {
        for (auto i = first; i < last;) {
            auto end = i + 1;
            while (end < last && nest_.shared(end) > depth) ++end;
            auto const& stage = nest_.stages()[i];
            if (end == i + 1) {
                auto body = nest_lowerer{stage, depth, options_.max_ranges, made_}.run();
                rename(body, variables_[i]);
                std::move(body.begin(), body.end(), std::back_inserter(out));
            } else {
                auto const& l = stage.loops[depth];
                statement n;
                n.kind = statement_kind::loop;
                n.var = variables_[i][index(l.var)];
                if (l.kind != loop::loop_kind::parallel) n.begin = {{0, 1}}, n.end = {{l.extent, 1}};
                assemble(i, end, depth + 1, n.body);
                out.push_back(std::move(n));
            }
            i = end;
        }
    }

    // Seldom run, so it is kept short: what can be tested while it runs is.
    void assemble_fallback(loop::loop_nest const& nest, std::size_t given) {
        std::vector<variable> own;
        for (auto const& n : nest.names) {
            own.push_back(static_cast<variable>(made_.names.size()));
            made_.names.push_back(n);
        }
        made_.fallback = nest_lowerer{nest, given, 1, made_}.run();
        rename(made_.fallback, own);
        for (std::size_t d = 0; d < given; ++d) made_.fallback_parameters.push_back(own[index(nest.loops[d].var)]);
    }

    static affine renamed(affine const& a, std::vector<variable> const& to) { return a.renamed(as_span(to)); }
    // Whether variables have their names already, as those of a first stage do.
    static bool is_identity(std::vector<variable> const& to) {
        for (std::size_t v = 0; v < to.size(); ++v)
            if (to[v] != static_cast<variable>(v)) return false;
        return true;
    }
    static void rename(std::vector<statement>& statements, std::vector<variable> const& to) {
        if (is_identity(to)) return;
        auto const bounds = [&](std::vector<loop::bound>& all) {
            for (auto& b : all) b.value = renamed(b.value, to);
        };
        for (auto& n : statements) {
            if (n.var >= 0) n.var = to[index(n.var)];
            if (n.of >= 0) n.of = to[index(n.of)];
            for (auto* limits : {&n.begin, &n.end})
                for (auto& l : *limits) l.value = renamed(l.value, to);
            bounds(n.conditions);
            for (auto& a : n.arguments) a = renamed(a, to);
            for (auto& i : n.code) {
                i.offset = renamed(i.offset, to);
                bounds(i.predicate);
            }
            rename(n.body, to);
            rename(n.otherwise, to);
        }
    }

    loop::fused_nest const& nest_;
    lower_options options_;
    kernel made_;
    std::vector<std::vector<variable>> variables_; // of the kernel, for those of each stage
};

} // namespace detail

GSUB_LAZY_BODY result<kernel> lower(loop::fused_nest const& nest, std::string_view name, lower_options const& options) {
    try {
        return detail::kernel_assembler{nest, options}.run(name);
    } catch (error const& e) { return e; }
}

} // namespace gsub::codegen
