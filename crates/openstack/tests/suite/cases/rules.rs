//! Security groups, policies, quotas, and what projects share.

use landbridge_openstack::resources::{
    Direction, EtherType, Network, NewNetwork, NewProject, NewRbacPolicy, NewSecurityGroup,
    NewSecurityGroupRule, Project, QuotaChange, RbacPolicy, RbacPolicyChange, SecurityGroup,
    SecurityGroupRule,
};
use landbridge_openstack::{Query, Reaction};

use super::networks::named;
use crate::place::Place;

pub async fn security_groups(place: &Place) {
    let admin = &place.admin;
    let service = place.project("service").await;
    let new = NewSecurityGroup {
        name: Some(place.name("lb-mgmt-sec-grp")),
        project_id: Some(service.clone()),
        ..NewSecurityGroup::default()
    };
    let group: SecurityGroup = admin.create(&new).await.unwrap();
    // Neutron's own two let everything out.
    let egress = |rule: &SecurityGroupRule| rule.direction == Direction::Egress;
    assert_eq!(group.security_group_rules.len(), 2);
    assert!(group.security_group_rules.iter().all(egress));
    let rule = NewSecurityGroupRule {
        security_group_id: Some(group.id.clone()),
        project_id: Some(service),
        description: Some("ssh port IPv4 rule".to_owned()),
        direction: Some(Direction::Ingress),
        ethertype: Some(EtherType::IPv4),
        protocol: Some("tcp".to_owned()),
        port_range_min: Some(22),
        port_range_max: Some(22),
        ..NewSecurityGroupRule::default()
    };
    let made: SecurityGroupRule = admin.create(&rule).await.unwrap();
    assert_eq!((made.port_range_min, made.protocol.as_deref()), (Some(22), Some("tcp")));
    let error = admin.create::<SecurityGroupRule>(&rule).await.unwrap_err();
    assert_eq!((error.kind(), error.reaction()), ("SecurityGroupRuleExists", Reaction::Exists));
    let by = Query::all()
        .with("security_group_id", group.id.as_str())
        .with("direction", "ingress")
        .with("ethertype", "IPv4");
    assert_eq!(admin.only::<SecurityGroupRule>(&by).await.unwrap().unwrap().id, made.id);
    let found: SecurityGroup = admin.get(&group.id).await.unwrap();
    assert_eq!(found.security_group_rules.len(), 3);
    admin.delete::<SecurityGroupRule>(&made.id).await.unwrap();
    admin.delete::<SecurityGroup>(&group.id).await.unwrap();
}

pub async fn who_may_what(place: &Place) {
    let denied = |error: landbridge_openstack::Error| {
        assert_eq!(error.reaction(), Reaction::Denied, "{error}");
        assert_eq!((error.status(), error.kind()), (Some(403), "PolicyNotAuthorized"));
    };
    let name = place.name("denied");
    denied(place.reader.create::<Network>(&named(&name)).await.unwrap_err());
    let external = NewNetwork { is_external: Some(true), ..named(&name) };
    denied(place.member.create::<Network>(&external).await.unwrap_err());
    let hidden: Network = place.admin.create(&named(&name)).await.unwrap();
    let error = place.member.get::<Network>(&hidden.id).await.unwrap_err();
    assert_eq!((error.kind(), error.reaction()), ("NetworkNotFound", Reaction::Gone));
    let by = Query::all().with("name", name.as_str());
    assert_eq!(place.reader.only::<Network>(&by).await.unwrap(), None);
    place.admin.delete::<Network>(&hidden.id).await.unwrap();
}

pub async fn quotas(place: &Place) {
    let admin = &place.admin;
    let new = NewProject {
        name: Some(place.name("narrow")),
        domain_id: Some("default".to_owned()),
        ..NewProject::default()
    };
    let project: Project = admin.create(&new).await.unwrap();
    let change = QuotaChange { network: Some(1), ..QuotaChange::default() };
    let quota = admin.set_quota(&project.id, &change).await.unwrap();
    assert_eq!(quota.network, 1);
    assert_eq!(admin.quota(&project.id).await.unwrap().network, 1);
    let new = |name: String| NewNetwork { project_id: Some(project.id.clone()), ..named(&name) };
    let first: Network = admin.create(&new(place.name("first"))).await.unwrap();
    let error = admin.create::<Network>(&new(place.name("second"))).await.unwrap_err();
    assert_eq!((error.kind(), error.reaction()), ("OverQuota", Reaction::Scarce), "{error}");
    let change = QuotaChange { network: Some(-1), ..QuotaChange::default() };
    admin.set_quota(&project.id, &change).await.unwrap();
    let second: Network = admin.create(&new(place.name("second"))).await.unwrap();
    for network in [&first, &second] {
        admin.delete::<Network>(&network.id).await.unwrap();
    }
    admin.delete::<Project>(&project.id).await.unwrap();
}

pub async fn sharing(place: &Place) {
    let admin = &place.admin;
    let external = NewNetwork { is_external: Some(true), ..named(&place.name("outside")) };
    let network: Network = admin.create(&external).await.unwrap();
    // Neutron lets everybody use it; that is narrowed.
    let by = Query::all().with("object_id", network.id.as_str());
    let policy: RbacPolicy = admin.only(&by).await.unwrap().unwrap();
    assert_eq!(
        (policy.action.as_str(), policy.target_tenant.as_str()),
        ("access_as_external", "*")
    );
    let owner = place.project("admin").await;
    let change = RbacPolicyChange { target_tenant: Some(owner.clone()) };
    let policy = admin.update::<RbacPolicy>(&policy.id, &change, None).await.unwrap();
    assert_eq!(policy.target_tenant, owner);
    assert_eq!(place.member.find::<Network>(&network.id).await.unwrap(), None);
    let share = NewRbacPolicy {
        object_type: Some("network".to_owned()),
        object_id: Some(network.id.clone()),
        action: Some("access_as_external".to_owned()),
        target_tenant: Some(place.project("demo").await),
        ..NewRbacPolicy::default()
    };
    admin.create::<RbacPolicy>(&share).await.unwrap();
    assert!(place.member.find::<Network>(&network.id).await.unwrap().is_some());
    admin.delete::<Network>(&network.id).await.unwrap();
}
