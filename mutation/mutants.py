"""Which mutants are tried: a seeded sample of those that change what a module does.

A mutant's rank is a hash of the seed and of where it is, so the sample of one module does not depend on the others.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_item import MutationSpec, WorkItem
from scope import ROOT

# One neighbour of each operator, not all: `+` made `<<` fails at once on any float, and says nothing of the tests.
_BINARY = "Add_Sub Sub_Add Mul_Div Div_Mul FloorDiv_Div Mod_FloorDiv Pow_Mul RShift_LShift LShift_RShift"
_BINARY += " BitAnd_BitOr BitOr_BitAnd BitXor_BitAnd"
_COMPARISON = "Lt_LtE LtE_Lt Gt_GtE GtE_Gt Lt_GtE LtE_Gt Gt_LtE GtE_Lt Eq_NotEq NotEq_Eq Is_IsNot IsNot_Is"
_OTHERS = "AddNot NumberReplacer ReplaceAndWithOr ReplaceOrWithAnd ReplaceTrueWithFalse ReplaceFalseWithTrue"
_OTHERS += " ReplaceUnaryOperator_Delete_USub ReplaceUnaryOperator_Delete_Not ReplaceUnaryOperator_Delete_Invert"
_OTHERS += " ReplaceBreakWithContinue ReplaceContinueWithBreak ExceptionReplacer ZeroIterationForLoop RemoveDecorator"
OPERATORS = [
    *(f"core/ReplaceBinaryOperator_{name}" for name in _BINARY.split()),
    *(f"core/ReplaceComparisonOperator_{name}" for name in _COMPARISON.split()),
    *(f"core/{name}" for name in _OTHERS.split()),
]


def sample(modules: list[str], size: int, seed: int) -> list[WorkItem]:
    """The first `size` mutants by rank. A job's name holds the module's text: a changed module has new jobs."""
    ranked = sorted((_name(seed, mutant), mutant) for module in modules for mutant in _mutants(module))
    found: list[WorkItem] = []
    for name, (module, operator, occurrence, start, end) in ranked:
        if len(found) < size and changes_anything(module, operator, occurrence):
            spec = MutationSpec(module, operator, occurrence, start, end)
            found.append(WorkItem.single(f"{name}-{_digest(source(module))}", spec))
    return found


_TOLD_BY_NO_TEST = re.compile("cache|^(abstractmethod|final)$").search
Mutant = tuple[str, str, int, tuple[int, int], tuple[int, int]]


def _mutants(module: str) -> Iterator[Mutant]:
    tree = get_ast(source(module))
    for name in OPERATORS:
        operator = get_operator(name)()
        places = (place for node in ast_nodes(tree) for place in operator.mutation_positions(node))
        for occurrence, (start, end) in enumerate(places):
            yield module, name, occurrence, start, end


def _name(seed: int, mutant: Mutant) -> str:
    return _digest(f"{seed}:{mutant[:3]}")


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def source(module: str) -> str:
    return (ROOT / module).read_text()


def mutated(module: str, operator: str, occurrence: int) -> str:
    return str(mutate_code(source(module), get_operator(operator)(), occurrence))


def changes_anything(module: str, operator: str, occurrence: int) -> bool:
    """Python at all, and nothing that no test could tell: annotations and what is imported for them, `*` between
    parameters, slots, a cache left out, decorators in a Protocol, and what asserts that the code around it is right:
    `abstractmethod`, `final`, and the `strict` of a zip."""
    try:
        after = ast.parse(mutated(module, operator, occurrence))
    except (SyntaxError, AttributeError):  # cosmic-ray cannot replace a dotted name in a tuple of exceptions
        return False
    return _behaviour(after) != _unmutated(module)


@cache
def _unmutated(module: str) -> str:
    return _behaviour(ast.parse(source(module)))


def _behaviour(tree: ast.Module) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases):
            for one in node.body:
                if isinstance(one, ast.FunctionDef) and isinstance(one.body[-1], ast.Expr):
                    one.decorator_list = []
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
            node.decorator_list = [one for one in node.decorator_list if not _TOLD_BY_NO_TEST(ast.unparse(one))]
        elif isinstance(node, ast.arguments):
            node.args, node.posonlyargs, node.kwonlyargs = node.posonlyargs + node.args + node.kwonlyargs, [], []
            node.defaults, node.kw_defaults = [*node.defaults, *filter(None, node.kw_defaults)], []
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.keyword) and node.arg in ("slots", "strict", "total"):
            node.value = ast.Constant(None)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.test = ast.Constant(None)
    return ast.dump(tree)
