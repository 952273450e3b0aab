// Nothing: the unit of gsub_test_headers, whose headers the test programs take over.
