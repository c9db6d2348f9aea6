"""Way 1: the library's functions as custom operators of PyTorch, from Python alone.

An operator of one's own is four things, which stand together here for each:

    @operator(schema)        what it is called with, and the function that runs it
    @….register_fake         the sizes of what comes out, without any data: torch.compile asks,
                             and it refuses what does not fit (checks.py); the real one begins so
    derivative(…)            backward, in terms of operators, so that it can be differentiated again
    contexts.of(x)           a tl_ctx on x's device, PyTorch's stream and threads; tl.call("f", …)
                             is tl_f(ctx, …) on the tensors' own memory

Read convolution.py first; register.py has `operator` and `derivative`.

The C functions' rules show through: fwd overwrites its output (torch.empty), bwd adds to it
(torch.zeros), and no size may be 0, so that empty batches are answered before the call.
"""

from gradlab import library

for dtype in library.DTYPES:
    library.load(dtype)  # what is missing, or is another version, is said when gradlab is imported

# isort: split
from gradlab.ops_python import (  # noqa: E402, F401 (each registers its operators)
    convolution,
    layers,
    loss,
    optimisers,
    regularise,
)
