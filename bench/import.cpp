// Importing a model of 100 MB: time and memory, weights read or mapped. Each run is a process of its own.
#include "measurement.hpp"
#include <gsub/core/format.hpp>
#include <gsub/io/onnx_export.hpp>
#include <gsub/io/onnx_import.hpp>
#include <gsub/models/resnet.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace gsub;

struct figures {
    double seconds = 0, grown = 0; ///< `grown`: bytes of resident memory at the peak beyond those at the start
};

/// What `f` gives, computed in a child: its peak of memory is its own.
template <class F>
std::optional<figures> in_child(F&& f) {
    int ends[2];
    if (::pipe(ends) != 0) return std::nullopt;
    auto const child = ::fork();
    if (child == 0) {
        figures result;
        try {
            result = f();
        } catch (std::exception const& e) {
            std::fprintf(stderr, "%s\n", e.what());
            ::_exit(1);
        }
        ::_exit(::write(ends[1], &result, sizeof result) == static_cast<ssize_t>(sizeof result) ? 0 : 1);
    }
    ::close(ends[1]);
    figures result;
    auto const size = child < 0 ? 0 : ::read(ends[0], &result, sizeof result);
    ::close(ends[0]);
    int status = 0;
    if (child > 0) ::waitpid(child, &status, 0);
    if (size != static_cast<ssize_t>(sizeof result) || status != 0) return std::nullopt;
    return result;
}

double resident_now() {
    std::ifstream in("/proc/self/statm");
    double total = 0, resident = 0;
    in >> total >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}
double resident_peak() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) * 1024;
}

double bytes_in(std::filesystem::path const& folder) {
    double total = 0;
    for (auto const& file : std::filesystem::directory_iterator(folder)) total += static_cast<double>(file.file_size());
    return total;
}

void import_from(bench::reporter& out, std::filesystem::path const& folder, std::string const& how, bool map,
                 double budget) {
    auto const path = (folder / "model.onnx").string();
    auto const size = bytes_in(folder);
    bench::sample time, memory;
    for (int r = 0; r < 15; ++r) {
        auto const run = in_child([&] {
            figures f;
            auto const before = resident_now();
            f.seconds = bench::seconds_of([&] {
                auto const g = io::load_onnx(path, {.map = map}).value();
                f.grown = resident_peak() - before; // before the graph goes
                if (g.size() < 100) std::abort();
            });
            return f;
        });
        if (!run) std::exit(5);
        if (r == 0) continue; // fills the page cache
        time.values.push_back(run->seconds);
        memory.values.push_back(run->grown / size);
    }
    auto const on = fmt::format("resnet50, {}, {}", report::human(size, "B"), how);
    out.add("import", on, time, "s", budget);
    out.add("  memory / file", on, memory, "x", 1.1);
}

} // namespace

int main() {
    bench::reporter out{"import"};
    auto const root = std::filesystem::temp_directory_path() / fmt::format("gsub-bench-{}", ::getpid());
    auto const inside = root / "inside", outside = root / "outside";
    std::filesystem::create_directories(inside);
    std::filesystem::create_directories(outside);
    auto const made = in_child([&] {
        auto const g = models::resnet50();
        io::save_onnx(g, (inside / "model.onnx").string()).value();
        io::save_onnx(g, (outside / "model.onnx").string(), {.external_total_bytes = 0}).value();
        return figures{};
    });
    if (!made) return 5;
    import_from(out, inside, "weights in the file, read", false, 0.120);
    import_from(out, outside, "weights beside it, read", false, 0.120);
    import_from(out, outside, "weights beside it, mapped", true, 0.060);
    std::filesystem::remove_all(root);
    return out.finish();
}
