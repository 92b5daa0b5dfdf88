//! Networks and subnets.

use landbridge_openstack::resources::{
    AllocationPool, HostRoute, Network, NetworkChange, NewNetwork, NewSubnet, NewSubnetPool,
    Subnet, SubnetChange, SubnetPool,
};
use landbridge_openstack::{Query, Reaction, Resource as _};

use crate::place::Place;

/// A network of a name.
pub fn named(name: &str) -> NewNetwork {
    NewNetwork { name: Some(name.to_owned()), ..NewNetwork::default() }
}

/// A subnet without a gateway.
pub fn subnet(network: &Network, cidr: &str) -> NewSubnet {
    NewSubnet {
        network_id: Some(network.id.clone()),
        cidr: Some(cidr.parse().unwrap()),
        ip_version: Some(if cidr.contains(':') { 6 } else { 4 }),
        gateway_ip: Some(None),
        ..NewSubnet::default()
    }
}

pub async fn networks(place: &Place) {
    let admin = &place.admin;
    let name = place.name("net");
    let service = place.project("service").await;
    let new = NewNetwork {
        description: Some("LBaaS Management Network".to_owned()),
        project_id: Some(service.clone()),
        admin_state_up: Some(true),
        ..named(&name)
    };
    let made: Network = admin.create(&new).await.unwrap();
    assert_eq!((made.name.as_str(), made.project_id.as_str()), (&*name, &*service));
    assert_eq!(made.status, "ACTIVE");
    assert!(made.admin_state_up && !made.is_external && !made.shared);
    assert_eq!(made.port_security_enabled, Some(true));
    assert!(made.mtu.is_some_and(|mtu| mtu >= 1280), "{made:?}");
    assert!(made.network_type.is_some(), "administrators see it");
    let by = Query::all().with("name", name.as_str()).with("project_id", service.as_str());
    assert_eq!(admin.only::<Network>(&by).await.unwrap().unwrap(), made);
    let change = NetworkChange {
        description: Some("other".to_owned()),
        mtu: Some(1400),
        ..NetworkChange::default()
    };
    let changed = admin.update::<Network>(&made.id, &change, made.revision()).await.unwrap();
    assert_eq!((changed.description.as_str(), changed.mtu), ("other", Some(1400)));
    assert!(changed.revision() > made.revision());
    let error = admin.update::<Network>(&made.id, &change, made.revision()).await.unwrap_err();
    assert_eq!(error.kind(), "RevisionNumberConstraintFailed");
    assert_eq!(error.reaction(), Reaction::Reread);
    admin.delete::<Network>(&made.id).await.unwrap();
    admin.delete::<Network>(&made.id).await.unwrap();
    let error = admin.get::<Network>(&made.id).await.unwrap_err();
    assert_eq!((error.kind(), error.reaction()), ("NetworkNotFound", Reaction::Gone));

    // A VLAN of a physical network, as an administrator may ask for.
    let provider = NewNetwork {
        network_type: Some("vlan".to_owned()),
        physical_network: Some("physnet1".to_owned()),
        is_external: Some(true),
        ..named(&place.name("provider"))
    };
    let made: Network = admin.create(&provider).await.unwrap();
    assert!(made.is_external && made.segmentation_id.is_some());
    assert_eq!(made.physical_network.as_deref(), Some("physnet1"));
    admin.delete::<Network>(&made.id).await.unwrap();
}

pub async fn subnets(place: &Place) {
    let admin = &place.admin;
    let network: Network = admin.create(&named(&place.name("net"))).await.unwrap();
    let pool = |start: &str, end: &str| AllocationPool {
        start: start.parse().unwrap(),
        end: end.parse().unwrap(),
    };
    let new = NewSubnet {
        name: Some(place.name("subnet")),
        allocation_pools: Some(vec![pool("172.24.0.10", "172.24.0.99")]),
        ..subnet(&network, "172.24.0.0/24")
    };
    let made: Subnet = admin.create(&new).await.unwrap();
    assert_eq!(made.gateway_ip, None);
    assert!(made.enable_dhcp);
    assert_eq!(made.allocation_pools, [pool("172.24.0.10", "172.24.0.99")]);
    let route = HostRoute {
        destination: "172.23.0.0/24".parse().unwrap(),
        nexthop: "172.24.0.55".parse().unwrap(),
    };
    let change = SubnetChange {
        host_routes: Some(vec![route]),
        allocation_pools: Some(vec![pool("172.24.0.10", "172.24.0.120")]),
        gateway_ip: Some(Some("172.24.0.1".parse().unwrap())),
        dns_nameservers: Some(vec!["172.24.0.2".parse().unwrap()]),
        ..SubnetChange::default()
    };
    let changed = admin.update::<Subnet>(&made.id, &change, None).await.unwrap();
    assert_eq!(changed.host_routes, [route]);
    assert_eq!(changed.gateway_ip, Some("172.24.0.1".parse().unwrap()));
    let change = SubnetChange { gateway_ip: Some(None), ..SubnetChange::default() };
    let changed = admin.update::<Subnet>(&made.id, &change, None).await.unwrap();
    assert_eq!(changed.gateway_ip, None);

    let six = NewSubnet {
        ipv6_address_mode: Some("slaac".to_owned()),
        ipv6_ra_mode: Some("slaac".to_owned()),
        ..subnet(&network, "fd00:24::/64")
    };
    let six: Subnet = admin.create(&six).await.unwrap();
    assert_eq!(six.ipv6_ra_mode.as_deref(), Some("slaac"));

    let overlapping = subnet(&network, "172.24.0.0/25");
    let error = admin.create::<Subnet>(&overlapping).await.unwrap_err();
    assert_eq!((error.kind(), error.reaction()), ("InvalidInput", Reaction::Wrong), "{error}");
    let outside = NewSubnet {
        allocation_pools: Some(vec![pool("10.9.0.1", "10.9.0.9")]),
        ..subnet(&network, "172.25.0.0/24")
    };
    let error = admin.create::<Subnet>(&outside).await.unwrap_err();
    assert_eq!(error.kind(), "OutOfBoundsAllocationPool", "{error}");
    assert_eq!(error.reaction(), Reaction::Wrong);
    for subnet in [&made, &six] {
        admin.delete::<Subnet>(&subnet.id).await.unwrap();
    }
    admin.delete::<Network>(&network.id).await.unwrap();
}

pub async fn pages(place: &Place) {
    let admin = &place.admin;
    let name = place.name("page");
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(admin.create::<Network>(&named(&name)).await.unwrap().id);
    }
    made.sort();
    for limit in ["1", "2", "5", "6"] {
        let query = Query::all().with("name", name.as_str()).with("limit", limit);
        let found: Vec<Network> = admin.list(&query).await.unwrap();
        let mut ids: Vec<String> = found.into_iter().map(|network| network.id).collect();
        ids.sort();
        assert_eq!(ids, made, "{limit} at a time");
    }
    let query = Query::all().with("name", name.as_str());
    let error = admin.only::<Network>(&query).await.unwrap_err();
    assert!(error.to_string().starts_with("5 networks fit name="), "{error}");
    for id in made {
        admin.delete::<Network>(&id).await.unwrap();
    }
}

pub async fn tags(place: &Place) {
    let admin = &place.admin;
    let network: Network = admin.create(&named(&place.name("tagged"))).await.unwrap();
    let tags = |list: &[&str]| list.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
    let owner = place.name("landbridge:octavia:openstack");
    admin.set_tags::<Network>(&network.id, &tags(&["a", &owner])).await.unwrap();
    admin.add_tag::<Network>(&network.id, "b c").await.unwrap();
    admin.add_tag::<Network>(&network.id, "b c").await.unwrap();
    admin.remove_tag::<Network>(&network.id, "a").await.unwrap();
    admin.remove_tag::<Network>(&network.id, "a").await.unwrap();
    let found = admin.only::<Network>(&Query::all().with("tags", owner.as_str())).await.unwrap();
    let mut found = found.unwrap();
    found.tags.sort();
    assert_eq!(found.tags, tags(&["b c", &owner]));
    admin.delete::<Network>(&network.id).await.unwrap();
}

pub async fn subnet_pools(place: &Place) {
    let admin = &place.admin;
    let new = NewSubnetPool {
        name: Some(place.name("pool")),
        prefixes: Some(vec!["10.77.0.0/16".parse().unwrap()]),
        default_prefixlen: Some(26),
        ..NewSubnetPool::default()
    };
    let pool: SubnetPool = admin.create(&new).await.unwrap();
    assert_eq!((pool.default_prefixlen, pool.ip_version), (Some(26), Some(4)));
    let network: Network = admin.create(&named(&place.name("net"))).await.unwrap();
    let new = NewSubnet {
        network_id: Some(network.id.clone()),
        subnetpool_id: Some(pool.id.clone()),
        ip_version: Some(4),
        ..NewSubnet::default()
    };
    let subnet: Subnet = admin.create(&new).await.unwrap();
    assert_eq!(subnet.cidr.prefix_len(), 26);
    assert_eq!(subnet.subnetpool_id.as_ref(), Some(&pool.id));
    admin.delete::<Subnet>(&subnet.id).await.unwrap();
    admin.delete::<Network>(&network.id).await.unwrap();
    admin.delete::<SubnetPool>(&pool.id).await.unwrap();
}

pub async fn extensions(place: &Place) {
    let found = place.member.extensions().await.unwrap();
    for alias in [
        "router",
        "external-net",
        "ext-gw-mode",
        "provider",
        "multi-provider",
        "port-security",
        "security-group",
        "trunk",
        "standard-attr-tag",
        "standard-attr-revisions",
        "revision-if-match",
        "quotas",
        "rbac-policies",
        "subnet_allocation",
    ] {
        assert!(found.iter().any(|known| known == alias), "{alias}: {found:?}");
    }
}
