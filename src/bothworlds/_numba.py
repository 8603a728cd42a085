"""All that touches numba itself, which is imported with this file: at the first kernel that is compiled.

Much of it is not numba's public interface: the disk cache, the type of a SIMD block and how its operations
become LLVM instructions. So numba has bounds, here and in pyproject.toml, and ``tests/test_numba.py`` says
what has changed when they are raised.
"""

from __future__ import annotations

import gc
import itertools
import operator
import os
import re
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from llvmlite.binding import parse_bitcode  # type: ignore[import-untyped]
from numba.core import caching, cgutils, serialize, types
from numba.core.bytecode import FunctionIdentity
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, compile_result
from numba.core.errors import NumbaError, TypingError
from numba.core.imputils import impl_ret_borrowed
from numba.core.runtime import _nrt_python, rtsys
from numba.core.targetconfig import ConfigStack
from numba.core.types.functions import BaseFunction
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, overload, register_model

from bothworlds import _code_cache, _jit, _simd
from bothworlds._simd import LANES, MANTISSA, ONE, ROOT_HALF

VERSIONS = (0, 68), (0, 69)  # from the first on, and below the second
if not VERSIONS[0] <= numba.version_info.short < VERSIONS[1]:
    raise ImportError(f"version {numba.__version__} is installed, of which bothworlds knows nothing")

# Always with "_nrt", the reference counts: a callee that does not say would inherit its caller's.
FLAGS: dict[str, Any] = {"error_model": "numpy"}
CompilerError = NumbaError


def interpreted() -> bool:
    """Is everything run as plain Python, by NUMBA_DISABLE_JIT=1?"""
    return bool(numba.config.DISABLE_JIT)


# The types of calls that were found before, by function, types of arguments and flags.
_calls: dict[Any, Any] = {}


def _call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """``BaseFunction.get_call_type``, which numba asks ten times for each call, and each time looks anew."""
    flags = getattr(ConfigStack.top_or_none(), "_values", {})
    in_force = tuple(sorted((name, str(flag)) for name, flag in flags.items()))
    asked = self, context, tuple(args), tuple(kws.items()), in_force
    if asked not in _calls:
        _calls[asked] = FIND_CALL_TYPE(self, context, args, kws)
    return _calls[asked]


FIND_CALL_TYPE = BaseFunction.get_call_type


class QuickCompiler(Compiler):  # type: ignore[misc] # numba has no types, here and below
    """numba's compiler, which takes a fifth to a quarter less time.

    It remembers the types of calls, and does without Python's garbage collection, which would look through a
    million objects again and again. A lock of numba's lets one thread compile at a time.
    """

    def compile_extra(self, func: Any) -> Any:
        collecting, find = gc.isenabled(), BaseFunction.get_call_type
        gc.disable()
        BaseFunction.get_call_type = _call_type  # type: ignore[method-assign]
        try:
            return super().compile_extra(func)
        finally:
            BaseFunction.get_call_type = find  # type: ignore[method-assign]
            if collecting:
                gc.enable()


class InnerCode(JITCodeLibrary):  # type: ignore[misc]
    """Code that only compiled code calls: linked into its callers and optimized there, once, as a whole."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:  # no machine code of its own
        self._finalize_dynamic_globals()
        self._finalized = True


class InnerCompiler(QuickCompiler):
    """numba's compiler for inner code: without wrappers for Python and C, in half the time, and once.

    What it makes is saved as LLVM's bitcode, with all that it calls.
    """

    def __init__(
        self, typing: Any, target: Any, library: Any, args: Any, result: Any, flags: Any, kinds: Any
    ):
        flags = flags.copy()
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        super().__init__(typing, target, library, args, result, flags, kinds)

    def compile_extra(self, func: Any) -> Any:
        target, flags = self.state.targetctx, self.state.flags.summary()
        self.name = name_in_cache(func, self.state.args, target, flags)
        found = _code_cache.load_code(self.name) if self.name else None
        made = self._linkable(found) if found else None
        wanted = tuple(self.state.args)  # another class may have the name of the one that it was made for
        if made is None or made.signature.args != wanted:
            self.state.library = InnerCode(target.codegen(), func.__qualname__)
            made, found = super().compile_extra(func), None
        if self.name and not found and not made.library.has_dynamic_globals:
            _code_cache.save_code(self.name, serialize.dumps(_to_link(made)))
        key: Any = [].append  # callers find the code by what Python would call: a builtin like no other
        made = made._replace(entry_point=key)
        target.insert_user_function(key, made.fndesc, [made.library])
        return made

    def _compile_bytecode(self) -> Any:
        if self.name:  # the same in every process: what two kernels from different ones both call is one
            identity = self.state.func_id
            identity.unique_id = int(self.name[-15:], 16)
            identity.unique_name = f"{identity.func_qualname}${identity.unique_id}"
        return super()._compile_bytecode()

    def _linkable(self, found: bytes) -> Any:
        """What :func:`_to_link` took apart."""
        bitcode, fndesc, environment, kinds, inits, environments = serialize.loads(found)
        library = InnerCode(self.state.targetctx.codegen(), fndesc.qualname)
        library._final_module = library._shared_module = parse_bitcode(bitcode)
        library._finalize_final_module()
        for init in inits:
            init()
        return compile_result(
            typing_context=self.state.typingctx,
            target_context=self.state.targetctx,
            signature=kinds,
            fndesc=fndesc,
            environment=environment,
            library=library,
            lifted=(),
            objectmode=False,
            reload_init=inits,
            referenced_envs=environments,
        )


def _to_link(made: Any) -> tuple[Any, ...]:
    """All that callers need of inner code."""
    bitcode = made.library._get_module_for_linking().as_bitcode()
    fndesc = made.fndesc
    fndesc.typemap = fndesc.calltypes = None  # as numba does: they are not needed any more, and large
    environments = tuple(made._find_referenced_environments())
    return bitcode, fndesc, made.environment, made.signature, made.reload_init, environments


# Names in bitcode of different processes must differ, unless they are of our kernels.
FunctionIdentity._unique_ids = itertools.count(secrets.randbits(60))


# What could not be compiled, innermost first; numba may try again, with other types.
failed: dict[Callable[..., Any], None] = {}


class Choice(AbstractTemplate):  # type: ignore[misc]
    """What compiled code calls by the name of a kernel: ``numba.extending.overload`` with flags by types."""

    choose: Callable[..., tuple[Callable[..., Any], dict[str, bool]]]
    signatures: dict[Any, Any]
    code: dict[Any, Any]

    def generic(self, args: Any, kws: Any) -> Any:
        asked = tuple(args), tuple(kws.items())
        if asked not in self.signatures:
            implementation, flags = self.choose(*args)
            compiler = numba.njit(pipeline_class=InnerCompiler, **FLAGS, **flags)(implementation)._compiler
            python, kinds = compiler.fold_argument_types(args, kws)
            try:
                made = compiler.compile(kinds, None)
            except (NumbaError, AttributeError) as error:
                failed[implementation] = None
                if isinstance(error, NumbaError):
                    raise
                raise TypingError(f"AttributeError: {error}") from error  # of a module: numba lets it through
            failed.pop(implementation, None)
            self.code[made.signature.args] = made.entry_point
            self.signatures[asked] = made.signature.replace(pysig=python)
        return self.signatures[asked]

    def get_impl_key(self, sig: Any) -> Any:
        return self.code[sig.args]


def offer(
    function: Callable[..., Any], choose: Callable[..., tuple[Callable[..., Any], dict[str, bool]]]
) -> None:
    """Let compiled code call ``function``; ``choose`` picks its implementation, and the flags for that."""
    own = {"key": function, "choose": staticmethod(choose), "signatures": {}, "code": {}}
    infer_global(function, types.Function(type(f"Choice_{function.__name__}", (Choice,), own)))


def dispatcher(function: Callable[..., Any], *, allocates: bool) -> Any:
    """A function that compiles itself for new types of arguments, and keeps the result on disk."""
    made = numba.njit(nogil=True, _nrt=allocates, pipeline_class=QuickCompiler, **FLAGS)(function)
    made._cache = DiskCache(function)
    return made


def machine_code(made: Any, argument_types: tuple[Any, ...]) -> Callable[..., Any]:
    """The machine code of a dispatcher for these types, compiled if need be."""
    made.compile(argument_types)
    return made.overloads[argument_types].entry_point  # type: ignore[no-any-return]


def arrays_alive() -> int:
    """How many arrays compiled code has allocated and not freed, since this was asked for the first time."""
    _nrt_python.memsys_enable_stats()
    counts = rtsys.get_allocation_stats()
    return int(counts.mi_alloc - counts.mi_free)


def type_of(value: Any) -> Any:
    """The type that numba sees."""
    return numba.typeof(value)


def places_of(error: NumbaError) -> list[tuple[str, int]]:
    """Files and lines of what could not be compiled, innermost first."""
    found = re.findall(r"""\b(?:at |File ")(\S[^"\n]*\.py)(?: \(|", line )(\d+)""", str(error))
    return [(os.path.abspath(file), int(line)) for file, line in found]  # some are as seen from here


def article(kind: str) -> str:
    """A class in words: a dict, an OrderedDict."""
    name = kind.rpartition(".")[2]
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def diagnose(error: NumbaError) -> tuple[str, str]:
    """What is wrong in a line, and what to do."""
    text = str(error)
    if "NRT required but not enabled" in text:
        return (
            "it takes memory, which kernels inside the package do not get",
            "write a loop or copy(values, out) for out[:] = values, or register it with allocates=True",
        )
    unknown = re.search(r"Untyped global name '(\w+)':.*?<class '([\w.]+)'>", text, re.DOTALL)
    if unknown:
        name, kind = unknown.groups()
        if kind == "function":
            return f"{name} is not a kernel", f"put @kernel above def {name}"
        return (
            f"{name} is {article(kind)}, which kernels cannot read",
            "give its numbers to the NamedTuple of parameters, or its arrays to the state",
        )
    undefined = re.search(r"NameError: name '(\w+)' is not defined", text)
    if undefined:
        return f"{undefined[1]} is not defined", "import or define it in the file of the kernel"
    misspelled = re.search(r"AttributeError: (module '[\w.]+' has no attribute '\w+')", text)
    if misspelled:
        return misspelled[1], "is it spelled right?"
    missing = re.search(r"Unknown attribute '(\w+)' of type (\w+)", text)
    if missing:
        name, owner = missing.groups()
        return f"{owner} has no {name}", f"use a field of {owner}, or give it this one"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    reasons = [line for line in lines if line.startswith(("Cannot", "Unknown", "Untyped"))]
    reasons = (
        reasons or [line for line in lines if line.startswith("No implementation")][-1:]
    )  # the innermost
    said = re.sub(r"Function\(<function (\w+) at 0x\w+>\)", r"\1", (reasons or lines)[0])
    return said, "use what numba compiles: numbers, NumPy arrays, loops, other kernels"


# --- the disk cache -------------------------------------------------------------------------------------


def _inside(kind: Any) -> tuple[Any, ...]:
    """The types that a numba type is made of."""
    return (kind.item,) if isinstance(kind, Indexable) else tuple(getattr(kind, "types", ()))


def _classes(kind: Any) -> Iterator[type]:
    """The ``NamedTuple`` classes in a numba type, however deep."""
    if hasattr(kind, "instance_class"):
        yield kind.instance_class
    for part in _inside(kind):
        yield from _classes(part)


def _spell(kind: Any) -> str:
    """A type in words that no other type has: numba says only the last name of a class."""
    made = getattr(kind, "instance_class", None)
    fields = f" {made.__module__}.{made.__qualname__}{getattr(made, '_fields', '')}" if made else ""
    return f"{type(kind).__name__} {kind}{fields}[{', '.join(map(_spell, _inside(kind)))}]"


def name_in_cache(
    function: Callable[..., Any], argument_types: Iterable[Any], target: Any, flags: str = ""
) -> str:
    """Under which name the cache has ``function`` for these types; empty where it cannot be told."""
    kinds = tuple(argument_types)
    classes = dict.fromkeys(found for kind in kinds for found in _classes(kind))
    others = [implementation for found in classes for implementation in _jit.outside.get(found, ())]
    compiler = numba.__version__, sys.implementation.cache_tag, target.codegen().magic_tuple(), flags
    try:
        return _code_cache.file_name_of(function, *others, types=f"{list(map(_spell, kinds))} {compiler}")
    except _code_cache.UnnamedError:
        return ""


class DiskCache(caching.NullCache):  # type: ignore[misc]
    """The machine code of an entry, for its dispatcher."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        name = name_in_cache(self.function, sig, target_context)
        found = _code_cache.load_code(name) if name else None
        made = CompileResult._rebuild(target_context, *serialize.loads(found)) if found else None
        return made if made is not None and made.signature.args == tuple(sig) else None

    def has(self, sig: Any, target_context: Any) -> bool:
        name = name_in_cache(self.function, sig, target_context)
        return bool(name) and _code_cache.has_code(name)

    def save_overload(self, sig: Any, data: Any) -> None:
        name = name_in_cache(self.function, sig, data.target_context)
        if name and not data.library.has_dynamic_globals:
            _code_cache.save_code(name, serialize.dumps(data._reduce()))


# --- blocks of four numbers -----------------------------------------------------------------------------


class Block(types.Type):
    """The type of a block."""

    instance_class = np.ndarray  # generic kernels that are registered for it take blocks

    def __init__(self) -> None:
        super().__init__(name="Block")


class Indexable(types.Type):
    """The type of a tuple whose items, all of one type, are found by a number."""

    def __init__(self, item: Any) -> None:
        self.item = item
        super().__init__(name=f"Indexable({item})")


def extend_by_blocks() -> None:  # noqa: PLR0915 - a list of small definitions
    """The functions of _simd.py for compiled code: a numba type that is a vector of LLVM."""
    number = types.float64
    vector = ir.VectorType(ir.DoubleType(), LANES)
    index = ir.IntType(32)

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
        return builder.add(builder.bitcast(value, words), every(ONE - ROOT_HALF))

    def lower_mantissa(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        mantissa = builder.and_(shifted(builder, args[0]), every(MANTISSA))
        return builder.bitcast(builder.add(mantissa, every(ROOT_HALF)), vector)

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
        _simd.load,
        block,
        lambda context, builder, kinds, args: builder.load(
            pointer(context, builder, kinds[0], args[0], args[1]), align=8
        ),
    )
    provide(_simd.store, types.void, lower_store)
    provide(_simd.fill, block, lambda context, builder, kinds, args: spread(builder, args[0]))
    provide(_simd.make_block, block, lower_pack)
    provide(_simd.add_up, number, lower_add_up)
    provide(_simd.least, block, pick("<"))
    provide(_simd.most, block, pick(">"))
    provide(_simd.each_at_most, block, lower_at_most)
    provide(_simd.all_at_most, types.boolean, lower_all_at_most)
    provide(_simd.root, block, lower_root)
    provide(_simd.mantissa_of, block, lower_mantissa)
    provide(_simd.exponent_of, block, lower_exponent)
    provide(_simd.scale, block, lower_scale)
    provide(_simd.lane, number, lambda context, builder, kinds, args: builder.extract_element(*args))
    provide(_simd.smallest, number, lower_smallest)
    provide(_simd.indexable, lambda kind: Indexable(kind.dtype), lower_indexable)
    provide(_simd.item_of, lambda kind, _: kind.item, lower_item_of)
    provide(_simd.gather, block, lower_gather)
    provide(_simd.scatter, types.void, lower_scatter)


# --- words of 64 bits -----------------------------------------------------------------------------------


def extend_by_long_words(plus: Callable[..., Any], times: Callable[..., Any]) -> None:
    """Sum and product of unsigned words for compiled code."""
    word, double = types.uint64, ir.IntType(128)

    @intrinsic  # type: ignore[untyped-decorator]
    def add(typing_context: Any, a: Any, b: Any) -> Any:
        return word(word, word), lambda context, builder, signature, args: builder.add(*args)

    @intrinsic  # type: ignore[untyped-decorator]
    def multiply(typing_context: Any, a: Any, b: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            product = builder.mul(*(builder.zext(value, double) for value in args))
            high = builder.lshr(product, ir.Constant(double, 64))
            halves = [builder.trunc(half, ir.IntType(64)) for half in (high, product)]
            return context.make_tuple(builder, signature.return_type, halves)

        return types.UniTuple(word, 2)(word, word), lower  # type: ignore[attr-defined]

    flags = {"_nrt": False, "forceinline": True}
    overload(plus, jit_options=flags)(lambda a, b: lambda a, b: add(a, b))  # noqa: PLW0108 - numba's way
    overload(times, jit_options=flags)(lambda a, b: lambda a, b: multiply(a, b))  # noqa: PLW0108
