#include "tune/tuning_records.hpp"
#include <gsub/io/file.hpp>
#include <gsub/tune/database.hpp>
#include <gsub/tune/record_log.hpp>

#include <csignal>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace record_log_test {

using namespace tuning_records;
using namespace gsub::tune;
using Catch::Matchers::Contains;

// Runs `f` in a process of its own, which ends without destructors of the test's.
template <class F>
pid_t forked(F&& f) {
    auto const pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        auto status = 1;
        try {
            status = f() ? 0 : 1;
        } catch (...) {}
        ::_exit(status);
    }
    return pid;
}
int status_of(pid_t pid) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return status;
}
// A record whose line is longer than a page of memory, which a kill may cut.
record long_record(int writer, int n) {
    auto r = numbered(writer, n, 1e-3);
    r.others.add("note", std::string(9000, 'x'));
    return r;
}

TEST_CASE("records that are appended are lines of the file, in order") {
    temporary_folder const at;
    auto log = record_log::open(at.file("db")).value();
    log.append(parse_record(autotvm_line).value()).value();
    log.append(parse_ansor_record(ansor_line).value()).value();
    auto copy = log;
    copy.append_line("# done").value();
    CHECK(io::read_file(log.path()).value() == autotvm_line + "\n" + ansor_line + "\n# done\n");
    CHECK(record_log::open(at.file("none/db")).error().id() == errors::file_access);
    CHECK_FALSE(record_log::open(at.file("")).has_value());
    REQUIRE(::mkfifo(at.file("pipe").c_str(), 0600) == 0);
    CHECK(record_log::open(at.file("pipe")).error().id() == errors::not_a_file);
}

TEST_CASE("behind a torn line the next begins a new one") {
    temporary_folder const at;
    io::write_file(at.file("db"), autotvm_line + "\n" + autotvm_line.substr(0, 100)).value();
    auto log = record_log::open(at.file("db")).value();
    for (int i = 0; i < 3; ++i) log.append(numbered(0, i, 1)).value();
    database db;
    auto const report = db.load(at.file("db")).value();
    CHECK(report.read == 4);
    CHECK(report.torn == 1);
    CHECK(report.warnings.size() == 1);
    CHECK_THAT(report.warnings[0], Contains("db:2: "));
}

TEST_CASE("four processes that append at once lose nothing and mix nothing") {
    temporary_folder const at;
    std::vector<pid_t> writers;
    for (int w = 0; w < 4; ++w)
        writers.push_back(forked([&] {
            auto log = record_log::open(at.file("db")).value();
            for (int i = 0; i < 200; ++i) log.append(i % 10 ? numbered(w, i, 1e-3) : long_record(w, i)).value();
            return true;
        }));
    for (auto const pid : writers) CHECK(status_of(pid) == 0);
    database db;
    auto const report = db.load(at.file("db")).value();
    CHECK(report.read == 800);
    CHECK(report.warnings.empty());
    for (int w = 0; w < 4; ++w) CHECK(db.candidates("t", {json_number::integer(w)}).size() == 200);
}

TEST_CASE("threads that share a log, or open it each, lose nothing and mix nothing") {
    temporary_folder const at;
    auto const shared = record_log::open(at.file("db")).value();
    std::vector<std::thread> writers;
    for (int w = 0; w < 4; ++w)
        writers.emplace_back([&, w] {
            auto log = w < 2 ? shared : record_log::open(at.file("db")).value();
            for (int i = 0; i < 100; ++i) log.append(numbered(w, i, 1e-3)).value();
        });
    for (auto& t : writers) t.join();
    database db;
    CHECK(db.load(at.file("db")).value().read == 400);
}

TEST_CASE("writers that are killed while they append leave at most a torn line each, and others go on") {
    temporary_folder const at;
    auto beside = record_log::open(at.file("db")).value();
    int acknowledged = 0;
    constexpr int kills = 12;
    for (int k = 0; k < kills; ++k) {
        int ready[2];
        REQUIRE(::pipe(ready) == 0);
        auto const pid = forked([&] {
            auto log = record_log::open(at.file("db")).value();
            for (int i = 0;; ++i) {
                log.append(long_record(1 + k, i)).value();
                if (i < 60 && ::write(ready[1], "x", 1) != 1) return false; // tells that it stands in the file
            }
        });
        ::close(ready[1]);
        char told[60];
        for (int i = 0; i <= k * 5; ++i) // the more of them, the later the kill
            acknowledged += ::read(ready[0], told, 1) == 1;
        beside.append(numbered(0, k, 1e-3)).value();
        ::kill(pid, SIGKILL);
        CHECK(WIFSIGNALED(status_of(pid)));
        ::close(ready[0]);
        beside.append(numbered(0, kills + k, 1e-3)).value();
    }
    database db;
    auto const report = db.load(at.file("db")).value();
    CHECK(report.torn + report.refused <= kills);
    CHECK(report.refused == 0);
    CHECK(db.candidates("t", {json_number::integer(0)}).size() == 2 * kills);
    CHECK(report.read >= static_cast<std::size_t>(acknowledged) + 2 * kills);
}

TEST_CASE("a file that takes no more is an error, and keeps what it has") {
    temporary_folder const at;
    auto const pid = forked([&] {
        auto log = record_log::open(at.file("db")).value();
        log.append(numbered(0, 0, 1)).value();
        rlimit const limit{1000, 1000};
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
        auto const cut = log.append(long_record(0, 1)), none = log.append(long_record(0, 2));
        return !cut && cut.error().code() == error_code::environment && !none;
    });
    CHECK(status_of(pid) == 0);
    record_log::open(at.file("db")).value().append(numbered(0, 3, 1)).value();
    database db;
    auto const report = db.load(at.file("db")).value();
    CHECK(report.read == 2);
    CHECK(report.torn == 0);
}

} // namespace record_log_test
