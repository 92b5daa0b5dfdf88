//! Lost answers: every other write is carried out without anybody being told.

use std::sync::atomic::Ordering;

use landbridge_openstack::resources::{
    Direction, Endpoint, EtherType, Network, NetworkChange, NewEndpoint, NewRouter,
    NewSecurityGroup, NewSecurityGroupRule, NewService, Port, RegisteredService, Router,
    SecurityGroup, SecurityGroupRule, Subnet,
};
use landbridge_openstack::{Client, Query, Resource};

use super::networks::{named, subnet};
use super::ports::on;
use crate::lossy;
use crate::place::Place;

/// Makes one of which every answer may be lost, and sees that there is one.
async fn made<R: Resource>(client: &Client, new: &R::New) -> R {
    let made: R = client.create(new).await.unwrap();
    let query = R::trace(new).unwrap();
    let found: Vec<R> = client.list(&query).await.unwrap();
    let found: Vec<&R> = found.iter().filter(|one| one.is_trace(new)).collect();
    assert_eq!(found.len(), 1, "{}: {found:?}", R::PLURAL);
    assert_eq!(found[0].id(), made.id());
    made
}

pub async fn answers(place: &Place) {
    let (client, lost) = lossy::client(place.settings("admin"));
    let network: Network = made(&client, &named(&place.name("lost"))).await;
    let subnet: Subnet = made(&client, &subnet(&network, "10.44.0.0/24")).await;
    let port: Port = made(&client, &on(&network, place.name("lost"))).await;
    let new = NewRouter { name: Some(place.name("lost")), ..NewRouter::default() };
    let router: Router = made(&client, &new).await;
    let new = NewSecurityGroup { name: Some(place.name("lost")), ..NewSecurityGroup::default() };
    let group: SecurityGroup = made(&client, &new).await;
    let rule = NewSecurityGroupRule {
        security_group_id: Some(group.id.clone()),
        direction: Some(Direction::Ingress),
        ethertype: Some(EtherType::IPv6),
        protocol: Some("udp".to_owned()),
        port_range_min: Some(5555),
        port_range_max: Some(5555),
        ..NewSecurityGroupRule::default()
    };
    let rule: SecurityGroupRule = made(&client, &rule).await;
    let new = NewService {
        name: Some(place.name("lost")),
        type_: Some("lost".to_owned()),
        ..NewService::default()
    };
    let service: RegisteredService = made(&client, &new).await;
    let new = NewEndpoint {
        service_id: Some(service.id.clone()),
        interface: Some("internal".to_owned()),
        url: Some("http://lost".to_owned()),
        region_id: Some("RegionOne".to_owned()),
        ..NewEndpoint::default()
    };
    let endpoint: Endpoint = made(&client, &new).await;
    let change = NetworkChange { mtu: Some(1350), ..NetworkChange::default() };
    for _ in 0..2 {
        let changed = client.update::<Network>(&network.id, &change, None).await.unwrap();
        assert_eq!(changed.mtu, Some(1350));
        client.add_tag::<Network>(&network.id, "lost").await.unwrap();
    }
    client.delete::<Endpoint>(&endpoint.id).await.unwrap();
    client.delete::<RegisteredService>(&service.id).await.unwrap();
    client.delete::<SecurityGroupRule>(&rule.id).await.unwrap();
    client.delete::<SecurityGroup>(&group.id).await.unwrap();
    client.delete::<Router>(&router.id).await.unwrap();
    client.delete::<Port>(&port.id).await.unwrap();
    client.delete::<Subnet>(&subnet.id).await.unwrap();
    client.delete::<Network>(&network.id).await.unwrap();
    assert_eq!(client.find::<Network>(&network.id).await.unwrap(), None);
    assert!(lost.load(Ordering::Relaxed) >= 9, "{lost:?}");
    let left = Query::all().with("name", network.name.as_str());
    assert_eq!(place.admin.list::<Network>(&left).await.unwrap(), []);
}
