"""The openstack command inside this process, and how cases are counted.

The command takes seconds to start; its code takes a fraction of one. What only a started command shows (the pod that runs
it, the seed's commands as written) is tried in seed.py.
"""
import contextlib
import io
import json
import logging
import os
import sys
import traceback

from openstackclient import shell
from osc_lib import clientmanager


class Refused(Exception):
    """What the command said on its error output."""


def command(*words, cloud=None, answer="json"):
    """What the command prints; JSON unless another answer is wanted (`text`, `yaml`, None for commands that print nothing)."""
    words = [str(word) for word in words]
    if answer in ("json", "yaml"):
        words += ["-f", answer]
    if cloud:
        words = ["--os-cloud", cloud, *words]
    out, errors = io.StringIO(), io.StringIO()
    # cliff writes its complaints to a log that goes to standard error.
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            code = shell.main(words)
        except SystemExit as ended:
            code = ended.code
    logging.getLogger().handlers.clear()
    # The command thinks that its process ends: its clients, and with them who they are, stay in the class.
    for held in vars(clientmanager.ClientManager).values():
        if isinstance(held, clientmanager.ClientCache):
            held._handle = None
    if code:
        raise Refused(f"openstack {' '.join(words)}: {errors.getvalue().strip() or out.getvalue().strip()}")
    return json.loads(out.getvalue()) if answer == "json" else out.getvalue()


def refused(part, *words, **more):
    """The command is refused, and says why with these words."""
    try:
        said = command(*words, **more)
    except Refused as error:
        assert part.lower() in str(error).lower(), f"{part!r} is not in: {error}"
        return
    raise AssertionError(f"openstack {' '.join(map(str, words))} was not refused: {said}")


def column(rows, name):
    """The values of a column of a list."""
    return sorted(row[name] for row in rows)


def run(cases):
    """Runs the cases; prints a line for each, and how many passed, as scripts/test counts them."""
    only = os.environ.get("LANDBRIDGE_CASE")
    passed = failed = 0
    for case in cases:
        if only and case.__name__ != only:
            continue
        try:
            case()
            passed += 1
            print("ok", case.__name__, flush=True)
        except Exception:
            failed += 1
            print("FAILED", case.__name__, flush=True)
            traceback.print_exc()
            sys.stderr.flush()
    print(f"{passed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed else 0)
