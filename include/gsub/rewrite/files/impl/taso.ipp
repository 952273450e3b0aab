#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/file.hpp>
#include <gsub/io/protobuf.hpp>
#include <gsub/rewrite/files/taso.hpp>

#include <limits>
#include <optional>
#include <span>

namespace gsub {

namespace detail {

// Numbers of the format; the index is the number. The second is the word of gsub for it, empty where there is none.
struct taso_type {
    std::string_view name, word;
};
inline constexpr taso_type taso_types[] = {
    {"input", {}},
    {"weight", {}},
    {"any", {}},
    {"conv2d", "conv"},
    {"dropout", {}},
    {"linear", {}},
    {"pool2d max", {}},
    {"pool2d average", {}},
    {"relu", "relu"},
    {"sigmoid", "sigmoid"},
    {"tanh", "tanh"},
    {"batchnorm", {}},
    {"concat", "concat"},
    {"split", "split"},
    {"reshape", {}},
    {"transpose", {}},
    {"element-wise add", "add"},
    {"element-wise mul", "mul"},
    {"matmul", "mat_mul"},
    {"scalar mul", {}},
    {"enlarge", {}},
    {"merge group convolutions", {}},
    {"constant immediate", {}},
    {"constant identity convolution", {}},
    {"constant one", {}},
    {"constant pool", {}},
};
enum taso_key : std::size_t {
    taso_op_type,
    taso_num_inputs,
    taso_num_outputs,
    taso_group,
    taso_kernel_h,
    taso_kernel_w,
    taso_stride_h,
    taso_stride_w,
    taso_pad,
    taso_activation,
    taso_num_dim,
    taso_axis,
    taso_perm,
    taso_outshuffle,
    taso_merge_count,
    taso_keys
};
inline constexpr std::string_view taso_key_names[] = {"op type",       "number of inputs",     "number of outputs",
                                                      "group",         "kernel height",        "kernel width",
                                                      "stride height", "stride width",         "pad",
                                                      "activation",    "number of dimensions", "axis",
                                                      "perm",          "out-shuffle",          "merge count"};

/// Reads a rule file field by field. Every message has integers and messages in numbered fields alone.
template <class = void>
class taso_reader {
public:
    std::vector<rule_description> run(std::string_view bytes) {
        std::vector<rule_description> rules;
        each_field("the file", bytes, [&](io::wire_reader& r) {
            if (r.field() != 1) unknown_field(r.field());
            if (rules.size() == rule_limits::rules)
                throw error{errors::rule_form, format_text("there are more than {} rules", rule_limits::rules)};
            auto const name = format_text("taso_{}", rules.size());
            in(name, [&] { rules.push_back(read_rule(name, contents(r))); });
            check(rules.back()).value();
        });
        return rules;
    }

private:
    template <class... T>
    [[noreturn]] static void wrong(std::type_identity_t<text_format<T...>> form, T&&... of) {
        throw error{errors::malformed_rule, format_text(form, std::forward<T>(of)...)};
    }
    [[noreturn]] static void unknown_field(std::uint32_t field) { wrong("field {} is not one of the format", field); }
    // Errors thrown by `f` say that they are about this.
    template <class F>
    static void in(std::string const& what, F&& f) {
        try {
            f();
        } catch (error const& e) { throw e.within(what); }
    }
    template <class F>
    static void each_field(std::string const& what, std::string_view bytes, F&& f) {
        if (bytes.empty()) wrong("{} is empty", what);
        io::wire_reader r{bytes};
        while (r.next()) f(r);
    }
    static std::string_view contents(io::wire_reader& r) {
        if (!r.is_bytes()) wrong("field {} is no message", r.field());
        return r.bytes();
    }
    // A message of at most one integer in each of the fields from 1 on. Names are those of the fields.
    template <std::size_t N>
    static std::array<std::int64_t, N> integers(std::string_view bytes, std::array<std::string_view, N> const& names) {
        std::array<std::optional<std::int64_t>, N> found;
        io::wire_reader r{bytes};
        while (r.next()) {
            auto const field = r.field();
            if (field < 1 || field > N) unknown_field(field);
            set(found[field - 1], r, names[field - 1]);
        }
        std::array<std::int64_t, N> out{};
        for (std::size_t i = 0; i < N; ++i) {
            if (!found[i]) wrong("there is no {}", names[i]);
            out[i] = *found[i];
        }
        return out;
    }
    // The format's integers have 32 bits.
    static void set(std::optional<std::int64_t>& to, io::wire_reader& r, std::string_view name) {
        if (!r.is_varint()) wrong("{} is no integer", name);
        if (to) wrong("{} is given twice", name);
        to = r.integer();
        if (*to < std::numeric_limits<std::int32_t>::min() || *to > std::numeric_limits<std::int32_t>::max())
            wrong("{} is {}", name, *to);
    }

    rule_description read_rule(std::string const& name, std::string_view bytes) {
        rule_description rule{name, {}};
        inputs_.clear();
        each_field("the rule", bytes, [&](io::wire_reader& r) {
            auto const field = r.field();
            if (field < 1 || field > 3) unknown_field(field);
            auto& list = field == 1 ? rule.source : rule.target;
            auto const count = field == 3 ? rule.outputs.size() : list.size();
            auto const what = format_text("{}{}",
                                          field == 1   ? "source operator "
                                          : field == 2 ? "target operator "
                                                       : "output ",
                                          count);
            if (count >= rule_limits::operators * (field == 3 ? rule_limits::results : 1))
                throw error{errors::rule_form, format_text("there are more than {} entries of field {}", count, field)};
            in(what, [&] {
                if (field == 3)
                    rule.outputs.push_back(read_output(contents(r)));
                else
                    list.push_back(read_operator(rule, contents(r)));
            });
        });
        return rule;
    }

    static described_output read_output(std::string_view bytes) {
        auto const [source, target, source_port, target_port] =
            integers<4>(bytes, {"source operator", "target operator", "result of the source", "result of the target"});
        return {value_of(source, source_port), value_of(target, target_port)};
    }
    static described_value value_of(std::int64_t node, std::int64_t port) {
        if (node < 0) wrong("operator {} is none", node);
        if (port < 0) wrong("result {} is none", port);
        return {static_cast<std::int32_t>(node), static_cast<std::uint32_t>(port)};
    }

    described_operator read_operator(rule_description& rule, std::string_view bytes) {
        described_operator op;
        std::optional<std::int64_t> type;
        parameters given{};
        each_field("it", bytes, [&](io::wire_reader& r) {
            switch (r.field()) {
            case 1:
                return set(type, r, "type");
            case 2: {
                if (op.operands.size() == rule_limits::operands)
                    throw error{errors::rule_form, format_text("there are more than {} inputs", rule_limits::operands)};
                return in(format_text("input {}", op.operands.size()),
                          [&] { op.operands.push_back(read_operand(rule, contents(r))); });
            }
            case 3: {
                auto const [key, value] = integers<2>(contents(r), {"key of a parameter", "value of a parameter"});
                if (key < 0 || key >= static_cast<std::int64_t>(taso_keys))
                    wrong("parameter {} is not one of the format", key);
                auto& slot = given[static_cast<std::size_t>(key)];
                if (slot) wrong("parameter {} is given twice", taso_key_names[static_cast<std::size_t>(key)]);
                slot = value;
                return;
            }
            default:
                unknown_field(r.field());
            }
        });
        if (!type) wrong("there is no type");
        if (*type < 0 || *type >= static_cast<std::int64_t>(std::size(taso_types)))
            wrong("type {} is not one of the format", *type);
        auto const& known = taso_types[static_cast<std::size_t>(*type)];
        op.word = find_word(known.word);
        if (!op.word) throw error{errors::rule_form, format_text("operators of type {} are not taken", known.name)};
        in(std::string{known.name}, [&] { set_parameters(op, given); });
        return op;
    }

    // An operator of the same list, or an input of the rule by a negative number.
    described_value read_operand(rule_description& rule, std::string_view bytes) {
        auto const [node, port] = integers<2>(bytes, {"operator", "result"});
        if (node >= 0) return value_of(node, port);
        if (port != 0) wrong("an input of the rule has no result {}", port);
        std::size_t i = 0;
        while (i < inputs_.size() && inputs_[i] != node) ++i;
        if (i == inputs_.size()) {
            inputs_.push_back(node);
            rule.inputs.push_back(format_text("x{}", -node));
        }
        return described_value::input(i);
    }

    using parameters = std::array<std::optional<std::int64_t>, taso_keys>;

    static void set_parameters(described_operator& op, parameters given) {
        // Takes a parameter out; those that are left over in the end have no meaning for the operator.
        auto const take = [&](taso_key key) {
            if (!given[key]) wrong("there is no {}", taso_key_names[key]);
            auto const value = *given[key];
            given[key].reset();
            return value;
        };
        auto const take_or = [&](taso_key key, std::int64_t otherwise) { return given[key] ? take(key) : otherwise; };
        auto const operands = static_cast<std::int64_t>(op.operands.size());
        if (auto const n = take_or(taso_num_inputs, operands); n != operands)
            wrong("the number of inputs is {}, and there are {}", n, operands);
        switch (op.word->law) {
        case shape_law::convolution:
            op.kernel = {take(taso_kernel_h), take(taso_kernel_w)};
            op.strides = {take(taso_stride_h), take(taso_stride_w)};
            if (op.kernel[0] < 1 || op.kernel[1] < 1) wrong("the kernel is {} x {}", op.kernel[0], op.kernel[1]);
            switch (auto const pad = take(taso_pad)) {
            case 0:
            case 1:
                op.same_pads = pad == 0;
                break;
            default:
                wrong("pad {} is not one of the format", pad);
            }
            op.act = activation_of(take(taso_activation));
            break;
        case shape_law::product:
            if (activation_of(take_or(taso_activation, 0)) != activation::none)
                throw error{errors::rule_form, "products with an activation are not taken"};
            break;
        case shape_law::joining:
            op.axis = take(taso_axis);
            op.rank = take(taso_num_dim);
            if (op.rank < 1) wrong("the number of dimensions is {}", op.rank);
            break;
        case shape_law::parting: {
            op.axis = take(taso_axis);
            auto const parts = take(taso_num_outputs);
            if (parts < 1) wrong("the number of outputs is {}", parts);
            op.results = static_cast<std::uint32_t>(parts);
            break;
        }
        case shape_law::alike:
            break;
        }
        for (std::size_t key = 0; key < given.size(); ++key)
            if (given[key])
                throw error{errors::rule_form, format_text("parameter {} is not taken", taso_key_names[key])};
    }
    static activation activation_of(std::int64_t number) {
        switch (number) {
        case 0:
            return activation::none;
        case 1:
            return activation::sigmoid;
        case 2:
            return activation::relu;
        case 3:
            return activation::tanh;
        default:
            wrong("activation {} is not one of the format", number);
        }
    }

    std::vector<std::int64_t> inputs_; // the format's numbers of the inputs of the rule at hand
};

} // namespace detail

GSUB_LAZY_BODY result<std::vector<rule_description>> read_taso(std::string_view data) {
    return capture([&] { return detail::taso_reader{}.run(data); });
}

GSUB_LAZY_BODY result<std::vector<rule_description>> load_taso(std::string const& path) {
    auto const data = io::read_file(path, std::uint64_t{16} << 20);
    if (!data) return data.error();
    auto rules = read_taso(*data);
    if (!rules) return rules.error().within(path);
    return rules;
}

} // namespace gsub
