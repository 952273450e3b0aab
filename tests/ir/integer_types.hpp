// A loop over the types that store integers.
#pragma once

#include <gsub/ir/types/dtype.hpp>

#include <type_traits>

/// Calls `f.template operator()<T>()` for the C++ type of every integer element type.
template <class F>
void each_integer_type(F&& f) {
    for (auto t : gsub::stored_dtypes)
        if (gsub::is_integer(t))
            gsub::with_storage_type(t, [&]<class T> {
                if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) f.template operator()<T>();
            });
}
