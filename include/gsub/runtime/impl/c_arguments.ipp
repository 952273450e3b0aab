#pragma once

#include <gsub/io/onnx_model.hpp>
#include <gsub/io/protobuf.hpp>
#include <gsub/runtime/extern_kernel.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gsub::runtime::detail {

static_assert(GSUB_UNDEFINED == static_cast<int>(dtype::undefined) && GSUB_F64 == static_cast<int>(dtype::f64) &&
              GSUB_F32 == static_cast<int>(dtype::f32) && GSUB_F16 == static_cast<int>(dtype::f16) &&
              GSUB_BF16 == static_cast<int>(dtype::bf16) && GSUB_I64 == static_cast<int>(dtype::i64) &&
              GSUB_I32 == static_cast<int>(dtype::i32) && GSUB_I16 == static_cast<int>(dtype::i16) &&
              GSUB_I8 == static_cast<int>(dtype::i8) && GSUB_U8 == static_cast<int>(dtype::u8) &&
              GSUB_BOOL == static_cast<int>(dtype::boolean) && GSUB_U64 == static_cast<int>(dtype::u64) &&
              GSUB_U32 == static_cast<int>(dtype::u32) && GSUB_U16 == static_cast<int>(dtype::u16));

// The attributes of a node as C sees them.
template <class = void>
class c_attributes {
public:
    // Of an operator of the op set.
    c_attributes(op_info const& op, attributes_id attributes) : typed_(attributes.typed()) {
        if (!typed_) typed_ = (defaults_ = op.layout.owned()).get();
        auto const values = op.layout.encode(typed_);
        for (std::size_t i = 0; i < values.size(); ++i) {
            auto& e = add(std::string{op.attributes()[i].name});
            auto const& v = values[i];
            switch (v.kind()) {
            case attribute_kind::integer:
                e.integers = {v.integer()};
                break;
            case attribute_kind::real:
                e.reals = {v.real()}, e.kind = GSUB_REALS;
                break;
            case attribute_kind::text:
                e.texts = {v.text()}, e.kind = GSUB_TEXTS;
                break;
            case attribute_kind::integer_list:
                e.integers.assign(v.integer_list().begin(), v.integer_list().end());
                break;
            case attribute_kind::real_list:
                e.reals.assign(v.real_list().begin(), v.real_list().end()), e.kind = GSUB_REALS;
                break;
            }
        }
        finish();
    }
    // Of a node as it was in the file.
    explicit c_attributes(std::string_view node) {
        for (auto const& a : io::parse_onnx_node(node).attributes) read(add(std::string{a.name}), a);
        finish();
    }
    c_attributes(c_attributes const&) = delete;
    c_attributes& operator=(c_attributes const&) = delete;

    [[nodiscard]] std::vector<gsub_attribute> const& list() const noexcept { return list_; }
    [[nodiscard]] void const* typed() const noexcept { return typed_; }

private:
    struct entry {
        std::string name;
        gsub_attribute_kind kind = GSUB_INTEGERS;
        std::vector<std::int64_t> integers{};
        std::vector<double> reals{};
        std::vector<std::string> texts{};
        std::vector<gsub_text> views{};
    };
    entry& add(std::string name) { return entries_.emplace_back(entry{std::move(name)}); }

    static void read(entry& e, io::onnx_attribute const& a) {
        using type = io::onnx_attribute_type;
        enum : std::uint32_t { real = 2, integer = 3, text = 4, reals = 7, integers = 8, texts = 9 }; // field numbers
        if (a.type == type::real || a.type == type::reals)
            e.kind = GSUB_REALS;
        else if (a.type == type::text || a.type == type::texts)
            e.kind = GSUB_TEXTS;
        else if (a.type != type::integer && a.type != type::integers)
            e.kind = GSUB_SERIALIZED, e.texts.emplace_back(a.message);
        // A field that a file leaves out is zero.
        if (a.type == type::real) e.reals = {0};
        if (a.type == type::integer) e.integers = {0};
        if (a.type == type::text) e.texts = {{}};
        for (io::wire_reader r{a.message}; r.next();) {
            if (a.type == type::real && r.field() == real && r.is_fixed32())
                e.reals = {r.real()};
            else if (a.type == type::integer && r.field() == integer && r.is_varint())
                e.integers = {r.integer()};
            else if (a.type == type::text && r.field() == text && r.is_bytes())
                e.texts = {std::string{r.bytes()}};
            else if (a.type == type::reals && r.field() == reals)
                r.each_float([&](float v) { e.reals.push_back(v); });
            else if (a.type == type::integers && r.field() == integers)
                r.each_integer([&](std::int64_t v) { e.integers.push_back(v); });
            else if (a.type == type::texts && r.field() == texts && r.is_bytes())
                e.texts.emplace_back(r.bytes());
        }
    }

    void finish() {
        for (auto& e : entries_) {
            for (auto const& t : e.texts) e.views.push_back({t.c_str(), t.size()});
            gsub_attribute a{};
            a.name = e.name.c_str();
            a.kind = e.kind;
            a.count = e.integers.size() + e.reals.size() + e.texts.size(); // two of them are empty
            if (e.kind == GSUB_INTEGERS)
                a.integers = e.integers.data();
            else if (e.kind == GSUB_REALS)
                a.reals = e.reals.data();
            else
                a.texts = e.views.data();
            list_.push_back(a);
        }
    }

    std::shared_ptr<void> defaults_;
    void const* typed_ = nullptr;
    std::deque<entry> entries_;
    std::vector<gsub_attribute> list_;
};

// Types of operands and results; data are filled in by each call.
template <class = void>
class c_arrays {
public:
    void add(tensor_type const& t, void* data = nullptr) {
        auto const& dims = dims_.emplace_back(sizes_of(t));
        gsub_array a{};
        a.data = data;
        a.dims = dims.data();
        a.rank = static_cast<std::int32_t>(dims.size());
        a.dtype = static_cast<std::int32_t>(t.element);
        a.elements = t.elements().value_or(-1);
        list_.push_back(a);
    }
    void add_absent() { list_.push_back({}); }
    [[nodiscard]] std::vector<gsub_array> const& list() const noexcept { return list_; }

private:
    static ints sizes_of(tensor_type const& t) {
        ints sizes;
        for (auto d : t.dims) sizes.push_back(d.fixed() ? d.size() : -1);
        return sizes;
    }
    std::deque<ints> dims_; // places stay
    std::vector<gsub_array> list_;
};

} // namespace gsub::runtime::detail
