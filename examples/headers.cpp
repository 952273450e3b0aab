// Nothing: the unit of gsub_example_headers, whose headers the examples take over.
