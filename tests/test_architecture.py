"""The architecture's rules: who may import whom, and what belongs where.

Each rule maps a module's name and syntax tree to its violations. Every rule runs over the whole of
`src`, and over a few lines that violate it, to show that it can fail. The rule on functions also
runs over the Python client, the generators and the benchmarks.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import longwire
from longwire.store.database import Tx

SOURCE = Path(longwire.__file__).parent
ROOT = Path(__file__).parent.parent
# Outside of `src`, where only the rule on functions holds.
PLAIN_FOLDERS = ("bench", "clients/python", "clients/typescript/scripts", "scripts")
Rule = Callable[[str, ast.Module], Iterator[str]]


def module_name(path: Path) -> str:
    """`identity.access` for src/longwire/identity/access.py, `store` for its __init__."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}
PACKAGES = sorted(
    module_name(path)
    for path in SOURCE.rglob("__init__.py")
    if module_name(path) and path.parent.name != "versions"
)


parse = cache(ast.parse)  # every rule looks at every module, so one test checks them all


@cache
def nodes_of(tree: ast.AST) -> list[ast.AST]:
    return list(ast.walk(tree))


def check(rule: Rule, name: str, source: str) -> list[str]:
    return [f"{name}: {violation}" for violation in rule(name, parse(source))]


def package_of(name: str) -> str:
    """The top-level package or module that a module belongs to."""
    return name.partition(".")[0]


# --- imports only go down ---

LAYERS = (
    {"__main__"},
    {"cli"},
    {"doctor"},
    {"backup"},
    {"process"},
    {"archive"},
    {"settings", "otel"},
    {"api"},
    {"inbound"},
    {"web", "prometheus"},
    {"jobs"},
    {"deferred_matching", "change_forwarding", "live"},
    {"ingest"},
    {"fleet", "reports"},
    {"networks", "decoders", "notifications", "oidc_provider"},
    {"delivery"},
    {"metrics", "overview", "storage_quota"},
    {"identity"},
    {"store"},
    {"object_versions"},
    {"measurements"},
    {"group_limits", "changes"},
    {"records", "model", "ids", "dates", "quotas"},
    {"blobs", "map_archives"},
    {"extras", "work", "translations"},
    {"errors", "clock", "seal", "spans"},
)
LAYER = {package: number for number, packages in enumerate(LAYERS) for package in packages}


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of everything a module imports, `from a import b` as a.b."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            yield from ((node.lineno, f"{start}.{alias.name}") for alias in node.names)


def imports_go_down(name: str, tree: ast.Module) -> Iterator[str]:
    for line, target in imported(tree):
        if target.startswith("."):
            yield f"line {line}: {target} is relative"
        if not target.startswith("longwire."):
            continue
        below = package_of(target.removeprefix("longwire."))
        if below not in LAYER:
            if below != "__version__":
                yield f"line {line}: {target} has no layer"
        elif package_of(name) != below and LAYER[below] <= LAYER.get(package_of(name), -1):
            yield f"line {line}: {target} is not below"


def imports_stand_at_the_top(name: str, tree: ast.Module) -> Iterator[str]:
    for function in functions(tree):
        for node in nodes_of(function):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield f"line {node.lineno}: an import inside {function.name}"


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in nodes_of(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


# --- SQL belongs to the store, transactions to its engines ---

SQL_LIBRARIES = {"sqlalchemy", "alembic", "sqlite3", "psycopg"}
SQL = re.compile(
    r"\b(?:select\b.+\bfrom|insert\s+into|update\s+\w+\s+set|delete\s+from"
    r"|create\s+(?:table|index)|alter\s+table|drop\s+table|order\s+by|group\s+by|pragma\s+\w+)\b",
    re.IGNORECASE | re.DOTALL,
)
# The copies of a backup are read outside of the engines, and in one transaction of their own.
ENGINES = {
    f"store.engines.{name}"
    for name in ("sqlite", "postgres", "sqlite_backup", "postgres_backup", "postgres_pipeline")
}
TRANSACTION = re.compile(
    r"\s*(?:begin(?:\s+\w+)?|commit|rollback(?:\s+to\s+\w+)?|(?:savepoint|release)\s+\w+)\s*;?",
    re.IGNORECASE,
)
TRANSACTION_VERBS = {
    *("begin", "begin_nested", "begin_transaction", "commit", "rollback", "savepoint"),
}
# Alembic requires this call around migrations; the transaction itself is the engine's.
ALEMBIC = "store.migrations.env"


def texts(tree: ast.Module) -> Iterator[ast.Constant]:
    """Every text of a module but its docstrings."""
    docstrings = {
        id(node.body[0].value)
        for node in nodes_of(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes_of(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in docstrings:
            yield node


def sql_stays_in_the_store(name: str, tree: ast.Module) -> Iterator[str]:
    if package_of(name) == "store":
        return
    for line, target in imported(tree):
        if package_of(target) in SQL_LIBRARIES:
            yield f"line {line}: imports {target}"
    for text in texts(tree):
        if SQL.search(text.value):
            yield f"line {text.lineno}: SQL in {text.value[:40]!r}"


def transactions_stay_in_the_engines(name: str, tree: ast.Module) -> Iterator[str]:
    if name in ENGINES | {ALEMBIC}:
        return
    # A period has an attribute `begin` too; only a call of it is about transactions.
    called = {id(node.func) for node in nodes_of(tree) if isinstance(node, ast.Call)}
    for node in nodes_of(tree):
        is_verb = isinstance(node, ast.Attribute) and node.attr in TRANSACTION_VERBS
        if is_verb and (node.attr != "begin" or id(node) in called):
            yield f"line {node.lineno}: .{node.attr}"
    names = {id(key) for node in nodes_of(tree) if isinstance(node, ast.Dict) for key in node.keys}
    for text in texts(tree):
        if TRANSACTION.fullmatch(text.value) and id(text) not in names:
            yield f"line {text.lineno}: {text.value!r}"


# --- statements are values ---

# Where SQLAlchemy belongs: the tables, their migrations, the rows of a noun by key, the engines.
SQLALCHEMY = re.compile(
    r"store\.(?:schema|migrations|engines)\..*|store\.(?:rows|database|slots|identity\.scopes)"
)
# Those who run statements; for all others a driver is out of reach.
RUNS_STATEMENTS = re.compile(r"store\.(?:engines|migrations)\..*|store\.(?:statement|database)")
LOOKS_INTO_TEXT = {
    *("endswith", "find", "format", "format_map", "index", "partition", "removesuffix", "replace"),
    *("rstrip", "split", "splitlines", "startswith", "strip"),
}
RENDERED = {"sqlite", "postgres", "psycopg", "numbered", "driver"}


def uses_sqlalchemy(tree: ast.Module) -> bool:
    return any(package_of(target) == "sqlalchemy" for _, target in imported(tree))


def statements_are_values(name: str, tree: ast.Module) -> Iterator[str]:
    """Nobody looks into the text of a statement, changes it, or has a driver run it."""
    if package_of(name) != "store" or RUNS_STATEMENTS.fullmatch(name):
        return
    if uses_sqlalchemy(tree) and not SQLALCHEMY.fullmatch(name):
        yield "uses SQLAlchemy"
    named = set(list_named_texts(tree))
    for node in nodes_of(tree):
        if isinstance(node, ast.Attribute) and node.attr in RENDERED:
            yield f"line {node.lineno}: .{node.attr}"
        if isinstance(node, ast.Attribute) and node.attr in LOOKS_INTO_TEXT:
            parts: Sequence[ast.expr] = [node.value]
        elif isinstance(node, ast.Compare):
            parts = node.comparators
        elif isinstance(node, ast.Call) and ast.unparse(node.func).startswith(("re.", "sa.text")):
            parts = node.args
        else:
            continue
        if any(is_sql(each, named) for each in parts):
            yield f"line {node.lineno}: looks into {ast.unparse(node)[:40]!r}"


def list_named_texts(tree: ast.Module) -> Iterator[str]:
    """The names of a module whose value is the text of a statement, or of a part of one."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Assign) and is_sql(node.value, set()):
            yield from (each.id for each in node.targets if isinstance(each, ast.Name))


def is_sql(node: ast.AST, named: AbstractSet[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in named
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and SQL.search(node.value) is not None
    if isinstance(node, ast.JoinedStr):
        return SQL.search(ast.unparse(node)) is not None
    return isinstance(node, ast.BinOp) and (is_sql(node.left, named) or is_sql(node.right, named))


# --- HTTP and wire names belong to web, api and inbound ---

WEB_PACKAGES = {"web", "api", "inbound", "prometheus"}
WEB_LIBRARIES = {
    *("uvicorn", "uvloop", "httptools", "prometheus_client", "starlette", "litestar", "fastapi"),
}
# Parses the responses to webhooks, too; and the same metrics for another collector.
MAY_IMPORT = {"delivery.http.http_exchange": "httptools", "otel.otlp_metrics": "prometheus_client"}
CAMEL = re.compile(r"[a-z]+[0-9]*(?:[A-Z][a-z0-9]*)+")
STATUSES = {200, 201, 204, 400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 431, 500, 503}
# operator.json and the output of --json use the API's names.
FORMATS_OPERATOR_OUTPUT = {"cli", "process.startup"}
# Records are stored in the form in which they are returned, with their data.
STORED_JSON = {"records", "measurements.values"}
# Speak other systems' protocols, with their names and status codes.
EXTERNAL_PROTOCOLS = {
    "delivery",
    "map_archives",
    "networks",
    "decoders",
    "notifications",
    "oidc_provider",
}


def the_wire_stays_in_the_web_packages(name: str, tree: ast.Module) -> Iterator[str]:
    if package_of(name) in WEB_PACKAGES:
        return
    for line, target in imported(tree):
        library = package_of(target)
        if library in WEB_LIBRARIES and MAY_IMPORT.get(name) != library:
            yield f"line {line}: imports {target}"
    formats = FORMATS_OPERATOR_OUTPUT | STORED_JSON | EXTERNAL_PROTOCOLS
    if not {name, package_of(name)} & formats:
        for text in texts(tree):
            if CAMEL.fullmatch(text.value):
                yield f"line {text.lineno}: the wire name {text.value!r}"
    if package_of(name) not in EXTERNAL_PROTOCOLS:
        yield from statuses_in(tree)


# What `web` knows of the service: the database as such, and values without rules.
WEB_KNOWS = re.compile(
    r"longwire\.(?:__version__|(?:web|clock|dates|errors|ids|model|seal|spans|object_versions|work|map_archives"
    r"|store\.(?:database|cache\.cache|archive\.archive_reads))(?:\..*)?)"
)


def web_knows_no_domain(name: str, tree: ast.Module) -> Iterator[str]:
    if package_of(name) == "web":
        for line, target in imported(tree):
            if target.startswith("longwire.") and not WEB_KNOWS.fullmatch(target):
                yield f"line {line}: imports {target}"


def statuses_in(tree: ast.Module) -> Iterator[str]:
    """Numbers that are compared with, assigned to or passed as something called a status."""
    for node in nodes_of(tree):
        named: list[tuple[ast.AST | str, ast.expr | None]] = []
        if isinstance(node, ast.keyword):
            named = [(node.arg or "", node.value)]
        elif isinstance(node, ast.Assign):
            named = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign):
            named = [(node.target, node.value)]
        elif isinstance(node, ast.Compare):
            named = [(node.left, other) for other in node.comparators]
        for target, value in named:
            numbers = {
                each.value
                for each in ast.walk(value or ast.Pass())
                if isinstance(each, ast.Constant)
            }
            if not numbers & STATUSES:
                continue
            label = target if isinstance(target, str) else ast.unparse(target)
            if re.search(r"status|code", label, re.IGNORECASE):
                yield f"line {value.lineno if value else 0}: a status code in {label}"


# --- who may create what ---


def only_access_creates_a_scope(name: str, tree: ast.Module) -> Iterator[str]:
    if name == "identity.access":
        return
    known = {
        alias.asname or alias.name
        for node in nodes_of(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "longwire.model"
        for alias in node.names
        if alias.name == "Scope"
    }
    for node in nodes_of(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in known or called.endswith("model.Scope"):
                yield f"line {node.lineno}: creates a Scope"
            if called not in {"replace", "dataclasses.replace"} or not node.args:
                continue
            if "scope" in ast.unparse(node.args[0]).lower():
                yield f"line {node.lineno}: changes a Scope"


TIME_READERS = {"time", "time_ns", "localtime", "gmtime", "ctime", "now", "utcnow", "today"}
READS_TIME = re.compile(
    r"(?:time\.(?:time|time_ns|localtime|gmtime|ctime)|(?:datetime\.)?(?:datetime|date)\."
    r"(?:now|utcnow|today))"
)


def time_comes_from_the_clock(name: str, tree: ast.Module) -> Iterator[str]:
    if name == "clock":
        return
    for node in nodes_of(tree):
        if not isinstance(node, ast.Attribute) or node.attr not in TIME_READERS:
            continue
        if READS_TIME.fullmatch(ast.unparse(node)):
            yield f"line {node.lineno}: {ast.unparse(node)}"
    for line, target in imported(tree):
        if target in {"time.time", "time.time_ns"}:
            yield f"line {line}: {target}"


def randomness_comes_from_secrets(name: str, tree: ast.Module) -> Iterator[str]:
    """One source, which a simulation replaces; and nobody takes one that can be guessed."""
    for line, target in imported(tree):
        if target.partition(".")[0] == "random" or target in {"os.urandom", "uuid.uuid4"}:
            yield f"line {line}: {target}"
    for node in nodes_of(tree):
        if isinstance(node, ast.Attribute) and RANDOM.fullmatch(ast.unparse(node)):
            yield f"line {node.lineno}: {ast.unparse(node)}"


RANDOM = re.compile(r"os\.urandom|os\.getrandom|uuid\.uuid[14]|(?:np|numpy)\.random")


# --- what changes belongs to somebody ---

CHANGES = {
    *("Condition", "Counter", "Event", "Lock", "OrderedDict", "Queue", "RLock", "Random"),
    *("SimpleQueue", "ThreadPoolExecutor", "WeakValueDictionary", "count", "defaultdict", "deque"),
    *("dict", "list", "set"),
}
# Instances of these are made once and never changed, although they are not declared so.
ARE_VALUES = {
    *("ByEngine", "FileParts", "GroupRows", "LeasedRows", "OwnerTable", "Response", "Rows", "Sql"),
    *("Statement", "Texts", "_NamedLeases"),
}


@cache
def list_changing_classes() -> frozenset[str]:
    """Classes of the service with state that is not declared to be frozen."""
    found = set()
    for name, path in MODULES.items():
        if package_of(name) == "api":
            continue  # wire shapes, which may have the names of what they show
        for node in nodes_of(parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and has_state(node) and not is_frozen(node):
                found.add(node.name)
    return frozenset(found - ARE_VALUES)


def has_state(node: ast.ClassDef) -> bool:
    return any(
        isinstance(each, ast.AnnAssign)
        or (isinstance(each, ast.FunctionDef) and each.name == "__init__")
        for each in node.body
    )


def is_frozen(node: ast.ClassDef) -> bool:
    declared = [ast.unparse(each) for each in (*node.decorator_list, *node.keywords, *node.bases)]
    return any("frozen=True" in each or re.search("Enum|Flag|Tuple", each) for each in declared)


def list_changing(name: str, tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The names of what changes in a module, and their lines."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        value = getattr(node, "value", None)
        is_empty = value is not None and ast.unparse(value) in ("{}", "[]")
        if isinstance(value, ast.Call):
            called = ast.unparse(value.func).rpartition(".")[2]
            is_empty = called in CHANGES | list_changing_classes()
            is_empty &= ast.unparse(value) != "deque(maxlen=0)"  # takes what nobody wants
        if is_empty:
            yield from ((ast.unparse(each), node.lineno) for each in targets)
    for each in nodes_of(tree):
        if isinstance(each, ast.Global):
            yield from ((variable, each.lineno) for variable in each.names)


def modules_do_not_change(name: str, tree: ast.Module) -> Iterator[str]:
    """What changes belongs to an object, which whoever shares a process with it does not see."""
    for variable, line in list_changing(name, tree):
        yield f"line {line}: {variable} changes"


# --- what can be read at once ---

MODULE_LINES_MAX = 600
TX_SLOTS_MAX = 14
BRANCHING_LINES_MAX = 60
NESTING_MAX = 3
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)
BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match)
# A step is one file, and a list of tables.
MIGRATIONS = "store.migrations.versions"


def modules_are_short(name: str, tree: ast.Module) -> Iterator[str]:
    lines = tree.body[-1].end_lineno or 0 if tree.body else 0
    if lines > MODULE_LINES_MAX and not name.startswith(MIGRATIONS):
        yield f"{lines} lines"


def functions_are_plain(name: str, tree: ast.Module) -> Iterator[str]:
    for function in functions(tree):
        lines = (function.end_lineno or 0) - function.lineno + 1
        inside = nodes_of(function) if lines > BRANCHING_LINES_MAX else []
        if any(isinstance(node, BRANCHES) for node in inside):
            yield f"{function.name} branches, and has {lines} lines"
        if (nested := nesting_of(function)) > NESTING_MAX:
            yield f"{function.name} nests {nested} blocks"


def nesting_of(node: ast.AST, *, is_elif: bool = False) -> int:
    """How many blocks are within each other, of those that belong to this node's function."""
    deepest = 0
    for child in ast.iter_child_nodes(node):
        # No block is part of an expression.
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            chained = isinstance(node, ast.If) and node.orelse == [child]
            deepest = max(deepest, nesting_of(child, is_elif=chained))
    return deepest + (isinstance(node, BLOCKS) and not (is_elif and isinstance(node, ast.If)))


RULES: dict[Rule, tuple[tuple[str, str], ...]] = {
    # Each rule with modules that violate it.
    imports_go_down: (
        ("store.groups", "from longwire.identity import access"),
        ("identity.groups", "from longwire.web.errors import Problem"),
        ("identity.groups", "import longwire.fleet.device_types"),
        ("fleet.devices", "from longwire.ingest import accept"),
        ("web.request_handler", "from longwire.settings import Settings"),
        ("web.request_handler", "from longwire.process import app"),
        ("settings", "from longwire.process import logs"),
        ("fleet.devices", "from longwire.settings import Settings"),
        ("ingest", "from longwire.api.records.records import KINDS"),
        ("inbound.ingest_requests", "from longwire.api.records.records import RecordInput"),
        ("metrics", "from longwire.fleet import records"),
        ("clock", "from longwire.model import Actor"),
        ("model", "from longwire.ids import new_id"),
        ("store.groups", "from . import schema"),
        ("store.groups", "if True:\n    from longwire.somewhere import x"),
    ),
    imports_stand_at_the_top: (
        ("app", "def start():\n    import json"),
        ("app", "class A:\n    async def start(self):\n        from json import dumps"),
    ),
    sql_stays_in_the_store: (
        ("identity.groups", "import sqlalchemy as sa"),
        ("api.service", "from sqlite3 import Connection"),
        ("app", "import psycopg.errors"),
        ("fleet.devices", "find = 'select id from device where id = :id'"),
        ("cli", "run('''\n    delete from device\n''')"),
        ("app", "run(f'update device set name = {name}')"),
    ),
    transactions_stay_in_the_engines: (
        ("web.request_handler", "tx.connection.commit()"),
        ("store.groups", "with tx.connection.begin_nested():\n    pass"),
        ("store.upgrade", "driver.execute('begin immediate')"),
        ("store.cache", "run('ROLLBACK TO work;')"),
        ("identity.groups", "tx.rollback()"),
        ("ingest", "with tx.connection.begin():\n    pass"),
        ("store.records", "run(connection.commit)"),
        ("store.records", "driver.execute('begin')"),
    ),
    statements_are_values: (
        ("store.fleet.new", "import sqlalchemy as sa"),
        ("store.groups", "LIST = 'select id from device'\nother = LIST.replace('id', 'name')"),
        ("store.groups", "LIST = f'select id {x} from device'\nother = LIST.format(x='name')"),
        ("store.groups", "LIST = 'select id from device'\nis_listed = 'id' in LIST"),
        ("store.groups", "import re\nlist = re.sub('id', 'name', 'select id from device')"),
        ("store.groups", "text = LIST.postgres"),
        ("store.groups", "tx.driver.execute(LIST)"),
    ),
    the_wire_stays_in_the_web_packages: (
        ("process.serve", "import uvicorn"),
        ("store.database", "from prometheus_client import Counter"),
        ("identity.groups", "violation = missing('groupId', 'group')"),
        ("store.groups", "row = {'ownerId': 1}"),
        ("errors", "STATUS = {BadInput: 400}"),
        ("identity.users", "raise Refused(status=404)"),
        ("fleet.devices", "if response.status_code == 200:\n    pass"),
        ("model", "class Refused:\n    status: int = 503"),
    ),
    web_knows_no_domain: (
        ("web.routing", "from longwire.identity import groups"),
        ("web.routing", "from longwire.store.identity.users import USERS"),
        ("web.routing", "import longwire.delivery"),
    ),
    only_access_creates_a_scope: (
        ("identity.groups", "from longwire.model import Scope\nscope = Scope('group.read')"),
        ("web.request_handler", "from longwire.model import Scope as Reach\nreach = Reach('x')"),
        ("store.groups", "from longwire import model\nscope = model.Scope('x')"),
        ("identity.groups", "from dataclasses import replace\nscope = replace(scope, holder=None)"),
    ),
    time_comes_from_the_clock: (
        ("identity.tokens", "import time\nnow = time.time()"),
        ("store.sqlite", "import time\nnow = time.time_ns"),
        ("dates", "from datetime import UTC, datetime\nnow = datetime.now(UTC)"),
        ("dates", "import datetime\nnow = datetime.datetime.utcnow()"),
        ("dates", "from datetime import date\nday = date.today()"),
        ("dates", "from time import time\nnow = time()"),
    ),
    randomness_comes_from_secrets: (
        ("delivery.engine.worker", "import random\nwaits_s = random.random()"),
        ("delivery.engine.worker", "from random import SystemRandom"),
        ("seal", "import os\nnonce = os.urandom(12)"),
        ("identity.tokens", "import uuid\ntoken = str(uuid.uuid4())"),
    ),
    modules_do_not_change: (
        ("fleet.codec_guard", "CODEC_GUARD = CodecGuard()"),
        ("decoders.catalogue", "cache: OrderedDict[str, int] = OrderedDict()"),
        ("ids", "seen = []"),
        ("ids", "def f():\n    global last\n    last = 1"),
    ),
    modules_are_short: (("dates", "x = 1\n" * (MODULE_LINES_MAX + 1)),),
    functions_are_plain: (
        ("dates", "def f():\n    if x:\n" + "        y = 1\n" * BRANCHING_LINES_MAX),
        ("dates", "def f():\n" + "    y = 1 if x else 2\n" * BRANCHING_LINES_MAX),
        ("dates", "def f():\n if a:\n  for b in c:\n   with d:\n    while e:\n     pass"),
    ),
}


def test_the_source_keeps_to_every_rule() -> None:
    assert len(MODULES) > 50
    violations = [
        f"{rule.__name__}: {violation}"
        for name, path in MODULES.items()
        for source in [path.read_text()]
        for rule in RULES
        for violation in check(rule, name, source)
    ]
    assert violations == []


def test_the_functions_of_the_client_and_of_the_benchmarks_are_plain() -> None:
    paths = [path for folder in PLAIN_FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(paths) > 40
    violations = [
        violation
        for path in paths
        for violation in check(functions_are_plain, str(path.relative_to(ROOT)), path.read_text())
    ]
    assert violations == []


# A client is installed without the service, whose command line has the client's commands, too.
MAY_USE = {
    "longwire_client": {"longwire_client"},
    "longwire_cli": {"longwire_client", "longwire_cli"},
    "longwire.cli": {"longwire", "longwire_cli"},
    "longwire": {"longwire"},
}


def a_client_stays_outside(name: str, tree: ast.Module) -> Iterator[str]:
    user = "longwire.cli" if name.startswith("longwire.cli") else package_of(name)
    for line, target in imported(tree):
        if target.startswith("longwire") and package_of(target) not in MAY_USE[user]:
            yield f"line {line}: imports {target}"


@cache
def all_sources() -> dict[str, str]:
    """By the full name of the module: of the service, and of the Python client."""
    folders = (SOURCE.parent, ROOT / "clients/python/src")
    found = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text()
    return found


def test_a_client_stays_outside() -> None:
    sources = all_sources()
    assert any(name.startswith("longwire_cli.demo") for name in sources)
    violations = [
        each
        for name, source in sources.items()
        for each in check(a_client_stays_outside, name, source)
    ]
    assert violations == []
    for name, source in (
        ("longwire_cli.simulation", "from longwire.store import devices"),
        ("longwire_cli.demo.seeding", "import longwire.process.app"),
        ("longwire_client.writer", "from longwire_cli import profiles"),
        ("longwire.api.records", "from longwire_cli.csv_cells import format_cell"),
        ("longwire.cli.base", "from longwire_client import Client"),
    ):
        assert check(a_client_stays_outside, name, source)


# --- no circles ---


def find_circle(sources: Mapping[str, str]) -> list[str]:
    """Modules of which each uses the next, for types or by a name in a string as well."""
    uses = {
        name: {
            each for each in list_used(parse(source), sources) if each in sources and each != name
        }
        for name, source in sources.items()
    }
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []


def list_used(tree: ast.Module, known: Mapping[str, str]) -> Iterator[str]:
    for _, target in imported(tree):
        yield target if target in known else target.rpartition(".")[0]
    for text in texts(tree):
        name = text.value.partition(":")[0]  # "module:function"
        if name in known and "." in name:  # else it may be the name of a logger
            yield name
        elif name.startswith("longwire.") and name.endswith("."):  # the rest is in a variable
            yield from (each for each in known if each.rpartition(".")[0] == name[:-1])


def test_no_module_uses_itself_in_a_circle() -> None:
    assert find_circle(all_sources()) == []


@pytest.mark.parametrize(
    "used",
    [
        "from longwire.fleet import devices",
        "if TYPE_CHECKING:\n    from longwire.fleet.devices import Device",
        "importlib.import_module('longwire.fleet.devices')",
        "importlib.import_module(f'longwire.fleet.{name}')",
        "COMMANDS = {'list': 'longwire.fleet.devices:list_command'}",
    ],
)
def test_a_circle_is_found(used: str) -> None:
    devices = {"longwire.fleet.devices": "import longwire.ids"}
    assert find_circle({**devices, "longwire.ids": "import json"}) == []
    assert len(find_circle({**devices, "longwire.ids": used})) == 3


# What is not imported at the top: parts that are not always installed, and large libraries that not
# every process needs. Importing all of them at once would double the time that a process takes to
# start, and add 50 MB to each.
IMPORTED_ON_DEMAND = {
    "longwire.extras": "what is installed as an extra only",
    "longwire.blobs": "the extra s3",
    "longwire.notifications.types.chat_services": "the extra chat: one of its hundred plugins",
    "longwire_cli": "the service, beside which the client may be installed",
    "longwire_cli.lazy": "one command of thirty",
    "longwire.api.identity.passkeys": "webauthn: 9 MB, 0.3 s, for those who have passkeys",
    "longwire.decoders.profile_files": "yaml: 2 MB, 0.04 s, for those who import device types",
    "longwire.delivery.cel.library": "cel: 15 MB, 0.5 s, for those who have filters",
    "longwire.delivery.destinations.catalogue": "nats and aiokafka: 9 MB each",
    "longwire.delivery.http.http_client_loader": "aiohttp: 8 MB, 0.4 s, for those who send",
    "longwire.process.sign_in_stack": "authlib: 10 MB, 0.5 s, for those with a provider",
    "longwire.store.engines.upgrade": "alembic: 15 MB, 0.7 s, for a start after an update",
}


def test_modules_are_imported_at_the_top() -> None:
    found = {
        name
        for name, source in all_sources().items()
        if any(target == "importlib" for _, target in imported(parse(source)))
    }
    assert found == set(IMPORTED_ON_DEMAND)


def clients_have_a_timeout(name: str, tree: ast.Module) -> Iterator[str]:
    """That of the library, five seconds, is exceeded on a busy machine."""
    for node in nodes_of(tree):
        if not isinstance(node, ast.Call) or not HTTP_CALL.fullmatch(ast.unparse(node.func)):
            continue
        if not {"timeout", None} & {each.arg for each in node.keywords}:
            yield f"line {node.lineno}: {ast.unparse(node.func)}"


HTTP_CALL = re.compile(r"httpx\.(Client|AsyncClient|get|head|options|post|put|patch|delete|stream)")


def test_clients_of_tests_have_a_timeout() -> None:
    violations = [
        violation
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if "httpx" in (source := path.read_text())
        for violation in check(clients_have_a_timeout, str(path.relative_to(ROOT)), source)
    ]
    assert violations == []
    assert check(clients_have_a_timeout, "a test", "httpx.Client(base_url=url)")


@pytest.mark.parametrize(
    "rule, name, source",
    [(rule, *each) for rule, examples in RULES.items() for each in examples],
    ids=lambda part: getattr(part, "__name__", None),
)
def test_the_rule_finds_violations(rule: Rule, name: str, source: str) -> None:
    assert check(rule, name, source)


@pytest.mark.parametrize(
    "rule, name, source",
    [
        (imports_go_down, "process.app", "from longwire import __version__, settings\nimport json"),
        (imports_go_down, "store.groups", "from longwire.store import schema"),
        (imports_go_down, "ids", "from longwire.clock import Moment"),
        (imports_go_down, "api.records", "from longwire.inbound import ingest_requests"),
        (sql_stays_in_the_store, "web.request_handler", "text = 'Select a device.'"),
        (sql_stays_in_the_store, "web.request_handler", '"""Rows: select a from b."""'),
        (
            transactions_stay_in_the_engines,
            "store.engines.sqlite",
            "driver.execute('begin immediate')",
        ),
        (transactions_stay_in_the_engines, "metrics", "ask({'begin': report.begin})"),
        (statements_are_values, "store.rows", "import sqlalchemy as sa"),
        (statements_are_values, "store.groups", "LIST = Statement('select id from device')"),
        (statements_are_values, "store.groups", "text.replace('select', '')"),
        (
            the_wire_stays_in_the_web_packages,
            "api.groups",
            "import uvicorn\nfault = ('groupId', 404)",
        ),
        (the_wire_stays_in_the_web_packages, "process.startup", "content = {'baseUrl': url}"),
        (
            the_wire_stays_in_the_web_packages,
            "identity.bootstrap",
            "held = 'appClient.write'\nRETRY_S = 400",
        ),
        (web_knows_no_domain, "web.routing", "from longwire.store.database import Database"),
        (web_knows_no_domain, "api.groups", "from longwire.identity import groups"),
        (
            only_access_creates_a_scope,
            "identity.access",
            "from longwire.model import Scope\nScope()",
        ),
        (only_access_creates_a_scope, "web.request_handler", "Scope = dict\nscope = Scope()"),
        (time_comes_from_the_clock, "web.request_handler", "import time\nt = time.perf_counter()"),
        (time_comes_from_the_clock, "process.serve", "import time\ntime.sleep(time.monotonic())"),
        (time_comes_from_the_clock, "clock", "import time\nt = time.time_ns()"),
        (randomness_comes_from_secrets, "seal", "import secrets\nn = secrets.token_bytes(12)"),
        (randomness_comes_from_secrets, "ids", "from secrets import SystemRandom"),
        (modules_do_not_change, "ids", "LIST = Statement('')\nNAMES = {'a': 1}\nNOBODY = Actor()"),
        (functions_are_plain, "dates", "def f():\n" + "    y = 1\n" * BRANCHING_LINES_MAX),
        (
            functions_are_plain,
            "dates",
            "def f():\n if a:\n  pass\n elif b:\n  pass\n elif c:\n  for d in e:\n   if f: pass",
        ),
    ],
)
def test_the_rule_accepts_valid_code(rule: Rule, name: str, source: str) -> None:
    assert check(rule, name, source) == []


def test_every_package_has_a_layer() -> None:
    packages = {package_of(name) for name in MODULES if name} - {""}
    assert packages <= LAYER.keys()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_a_docstring(package: str) -> None:
    """It says what the package owns, what it uses and what it never does."""
    docstring = ast.get_docstring(parse(MODULES[package].read_text()))
    assert docstring is not None
    assert len(docstring.splitlines()) > 2, "more than a name"


def test_every_module_has_a_docstring() -> None:
    for name, path in MODULES.items():
        docstring = ast.get_docstring(parse(path.read_text()))
        assert docstring, name


def test_a_transaction_carries_little() -> None:
    """What only an engine, the caches or one reader needs has an object of its own."""
    assert len(Tx.__slots__) <= TX_SLOTS_MAX
    assert Tx.__bases__ == (object,)


def find_ambiguous_names(sources: dict[str, str]) -> dict[str, list[str]]:
    """Classes of one name in several modules; a wire shape has the name of what it shows."""
    found: dict[tuple[bool, str], list[str]] = {}
    for name, source in sources.items():
        for node in parse(source).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault((package_of(name) == "api", node.name), []).append(name)
    return {name: modules for (_, name), modules in found.items() if len(modules) > 1}


def test_a_class_name_has_one_meaning() -> None:
    job = "class Job: pass"
    assert find_ambiguous_names({"model": job, "api.jobs": job}) == {}
    assert find_ambiguous_names({"model": job, "store.workers": job}) == {
        "Job": ["model", "store.workers"]
    }
    assert find_ambiguous_names({name: path.read_text() for name, path in MODULES.items()}) == {}
