// A folder for the files of one test, removed with all that is in it.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdlib.h>
#include <string>
#include <string_view>
#include <vector>

class scratch_folder {
public:
    scratch_folder() {
        auto pattern = (std::filesystem::temp_directory_path() / "gsub-test-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    scratch_folder(scratch_folder const&) = delete;
    scratch_folder& operator=(scratch_folder const&) = delete;
    ~scratch_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::filesystem::path const& path() const { return path_; }
    [[nodiscard]] std::string operator/(std::string_view name) const { return (path_ / name).string(); }
    /// A new file, and its path.
    std::string file(std::string_view name, std::string_view contents) const {
        auto const path = *this / name;
        std::filesystem::create_directories(std::filesystem::path{path}.parent_path());
        std::ofstream{path, std::ios::binary} << contents;
        return path;
    }
    /// Names of what lies in it, sorted.
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> out;
        for (auto const& e : std::filesystem::directory_iterator{path_}) out.push_back(e.path().filename().string());
        std::sort(out.begin(), out.end());
        return out;
    }

private:
    std::filesystem::path path_;
};
