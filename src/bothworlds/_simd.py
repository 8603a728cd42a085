"""Four numbers at a time: arithmetic on blocks of arrays that always is SIMD, and always the same sum.

The compiler may not vectorise a sum without ``fastmath``, for that reorders it. Here the order is part of
the program: a block of four numbers is one value, sums are kept per lane and added up in one fixed way.
Every processor gives the same bits, with two, four or eight lanes of its own, and so does plain Python.

    a = fill(0.0)
    for i in range(0, whole(n), LANES):
        a = a + 1.0 / (load(x, i) - shift)
    total = add_up(a)                               # and the up to three numbers that are left, one by one

Blocks know + − × ÷ with blocks and floats, ``least``, ``most``, ``root``, and a logarithm and an exponential
made of these: the C library's take one number at a time. In Python blocks are small arrays.
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


def pack(a: float, b: float, c: float, d: float) -> Any:
    """A block of four numbers."""
    return np.array([a, b, c, d])


def gather(values: FloatArray, arms: Any) -> Any:
    """In each lane the number of its arm, of interleaved ones: that of arm i for lane w is at 4i + w."""
    return values[_places(arms)]


def scatter(values: FloatArray, arms: Any, block: Any) -> None:
    """Write what :func:`gather` reads."""
    values[_places(arms)] = block


def _places(arms: Any) -> Any:
    return LANES * arms.astype(np.int64) + np.arange(LANES)


def indexable(values: tuple[Any, ...]) -> Any:
    """A tuple with items of one type, to be indexed: numba indexes a tuple by copying all of it."""
    return values


def item_of(items: Any, i: int) -> Any:
    """Item i of what :func:`indexable` made."""
    return items[i]


def add_up(block: Any) -> float:
    """(a + b) + (c + d)."""
    return float((block[0] + block[1]) + (block[2] + block[3]))


def least(a: Any, b: Any) -> Any:
    """The smaller one in each lane, of numbers that are not NaN."""
    return np.minimum(a, b)


def most(a: Any, b: Any) -> Any:
    """The larger one in each lane, of numbers that are not NaN."""
    return np.maximum(a, b)


def at_most(a: Any, b: Any) -> Any:
    """1 in each lane where a ≤ b, 0 elsewhere."""
    return np.less_equal(a, b).astype(np.float64)


def all_at_most(a: Any, b: Any) -> bool:
    """Is a ≤ b in every lane? Not where one of them is NaN."""
    return bool(np.less_equal(a, b).all())


def root(a: Any) -> Any:
    """Square roots."""
    return np.sqrt(a)


def mantissa_of(a: Any) -> Any:
    """m of a = m·2^k with m in [√½, √2), for positive normal numbers."""
    return _bits(_MANTISSA & _shifted(a), _ROOT_HALF)


def exponent_of(a: Any) -> Any:
    """k of a = m·2^k with m in [√½, √2), for positive normal numbers."""
    return (_shifted(a) >> 52).astype(np.float64) - 1023.0


def scale(a: Any, k: Any) -> Any:
    """a·2^k for whole numbers k, where a and the result are normal numbers."""
    return np.ldexp(a, k.astype(np.int64))


def lane(block: Any, k: int) -> float:
    """The number in lane k."""
    return float(block[k])


_ROOT_HALF = 0x3FE6A09E00000000  # the bits of √½, rounded
_ONE = 0x3FF0000000000000
_MANTISSA = 0x000FFFFFFFFFFFFF


def _shifted(a: Any) -> Any:
    return np.asarray(a).view(np.int64) + (_ONE - _ROOT_HALF)


def _bits(word: Any, more: int) -> Any:
    return (word + more).view(np.float64)


@kernel(inline=True)
def log_of(a: Any) -> Any:
    """Natural logarithms of positive normal numbers, to one unit in the last place.

    a = m·2^k, f = m − 1, s = f/(2 + f): log m = f − f²/2 + s·(f²/2 + R), with fdlibm's polynomial R in s².
    """
    k = exponent_of(a)
    f = mantissa_of(a) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (0.3999999999940941908 + w * (0.2222219843214978396 + w * 0.1531383769920937332))
    odd = 0.6666666666666735130 + w * (
        0.2857142874366239149 + w * (0.1818357216161805012 + w * 0.1479819860511658591)
    )
    half = 0.5 * f * f
    return k * 6.93147180369123816490e-01 - (
        (half - (s * (half + (even + z * odd)) + k * 1.90821492927058770002e-10)) - f
    )


@kernel(inline=True)
def exp_of(a: Any) -> Any:
    """Exponentials, to one unit in the last place; of numbers below −700 that of −700, above 700 of 700.

    a = k·log 2 + r: e^r = 1 + (r·c/(2 − c) + r) with c = r − r²·P(r²), with fdlibm's polynomial P.
    """
    a = least(most(a, -700.0), 700.0)
    k = (a * 1.44269504088896338700e00 + 6755399441055744.0) - 6755399441055744.0  # the nearest whole number
    high = a - k * 6.93147180369123816490e-01
    low = k * 1.90821492927058770002e-10
    r = high - low
    z = r * r
    c = r - z * (
        1.66666666666666019037e-01
        + z
        * (
            -2.77777777770155933842e-03
            + z
            * (
                6.61375632143793436117e-05
                + z * (-1.65339022054652515390e-06 + z * 4.13813679705723846039e-08)
            )
        )
    )
    return scale(1.0 - ((low - (r * c) / (2.0 - c)) - high), k)


def smallest(block: Any) -> float:
    """The smallest of the four."""
    return float(min(block[0], block[1], block[2], block[3]))


@introduce
def _tell_numba() -> None:  # noqa: PLR0915 - a list of small definitions that need numba
    """The same for compiled code: a numba type that is a vector of LLVM."""
    from llvmlite import ir  # type: ignore[import-untyped]  # noqa: PLC0415
    from numba.core import cgutils, types  # noqa: PLC0415
    from numba.core.imputils import impl_ret_borrowed  # noqa: PLC0415
    from numba.core.typing.templates import AbstractTemplate, infer_global, signature  # noqa: PLC0415
    from numba.extending import lower_builtin, models, register_model  # noqa: PLC0415

    number = types.float64
    vector = ir.VectorType(ir.DoubleType(), LANES)
    index = ir.IntType(32)

    class Block(types.Type):
        instance_class = np.ndarray  # generic kernels that are registered for it take blocks

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

    @infer_global(operator.neg)
    class Negative(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            return signature(block, block) if tuple(args) == (block,) else None

    @lower_builtin(operator.neg, block)  # type: ignore[untyped-decorator]
    def lower_neg(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.fneg(args[0])

    def provide(function: Any, result: Any, lower: Any) -> None:
        """``function`` as compiled code, without a call: arguments are blocks, floats, an array, an index.

        ``result`` is its type, or a function of those of the arguments.
        """

        @infer_global(function)
        class _(AbstractTemplate):  # type: ignore[misc]
            def generic(self, args: Any, kws: Any) -> Any:
                return signature(
                    result if isinstance(result, types.Type) else result(*args),
                    *(types.intp if isinstance(kind, types.Integer) else kind for kind in args),
                )

        @lower_builtin(function, types.VarArg(types.Any))  # type: ignore[attr-defined, untyped-decorator]
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return lower(context, builder, sig.args, args)

    def lower_store(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        (value,) = widen(builder, kinds[2:], args[2:])
        builder.store(value, pointer(context, builder, kinds[0], args[0], args[1]), align=8)
        return context.get_dummy_value()

    def lower_pack(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        value = ir.Constant(vector, ir.Undefined)
        for lane in range(LANES):
            value = builder.insert_element(value, args[lane], index(lane))
        return value

    def lower_add_up(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        a, b, c, d = elements(builder, args[0])
        return builder.fadd(builder.fadd(a, b), builder.fadd(c, d))

    def pick(comparison: str) -> Any:
        def lower(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
            a, b = widen(builder, kinds, args)
            return builder.select(builder.fcmp_ordered(comparison, a, b), a, b)

        return lower

    def lower_at_most(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        a, b = widen(builder, kinds, args)
        ones, zeros = (ir.Constant(vector, [value] * LANES) for value in (1.0, 0.0))
        return builder.select(builder.fcmp_ordered("<=", a, b), ones, zeros)

    def lower_all_at_most(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        a, b = widen(builder, kinds, args)
        bits = builder.bitcast(builder.fcmp_ordered("<=", a, b), ir.IntType(LANES))
        return builder.icmp_unsigned("==", bits, ir.Constant(ir.IntType(LANES), 2**LANES - 1))

    def lower_root(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        kind = ir.FunctionType(vector, [vector])
        name = f"llvm.sqrt.v{LANES}f64"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

    words = ir.VectorType(ir.IntType(64), LANES)

    def every(word: int) -> Any:
        return ir.Constant(words, [word] * LANES)

    def shifted(builder: Any, value: Any) -> Any:
        return builder.add(builder.bitcast(value, words), every(_ONE - _ROOT_HALF))

    def lower_mantissa(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        kept = builder.and_(shifted(builder, args[0]), every(_MANTISSA))
        return builder.bitcast(builder.add(kept, every(_ROOT_HALF)), vector)

    def lower_exponent(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        # 2^52 + n, for whole n ≥ 0, has n for its last bits: no conversion that processors lack
        word = builder.lshr(shifted(builder, args[0]), every(52))
        large = builder.bitcast(builder.or_(word, every(0x4330000000000000)), vector)
        return builder.fsub(large, ir.Constant(vector, [4503599627370496.0 + 1023.0] * LANES))

    def lower_scale(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        large = builder.fadd(args[1], ir.Constant(vector, [6755399441055744.0] * LANES))
        power = builder.shl(builder.bitcast(large, words), every(52))
        return builder.bitcast(builder.add(builder.bitcast(args[0], words), power), vector)

    def lower_smallest(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        a, b, c, d = elements(builder, args[0])
        less = pick("<")
        left, right = (less(context, builder, (block, block), pair) for pair in ((a, b), (c, d)))
        return less(context, builder, (block, block), (left, right))

    def places(context: Any, builder: Any, kinds: Any, args: Any) -> list[Any]:
        data = context.make_array(kinds[0])(context, builder, args[0]).data
        arms = elements(builder, builder.fptosi(args[1], ir.VectorType(index, LANES)))
        firsts = [builder.mul(arm, index(LANES)) for arm in arms]
        return [builder.gep(data, [builder.add(at, index(lane))]) for lane, at in enumerate(firsts)]

    def lower_gather(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        found = [builder.load(place) for place in places(context, builder, kinds, args)]
        return lower_pack(context, builder, (), found)

    def lower_scatter(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        for value, place in zip(
            elements(builder, args[2]), places(context, builder, kinds, args), strict=True
        ):
            builder.store(value, place)
        return context.get_dummy_value()

    class Indexable(types.Type):
        def __init__(self, item: Any) -> None:
            self.item = item
            super().__init__(name=f"Indexable({item})")

    @register_model(Indexable)
    class _(models.PrimitiveModel):  # type: ignore[misc,no-redef]
        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, cgutils.voidptr_t)

    def lower_indexable(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        place = cgutils.alloca_once_value(builder, args[0])
        return builder.bitcast(place, cgutils.voidptr_t)

    def lower_item_of(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        place = builder.bitcast(args[0], context.get_value_type(kinds[0].item).as_pointer())
        item = builder.load(builder.gep(place, [args[1]]))
        return impl_ret_borrowed(context, builder, kinds[0].item, item)  # the tuple still owns it

    provide(
        load,
        block,
        lambda context, builder, kinds, args: builder.load(
            pointer(context, builder, kinds[0], args[0], args[1]), align=8
        ),
    )
    provide(store, types.void, lower_store)
    provide(fill, block, lambda context, builder, kinds, args: spread(builder, args[0]))
    provide(pack, block, lower_pack)
    provide(add_up, number, lower_add_up)
    provide(least, block, pick("<"))
    provide(most, block, pick(">"))
    provide(at_most, block, lower_at_most)
    provide(all_at_most, types.boolean, lower_all_at_most)
    provide(root, block, lower_root)
    provide(mantissa_of, block, lower_mantissa)
    provide(exponent_of, block, lower_exponent)
    provide(scale, block, lower_scale)
    provide(lane, number, lambda context, builder, kinds, args: builder.extract_element(*args))
    provide(smallest, number, lower_smallest)
    provide(indexable, lambda kind: Indexable(kind.dtype), lower_indexable)
    provide(item_of, lambda kind, _: kind.item, lower_item_of)
    provide(gather, block, lower_gather)
    provide(scatter, types.void, lower_scatter)
