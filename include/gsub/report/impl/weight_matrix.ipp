#pragma once

#include <gsub/core/format.hpp>
#include <gsub/report/weight_matrix.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gsub::report {

namespace detail {

constexpr std::string_view matrix_indent = "    ";

// Numbers of the rows or columns that are printed; nothing stands for those between.
GSUB_INLINE std::vector<std::optional<std::size_t>> picked(std::size_t count, std::size_t most) {
    std::vector<std::optional<std::size_t>> out;
    auto const edge = std::max<std::size_t>(1, most / 2);
    for (std::size_t i = 0; i < count; ++i)
        if (count <= most || i < edge || i + edge >= count)
            out.emplace_back(i);
        else if (out.back())
            out.emplace_back();
    return out;
}

/// A matrix of blocks of numbers: `rows` x `columns` blocks, each of `height` x `width` numbers, row-major.
struct block_matrix {
    std::span<double const> elements;
    std::size_t rows = 1, columns = 1, height = 1, width = 1;

    [[nodiscard]] std::span<double const> block(std::size_t row, std::size_t column) const {
        auto const size = height * width;
        return elements.subspan((row * columns + column) * size, size);
    }
};

GSUB_INLINE block_matrix blocks_of(tensor const& numbers) {
    auto const size = [&](std::size_t d) { return static_cast<std::size_t>(numbers.dims()[d]); };
    block_matrix out{numbers.data<double>()};
    auto const rank = numbers.rank();
    if (rank == 1) out.width = size(0);
    if (rank == 2) out.height = size(0), out.width = size(1);
    if (rank < 3) return out;
    out.rows = size(0), out.columns = size(1), out.width = size(rank - 1);
    for (std::size_t d = 2; d + 1 < rank; ++d) out.height *= size(d);
    return out;
}

// Lines of cells; nothing between some stands for `...`. All numbers are as wide as the longest.
GSUB_INLINE std::string print_blocks(block_matrix const& m, std::size_t most_blocks, std::size_t most_numbers) {
    auto const rows = picked(m.rows, most_blocks), columns = picked(m.columns, most_blocks);
    auto const lines = picked(m.height, most_numbers), cells = picked(m.width, most_numbers);
    auto const number = [&](std::size_t row, std::size_t column, std::size_t line, std::size_t cell) {
        return format_text("{:.3g}", m.block(row, column)[line * m.width + cell]);
    };
    std::size_t widest = 1;
    auto const each = [](auto const& list, auto&& f) {
        for (auto const& i : list)
            if (i) f(*i);
    };
    each(rows, [&](auto r) {
        each(columns, [&](auto c) {
            each(lines,
                 [&](auto l) { each(cells, [&](auto k) { widest = std::max(widest, number(r, c, l, k).size()); }); });
        });
    });
    auto const line_of = [&](std::size_t row, std::size_t line) {
        std::string out;
        for (auto const& column : columns) {
            if (!out.empty()) out += " | ";
            if (!column) out += "...";
            for (std::size_t i = 0; column && i < cells.size(); ++i)
                out += format_text("{}{:>{}}", i ? " " : "",
                                   cells[i] ? number(row, *column, line, *cells[i]) : std::string{"..."},
                                   cells[i] ? widest : 3);
        }
        return out;
    };
    std::string out;
    for (auto const& row : rows) {
        if (!row) {
            out += format_text("{}...\n", matrix_indent);
            continue;
        }
        if (row != rows.front() && lines.size() > 1) out += '\n';
        for (auto const& line : lines)
            out += format_text("{}{}\n", matrix_indent, line ? line_of(*row, *line) : std::string{"..."});
    }
    return out;
}

} // namespace detail

GSUB_INLINE std::string weight_matrix(tensor const& weight, matrix_limits const& limits) {
    if (weight.elements() == 0) return {};
    auto const numbers = weight.converted_to(dtype::f64);
    return detail::print_blocks(detail::blocks_of(numbers), limits.kernels,
                                weight.rank() < 3 ? limits.elements : limits.taps);
}

GSUB_INLINE kernel_counts count_kernels(tensor const& weight) {
    kernel_counts out;
    if (weight.rank() < 3 || weight.elements() == 0) return out;
    auto const numbers = weight.converted_to(dtype::f64);
    auto const m = detail::blocks_of(numbers);
    auto const odd = std::all_of(weight.dims().begin() + 2, weight.dims().end(), [](auto d) { return d % 2 == 1; });
    for (std::size_t r = 0; r < m.rows; ++r)
        for (std::size_t c = 0; c < m.columns; ++c) {
            auto const kernel = m.block(r, c);
            auto const others = std::count_if(kernel.begin(), kernel.end(), [](double x) { return x != 0; });
            ++out.all;
            out.zero += others == 0;
            out.identity += odd && others == 1 && kernel[kernel.size() / 2] == 1; // odd sizes have their middle there
        }
    return out;
}

GSUB_INLINE std::string to_text(rewrite_weights const& weights, matrix_limits const& limits) {
    std::string out;
    for (auto const& [what, list] : {std::pair{"read ", &weights.read}, std::pair{"built", &weights.built}})
        for (auto const& w : *list) {
            out += format_text("  {}  {} {} of {}, operand {}: {}", what, to_string(w.elements.type()), w.formula, w.op,
                               w.operand, quoted{w.reader});
            auto const kernels = count_kernels(w.elements);
            if (kernels.zero + kernels.identity > 0)
                out += format_text("; of {} kernels {} are zero and {} identities", kernels.all, kernels.zero,
                                   kernels.identity);
            out += format_text("\n{}", weight_matrix(w.elements, limits));
        }
    return out;
}

} // namespace gsub::report
