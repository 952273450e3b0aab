#pragma once

#include <gsub/core/format.hpp>
#include <gsub/ir/legality.hpp>
#include <gsub/ir/ops/ops_control.hpp>
#include <gsub/passes/evaluators_of.hpp>
#include <gsub/passes/manager/instrumentation.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <set>

namespace gsub {

GSUB_LAZY_BODY std::size_t node_count(module const& m) {
    std::size_t sum = 0;
    for (auto const& f : m.functions()) sum += f.body.size();
    return sum;
}

GSUB_LAZY_BODY std::uint64_t weight_bytes(module const& m) {
    std::set<std::byte const*> seen;
    std::uint64_t sum = 0;
    for (auto const& f : m.functions())
        for (auto n : f.body.order())
            if (f.body.is<ops::constant>(n))
                if (auto const& t = f.body.constant_data(n); seen.insert(t.raw().data()).second) sum += t.size_bytes();
    return sum;
}

namespace detail {

// Whether a node fits a function that it calls, with operands from `first` on.
GSUB_LAZY void check_call(std::vector<problem>& found, module const& m, any_graph const& g, node_id n,
                          std::string_view name, std::size_t first) {
    auto const report = [&](std::string reason) {
        found.push_back(
            {errors::illegal_graph, g.display_name(n), format_text("call of {}", quoted{name}), std::move(reason), {}});
    };
    auto const* callee = m.find(name);
    if (!callee) return report("there is no such function");
    auto const& body = callee->body;
    auto const operands = g.operand_count(n) - first;
    if (operands != body.inputs().size() || g.result_count(n) != body.output_count())
        return report(format_text("has {} operands and {} results, the function {} and {}", operands, g.result_count(n),
                                  body.inputs().size(), body.output_count()));
    for (std::size_t i = 0; i < body.inputs().size(); ++i)
        if (auto const v = g.operand(n, first + i);
            v.valid() && !compatible(g.type(v), body.type({body.inputs()[i], 0})))
            report(format_text("operand {} has type {}, the function takes {}", i, to_string(g.type(v)),
                               to_string(body.type({body.inputs()[i], 0}))));
    for (std::uint32_t port = 0; port < body.output_count(); ++port)
        if (!compatible(g.type({n, port}), body.type(body.output(port))))
            report(format_text("result {} has type {}, the function gives {}", port, to_string(g.type({n, port})),
                               to_string(body.type(body.output(port)))));
}
GSUB_LAZY void check_calls(std::vector<problem>& found, module const& m, any_graph const& g) {
    for (auto n : g.order()) {
        if (g.is<ops::call>(n)) check_call(found, m, g, n, g.attributes<ops::call>(n).callee, 0);
        if (!g.is<ops::if_else>(n)) continue;
        auto const& a = g.attributes<ops::if_else>(n);
        for (auto const* name : {&a.then_branch, &a.else_branch}) check_call(found, m, g, n, *name, 1);
    }
}

} // namespace detail

namespace detail {

// Whether nothing was done to a graph. Types that a pass declares are not in the hash of what it made.
GSUB_LAZY bool alike(any_graph const& a, any_graph const& b) {
    if (a.capacity() != b.capacity() || a.size() != b.size() || !(a == b)) return false;
    for (auto n : a.order()) {
        if (!b.live(n) || a.result_count(n) != b.result_count(n)) return false;
        for (std::uint32_t port = 0; port < a.result_count(n); ++port)
            if (!(a.type_of({n, port}) == b.type_of({n, port}))) return false;
    }
    return true;
}

} // namespace detail

GSUB_LAZY_BODY std::vector<problem> check(module const& m, module const* before) {
    std::vector<problem> found;
    for (auto const& f : m.functions()) {
        auto const* old = before ? before->find(f.name) : nullptr;
        if (old && detail::alike(old->body, f.body)) continue;
        for (auto& p : check(f.body, stage{})) {
            p.node = format_text("{}/{}", f.name, p.node);
            found.push_back(std::move(p));
        }
    }
    for (auto const& f : m.functions()) detail::check_calls(found, m, f.body);
    for (auto const& name : m.entry_points())
        if (!m.find(name))
            found.push_back(
                {errors::illegal_graph, {}, {}, format_text("there is no entry point {}", quoted{name}), {}});
    // Calls in a circle show when the module is written out as one graph.
    if (found.empty() && m.functions().size() > 1)
        if (auto const whole = m.hash(); !whole) found = whole.error().problems();
    return found;
}

// One call of a pass under an instrument.
template <class = void>
class instrumented_run {
    using clock = std::chrono::steady_clock;

public:
    instrumented_run(checking_instrument& s, pass_info const& info, module& m, pass_context& cx)
        : s_(s), info_(info), m_(m), cx_(cx) {}

    static result<pass_outcome> run(pass_instrument& self, pass_info const& info, module& m, pass_context& cx,
                                    pass_instrument::body_ref body) {
        return instrumented_run{static_cast<checking_instrument&>(self), info, m, cx}.around(body);
    }

private:
    static double since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

    hash128 hashed() {
        for (auto const& f : m_.functions()) m_.find(f.name)->body.rehash();
        return fingerprint(m_);
    }

    op_histogram const& histogram(hash128 now) {
        auto& kept = s_.histograms_[info_.enters_primitive];
        if (!kept || !(kept->first == now)) kept = std::pair{now, histogram_of(m_, info_)};
        return kept->second;
    }

    result<pass_outcome> around(pass_instrument::body_ref body) {
        auto const start = clock::now();
        auto const place = s_.records_.size(); // not a reference: passes within a pass have records too
        pass_record record;
        record.pass = info_.name;
        record.depth = s_.depth_;
        if (s_.depth_ == 0) record.required_by = s_.required_by_;
        auto const before = hashed();
        record.hash = before;
        record.nodes_before = record.nodes_after = node_count(m_);
        record.weight_bytes_before = record.weight_bytes_after = weight_bytes(m_);
        if (s_.options_.prune && info_.may_apply && !info_.may_apply(histogram(before))) {
            record.not_run = "the module has nothing that it could change";
            record.outcome.skip(record.not_run);
            record.instrument_s = since(start);
            s_.records_.push_back(std::move(record));
            if (s_.options_.observe) s_.options_.observe->after_pass(s_.records_.back(), m_);
            return s_.records_[place].outcome;
        }
        s_.records_.push_back(record);
        if (s_.options_.observe) s_.options_.observe->before_pass(info_, s_.depth_, m_);
        auto const kept = m_;

        auto const begin = clock::now();
        auto done = guarded(body, kept);
        record.time_s = since(begin);

        if (done) {
            record.outcome = *done;
            auto const after = hashed();
            record.changed = !(after == before);
            record.hash = after;
            record.nodes_after = node_count(m_);
            record.weight_bytes_after = weight_bytes(m_);
            if ((record.changed || done->changed) && !info_.composite) {
                if (auto wrong = verified(kept, record.verdict)) done = std::move(*wrong);
            }
        }
        if (!done) record.failure = done.error().message();
        record.instrument_s = since(start) - record.time_s;
        s_.records_[place] = std::move(record);
        if (s_.options_.observe) s_.options_.observe->after_pass(s_.records_[place], m_);
        if (!done) {
            m_ = kept;
            s_.records_[place].changed = false;
            s_.records_[place].hash = before;
        }
        return done;
    }

    // What a pass throws that is no error of gsub is a fault of the pass.
    result<pass_outcome> guarded(pass_instrument::body_ref body, module const& kept) {
        ++s_.depth_;
        struct leave {
            std::size_t& depth;
            ~leave() { --depth; }
        } const left{s_.depth_};
        try {
            return body(m_, cx_);
        } catch (error const& e) {
            return e.within(format_text("pass {}", info_.name));
        } catch (std::bad_alloc const&) {
            m_ = kept;
            throw;
        } catch (std::exception const& e) {
            return error{errors::pass_threw, format_text("threw: {}", e.what())}.within(
                format_text("pass {}", info_.name));
        }
    }

    std::optional<error> verified(module const& kept, pass_verdict& verdict) {
        if (s_.options_.check)
            if (auto problems = check(m_, &kept); !problems.empty())
                return error{std::move(problems)}.within(format_text("pass {} left an ill-formed module", info_.name));
        if (!s_.options_.verify) return std::nullopt;
        if (!info_.preserves_semantics) {
            verdict.reason = "the pass changes the semantics";
            return std::nullopt;
        }
        verdict = (*s_.options_.verify)(kept, m_, info_);
        if (!verdict.compared || verdict.equal) return std::nullopt;
        return error{errors::pass_changes_results, format_text("pass {} ({}) changes results: {}", info_.name,
                                                               to_string(info_.exact), verdict.reason)};
    }

    checking_instrument& s_;
    pass_info const& info_;
    module& m_;
    pass_context& cx_;
};

GSUB_LAZY_BODY checking_instrument::checking_instrument(instrument_options options) : options_(std::move(options)) {
    run = &instrumented_run<>::run;
}

GSUB_LAZY_BODY numeric_verifier::outputs numeric_verifier::run(module const& m) const {
    outputs out;
    for (auto const& entry : m.entry_points())
        out.push_back(capture([&] {
            auto const* f = m.find(entry);
            if (!f) throw error{error_code::invalid_input, format_text("there is no entry point {}", quoted{entry})};
            auto const inputs = random_inputs(f->body, cx_->seed);
            return evaluate_module(m, evaluators_of(*cx_, f->body), inputs, {.threads = cx_->threads}, entry).value();
        }));
    return out;
}

GSUB_LAZY_BODY pass_verdict numeric_verifier::operator()(module const& before, module const& after,
                                                         pass_info const& info) {
    auto const hash_before = fingerprint(before);
    auto expected = known_ && known_->first == hash_before ? std::move(known_->second) : run(before);
    auto actual = run(after);
    pass_verdict v;
    v.compared = v.equal = true;
    auto const differs = [&](std::string reason) { v.equal = false, v.reason = std::move(reason); };
    if (before.entry_points() != after.entry_points()) differs("the entry points are others");
    for (std::size_t i = 0; i < expected.size() && v.compared && v.equal; ++i) {
        auto const& entry = before.entry_points()[i];
        if (!expected[i]) {
            v = {false, false, 0, format_text("cannot be run: {}", expected[i].error().message())};
        } else if (!actual[i]) {
            differs(format_text("{} cannot be run any more: {}", quoted{entry}, actual[i].error().message()));
        } else if (expected[i]->size() != actual[i]->size()) {
            differs(format_text("{} has {} outputs", quoted{entry}, actual[i]->size()));
        } else {
            for (std::size_t k = 0; k < expected[i]->size() && v.equal; ++k) {
                auto const &a = (*actual[i])[k], &b = (*expected[i])[k];
                auto const same =
                    a.type() == b.type() && std::equal(a.raw().begin(), a.raw().end(), b.raw().begin(), b.raw().end());
                if (same) continue;
                auto const d = compare(a, b);
                if (d) v.error = std::max(v.error, d->max_relative);
                if (!d)
                    differs(format_text("{} output {}: {}", quoted{entry}, k, d.error().message()));
                else if (info.exact == exactness::bit_exact || !d->same_specials ||
                         !(d->max_relative <= tolerance_of(info)))
                    differs(format_text("{} output {} differs by {}, {} is allowed", quoted{entry}, k, d->max_relative,
                                        tolerance_of(info)));
            }
        }
    }
    known_ = std::pair{fingerprint(after), std::move(actual)};
    return v;
}

} // namespace gsub
