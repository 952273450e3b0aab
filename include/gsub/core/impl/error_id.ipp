#pragma once

#include <gsub/core/error_id.hpp>

namespace gsub {

namespace detail {

inline constexpr error_entry error_table[] = {
    {error_code::negative, "the answer is no",
     "What was asked has been done, and the answer is no: two models differ, "
     "a rule is refuted, a limit of the caller is passed.",
     "Read the words: they say what was found."},
    {error_code::usage, "the request makes no sense", "An option, argument or setting has no meaning here.",
     "The message says what would have one; `gsub VERB --help` lists the options of a verb."},
    {error_code::unsupported, "not supported", "What is asked is right, and this version of gsub does not do it.",
     "The message names what is missing and, where there is one, a way around it."},
    {error_code::invalid_input, "the input is wrong",
     "A file or value is malformed, or its parts contradict each other.",
     "The message says where and what was expected there."},
    {error_code::environment, "the system refuses",
     "The operating system, a compiler or a device refuses what is needed.", "The message has the system's own words."},
    {error_code::internal, "a fault in gsub",
     "gsub found that it contradicts itself. Nothing that comes from outside "
     "should lead here.",
     "Report it, with the model if you may: `gsub bisect` makes it small."},

    {errors::malformed_model, "the model is no ONNX file",
     "The bytes are no protobuf message of ONNX's format, the file "
     "is empty or cut off, or something that every model has is missing.",
     "Write the file again, or check it with `onnx.checker`."},
    {errors::unknown_operator, "the operator is not known",
     "A node has an operator that gsub has no row for, and no "
     "function of the model or of ONNX says what it computes. The node stays opaque: the model can be rewritten around "
     "it, "
     "not run.",
     "`gsub ops` lists the operators; a user's own is registered with a kernel (docs/add_an_operator.md)."},
    {errors::operator_form, "the operator's form is not supported",
     "The operator is known, but not with this attribute, version, element type or number of operands, or, for a loop, "
     "not "
     "with so many iterations. The node stays opaque: the model can be rewritten around it, not run.",
     "The message names what it takes. Other forms may be converted by `onnx.version_converter`; sizes and settings "
     "that "
     "are given (`--dim`, `--shape`, `--value`) make more forms known."},
    {errors::invalid_node, "the node contradicts its operator",
     "The operands, results or attributes of a node are not "
     "those that ONNX's definition of its operator allows.",
     "Check the model with `onnx.checker`; the exporter is at fault."},
    {errors::newer_model, "the model is newer than gsub",
     "The format or the operator set is newer than those that this "
     "version reads.",
     "Convert it with `onnx.version_converter` to the version that the message names."},
    {errors::external_data, "external data of the model is wrong",
     "A tensor says that its elements are in another file, "
     "and names no file below the model's folder, or bytes that the file does not have.",
     "Keep the data beside the model, with the name that the model has for it."},
    {errors::declared_type, "a value is not of the type that is declared",
     "The type or shape of a value "
     "is another one than the model declares for it.",
     "Remove the declaration, or write the model again."},
    {errors::element_type, "the element type is not supported",
     "Values have elements of a type that gsub does not "
     "compute with: strings, complex numbers, floats of 8 and 4 bits.",
     "Convert the model to a type that "
     "docs/operators.md lists."},
    {errors::model_limit, "the model is larger than the reader's limits",
     "The file, a tensor, the number of nodes or "
     "the depth of subgraphs is beyond a limit that guards against hostile files.",
     "Raise `load_options::limits` where "
     "the file is to be trusted."},
    {errors::input_binding, "a size or value is given to no input",
     "`--dim`, `--shape` or `--value` names an input or "
     "dimension that the model does not have, or contradicts what it declares.",
     "`gsub inspect` lists the inputs with "
     "their dimensions."},
    {errors::no_form_in_files, "there is no form of it in ONNX files",
     "The graph has an operator, name or operator set "
     "that ONNX files cannot hold.",
     "The message says which pass or version makes one that they can."},
    {errors::malformed_array, "the .npy file is malformed", "An array's header or its size is wrong.",
     "Write it again with `numpy.save`."},
    {errors::array_form, "the .npy file has an unsupported form",
     "The array is column-major, of an unknown version or "
     "element type, or larger than the limit.",
     "Save it with `numpy.ascontiguousarray`, as one of the element types that "
     "the message names."},
    {errors::names_in_model, "names of the model contradict each other",
     "A value is made twice or not at all, or "
     "depends on itself.",
     "Check the model with `onnx.checker`; the exporter is at fault."},

    {errors::ill_typed, "the node is ill-typed",
     "An operator does not take operands of these types and shapes, or constants of these values.",
     "The message has the types; correct the operands."},
    {errors::graph_text, "the text of a graph is malformed",
     "A line of a graph or module in textual form has something "
     "else than what must stand there, or leaves out the bytes of a constant.",
     "The message has the line and what was "
     "expected. Texts that can be read again are printed with all elements of constants."},
    {errors::function_call, "a call does not fit its function",
     "A module calls a function that does not exist, calls "
     "itself in a circle, or is given other operands than the function has inputs.",
     "Correct the call, or add the "
     "function to the module."},
    {errors::inlined_nodes, "inlining makes too many nodes",
     "Functions that call each other would become a graph beyond "
     "the limit.",
     "Keep the functions apart: leave inlining and `defuse-ops` out."},
    {errors::declared_result, "a result is not what the graph declares",
     "What a node computed has another type or shape "
     "than the graph says.",
     "The inputs contradict the model's dimensions, or the model's own declarations are wrong."},
    {errors::index_out_of_range, "an index is out of range",
     "A `Gather`, `ScatterND` or the like reads a place that "
     "its operand does not have.",
     "Check the values of the indices: token numbers, for one, must be below the size of "
     "the vocabulary."},
    {errors::memory_limit, "values take more than the memory limit",
     "The sizes in the model add up beyond a limit. It "
     "is told before anything is allocated.",
     "Bind smaller sizes, or raise the limit that the message names."},
    {errors::no_evaluator, "there is no way to compute the node",
     "The reference evaluator has no function for an "
     "operator.",
     "Specialise `gsub::evaluate` for an operator of your own; see also G0102."},
    {errors::given_inputs, "the inputs are not those of the model",
     "Number, type or shape of the tensors given to a run "
     "differ from the model's inputs.",
     "`gsub inspect` lists them; a model that was built for other sizes is built again."},
    {errors::illegal_graph, "the graph breaks a law of graphs",
     "A graph has an edge, type or name that no graph may have. "
     "What made it, a pass or rewrite, is at fault.",
     "Where the pass is your own, mend it; otherwise report it."},
    {errors::branches_apart, "the branches are functions of a module",
     "A graph alone has an `If`, whose branches are "
     "functions of its module.",
     "Use the call that takes the module, such as `gsub::evaluate_module`."},

    {errors::unknown_pass, "there is no such pass", "A list names a pass that is not registered.",
     "`gsub passes` lists them."},
    {errors::pass_arguments, "the pass does not take these arguments",
     "What stands in the parentheses behind a pass's "
     "name is not what it takes.",
     "The message says what it takes; docs/passes.md has examples."},
    {errors::pass_list, "the list of passes makes no sense",
     "Parentheses do not match, lists or requirements go in a "
     "circle, or a pass comes before one that it needs.",
     "The message names the passes; docs/passes.md tells the order."},
    {errors::pass_changes_results, "a pass changes results",
     "Verification computed a model before and behind a pass, "
     "and the results differ by more than the pass may change.",
     "`gsub bisect` finds the smallest model that shows it; "
     "report it, or mend your pass."},
    {errors::pass_threw, "a pass ended with an exception", "A pass let an exception of its own go.",
     "Mend the pass, or report it. The graph is as it was before."},
    {errors::no_gradient, "there is no gradient",
     "`first-order-gradient` knows no derivative of an operator, layout or "
     "function.",
     "The message names it; remove it from the path between the output and the inputs that are asked for."},
    {errors::layout_request, "the layout makes no sense",
     "A layout that is asked for does not exist or does not fit the "
     "value.",
     "Layouts are written as NCHW, NHWC or NCHW8c."},
    {errors::no_code_generator, "no code generator takes the region",
     "A region of a graph is marked for a compiler that "
     "no code generator is registered for.",
     "Register one, or leave `partition-graph` out."},

    {errors::unknown_rule, "there is no such rule", "A choice of rules names one that is not there.",
     "`gsub rules` lists them."},
    {errors::malformed_rule, "the file of rules is malformed",
     "A rule, as text or in TASO's format, has something else "
     "than what must stand there, or is no rule: its sides have other inputs, outputs or types.",
     "The message has the rule and the place; docs/rewrite.md has the grammar."},
    {errors::rule_form, "the rule has an unsupported form",
     "A rule uses an operator, parameter or size that rules in "
     "files may not have.",
     "The message names it."},
    {errors::rule_does_not_apply, "the rule does not apply there",
     "A rewrite that was asked for by rule and node is not "
     "possible.",
     "The message says which condition fails; `gsub explain --rule` lists all."},
    {errors::search_setting, "a setting of the search makes no sense",
     "Alpha is below 1, a schedule falls, a budget is "
     "no number, or settings exclude each other.",
     "The message says what is allowed; docs/search.md explains the settings."},
    {errors::other_search, "the trace is of another search",
     "A trace that a search is to go on from, or be made again by, "
     "was written for another model, cost model or other rules.",
     "Search with what the trace was made with, or without it."},
    {errors::damaged_trace, "the trace is damaged",
     "Events of a trace contradict each other, or the trace does not fit "
     "what it leads to.",
     "The message has the line. Search again without it."},
    {errors::rewrite_weights, "rewrites make too many weights",
     "The weights that a rewrite computes are beyond the limit.", "Raise the limit, or leave the rule out."},
    {errors::cost_value, "the cost model gives no cost", "A cost is negative, infinite or no number.",
     "Mend the cost model: costs are finite and at least 0."},
    {errors::no_cost, "the cost model has no cost for it",
     "A table of costs has no line for an operator, or a whole cost "
     "is zero and cannot be weighed.",
     "Add a line, or say what stands in for it, as the message shows."},
    {errors::cost_file, "the file of costs is malformed",
     "A line of a table, profile or of measured ports has something "
     "else than what must stand there.",
     "The message has the file and the line; docs/cost.md has the format."},
    {errors::goal_weights, "the weights of a goal make no sense",
     "Weights of costs are negative, no numbers, or add up "
     "to nothing.",
     "Give weights that are finite and at least 0, one of them above 0."},

    {errors::open_shape, "a size is open",
     "An executable is built for inputs of static shapes, and the model leaves a "
     "dimension open.",
     "Give the size: `--dim N=8` or `--shape x=1x3x224x224`; the message lists what is missing."},
    {errors::kernel_schedule, "the schedule does not fit the kernel",
     "A choice of algorithm, schedule or knob is none of "
     "the space of the kernel it is given to.",
     "Choose points by `config_space::at`, or records of the same kernel."},
    {errors::kernel_form, "no kernel has this form",
     "A code generator does not make what is asked: a layout, size, "
     "condition or instruction set.",
     "Builds fall back to another algorithm; who asks for this one chooses another."},
    {errors::user_kernel_entry, "the kernel's registration makes no sense",
     "A kernel or code generator of the "
     "application lacks a function or name, or is registered twice.",
     "The message says what it needs."},
    {errors::user_kernel_failed, "a kernel of the application failed",
     "A function of the application has thrown, or returned a status that is none of gsub's.",
     "The message has its words."},
    {errors::user_kernel_signature, "a kernel of the application does not take this",
     "A node has other operands, results "
     "or element types than its kernel is registered for.",
     "Register it for them, or give its kernel a shape function."},
    {errors::unknown_target, "there is no such target",
     "The text of a target names an instruction set, processor or "
     "setting that is not known.",
     "The message lists what there is; docs/target.md explains targets."},
    {errors::compiler_failed, "the C++ compiler failed",
     "There is no compiler for generated kernels, or it ended with an "
     "error. The model runs on the reference runtime, or with kernels emitted in memory.",
     "Install g++ or name one in GSUB_CXX; the message has the compiler's words."},
    {errors::export_request, "the export makes no sense",
     "A model's name is no identifier, its folder has other things "
     "in it, or its instruction sets contradict each other.",
     "Choose another name, or a new folder."},
    {errors::not_exported, "it cannot be exported",
     "A step has no kernel that could be exported: it is computed by gsub "
     "itself, or by a function without a name.",
     "Optimize the model first, or give the kernel a `symbol`."},
    {errors::kernel_graph_text, "the text of kernels is malformed",
     "A line of a kernel graph or table of schedules has "
     "something else than what must stand there.",
     "The message has the line and what was expected."},

    {errors::overlapping_memory, "outputs overlap in memory",
     "The memory given for an output is that of an input or of "
     "another output.",
     "Give each output memory of its own; `make_outputs` does."},

    {errors::malformed_record, "the tuning record is malformed",
     "A line of a file of records is no record, or says what "
     "contradicts its kernel.",
     "Such lines are left out and counted; write the file again where all are."},
    {errors::record_form, "the tuning record has an unsupported form",
     "A record is of another version, task or target "
     "than those that are read.",
     "docs/tune.md lists the forms."},
    {errors::worker_lost, "a worker is lost",
     "A process or rank that scores or times candidates has ended, hangs, or "
     "cannot be started.",
     "The message says which; fewer workers, or less memory for each, may help."},
    {errors::objective_value, "a score is no number", "The function to be minimized gave NaN.",
     "Give infinity for points that are not allowed."},
    {errors::calibration_failed, "the machine could not be calibrated",
     "A probe could not be built or timed, or the clock "
     "gives no time.",
     "Try again on an idle machine; without a calibration defaults are used."},
    {errors::assembly_text, "the assembly cannot be read",
     "Text of assembly has an instruction, operand or form that is "
     "not understood.",
     "It must be AT&T syntax as g++ writes it; the message has the line."},

    {errors::file_access, "a file cannot be read or written",
     "The operating system refuses to open, read, write or "
     "rename a file or folder.",
     "The message has the path and the system's words."},
    {errors::not_a_file, "the path is no regular file", "A folder, device or pipe stands where a file is needed.",
     "Name a regular file."},
    {errors::file_ends, "the file is too short",
     "A file ends before the bytes that are needed, or was shortened while it "
     "was read.",
     "Copy it again, and let nothing write to it meanwhile."},
    {errors::file_limit, "the file is larger than the limit", "A file has more bytes than its reader takes.",
     "Raise the limit in the options of the call where the file is to be trusted."},
    {errors::cache_folder, "the cache cannot be used",
     "The folder for compiled kernels belongs to another user, may be "
     "written by others, or cannot be made.",
     "Set its mode to 700, or name another one in GSUB_CACHE."},
    {errors::stopped, "stopped by the caller", "The caller asked a pass or search to end.",
     "Nothing: the graph is as it was."},
    {errors::out_of_memory, "out of memory", "The system has no more memory for the process.",
     "Use a smaller model or batch, or set limits of memory."},
};

} // namespace detail

GSUB_LAZY_BODY std::span<error_entry const> error_entries() {
    return detail::error_table;
}

GSUB_LAZY_BODY error_entry const* find_error(std::string_view number) {
    for (auto const& entry : detail::error_table)
        if (to_string(entry.id) == number) return &entry;
    return nullptr;
}

} // namespace gsub
