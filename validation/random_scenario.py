"""Draws scenarios from the JSON Schema that `straggler schema scenario` prints, so a new key or kind is drawn without a change here.

Used by random_scenarios and its check. Nothing here names a scheme, a model or a topology: what is special is the form of a value (a path,
the name of a device, an end point) and its size, so that a run takes milliseconds.
"""
import collections
import random
import re

OPTIONAL = 0.22        # share of optional keys that are written
REPAIRS = 25           # attempts to make a scenario valid
SAMPLES = 120          # of the training set, at most


class Refused(Exception):
    """The drawn scenario could not be made valid; the text is what `straggler run` said last."""


def resolved(part, definitions=None, around=()):
    """A JSON Schema whose `$ref`s to its definitions are replaced by these. Nothing fits (false) a definition twice within itself."""
    if isinstance(part, list):
        return [resolved(each, definitions, around) for each in part]
    if not isinstance(part, dict):
        return part
    definitions = part.get("definitions", {}) if definitions is None else definitions
    own = {key: resolved(value, definitions, around) for key, value in part.items() if key not in ("$ref", "definitions")}
    target = part.get("$ref", "").removeprefix("#/definitions/")
    if target:
        deeper = around.count(target) < 2 and resolved(definitions[target], definitions, around + (target,))
        return deeper and {**deeper, **own}
    needed = [own.get("items")] + [own.get("properties", {}).get(key) for key in own.get("required", ())]
    return False if False in needed or ("anyOf" in own and all(form is False for form in own["anyOf"])) else own


class Drawing:
    """Draws one scenario. Files that it refers to are written into `folder` (a pathlib.Path)."""

    def __init__(self, schema, number, folder):
        self.schema, self.folder = schema, folder
        self.random = random.Random(f"scenario {number}")
        self.workers = self.random.choice([1, 2, 2, 3, 4, 4, 5, 6, 8])
        self.devices = ["node"] + (["other"] if self.random.random() < 0.3 else [])
        self.files = 0

    def scenario(self):
        """A scenario as nested dicts; probably not valid yet."""
        drawn = {"straggler": 1, "name": "drawn", "seed": self.random.randrange(1000)}
        drawn["devices"] = {name: self.value(self.at("devices.*"), "devices.*") for name in self.devices}
        for key in ("cluster", "workload", "training"):
            drawn[key] = self.value(self.at(key), key)
        return drawn

    def at(self, path):
        """The schema at a path such as devices.*.jitter; of several forms the one that is a map."""
        found = self.schema
        for key in path.split("."):
            found = found.get("properties", {}).get(key) or found["additionalProperties"]
        return found

    def value(self, schema, path):
        """A value that the schema allows, small enough for a short run."""
        for pattern, draw in SPECIAL:
            if re.search(pattern, path):
                return draw(self, schema, path)
        if "const" in schema:
            return schema["const"]
        if "anyOf" in schema:
            forms = [form for form in schema["anyOf"] if drawable(form)]
            maps = [form for form in forms if form.get("type") == "object"]
            # A kind without parameters is a form of its own: one among as many as there are kinds.
            form = self.random.choice(maps if maps and self.random.random() < 0.8 else forms)
            return self.value(form, path)
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if "object" in types:
            return self.map(schema, path)
        if "array" in types:
            return [self.value(schema["items"], path + "[]") for _ in range(self.random.randint(1, 2))]
        if "boolean" in types:
            return self.random.random() < 0.5
        if "integer" in types:
            least = int(schema.get("minimum", 0))
            return least + self.random.choice([0, 0, 1, 1, 2, 3, 5, 9])
        if "number" in types:
            return self.number(schema)
        return self.text(schema)

    def map(self, schema, path):
        required = schema.get("required", [])
        properties = schema.get("properties", {})
        chosen = [key for key in properties
                  if drawable(properties[key]) and (key in required or self.random.random() < self.share(path + "." + key))]
        if not chosen and properties and not required:
            chosen = [self.random.choice([key for key in properties if drawable(properties[key])])]
        return {key: self.value(properties[key], f"{path}.{key}") for key in chosen}

    def share(self, path):
        return {"cluster.servers": 0.6, "cluster.faults": 0.2, "training.optimizer": 0.9, "training.stop.updates": 1.0,
                "training.stop.target_accuracy": 0.0, "cluster.network.link.bandwidth": 0.95, "cluster.workers[].count": 1.0,
                "cluster.network.collective": 0.6, "training.evaluate": 0.5}.get(path, OPTIONAL)

    def number(self, schema):
        least = max(schema.get("minimum", 0), schema.get("exclusiveMinimum", 0))
        most = min(schema.get("maximum", 10), schema.get("exclusiveMaximum", 10))
        if most <= 1 or least >= 1:
            return round(self.random.uniform(least, min(most, least + 4)), 3) or most
        return float(f"{2 ** self.random.uniform(-7, 2):.3g}")

    def text(self, schema):
        """A time, size, rate or compute rate, by the units in the schema's pattern."""
        units = re.search(r"\(?([^()* ]+)\)?\$$", schema["pattern"]).group(1).split("|")
        if "ms" in units:
            return f"{10 ** self.random.uniform(-2, 1.3):.3g}ms"
        if "B/s" in units:
            return f"{10 ** self.random.uniform(0, 3):.3g}MB/s"
        if "B" in units:
            return f"{10 ** self.random.uniform(1.5, 4.5):.0f}B"
        if "%" in units:
            return f"{self.random.uniform(1, 99):.3g}%"
        return f"{10 ** self.random.uniform(-1, 2):.3g}{self.random.choice([unit for unit in units if unit.startswith('G')] or units)}"

    def file(self, name, text):
        self.files += 1
        path = self.folder / f"{self.files}-{name}"
        path.write_text(text)
        return str(path)


def kind_of(schema):
    return schema.get("properties", {}).get("kind", {}).get("const")


def drawable(schema):
    """Whether a value of this schema can be drawn: not false, and no kind that needs files that are not there."""
    return schema is not False and kind_of(schema) not in ("cifar10", "cifar100", "idx", "file")


def lines(rows):
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


def factors(draw, _schema, _path):
    return draw.file("factors.csv", lines([[round(draw.random.uniform(0.5, 3), 3)] for _ in range(draw.random.randint(1, 9))]))


def presence(draw, _schema, _path):
    rows, at = [["worker", "from_s", "to_s"]], 0.0
    for _ in range(3):
        at += draw.random.uniform(0, 0.05)
        rows.append([0, round(at, 4), round(at + 0.2, 4)])
        at += 0.2
    return draw.file("availability.csv", lines(rows))


def population(draw, _schema, _path):
    rows = [["slowdown", "latency"]] + [[round(draw.random.uniform(1, 9), 2), f"{draw.random.randint(1, 9)}ms"] for _ in range(draw.workers)]
    return draw.file("population.csv", lines(rows))


def table(draw, _schema, _path):
    return draw.file("table.csv", lines([["a", "b", "label"]] + [[round(draw.random.gauss(row % 3, 0.5), 3), round(draw.random.gauss(0, 1), 3), row % 3]
                                                                 for row in range(SAMPLES)]))


def words(draw, _schema, _path):
    return draw.file("words.txt", " ".join(draw.random.choice(["a", "be", "see", "the", "sea", "bee"]) for _ in range(900)) + "\n")


def assignment(draw, _schema, _path):
    return draw.file("assignment.txt", "".join(f"{sample % draw.workers}\n" for sample in range(SAMPLES)))


def of(choices):
    return lambda draw, _schema, _path: draw.random.choice(choices)


def faults(draw, schema, path):
    """What a fault says depends on its kind, which the schema does not tell; `run` names what is missing, and repairs add it."""
    kind = draw.random.choice(schema["items"]["properties"]["kind"]["enum"])
    if kind in ("random", "fail_slow", "preempt", "trace"):
        return [repeating(draw, schema["items"]["properties"], kind)]
    start, length = draw.random.uniform(1, 60), draw.random.uniform(1, 90)
    fault = {"kind": kind, "worker": draw.random.randrange(draw.workers)}
    if kind in ("slow", "link"):
        fault.update({"from": f"{start:.3g}ms", "to": f"{start + length:.3g}ms"})
        fault.update({"times_slower": round(draw.random.uniform(1, 9), 2)} if kind == "slow" else {"bandwidth_factor": draw.random.choice([0, 0.1, 0.5])})
    else:
        fault["at"] = f"{start:.3g}ms"
        if kind == "crash" and draw.random.random() < 0.8:
            fault["restart_after"] = f"{length:.3g}ms"
    return [fault]


def repeating(draw, keys, kind):
    """A unit that fails again and again; only some racks, servers and links are there to fail."""
    law = lambda least: draw.random.choice([{"kind": "exponential", "mean": f"{draw.random.uniform(least, 200):.3g}ms"}, "35ms",
                                            {"kind": "weibull", "mean": f"{draw.random.uniform(least, 200):.3g}ms", "shape": 0.7}])
    if kind == "trace":
        rows = [["unit", "from_s", "to_s"]] + [[f"worker/{draw.random.randrange(draw.workers)}", round(0.03 * k, 3), round(0.03 * k + 0.02, 3)]
                                               for k in range(1, 4)]
        return {"kind": kind, "path": draw.file("failures.csv", lines(rows))}
    fault = {"kind": kind, "of": draw.random.choice(["worker", "host"] if kind == "preempt" else keys["of"]["enum"]), "every": law(30)}
    if kind == "random" and draw.random.random() < 0.8:
        fault["repair"] = law(1)
    elif kind == "preempt":
        fault.update({"notice": f"{draw.random.uniform(0, 20):.3g}ms", "back_after": draw.random.choice([law(1), "never"])})
    elif kind == "fail_slow":
        slow = draw.random.random() < 0.5 and fault["of"] not in ("server", "link")
        fault.update({"lasts": law(1), **({"times_slower": 3} if slow else {"bandwidth_factor": draw.random.choice([0, 0.1, 0.5])})})
    return fault


def background(draw, schema, path):
    ends = draw.random.sample(range(max(2, draw.workers)), 2)
    flow = {**draw.map(schema["items"], path + "[]"), "from": f"worker/{ends[0]}", "to": f"worker/{ends[1]}"}
    return [flow]


def end_of_run(draw, schema, path):
    """At most 30 updates, and at most 100 simulated seconds, so that runs in which nothing happens end, too."""
    stop = {**draw.map(schema, path), "updates": draw.random.randint(1, 30), "simulated_time": "100s"}
    return {key: min(value, 1.5) if key == "epochs" else value for key, value in stop.items()}


def data(draw, schema, path):
    """Few and small samples; most often of a kind that is made, not read."""
    form = draw.random.choice([form for form in schema["anyOf"] if form.get("type") == "object" and drawable(form)])
    drawn = draw.map(form, path)
    for key in ("samples", "train_limit", "test_samples", "test_limit"):
        if key in form["properties"]:
            drawn[key] = SAMPLES if "test" not in key else 40
    drawn.update({key: draw.random.choice([4, 8, 12]) for key in ("height", "width") if key in form["properties"]})
    return drawn


def model(draw, schema, path):
    """A model whose steps take milliseconds; the others are drawn as costs."""
    forms = [form for form in schema["anyOf"] if form.get("type") == "object" and kind_of(form) not in SLOW]
    return draw.map(draw.random.choice(forms), path)


def layers(draw, schema, path):
    """Their number, a list of them in the scenario or in a file, or the lines of a network."""
    if "anyOf" not in schema:
        return draw.random.choice([1, 2, 5])
    line = next(form for form in schema["anyOf"] if form.get("type") == "array")["items"]
    if "anyOf" in line:
        return [draw.value(line, path + "[]") for _ in range(draw.random.randint(0, 4))] + ["flatten", {"linear": "classes"}]
    if draw.random.random() < 0.3:
        return draw.file("layers.csv", lines([["name", "parameters", "flops"], ["first", "20k", "3M"], ["second", 7, ""]]))
    return draw.value(next(form for form in schema["anyOf"] if form.get("type") == "array"), path + "[]")


def groups(draw, schema, path):
    """One or two groups that together are the workers of this scenario."""
    first = draw.workers if draw.workers == 1 or draw.random.random() < 0.5 else draw.random.randint(1, draw.workers - 1)
    counts = [count for count in (first, draw.workers - first) if count]
    return [{**draw.map(schema["items"], path + "[]"), "count": count} for count in counts]


SLOW = ("fedavg_cnn", "resnet18", "resnet50", "resnet50_imagenet", "vgg16", "inception_v3", "bert_base", "bert_large")

# (path, what is drawn): the first that matches.
SPECIAL = [
    (r"jitter\.path$", factors),
    (r"sharding\.units$", lambda draw, _schema, _path: draw.random.choice(["blocks", "layers", "40B", "3kB"])),
    (r"recovery\.checkpoint\.every$", of(["20ms", {"updates": 3}])),
    (r"recovery\.checkpoint\.save$", of(["3ms", "2GB/s"])),
    (r"recovery(\.checkpoint)?\.(detect|restart|snapshot)$", of(["0s", "2ms", "15ms"])),
    (r"availability\.path$", presence),
    (r"population$", population),
    (r"^devices.*\.memory$", of(["1GB"])),
    (r"background\[\]\.(from|to)$", lambda draw, _schema, _path: f"worker/{draw.random.randrange(draw.workers)}"),
    (r"partition\.path$", assignment),
    (r"data\.(test_)?path$", lambda draw, schema, path: (table if "row" in schema["description"] else words)(draw, schema, path)),
    (r"\.device$", lambda draw, _schema, _path: draw.random.choice(draw.devices)),
    (r"\.profile$", of(["v100", "a100"])),
    (r"\.machine$", of(["dgx1", "dgx_a100"])),
    (r"compute\.table$", lambda draw, _schema, _path: {1: "1ms", 10: "3ms", 50: f"{draw.random.randint(4, 30)}ms"}),
    (r"^cluster\.faults$", faults),
    (r"^cluster\.network\.background$", background),
    (r"^cluster\.workers$", groups),
    (r"^training\.stop$", end_of_run),
    (r"every\.simulated_time$|(background\[\]|availability)\.(on|off)$", of(["5ms", "20ms"])),  # each is an event
    (r"^workload\.data$", data),
    (r"^workload\.model$", model),
    (r"model\.layers$", layers),
    (r"model\.layers\[\].*\.(from|tied|add\[\]|concat\[\])$", of(["input"])),
    (r"model\.layers\[\].*\.name$", lambda draw, _schema, _path: f"line{draw.random.randrange(1000)}"),
    (r"^training\.batch$", lambda draw, schema, path: draw.value({**schema, "required": [draw.random.choice(["per_worker", "global"])]}, "batch")),
    (r"^(training\.)?batch\.(per_worker|global)$", of([1, 2, 5, 8, 10, 16])),
    (r"servers\.count$", of([1, 1, 1, 2, 3])),
    (r"learning_rate$", of([0.001, 0.01, 0.05])),
    (r"\.label$", of(["auto", "last", "label", 3])),
    (r"\.hidden$", of([[3], [8], [5, 4]])),
    (r"\.dims$", of([[2, 2], [3, 2], [2, 2, 2]])),
    (r"\.(bytes)$", of(["100B", "3kB", "200kB"])),
]


class Repairs:
    """Makes a drawn scenario valid, by what `straggler run` says of it: a key that is refused is left out or drawn again, one that is
    missing is drawn."""

    def __init__(self, drawing, refusal):
        """`refusal` takes a scenario and returns the lines of its refusal, or none."""
        self.drawing, self.refusal, self.attempts = drawing, refusal, 0
        self.seen = collections.Counter()

    def valid(self, scenario):
        """The scenario, repaired in place; throws Refused."""
        said = []
        for self.attempts in range(REPAIRS):
            said = self.refusal(scenario)
            if not said:
                return scenario
            for line in said:
                self.repair(scenario, line)
        raise Refused("\n".join(said))

    def repair(self, scenario, line):
        found = re.match(r"(?:\S*?:\d+:\d+: )?([a-z_]+(?:[.\[][\w.\[\]]+)?): (.*)", line)
        if not found or found[1].split(".")[0].split("[")[0] not in self.drawing.schema["properties"]:
            found = re.match(r"()(.*)", line)
        keys, said = [int(key) if key.isdigit() else key for key in re.findall(r"[^.\[\]]+", found[1])], found[2]
        both = re.search(r"both (\w+) and (\w+)", said)
        node = inside(scenario, keys)
        if both and isinstance(node, dict) and both[2] in node:
            del node[both[2]]
            return
        # Where three repairs did not help, the mistake lies above.
        self.seen[found[1]] += 1
        keys = keys[:max(2, len(keys) - (self.seen[found[1]] - 1) // 3)]
        advised = re.search(r"; add ([a-z_.]+): \{", said)
        if advised and self.drawing.random.random() < 0.7:
            keys = advised[1].split(".")
        while keys and inside(scenario, keys[:-1]) is None:
            keys.pop()
        if len(keys) < 2 and (not keys or keys[0] == "devices"):
            keys = [self.drawing.random.choice(["cluster", "workload", "training"])]
        parent, leaf = inside(scenario, keys[:-1]), keys[-1]
        schema, path = schema_at(self.drawing.schema, scenario, keys)
        around = schema_at(self.drawing.schema, scenario, keys[:-1])[0] or {}
        required = len(keys) == 1 or parent is scenario["devices"] or leaf in form_of(around, parent).get("required", [])
        there = inside(parent, [leaf]) is not None
        if there and not required and self.drawing.random.random() < 0.8:
            del parent[leaf]
        elif schema and (there or isinstance(parent, dict)):
            parent[leaf] = self.drawing.value(schema, path)


def inside(node, keys):
    """What stands at these keys, or None."""
    for key in keys:
        if isinstance(node, list) and isinstance(key, int) and key < len(node):
            node = node[key]
        elif isinstance(node, dict) and key in node:
            node = node[key]
        else:
            return None
    return node


def schema_at(schema, node, keys):
    """(schema, path) of what stands or could stand at these keys of a scenario; of several forms the one that the scenario uses."""
    path = ""
    for key in keys:
        if isinstance(key, int):
            schema, path = schema.get("items"), path + "[]"
        else:
            form = form_of(schema, node)
            known = form.get("properties", {}).get(key)
            star = known is None
            schema, path = known if not star else form.get("additionalProperties"), (path + "." if path else "") + ("*" if star else key)
        if not schema:
            return None, path
        node = inside(node, [key])
    return schema, path


def form_of(schema, node):
    if "anyOf" not in schema:
        return schema
    maps = [form for form in schema["anyOf"] if form.get("type") == "object"]
    kind = node.get("kind") if isinstance(node, dict) else node
    return next((form for form in maps if kind_of(form) == kind), maps[0] if maps else {})
