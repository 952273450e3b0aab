// import_diagnostics: what an importer has to say about a model.
#pragma once

#include <gsub/core/config.hpp>
#include <gsub/core/result.hpp>
#include <gsub/io/impl/options_fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gsub::io::detail {

/// Bytes of a name or a reason that are told.
inline constexpr std::size_t most_shown = 1024;

/// An operator as a report names it: made printable and short.
GSUB_LAZY std::string shown_operator(std::string_view domain, std::string_view type);

/// Collects the problems of a model, which are reported together, and passes notes on.
template <class = void>
class import_diagnostics {
public:
    explicit import_diagnostics(load_options const& options) : options_(options) {}

    void wrong(error_id id, std::string_view node, std::string_view op, std::string reason, std::string hint = {});
    /// *Errors* throws `error` with all problems so far, where there are any.
    void give_up_if_wrong();
    void note(std::string text);

private:
    load_options const& options_;
    std::vector<problem> problems_;
    std::size_t problem_count_ = 0; // also of those that are beyond the limit
};

} // namespace gsub::io::detail
