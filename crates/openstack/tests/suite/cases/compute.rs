//! Nova: the real pair has none.

use landbridge_openstack::resources::Server;
use landbridge_openstack::{Query, Reaction};

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
