"""Four numbers at a time: arithmetic on blocks of arrays that always is SIMD, and always the same sum.

The compiler may not vectorise a sum without ``fastmath``, for that reorders it. Here the order is part of
the program: a block of four numbers is one value, sums are kept per lane and added up in one fixed way.
Every processor gives the same bits, with two, four or eight lanes of its own, and so does plain Python.

    a = fill(0.0)
    for i in range(0, whole(n), LANES):
        a = a + 1.0 / (load(x, i) - shift)
    total = add_up(a)                               # and the up to three numbers that are left, one by one

Blocks know + − × ÷ with blocks and floats, ``least``, ``most``, ``root``; in Python they are small arrays.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from bothworlds._jit import FloatArray, introduce, kernel

LANES = 4


@kernel
def whole(n: int) -> int:
    """Where the last whole block of n numbers ends."""
    return n - n % LANES


def load(values: FloatArray, i: int) -> Any:
    """The block that begins at index i."""
    return values[i : i + LANES].copy()


def store(values: FloatArray, i: int, block: Any) -> None:
    """Write a block to index i on."""
    values[i : i + LANES] = block


def fill(value: float) -> Any:
    """A block of four times the same number."""
    return np.full(LANES, value)


def add_up(block: Any) -> float:
    """(a + b) + (c + d)."""
    return float((block[0] + block[1]) + (block[2] + block[3]))


def least(a: Any, b: Any) -> Any:
    """The smaller one in each lane, of numbers that are not NaN."""
    return np.minimum(a, b)


def most(a: Any, b: Any) -> Any:
    """The larger one in each lane, of numbers that are not NaN."""
    return np.maximum(a, b)


def root(a: Any) -> Any:
    """Square roots."""
    return np.sqrt(a)


def smallest(block: Any) -> float:
    """The smallest of the four."""
    return float(min(block[0], block[1], block[2], block[3]))


@introduce
def _tell_numba() -> None:  # noqa: PLR0915 - a list of small definitions that need numba
    """The same for compiled code: a numba type that is a vector of LLVM."""
    from llvmlite import ir  # type: ignore[import-untyped]  # noqa: PLC0415
    from numba.core import cgutils, types  # noqa: PLC0415
    from numba.core.typing.templates import AbstractTemplate, infer_global, signature  # noqa: PLC0415
    from numba.extending import intrinsic, lower_builtin, models, overload, register_model  # noqa: PLC0415

    number = types.float64
    vector = ir.VectorType(ir.DoubleType(), LANES)
    index = ir.IntType(32)

    class Block(types.Type):
        def __init__(self) -> None:
            super().__init__(name="Block")

    block = Block()

    @register_model(Block)
    class _(models.PrimitiveModel):  # type: ignore[misc]
        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, vector)

    def spread(builder: Any, value: Any) -> Any:
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, index(0))
        everywhere = ir.Constant(ir.VectorType(index, LANES), [0] * LANES)
        return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), everywhere)

    def widen(builder: Any, kinds: Any, values: Any) -> list[Any]:
        return [
            spread(builder, value) if kind == number else value
            for kind, value in zip(kinds, values, strict=True)
        ]

    def elements(builder: Any, value: Any) -> list[Any]:
        return [builder.extract_element(value, index(lane)) for lane in range(LANES)]

    def pointer(context: Any, builder: Any, kind: Any, values: Any, at: Any) -> Any:
        data = context.make_array(kind)(context, builder, values).data
        return builder.bitcast(builder.gep(data, [at]), vector.as_pointer())

    def arithmetic(symbol: Any, instruction: str) -> None:
        @infer_global(symbol)
        class _(AbstractTemplate):  # type: ignore[misc]
            def generic(self, args: Any, kws: Any) -> Any:
                if len(args) == 2 and block in args and set(args) <= {block, number}:
                    return signature(block, *args)
                return None

        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return getattr(builder, instruction)(*widen(builder, sig.args, args))

        for kinds in ((block, block), (block, number), (number, block)):
            lower_builtin(symbol, *kinds)(lower)

    arithmetic(operator.add, "fadd")
    arithmetic(operator.sub, "fsub")
    arithmetic(operator.mul, "fmul")
    arithmetic(operator.truediv, "fdiv")

    def provide(function: Any, result: Any, lower: Any) -> None:
        """``function`` as compiled code: arguments are blocks, floats, an array, an index."""

        @intrinsic  # type: ignore[untyped-decorator]
        def emit(typing_context: Any, arguments: Any) -> Any:
            kinds = arguments.types

            def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
                parts = [builder.extract_value(args[0], k) for k in range(len(kinds))]
                parts = [
                    context.cast(builder, part, kind, types.intp) if isinstance(kind, types.Integer) else part
                    for part, kind in zip(parts, kinds, strict=True)
                ]
                return lower(context, builder, kinds, parts)

            return result(arguments), generate

        count = function.__code__.co_argcount
        bodies = {
            1: lambda a: emit((a,)),
            2: lambda a, b: emit((a, b)),
            3: lambda a, b, c: emit((a, b, c)),
        }
        overload(function, jit_options={"_nrt": False}, strict=False)(lambda *_: bodies[count])

    def lower_store(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        (value,) = widen(builder, kinds[2:], args[2:])
        builder.store(value, pointer(context, builder, kinds[0], args[0], args[1]), align=8)
        return context.get_dummy_value()

    def lower_add_up(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        a, b, c, d = elements(builder, args[0])
        return builder.fadd(builder.fadd(a, b), builder.fadd(c, d))

    def pick(comparison: str) -> Any:
        def lower(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
            a, b = widen(builder, kinds, args)
            return builder.select(builder.fcmp_ordered(comparison, a, b), a, b)

        return lower

    def lower_root(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        kind = ir.FunctionType(vector, [vector])
        name = f"llvm.sqrt.v{LANES}f64"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

    def lower_smallest(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        a, b, c, d = elements(builder, args[0])
        less = pick("<")
        left, right = (less(context, builder, (block, block), pair) for pair in ((a, b), (c, d)))
        return less(context, builder, (block, block), (left, right))

    provide(
        load,
        block,
        lambda context, builder, kinds, args: builder.load(
            pointer(context, builder, kinds[0], args[0], args[1]), align=8
        ),
    )
    provide(store, types.void, lower_store)
    provide(fill, block, lambda context, builder, kinds, args: spread(builder, args[0]))
    provide(add_up, number, lower_add_up)
    provide(least, block, pick("<"))
    provide(most, block, pick(">"))
    provide(root, block, lower_root)
    provide(smallest, number, lower_smallest)
