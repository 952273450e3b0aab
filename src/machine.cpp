#include <gsub/machine.hpp>
#include <gsub/machine/impl/access_boxes.ipp>
#include <gsub/machine/impl/access_tree.ipp>
#include <gsub/machine/impl/data_movement.ipp>
#include <gsub/machine/impl/pipeline.ipp>
#include <gsub/machine/impl/pipeline_run.ipp>
#include <gsub/machine/impl/strided_box.ipp>
