// Plain tables, aligned for a terminal or as Markdown.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace gsub::report {

/// A text table: rows of texts under a header. Columns whose entries are all numbers are aligned to the right.
class table {
public:
    explicit table(std::vector<std::string> header) : header_(std::move(header)) {}
    /// Appends a row; missing entries are empty.
    void add(std::vector<std::string> row) {
        row.resize(header_.size());
        rows_.push_back(std::move(row));
    }
    [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
    /// Aligned text, with two spaces between columns.
    [[nodiscard]] std::string text() const;
    /// A Markdown table; `|` and backslashes in entries are escaped.
    [[nodiscard]] std::string markdown() const;

private:
    std::vector<std::string> header_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace gsub::report

#ifndef GSUB_COMPILED
#include <gsub/report/impl/table.ipp>
#endif
