"""The seed's commands by the real openstack command, field by field against what the seed shows (seed.yaml).

    OS_CLIENT_CONFIG_FILE=… OS_CLOUD=… seed.py PATH-OF-OPENSTACK [--make|--kept]

`--kept`: Octavia's networks are there, made and kept by Landbridge's controller. Router and port have been changed once
more than the operators' (docs/adr/0027), which their revision says; endpoints are another case's. `--make` first makes, on a cloud that has nothing,
what Octavia and the control plane make there, with the calls that the operators send, by the same command. Prints one line
per command, and how many passed, as scripts/test counts them.
"""
import os
import shlex
import subprocess
import sys

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
command = sys.argv[1]
KEPT = "--kept" in sys.argv[2:]
# Two commands of glance's endpoints: what the control plane registers.
ENDPOINTS = {
    "internal": "http://glance-internal.openstack.svc:9292",
    "public": "http://glance-public-openstack.apps.ostest.test.metalkube.org",
}


class Wrong(Exception):
    """What differs."""


def make():
    """Octavia's networks, in the operator's order, and the endpoints of Glance."""
    from shell import command as run

    run("security", "group", "create", "lb-mgmt-sec-grp")
    run("security", "group", "create", "lb-health-mgr-sec-grp")
    run("network", "create", "lb-mgmt-net")
    run("subnet", "create", "lb-mgmt-subnet", "--network", "lb-mgmt-net", "--subnet-range", "172.24.0.0/16", "--gateway", "none")
    groups = ("--security-group", "lb-mgmt-sec-grp", "--security-group", "lb-health-mgr-sec-grp")
    port = run("port", "create", "lb-mgmt-router-port", "--network", "lb-mgmt-net", *groups)
    provider = ("--provider-network-type", "flat", "--provider-physical-network", "octavia")
    run("network", "create", "octavia-provider-net", "--external", *provider)
    run(
        "subnet", "create", "octavia-provider-subnet", "--network", "octavia-provider-net", "--subnet-range", "172.23.0.0/24",
        "--gateway", "none", "--allocation-pool", "start=172.23.0.150,end=172.23.0.150",
    )
    gateway = ("--external-gateway", "octavia-provider-net", "--disable-snat", "--fixed-ip", "subnet=octavia-provider-subnet,ip-address=172.23.0.150")
    run("router", "create", "octavia-link-router", *gateway)
    run("router", "add", "port", "octavia-link-router", "lb-mgmt-router-port", answer=None)
    route = f"destination=172.23.0.0/24,gateway={port['fixed_ips'][0]['ip_address']}"
    run("subnet", "set", "lb-mgmt-subnet", "--host-route", route, answer=None)
    region = run("region", "list")[0]["Region"]
    for endpoint in run("endpoint", "list", "--service", "glance"):
        run("endpoint", "delete", endpoint["ID"], answer=None)
    for interface, url in ENDPOINTS.items():
        run("endpoint", "create", "--region", region, "glance", interface, url)


def same(at, wanted, got, known):
    """Tells where what was printed differs from what is wanted; notes what `$names` are."""
    if isinstance(wanted, str) and wanted.startswith("$"):
        if not isinstance(got, str) or not got:
            raise Wrong(f"{at}: {got!r} where {wanted} should be")
        if known.setdefault(wanted, got) != got:
            raise Wrong(f"{at}: {got!r}, but {wanted} was {known[wanted]!r}")
    elif isinstance(wanted, str) and "{" in wanted:
        address = known.get("$address", "")
        wanted = wanted.replace("{address}", address).replace("{dashed}", address.replace(".", "-"))
        same(at, wanted, got, known)
    elif isinstance(wanted, dict) and isinstance(got, dict):
        if set(wanted) != set(got):
            raise Wrong(f"{at}: has {sorted(got)} and not {sorted(wanted)}")
        for name, value in wanted.items():
            same(f"{at}.{name}", value, got[name], known)
    elif isinstance(wanted, list) and isinstance(got, list):
        if len(wanted) != len(got):
            raise Wrong(f"{at}: {got!r} and not {wanted!r}")
        for number, value in enumerate(wanted):
            same(f"{at}.{number}", value, got[number], known)
    elif type(wanted) is not type(got) or wanted != got:
        raise Wrong(f"{at}: {got!r} and not {wanted!r}")


def row(wanted, rows, known):
    """One of the rows is the one that is wanted."""
    reasons = []
    for got in rows:
        tried = dict(known)
        try:
            same(wanted["Name"], wanted, got, tried)
        except Wrong as error:
            reasons.append(str(error))
            continue
        known.update(tried)
        return
    raise Wrong(f"no row is {wanted}: {reasons}")


def check(entry, printed, known):
    if "text" in entry:
        # Keystone says nothing about the order of endpoints.
        if sorted(printed.split("\n")) != sorted(entry["text"].split("\n")):
            raise Wrong(f"printed\n{printed}")
        return
    got = yaml.safe_load(printed)
    for wanted in entry.get("rows", []):
        row(wanted, got, known)
    if "whole" in entry:
        same(entry["run"], entry["whole"], got, known)
    # The command of today prints more columns than that of the seed's time; those of the seed are compared.
    wanted = dict(entry.get("fields", {}))
    if KEPT and "revision_number" in wanted:
        wanted["revision_number"] += 1
    wanted.update({name: value for name, value in entry.get("perhaps", {}).items() if name in got})
    if wanted:
        missing = sorted(set(wanted) - set(got))
        if missing:
            raise Wrong(f"not printed: {missing}")
        same(entry["run"], wanted, {name: got[name] for name in wanted}, known)


def main():
    if "--make" in sys.argv[2:]:
        make()
    with open(os.path.join(HERE, "seed.yaml"), encoding="utf-8") as file:
        entries = yaml.safe_load(file)
    known, passed, failed = {}, 0, 0
    for entry in entries:
        if KEPT and "text" in entry:
            continue
        words = [known.get(word, word) for word in shlex.split(entry["run"])]
        done = subprocess.run([command, *words], capture_output=True, text=True, timeout=120, check=False)
        try:
            if done.returncode:
                raise Wrong(done.stderr.strip())
            check(entry, done.stdout, known)
            passed += 1
            print("ok openstack", entry["run"], flush=True)
        except Wrong as error:
            failed += 1
            print(f"FAILED openstack {entry['run']}\n  {error}", flush=True)
    print(f"{passed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed else 0)


main()
