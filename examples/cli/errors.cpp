// gsub errors: what errors mean, by their numbers.
#include "commands.hpp"
#include <gsub/core/error_id.hpp>
#include <gsub/core/format.hpp>
#include <gsub/core/quoted.hpp>
#include <gsub/report/table.hpp>

namespace cli {

namespace {

std::string page() {
    std::string out =
        "# Errors\n\nMade by `gsub errors --markdown` from the table that the library uses; a test compares. "
        "An error's number stays what\nit is, in this version and later ones. `gsub errors G0102` prints "
        "an entry; the numbers 1 to 6 are kinds, and those of\nerrors that only their words tell apart. "
        "The kind decides the exit code of `gsub`. In C++ they are `gsub::error_id`\n(`core/error_id.hpp`), "
        "in reports as JSON the member `id`.\n";
    for (auto const& e : gsub::error_entries())
        out += gsub::format_text("\n## {}: {}\n*{}, exit code {}.* {}\n\n*What to do:* {}\n", to_string(e.id), e.title,
                                 to_string(e.id.code), static_cast<int>(e.id.code), e.cause, e.remedy);
    return out;
}

} // namespace

answer errors(errors_request const& r, session const&) {
    answer a;
    if (!r.number.empty()) {
        auto const* const e = gsub::find_error(r.number);
        if (!e)
            throw gsub::error{gsub::problem{gsub::error_code::usage,
                                            {},
                                            {},
                                            gsub::format_text("no error has the number {}", gsub::quoted{r.number}),
                                            "`gsub errors` lists them"}};
        a.text = gsub::format_text("{}: {} ({}, exit code {})\n\n{}\n\nWhat to do: {}\n", to_string(e->id), e->title,
                                   to_string(e->id.code), static_cast<int>(e->id.code), e->cause, e->remedy);
    }
    gsub::report::table t{{"number", "kind", "what"}};
    a.data["errors"] = gsub::io::json::array();
    for (auto const& e : gsub::error_entries()) {
        if (!r.number.empty() && to_string(e.id) != r.number) continue;
        t.add({to_string(e.id), std::string{to_string(e.id.code)}, std::string{e.title}});
        a.data["errors"].push_back({{"id", to_string(e.id)},
                                    {"code", static_cast<int>(e.id.code)},
                                    {"kind", to_string(e.id.code)},
                                    {"title", e.title},
                                    {"cause", e.cause},
                                    {"remedy", e.remedy}});
    }
    if (r.number.empty()) a.text = r.markdown ? page() : t.text();
    return a;
}

} // namespace cli
