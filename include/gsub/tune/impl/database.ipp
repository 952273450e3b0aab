#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/file.hpp>
#include <gsub/tune/database.hpp>
#include <gsub/tune/impl/json_value.ipp>
#include <gsub/tune/impl/record.ipp>
#include <gsub/tune/kernel_record.hpp>

#include <algorithm>
#include <utility>

namespace gsub::tune {

namespace detail {

// Target and values: what failed once on a machine, fails there again.
GSUB_LAZY [[nodiscard]] std::string configuration_key(record const& r) {
    std::vector<json_value> values{target_key(r.target)};
    for (auto const& k : r.entity) values.insert(values.end(), {k.name, k.value});
    return to_string(json_value{std::move(values)});
}

} // namespace detail

/// Reads the lines of one text into a database.
template <class = void>
class database_reader {
public:
    database_reader(database& to, std::string_view name, load_options const& options)
        : to_(to), name_(name), options_(options) {}

    load_report read(std::string_view text) {
        while (!text.empty()) {
            auto const end = std::min(text.find('\n'), text.size());
            ++number_;
            read_line(text.substr(0, end));
            text.remove_prefix(std::min(end + 1, text.size()));
        }
        return std::move(report_);
    }

private:
    void read_line(std::string_view line) {
        auto const first = line.find_first_not_of(" \t\r");
        if (first == line.npos || line[first] == '#') return;
        if (line.size() > options_.max_line_bytes)
            return refuse(report_.refused,
                          error{errors::record_form, format_text("a line of {} bytes; the limit is {}", line.size(),
                                                                 options_.max_line_bytes)});
        json_limits limits;
        limits.bytes = options_.max_line_bytes;
        json_reader<> reader{line, limits};
        auto const value = capture([&] { return reader.read(); });
        if (!value) return refuse(reader.ended_early() ? report_.torn : report_.refused, value.error());
        auto read = capture([&] { return detail::read_record(*value); });
        if (!read) return refuse(report_.refused, read.error());
        take(std::move(*read));
    }

    void take(record r) {
        auto const failed = r.failed();
        auto foreign = false;
        if (options_.machine) {
            auto const machine = target_of(r);
            foreign = !machine || machine->key() != options_.machine->key();
        }
        if (to_.size() >= options_.max_records)
            throw error{errors::record_form,
                        format_text("{}:{}: more than {} records", printable(name_), number_, options_.max_records)};
        if (!to_.add(std::move(r))) {
            ++report_.duplicates;
            return;
        }
        ++report_.read;
        report_.failed += failed;
        report_.foreign += foreign;
    }

    void refuse(std::size_t& count, error const& e) {
        auto const at = format_text("{}:{}", printable(name_), number_);
        if (options_.strict) throw e.within(at);
        ++count;
        if (report_.warnings.size() < options_.max_warnings) report_.warnings.push_back(e.within(at).message());
    }

    database& to_;
    std::string_view name_;
    load_options const& options_;
    load_report report_;
    std::size_t number_ = 0;
};

GSUB_LAZY_BODY bool database::add(record r) {
    auto const text = to_string(r);
    if (!known_.insert(hash_bytes(std::as_bytes(std::span{text.data(), text.size()}))).second) return false;
    auto const& kept = records_.emplace_back(std::move(r));
    by_task_[task_key(kept.task, kept.args)].push_back(&kept);
    return true;
}

GSUB_LAZY_BODY result<load_report> database::parse(std::string_view text, std::string_view name,
                                                   load_options const& options) {
    return capture([&] { return database_reader<>{*this, name, options}.read(text); });
}

GSUB_LAZY_BODY result<load_report> database::load(std::string const& path, load_options const& options) {
    auto const text = io::read_file(path, options.max_file_bytes);
    if (!text) return text.error();
    return parse(*text, path, options);
}

GSUB_LAZY_BODY std::vector<record const*> database::candidates(std::string_view task,
                                                               std::vector<json_value> const& args) const {
    std::vector<record const*> found;
    auto const all = by_task_.find(task_key(task, args));
    if (all == by_task_.end()) return found;
    std::set<std::string> broken;
    for (auto const* r : all->second)
        if (r->error == measure_error::runtime_device || r->error == measure_error::wrong_answer)
            broken.insert(detail::configuration_key(*r));
    for (auto const* r : all->second)
        if (!r->failed() && (broken.empty() || !broken.contains(detail::configuration_key(*r)))) found.push_back(r);
    std::sort(found.begin(), found.end(), [](record const* a, record const* b) {
        if (doubt_of(*a) != doubt_of(*b)) return doubt_of(*a) < doubt_of(*b);
        auto const first = a->mean_cost(), second = b->mean_cost();
        return first != second ? first < second : to_string(*a) < to_string(*b);
    });
    return found;
}

GSUB_LAZY_BODY record const* database::best(std::string_view task, std::vector<json_value> const& args,
                                            std::string_view target) const {
    auto const key = target_key(target);
    for (auto const* r : candidates(task, args))
        if (target_key(r->target) == key) return r;
    return nullptr;
}

GSUB_LAZY_BODY std::vector<record const*> database::best_of_each() const {
    std::vector<record const*> out;
    for (auto const& [key, all] : by_task_) {
        std::map<std::string, record const*> best;
        for (auto const* r : candidates(all.front()->task, all.front()->args)) best.emplace(target_key(r->target), r);
        for (auto const& [target, r] : best) out.push_back(r);
    }
    return out;
}

GSUB_LAZY_BODY std::string database::to_text() const {
    std::string text;
    for (auto const& r : records_) (text += to_string(r)) += '\n';
    return text;
}

} // namespace gsub::tune
