// unique_names: the names of a model that is written, each of which is used once.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>

namespace gsub::io::detail {

/// Names that are used once in a whole model: those of values, nodes and initializers, branches included.
template <class = void>
class unique_names {
public:
    [[nodiscard]] bool taken(std::string const& name) const { return taken_.contains(name); }
    /// Takes a name; false where it is taken.
    bool take(std::string name) { return taken_.insert(std::move(name)).second; }
    /// The name itself, or one like it that is free. Does not take it.
    [[nodiscard]] std::string vacant(std::string name) const;
    /// Takes a name that begins with `stem`.
    std::string fresh(std::string_view stem);

private:
    std::unordered_set<std::string> taken_;
    std::map<std::string, std::size_t> counters_; // by stem
};

} // namespace gsub::io::detail
