#pragma once

#include <gsub/core/format.hpp>
#include <gsub/io/impl/initializer_pool.hpp>
#include <gsub/io/onnx_export.hpp>
#include <gsub/io/protobuf.hpp>

#include <array>

namespace gsub::io::detail {

template <class T>
void initializer_pool<T>::add(std::string name, std::shared_ptr<constant_blob const> const& blob) {
    initializer t;
    t.data = blob->data();
    wire_writer{t.fields}.integers(1, t.data.dims()).integer(2, info(t.data.element()).onnx).bytes(8, name);
    t.name = std::move(name);
    initializers_.push_back(std::move(t));
}

template <class T>
std::string const& initializer_pool<T>::add_small(tensor const& t, unique_names<>& names) {
    auto const index = static_cast<std::uint32_t>(initializers_.size());
    auto const [found, added] = small_.try_emplace(t.hash(), index);
    if (added) add(names.fresh("const"), std::make_shared<constant_blob const>(t));
    return initializers_[found->second].name;
}

template <class T>
void initializer_pool<T>::place_externally(std::string const& data_name, save_options const& options) {
    std::uint64_t total = 0, at = 0;
    for (auto const& t : initializers_) total += t.data.size_bytes();
    auto const least = total > options.external_total_bytes ? std::uint64_t{1024} : options.external_tensor_bytes;
    for (auto& t : initializers_) {
        if (t.data.size_bytes() < least) continue;
        at = (at + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
        auto const entry = [&](wire_writer& w, std::string_view key, std::string_view value) {
            w.message(13, [&](wire_writer& e) { e.bytes(1, key).bytes(2, value); });
        };
        wire_writer w{t.fields};
        entry(w, "location", data_name);
        entry(w, "offset", format_text("{}", at));
        entry(w, "length", format_text("{}", t.data.size_bytes()));
        w.integer(14, 1);
        at += t.data.size_bytes();
        t.external = external_ = true;
    }
}

template <class T>
std::uint64_t initializer_pool<T>::message_bytes() const {
    std::uint64_t sum = 0;
    for (auto const& t : initializers_) sum += wire_writer::header_size(5, size(t)) + size(t);
    return sum;
}

template <class T>
template <class Text, class Raw>
void initializer_pool<T>::write(Text&& text, Raw&& raw) const {
    for (auto const& t : initializers_) {
        text(wire_writer::header(5, size(t)));
        text(t.fields);
        if (t.external) continue;
        text(wire_writer::header(9, t.data.size_bytes()));
        raw(t.data.raw());
    }
}

template <class T>
void initializer_pool<T>::write_external(output_file& out) const {
    static constexpr std::array<std::byte, buffer_alignment> zeros{};
    for (auto const& t : initializers_) {
        if (!t.external) continue;
        out.write(std::span{zeros}.first((buffer_alignment - out.written() % buffer_alignment) % buffer_alignment));
        out.write(t.data.raw());
    }
}

template <class T>
std::uint64_t initializer_pool<T>::size(initializer const& t) {
    return t.fields.size() + (t.external ? 0 : wire_writer::header_size(9, t.data.size_bytes()) + t.data.size_bytes());
}

} // namespace gsub::io::detail
