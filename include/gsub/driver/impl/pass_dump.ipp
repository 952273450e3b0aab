#pragma once

#include <gsub/core/format.hpp>
#include <gsub/driver/pass_dump.hpp>
#include <gsub/io/file.hpp>
#include <gsub/io/onnx_export.hpp>
#include <gsub/ir/module.hpp>
#include <gsub/ir/text.hpp>
#include <gsub/lower/kernel_graph_text.hpp>

#include <cstdio>
#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

namespace gsub {

namespace detail {

GSUB_LAZY std::string in_html(std::string_view text) {
    std::string out;
    for (char c : printable(text)) switch (c) {
        case '<':
            out += "&lt;";
            break;
        case '>':
            out += "&gt;";
            break;
        case '&':
            out += "&amp;";
            break;
        case '"':
            out += "&quot;";
            break;
        default:
            out += c;
        }
    return out;
}

/// The name of a pass as part of a file name.
GSUB_LAZY std::string as_file_name(std::string_view pass) {
    std::string out;
    for (char c : pass.substr(0, 64)) {
        auto const plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        out += plain ? c : '-';
    }
    return out;
}

GSUB_LAZY std::string milliseconds_text(double time_s) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3f", time_s * 1e3);
    return text;
}

template <class = void>
class folder_dump final : public pass_dump {
public:
    explicit folder_dump(pass_dump_options options) : options_(std::move(options)) {}

    void before_pass(pass_info const&, std::size_t, module const& m) override {
        if (!started_) start(m);
    }
    void after_pass(pass_record const& r, module const& m) override {
        if (!started_) start(m);
        guard([&] {
            std::string links;
            auto const name = stem(r.pass) + (r.failure.empty() ? "" : "-failed");
            if (r.changed || !r.failure.empty()) links = write(name, m);
            rows_ += row(r, links);
            ++step_;
            write_index();
        });
    }
    result<void> finish() override {
        if (failed_) return *failed_;
        return {};
    }

private:
    template <class F>
    void guard(F&& f) {
        if (failed_) return;
        try {
            f();
        } catch (error const& e) { failed_ = e.within(format_text("dump of passes to {}", options_.folder)); }
    }

    void start(module const& m) {
        started_ = true;
        guard([&] {
            std::error_code made;
            std::filesystem::create_directories(options_.folder, made);
            if (made) throw error{errors::file_access, format_text("the folder cannot be made: {}", made.message())};
            auto const links = write(stem("start"), m);
            rows_ +=
                format_text("<tr><td>{}</td><td>as it was</td><td colspan=\"8\"></td><td>{}</td></tr>\n", step_, links);
            ++step_;
            write_index();
        });
    }

    [[nodiscard]] std::string stem(std::string_view pass) const {
        char number[16];
        std::snprintf(number, sizeof number, "%03zu-", step_);
        return number + as_file_name(pass);
    }
    std::string put(std::string const& name, std::string_view text) {
        io::write_file((std::filesystem::path{options_.folder} / name).string(), text).value();
        return format_text("<a href=\"{}\">{}</a> ", name, name.substr(name.rfind('.') + 1));
    }

    // Writes a module in its forms; gives the links to them.
    std::string write(std::string const& name, module const& m) {
        auto links = put(name + ".txt", to_text(m, {options_.max_constant_elements}));
        if (options_.to_dot) {
            std::size_t pictures = 0;
            for (auto const& f : m.functions())
                if (drawn_.insert(f.body.hash()).second) {
                    links += put(pictures == 0 ? name + ".dot" : format_text("{}-{}.dot", name, pictures),
                                 (*options_.to_dot)(f.body));
                    ++pictures;
                }
        }
        if (auto const bytes_in_all = weight_bytes(m); bytes_in_all > options_.max_weight_bytes)
            return links + format_text("(no ONNX: {} bytes of weights)", bytes_in_all);
        auto const* entry = m.entry_points().empty() ? nullptr : m.find(m.entry_points().front());
        if (!entry) return links + "(no ONNX: no entry point)";
        auto const file = io::to_onnx(m, rows_of(entry->body), {}, entry->name);
        if (!file) return links + format_text("(no ONNX: {})", in_html(file.error().message()));
        return links + put(name + ".onnx", *file);
    }

    [[nodiscard]] std::span<io::onnx_row const> rows_of(any_graph const& g) const {
        if (options_.files) return {options_.files, g.operators().ops.size()};
        if (&g.operators() == &dialect::of<standard_ops>()) return table_of<io::onnx_row, standard_ops>();
        throw error{error_code::usage,
                    "how operators are written is not known: pass_dump_options::files is needed for a "
                    "set of operators of the user's own"};
    }

    [[nodiscard]] std::string row(pass_record const& r, std::string_view links) const {
        std::string why = r.not_run;
        if (why.empty())
            for (auto const& s : r.outcome.skipped)
                why += format_text("{}{} ({})", why.empty() ? "" : "; ", s.reason, s.count);
        if (!r.failure.empty()) why = r.failure;
        std::string const verdict = !r.verdict.compared   ? r.verdict.reason
                                    : r.verdict.error > 0 ? format_text("differs by {}", r.verdict.error)
                                                          : "equal";
        std::string out = format_text("<tr class=\"{}\"><td>{}</td><td style=\"padding-left:{}em\">{}",
                                      r.failure.empty() ? r.changed ? "changed" : "same" : "failed", step_,
                                      0.5 + 1.5 * static_cast<double>(r.depth), in_html(r.pass));
        if (!r.required_by.empty()) out += format_text(" <i>for {}</i>", in_html(r.required_by));
        for (auto const& cell : {std::string{r.not_run.empty() ? r.changed ? "yes" : "no" : "not run"},
                                 format_text("{}", r.outcome.matches), in_html(why), milliseconds_text(r.time_s),
                                 format_text("{} to {}", r.nodes_before, r.nodes_after),
                                 format_text("{} to {}", r.weight_bytes_before, r.weight_bytes_after), in_html(verdict),
                                 to_string(r.hash).substr(0, 12), std::string{links}})
            out += format_text("</td><td>{}", cell);
        return out + "</td></tr>\n";
    }

    void write_index() {
        static constexpr std::string_view head =
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Passes</title><style>"
            "body{font-family:sans-serif}table{border-collapse:collapse}td,th{padding:.2em .5em;text-align:left;"
            "border-bottom:1px solid #ccc}tr.same{color:#777}tr.failed{background:#fdd}</style></head><body>\n<table>\n"
            "<tr><th></th><th>pass</th><th>changed</th><th>matches</th><th>skipped</th><th>ms</th><th>nodes</th>"
            "<th>bytes of weights</th><th>numbers</th><th>hash</th><th>files</th></tr>\n";
        io::write_file((std::filesystem::path{options_.folder} / "index.html").string(),
                       format_text("{}{}</table>\n</body></html>\n", head, rows_))
            .value();
    }

    pass_dump_options options_;
    bool started_ = false;
    std::size_t step_ = 0;
    std::string rows_;
    std::set<hash128> drawn_;
    std::optional<error> failed_;
};

} // namespace detail

GSUB_LAZY_BODY result<void> dump_kernel_graph(kernel_graph const& g, std::string const& folder,
                                              std::size_t max_constant_elements) {
    std::error_code made;
    std::filesystem::create_directories(folder, made);
    if (made) return error{errors::file_access, format_text("{}: {}", printable(folder), made.message())};
    auto const name = format_text("lowering-{}-{}.txt", static_cast<int>(g.stage), to_string(g.stage));
    return io::write_file((std::filesystem::path{folder} / name).string(),
                          to_text(g, {.max_constant_elements = max_constant_elements}));
}

GSUB_LAZY_BODY std::unique_ptr<pass_dump> make_pass_dump(pass_dump_options options) {
    return std::make_unique<detail::folder_dump<>>(std::move(options));
}

} // namespace gsub
