#pragma once

#include <gsub/core/format.hpp>
#include <gsub/cost/kernel_samples.hpp>
#include <gsub/io/json.hpp>

#include <algorithm>
#include <cmath>

namespace gsub::cost {

namespace detail {

// Reads a line of a calibration file; every mistake is thrown with the place.
template <class = void>
class sample_line {
public:
    sample_line(std::string_view name, std::size_t line) : name_(name), line_(line) {}

    [[nodiscard]] kernel_sample read(std::string_view text) const {
        auto const parsed = io::parse_json(text);
        if (!parsed) fail(parsed.error().problems()[0].reason);
        if (!parsed->is_object()) fail("no JSON object");
        kernel_sample s;
        auto timed = false, clocked = false, featured = false;
        for (auto const& [key, value] : parsed->items()) {
            if (key == "kernel")
                s.kernel = text_of(value, key);
            else if (key == "schedule")
                s.schedule = text_of(value, key);
            else if (key == "isa")
                s.isa = text_of(value, key);
            else if (key == "ilp")
                s.ilp = ilp_of(value);
            else if (key == "machine")
                s.machine = text_of(value, key);
            else if (key == "seconds")
                s.seconds = above_0(value, key), timed = true;
            else if (key == "gigahertz")
                s.gigahertz = above_0(value, key), clocked = true;
            else if (key == "part")
                s.features.part = above_0(value, key);
            else if (key == "threads")
                s.features.threads = threads_of(value);
            else if (key == "features")
                read_features(value, s.features), featured = true;
            else
                fail(format_text("unknown key {}", quoted{key}));
        }
        if (!timed || !clocked || !featured)
            fail(format_text("no key {}", quoted{!timed ? "seconds" : !clocked ? "gigahertz" : "features"}));
        return s;
    }
    [[noreturn]] void fail(std::string_view reason) const {
        throw error{problem{errors::cost_file,
                            {},
                            {},
                            format_text("{}, line {}: {}", name_, line_, reason),
                            R"(a line as `bench_predict fit` writes it: {"seconds": 1e-5, "gigahertz": 4.1, )"
                            R"("features": {"fma": [1000, 500]}})"}};
    }

private:
    [[nodiscard]] double number(io::json const& value, std::string_view key) const {
        auto const v = value.is_number() ? value.get<double>() : -1.0;
        if (!(v >= 0) || !std::isfinite(v)) fail(format_text("{} is no finite number of at least 0", quoted{key}));
        return v;
    }
    [[nodiscard]] double above_0(io::json const& value, std::string_view key) const {
        auto const v = number(value, key);
        if (v == 0) fail(format_text("{} is 0", quoted{key}));
        return v;
    }
    [[nodiscard]] unsigned threads_of(io::json const& value) const {
        auto const v = number(value, "threads");
        if (v < 1 || v > 65536 || v != std::floor(v)) fail("\"threads\" is no number of threads");
        return static_cast<unsigned>(v);
    }
    [[nodiscard]] ilp_source ilp_of(io::json const& value) const {
        auto const text = text_of(value, "ilp");
        for (auto const s : {ilp_source::blocks, ilp_source::instructions})
            if (text == to_string(s)) return s;
        fail("\"ilp\" is neither \"blocks\" nor \"instructions\"");
    }
    [[nodiscard]] std::string text_of(io::json const& value, std::string_view key) const {
        if (!value.is_string()) fail(format_text("{} is no text", quoted{key}));
        return value.get<std::string>();
    }
    void read_features(io::json const& value, kernel_features& out) const {
        if (!value.is_object()) fail("\"features\" is no JSON object");
        for (auto const& [name, amount] : value.items()) {
            auto const f = find_kernel_feature(name);
            if (!f) fail(format_text("unknown feature {}", quoted{name}));
            if (!amount.is_array() || amount.size() != 2) fail(format_text("{} has no count and cycles", quoted{name}));
            out[*f] = {number(amount[0], name), number(amount[1], name)};
        }
    }

    std::string_view name_;
    std::size_t line_;
};

} // namespace detail

GSUB_INLINE std::string to_json_line(kernel_sample const& s) {
    io::json line{{"kernel", s.kernel},
                  {"schedule", s.schedule},
                  {"isa", s.isa},
                  {"machine", s.machine},
                  {"gigahertz", s.gigahertz},
                  {"seconds", s.seconds},
                  {"threads", s.features.threads},
                  {"part", s.features.part},
                  {"ilp", to_string(s.ilp)},
                  {"features", io::json::object()}};
    for (std::size_t i = 0; i < kernel_feature_count; ++i) {
        auto const& of = s.features.amounts[i];
        if (of.count == 0 && of.cycles == 0) continue;
        line["features"][std::string{kernel_feature_rows[i].name}] = {of.count, of.cycles};
    }
    return line.dump(-1, ' ', false, io::json::error_handler_t::replace);
}

GSUB_INLINE result<std::vector<kernel_sample>> parse_kernel_samples(std::string_view text, std::string_view name) {
    return capture([&] {
        std::vector<kernel_sample> out;
        for (std::size_t line = 1; !text.empty(); ++line) {
            auto const end = std::min(text.find('\n'), text.size());
            auto const one = text.substr(0, end);
            text.remove_prefix(std::min(end + 1, text.size()));
            if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
            detail::sample_line<> const reader{name, line};
            if (out.size() == most_kernel_samples)
                reader.fail(format_text("more than {} samples", most_kernel_samples));
            out.push_back(reader.read(one));
        }
        return out;
    });
}

} // namespace gsub::cost
