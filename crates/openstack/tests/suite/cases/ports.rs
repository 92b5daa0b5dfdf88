//! Ports and trunks.

use landbridge_openstack::resources::{
    AddressPair, Network, NewPort, NewSubnet, NewTrunk, Port, PortChange, SubPort, SubPortName,
    Subnet, Trunk, WantedIp,
};
use landbridge_openstack::{Query, Reaction, Resource as _};

use super::networks::{named, subnet};
use crate::place::Place;

/// A port of a name.
pub fn on(network: &Network, name: String) -> NewPort {
    NewPort { network_id: Some(network.id.clone()), name: Some(name), ..NewPort::default() }
}

fn wanted(subnet: &Subnet, address: &str) -> WantedIp {
    WantedIp { subnet_id: Some(subnet.id.clone()), ip_address: Some(address.parse().unwrap()) }
}

pub async fn ports(place: &Place) {
    let member = &place.member;
    let network: Network = member.create(&named(&place.name("net"))).await.unwrap();
    let subnet: Subnet = member.create(&subnet(&network, "10.5.0.0/24")).await.unwrap();
    let new = NewPort {
        fixed_ips: Some(vec![wanted(&subnet, "10.5.0.77")]),
        security_groups: Some(Vec::new()),
        allowed_address_pairs: Some(vec![AddressPair {
            ip_address: "10.5.0.200".to_owned(),
            mac_address: None,
        }]),
        ..on(&network, place.name("port"))
    };
    let port: Port = member.create(&new).await.unwrap();
    assert_eq!(port.fixed_ips[0].ip_address.to_string(), "10.5.0.77");
    assert_eq!(port.fixed_ips[0].subnet_id, subnet.id);
    assert!(port.security_groups.is_empty());
    assert_eq!(port.allowed_address_pairs[0].ip_address, "10.5.0.200");
    assert_eq!(port.allowed_address_pairs[0].mac_address.as_ref(), Some(&port.mac_address));
    assert_eq!(port.status, "DOWN");
    let by =
        Query::all().with("fixed_ips", "ip_address=10.5.0.77").with("network_id", network.id());
    assert_eq!(member.only::<Port>(&by).await.unwrap().unwrap().id, port.id);
    let change = PortChange {
        name: Some(place.name("renamed")),
        allowed_address_pairs: Some(Vec::new()),
        fixed_ips: Some(vec![wanted(&subnet, "10.5.0.78")]),
        ..PortChange::default()
    };
    let changed = member.update::<Port>(&port.id, &change, port.revision()).await.unwrap();
    assert_eq!(changed.fixed_ips[0].ip_address.to_string(), "10.5.0.78");
    assert!(changed.allowed_address_pairs.is_empty());
    // What Neutron chooses is inside the subnet, and the project's own group is on it.
    let chosen: Port = member.create(&on(&network, place.name("chosen"))).await.unwrap();
    assert!(subnet.cidr.contains(&chosen.fixed_ips[0].ip_address));
    assert_eq!(chosen.security_groups.len(), 1);
    let error = member.delete::<Network>(&network.id).await.unwrap_err();
    assert_eq!((error.kind(), error.reaction()), ("NetworkInUse", Reaction::InUse), "{error}");
    let error = member.delete::<Subnet>(&subnet.id).await.unwrap_err();
    assert_eq!((error.kind(), error.reaction()), ("SubnetInUse", Reaction::InUse), "{error}");
    for port in [&port, &chosen] {
        member.delete::<Port>(&port.id).await.unwrap();
    }
    member.delete::<Network>(&network.id).await.unwrap();
}

pub async fn addresses_in_use(place: &Place) {
    let member = &place.member;
    let network: Network = member.create(&named(&place.name("small"))).await.unwrap();
    let new = NewSubnet { enable_dhcp: Some(false), ..subnet(&network, "10.6.0.0/30") };
    let subnet: Subnet = member.create(&new).await.unwrap();
    let first = NewPort {
        fixed_ips: Some(vec![wanted(&subnet, "10.6.0.2")]),
        ..on(&network, place.name("first"))
    };
    let first: Port = member.create(&first).await.unwrap();
    let same = NewPort {
        fixed_ips: Some(vec![wanted(&subnet, "10.6.0.2")]),
        ..on(&network, place.name("same"))
    };
    let error = member.create::<Port>(&same).await.unwrap_err();
    assert_eq!(error.kind(), "IpAddressAlreadyAllocated", "{error}");
    assert_eq!(error.reaction(), Reaction::Conflict);
    let outside = NewPort {
        fixed_ips: Some(vec![wanted(&subnet, "10.7.0.2")]),
        ..on(&network, place.name("outside"))
    };
    let error = member.create::<Port>(&outside).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.reaction()),
        ("InvalidIpForSubnet", Reaction::Wrong),
        "{error}"
    );
    let second: Port = member.create(&on(&network, place.name("second"))).await.unwrap();
    let error = member.create::<Port>(&on(&network, place.name("third"))).await.unwrap_err();
    assert!(error.kind().starts_with("IpAddressGenerationFailure"), "{error}");
    assert_eq!(error.reaction(), Reaction::Scarce);
    for port in [&first, &second] {
        member.delete::<Port>(&port.id).await.unwrap();
    }
    member.delete::<Network>(&network.id).await.unwrap();
}

pub async fn trunks(place: &Place) {
    let member = &place.member;
    let network: Network = member.create(&named(&place.name("trunked"))).await.unwrap();
    let parent: Port = member.create(&on(&network, place.name("parent"))).await.unwrap();
    let child: Port = member.create(&on(&network, place.name("child"))).await.unwrap();
    let new = NewTrunk {
        port_id: Some(parent.id.clone()),
        name: Some(place.name("trunk")),
        ..NewTrunk::default()
    };
    let trunk: Trunk = member.create(&new).await.unwrap();
    let sub = SubPort {
        port_id: child.id.clone(),
        segmentation_type: Some("vlan".to_owned()),
        segmentation_id: Some(101),
    };
    member.add_subports(&trunk.id, std::slice::from_ref(&sub)).await.unwrap();
    let found: Trunk = member.get(&trunk.id).await.unwrap();
    assert_eq!(found.sub_ports, [sub]);
    let error = member.delete::<Port>(&child.id).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.reaction()),
        ("PortInUseAsSubPort", Reaction::InUse),
        "{error}"
    );
    let error = member.delete::<Port>(&parent.id).await.unwrap_err();
    assert_eq!(error.kind(), "PortInUseAsTrunkParent", "{error}");
    let name = SubPortName { port_id: child.id.clone() };
    member.remove_subports(&trunk.id, std::slice::from_ref(&name)).await.unwrap();
    member.remove_subports(&trunk.id, &[name]).await.unwrap();
    member.delete::<Trunk>(&trunk.id).await.unwrap();
    for port in [&parent, &child] {
        member.delete::<Port>(&port.id).await.unwrap();
    }
    member.delete::<Network>(&network.id).await.unwrap();
}
