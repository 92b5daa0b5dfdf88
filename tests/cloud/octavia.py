#!/usr/bin/env python3
"""Octavia's management network over the API, without a client: is it the seed's?

    octavia.py CLOUDS_YAML check            every object and field that the seed shows; says what differs
    octavia.py CLOUDS_YAML gone             nothing of it is left
    octavia.py CLOUDS_YAML METHOD SERVICE PATH [JSON]
                                            one call, for cases: its answer as JSON

Ids, times, MAC addresses and addresses that Neutron chooses are left aside, but have to fit each other.
"""
import json
import re
import sys
import urllib.error
import urllib.request

# As the seed prints them; what the client computes (interfaces_info, security_group_ids) is looked at below.
ROUTER = {
    "admin_state_up": True, "availability_zone_hints": [], "availability_zones": [], "description": "",
    "enable_ndp_proxy": None, "flavor_id": None, "name": "octavia-link-router", "routes": [], "status": "ACTIVE", "tags": [],
}
PORT = {
    "admin_state_up": True, "allowed_address_pairs": [], "binding:host_id": "", "binding:profile": {},
    "binding:vif_details": {}, "binding:vif_type": "unbound", "binding:vnic_type": "normal", "data_plane_status": None,
    "description": "", "device_owner": "network:router_interface", "device_profile": None, "dns_domain": "",
    "dns_name": "", "extra_dhcp_opts": [], "ip_allocation": "immediate", "name": "lb-mgmt-router-port",
    "numa_affinity_policy": None, "port_security_enabled": True, "propagate_uplink_status": None,
    "qos_network_policy_id": None, "qos_policy_id": None, "resource_request": None, "status": "ACTIVE", "tags": [],
    "trunk_details": None,
}
INGRESS = {
    "lb-mgmt-sec-grp": {("tcp", 22), ("tcp", 9443)},
    "lb-health-mgr-sec-grp": {("udp", 5555), ("udp", 514), ("tcp", 514)},
}


def settings(path):
    """The cloud `landbridge` of a clouds.yaml as `landbridge up` writes it: one key on a line, values in JSON."""
    found, inside = {}, False
    for line in open(path, encoding="utf-8"):
        if re.match(r"  \S", line):
            inside = line.strip() == "landbridge:"
        match = re.match(r"    +(\w+): (.+)", line)
        if inside and match:
            found[match[1]] = json.loads(match[2])
    return found


class Cloud:
    def __init__(self, path):
        self.settings = settings(path)
        own = self.settings
        domain = {"name": own["user_domain_name"]}
        user = {"name": own["username"], "password": own["password"], "domain": domain}
        scope = {"project": {"name": own["project_name"], "domain": {"name": own["project_domain_name"]}}}
        body = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}}
        self.token = None
        _, headers = self.raw("POST", own["auth_url"] + "/auth/tokens", body)
        self.token = headers["X-Subject-Token"]

    def raw(self, method, url, body=None):
        headers = {"Content-Type": "application/json"} | ({"X-Auth-Token": self.token} if self.token else {})
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            text = answer.read()
            return (json.loads(text) if text else None), answer.headers

    def call(self, method, service, path, body=None):
        root = self.settings[service + "_endpoint_override"].rstrip("/")
        root += "/v2.0" if service == "network" else ""
        return self.raw(method, root + path, body)[0]

    def only(self, plural, name):
        found = [one for one in self.call("GET", "network", f"/{plural}")[plural.replace("-", "_")] if one["name"] == name]
        if len(found) != 1:
            raise SystemExit(f"{len(found)} {plural} are called {name}")
        return found[0]


def check(cloud):
    wrong = []

    def same(what, have, want):
        if have != want:
            wrong.append(f"{what} is {json.dumps(have)}, the seed has {json.dumps(want)}")

    provider, tenant = cloud.only("networks", "octavia-provider-net"), cloud.only("networks", "lb-mgmt-net")
    outer, inner = cloud.only("subnets", "octavia-provider-subnet"), cloud.only("subnets", "lb-mgmt-subnet")
    same("subnets of octavia-provider-net", provider["subnets"], [outer["id"]])
    same("subnets of lb-mgmt-net", tenant["subnets"], [inner["id"]])
    same("the provider network", [provider[key] for key in ("provider:network_type", "provider:physical_network", "router:external")],
         ["flat", "octavia", True])
    same("cidr of octavia-provider-subnet", outer["cidr"], "172.23.0.0/24")
    same("its pool", outer["allocation_pools"], [{"start": "172.23.0.71", "end": "172.23.0.96"}])
    same("cidr of lb-mgmt-subnet", inner["cidr"], "172.24.0.0/16")
    router, port = cloud.only("routers", "octavia-link-router"), cloud.only("ports", "lb-mgmt-router-port")
    for what, object_, fields in (("router", router, ROUTER), ("port", port, PORT)):
        for field, value in fields.items():
            same(f"{field} of the {what}", object_.get(field), value)
    info = {"network_id": provider["id"], "enable_snat": False,
            "external_fixed_ips": [{"subnet_id": outer["id"], "ip_address": "172.23.0.150"}]}
    same("external_gateway_info", router["external_gateway_info"], info)
    address = port["fixed_ips"][0]["ip_address"]
    same("fixed_ips of the port", port["fixed_ips"], [{"subnet_id": inner["id"], "ip_address": address}])
    same("device_id of the port", port["device_id"], router["id"])
    same("network of the port", port["network_id"], tenant["id"])
    same("project of router and port", [router["project_id"], port["project_id"]], [provider["project_id"]] * 2)
    same("host_routes", inner["host_routes"], [{"destination": "172.23.0.0/24", "nexthop": address}])
    groups = []
    for name, entries in INGRESS.items():
        group = cloud.only("security-groups", name)
        groups.append(group["id"])
        rules = [rule for rule in group["security_group_rules"] if rule["direction"] == "ingress"]
        have = sorted((rule["ethertype"], rule["protocol"], rule["port_range_min"]) for rule in rules)
        same(f"what {name} lets in", have, sorted((v, *entry) for entry in entries for v in ("IPv4", "IPv6")))
    same("groups of the port", sorted(port["security_groups"]), sorted(groups))
    policies = cloud.call("GET", "network", f"/rbac-policies?object_id={provider['id']}")["rbac_policies"]
    same("who may use the provider network", [one["target_tenant"] for one in policies], [provider["project_id"]])
    quota = cloud.call("GET", "compute", f"/os-quota-sets/{tenant['project_id']}")["quota_set"]
    names = ("cores", "instances", "ram", "server_groups", "server_group_members")
    same("Nova's quotas", [quota[name] for name in names], [-1] * len(names))
    quota = cloud.call("GET", "network", f"/quotas/{tenant['project_id']}")["quota"]
    same("Neutron's quotas", [quota[name] for name in ("port", "security_group", "security_group_rule")], [-1] * 3)
    return wrong


def gone(cloud):
    left = []
    for plural in ("networks", "subnets", "routers", "ports", "security-groups"):
        for one in cloud.call("GET", "network", f"/{plural}")[plural.replace("-", "_")]:
            if re.match(r"lb-(mgmt|health|prov)|octavia-", one["name"]):
                left.append(f"{plural} {one['name']} is left")
    return left


def main():
    cloud = Cloud(sys.argv[1])
    what, *rest = sys.argv[2:]
    if what in ("check", "gone"):
        wrong = check(cloud) if what == "check" else gone(cloud)
        for line in wrong:
            print(line)
        return 1 if wrong else 0
    body = json.loads(rest[2]) if len(rest) > 2 else None
    try:
        print(json.dumps(cloud.call(what, rest[0], rest[1], body)))
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
