#!/usr/bin/env python3
"""Tests scripts/dist: what is in the release, that it is always the same, and META.json.

usage: release.py

The rules of META.json are those of PGXN's meta-spec 1.0.0.  Prints what is wrong, one
complaint a line; needs no network.
"""
import copy
import filecmp
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SEMVER = r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[A-Za-z][0-9A-Za-z-]*)?"
LICENSES = """agpl_3 apache_1_1 apache_2_0 artistic_1 artistic_2 bsd freebsd gfdl_1_2 gfdl_1_3 gpl_1 gpl_2 gpl_3 lgpl_2_1
lgpl_3_0 mit mozilla_1_0 mozilla_1_1 openssl perl_5 postgresql qpl_1_0 ssleay sun zlib open_source restricted unrestricted
unknown""".split()
REQUIRED = {"abstract", "maintainer", "license", "provides", "name", "version", "meta-spec"}
OPTIONAL = {"description", "generated_by", "tags", "no_index", "prereqs", "release_status", "resources"}


def is_text(value):
    return isinstance(value, str) and value.strip() != ""


def is_term(value):
    return isinstance(value, str) and len(value) > 1 and not re.search(r"[\s/\\\x00-\x1f\x7f]", value)


def is_tag(value):
    return isinstance(value, str) and 1 <= len(value) <= 255 and not re.search(r"[/\\\x00-\x1f\x7f]", value)


def is_version(value):
    return isinstance(value, str) and re.fullmatch(SEMVER, value) is not None


def is_range(value):
    """A version, 0 for any, or several with operators."""
    return value in (0, "0") or isinstance(value, str) and all(
        re.fullmatch(rf"(<|<=|==|>=|>|!=)?\s*({SEMVER}|0)", part.strip()) for part in value.split(","))


def is_uri(value):
    return isinstance(value, str) and re.fullmatch(r"[a-z][a-z0-9+.-]*:[^\s]+", value) is not None


def is_mail(value):
    return isinstance(value, str) and re.fullmatch(r"[^@\s]+@[^@\s]+", value) is not None


def one_or_more(value, test):
    return test(value) or isinstance(value, list) and value != [] and all(test(item) for item in value)


def keys(where, value, allowed, required=()):
    """Complaints of a map's keys; those that begin with x_ are anybody's."""
    if not isinstance(value, dict):
        return [f"{where} is no map"]
    return [f"{where} lacks {key}" for key in required if key not in value] + \
           [f"{where} has an unknown {key}" for key in value if key not in allowed and not re.match("[xX]_", key)]


def provides_complaints(value):
    if not isinstance(value, dict) or not value:
        yield "provides is no map with an entry"
        return
    for name, entry in value.items():
        if not is_term(name):
            yield f"provides: {name!r} is no term"
        yield from keys(f"provides.{name}", entry, {"file", "version", "abstract", "docfile"}, ("file", "version"))
        for key, test in (("file", is_text), ("version", is_version), ("abstract", is_text), ("docfile", is_text)):
            if isinstance(entry, dict) and key in entry and not test(entry[key]):
                yield f"provides.{name}.{key} is not valid"


def prereqs_complaints(value):
    yield from keys("prereqs", value, {"configure", "runtime", "build", "test", "develop"})
    for phase, relations in value.items() if isinstance(value, dict) else ():
        yield from keys(f"prereqs.{phase}", relations, {"requires", "recommends", "suggests", "conflicts"})
        for relation, needs in relations.items() if isinstance(relations, dict) else ():
            if not isinstance(needs, dict):
                yield f"prereqs.{phase}.{relation} is no map"
                continue
            for name, wanted in needs.items():
                if not is_term(name) or not is_range(wanted):
                    yield f"prereqs.{phase}.{relation}: {name!r}: {wanted!r} is not valid"


def resources_complaints(value):
    yield from keys("resources", value, {"homepage", "bugtracker", "repository"})
    if not isinstance(value, dict):
        return
    if "homepage" in value and not is_uri(value["homepage"]):
        yield "resources.homepage is no URI"
    for part, tests in (("bugtracker", {"web": is_uri, "mailto": is_mail}),
                        ("repository", {"url": is_uri, "web": is_uri, "type": is_text})):
        entry = value.get(part)
        if entry is None:
            continue
        yield from keys(f"resources.{part}", entry, tests)
        for key, test in tests.items() if isinstance(entry, dict) else ():
            if key in entry and not test(entry[key]):
                yield f"resources.{part}.{key} is not valid"
        if part == "repository" and ("url" in entry or "web" in entry) and "type" not in entry:
            yield "resources.repository lacks type"


def meta_complaints(meta):
    """What PGXN would refuse META.json for."""
    found = keys("META.json", meta, REQUIRED | OPTIONAL, sorted(REQUIRED))
    tests = {
        "name": is_term, "version": is_version, "abstract": is_text, "description": is_text, "generated_by": is_text,
        "maintainer": lambda value: one_or_more(value, is_text),
        "license": lambda value: one_or_more(value, lambda item: item in LICENSES) or
        isinstance(value, dict) and value != {} and all(is_text(k) and is_uri(v) for k, v in value.items()),
        "tags": lambda value: isinstance(value, list) and value != [] and all(is_tag(item) for item in value),
        "release_status": lambda value: value in ("stable", "testing", "unstable"),
        "meta-spec": lambda value: isinstance(value, dict) and value.get("version") == "1.0.0" and
        is_uri(value.get("url", "https:x")) and set(value) <= {"version", "url"},
    }
    found += [f"{key} is not valid: {meta[key]!r}" for key, test in tests.items() if key in meta and not test(meta[key])]
    for key, complaints in (("provides", provides_complaints), ("prereqs", prereqs_complaints),
                            ("resources", resources_complaints)):
        if key in meta:
            found += complaints(meta[key])
    return found


# Changes to a good one, each of which must be refused.
SPOILT = [("version", "1.0"), ("version", "01.0.0"), ("name", "pg bulk"), ("name", "p"), ("license", "wtfpl"), ("maintainer", []),
          ("tags", ["a/b"]), ("tags", "csv"), ("release_status", "final"), ("meta-spec", {"url": "https:x"}), ("abstract", ""),
          ("provides", {}), ("provides", {"pgbulk": {"file": "a"}}), ("provides", {"pgbulk": {"file": "a", "version": "1"}}),
          ("prereqs", {"run": {}}), ("prereqs", {"build": {"needs": {}}}), ("prereqs", {"build": {"requires": {"PostgreSQL": "15"}}}),
          ("resources", {"homepage": "pgbulk"}), ("resources", {"repository": {"url": "https:x"}}),
          ("resources", {"bugtracker": {"mailto": "nobody"}}), ("colour", "blue")]


def test_rules(meta):
    for key in REQUIRED:
        if not meta_complaints({k: v for k, v in meta.items() if k != key}):
            yield f"META.json without {key} is accepted"
    for key, value in SPOILT:
        if not meta_complaints({**copy.deepcopy(meta), key: value}):
            yield f"META.json with {key} {value!r} is accepted"


def dist(tree, folder):
    out = subprocess.run([tree / "scripts/dist", folder], capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit(f"scripts/dist: {out.stderr}")
    return Path(out.stdout.strip())


def unpack(archive, place):
    with zipfile.ZipFile(archive) as zipped:
        zipped.extractall(place)
        for entry in zipped.infolist():
            (place / entry.filename).chmod(entry.external_attr >> 16 & 0o777)
    return next(place.iterdir())


def complaints(work):
    first = dist(ROOT, work / "first")
    tree = unpack(first, work / "tree")
    meta = json.loads((tree / "META.json").read_text())
    control = (tree / "pgbulk.control").read_text()
    version = re.search(r"^default_version = '(.*)'", control, re.M).group(1)

    yield from meta_complaints(meta)
    yield from test_rules(meta)
    if f"{meta['name']}-{version}" != tree.name or not meta["version"].startswith(version + "."):
        yield f"{tree.name} is not {meta['name']} {meta['version']} of {version}"
    for name, entry in meta["provides"].items():
        for key in ("file", "docfile"):
            if not (tree / entry[key]).is_file():
                yield f"provides.{name}.{key}: the release has no {entry[key]}"
        if entry["version"] != meta["version"]:
            yield f"provides.{name} is {entry['version']}"
    # packages bear the version, too
    for name, line in (("debian/changelog", rf"\Apgbulk \({re.escape(version)}-"),
                       ("packaging/rpm/pgbulk.spec", rf"(?m)^Version:\s*{re.escape(version)}$")):
        if not re.search(line, (tree / name).read_text()):
            yield f"{name} is not of {version}"

    if not filecmp.cmp(first, dist(ROOT, work / "again"), shallow=False):
        yield "the same tree makes another zip"
    # a tree without git in which somebody has built and tested
    for name in ("src/load/load.o", "pgbulk.so", "build.stamp", "results/csv.out", "regression.diffs", ".build/x/y",
                 "test/__pycache__/a.pyc", "pgbulk-0.9.zip", "build-17/src/pgbulk.o", "debian/postgresql-17-pgbulk/usr/a",
                 "debian/files", "bench/out/a.csv", "tmp_check/log/a"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("stray")
    if not filecmp.cmp(first, dist(tree, work / "third"), shallow=False):
        yield "an unpacked release makes another zip"
    # a clone, where git is missing: it alone knows what is somebody's own there
    (tree / ".git").mkdir()
    out = subprocess.run([sys.executable, tree / "scripts/dist", "--list"], capture_output=True, text=True,
                         env={**os.environ, "PATH": str(work / "no programs")})
    if out.returncode == 0 or out.stdout or "Traceback" in out.stderr or "git is not installed" not in out.stderr:
        yield f"a clone without git: scripts/dist says {out.stderr or out.stdout!r}"
    if not os.access(tree / "scripts/test", os.X_OK):
        yield "scripts/test cannot be run"


with tempfile.TemporaryDirectory() as folder:
    found = list(complaints(Path(folder)))
print("\n".join(found), end="\n" if found else "")
sys.exit(1 if found else 0)
