#pragma once

#include <gsub/core/format.hpp>
#include <gsub/cost/measured.hpp>
#include <gsub/io/file.hpp>
#include <gsub/io/json.hpp>
#include <gsub/target/target.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace gsub::cost {

namespace detail {

/// A number of an object, negative where it is none or not finite.
GSUB_INLINE double number_at(io::json const& object, char const* key) {
    auto const found = object.find(key);
    if (found == object.end() || !found->is_number()) return -1;
    auto const number = found->get<double>();
    return std::isfinite(number) ? number : -1;
}

} // namespace detail

GSUB_INLINE result<profile> profile::open(std::string path) {
    return capture([&] {
        profile p;
        p.path_ = std::move(path);
        std::error_code ignored;
        if (std::filesystem::status(p.path_, ignored).type() == std::filesystem::file_type::not_found) return p;
        std::istringstream in(io::read_file(p.path_).value());
        for (std::string line; std::getline(in, line);) {
            if (line.empty()) continue;
            // A record may come from anywhere: whatever is not one is passed over.
            auto const value = io::json::parse(line, nullptr, false);
            auto const text = [&](char const* key) {
                return value.is_object() && value.contains(key) && value[key].is_string()
                           ? value[key].get<std::string>()
                           : std::string{};
            };
            auto const machine = text("machine"), op = text("op");
            if (!machine.empty() && value.contains("roofline") && value["roofline"].is_object()) {
                roofline found;
                found.launch = detail::number_at(value["roofline"], "launch");
                found.flop_per_second = detail::number_at(value["roofline"], "flop_per_second");
                found.bytes_per_second = detail::number_at(value["roofline"], "bytes_per_second");
                if (found.launch >= 0 && found.flop_per_second > 0 && found.bytes_per_second > 0) {
                    p.rates_[machine] = found;
                    continue;
                }
            } else if (!machine.empty() && !op.empty()) {
                if (auto const seconds = detail::number_at(value, "seconds"); seconds >= 0) {
                    p.seconds_[format_text("{}|{}|{}", machine, op, text("signature"))] = seconds;
                    continue;
                }
            }
            ++p.skipped_;
        }
        return p;
    });
}

GSUB_INLINE double const* profile::find(std::string const& key) const {
    auto const found = seconds_.find(key);
    return found == seconds_.end() ? nullptr : &found->second;
}

GSUB_INLINE void profile::add(std::string const& key, std::string_view op, std::string_view signature,
                              std::string_view machine, double seconds, std::size_t runs) {
    seconds_[key] = seconds;
    io::json const record{
        {"op", op}, {"signature", signature}, {"machine", machine}, {"seconds", seconds}, {"runs", runs}};
    append(record.dump(-1, ' ', false, io::json::error_handler_t::replace));
}

GSUB_INLINE void profile::add_rates(std::string const& machine, roofline const& found) {
    rates_[machine] = found;
    io::json const record{{"machine", machine},
                          {"roofline",
                           {{"launch", found.launch},
                            {"flop_per_second", found.flop_per_second},
                            {"bytes_per_second", found.bytes_per_second}}}};
    append(record.dump(-1, ' ', false, io::json::error_handler_t::replace));
}

GSUB_INLINE void profile::append(std::string const& line) const {
    if (path_.empty()) return;
    // One write a record: lines of several processes do not mix. A last line that was cut off stays one line.
    char last = '\n';
    if (std::ifstream before(path_, std::ios::binary); before.seekg(-1, std::ios::end)) before.get(last);
    std::ofstream out(path_, std::ios::app);
    out << format_text("{}{}\n", last == '\n' ? "" : "\n", line);
    if (!out.flush()) throw error{errors::file_access, format_text("{}: cannot be written", path_)};
}

GSUB_INLINE std::string signature(any_graph const& g, node_id n) {
    std::string text = "(";
    for (auto v : g.operands(n))
        text += format_text("{}{}", v.valid() ? to_string(g.type(v)) : "_", v.valid() && g.constant(v) ? "c " : " ");
    text += ")->";
    for (std::uint32_t port = 0; port < g.result_count(n); ++port)
        text += format_text("{} ", to_string(g.type({n, port})));
    for (auto const& value : g.attributes(n).values()) text += format_text("{};", to_string(value));
    return text;
}

GSUB_INLINE measured::measured(dialect const& d, eval_table table, profile p, measure_options options)
    : dialect_(&d),
      table_(table),
      options_(options),
      machine_(format_text("{} threads={}", host().key(), options.threads ? options.threads->concurrency() : 1)),
      state_(std::make_shared<state>()) {
    state_->known = std::move(p);
}

GSUB_INLINE measured::unit measured::operator()(any_graph const& g, node_id n) const {
    if (!is_executed(g, n)) return {0};
    auto const text = signature(g, n);
    auto const key = format_text("{}|{}|{}", machine_, g.op(n).name, text);
    std::lock_guard const lock{state_->mutex};
    if (auto const* known = state_->known.find(key)) return {*known};
    if (auto const found = state_->fallback.find(key); found != state_->fallback.end()) return {found->second};
    if (options_.observe) options_.observe->on_progress({"measuring", state_->runs + 1, 0, g.op(n).name});
    auto const [seconds, runs] = measure(g, n);
    if (seconds < 0) { // costed, and not recorded as if it had been measured
        ++state_->unmeasured;
        return {state_->fallback[key] = roofline{}(g, n).amount};
    }
    ++state_->runs;
    state_->known.add(key, g.op(n).name, text, machine_, seconds, runs);
    return {seconds};
}

GSUB_INLINE measured::timing measured::measure(any_graph const& g, node_id n) const {
    if (g.op(n).category == op_category::opaque ||
        (!table_[g.row(n)].move && !table_[g.row(n)].run && !dialect_->infer[g.row(n)].build))
        return {};
    std::vector<tensor> operands, results;
    std::vector<tensor const*> given;
    std::vector<dtype> declared;
    random_stream const stream{1};
    operands.reserve(g.operand_count(n));
    for (auto v : g.operands(n)) {
        declared.push_back(v.valid() ? g.type(v).element : dtype::undefined);
        if (!v.valid()) {
            given.push_back(nullptr);
            continue;
        }
        if (!g.type(v).elements()) return {};
        auto t = tensor::uninitialized(g.type(v).element, g.type(v).sizes());
        fill_random(t, stream.split(operands.size()));
        given.push_back(&operands.emplace_back(std::move(t)));
    }
    auto scalar = dtype::undefined;
    for (auto t : declared)
        if (t == dtype::f64 || (is_floating(t) && scalar == dtype::undefined))
            scalar = t == dtype::f64 ? t : dtype::f32;
    if (scalar == dtype::undefined) scalar = declared.empty() ? dtype::f32 : declared[0];
    inline_executor alone;
    std::vector<double> times;
    double total = 0;
    try {
        for (std::size_t run = 0; run < options_.least_runs + 1 || total < options_.least_seconds; ++run) {
            results.clear();
            for (std::uint32_t port = 0; port < g.result_count(n); ++port) {
                if (!g.type({n, port}).elements()) return {};
                results.push_back(tensor::uninitialized(g.type({n, port}).element, g.type({n, port}).sizes()));
            }
            op_call_args args{&g.op(n),
                              g.attributes(n),
                              given,
                              results,
                              declared,
                              scalar,
                              options_.threads ? options_.threads : &alone};
            auto const begin = std::chrono::steady_clock::now();
            evaluate_node(*dialect_, table_, g.row(n), args, {.threads = args.threads});
            auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            if (run == 0) continue; // warms caches and pages
            times.push_back(seconds);
            total += seconds;
            if (times.size() >= 1000) break;
        }
    } catch (error const&) { return {}; }
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
    return {times[times.size() / 2], times.size()};
}

} // namespace gsub::cost
