// The command line: parses, runs one command, prints its answer. Results on stdout, talk on stderr.
#include "options.hpp"
#include <gsub/core/quoted.hpp>
#include <gsub/io/file.hpp>
#include <gsub/report/progress.hpp>
#include <gsub/runtime/cpu/thread_pool.hpp>

#include <algorithm>
#include <cstdio>
#include <new>
#include <thread>

namespace {

gsub::io::json describe(gsub::error const& e) {
    auto problems = gsub::io::json::array();
    for (auto const& p : e.problems())
        problems.push_back({{"id", to_string(p.id)},
                            {"code", static_cast<int>(p.id.code)},
                            {"kind", to_string(p.id.code)},
                            {"node", p.node},
                            {"op", p.op},
                            {"reason", p.reason},
                            {"hint", p.hint}});
    return {{"error",
             {{"id", to_string(e.id())},
              {"code", static_cast<int>(e.code())},
              {"problems", problems},
              {"context", e.context()}}}};
}

// Names in a file need not be UTF-8; JSON must be.
std::string to_text(gsub::io::json const& data) {
    return data.dump(2, ' ', false, gsub::io::json::error_handler_t::replace) + "\n";
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app{"gsub: makes the graph of a trained model cheaper, and proves it equal", "gsub"};
    app.footer(cli::exit_codes);
    app.require_subcommand(1);
    app.fallthrough();
    app.option_defaults()->always_capture_default();

    bool quiet = false;
    std::string json;
    std::size_t threads = std::max(1u, std::thread::hardware_concurrency());
    app.add_flag("--quiet,-q", quiet, "no progress on stderr");
    app.add_option("--json", json, "write the answer as JSON to this file too")->type_name("FILE");
    app.add_option("--threads", threads, "threads that compute")->check(CLI::Range(1, 4096));

    cli::command_line line{app};
    cli::declare_search(line), cli::declare_kernels(line), cli::declare_models(line);

    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& e) { return app.exit(e) == 0 ? 0 : static_cast<int>(gsub::error_code::usage); }

    gsub::report::progress_reporter progress{stderr, quiet};
    gsub::runtime::thread_pool workers{{.threads = threads}};
    auto const fail = [&](gsub::error const& e) {
        progress.finish();
        std::fputs(gsub::printable(to_lines(e)).c_str(), stderr);
        if (!json.empty())
            if (auto const written = gsub::io::write_file(json, to_text(describe(e))); !written)
                std::fputs(gsub::printable(to_lines(written.error())).c_str(), stderr);
        return static_cast<int>(e.code());
    };
    try {
        auto const a = line.run({&progress, &workers});
        progress.finish();
        auto const text = gsub::printable(a.text);
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
            throw gsub::error{gsub::errors::file_access, "stdout cannot be written"};
        if (!json.empty()) gsub::io::write_file(json, to_text(a.data)).value();
        return a.positive ? 0 : static_cast<int>(gsub::error_code::negative);
    } catch (gsub::error const& e) { return fail(e); } catch (std::bad_alloc const&) {
        try {
            return fail({gsub::errors::out_of_memory, "out of memory"});
        } catch (std::bad_alloc const&) { // not even for its words
            std::fputs("error[G0907]: environment: out of memory\n", stderr);
            return static_cast<int>(gsub::error_code::environment);
        }
    } catch (std::exception const& e) { return fail({gsub::error_code::internal, e.what()}); }
}
