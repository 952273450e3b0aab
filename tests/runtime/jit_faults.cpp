#include "catch.hpp"
#include "io/scratch_folder.hpp"
#include "runtime/jit_fixture.hpp"
#include <gsub/runtime/compiler/jit.hpp>

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <filesystem>
#include <initializer_list>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace jit_test {

// From now on, these calls of the process and of its children fail. False where the system has no filters.
bool fail_calls(std::initializer_list<int> calls, int with) {
    std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (auto const call : calls) {
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
        filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(with)));
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    sock_fprog const program{static_cast<unsigned short>(filter.size()), filter.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Whether this process can do such a thing at all: some containers forbid it.
bool allowed(std::function<bool()> const& thing) {
    if (child_succeeds(thing)) return true;
    WARN("the system does not allow what this test needs");
    return false;
}

// A mount of one's own, gone with the process.
bool mount_here(std::string const& at, unsigned long flags, std::string const& options) {
    fs::create_directories(at);
    return ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("none", at.c_str(), "tmpfs", flags, options.c_str()) == 0;
}

kernel_source numbered(int i) {
    return {add(1).text + "//" + std::to_string(i), "k", ""};
}

TEST_CASE("where the disk fails the cache, kernels run without it and no half entry is left") {
    NEEDS_COMPILER();
    if (!allowed([] { return fail_calls({SYS_fsync}, EIO); })) return;
    scratch_folder const f;
    copying const quick{f};
    CHECK(load({numbered(0)}, quick.get(), f / "cache"));
    struct {
        char const* what;
        std::initializer_list<int> calls;
        bool is_told;
    } const cases[] = {{"sync", {SYS_fsync}, true},
                       {"rename", {SYS_renameat, SYS_renameat2}, true},
                       {"rename, and removal", {SYS_renameat, SYS_renameat2, SYS_unlinkat}, true},
                       {"change of times", {SYS_utimensat}, false},
                       {"listing", {SYS_getdents64}, false},
                       {"memory file", {SYS_memfd_create}, false}};
    for (auto const& c : cases)
        for (auto const fault : {EIO, ENOSPC, EDQUOT}) {
            CAPTURE(c.what, fault);
            CHECK(child_succeeds([&] {
                if (!fail_calls(c.calls, fault)) return false;
                for (int i = 0; i < 2; ++i) { // the second time from the cache, where there is one
                    listening notes;
                    auto const loaded = load({numbered(0), numbered(fault)}, quick.get(), f / "cache", &notes);
                    if (!loaded || call(loaded.value()[1], 1) != 2) return false;
                    if (c.is_told != (notes.notes.size() == 1)) return false;
                }
                return true;
            }));
            auto const report = cache_verify(f / "cache").value();
            CHECK(report.removed == 0);
            CHECK(cache_collect(f / "cache", 0)); // for the next case
            CHECK(load({numbered(0)}, quick.get(), f / "cache"));
        }
}

TEST_CASE("a cache on a file system that is full or read-only costs one note") {
    NEEDS_COMPILER();
    scratch_folder const f;
    auto const at = f / "small";
    if (!allowed([&] { return mount_here(at, 0, "size=64k"); })) return;
    copying const quick{f};
    CHECK(child_succeeds([&] {
        if (!mount_here(at, 0, "size=64k,mode=700")) return false;
        std::size_t told = 0;
        for (int i = 0; i < 12; ++i) {
            listening notes;
            auto const loaded = load({numbered(i)}, quick.get(), at, &notes);
            if (!loaded || call(loaded.value()[0], 1) != 2) return false;
            told += notes.notes.size();
            for (auto const& n : notes.notes)
                if (n.find("No space left") == n.npos) return false;
        }
        auto const entries = cache_entries(at).value().size();
        if (told == 0 || entries == 0 || told + entries != 12 || cache_verify(at).value().removed != 0) return false;

        if (::mount("none", at.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) return false;
        listening notes;
        auto const loaded = load({numbered(0), numbered(50)}, quick.get(), at, &notes);
        return loaded && call(loaded.value()[1], 1) == 2 && notes.notes.size() == 1 &&
               notes.notes[0].find("Read-only file system") != std::string::npos;
    }));
}

TEST_CASE("a cache that forbids execution serves, and where nothing may be executed the error says so") {
    NEEDS_COMPILER();
    scratch_folder const f;
    auto const at = f / "noexec";
    if (!allowed([&] { return mount_here(at, MS_NOEXEC, "") && fail_calls({SYS_memfd_create}, EPERM); })) return;
    copying const quick{f};
    CHECK(child_succeeds([&] {
        if (!mount_here(at, MS_NOEXEC, "mode=700")) return false;
        auto const cache = at + "/cache";
        for (int i = 0; i < 2; ++i) {
            auto const loaded = load({numbered(0)}, quick.get(), cache);
            if (!loaded || call(loaded.value()[0], 1) != 2 || quick.calls() != 1) return false;
        }
        variable const temporary{"TMPDIR", at}; // what is compiled does not have to be executed there
        auto const compiled = load({numbered(1)}, quick.get(), cache);
        if (!compiled || call(compiled.value()[0], 1) != 2) return false;
        if (!fail_calls({SYS_memfd_create}, EPERM)) return false;
        auto const refused = load({numbered(2)}, quick.get(), cache);
        return !refused && refused.error().code() == error_code::environment &&
               refused.error().message().find("forbids execution") != std::string::npos;
    }));
}

} // namespace jit_test
