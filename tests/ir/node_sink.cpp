#include "catch.hpp"
#include <gsub/core/format.hpp>
#include <gsub/ir/node_sink.hpp>
#include <gsub/ir/ops/ops.hpp>

#include <string>
#include <type_traits>
#include <vector>

namespace node_sink_test {

using namespace gsub;

static_assert(std::is_abstract_v<node_sink>);
static_assert(std::has_virtual_destructor_v<node_sink>);
static_assert(std::is_base_of_v<node_sink, any_graph>);

// The least sink: it remembers what it is told.
class recorder : public node_sink {
public:
    struct entry {
        std::string op;
        std::vector<std::string> types;
        std::size_t operands;
    };
    std::vector<entry> appended;
    std::vector<std::string> refused;
    std::vector<type_id> types; // by node; every node has one result that is asked for
    std::vector<std::pair<value_id, tensor_knowledge>> known;

    explicit recorder(dialect const& d = dialect::of<standard_ops>()) : node_sink(d) {}
    value_id given(tensor_type const& t) {
        types.emplace_back(t);
        return {{static_cast<std::uint32_t>(types.size() - 1)}, 0};
    }
    type_id type_of(value_id v) const override { return types[v.node.index]; }

protected:
    value_id append(std::uint16_t row, attributes_id, std::span<value_id const> operands,
                    std::span<type_id const> results) override {
        entry e{std::string{operators().ops[row].name}, {}, operands.size()};
        for (auto t : results) e.types.push_back(to_string(*t));
        appended.push_back(e);
        return given(results.empty() ? tensor_type{} : *results[0]);
    }
    tensor_knowledge const* known_elements(value_id v) const override {
        for (auto const& [value, k] : known)
            if (value == v) return &k;
        return nullptr;
    }
    void on_known_elements(value_id v, tensor_knowledge const& k) override { known.emplace_back(v, k); }
    void on_ill_typed(std::uint16_t row, std::string_view reason) override {
        refused.push_back(fmt::format("{}: {}", operators().ops[row].name, reason));
    }
};

TEST_CASE("a sink receives each application with its inferred types") {
    recorder sink;
    auto const x = sink.given({dtype::f32, shape{dim{2}, dim{3}}});
    auto const y = sink.add<ops::relu>(x);
    auto const z = sink.add<ops::transpose>({.perm = {1, 0}}, {y});
    auto const parts = sink.add<ops::split>({.axis = 0, .sizes = {1, 2}}, {z}, 2);
    std::vector<value_id> const all{x, x, x};
    sink.add<ops::concat>({.axis = 0}, all);
    CHECK(parts.valid());
    CHECK(sink.refused.empty());
    REQUIRE(sink.appended.size() == 4);
    CHECK(sink.appended[0].op == "Relu");
    CHECK(sink.appended[1].types == std::vector<std::string>{"f32[3,2]"});
    CHECK(sink.appended[2].types == std::vector<std::string>{"f32[1,2]", "f32[2,2]"});
    CHECK(sink.appended[3].types == std::vector<std::string>{"f32[6,3]"});
    CHECK(sink.appended[3].operands == 3);
}

TEST_CASE("an ill-typed application is refused, not stored, and gives no value") {
    recorder sink;
    auto const x = sink.given({dtype::f32, shape{dim{2}}}), y = sink.given({dtype::f32, shape{dim{3}}});
    CHECK_FALSE(sink.add<ops::add>(x, y).valid());
    CHECK_FALSE(sink.add<ops::softmax>({.axis = 5}, {x}).valid());
    CHECK(sink.appended.empty());
    CHECK(sink.refused ==
          std::vector<std::string>{"Add: f32[2] and f32[3] do not broadcast", "Softmax: axis 5 for operand f32[2]"});
}

TEST_CASE("a wrong number of operands is refused by what the operator takes") {
    recorder sink;
    auto const x = sink.given({dtype::f32, shape{dim{2}}});
    sink.add<ops::add>(x);
    sink.add<ops::relu>(x, x);
    sink.add<ops::concat>({}, std::span<value_id const>{});
    CHECK(sink.refused == std::vector<std::string>{"Add: takes 2 to 2 operands, 1 given",
                                                   "Relu: takes 1 to 1 operands, 2 given",
                                                   "Concat: takes 1 to any number of operands, 0 given"});
}

TEST_CASE("an operand that is left out counts as absent, and a required one is missed") {
    recorder sink;
    auto const x = sink.given({dtype::f32, shape{dim{2}}}), bound = sink.given({dtype::f32, shape{}});
    CHECK(sink.add<ops::clip>({}, {x, value_id{}, bound}).valid());
    CHECK_FALSE(sink.add<ops::clip>({}, {value_id{}, bound, bound}).valid());
    // What was refused can be an operand of the next: the failure goes on, nothing crashes.
    CHECK_FALSE(sink.add<ops::relu>(sink.add<ops::softmax>({.axis = 9}, {x})).valid());
    CHECK(sink.refused == std::vector<std::string>{"Clip: operand 0 is required", "Softmax: axis 9 for operand f32[2]",
                                                   "Relu: operand 0 is required"});
}

TEST_CASE("what inference finds out about elements is handed to the sink and asked from it") {
    recorder sink;
    auto const x = sink.given({dtype::f32, shape{dim{2}, dim{symbol{"n"}}}});
    auto const sizes = sink.add<ops::shape>({}, {x});
    REQUIRE(sink.known.size() == 1);
    CHECK(sink.known[0].first == sizes);
    CHECK(sink.known[0].second == tensor_knowledge{{true, 2, {}}, {false, 0, dim{symbol{"n"}}}});
    auto const y = sink.add<ops::fill>({}, {sizes});
    CHECK(to_string(*sink.type_of(y)) == "f32[2,n]");
}

TEST_CASE("rows are those of the sink's own set of operators") {
    recorder sink{dialect::of<op_set<ops::relu, ops::add>>()};
    auto const x = sink.given({dtype::f32, shape{dim{2}}});
    CHECK(sink.add<ops::relu>(x).valid());
    CHECK(sink.operators().ops[sink.row<ops::add>()].name == "Add");
    CHECK(&sink.operators() == &dialect::of<op_set<ops::relu, ops::add>>());
}

} // namespace node_sink_test
