#include "catch.hpp"
#include <gsub/codegen/simt/impl/lane_barriers.hpp>
#include <gsub/codegen/simt/impl/uniform_registers.hpp>
#include <gsub/codegen/simt/thread_group.hpp>

#include <vector>

namespace thread_group_test {

using namespace gsub;
using codegen::instruction;
using codegen::opcode;
using codegen::statement;
using codegen::statement_kind;

codegen::kernel with_workspace(std::int64_t elements) {
    codegen::kernel k;
    k.lanes = 32;
    k.buffers = {{.name = "w", .dims = {elements}, .written = true, .workspace = true}};
    return k;
}

TEST_CASE("workspaces are shared as far as they fit, then fewer positions share a group, then they are lent") {
    auto const k = with_workspace(256); // 1 KiB
    auto const four = codegen::group_of(k, 4096, 4), two = codegen::group_of(k, 4095, 4),
               lent = codegen::group_of(k, 1023, 4);
    CHECK(four == codegen::thread_group{4, true});
    CHECK(four.threads(k) == 128);
    CHECK(four.shared_bytes(k) == 4096);
    CHECK(four.lent_bytes(k, 10) == 0);
    CHECK(two == codegen::thread_group{2, true});
    CHECK(lent == codegen::thread_group{4, false});
    CHECK(lent.shared_bytes(k) == 0);
    CHECK(lent.lent_bytes(k, 3) == 3 * 4 * 1024);
    CHECK(codegen::group_of(with_workspace(0), 0, 4) == codegen::thread_group{4, true});
}

instruction touch(opcode op, std::int64_t at, std::int32_t lanes = 32, std::int64_t stride = 1) {
    instruction i;
    i.op = op, i.buffer = 0, i.offset = codegen::affine{at}, i.lanes = lanes, i.stride = stride;
    (op == opcode::store ? i.operands[0] : i.result) = 0;
    return i;
}

// How many of a block's instructions, and of the loop around it, lanes wait before.
std::vector<int> waits(std::vector<instruction> code, bool in_loop = false) {
    auto k = with_workspace(4096);
    k.registers = 1, k.names = {"i"};
    statement block;
    block.code = std::move(code);
    k.body = {block};
    if (in_loop) {
        statement loop;
        loop.kind = statement_kind::loop, loop.var = 0, loop.body = k.body;
        k.body = {loop};
    }
    codegen::detail::lane_barriers const found{k};
    std::vector<int> out;
    auto const& inner = in_loop ? k.body[0].body[0] : k.body[0];
    for (auto const& i : inner.code) out.push_back(found.before(i));
    return out;
}

TEST_CASE("lanes wait where one touches what another has written, or writes what another has read") {
    using enum opcode;
    CHECK(waits({touch(store, 0), touch(load, 0)}) == std::vector{0, 0}); // each lane its own
    CHECK(waits({touch(store, 0), touch(load, 1)}) == std::vector{0, 1});
    CHECK(waits({touch(store, 0), touch(load, 32)}) == std::vector{0, 0}); // others
    CHECK(waits({touch(store, 0), touch(broadcast, 5)}) == std::vector{0, 1});
    CHECK(waits({touch(broadcast, 5), touch(store, 0)}) == std::vector{0, 1});
    CHECK(waits({touch(broadcast, 5), touch(broadcast, 6), touch(store, 32)}) == std::vector{0, 0, 0});
    CHECK(waits({touch(store, 0), touch(load, 0, 32, 2)}) == std::vector{0, 1});
    CHECK(waits({touch(load, 0), touch(store, 0, 1)}) == std::vector{0, 1}); // by all lanes, if it is a scalar
    CHECK(waits({touch(store, 0), touch(broadcast, 5), touch(broadcast, 6)}) == std::vector{0, 1, 0});
    CHECK(waits({touch(store, 0), touch(store, 64)}) == std::vector{0, 0}); // never read: nobody cares
}

TEST_CASE("lanes wait for those of the turn before, in loops that read and write") {
    using enum opcode;
    CHECK(waits({touch(store, 0), touch(broadcast, 5)}, true) == std::vector{1, 1});
    CHECK(waits({touch(broadcast, 5), touch(broadcast, 6)}, true) == std::vector{0, 0});
}

TEST_CASE("what is computed of scalars is uniform, and nothing that a lane adds to") {
    codegen::kernel k;
    k.lanes = 32, k.registers = 6;
    auto const make = [](opcode op, codegen::reg result, codegen::reg first = -1, std::int32_t lanes = 32) {
        instruction i;
        i.op = op, i.result = result, i.operands[0] = i.operands[1] = first, i.lanes = lanes;
        return i;
    };
    statement block;
    block.code = {make(opcode::broadcast, 0),  make(opcode::load, 1),
                  make(opcode::copy, 2, 0),    make(opcode::compute, 3, 0),
                  make(opcode::copy, 4, 0),    make(opcode::accumulate, 4, 1),
                  make(opcode::compute, 5, 2), make(opcode::accumulate, 2, 0, 7)};
    k.body = {block};
    codegen::detail::uniform_registers const uniform{k};
    std::vector<int> found;
    for (codegen::reg r = 0; r < 6; ++r) found.push_back(uniform[r]);
    CHECK(found == std::vector{1, 0, 0, 1, 0, 0}); // 2 gets a part, of which 5 is made
}

} // namespace thread_group_test
