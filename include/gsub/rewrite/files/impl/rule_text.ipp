#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/file.hpp>
#include <gsub/rewrite/files/rule_text.hpp>

#include <charconv>
#include <utility>

namespace gsub {

namespace detail {

inline constexpr std::string_view rule_activation_names[] = {"none", "relu", "sigmoid", "tanh"};
inline constexpr activation rule_activations[] = {activation::none, activation::relu, activation::sigmoid,
                                                  activation::tanh};

/// Reads rules line by line.
template <class = void>
class rule_parser {
public:
    std::vector<rule_description> run(std::string_view text) {
        for (std::size_t line = 1; !text.empty(); ++line) {
            auto const end = std::min(text.find('\n'), text.size());
            line_ = text.substr(0, end);
            text.remove_prefix(std::min(end + 1, text.size()));
            line_ = line_.substr(0, std::min(line_.find('#'), line_.size()));
            try {
                skip_blanks();
                if (!line_.empty()) read_line();
            } catch (error const& e) {
                auto const here = e.within(format_text("line {}", line));
                throw rules_.empty() ? here : here.within(rules_.back().name);
            }
        }
        for (auto const& rule : rules_) check(rule).value();
        return std::move(rules_);
    }

private:
    using names = std::vector<std::pair<std::string_view, described_value>>;

    template <class... T>
    [[noreturn]] static void wrong(std::type_identity_t<text_format<T...>> form, T&&... of) {
        throw error{errors::malformed_rule, format_text(form, std::forward<T>(of)...)};
    }

    // ---- words of a line
    void skip_blanks() {
        while (!line_.empty() && (line_.front() == ' ' || line_.front() == '\t' || line_.front() == '\r'))
            line_.remove_prefix(1);
    }
    bool take(std::string_view what) {
        if (!line_.starts_with(what)) return false;
        line_.remove_prefix(what.size());
        skip_blanks();
        return true;
    }
    void expect(std::string_view what) {
        if (!take(what))
            wrong("expected {}{}{}", in_quotes(what), line_.empty() ? " before the end of the line" : " and not ",
                  line_.empty() ? "" : in_quotes(line_.substr(0, 20)));
    }
    static bool in_name(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    }
    std::string_view name() {
        std::size_t n = 0;
        while (n < line_.size() && in_name(line_[n])) ++n;
        if (n == 0 || n > 64)
            wrong("{}{}{}", n == 0 ? "expected a name" : "a name has more than 64 letters",
                  line_.empty() ? " before the end of the line" : "",
                  n == 0 && !line_.empty() ? format_text(" and not {}", quoted{line_.substr(0, 20)}) : "");
        auto const out = line_.substr(0, n);
        line_.remove_prefix(n);
        skip_blanks();
        return out;
    }
    std::int64_t number() {
        std::int32_t out = 0;
        auto const [end, failure] = std::from_chars(line_.data(), line_.data() + line_.size(), out);
        if (failure != std::errc{}) wrong("expected a number and not {}", in_quotes(line_.substr(0, 20)));
        line_.remove_prefix(static_cast<std::size_t>(end - line_.data()));
        skip_blanks();
        return out;
    }
    std::array<std::int64_t, 2> two_numbers() {
        auto const first = number();
        expect("x");
        return {first, number()};
    }

    // ---- lines
    void read_line() {
        if (take("=>")) {
            if (rules_.empty() || in_target_) wrong("=> stands behind the source of a rule, once");
            in_target_ = true;
        } else {
            auto const first = name();
            if (first == "rule" && !line_.empty() && in_name(line_.front())) {
                if (rules_.size() == rule_limits::rules)
                    throw error{errors::rule_form, format_text("there are more than {} rules", rule_limits::rules)};
                rules_.push_back({std::string{name()}, {}});
                sources_.clear(), targets_.clear(), inputs_.clear();
                in_target_ = false;
                for (std::size_t i = 0; i + 1 < rules_.size(); ++i)
                    if (rules_[i].name == rules_.back().name) wrong("there is a rule of this name already");
            } else if (rules_.empty()) {
                wrong("expected {} with a name first", in_quotes("rule"));
            } else if (first == "replace" && !line_.empty() && in_name(line_.front())) {
                read_replacement();
            } else {
                read_operator(first);
            }
        }
        if (!line_.empty()) wrong("{} is left over at the end of the line", in_quotes(line_.substr(0, 20)));
    }

    void read_replacement() {
        if (!in_target_) wrong("what is replaced stands behind =>");
        auto& rule = rules_.back();
        auto const from = find(sources_, name());
        if (!from) wrong("what is replaced is no result of the source");
        expect("by");
        auto const by = name();
        auto const to = find(targets_, by);
        if (rule.outputs.size() == rule_limits::operators * rule_limits::results)
            throw error{errors::rule_form, "there are too many results to replace"};
        rule.outputs.push_back({*from, to ? *to : input(by)});
    }

    // `a, b = split(x, axis=1)`, of which the first name was read
    void read_operator(std::string_view first) {
        auto& rule = rules_.back();
        auto& list = in_target_ ? rule.target : rule.source;
        auto& defined = in_target_ ? targets_ : sources_;
        if (list.size() == rule_limits::operators)
            throw error{errors::rule_form, format_text("there are more than {} operators", rule_limits::operators)};
        std::vector<std::string_view> results{first};
        while (take(",")) {
            if (results.size() == rule_limits::results)
                throw error{errors::rule_form, format_text("there are more than {} results", rule_limits::results)};
            results.push_back(name());
        }
        expect("=");
        described_operator op;
        auto const word = name();
        op.word = find_word(word);
        if (!op.word) wrong("there is no operator {}", in_quotes(word));
        if (op.word->law != shape_law::parting && results.size() > 1) wrong("{} has one result", word);
        op.results = static_cast<std::uint32_t>(results.size());
        expect("(");
        auto axis_given = false;
        if (!take(")")) {
            do {
                auto const operand = name();
                if (take("=")) {
                    read_parameter(op, operand);
                    axis_given |= operand == "axis";
                    continue;
                }
                if (op.operands.size() == rule_limits::operands)
                    throw error{errors::rule_form,
                                format_text("there are more than {} operands", rule_limits::operands)};
                auto const known = find(defined, operand);
                op.operands.push_back(known ? *known : input(operand));
            } while (take(","));
            expect(")");
        }
        if ((op.word->law == shape_law::joining || op.word->law == shape_law::parting) && !axis_given)
            wrong("{} needs an axis", word);
        for (std::uint32_t port = 0; port < results.size(); ++port) {
            if (find(sources_, results[port]) || find(targets_, results[port]) || is_input(results[port]))
                wrong("{} has a meaning already", in_quotes(results[port]));
            defined.emplace_back(results[port], described_value{static_cast<std::int32_t>(list.size()), port});
        }
        list.push_back(std::move(op));
    }

    void read_parameter(described_operator& op, std::string_view key) {
        auto const law = op.word->law;
        auto const convolution = law == shape_law::convolution;
        if (convolution && key == "kernel") {
            op.kernel = two_numbers();
            if (op.kernel[0] < 1 || op.kernel[1] < 1) wrong("a kernel has a size of at least 1");
        } else if (convolution && key == "strides") {
            op.strides = two_numbers();
        } else if (convolution && key == "pads") {
            op.same_pads = take("same");
            if (!op.same_pads) expect("none");
        } else if (convolution && key == "act") {
            auto const act = name();
            std::size_t i = 0;
            while (i < std::size(rule_activations) && rule_activation_names[i] != act) ++i;
            if (i == std::size(rule_activations)) wrong("there is no activation {}", in_quotes(act));
            op.act = rule_activations[i];
        } else if ((law == shape_law::joining || law == shape_law::parting) && key == "axis") {
            op.axis = number();
        } else if ((law == shape_law::joining || law == shape_law::parting) && key == "rank") {
            op.rank = number();
            if (op.rank < 1) wrong("a rank is at least 1");
        } else {
            wrong("{} has no parameter {}", op.word->name, in_quotes(key));
        }
    }

    // ---- names
    static described_value const* find(names const& in, std::string_view name) {
        for (auto const& [known, value] : in)
            if (known == name) return &value;
        return nullptr;
    }
    bool is_input(std::string_view name) const {
        for (auto const i : inputs_)
            if (i == name) return true;
        return false;
    }
    // The source makes inputs of the names that it does not know; the target has those alone.
    described_value input(std::string_view name) {
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            if (inputs_[i] == name) return described_value::input(i);
        if (in_target_)
            wrong("{}{}", in_quotes(name),
                  find(sources_, name) ? " is made by the source, and the target replaces it"
                                       : " is no input of the source");
        inputs_.push_back(name);
        rules_.back().inputs.emplace_back(name);
        return described_value::input(inputs_.size() - 1);
    }

    std::vector<rule_description> rules_;
    std::string_view line_;
    names sources_, targets_; // of the rule at hand
    std::vector<std::string_view> inputs_;
    bool in_target_ = false;
};

/// Writes a rule; results are named by the side and number of their operator.
template <class = void>
class rule_writer {
public:
    explicit rule_writer(rule_description const& rule) : rule_(rule) {
        // Results have names that inputs do not have.
        std::string prefix;
        auto const taken = [&] {
            for (auto const& i : rule.inputs)
                if (i.starts_with(prefix + "s") || i.starts_with(prefix + "t")) return true;
            return false;
        };
        while (taken()) prefix += '_';
        source_ = prefix + "s", target_ = prefix + "t";
    }

    std::string run() {
        out_ = format_text("rule {}\n", rule_.name);
        write(rule_.source, source_);
        out_ += "=>\n";
        write(rule_.target, target_);
        for (auto const& o : rule_.outputs)
            out_ += format_text("  replace {} by {}\n", name(rule_.source, o.source, source_),
                                name(rule_.target, o.target, target_));
        return std::move(out_);
    }

private:
    using list = std::vector<described_operator>;

    std::string name(list const& operators, described_value v, std::string_view side) const {
        if (v.is_input()) return rule_.inputs[v.number()];
        auto const several = operators[v.number()].results > 1;
        return format_text("{}{}{}{}", side, v.number(), several ? "_" : "", several ? format_text("{}", v.port) : "");
    }

    void write(list const& operators, std::string_view side) {
        for (std::size_t i = 0; i < operators.size(); ++i) {
            auto const& op = operators[i];
            out_ += "  ";
            for (std::uint32_t port = 0; port < op.results; ++port)
                out_ += format_text("{}{}", port > 0 ? ", " : "",
                                    name(operators, {static_cast<std::int32_t>(i), port}, side));
            out_ += format_text(" = {}(", op.word->name);
            for (std::size_t k = 0; k < op.operands.size(); ++k)
                out_ += format_text("{}{}", k > 0 ? ", " : "", name(operators, op.operands[k], side));
            if (op.word->law == shape_law::convolution) {
                if (op.kernel[0] > 0) out_ += format_text(", kernel={}x{}", op.kernel[0], op.kernel[1]);
                out_ += format_text(", strides={}x{}, pads={}, act={}", op.strides[0], op.strides[1],
                                    op.same_pads ? "same" : "none", to_string(op.act));
            }
            if (op.word->law == shape_law::joining || op.word->law == shape_law::parting)
                out_ += format_text(", axis={}{}", op.axis, op.rank > 0 ? format_text(", rank={}", op.rank) : "");
            out_ += ")\n";
        }
    }

    rule_description const& rule_;
    std::string source_, target_, out_;
};

} // namespace detail

GSUB_LAZY_BODY result<std::vector<rule_description>> parse_rules(std::string_view text) {
    return capture([&] { return detail::rule_parser{}.run(text); });
}

GSUB_LAZY_BODY result<std::vector<rule_description>> load_rules(std::string const& path) {
    auto const text = io::read_file(path, std::uint64_t{16} << 20);
    if (!text) return text.error();
    auto rules = parse_rules(*text);
    if (!rules) return rules.error().within(path);
    return rules;
}

GSUB_LAZY_BODY std::string to_text(rule_description const& rule) {
    return detail::rule_writer{rule}.run();
}

} // namespace gsub
