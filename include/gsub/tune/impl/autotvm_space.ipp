#pragma once

#include <gsub/core/format.hpp>
#include <gsub/kernels/knobs.hpp>
#include <gsub/tune/autotvm_space.hpp>

#include <algorithm>

namespace gsub::tune {

namespace detail {

using loop::split_policy;

GSUB_LAZY [[nodiscard]] json_value json_list(std::span<std::int64_t const> numbers) {
    std::vector<json_value> out;
    for (auto const n : numbers) out.push_back(json_number::integer(n));
    return out;
}
GSUB_LAZY [[nodiscard]] json_value json_list(std::initializer_list<std::int64_t> numbers) {
    return json_list(std::span{numbers.begin(), numbers.size()});
}
// A tensor among the arguments of a task.
GSUB_LAZY [[nodiscard]] json_value tensor_argument(std::initializer_list<std::int64_t> dims) {
    return std::vector<json_value>{"TENSOR", json_list(dims), "float32"};
}

// The greatest value of a knob of numbers that is no more than wanted; the least where all are more.
GSUB_LAZY [[nodiscard]] std::int64_t at_most(loop::config_space const& space, std::string_view name,
                                             std::int64_t wanted) {
    auto const& values = space.knobs()[space.position(name)].choices;
    auto best = values.front().number();
    for (auto const& v : values)
        if (v.number() <= wanted) best = std::max(best, v.number());
    return best;
}

} // namespace detail

GSUB_LAZY_BODY std::string_view to_string(autotvm_template t) noexcept {
    constexpr std::string_view names[] = {"conv2d_NCHWc.x86", "depthwise_conv2d_NCHWc.x86", "dense_nopack.x86",
                                          "dense_pack.x86", "batch_matmul.x86"};
    return names[static_cast<std::size_t>(t)];
}

GSUB_LAZY_BODY autotvm_space autotvm_space::of_conv2d(kernels::conv2d_shape const& s, isa const& isa) {
    auto const depthwise = s.groups > 1;
    autotvm_space out;
    out.what_ = depthwise ? autotvm_template::depthwise : autotvm_template::conv2d;
    out.lanes_ = isa.lanes(), out.columns_ = s.out(1);
    out.one_tap_ = !depthwise && s.kernel[0] == 1 && s.kernel[1] == 1;
    // As conv2d's template has it: nothing lies between the rows that are read.
    out.joined_ = out.one_tap_ && s.input != kernels::image_layout::planar && s.stride[0] == 1 && s.stride[1] == 1 &&
                  s.pads == std::array<std::int64_t, 4>{};
    loop::config_space space;
    space.split("tile_ic", s.in_channels);
    space.split("tile_oc", s.out_channels);
    space.split("tile_ow", s.out(1),
                {.policy = depthwise ? loop::split_policy::factors : loop::split_policy::verbose, .max_last = 64});
    if (!out.one_tap_)
        space.choice("unroll_kw", {true, false});
    else if (s.out(0) > 1)
        space.choice("tile_oh", {1, 2});
    else
        space.choice("tile_oh", {1});
    out.space_ = std::make_shared<loop::config_space const>(std::move(space));
    out.task_ = {std::string{to_string(out.what_)},
                 {detail::tensor_argument({s.batch, s.in_channels, s.in[0], s.in[1]}),
                  detail::tensor_argument({s.out_channels, s.in_channels / s.groups, s.kernel[0], s.kernel[1]}),
                  detail::json_list(s.stride), detail::json_list(s.pads), detail::json_list(s.dilation), "NCHW", "NCHW",
                  "float32"}};
    return out;
}

GSUB_LAZY_BODY autotvm_space autotvm_space::of_matmul(kernels::matmul_shape const& s, autotvm_template what,
                                                      isa const& isa) {
    auto const packed = what == autotvm_template::dense_pack;
    autotvm_space out;
    out.what_ = what, out.lanes_ = isa.lanes();
    loop::config_space space;
    loop::split_options const tiles{.parts = packed ? std::size_t{3} : std::size_t{2}};
    space.split("tile_y", s.m, tiles);
    space.split("tile_x", s.n, tiles);
    space.split("tile_k", s.k);
    if (packed) space.split("tile_inner", s.m, {.max_last = 16});
    out.space_ = std::make_shared<loop::config_space const>(std::move(space));
    out.task_.task = to_string(what);
    auto& args = out.task_.args;
    if (what == autotvm_template::batch_matmul) {
        auto const b = s.batches();
        args = {detail::tensor_argument({b, s.m, s.k}), detail::tensor_argument({b, s.n, s.k}),
                detail::json_list({b, s.m, s.n}), "float32"};
        for (auto const transposed : {0, 1}) args.push_back(json_number::integer(transposed)); // of each operand
    } else {
        args = {detail::tensor_argument({s.m, s.k}), detail::tensor_argument({s.n, s.k}), json_value{}, "float32"};
    }
    return out;
}

GSUB_LAZY_BODY std::vector<autotvm_space> autotvm_space::of(kernels::descriptor const& d, isa const& isa) {
    std::vector<autotvm_space> out;
    if (auto const* const c = std::get_if<kernels::conv2d_shape>(&d)) {
        auto const depthwise = c->groups == c->in_channels && c->groups == c->out_channels;
        if ((c->groups == 1 || depthwise) && !c->depth.exists()) out.push_back(of_conv2d(*c, isa));
    } else if (auto const* const m = std::get_if<kernels::matmul_shape>(&d)) {
        if (m->a.element != dtype::f32 || m->b.element != dtype::f32 || m->y.element != dtype::f32) return out;
        if (!m->constant) {
            out.push_back(of_matmul(*m, autotvm_template::batch_matmul, isa));
        } else if (m->batches() == 1) {
            out.push_back(of_matmul(*m, autotvm_template::dense_nopack, isa));
            out.push_back(of_matmul(*m, autotvm_template::dense_pack, isa));
        }
    }
    return out;
}

GSUB_LAZY_BODY std::optional<kernels::conv2d_config> autotvm_space::conv2d_of(loop::configuration const& point,
                                                                              loop::config_space const& space) const {
    auto const in = point.last("tile_ic"), block = point.last("tile_oc"), row = point.last("tile_ow");
    auto const rows = one_tap_ ? point.choice("tile_oh").number() : 1;
    auto const depthwise = what_ == autotvm_template::depthwise;
    if (block % lanes_ != 0 || (!one_tap_ && point.choice("unroll_kw").number() == 0)) return std::nullopt;
    if (depthwise && (block != lanes_ || in != lanes_)) return std::nullopt;
    auto c = kernels::conv2d_knobs(space.at(0)); // knobs of one value have it
    if (!depthwise) {
        auto const& steps = space.knobs()[space.position("unroll_ic")];
        if (steps.size() == 1 && in != c.unroll_ic) return std::nullopt; // so many channels a turn
        if (steps.size() > 1) c.unroll_ic = static_cast<std::int32_t>(in);
    }
    // A tile of several joined rows has them whole.
    if (joined_ && rows > 1 && row != columns_) return std::nullopt;
    c.tile_ow = static_cast<std::int32_t>(joined_ ? rows * row : row);
    c.tile_oh = static_cast<std::int32_t>(joined_ ? 1 : rows);
    c.tile_oc = static_cast<std::int32_t>(block / lanes_);
    c.chunk = static_cast<std::int32_t>(
        detail::at_most(space, "chunk", joined_ ? (columns_ + row - 1) / row : std::int64_t{1})); // a row
    c.unroll_kh = false, c.oc_inner = false, c.tile_ic = 0;
    return c;
}

GSUB_LAZY_BODY std::optional<kernels::matmul_config> autotvm_space::matmul_of(loop::configuration const& point,
                                                                              loop::config_space const&) const {
    auto const columns = point.last("tile_x");
    if (columns % lanes_ != 0) return std::nullopt;
    if (what_ == autotvm_template::dense_pack &&
        (point.factors("tile_y")[1] != 1 || point.factors("tile_x")[1] != 1 || point.last("tile_inner") != 1))
        return std::nullopt;
    return kernels::matmul_config{static_cast<std::int32_t>(point.last("tile_y")),
                                  static_cast<std::int32_t>(columns / lanes_),
                                  static_cast<std::int32_t>(point.last("tile_k")), 0};
}

GSUB_LAZY_BODY std::optional<loop::configuration> autotvm_space::ours(loop::configuration const& point,
                                                                      loop::config_space const& space) const {
    auto const made = [&](auto const& c) -> std::optional<loop::configuration> {
        if (!c) return std::nullopt;
        auto at = space.at(0);
        // A value that a knob does not have is no fault here.
        if (!capture([&] { kernels::set_knobs(at, *c); }) || !space.allows(at)) return std::nullopt;
        return at;
    };
    return is_matmul() ? made(matmul_of(point, space)) : made(conv2d_of(point, space));
}

GSUB_LAZY_BODY void autotvm_space::set_conv2d(loop::configuration& point, kernels::conv2d_config const& c) const {
    auto const depthwise = what_ == autotvm_template::depthwise;
    auto const pairs = joined_ && c.tile_ow == 2 * columns_; // of rows
    point.set("tile_ic", {-1, depthwise ? lanes_ : c.unroll_ic});
    point.set("tile_oc", {-1, c.tile_oc * lanes_});
    point.set("tile_ow", {-1, pairs ? columns_ : c.tile_ow});
    if (one_tap_)
        point.set("tile_oh", loop::choice_value{pairs ? 2 : c.tile_oh});
    else
        point.set("unroll_kw", loop::choice_value{true});
}

GSUB_LAZY_BODY void autotvm_space::set_matmul(loop::configuration& point, kernels::matmul_config const& c) const {
    if (what_ == autotvm_template::dense_pack) {
        point.set("tile_y", {-1, 1, c.tile_m});
        point.set("tile_x", {-1, 1, c.tile_n * lanes_});
        point.set("tile_inner", {-1, 1});
    } else {
        point.set("tile_y", {-1, c.tile_m});
        point.set("tile_x", {-1, c.tile_n * lanes_});
    }
    point.set("tile_k", {-1, c.unroll_k});
}

GSUB_LAZY_BODY std::optional<loop::configuration> autotvm_space::theirs(loop::configuration const& ours) const {
    auto point = space_->at(0);
    auto const set = [&] {
        if (is_matmul())
            set_matmul(point, kernels::matmul_knobs(ours));
        else
            set_conv2d(point, kernels::conv2d_knobs(ours));
    };
    if (!capture(set)) return std::nullopt;
    auto const back = this->ours(point, ours.space());
    return back && *back == ours ? std::optional{point} : std::nullopt;
}

// The point without what our templates do not have: rolled taps, images blocked by other than vectors, two levels.
GSUB_LAZY_BODY loop::configuration autotvm_space::simplified(loop::configuration point) const {
    if (what_ == autotvm_template::dense_pack) {
        point.set("tile_y", {-1, 1, point.last("tile_y")});
        point.set("tile_x", {-1, 1, point.last("tile_x")});
        point.set("tile_inner", {-1, 1});
    } else if (!is_matmul() && !one_tap_) {
        point.set("unroll_kw", loop::choice_value{true});
    }
    return point;
}

GSUB_LAZY_BODY std::optional<loop::configuration> autotvm_space::nearest(loop::configuration const& point,
                                                                         loop::config_space const& space) const {
    if (auto found = ours(point, space)) return found;
    auto near = simplified(point);
    if (what_ == autotvm_template::depthwise)
        return capture([&] { near.set("tile_ic", {-1, lanes_}); }) ? ours(near, space) : std::nullopt;
    auto const* const steps = is_matmul() ? "tile_k" : "tile_ic";
    auto const& all = space_->knobs()[space_->position(steps)];
    for (auto i = all.size(); i-- > 0;) { // from great to small
        if (all.split(i).back() > point.last(steps)) continue;
        near.set(steps, all.split(i));
        if (auto found = ours(near, space)) return found;
    }
    return std::nullopt;
}

GSUB_LAZY_BODY result<loop::configuration> autotvm_space::recorded(record const& r,
                                                                   loop::config_space const& space) const {
    if (task_key(r.task, r.args) != task_key(task_.task, task_.args))
        return error{errors::malformed_record,
                     format_text("the record measures {}, not {}", quoted{task_key(r.task, r.args)},
                                 quoted{task_key(task_.task, task_.args)})};
    auto const numbered = what_ == autotvm_template::conv2d ? index_check::ignored : index_check::required;
    auto const point = configuration_of(r, *space_, numbered);
    if (!point) return point.error();
    if (auto found = nearest(*point, space)) return std::move(*found);
    return error{errors::record_form,
                 format_text("{}: no kernel of ours has the tiles {}", task_.task, loop::to_string(*point))};
}

GSUB_LAZY_BODY std::optional<loop::configuration> recorded_by_autotvm(database const& records, std::string_view target,
                                                                      kernels::descriptor const& d, isa const& isa,
                                                                      loop::config_space const& space) {
    auto const key = target_key(target);
    std::optional<loop::configuration> best;
    double least = failed_cost;
    for (auto const& s : autotvm_space::of(d, isa))
        for (auto const* r : records.candidates(s.task().task, s.task().args)) {
            if (target_key(r->target) != key) continue;
            auto found = s.recorded(*r, space);
            if (!found || r->mean_cost() >= least) continue;
            best.emplace(std::move(*found)), least = r->mean_cost();
        }
    return best;
}

} // namespace gsub::tune
