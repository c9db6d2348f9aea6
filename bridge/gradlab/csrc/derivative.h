// derivative.h: how an operator of ours is put into PyTorch's autograd graph.
//
// A node of the graph is written as PyTorch's own operators have theirs, not by
// torch::autograd::Function: that one works neither under torch.func nor as quickly.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <cstring>
#include <functional>
#include <mutex>

#include "operators.h"

namespace gradlab {

using torch::autograd::Node;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

// Of what is wanted, the gradients of a call's tensors in their order, from those of its outputs
// and the tensors that were saved. The rule calls operators, so it can be differentiated again.
class Derivative;
using Rule = std::function<variable_list(const Derivative &, const variable_list &dy,
                                         const variable_list &saved)>;

class Derivative : public Node {
  public:
    Derivative(const char *op, Rule derive) : label(op), rule(std::move(derive)) {}
    std::string name() const override { return label + std::string("Backward"); }

    variable_list apply(variable_list &&dy) override {
        std::lock_guard<std::mutex> lock(mutex_);
        bool none = true;
        for (const Tensor &d : dy) none &= !d.defined();
        if (none) return variable_list(num_outputs());
        variable_list tensors;
        tensors.reserve(saved.size());
        for (const SavedVariable &s : saved) tensors.push_back(s.unpack(getptr()));
        return rule(*this, dy, tensors);
    }
    void release_variables() override {
        std::lock_guard<std::mutex> lock(mutex_);
        for (SavedVariable &s : saved) s.reset_data();
    }
    void save(const Tensor &t, bool is_output) { saved.emplace_back(t, is_output); }

  private:
    const char *label;
    Rule rule;
    std::vector<SavedVariable> saved;
};

// A node is shared by std::shared_ptr up to PyTorch 2.12, by c10::intrusive_ptr from then on.
template <class Pointer, class Made> Pointer own(Made *node) {
    auto free = [](auto *unused) { deleteNode(unused); };
    if constexpr (std::is_constructible_v<Pointer, Made *, decltype(free)>)
        return Pointer(node, free);
    else
        return Pointer(c10::intrusive_ptr<Made>::unsafe_steal_from_new(node));
}
using NodePointer = decltype(torch::autograd::Edge::function);

inline void take_tensor(variable_list &list, const Tensor &t) { list.push_back(t); }
inline void take_tensor(variable_list &list, const OptionalTensor &t) {
    list.push_back(t ? *t : Tensor());
}
template <class Value> void take_tensor(variable_list &, const Value &) {}

inline const Tensor &first(const Tensor &result) { return result; }
template <class... Tensors> const Tensor &first(const std::tuple<Tensors...> &results) {
    return std::get<0>(results);
}

// A node for `tensors`, or none where nothing of them needs a gradient.
inline Derivative *node_of(const char *op, const variable_list &tensors, Rule rule) {
    bool any = false;
    for (const Tensor &t : tensors) {
        TORCH_CHECK_NOT_IMPLEMENTED(
            !torch::autograd::isFwGradDefined(t), "Trying to use forward AD with ", op,
            " that does not support it because it has not been ", "implemented yet.");
        any |= t.defined() && t.requires_grad();
    }
    if (!any || !at::GradMode::is_enabled()) return nullptr;
    auto *node = new Derivative(op, std::move(rule));
    node->set_next_edges(torch::autograd::collect_next_edges(tensors));
    return node;
}

// Calls Op with autograd's part done: its first output is differentiable, the others are not.
// `saved` are inputs; `outputs` says which of the outputs the rule sees behind them.
template <class Op, class... Arguments>
auto differentiable(const variable_list &saved, std::initializer_list<int> outputs, Rule rule,
                    const Arguments &...arguments) {
    const char *op = strrchr(Op::name, ':') + 1;
    variable_list tensors;
    (take_tensor(tensors, arguments), ...);
    NodePointer node;
    Derivative *derivative = node_of(op, tensors, std::move(rule));
    if (derivative) {
        node = own<NodePointer>(derivative);
        for (const Tensor &t : saved) derivative->save(t, false);
    }
    auto result = [&] {
        at::AutoDispatchBelowADInplaceOrView guard;
        return call<Op>(arguments...);
    }();
    if (!derivative) return result;
    torch::autograd::set_history(first(result), node);
    variable_list all;
    if constexpr (std::is_same_v<decltype(result), Tensor>)
        all = {result};
    else
        all = std::apply([](const auto &...t) { return variable_list{t...}; }, result);
    for (int output : outputs) derivative->save(all[output], output == 0);
    return result;
}

// What a rule returns: one gradient a tensor of the call, each made only if somebody wants it.
template <class... Make> variable_list gradients(const Derivative &node, Make... make) {
    variable_list all;
    all.reserve(sizeof...(make));
    size_t i = 0;
    ((all.push_back(node.task_should_compute_output(i++) ? make() : Tensor())), ...);
    return all;
}

} // namespace gradlab
