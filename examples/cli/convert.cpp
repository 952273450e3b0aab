// gsub convert: a model in, the same model out.
#include "commands.hpp"
#include <gsub/core/format.hpp>
#include <gsub/io.hpp>
#include <gsub/ir.hpp>

namespace cli {

answer convert(convert_request const& r, session const& s) {
    s.observe->on_progress({"load", 0, 0, r.model});
    auto const g = gsub::io::load_onnx(r.model, loading(r.given, s)).value();
    s.observe->on_progress({"save", 0, 0, r.output});
    gsub::io::save_onnx(g, r.output, {.opset = r.opset}).value();
    s.observe->on_progress({"read again", 0, 0, r.output});
    auto const again = gsub::io::load_onnx(r.output).value();
    // An operator set may lack a form, such as the flattening Softmax from 13 on: then several nodes stand for it.
    auto const same = again.hash() == g.hash() && again == g;
    answer a;
    a.text =
        gsub::format_text("written  {}{}", r.output,
                          same ? ", reads back as the same graph\n" : ", reads back as a graph of other operators\n");
    a.data["output"] = r.output;
    a.data["same_graph"] = same;
    return a;
}

} // namespace cli
