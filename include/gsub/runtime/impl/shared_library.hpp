// shared_library: functions of a library that is found at run time or not at all.
#pragma once

#include <dlfcn.h>
#include <initializer_list>
#include <string>
#include <type_traits>

namespace gsub::runtime::detail {

/// Functions of the first library of some names that can be loaded. It stays loaded: what it has started does too.
class shared_library {
public:
    explicit shared_library(std::initializer_list<char const*> names) {
        for (auto const* name : names)
            if (!handle_) handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL), name_ = name;
    }
    [[nodiscard]] bool loaded() const noexcept { return handle_ != nullptr; }
    [[nodiscard]] std::string const& name() const noexcept { return name_; }
    /// The name of a function that was looked for and is missing; empty where all were there.
    [[nodiscard]] std::string const& missing() const noexcept { return missing_; }

    /// Sets a pointer to the function of a name.
    template <class F>
    void find(F& function, char const* name) {
        auto* const at = ::dlsym(handle_, name);
        if (!at) missing_ = name;
        function = reinterpret_cast<F>(at);
    }

private:
    void* handle_ = nullptr;
    std::string name_, missing_;
};

} // namespace gsub::runtime::detail
