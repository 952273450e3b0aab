// interface: base of abstract classes that stand for one object each.
#pragma once

namespace gsub {

/// Base of an interface whose objects have an identity: it is destroyed through the interface and never copied.
class interface {
public:
    interface() = default;
    interface(interface const&) = delete;
    interface& operator=(interface const&) = delete;
    virtual ~interface() = default;
};

} // namespace gsub
