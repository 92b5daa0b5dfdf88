//! Nova: the embedded cloud has one, the real pair has none.

use landbridge_openstack::resources::{
    Flavor, Image, Network, NewFlavor, NewImage, NewServer, Port, Server, ServerNic, Subnet,
};
use landbridge_openstack::{Query, Reaction};

use super::networks::{named, subnet};
use super::ports::on;
use crate::place::Place;

pub async fn there_is_no_nova(place: &Place) {
    let error = place.admin.list::<Server>(&Query::all()).await.unwrap_err();
    assert_eq!(error.reaction(), Reaction::Setup);
    assert_eq!(
        error.to_string(),
        "cloud simple has no public endpoint of compute in region RegionOne: its catalogue has \
         identity, network"
    );
}

pub async fn servers(place: &Place) {
    let admin = &place.admin;
    let network: Network = admin.create(&named(&place.name("net"))).await.unwrap();
    let _: Subnet = admin.create(&subnet(&network, "10.9.0.0/24")).await.unwrap();
    let port: Port = admin.create(&on(&network, place.name("nic"))).await.unwrap();
    let flavor = NewFlavor {
        name: Some(place.name("small")),
        ram: Some(64),
        vcpus: Some(1),
        disk: Some(1),
        ..NewFlavor::default()
    };
    let flavor: Flavor = admin.create(&flavor).await.unwrap();
    let image = NewImage {
        name: Some(place.name("image")),
        disk_format: Some("raw".to_owned()),
        container_format: Some("bare".to_owned()),
        ..NewImage::default()
    };
    let image: Image = admin.create(&image).await.unwrap();
    let new = NewServer {
        name: Some(place.name("server")),
        flavor_ref: Some(flavor.id.clone()),
        image_ref: Some(image.id.clone()),
        networks: Some(vec![ServerNic::Port(port.id.clone())]),
        ..NewServer::default()
    };
    let made: Server = admin.create(&new).await.unwrap();
    let found: Server = admin.get(&made.id).await.unwrap();
    assert_eq!(Some(&found.name), new.name.as_ref());
    let ports = admin.server_ports(&made.id).await.unwrap();
    assert_eq!(ports[0].port_id, port.id);
    let bound: Port = admin.get(&port.id).await.unwrap();
    assert_eq!(bound.device_id, made.id);
    admin.delete::<Server>(&made.id).await.unwrap();
    let freed: Port = admin.get(&port.id).await.unwrap();
    assert_eq!(freed.device_id, "", "a port that was given stays");
    admin.delete::<Image>(&image.id).await.unwrap();
    admin.delete::<Flavor>(&flavor.id).await.unwrap();
}
