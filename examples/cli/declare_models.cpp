// Options of the commands of models, rules and passes as such, and of what the machine has.
#include "options.hpp"

namespace cli {

namespace {

void declare_comparison(command_line& line) {
    auto& c = line.request<compare_request>();
    auto* compare = line.declare("compare", "run two models on the same random inputs", c, &cli::compare);
    compare->add_option("a", c.a, "ONNX model")->required()->type_name("A.onnx");
    compare->add_option("b", c.b, "ONNX model that should compute the same")->required()->type_name("B.onnx");
    compare->add_option("--rtol", c.relative, "bound of max |a-b| / max |b| of an output");
    compare->add_option("--atol", c.absolute, "outputs closer than this are equal whatever their size");
    compare->add_option("--seed", c.seed, "seed of the inputs");

    auto& k = line.request<check_request>();
    auto* check = line.declare("check", "tell all that keeps a model from running, or how it runs", k, &cli::check);
    check->add_option("model", k.model, "ONNX model")->required()->type_name("IN.onnx");
    add_input_choice(check, k.given);
    check->add_option("--target", k.target, "processor that kernels are for");

    auto& x = line.request<convert_request>();
    auto* convert = line.declare("convert", "read a model and write it again, unchanged", x, &cli::convert);
    convert->add_option("model", x.model, "ONNX model")->required()->type_name("IN.onnx");
    add_input_choice(convert, x.given);
    convert->add_option("-o,--output", x.output, "where to")->required()->type_name("OUT.onnx");
    convert->add_option("--opset", x.opset, "operator set to write; 0: the oldest from 13 on that can express it")
        ->check(CLI::IsMember({0, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21}));

    auto& v = line.request<verify_request>();
    auto* verify = line.declare("verify-rules", "prove every rule over a prime field", v, &cli::verify_rules);
    verify->add_option("--rules", v.rules, "a choice among them, as in `gsub optimize`")->type_name("LIST");
    verify->add_option("--seed", v.seed, "seed of the random instances");
    verify->add_option("--taso", v.taso, "prove the rules of this file in TASO's format instead")
        ->type_name("FILE.pb")
        ->excludes(verify->get_option("--rules"));
    verify->add_option("--rules-file", v.rules_file, "prove the rules of this file instead, as text")
        ->type_name("FILE")
        ->excludes(verify->get_option("--rules"));
}

void declare_lists(command_line& line) {
    auto& k = line.request<cache_request>();
    auto* cache =
        line.declare("cache", "compiled kernels on disk: list, remove the oldest, remove the damaged", k, &cli::cache);
    cache->add_option("action", k.action, "what to do")->check(CLI::IsMember({"ls", "gc", "verify"}));
    cache->add_option("--folder", k.folder, "the cache; without: where kernels are kept by default")->type_name("DIR");
    cache->add_option("--limit", k.limit_bytes, "bytes that `gc` leaves");

    auto& nothing = line.request<int>();
    line.declare("doctor", "tell what this machine has for generated kernels, and what is off", nothing,
                 [](int, cli::session const& s) { return cli::doctor(s); });

    auto& e = line.request<errors_request>();
    auto* errors = line.declare("errors", "list the errors, or tell what one means", e, &cli::errors);
    errors->add_option("number", e.number, "as it is printed, such as G0102; without: list them")->type_name("NUMBER");
    errors->add_flag("--markdown", e.markdown, "as docs/errors.md");

    auto& l = line.request<rules_request>();
    auto* rules =
        line.declare("rules", "list the rules with their conditions and sources", l,
                     [](cli::rules_request const& request, cli::session const&) { return cli::rules(request); });
    rules->add_flag("--markdown", l.markdown, "as docs/rules.md");

    auto& q = line.request<passes_request>();
    auto* passes = line.declare("passes", "list the passes with level, classes, requirements, exactness and effect", q,
                                &cli::passes);
    passes->add_flag("--markdown", q.markdown, "as a table for docs/passes.md");
}

void declare_inspection(command_line& line) {
    auto& h = line.request<bisect_request>();
    auto* bisect = line.declare("bisect", "find the pass that breaks a model, and the smallest model that shows it", h,
                                &cli::bisect);
    bisect->add_option("model", h.model, "ONNX model")->required()->type_name("MODEL.onnx");
    add_input_choice(bisect, h.given);
    bisect->add_option("--passes", h.passes, "the list, as in `gsub optimize`")->required()->type_name("LIST");
    bisect->add_option("-o,--output", h.output, "where the smallest model is written")->type_name("OUT.onnx");
    bisect->add_option("--rtol", h.relative, "bound of max |a-b| / max |b| of an output");
    bisect->add_option("--seed", h.seed, "seed of the inputs");
    bisect->add_option("--tries", h.tries, "runs of the pass while the model is made smaller");

    auto& i = line.request<inspect_request>();
    auto* inspect = line.declare("inspect", "tell what is in a model", i, &cli::inspect);
    inspect->add_option("model", i.model, "ONNX model")->required()->type_name("MODEL.onnx");
    add_input_choice(inspect, i.given);
    inspect->add_flag("--text", i.text, "print the graph in the textual form");
    inspect->add_flag("--stages", i.stages, "tell convolutions, products and pools by the size of what they give");
    inspect->add_option("--dot", i.dot, "draw it for Graphviz")->type_name("FILE");
    inspect->add_option("--svg", i.svg, "draw it as a picture")->type_name("FILE");

    auto& m = line.request<models_request>();
    auto* models = line.declare("models", "list the built-in models, or write one", m, &cli::models);
    models->add_option("name", m.name, "the model to write; without: list them");
    models->add_option("-o,--output", m.output, "where to")->type_name("FILE.onnx");
    models->add_option("--seed", m.what.seed, "seed of the weights");
    for (auto const& option : cli::model_options()) {
        std::string const name{option.name}, help{option.summary};
        auto const given = [&m, name](std::int64_t value) { m.what.options.push_back({name, value}); };
        models->add_option_function<std::int64_t>("--" + name, given, help)
            ->group("Options of some models, as `gsub models` lists them")
            ->always_capture_default(false);
    }

    auto& p = line.request<ops_request>();
    auto* ops = line.declare("ops", "list the operators that are read, written and computed", p, &cli::ops);
    ops->add_flag("--markdown", p.markdown, "as docs/operators.md");
}

} // namespace

void declare_models(command_line& line) {
    declare_comparison(line), declare_lists(line), declare_inspection(line);
}

} // namespace cli
