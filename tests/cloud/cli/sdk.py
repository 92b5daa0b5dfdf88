"""The real openstacksdk on a cloud: whole stories, and what others do to them.

    OS_CLIENT_CONFIG_FILE=… sdk.py

The clouds `admin` and `member` have to be in the file; what a case makes it takes away again.
"""
import openstack
from openstack import exceptions

from shell import command, run

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl somebody"
admin = openstack.connect(cloud="admin")
member = openstack.connect(cloud="member")
cases = []


def case(function):
    cases.append(function)
    return function


def refused(kind, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except kind as error:
        return error
    raise AssertionError(f"{call} was not refused")


@case
def identity():
    project = admin.identity.create_project(name="flow", description="of the flow")
    user = admin.identity.create_user(name="flow", password="secret", default_project_id=project.id)
    role = admin.identity.find_role("member")
    admin.identity.assign_project_role_to_user(project, user, role)
    assert [found.name for found in admin.identity.projects(name="flow")] == ["flow"]
    refused(exceptions.ForbiddenException, member.identity.create_project, name="not-for-members")
    admin.identity.delete_user(user)
    admin.identity.delete_project(project)
    assert admin.identity.find_project("flow") is None


@case
def catalogue():
    service = admin.identity.create_service(type="image-test", name="glance-test")
    endpoint = admin.identity.create_endpoint(
        service_id=service.id, interface="public", url="http://192.0.2.1:9292", region_id=admin.config.region_name
    )
    assert [found.url for found in admin.identity.endpoints(service_id=service.id)] == ["http://192.0.2.1:9292"]
    admin.identity.delete_endpoint(endpoint)
    admin.identity.delete_service(service)


@case
def octavia_network():
    """The management network, as the seed shows it."""
    net = admin.network
    provider = net.create_network(
        name="octavia-provider-net",
        provider_network_type="flat",
        provider_physical_network="octavia",
        is_router_external=True,
    )
    subnet = net.create_subnet(
        name="octavia-provider-subnet",
        network_id=provider.id,
        ip_version=4,
        cidr="172.23.0.0/24",
        is_dhcp_enabled=False,
        allocation_pools=[{"start": "172.23.0.30", "end": "172.23.0.200"}],
    )
    management = net.create_network(name="lb-mgmt-net")
    inner = net.create_subnet(name="lb-mgmt-subnet", network_id=management.id, ip_version=4, cidr="172.24.0.0/16")
    router = net.create_router(
        name="octavia-link-router",
        external_gateway_info={
            "network_id": provider.id,
            "enable_snat": False,
            "external_fixed_ips": [{"subnet_id": subnet.id, "ip_address": "172.23.0.150"}],
        },
    )
    port = net.create_port(
        name="lb-mgmt-router-port",
        network_id=management.id,
        fixed_ips=[{"subnet_id": inner.id, "ip_address": "172.24.0.5"}],
    )
    net.add_interface_to_router(router, port_id=port.id)
    net.update_subnet(inner, host_routes=[{"destination": "172.23.0.0/24", "nexthop": "172.24.0.5"}])
    router = net.get_router(router.id)
    assert router.external_gateway_info["enable_snat"] is False
    assert router.external_gateway_info["external_fixed_ips"][0]["ip_address"] == "172.23.0.150"
    refused(exceptions.ConflictException, net.delete_network, management.id, ignore_missing=False)
    shown = command("router", "show", "octavia-link-router")
    assert shown["external_gateway_info"]["enable_snat"] is False, shown
    listed = command("port", "list", "--router", "octavia-link-router")
    assert {row["Name"] for row in listed} == {"", "lb-mgmt-router-port"}, listed
    shown = command("subnet", "show", "lb-mgmt-subnet")
    assert shown["host_routes"] == [{"destination": "172.23.0.0/24", "nexthop": "172.24.0.5"}], shown
    net.remove_interface_from_router(router, subnet_id=inner.id)
    net.delete_router(router)
    for network in (management, provider):
        net.delete_network(network)


@case
def groups_and_quotas():
    group = member.network.create_security_group(name="web")
    rule = member.network.create_security_group_rule(
        security_group_id=group.id, direction="ingress", protocol="tcp", port_range_min=80, port_range_max=80
    )
    refused(
        exceptions.ConflictException,
        member.network.create_security_group_rule,
        security_group_id=group.id,
        direction="ingress",
        protocol="tcp",
        port_range_min=80,
        port_range_max=80,
    )
    assert rule.id in [found.id for found in member.network.security_group_rules(security_group_id=group.id)]
    member.network.delete_security_group(group)
    project = member.current_project_id
    assert admin.network.get_quota(project).networks == 100
    admin.network.update_quota(project, networks=3)
    assert admin.network.get_quota(project).networks == 3
    admin.network.delete_quota(project)


@case
def servers():
    flavor = admin.compute.create_flavor(name="m1.flow", ram=512, vcpus=1, disk=1)
    image = admin.image.create_image(
        name="cirros-flow", disk_format="qcow2", container_format="bare", visibility="public", data=b"bytes"
    )
    assert admin.image.get_image(image.id).status == "active"
    member.compute.create_keypair(name="key", public_key=KEY)
    network = member.network.create_network(name="servers")
    subnet = member.network.create_subnet(network_id=network.id, ip_version=4, cidr="10.9.0.0/24")
    given = member.network.create_port(network_id=network.id, fixed_ips=[{"ip_address": "10.9.0.50"}])
    server = member.compute.create_server(
        name="vm", flavor_id=flavor.id, image_id=image.id, key_name="key", networks=[{"uuid": network.id}, {"port": given.id}]
    )
    server = member.compute.wait_for_server(server, wait=10)
    addresses = {entry["addr"] for entry in server.addresses["servers"]}
    assert "10.9.0.50" in addresses and len(addresses) == 2, server.addresses
    ports = list(member.network.ports(device_id=server.id))
    assert {port.device_owner for port in ports} == {"compute:nova"}, ports
    assert {port.status for port in ports} == {"ACTIVE"}, ports
    assert len(list(member.compute.server_interfaces(server))) == 2
    refused(exceptions.ConflictException, member.network.delete_subnet, subnet.id, ignore_missing=False)
    member.compute.stop_server(server)
    assert member.compute.get_server(server.id).status == "SHUTOFF"
    refused(exceptions.ConflictException, member.compute.stop_server, server)
    member.compute.start_server(server)
    listed = command("server", "list", cloud="member")
    assert [row["Name"] for row in listed] == ["vm"] and listed[0]["Flavor"] == "m1.flow", listed
    shown = command("server", "show", "vm", cloud="member")
    assert shown["status"] == "ACTIVE" and shown["key_name"] == "key", shown
    assert [row["Name"] for row in command("flavor", "list")] == ["m1.flow"]
    assert [row["Name"] for row in command("image", "list")] == ["cirros-flow"]
    member.compute.delete_server(server)
    left = list(member.network.ports(network_id=network.id))
    assert [port.id for port in left] == [given.id], "only the port that was given stays"
    assert left[0].device_id == "" and left[0].status == "DOWN"
    member.network.delete_port(given)
    member.network.delete_network(network)
    member.compute.delete_keypair("key")
    admin.image.delete_image(image)
    admin.compute.delete_flavor(flavor)


@case
def words_of_the_command():
    assert command("token", "issue", cloud="member")["project_id"] == member.current_project_id
    command("network", "create", "cli-net", cloud="member")
    shown = command("network", "show", "cli-net", cloud="member")
    assert shown["status"] == "ACTIVE" and shown["router:external"] is False, shown
    kinds = {row["Service Type"] for row in command("endpoint", "list")}
    assert {"identity", "network", "compute", "image"} <= kinds, kinds
    member.network.delete_network(shown["id"])


run(cases)
