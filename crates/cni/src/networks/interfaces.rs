//! What each network's interface is called, and whose default routes stay.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{BadAnnotation, Selection};

/// The interface of each network inside the pod: the one asked for, or `net` and the network's
/// place among all of the pod's networks, where the cluster's own is number 0 and `first` is the
/// place of the first of these. A name asked for does not shift the others.
pub fn interface_names(
    own: &str,
    first: usize,
    networks: &[Selection],
) -> Result<Vec<String>, BadAnnotation> {
    let mut seen = BTreeMap::from([(own.to_owned(), "the cluster's network".to_owned())]);
    let mut names = Vec::with_capacity(networks.len());
    for (place, network) in networks.iter().enumerate() {
        let name = match network.interface.as_str() {
            "" => format!("net{}", first + place),
            asked => asked.to_owned(),
        };
        if let Some(first) = seen.insert(name.clone(), network.reference()) {
            let second = network.reference();
            return Err(BadAnnotation::InterfaceTwice { interface: name, first, second });
        }
        names.push(name);
    }
    Ok(names)
}

/// What happens to the default routes of one network's interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefaultRoutes {
    /// The IPv4 ones its plugin made are taken away.
    pub drop_v4: bool,
    /// The IPv6 ones its plugin made are taken away.
    pub drop_v6: bool,
    /// These are made.
    pub through: Vec<IpAddr>,
}

/// Decides over all networks of a pod. Once any of them has `default-route`, the others lose
/// theirs; a list that is empty keeps what its plugin made.
pub fn default_routes(wishes: &[Option<&[IpAddr]>]) -> Result<Vec<DefaultRoutes>, BadAnnotation> {
    let all = || wishes.iter().flatten().flat_map(|gateways| gateways.iter());
    let (v4, v6) = (all().filter(|g| g.is_ipv4()).count(), all().filter(|g| g.is_ipv6()).count());
    if v4 > 1 || v6 > 1 {
        return Err(BadAnnotation::Ecmp);
    }
    let kept = wishes.iter().flatten().any(|gateways| gateways.is_empty());
    let decide = |wish: Option<&[IpAddr]>| match wish {
        Some([]) => DefaultRoutes::default(),
        wish => DefaultRoutes {
            drop_v4: kept || v4 > 0,
            drop_v6: kept || v6 > 0,
            through: wish.unwrap_or_default().to_vec(),
        },
    };
    Ok(wishes.iter().copied().map(decide).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str, first: usize) -> Result<Vec<String>, String> {
        let networks = super::super::parse(text, "n").unwrap();
        interface_names("eth0", first, &networks).map_err(|error| error.to_string())
    }

    #[test]
    fn names_count_places() {
        assert_eq!(names("a,b@eth5,c", 1).unwrap(), ["net1", "eth5", "net3"]);
        assert_eq!(names("a,a", 1).unwrap(), ["net1", "net2"]);
        assert_eq!(names("a", 3).unwrap(), ["net3"]);
    }

    #[test]
    fn a_name_is_given_once() {
        assert_eq!(
            names("a@net2,b", 1).unwrap_err(),
            "interface net2 is asked for twice: by n/a and by n/b"
        );
        assert_eq!(
            names("a@eth0", 1).unwrap_err(),
            "interface eth0 is asked for twice: by the cluster's network and by n/a"
        );
    }

    #[test]
    fn default_routes_go_to_one() {
        let v4: IpAddr = "10.0.0.1".parse().unwrap();
        let v6: IpAddr = "fd00::1".parse().unwrap();
        let none = default_routes(&[None, None]).unwrap();
        assert_eq!(none, [DefaultRoutes::default(), DefaultRoutes::default()]);
        let one = default_routes(&[None, Some(&[v4])]).unwrap();
        assert_eq!((one[0].drop_v4, one[0].drop_v6, one[0].through.len()), (true, false, 0));
        assert_eq!((one[1].drop_v4, one[1].drop_v6, one[1].through.len()), (true, false, 1));
        assert!(default_routes(&[Some(&[v4]), Some(&[v6])]).is_ok());
        assert!(default_routes(&[Some(&[v4]), Some(&[v4])]).is_err());
        let kept = default_routes(&[None, Some(&[])]).unwrap();
        assert_eq!((kept[0].drop_v4, kept[1].drop_v4), (true, false));
    }
}
