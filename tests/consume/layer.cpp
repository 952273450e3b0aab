// What a stranger writes who needs one layer: a graph built, with its type and text, from that layer's header alone.
#include <gsub/ir.hpp>

#include <iostream>

int main() {
    gsub::graph g;
    gsub::graph_builder b{g};
    auto const x = b.input(gsub::dtype::f32, {2, 3}, "x");
    b.outputs({b.add<gsub::ops::relu>(x)}, {"y"});
    std::cout << "gsub " << gsub::version << ":\n" << gsub::to_text(g);
    return to_string(g.type(g.output(0))) == "f32[2,3]" ? 0 : 1;
}
