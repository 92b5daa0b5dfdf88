"""Every family of commands that an administrator uses, by the code of the real openstack command.

    OS_CLIENT_CONFIG_FILE=… families.py

The clouds `admin` and `member` have to be in the file; what a case makes it takes away again.
"""
import os
import tempfile

from shell import column, command, refused, run

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl somebody"
files = tempfile.TemporaryDirectory()
cases = []


def case(function):
    cases.append(function)
    return function


def file_of(text):
    """The path of a file with this text."""
    path = os.path.join(files.name, str(len(os.listdir(files.name))))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


@case
def networks():
    made = command("network", "create", "fam-net", "--mtu", 1400, "--description", "a family", "--tag", "blue")
    assert (made["mtu"], made["description"], made["tags"]) == (1400, "a family", ["blue"]), made
    assert made["status"] == "ACTIVE" and made["router:external"] is False, made
    command("network", "set", "fam-net", "--name", "fam-renamed", "--disable", "--tag", "red", answer=None)
    shown = command("network", "show", "fam-renamed")
    assert (shown["admin_state_up"], sorted(shown["tags"])) == (False, ["blue", "red"]), shown
    assert shown["revision_number"] > made["revision_number"], (made, shown)
    assert column(command("network", "list", "--tags", "red"), "Name") == ["fam-renamed"]
    assert column(command("network", "list", "--name", "fam-renamed", "--long"), "State") == [False]
    assert command("network", "list", "--external", "--name", "fam-renamed") == []
    command("network", "unset", "fam-renamed", "--all-tag", answer=None)
    assert command("network", "show", "fam-renamed", "-c", "tags")["tags"] == []
    refused("Invalid input for mtu", "network", "create", "bad", "--mtu", -1)
    refused("disallowed by policy", "network", "create", "bad", "--external", cloud="member")
    refused("No Network found", "network", "show", "nobody")
    command("network", "delete", "fam-renamed", answer=None)
    refused("No Network found", "network", "show", "fam-renamed")


@case
def provider_networks():
    words = ("--provider-network-type", "vlan", "--provider-physical-network", "physnet1", "--provider-segment", 77)
    made = command("network", "create", "fam-vlan", "--external", *words)
    assert (made["provider:network_type"], made["provider:segmentation_id"]) == ("vlan", 77), made
    refused("is in use", "network", "create", "again", *words)
    assert "fam-vlan" in column(command("network", "list", "--external"), "Name")
    assert column(command("network", "list", "--provider-segment", 77), "Name") == ["fam-vlan"]
    command("network", "delete", "fam-vlan", answer=None)


@case
def subnets():
    command("network", "create", "fam-net", answer="json")
    made = command(
        "subnet", "create", "fam-sub", "--network", "fam-net", "--subnet-range", "10.50.0.0/24", "--dns-nameserver", "10.50.0.2",
        "--allocation-pool", "start=10.50.0.10,end=10.50.0.20", "--host-route", "destination=10.51.0.0/16,gateway=10.50.0.9",
        "--gateway", "10.50.0.1", "--no-dhcp",
    )
    assert made["allocation_pools"] == [{"start": "10.50.0.10", "end": "10.50.0.20"}], made
    assert made["host_routes"] == [{"destination": "10.51.0.0/16", "nexthop": "10.50.0.9"}], made
    assert (made["enable_dhcp"], made["gateway_ip"], made["dns_nameservers"]) == (False, "10.50.0.1", ["10.50.0.2"]), made
    command("subnet", "set", "fam-sub", "--dhcp", "--dns-nameserver", "10.50.0.3", "--allocation-pool", "start=10.50.0.30,end=10.50.0.40", answer=None)
    command("subnet", "unset", "fam-sub", "--host-route", "destination=10.51.0.0/16,gateway=10.50.0.9", answer=None)
    shown = command("subnet", "show", "fam-sub")
    assert shown["host_routes"] == [] and shown["enable_dhcp"] is True, shown
    assert sorted(shown["dns_nameservers"]) == ["10.50.0.2", "10.50.0.3"] and len(shown["allocation_pools"]) == 2, shown
    six = command(
        "subnet", "create", "fam-six", "--network", "fam-net", "--ip-version", 6, "--subnet-range", "fd00:50::/64",
        "--ipv6-ra-mode", "slaac", "--ipv6-address-mode", "slaac",
    )
    assert six["gateway_ip"] == "fd00:50::", six
    assert column(command("subnet", "list", "--network", "fam-net", "--ip-version", 6), "Name") == ["fam-six"]
    refused("overlap", "subnet", "create", "bad", "--network", "fam-net", "--subnet-range", "10.50.0.0/25")
    command("subnet", "delete", "fam-sub", "fam-six", answer=None)
    command("network", "delete", "fam-net", answer=None)


@case
def subnet_pools():
    command("address", "scope", "create", "fam-scope", answer="json")
    pool = command(
        "subnet", "pool", "create", "fam-pool", "--pool-prefix", "10.60.0.0/16", "--default-prefix-length", 26, "--address-scope", "fam-scope"
    )
    assert (pool["prefixes"], str(pool["default_prefixlen"])) == (["10.60.0.0/16"], "26"), pool
    command("network", "create", "fam-net")
    made = command("subnet", "create", "fam-sub", "--network", "fam-net", "--subnet-pool", "fam-pool")
    assert made["cidr"] == "10.60.0.0/26", made
    assert column(command("subnet", "list", "--subnet-pool", "fam-pool"), "Name") == ["fam-sub"]
    refused("has existing allocations", "subnet", "pool", "delete", "fam-pool", answer=None)
    command("network", "delete", "fam-net", answer=None)
    command("subnet", "pool", "delete", "fam-pool", answer=None)
    command("address", "scope", "delete", "fam-scope", answer=None)


@case
def ports():
    command("network", "create", "fam-net")
    command("subnet", "create", "fam-sub", "--network", "fam-net", "--subnet-range", "10.50.0.0/24")
    command("security", "group", "create", "fam-sg")
    made = command(
        "port", "create", "fam-port", "--network", "fam-net", "--fixed-ip", "subnet=fam-sub,ip-address=10.50.0.9", "--security-group",
        "fam-sg", "--allowed-address", "ip-address=10.50.0.200", "--device-owner", "compute:nova", "--mac-address", "fa:16:3e:50:00:09",
    )
    assert [fixed["ip_address"] for fixed in made["fixed_ips"]] == ["10.50.0.9"], made
    assert made["mac_address"] == "fa:16:3e:50:00:09" and len(made["security_group_ids"]) == 1, made
    assert [pair["ip_address"] for pair in made["allowed_address_pairs"]] == ["10.50.0.200"], made
    assert column(command("port", "list", "--network", "fam-net", "--device-owner", "compute:nova"), "Name") == ["fam-port"]
    assert column(command("port", "list", "--fixed-ip", "ip-address=10.50.0.9"), "Name") == ["fam-port"]
    assert column(command("port", "list", "--mac-address", "fa:16:3e:50:00:09"), "Name") == ["fam-port"]
    command("port", "set", "fam-port", "--no-security-group", "--no-allowed-address", "--disable-port-security", "--disable", answer=None)
    shown = command("port", "show", "fam-port")
    assert (shown["security_group_ids"], shown["port_security_enabled"], shown["admin_state_up"]) == ([], False, False), shown
    command("port", "unset", "fam-port", "--fixed-ip", "subnet=fam-sub,ip-address=10.50.0.9", answer=None)
    assert command("port", "show", "fam-port")["fixed_ips"] == []
    refused("Duplicate IP address", "port", "create", "bad", "--network", "fam-net", "--fixed-ip", "ip-address=10.50.0.8", "--fixed-ip", "ip-address=10.50.0.8")
    refused("in use", "network", "delete", "fam-net", answer=None)
    command("port", "delete", "fam-port", answer=None)
    command("network", "delete", "fam-net", answer=None)
    command("security", "group", "delete", "fam-sg", answer=None)


@case
def routers():
    flat = ("--provider-network-type", "flat", "--provider-physical-network", "fam")
    command("network", "create", "fam-out", "--external", *flat)
    command("subnet", "create", "fam-outer", "--network", "fam-out", "--subnet-range", "192.0.2.0/24", "--no-dhcp")
    command("network", "create", "fam-net")
    command("subnet", "create", "fam-sub", "--network", "fam-net", "--subnet-range", "10.50.0.0/24")
    command("router", "create", "fam-router", "--description", "r")
    command(
        "router", "set", "fam-router", "--external-gateway", "fam-out", "--disable-snat", "--fixed-ip", "subnet=fam-outer,ip-address=192.0.2.50", answer=None
    )
    command("router", "add", "subnet", "fam-router", "fam-sub", answer=None)
    shown = command("router", "show", "fam-router")
    gateway = shown["external_gateway_info"]
    assert gateway["enable_snat"] is False and gateway["external_fixed_ips"][0]["ip_address"] == "192.0.2.50", shown
    assert [one["ip_address"] for one in shown["interfaces_info"]] == ["10.50.0.1"], shown
    command("router", "add", "route", "fam-router", "--route", "destination=10.99.0.0/16,gateway=10.50.0.77", answer=None)
    assert command("router", "show", "fam-router")["routes"] == [{"destination": "10.99.0.0/16", "nexthop": "10.50.0.77"}]
    assert len(command("port", "list", "--router", "fam-router")) == 2
    refused("has ports still attached", "router", "delete", "fam-router", answer=None)
    command("router", "remove", "route", "fam-router", "--route", "destination=10.99.0.0/16,gateway=10.50.0.77", answer=None)
    command("router", "remove", "subnet", "fam-router", "fam-sub", answer=None)
    command("port", "create", "fam-port", "--network", "fam-net")
    command("router", "add", "port", "fam-router", "fam-port", answer=None)
    refused("cannot be deleted directly", "port", "delete", "fam-port", answer=None)
    command("router", "remove", "port", "fam-router", "fam-port", answer=None)
    command("router", "unset", "fam-router", "--external-gateway", answer=None)
    assert command("router", "show", "fam-router")["external_gateway_info"] is None
    assert column(command("router", "list", "--name", "fam-router"), "Status") == ["ACTIVE"]
    command("router", "delete", "fam-router", answer=None)
    command("network", "delete", "fam-net", "fam-out", answer=None)


@case
def security_groups():
    made = command("security", "group", "create", "fam-sg", "--description", "of a family", "--stateless")
    assert made["stateful"] is False and len(made["rules"]) == 2, made
    rule = command("security", "group", "rule", "create", "fam-sg", "--protocol", "tcp", "--dst-port", "80:90", "--remote-ip", "192.0.2.0/24")
    assert (rule["port_range_min"], rule["port_range_max"], rule["remote_ip_prefix"]) == (80, 90, "192.0.2.0/24"), rule
    command("security", "group", "rule", "create", "fam-sg", "--protocol", "icmp", "--ethertype", "IPv4", "--remote-group", "fam-sg")
    refused("already exists", "security", "group", "rule", "create", "fam-sg", "--protocol", "tcp", "--dst-port", "80:90", "--remote-ip", "192.0.2.0/24")
    listed = command("security", "group", "rule", "list", "fam-sg", "--ingress")
    assert column(listed, "Port Range") == ["", "80:90"], listed
    assert command("security", "group", "rule", "show", rule["id"])["protocol"] == "tcp"
    command("security", "group", "rule", "delete", rule["id"], answer=None)
    command("security", "group", "set", "fam-sg", "--name", "fam-other", answer=None)
    assert "fam-other" in column(command("security", "group", "list"), "Name")
    command("security", "group", "delete", "fam-other", answer=None)
    refused("removing default security group", "security", "group", "delete", "default", cloud="member", answer=None)


@case
def trunks():
    command("network", "create", "fam-net")
    for port in ("fam-parent", "fam-child", "fam-other"):
        command("port", "create", port, "--network", "fam-net")
    made = command("network", "trunk", "create", "fam-trunk", "--parent-port", "fam-parent", "--subport", "port=fam-child,segmentation-type=vlan,segmentation-id=7")
    assert [sub["segmentation_id"] for sub in made["sub_ports"]] == [7], made
    command("network", "trunk", "set", "fam-trunk", "--subport", "port=fam-other,segmentation-type=vlan,segmentation-id=8", "--description", "t", answer=None)
    assert column(command("network", "subport", "list", "--trunk", "fam-trunk"), "Segmentation ID") == [7, 8]
    assert command("port", "show", "fam-parent")["trunk_details"]["trunk_id"] == made["id"]
    refused("is currently a subport", "port", "delete", "fam-child", answer=None)
    command("network", "trunk", "unset", "fam-trunk", "--subport", "fam-other", answer=None)
    assert column(command("network", "trunk", "list"), "Name") == ["fam-trunk"]
    assert len(command("network", "trunk", "show", "fam-trunk")["sub_ports"]) == 1
    command("network", "trunk", "delete", "fam-trunk", answer=None)
    command("port", "delete", "fam-parent", "fam-child", "fam-other", answer=None)
    command("network", "delete", "fam-net", answer=None)


@case
def floating_ips():
    command("network", "create", "fam-out", "--external", "--provider-network-type", "flat", "--provider-physical-network", "fam")
    command("subnet", "create", "fam-outer", "--network", "fam-out", "--subnet-range", "192.0.2.0/24", "--no-dhcp")
    command("network", "create", "fam-net")
    command("subnet", "create", "fam-sub", "--network", "fam-net", "--subnet-range", "10.50.0.0/24")
    command("router", "create", "fam-router", "--external-gateway", "fam-out")
    command("router", "add", "subnet", "fam-router", "fam-sub", answer=None)
    port = command("port", "create", "fam-port", "--network", "fam-net", "--fixed-ip", "ip-address=10.50.0.9")
    made = command("floating", "ip", "create", "fam-out", "--floating-ip-address", "192.0.2.99")
    assert (made["floating_ip_address"], made["status"], made["port_id"]) == ("192.0.2.99", "DOWN", None), made
    command("floating", "ip", "set", "192.0.2.99", "--port", port["id"], answer=None)
    shown = command("floating", "ip", "show", "192.0.2.99")
    assert (shown["fixed_ip_address"], shown["port_id"]) == ("10.50.0.9", port["id"]), shown
    assert column(command("floating", "ip", "list", "--port", port["id"]), "Floating IP Address") == ["192.0.2.99"]
    refused("already allocated", "floating", "ip", "create", "fam-out", "--floating-ip-address", "192.0.2.99")
    command("floating", "ip", "unset", "192.0.2.99", "--port", answer=None)
    command("floating", "ip", "delete", "192.0.2.99", answer=None)
    command("port", "delete", "fam-port", answer=None)
    command("router", "remove", "subnet", "fam-router", "fam-sub", answer=None)
    command("router", "delete", "fam-router", answer=None)
    command("network", "delete", "fam-net", "fam-out", answer=None)


@case
def rbac():
    command("network", "create", "fam-net")
    refused("No Network found", "network", "show", "fam-net", cloud="member")
    made = command("network", "rbac", "create", "fam-net", "--type", "network", "--action", "access_as_shared", "--target-project", "demo")
    assert command("network", "show", "fam-net", cloud="member")["name"] == "fam-net"
    command("network", "rbac", "set", made["id"], "--target-project", "other", answer=None)
    refused("No Network found", "network", "show", "fam-net", cloud="member")
    assert made["id"] in column(command("network", "rbac", "list", "--type", "network"), "ID")
    assert command("network", "rbac", "show", made["id"])["action"] == "access_as_shared"
    command("network", "rbac", "delete", made["id"], answer=None)
    command("network", "delete", "fam-net", answer=None)


@case
def quotas():
    def networks_of_demo():
        return {row["Resource"]: row["Limit"] for row in command("quota", "show", "demo")}

    assert networks_of_demo()["networks"] == 100
    command("quota", "set", "demo", "--networks", 7, "--cores", 4, answer=None)
    changed = networks_of_demo()
    assert (changed["networks"], changed["cores"]) == (7, 4), changed
    command("quota", "delete", "demo", answer=None)
    assert networks_of_demo()["networks"] == 100


@case
def servers():
    command("flavor", "create", "fam-flavor", "--ram", 256, "--vcpus", 1, "--disk", 1)
    command("image", "create", "fam-image", "--disk-format", "raw", "--container-format", "bare", "--public", "--file", file_of("x"))
    command("network", "create", "fam-net", cloud="member")
    command("subnet", "create", "fam-sub", "--network", "fam-net", "--subnet-range", "10.50.0.0/24", cloud="member")
    made = command("server", "create", "fam-vm", "--flavor", "fam-flavor", "--image", "fam-image", "--network", "fam-net", "--wait", cloud="member")
    assert made["status"] == "ACTIVE", made
    listed = command("server", "list", cloud="member")
    assert column(listed, "Name") == ["fam-vm"] and list(listed[0]["Networks"]) == ["fam-net"], listed
    assert column(command("server", "list", "--all-projects", "--long"), "Name") == ["fam-vm"]
    command("port", "create", "fam-second", "--network", "fam-net", cloud="member")
    command("server", "add", "port", "fam-vm", "fam-second", cloud="member", answer=None)
    assert len(command("port", "list", "--server", "fam-vm", cloud="member")) == 2
    command("server", "remove", "port", "fam-vm", "fam-second", cloud="member", answer=None)
    command("server", "stop", "fam-vm", cloud="member", answer=None)
    assert command("server", "show", "fam-vm", cloud="member")["status"] == "SHUTOFF"
    command("server", "start", "fam-vm", cloud="member", answer=None)
    command("server", "reboot", "fam-vm", cloud="member", answer=None)
    command("server", "set", "fam-vm", "--name", "fam-named", "--property", "colour=blue", cloud="member", answer=None)
    assert command("server", "show", "fam-named", cloud="member")["properties"] == {"colour": "blue"}
    refused("No Server found", "server", "show", "nobody", cloud="member")
    command("server", "delete", "fam-named", "--wait", cloud="member", answer=None)
    assert command("server", "list", cloud="member") == []
    command("port", "delete", "fam-second", cloud="member", answer=None)
    command("network", "delete", "fam-net", cloud="member", answer=None)
    command("image", "delete", "fam-image", answer=None)
    command("flavor", "delete", "fam-flavor", answer=None)


@case
def flavors_and_keys():
    made = command("flavor", "create", "fam-flavor", "--id", "77", "--ram", 512, "--vcpus", 2, "--disk", 5, "--private")
    assert (made["id"], made["ram"], made["os-flavor-access:is_public"]) == ("77", 512, False), made
    assert "fam-flavor" in column(command("flavor", "list", "--all"), "Name")
    assert command("flavor", "show", "fam-flavor")["vcpus"] == 2
    refused("already exists", "flavor", "create", "fam-flavor", "--ram", 1, "--vcpus", 1, "--disk", 1)
    refused("doesn't allow", "flavor", "create", "bad", "--ram", 1, "--vcpus", 1, "--disk", 1, cloud="member")
    command("flavor", "delete", "fam-flavor", answer=None)
    key = command("keypair", "create", "fam-key", "--public-key", file_of(KEY), cloud="member")
    assert key["name"] == "fam-key", key
    assert column(command("keypair", "list", cloud="member"), "Name") == ["fam-key"]
    command("keypair", "delete", "fam-key", cloud="member", answer=None)


@case
def images():
    made = command(
        "image", "create", "fam-image", "--disk-format", "qcow2", "--container-format", "bare", "--property", "os_type=linux", "--tag", "t",
        "--file", file_of("bytes"),
    )
    made = command("image", "show", "fam-image")
    assert (made["status"], made["visibility"], made["tags"], made["size"]) == ("active", "shared", ["t"], 5), made
    command("image", "set", "fam-image", "--public", "--name", "fam-other", answer=None)
    shown = command("image", "show", "fam-other")
    assert (shown["visibility"], shown["properties"]["os_type"]) == ("public", "linux"), shown
    assert "fam-other" in column(command("image", "list", "--public"), "Name")
    command("image", "delete", "fam-other", answer=None)


@case
def services_and_endpoints():
    region = column(command("region", "list"), "Region")[0]
    made = command("service", "create", "--name", "fam", "--description", "a family", "family")
    assert (made["name"], made["type"], made["enabled"]) == ("fam", "family", True), made
    endpoint = command("endpoint", "create", "--region", region, "fam", "public", "http://192.0.2.1:1234/v1/%(project_id)s")
    assert endpoint["service_name"] == "fam" and endpoint["interface"] == "public", endpoint
    listed = command("endpoint", "list", "--service", "fam")
    assert column(listed, "URL") == ["http://192.0.2.1:1234/v1/%(project_id)s"], listed
    command("endpoint", "set", endpoint["id"], "--url", "http://192.0.2.2", "--interface", "internal", answer=None)
    assert command("endpoint", "show", endpoint["id"])["url"] == "http://192.0.2.2"
    assert "family" in column(command("catalog", "list"), "Type")
    assert command("catalog", "show", "fam")["name"] == "fam"
    command("service", "set", "fam", "--name", "fam-other", answer=None)
    assert command("service", "show", "family")["name"] == "fam-other"
    command("endpoint", "delete", endpoint["id"], answer=None)
    command("service", "delete", "fam-other", answer=None)
    refused("not authorized", "endpoint", "list", cloud="member")


@case
def projects_users_roles():
    project = command("project", "create", "fam-project", "--description", "p", "--property", "colour=blue")
    user = command("user", "create", "fam-user", "--password", "secret", "--project", "fam-project", "--email", "f@example.org")
    assert user["default_project_id"] == project["id"] and "password" not in user, user
    command("role", "add", "member", "--user", "fam-user", "--project", "fam-project", answer=None)
    rows = command("role", "assignment", "list", "--user", "fam-user", "--names")
    assert [(row["Role"], row["User"]) for row in rows] == [("member", "fam-user@Default")], rows
    command("project", "set", "fam-project", "--disable", answer=None)
    assert command("project", "show", "fam-project")["enabled"] is False
    command("user", "set", "fam-user", "--description", "u", "--disable", answer=None)
    assert command("user", "show", "fam-user")["enabled"] is False
    assert "fam-user" in column(command("user", "list"), "Name")
    assert "fam-project" in column(command("project", "list"), "Name")
    assert {"admin", "member", "reader", "service"} <= set(column(command("role", "list"), "Name"))
    refused("Conflict", "project", "create", "fam-project")
    command("role", "remove", "member", "--user", "fam-user", "--project", "fam-project", answer=None)
    command("user", "delete", "fam-user", answer=None)
    command("project", "delete", "fam-project", answer=None)
    assert column(command("domain", "list"), "Name") == ["Default"]


@case
def tokens_and_credentials():
    token = command("token", "issue", cloud="member")
    assert {"expires", "id", "project_id", "user_id"} <= set(token), token
    command("token", "revoke", token["id"], cloud="member", answer=None)
    made = command("application", "credential", "create", "fam-credential", "--role", "member", cloud="member")
    made = {name.lower(): value for name, value in made.items()}
    assert made["name"] == "fam-credential" and made["secret"], list(made)
    assert column(command("application", "credential", "list", cloud="member"), "Name") == ["fam-credential"]
    command("application", "credential", "delete", "fam-credential", cloud="member", answer=None)


@case
def what_there_is():
    assert "Neutron L3 Router" in column(command("extension", "list", "--network"), "Name")
    assert column(command("hypervisor", "list"), "State")[0] == "up"
    assert column(command("compute", "service", "list"), "Binary")[0] == "nova-compute"
    assert "nova" in column(command("availability", "zone", "list", "--compute"), "Zone Name")
    assert command("limits", "show", "--absolute")
    assert command("network", "agent", "list") == []
    kinds = {row["Service Type"] for row in command("endpoint", "list")}
    assert {"identity", "network", "compute", "image"} <= kinds, kinds
    yaml = command("network", "list", answer="yaml")
    assert yaml.strip() == "[]" or yaml.startswith("- "), yaml


run(cases)
