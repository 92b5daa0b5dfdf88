//! What Neutron refuses, and what follows from what.

use http::Method;
use landbridge_api::net::{Cidr, Range};
use serde_json::{Map, Value, json};

use super::{Answer, State};

type Fields = Map<String, Value>;
type Made = Result<Value, (u16, &'static str, String)>;

fn no<T>(
    status: u16,
    kind: &'static str,
    why: impl Into<String>,
) -> Result<T, (u16, &'static str, String)> {
    Err((status, kind, why.into()))
}

/// What may be changed, by collection.
fn changeable(collection: &str) -> &'static [&'static str] {
    match collection {
        "networks" => &[
            "name",
            "description",
            "admin_state_up",
            "shared",
            "router:external",
            "port_security_enabled",
            "is_default",
            "mtu",
        ],
        "subnets" => &[
            "name",
            "description",
            "gateway_ip",
            "allocation_pools",
            "host_routes",
            "enable_dhcp",
            "dns_nameservers",
            "service_types",
        ],
        "ports" => &[
            "name",
            "description",
            "admin_state_up",
            "fixed_ips",
            "security_groups",
            "port_security_enabled",
            "allowed_address_pairs",
            "device_id",
            "device_owner",
        ],
        "routers" => &["name", "description", "admin_state_up", "external_gateway_info", "routes"],
        "security-groups" => &["name", "description", "stateful"],
        "rbac-policies" => &["target_tenant"],
        _ => &[],
    }
}

fn text<'f>(fields: &'f Fields, name: &str) -> &'f str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

impl State {
    pub(super) fn make(&mut self, collection: &'static str, fields: &Fields) -> Made {
        let number = self.fresh();
        let id = format!("{}-{number:05}", &collection[..3]);
        let project = fields.get("project_id").cloned().unwrap_or("p-admin".into());
        let mut object = json!({
            "id": id, "name": "", "description": "", "project_id": project, "tenant_id": project,
            "tags": [], "created_at": format!("2024-06-11T{:02}:{:02}:{:02}Z", number / 3600 % 24, number / 60 % 60, number % 60),
            "revision_number": 1,
        });
        let more = match collection {
            "networks" => {
                json!({"admin_state_up": true, "shared": false, "router:external": false, "mtu": 1500,
                "port_security_enabled": true, "is_default": false, "availability_zone_hints": [],
                "provider:network_type": "geneve", "provider:physical_network": null, "status": "ACTIVE"})
            }
            "subnets" => {
                json!({"enable_dhcp": true, "dns_nameservers": [], "service_types": [], "host_routes": [],
                "ipv6_address_mode": null, "ipv6_ra_mode": null, "gateway_ip": null, "allocation_pools": []})
            }
            "ports" => {
                json!({"admin_state_up": true, "port_security_enabled": true, "allowed_address_pairs": [],
                "security_groups": [], "device_id": "", "device_owner": "", "fixed_ips": [], "status": "DOWN",
                "mac_address": format!("fa:16:3e:00:00:{number:02x}")})
            }
            "routers" => {
                json!({"admin_state_up": true, "external_gateway_info": null, "routes": [],
                "availability_zone_hints": [], "status": "ACTIVE"})
            }
            "security-groups" => json!({"stateful": true, "shared": false}),
            "security-group-rules" => {
                json!({"protocol": null, "port_range_min": null, "port_range_max": null,
                "remote_ip_prefix": null, "remote_group_id": null, "remote_address_group_id": null})
            }
            _ => json!({}),
        };
        let object_fields = object.as_object_mut().unwrap();
        object_fields.extend(more.as_object().unwrap().clone());
        object_fields.extend(fields.clone());
        self.check_new(collection, &mut object)?;
        self.objects.insert((collection, id.clone()), object.clone());
        match collection {
            "security-groups" => {
                for family in ["IPv4", "IPv6"] {
                    let rule = json!({"security_group_id": id, "direction": "egress", "ethertype": family,
                        "project_id": object["project_id"]});
                    self.make("security-group-rules", rule.as_object().unwrap())?;
                }
            }
            "networks" if object["router:external"] == true => self.open(&object)?,
            "routers" => {
                if let Err(error) = self.gateway(&id, &object["external_gateway_info"].clone()) {
                    self.objects.remove(&(collection, id));
                    return Err(error);
                }
            }
            _ => {}
        }
        Ok(self.objects[&(collection, id)].clone())
    }

    /// An external network is everybody's.
    fn open(&mut self, network: &Value) -> Result<(), (u16, &'static str, String)> {
        let policy = json!({"object_id": network["id"], "object_type": "network", "action": "access_as_external",
            "target_tenant": "*", "project_id": network["project_id"]});
        self.make("rbac-policies", policy.as_object().unwrap()).map(drop)
    }

    fn get(&self, collection: &'static str, id: &str) -> Made {
        match self.objects.get(&(collection, id.to_owned())) {
            Some(object) => Ok(object.clone()),
            None => no(404, "NotFound", format!("{collection} {id} could not be found.")),
        }
    }

    fn of<'s>(&'s self, collection: &'s str) -> impl Iterator<Item = &'s Value> {
        self.objects.iter().filter(move |((kind, _), _)| *kind == collection).map(|(_, o)| o)
    }

    fn check_new(
        &mut self,
        collection: &'static str,
        object: &mut Value,
    ) -> Result<(), (u16, &'static str, String)> {
        let fields = object.as_object().unwrap().clone();
        match collection {
            "networks" if object["provider:network_type"] == "flat" => {
                let physical = &object["provider:physical_network"];
                if self.of("networks").any(|other| other["provider:physical_network"] == *physical)
                {
                    return no(
                        409,
                        "FlatNetworkInUse",
                        format!("Physical network {physical} is in use."),
                    );
                }
            }
            "subnets" => {
                self.get("networks", text(&fields, "network_id"))?;
                let cidr: Cidr = text(&fields, "cidr").parse().expect("a prefix");
                let on_it = self.of("subnets").filter(|s| s["network_id"] == object["network_id"]);
                for other in on_it {
                    let other: Cidr = other["cidr"].as_str().unwrap().parse().unwrap();
                    if Range::from(other).intersect(&Range::from(cidr)).is_some() {
                        return no(400, "InvalidInput", "overlaps another subnet");
                    }
                }
                pools(object)?;
            }
            "ports" => {
                self.get("networks", text(&fields, "network_id"))?;
                self.groups(object)?;
                let fixed = object["fixed_ips"].clone();
                object["fixed_ips"] = self.addresses(&fixed, text(&fields, "id"))?;
            }
            "security-group-rules" => {
                self.get("security-groups", text(&fields, "security_group_id"))?;
                let telling = [
                    "security_group_id",
                    "direction",
                    "ethertype",
                    "protocol",
                    "port_range_min",
                    "port_range_max",
                    "remote_ip_prefix",
                    "remote_group_id",
                ];
                let is_same =
                    |rule: &&Value| telling.iter().all(|field| rule[field] == object[field]);
                if self.of("security-group-rules").any(|rule| is_same(&rule)) {
                    return no(
                        409,
                        "SecurityGroupRuleExists",
                        "Security group rule already exists.",
                    );
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn groups(&self, port: &Value) -> Result<(), (u16, &'static str, String)> {
        for group in port["security_groups"].as_array().unwrap() {
            let id = group.as_str().unwrap();
            if !self.objects.contains_key(&("security-groups", id.to_owned())) {
                return no(
                    404,
                    "SecurityGroupNotFound",
                    format!("Security group {id} does not exist"),
                );
            }
        }
        Ok(())
    }

    /// Addresses as asked for; where only the subnet is said, Neutron chooses.
    fn addresses(&mut self, fixed: &Value, port: &str) -> Made {
        let mut given = Vec::new();
        for wish in fixed.as_array().unwrap() {
            let subnet = self.get("subnets", wish["subnet_id"].as_str().unwrap())?;
            let cidr: Cidr = subnet["cidr"].as_str().unwrap().parse().unwrap();
            let address = match wish["ip_address"].as_str() {
                Some(address) if !cidr.contains(address.parse().unwrap()) => {
                    return no(400, "InvalidIpForSubnet", format!("{address} is not in {cidr}"));
                }
                Some(address) => address.to_owned(),
                None => {
                    let pool = &subnet["allocation_pools"][0];
                    let range = format!(
                        "{}-{}",
                        pool["start"].as_str().unwrap(),
                        pool["end"].as_str().unwrap()
                    );
                    let range: Range = range.parse().unwrap();
                    self.next_address += 1;
                    let offset = u128::from(self.next_address) % range.len();
                    let first = landbridge_addr::number::number(range.first());
                    landbridge_addr::number::address(range.family(), first + offset)
                        .unwrap()
                        .to_string()
                }
            };
            let taken = self.of("ports").any(|other| {
                other["id"] != port
                    && other["fixed_ips"].as_array().unwrap().iter().any(|ip| {
                        ip["ip_address"] == address.as_str() && ip["subnet_id"] == subnet["id"]
                    })
            });
            if taken {
                return no(
                    409,
                    "IpAddressAlreadyAllocated",
                    format!("IP address {address} already allocated"),
                );
            }
            given.push(json!({"ip_address": address, "subnet_id": subnet["id"]}));
        }
        Ok(given.into())
    }

    /// The router's port on the external network, as the router says.
    fn gateway(&mut self, router: &str, info: &Value) -> Result<(), (u16, &'static str, String)> {
        let old: Vec<String> = self
            .of("ports")
            .filter(|p| p["device_id"] == router && p["device_owner"] == "network:router_gateway")
            .map(|p| p["id"].as_str().unwrap().to_owned())
            .collect();
        let wanted = info["network_id"].as_str();
        if let Some(network) = wanted {
            let network = self.get("networks", network)?;
            if network["router:external"] != true {
                return no(400, "BadRequest", "Network is not an external network");
            }
            let holder = old.first().map_or("", String::as_str).to_owned();
            let fixed = self.addresses(&info["external_fixed_ips"].clone(), &holder)?;
            for port in &old {
                self.objects.remove(&("ports", port.clone()));
            }
            let port = json!({"network_id": network["id"], "device_id": router,
                "device_owner": "network:router_gateway", "fixed_ips": fixed, "project_id": ""});
            self.make("ports", port.as_object().unwrap())?;
        } else {
            for port in &old {
                self.objects.remove(&("ports", port.clone()));
            }
        }
        let key = ("routers", router.to_owned());
        let shown = if wanted.is_some() { info.clone() } else { Value::Null };
        self.objects.get_mut(&key).unwrap()["external_gateway_info"] = shown;
        Ok(())
    }

    pub(super) fn change(&mut self, collection: &'static str, id: &str, fields: &Fields) -> Made {
        let mut object = self.get(collection, id)?;
        let was_external = object["router:external"] == true;
        for (name, value) in fields {
            if !changeable(collection).contains(&name.as_str()) {
                return no(
                    400,
                    "HTTPBadRequest",
                    format!("Cannot update read-only attribute {name}"),
                );
            }
            object[name] = value.clone();
        }
        match collection {
            "subnets" => pools(&mut object)?,
            "ports" => {
                self.groups(&object)?;
                let fixed = object["fixed_ips"].clone();
                object["fixed_ips"] = self.addresses(&fixed, id)?;
            }
            "networks" if !was_external && object["router:external"] == true => {
                self.open(&object)?;
            }
            "networks" if was_external && object["router:external"] == false => {
                let used = self.of("ports").any(|port| {
                    port["network_id"] == id && port["device_owner"] == "network:router_gateway"
                });
                if used {
                    return no(409, "ExternalNetworkInUse", "External network is in use");
                }
                self.objects.retain(|(kind, _), policy| {
                    *kind != "rbac-policies" || policy["object_id"] != id
                });
            }
            "rbac-policies" => {
                let is_same = |other: &&Value| {
                    other["id"] != id
                        && other["object_id"] == object["object_id"]
                        && other["target_tenant"] == object["target_tenant"]
                };
                if self.of("rbac-policies").any(|other| is_same(&other)) {
                    return no(409, "RbacPolicyExists", "there is one for that project");
                }
            }
            "routers" => {
                if let Some(info) = fields.get("external_gateway_info") {
                    object["external_gateway_info"] =
                        self.get(collection, id)?["external_gateway_info"].clone();
                    self.gateway(id, info)?;
                    object["external_gateway_info"] =
                        self.get(collection, id)?["external_gateway_info"].clone();
                }
            }
            _ => {}
        }
        let revision = object["revision_number"].as_u64().unwrap();
        object["revision_number"] = (revision + 1).into();
        self.objects.insert((collection, id.to_owned()), object.clone());
        Ok(object)
    }

    pub(super) fn plug(&mut self, router: &str, body: &Value) -> Answer {
        self.get("routers", router)?;
        let mut port = self.get("ports", body["port_id"].as_str().unwrap())?;
        let Some(fixed) = port["fixed_ips"].get(0).cloned() else {
            return no(400, "BadRequest", "Router port must have at least one fixed IP");
        };
        if port["device_id"] != "" {
            return no(409, "PortInUse", "Port is already in use");
        }
        let on_it = |other: &&Value| {
            other["device_id"] == router
                && other["fixed_ips"].get(0).is_some_and(|ip| ip["subnet_id"] == fixed["subnet_id"])
        };
        if self.of("ports").any(|other| on_it(&other)) {
            return no(400, "BadRequest", "Router already has a port on subnet");
        }
        port["device_id"] = router.into();
        port["device_owner"] = "network:router_interface".into();
        let id = port["id"].as_str().unwrap().to_owned();
        self.objects.insert(("ports", id), port);
        Ok(json!({}))
    }

    pub(super) fn unplug(&mut self, router: &str, body: &Value) -> Answer {
        self.get("routers", router)?;
        let id = body["port_id"].as_str().unwrap();
        let port = self.get("ports", id)?;
        if port["device_id"] != router {
            return no(404, "RouterInterfaceNotFound", "Router does not have that interface");
        }
        self.objects.remove(&("ports", id.to_owned()));
        Ok(json!({}))
    }

    pub(super) fn tag(
        &mut self,
        method: &Method,
        collection: &'static str,
        id: &str,
        tag: &str,
    ) -> Answer {
        let mut object = self.get(collection, id)?;
        assert!(tag.len() <= 255 && !tag.contains(['/', ',']), "{tag}");
        let tags = object["tags"].as_array_mut().unwrap();
        let known = tags.iter().position(|known| known == tag);
        match (method, known) {
            (&Method::PUT, None) => tags.push(tag.into()),
            (&Method::PUT, Some(_)) => {}
            (_, Some(at)) => drop(tags.remove(at)),
            (_, None) => return no(404, "TagNotFound", format!("Tag {tag} could not be found.")),
        }
        assert!(tags.len() <= 50, "Neutron takes 50 tags");
        self.objects.insert((collection, id.to_owned()), object);
        Ok(Value::Null)
    }

    pub(super) fn delete(
        &mut self,
        collection: &'static str,
        id: &str,
    ) -> Result<(), (u16, &'static str, String)> {
        let object = self.get(collection, id)?;
        let has_address = |port: &&Value| {
            port["fixed_ips"].as_array().unwrap().iter().any(|ip| ip["subnet_id"] == id)
        };
        match collection {
            "networks" => {
                if self.of("ports").any(|port| port["network_id"] == id) {
                    return no(
                        409,
                        "NetworkInUse",
                        format!(
                            "Unable to complete operation on network {id}. There are one or more ports still in use on the network."
                        ),
                    );
                }
                self.objects.retain(|(kind, _), o| *kind != "subnets" || o["network_id"] != id);
                self.objects
                    .retain(|(kind, _), o| *kind != "rbac-policies" || o["object_id"] != id);
            }
            "subnets" if self.of("ports").any(|port| has_address(&port)) => {
                return no(
                    409,
                    "SubnetInUse",
                    "One or more ports have an IP allocation from this subnet.",
                );
            }
            "ports" if object["device_owner"].as_str().unwrap().starts_with("network:router") => {
                return no(
                    409,
                    "ServicePortInUse",
                    "Port cannot be deleted directly via the port API",
                );
            }
            "routers" => {
                let used = |port: &&Value| {
                    port["device_id"] == id && port["device_owner"] == "network:router_interface"
                };
                if self.of("ports").any(|port| used(&port)) {
                    return no(409, "RouterInUse", format!("Router {id} still has ports"));
                }
                self.gateway(id, &Value::Null)?;
            }
            "security-groups" => {
                let used = |port: &&Value| {
                    port["security_groups"].as_array().unwrap().iter().any(|g| g == id)
                };
                if self.of("ports").any(|port| used(&port)) {
                    return no(409, "SecurityGroupInUse", format!("Security Group {id} in use."));
                }
                self.objects.retain(|(kind, _), o| {
                    *kind != "security-group-rules" || o["security_group_id"] != id
                });
            }
            _ => {}
        }
        self.objects.remove(&(collection, id.to_owned()));
        Ok(())
    }
}

fn pools(subnet: &mut Value) -> Result<(), (u16, &'static str, String)> {
    let cidr: Cidr = subnet["cidr"].as_str().unwrap().parse().unwrap();
    for pool in subnet["allocation_pools"].as_array().unwrap() {
        for end in ["start", "end"] {
            let address = pool[end].as_str().unwrap().parse().unwrap();
            if !cidr.contains(address) {
                return no(
                    400,
                    "OutOfBoundsAllocationPool",
                    "the allocation pool spans beyond the subnet cidr",
                );
            }
        }
    }
    Ok(())
}
