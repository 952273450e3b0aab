// Access boxes: what an access touches while some of its loops run, as boxes of elements or of cache lines.
#pragma once

#include <gsub/machine/data_movement.hpp>
#include <gsub/machine/strided_box.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace gsub::machine::detail {

// Variables of loops that run, with their extents; all others stand in the middle.
struct running_loops {
    std::vector<char> runs;
    std::vector<std::int64_t> extents, middles; // by variable; middles: of loops that stand
};

// An affine index with the terms of running loops apart.
struct split_index {
    std::int64_t at = 0;
    bool aligned_base = true; // loops that stand move it by whole lines
    small_vector<ranged_term, 8> terms;
};

template <class = void>
class access_boxes {
public:
    access_boxes(access_tree const& tree, std::int32_t line_bytes) : tree_(tree), line_(line_bytes) {}

    // Box of elements: one progression a dimension, entries first. `whole`: also what lies outside of the tensor.
    [[nodiscard]] strided_box elements_of(tree_access const& a, running_loops const& loops, bool whole = false) const {
        auto const& t = tensor_of(a);
        strided_box box;
        auto trips = entries_of(a, loops, box);
        for (std::size_t d = 0; d < a.index.size(); ++d) {
            auto const i = split(a.index[d], loops, 0);
            auto p = image_of(i.at, {i.terms.data(), i.terms.size()});
            if (d + 1 == a.index.size()) p.high += a.spread * p.stride;
            box.dims.push_back(whole ? p : within(p, t.dims[d]));
        }
        return finish(box, a, loops, trips);
    }

    // Trailing dimensions whose rows share lines or follow each other without a gap.
    [[nodiscard]] std::size_t contiguous_dims(tree_access const& a, running_loops const& loops) const {
        auto const& t = tensor_of(a);
        auto const rank = a.index.size();
        if (rank == 0) return 0;
        std::size_t count = 1;
        auto whole = covers(a.index[rank - 1], loops, t.dims[rank - 1]) && t.pitches[rank - 1] == 1;
        for (auto d = rank - 1; d-- > 0; ++count) {
            if (t.pitches[d] * t.element_bytes <= line_) continue;
            if (!whole || t.pitches[d] != t.pitches[d + 1] * t.dims[d + 1]) break;
            whole = covers(a.index[d], loops, t.dims[d]);
        }
        return count;
    }

    // Box of lines: the last `joined` dimensions are one, of lines.
    [[nodiscard]] strided_box lines_of(tree_access const& a, running_loops const& loops, std::size_t joined) const {
        auto const& t = tensor_of(a);
        strided_box box;
        auto const trips = entries_of(a, loops, box);
        auto const outer = a.index.size() - joined;
        auto aligned = true;
        for (std::size_t d = 0; d < outer; ++d) {
            auto const i = split(a.index[d], loops, 0);
            box.dims.push_back(within(image_of(i.at, {i.terms.data(), i.terms.size()}), t.dims[d]));
            aligned = aligned && t.pitches[d] * t.element_bytes % line_ == 0;
        }
        if (joined > 0) box.dims.push_back(line_progression(a, loops, outer, aligned));
        return finish(box, a, loops, trips);
    }

    // Whether lines that an access touches are written as a whole.
    [[nodiscard]] bool whole_lines(tree_access const& a, running_loops const& loops) const {
        auto const& t = tensor_of(a);
        if (a.index.empty()) return false;
        auto const last = a.index.size() - 1;
        auto const i = split(a.index[last], loops, 0);
        auto const p = image_of(i.at, {i.terms.data(), i.terms.size()});
        auto const dense = t.pitches[last] == 1 && p.stride == 1 && p.density() >= 1;
        return dense && (p.places() * t.element_bytes >= line_ || contiguous_dims(a, loops) > 1);
    }

private:
    [[nodiscard]] tree_tensor const& tensor_of(tree_access const& a) const {
        return tree_.tensors()[static_cast<std::size_t>(a.of)];
    }

    // `unit`: elements to which a step of a standing loop is aligned; 0: not asked.
    [[nodiscard]] split_index split(loop::affine const& index, running_loops const& loops, std::int64_t unit,
                                    std::int64_t scale = 1) const {
        split_index out;
        out.at = index.constant() * scale;
        for (auto const& term : index.terms()) {
            auto const v = static_cast<std::size_t>(term.of);
            auto const factor = term.factor * scale;
            if (loops.runs[v])
                out.terms.push_back({factor, loops.extents[v]});
            else {
                out.at += factor * loops.middles[v];
                if (unit > 0 && factor % unit != 0) out.aligned_base = false;
            }
        }
        return out;
    }

    // What lies in a tensor; where nothing does, its nearest element.
    static progression within(progression const& p, std::int64_t extent) {
        if (auto const inside = clipped(p, 0, extent - 1)) return *inside;
        auto const at = std::clamp<std::int64_t>(p.low, 0, std::max<std::int64_t>(extent - 1, 0));
        return {at, at, 1, 1};
    }

    [[nodiscard]] bool covers(loop::affine const& index, running_loops const& loops, std::int64_t extent) const {
        auto const i = split(index, loops, 0);
        auto const p = image_of(i.at, {i.terms.data(), i.terms.size()});
        return p.low <= 0 && p.high >= extent - 1 && p.stride == 1 && p.density() >= 1;
    }

    // Adds the dimension of entries that a program chooses: as many as trips, at most all. *Returns* the trips.
    double entries_of(tree_access const& a, running_loops const& loops, strided_box& box) const {
        double trips = 1;
        for (std::size_t v = 0; v < loops.runs.size(); ++v)
            if (loops.runs[v]) trips *= static_cast<double>(loops.extents[v]);
        if (a.entries > 1) box.dims.push_back({0, a.entries - 1, 1, std::min(trips, static_cast<double>(a.entries))});
        return trips;
    }

    // No more positions are touched than the variables of the index have; a chosen entry differs in every trip.
    static strided_box finish(strided_box box, tree_access const& a, running_loops const& loops, double trips) {
        double positions = 1;
        std::vector<char> seen(loops.runs.size(), 0);
        for (auto const& index : a.index)
            for (auto const& term : index.terms()) {
                auto const v = static_cast<std::size_t>(term.of);
                if (loops.runs[v] && !std::exchange(seen[v], 1)) positions *= static_cast<double>(loops.extents[v]);
            }
        if (a.entries > 1) positions = trips;
        positions *= static_cast<double>(a.spread + 1);
        box.elements = 1;
        for (auto const& p : box.dims) box.elements *= p.count;
        box.elements = std::max(1.0, std::min(box.elements, positions));
        return box;
    }

    // Elements that stand closer than a line touch all lines between them; further steps are steps of lines. Where a
    // run begins anywhere in a line, w bytes of elements of b bytes touch (w - b) / line + 1 lines on average.
    [[nodiscard]] progression line_progression(tree_access const& a, running_loops const& loops, std::size_t outer,
                                               bool aligned) const {
        auto const& t = tensor_of(a);
        auto const b = static_cast<std::int64_t>(t.element_bytes), line = static_cast<std::int64_t>(line_);
        std::int64_t at = 0, run = 0, beyond = 0, elements = 1;
        small_vector<ranged_term, 8> steps;
        for (auto d = outer; d < a.index.size(); ++d) {
            auto const i = split(a.index[d], loops, std::max<std::int64_t>(line / b, 1), t.pitches[d]);
            aligned = aligned && i.aligned_base;
            at += i.at, elements += (t.dims[d] - 1) * t.pitches[d];
            for (auto const& term : i.terms) {
                auto const bytes = (term.factor < 0 ? -term.factor : term.factor) * b;
                if (term.factor < 0) at += term.factor * (term.extent - 1);
                if (bytes < line)
                    run += bytes / b * (term.extent - 1);
                else if (bytes % line == 0)
                    steps.push_back({bytes / line, term.extent});
                else
                    aligned = false, steps.push_back({(bytes + line / 2) / line, term.extent});
                beyond += bytes / b * (term.extent - 1);
            }
        }
        run += a.spread, beyond += a.spread;
        auto const first = std::clamp<std::int64_t>(at, 0, elements - 1) * b / line;
        auto const last_element = std::min(at + run, elements - 1);
        auto touched = aligned ? static_cast<double>(std::max(last_element * b / line - first, std::int64_t{0}) + 1)
                               : static_cast<double>(run * b) / static_cast<double>(line) + 1;
        auto const whole = std::ceil(touched);
        steps.push_back({1, static_cast<std::int64_t>(whole)});
        auto p = image_of(first, {steps.data(), steps.size()});
        p.count *= touched / whole;
        return within(p, (elements * b + line - 1) / line);
    }

    access_tree const& tree_;
    std::int32_t line_;
};

} // namespace gsub::machine::detail
