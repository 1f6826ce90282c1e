"""What of a value counts? Its canonical form; two outputs are the same when their forms are equal.

* Numbers count by exact value, whatever their type: 1 == 1.0 == Fraction(1) == numpy.float32(1) == 1+0j, but
  2**53 + 1 != 2.0**53. A bool is never a number. NaN equals NaN, and -0.0 equals 0.0.
* Arrays count by shape and elements, whatever dtype, byte order or memory layout. A 0-d array is its element.
  Masked arrays count by mask and unmasked elements, records by field names and fields, dates by instant.
* An array is not a list, a list is not a tuple, a namedtuple counts its class. The order of dicts and sets does
  not count, nor does set against frozenset or dict against its subclasses. A subclass of a container that
  carries attributes counts its class and attributes too. Subclasses of numbers, texts, bytes and arrays count by the
  value below, whatever their own methods say of it.
* Enums count by class and name, dataclasses by class and fields (but for `compare=False`), other objects by class
  and attributes. State that Python cannot see as attributes is read as pickle would read it.
* Frames, tables and series of pandas, polars and pyarrow count by labels, names and values in order, xarray objects by
  dimensions, coordinates, names and values, sparse matrices by shape and non-zero values, tensors of torch by shape and
  elements: none by dtype, chunks, storage format, device or attributes besides.
* A value of any other class that has `__array__` or `__dlpack__`, such as an array of jax, counts as the numpy array
  that it gives, and by its mask, units or labels if it has attributes of these names. If it gives no array, it is an
  object. Keys of jax.random count by their bits. Quantities of pint and astropy count by numbers and unit.
* Classes and functions count by qualified name, and only when that name leads back to them.
* What has no such form is refused with NotComparable, never passed over: lambdas, local functions and classes,
  iterators, open files, locks, modules, and whatever contains itself or is nested too deeply.
"""

from __future__ import annotations

import copyreg
import dataclasses
import functools
import math
import struct
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any

import numpy as np

from auditor.values.libraries import in_own_type, library_value, read_by_numpy
from auditor.values.node import Item, Node, Refused, framed, packed

_EXACT_FLOAT = 2**53  # every integer up to here is a float64
_MAX_DECIMAL_EXPONENT = 100_000  # writing out a larger power of ten exactly could exhaust memory
_HEAP_TYPE = 1 << 9  # CPython's Py_TPFLAGS_HEAPTYPE: absent on types built in C with hidden state
_POINTER = struct.calcsize("P")
_PLAIN_ARRAYS = (np.ndarray, np.matrix, np.memmap, np.recarray, np.ma.MaskedArray, type(np.ma.masked))
_ATTOSECONDS = {"as": 1, "fs": 10**3, "ps": 10**6, "ns": 10**9, "us": 10**12, "ms": 10**15, "s": 10**18}
_ATTOSECONDS |= {name: n * 10**18 for name, n in {"m": 60, "h": 3600, "D": 86400, "W": 604800}.items()}
_MONTHS = {"M": 1, "Y": 12}
_RATIO = ("_numerator", "_denominator")
_CONTAINERS: tuple[Any, ...] = (list, tuple, dict, set, frozenset)


# Scalars: a tag byte and the value.


def _float(value: float) -> bytes:
    """Return the code of a float: NaN is NaN, and -0.0 is 0.0."""
    return b"d" + struct.pack("<d", value + 0.0 if value == value else math.nan)  # + 0.0 turns -0.0 into 0.0


def _integer(value: Any) -> bytes:
    """Return the code of a whole number: that of a float where it is one exactly."""
    number = int(value)
    return b"d" + struct.pack("<d", number) if -_EXACT_FLOAT <= number <= _EXACT_FLOAT else _real(number)


def _real(value: Any) -> bytes:
    """Return the code of a real number: of the float64 that it is exactly, else of its ratio."""
    if isinstance(value, Decimal):
        if value.is_nan():
            return _float(math.nan)
        if value.is_finite() and value and abs(value.adjusted()) > _MAX_DECIMAL_EXPONENT:
            raise Refused(f"its exponent is beyond {_MAX_DECIMAL_EXPONENT}")
    try:
        top, bottom = value.as_integer_ratio()
    except (ValueError, OverflowError):  # NaN and infinities have no ratio
        return _float(float(value))
    try:
        near = top / bottom
    except OverflowError:
        near = math.inf
    if math.isfinite(near) and near.as_integer_ratio() == (top, bottom):
        return _float(near)
    return b"q" + f"{top:x}/{bottom:x}".encode()  # hexadecimal, as Python limits the length of decimals


def _complex(value: Any) -> bytes:
    """Return the code of a complex number: that of a real number where the imaginary part is 0."""
    real, imag = _real(value.real), _real(value.imag)
    if value.imag == 0:
        return real
    return b"z" + real[1:] + imag[1:] if real[:1] == imag[:1] == b"d" else b"Z" + framed([real, imag])


def moments(array: Any) -> list[bytes]:
    """Return the codes of datetime64 or timedelta64: of the instant or duration, whatever unit it was counted in."""
    if array.dtype.kind == "M" and np.datetime_data(array.dtype)[0] in _MONTHS:
        array = array.astype("M8[D]")  # a month starts on a day; only durations in months have no length
    unit, count = np.datetime_data(array.dtype)
    family = "months" if unit in _MONTHS else "unitless" if unit == "generic" else "time"
    scale = count * (_MONTHS | _ATTOSECONDS).get(unit, 1)
    lost = int(np.iinfo(np.int64).min)  # how NaT is stored
    names = [
        f"{family} {tick * scale:x}" if tick != lost else "NaT" for tick in array.astype(np.int64).ravel().tolist()
    ]
    return [f"t{array.dtype.kind}{name}".encode() for name in names]


LEAVES: dict[type, Callable[[Any], bytes]] = {
    bool: lambda value: b"?\1" if value else b"?\0",
    int: _integer,
    float: _float,
    complex: _complex,
    str: lambda value: b"s" + str.encode(value, "utf-8", "surrogatepass"),
    bytes: lambda value: b"b" + value,
    type(None): lambda value: b"N",
    type(...): lambda value: b"E",
}
_SUBCLASS_LEAVES: tuple[tuple[Any, Callable[[Any], bytes]], ...] = (
    (np.bool_, LEAVES[bool]),
    ((np.datetime64, np.timedelta64), lambda value: moments(np.asarray(value))[0]),  # before the integers
    ((complex, np.complexfloating), _complex),
    (float, lambda value: _float(float(value))),
    ((int, np.integer), _integer),
    ((np.floating, Fraction, Decimal), _real),
    (str, LEAVES[str]),
    ((bytes, bytearray), LEAVES[bytes]),
)
_NUMPY = frozenset(np.sctypeDict.values())
_BASES: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (complex, lambda value: complex(complex.real.__get__(value), complex.imag.__get__(value))),
    (float, float.__float__),
    (int, int.__int__),
    (str, str.__str__),
    (bytes, lambda value: bytes.__getitem__(value, slice(None))),
    (bytearray, lambda value: bytes(bytearray.__getitem__(value, slice(None)))),
    (Fraction, lambda value: Fraction(*(base_value(vars(Fraction)[name].__get__(value)) for name in _RATIO))),
    (Decimal, Decimal),
    ((np.datetime64, np.timedelta64, np.void), np.generic.view),  # before the numbers, which a duration is too
    (np.number, lambda value: vars(next(kind for kind in type(value).__mro__ if kind in _NUMPY))["__pos__"](value)),
    (np.ma.MaskedArray, lambda value: in_own_type(np.ndarray.view(value, np.ma.MaskedArray))),
    (np.ndarray, lambda value: in_own_type(np.ndarray.view(value, np.ndarray))),
    (np.generic, lambda value: in_own_type(np.asarray(value))[()]),  # of a type that is not numpy's
    (list, lambda value: list(list.__iter__(value))),
    (tuple, lambda value: tuple(tuple.__iter__(value))),
    (dict, lambda value: dict(dict.items(value))),
)


def base_value(value: Any) -> Any:
    """Return the plain number, text, array or container that a value of some other class stands for.

    Of a subclass only the base's methods are asked: it may say of itself what it likes, that it equals everything or
    that it is another number. Arrays of other libraries become numpy's, unless they have labels. Anything else is
    returned as it is.
    """
    if type(value) in LEAVES or type(value) in _NUMPY:
        return value
    for kind, base in _BASES:
        if isinstance(value, kind):
            return base(value)
    read = read_by_numpy(value)
    return value if read is None or read.labels else base_value(read.array)


def _scalar(value: Any) -> bytes | Node | None:
    """Return the code or the node of an enum, a number, a text, a path or a range; None for anything else."""
    if isinstance(value, Enum):  # before int and str, which an Enum may also be
        return Node(f"enum {class_name(type(value))}", [(".name", value.value if value.name is None else value.name)])
    for kinds, leaf in _SUBCLASS_LEAVES:
        if isinstance(value, kinds):
            return leaf(base_value(value))
    if isinstance(value, PurePath):  # its attributes are caches
        return Node(f"path {class_name(type(value))}", [("", PurePath.__str__(value))])
    if isinstance(value, range):
        shape = (len(value), value[0] if value else None, value.step if len(value) > 1 else None)
        return Node("range", [("", shape)])
    return None


# Arrays.


def exact_floats(array: Any) -> Any:
    """Return an array of real numbers as canonical float64; None if that would change a value."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind in "iu" and size == 8 and array.size and max(int(array.max()), -int(array.min())) > _EXACT_FLOAT:
        return None
    with np.errstate(all="ignore"):
        floats = array.astype("<f8", order="C")
    nan = np.isnan(floats)
    if kind == "f" and size > 8 and not np.all((floats == array) | nan):
        return None
    floats += 0.0
    floats[nan] = np.nan
    return floats


def _body(array: Any) -> Iterable[Any]:
    """Yield the buffers that an array's code is made of: those that `packed` makes of the codes of its elements."""
    kind = array.dtype.kind
    if array.size == 0:
        return (b"d",)
    if kind == "b":
        return b"?", array.tobytes()
    if kind in "mM":
        return (packed(moments(array)),)
    if kind == "c" and array.imag.any():
        parts = [exact_floats(array.real), exact_floats(array.imag)]
        if not any(part is None for part in parts):
            return b"z", np.stack(parts, axis=-1).ravel()
    elif kind in "iufc" and (floats := exact_floats(array.real)) is not None:
        return b"d", floats.ravel()
    return (packed([leaf_code(element) for element in array.ravel().tolist()]),)


def leaf_code(value: object) -> bytes:
    """Return the code of an element of an array that holds no objects."""
    found = expand(value)
    return found if isinstance(found, bytes) else found.code([])


def array_attributes(value: Any) -> list[tuple[str, object]]:
    """Return what an array of a subclass carries besides its elements, such as a unit."""
    if not isinstance(value, np.ndarray) or type(value) in _PLAIN_ARRAYS:
        return []
    known = getattr(base_value(value), "__dict__", {})
    return [pair for pair in _attributes(value) if pair[0][1:] not in known]


def _array(value: Any) -> bytes | Node | None:
    """Return the node of an array, a record or a numpy scalar; None for anything else."""
    if isinstance(value, np.generic) and type(value) not in _NUMPY and value.dtype.isbuiltin == 2:
        value = base_value(value)
        return expand(value) if type(value) in _NUMPY else None
    if isinstance(value, np.void) and type(value) is not np.void:
        value = np.generic.view(value)
    if type(value) is np.void and value.dtype.names is None:
        return b"b" + value.tobytes()
    if not isinstance(value, (np.ndarray, np.void)):
        return None
    masked = isinstance(value, np.ma.MaskedArray)
    if own := array_attributes(value):
        return Node(f"object {class_name(type(value))}", [("", base_value(value)), *own])
    if isinstance(value, np.ndarray):
        value = in_own_type(value if type(value) in _PLAIN_ARRAYS else base_value(value))
    if value.dtype.names is not None:
        fields = [(f"[{name!r}]", value[name]) for name in value.dtype.names]
        return Node(f"record {value.shape}", fields, array=None if masked else np.asarray(value))
    if masked:
        mask = np.ma.getmaskarray(value)
        return Node(f"masked {value.shape}", [(".mask", mask), (".data", np.asarray(value)[~mask])])
    value = np.asarray(value)
    if value.ndim == 0:
        return expand(value[()])
    if value.dtype.hasobject:
        elements = list(zip(np.ndindex(value.shape), value.ravel().tolist(), strict=True))
        return Node(f"array {value.shape}", elements, value)
    return Node(f"array {value.shape}", (), value, functools.partial(_body, value))


def _array_like(value: Any) -> bytes | Node | None:
    """Return the level of a value of another library that numpy reads as an array."""
    read = read_by_numpy(value)
    if read is None:
        return None
    return Node("labelled array", [("", read.array), *read.labels]) if read.labels else expand(read.array)


# Containers.


def _container(value: Any) -> Node | None:
    """Return the node of a list, tuple, dict or set; None for anything else."""
    base = next((kind for kind in _CONTAINERS if isinstance(value, kind)), None)
    if base is None or hasattr(type(value), "n_sequence_fields"):  # a struct sequence, as struct_time, hides fields
        return None
    own = [] if type(value) is base else _attributes(value)
    fields = getattr(type(value), "_fields", None)
    if base is tuple and isinstance(fields, tuple) and len(fields) == tuple.__len__(value):
        named = [(f".{name}", item) for name, item in zip(fields, tuple.__iter__(value), strict=True)]
        return Node(f"namedtuple {class_name(type(value))}", [*named, *own])
    if own:
        plain = dict(dict.items(value)) if base is dict else base(base.__iter__(value))
        return Node(f"object {class_name(type(value))}", [("", plain), *own])
    if base is dict:
        items = [Item(key, entry) for key, entry in dict.items(value)]
        return Node("dict", [(item, item) for item in items])
    if base in (set, frozenset):
        return Node("set", [(Item(part), part) for part in base.__iter__(value)])
    return Node(base.__name__, list(enumerate(base.__iter__(value))))


# Objects.


def class_name(kind: type) -> str:
    """Return the full name of a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _attributes(value: object) -> list[tuple[str, object]]:
    """Return instance attributes and slots by name; `__slots__` marks the classes written in Python."""
    found = [(f".{name}", item) for name, item in getattr(value, "__dict__", {}).items()]
    for base in type(value).__mro__:
        for name, slot in vars(base).items() if "__slots__" in vars(base) else ():
            if isinstance(slot, types.MemberDescriptorType):
                try:
                    found.append((f".{name}", slot.__get__(value, base)))
                except AttributeError:  # a slot never filled
                    continue
    return sorted(found, key=lambda pair: pair[0])


@functools.lru_cache(maxsize=1024)
def _all_visible(kind: type) -> bool:
    """True if attributes are all there is: no base in C, and no room in the instance but for its attributes.

    A C type whose instances differ in length has room for that length.
    """
    for base in kind.__mro__[:-1]:
        owners = [vars(owner) for owner in base.__mro__ if "__slots__" in vars(owner)]
        slots = sum(isinstance(slot, types.MemberDescriptorType) for owner in owners for slot in owner.values())
        pointers = slots + (base.__dictoffset__ > 0) + (base.__weakrefoffset__ > 0)
        room = base.__basicsize__ - object.__basicsize__ - pointers * _POINTER
        if not base.__flags__ & _HEAP_TYPE or room > 0:
            return False
    return True


def _object(value: Any) -> Node | None:
    """Return the node of an object by its attributes, or of a dataclass by its fields; None where it hides some."""
    if isinstance(value, Iterator):  # open files too
        raise Refused("it is an iterator: reading it would use it up")
    kind: Any = type(value)
    if isinstance(value, type) or not _all_visible(kind):
        return None
    if dataclasses.is_dataclass(value):
        fields = [field.name for field in dataclasses.fields(value) if field.compare]
        return Node(f"dataclass {class_name(kind)}", [(f".{name}", getattr(value, name)) for name in fields])
    return Node(f"object {class_name(kind)}", _attributes(value))


def _named(value: Any) -> bytes | Node | None:
    """Return the code of a class or a function, if its name leads back to it, or the level of a method."""
    ufunc = isinstance(value, np.ufunc)  # most of them do not know where they are from
    name = value.__name__ if ufunc else getattr(value, "__qualname__", None)
    if not isinstance(name, str):
        return None
    for place in ("numpy", "scipy.special") if ufunc else (getattr(value, "__module__", None) or "builtins",):
        target: Any = sys.modules.get(place)
        for step in name.split("."):
            target = getattr(target, step, None)
        if target is value:
            return b"g" + f"{place}.{name}".encode()
    if isinstance(value, types.MethodType):
        return Node("method", [(".__self__", value.__self__), (".__func__", value.__func__)])
    if isinstance(value, types.BuiltinMethodType) and not isinstance(value.__self__, types.ModuleType | None):
        return Node("method", [(".__self__", value.__self__), (".__name__", value.__name__)])
    if ufunc or isinstance(value, (type, types.FunctionType)):
        raise Refused(f"{name[:100]} is local or has no importable name")
    return None


def _without_lazy_dict(kind: Any, state: Any) -> Any:
    """Return the state of an object as it is before anybody asks for its `__dict__`, which some types in C make only
    then: no attributes are None, as if there were no dict. A partial has its dict last, behind what it calls."""
    if type(state) is dict and not state:
        return None
    if kind.__reduce__ is functools.partial.__reduce__ and type(state) is tuple:
        return (*state[:3], *(own or None for own in state[3:]))
    return state


def _reduced(value: Any) -> Node:
    """Return the state that is hidden in C, as pickle would read it; what pickle refuses raises here."""
    kind = type(value)
    reducer = copyreg.dispatch_table.get(kind)
    form: Any = reducer(value) if reducer else value.__reduce_ex__(4)
    if isinstance(form, str):
        return Node(f"singleton {class_name(kind)}", [("", form)])
    maker, arguments, *state = form
    own = [class_name(kind) if item is kind else item for item in (maker, *arguments)]
    rest = [list(item) if isinstance(item, Iterator) else item for item in state]
    if rest:
        rest[0] = _without_lazy_dict(kind, rest[0])
    while rest and rest[-1] is None:
        rest.pop()
    return Node(f"reduced {class_name(kind)}", [(".__reduce__()[:2]", own), (".__reduce__()[2:]", rest)])


def expand(value: object) -> bytes | Node:
    """Return the code of a scalar, or one level of anything else, by the policy. The order of the rules matters."""
    try:
        leaf = LEAVES.get(type(value))
    except TypeError:  # Python itself cannot say then of which abstract classes it is
        meta = class_name(type(type(value)))
        raise Refused(f"its metaclass {meta} has __eq__ and no __hash__: add __hash__ = type.__hash__") from None
    if leaf is not None:
        return leaf(value)
    if type(value) is Item:
        return Node("item", [(" key", value.key), ("", value.value)])
    if type(value) in _CONTAINERS and (node := _container(value)):  # the common case, without the questions below
        return node
    if type(value) in weakref.ProxyTypes:  # which say that they are of the class that their object is of
        raise Refused("it is a weak reference to an object that may be gone when it is read: return the object itself")
    for rule in (_scalar, _array, library_value, _container, _array_like, _object, _named):
        found = rule(value)
        if found is not None:
            return found
    return _reduced(value)
