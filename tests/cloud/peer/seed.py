"""Makes the projects, users and endpoints of the tests in a bootstrapped Keystone, without starting a server.

Every password is "secret". Projects: admin, demo, other, service. Users: admin; member and reader, both of demo; other,
a member of project other; neutron, the service's own. The endpoints carry the words KEYSTONE and NEUTRON in place of
host and port, which openstack-peer replaces at every start, when it has chosen them.

Runs with OS_KEYSTONE_CONFIG_DIR set.
"""
import sys

from werkzeug.test import Client

# Keystone parses the arguments of the program that loads it.
sys.argv = sys.argv[:1]
from keystone.wsgi.api import application  # noqa: E402

client = Client(application)
admin = {
    "auth": {
        "identity": {
            "methods": ["password"],
            "password": {"user": {"name": "admin", "domain": {"id": "default"}, "password": "secret"}},
        },
        "scope": {"project": {"name": "admin", "domain": {"id": "default"}}},
    }
}
answer = client.post("/v3/auth/tokens", json=admin)
assert answer.status_code == 201, answer.text
headers = {"X-Auth-Token": answer.headers["X-Subject-Token"]}


def make(collection, one, body):
    answer = client.post(f"/v3/{collection}", json={one: body}, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json[one]["id"]


def listed(collection):
    return client.get(f"/v3/{collection}", headers=headers).json[collection]


roles = {role["name"]: role["id"] for role in listed("roles")}
projects = {project["name"]: project["id"] for project in listed("projects")}
for name in ("service", "demo", "other"):
    projects[name] = make("projects", "project", {"name": name, "domain_id": "default"})
for name, project, given in (
    ("neutron", "service", ["admin", "service"]),
    ("member", "demo", ["member"]),
    ("reader", "demo", ["reader"]),
    ("other", "other", ["member"]),
):
    user = make("users", "user", {"name": name, "domain_id": "default", "password": "secret"})
    for role in given:
        path = f"/v3/projects/{projects[project]}/users/{user}/roles/{roles[role]}"
        answer = client.put(path, headers=headers)
        assert answer.status_code == 204, answer.text
service = make("services", "service", {"type": "network", "name": "neutron"})
for interface in ("public", "internal", "admin"):
    make(
        "endpoints",
        "endpoint",
        {"service_id": service, "interface": interface, "region_id": "RegionOne", "url": "http://NEUTRON"},
    )
