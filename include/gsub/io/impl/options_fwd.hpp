// Forward declarations of the options of importer and exporter, which their own parts refer to.
#pragma once

namespace gsub::io {

struct load_options;
struct save_options;

} // namespace gsub::io
