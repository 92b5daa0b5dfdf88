//! Routers and floating addresses.

use landbridge_openstack::resources::{
    FloatingIp, FloatingIpChange, Network, NewFloatingIp, NewNetwork, NewRouter, NewSubnet, Port,
    Router, RouterChange, RouterInterface, Subnet, WantedGateway, WantedIp,
};
use landbridge_openstack::{Query, Reaction};

use super::networks::{named, subnet};
use super::ports::on;
use crate::place::Place;

/// An external network with a subnet.
async fn outside(place: &Place, cidr: &str) -> (Network, Subnet) {
    let new = NewNetwork { is_external: Some(true), ..named(&place.name("provider")) };
    let network: Network = place.admin.create(&new).await.unwrap();
    let made: Subnet = place.admin.create(&subnet(&network, cidr)).await.unwrap();
    (network, made)
}

pub async fn routers(place: &Place) {
    let admin = &place.admin;
    let (provider, provider_subnet) = outside(place, "172.23.0.0/24").await;
    let gateway = |address: &str| WantedGateway {
        network_id: provider.id.clone(),
        enable_snat: Some(false),
        external_fixed_ips: Some(vec![WantedIp {
            subnet_id: Some(provider_subnet.id.clone()),
            ip_address: Some(address.parse().unwrap()),
        }]),
    };
    let new = NewRouter {
        name: Some(place.name("octavia-link-router")),
        external_gateway_info: Some(gateway("172.23.0.150")),
        ..NewRouter::default()
    };
    let router: Router = admin.create(&new).await.unwrap();
    let found = router.external_gateway_info.clone().unwrap();
    assert_eq!(found.enable_snat, Some(false));
    assert_eq!(found.external_fixed_ips[0].ip_address.to_string(), "172.23.0.150");

    let tenant: Network = admin.create(&named(&place.name("lb-mgmt-net"))).await.unwrap();
    let tenant_subnet: Subnet = admin.create(&subnet(&tenant, "172.24.0.0/16")).await.unwrap();
    let port: Port = admin.create(&on(&tenant, place.name("router-port"))).await.unwrap();
    let interface = RouterInterface::PortId(port.id.clone());
    admin.add_router_interface(&router.id, &interface).await.unwrap();
    let error = admin.add_router_interface(&router.id, &interface).await.unwrap_err();
    assert_eq!((error.kind(), error.reaction()), ("PortInUse", Reaction::InUse), "{error}");
    let of_router = Query::all()
        .with("device_id", router.id.as_str())
        .with("device_owner", "network:router_interface");
    assert_eq!(admin.only::<Port>(&of_router).await.unwrap().unwrap().id, port.id);
    // A subnet without a gateway cannot be plugged in by itself.
    let by_subnet = RouterInterface::SubnetId(tenant_subnet.id.clone());
    let error = admin.add_router_interface(&router.id, &by_subnet).await.unwrap_err();
    assert_eq!((error.kind(), error.reaction()), ("BadRequest", Reaction::Wrong), "{error}");

    let change = RouterChange {
        external_gateway_info: Some(Some(gateway("172.23.0.151"))),
        ..RouterChange::default()
    };
    let changed = admin.update::<Router>(&router.id, &change, None).await.unwrap();
    let found = changed.external_gateway_info.unwrap();
    assert_eq!(found.external_fixed_ips[0].ip_address.to_string(), "172.23.0.151");
    let error = admin.delete::<Router>(&router.id).await.unwrap_err();
    assert_eq!((error.kind(), error.reaction()), ("RouterInUse", Reaction::InUse), "{error}");
    let error = admin.delete::<Port>(&port.id).await.unwrap_err();
    assert_eq!((error.kind(), error.reaction()), ("ServicePortInUse", Reaction::InUse), "{error}");
    admin.remove_router_interface(&router.id, &interface).await.unwrap();
    admin.remove_router_interface(&router.id, &interface).await.unwrap();
    let change = RouterChange { external_gateway_info: Some(None), ..RouterChange::default() };
    let changed = admin.update::<Router>(&router.id, &change, None).await.unwrap();
    assert_eq!(changed.external_gateway_info, None);
    admin.delete::<Router>(&router.id).await.unwrap();
    for network in [&tenant, &provider] {
        admin.delete::<Network>(&network.id).await.unwrap();
    }
}

pub async fn floating_addresses(place: &Place) {
    let admin = &place.admin;
    let (outer, _) = outside(place, "192.0.2.0/24").await;
    let inner: Network = admin.create(&named(&place.name("inner"))).await.unwrap();
    let new = NewSubnet { gateway_ip: None, ..subnet(&inner, "10.8.0.0/24") };
    let inner_subnet: Subnet = admin.create(&new).await.unwrap();
    let port: Port = admin.create(&on(&inner, place.name("server"))).await.unwrap();
    let new = NewFloatingIp {
        floating_network_id: Some(outer.id.clone()),
        floating_ip_address: Some("192.0.2.77".parse().unwrap()),
        ..NewFloatingIp::default()
    };
    let address: FloatingIp = admin.create(&new).await.unwrap();
    assert_eq!(address.floating_ip_address, Some("192.0.2.77".parse().unwrap()));
    assert_eq!((address.port_id.as_ref(), address.status.as_str()), (None, "DOWN"));
    let attach =
        FloatingIpChange { port_id: Some(Some(port.id.clone())), ..FloatingIpChange::default() };
    // Nothing leads from there to the outside: that is no "gone".
    let error = admin.update::<FloatingIp>(&address.id, &attach, None).await.unwrap_err();
    assert_eq!(error.kind(), "ExternalGatewayForFloatingIPNotFound", "{error}");
    assert_eq!((error.status(), error.reaction()), (Some(404), Reaction::Wrong));
    let new = NewRouter {
        name: Some(place.name("router")),
        external_gateway_info: Some(WantedGateway {
            network_id: outer.id.clone(),
            ..WantedGateway::default()
        }),
        ..NewRouter::default()
    };
    let router: Router = admin.create(&new).await.unwrap();
    let interface = RouterInterface::SubnetId(inner_subnet.id.clone());
    admin.add_router_interface(&router.id, &interface).await.unwrap();
    let attached = admin.update::<FloatingIp>(&address.id, &attach, None).await.unwrap();
    assert_eq!(attached.router_id.as_ref(), Some(&router.id));
    assert_eq!(attached.fixed_ip_address, Some(port.fixed_ips[0].ip_address));
    let error = admin.remove_router_interface(&router.id, &interface).await.unwrap_err();
    assert_eq!(error.kind(), "RouterInterfaceInUseByFloatingIP", "{error}");
    let detach = FloatingIpChange { port_id: Some(None), ..FloatingIpChange::default() };
    let detached = admin.update::<FloatingIp>(&address.id, &detach, None).await.unwrap();
    assert_eq!(detached.port_id, None);
    admin.delete::<FloatingIp>(&address.id).await.unwrap();
    admin.remove_router_interface(&router.id, &interface).await.unwrap();
    admin.delete::<Router>(&router.id).await.unwrap();
    admin.delete::<Port>(&port.id).await.unwrap();
    for network in [&inner, &outer] {
        admin.delete::<Network>(&network.id).await.unwrap();
    }
}
