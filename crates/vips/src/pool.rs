//! One pool, as it is written.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use landbridge_addr::Skip;
use landbridge_addr::net::{Cidr, Family, Range};
use landbridge_machinery::selector::LabelSelector;
use serde_json::Value;

use crate::Name;

/// What a pool says.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Its name.
    pub name: Name,
    /// The addresses, in the order in which they are used.
    pub ranges: Vec<Range>,
    /// Whether Services get addresses of it that ask for no pool.
    pub auto_assign: bool,
    /// Whether IPv4 addresses that end in 0 or 255 are left out.
    pub avoid_buggy: bool,
    /// Who may use it; `None`: everybody.
    pub allocation: Option<Allocation>,
}

/// Which Services may use a pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Allocation {
    /// Lower numbers are used first; 0 is last.
    pub priority: i64,
    /// Namespaces by name.
    pub namespaces: BTreeSet<String>,
    /// Namespaces by label.
    pub namespace_selectors: Vec<LabelSelector>,
    /// Services by label.
    pub service_selectors: Vec<LabelSelector>,
}

impl Pool {
    /// Reads the `spec` of an IPAddressPool. What is wrong is said in MetalLB's words.
    pub fn read(name: &str, spec: &Value) -> Result<Self, String> {
        if name.is_empty() {
            return Err("missing pool name".to_owned());
        }
        let none = Vec::new();
        let texts = match &spec["addresses"] {
            Value::Null => &none,
            Value::Array(list) => list,
            other => return Err(format!("spec.addresses of pool {name:?} is no list: {other}")),
        };
        if texts.is_empty() {
            return Err("pool has no prefixes defined".to_owned());
        }
        let mut ranges = Vec::new();
        for text in texts {
            let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
            let range = addresses(&text)
                .map_err(|why| format!("invalid CIDR {text:?} in pool {name:?}: {why}"))?;
            ranges.push(range);
        }
        let flag = |field: &str, unsaid: bool| spec[field].as_bool().unwrap_or(unsaid);
        let allocation = match &spec["serviceAllocation"] {
            Value::Null => None,
            written => Some(Allocation::read(written).map_err(|why| {
                format!("parsing address pool {name}: invalid serviceAllocation: {why}")
            })?),
        };
        Ok(Self {
            name: name.into(),
            ranges,
            auto_assign: flag("autoAssign", true),
            avoid_buggy: flag("avoidBuggyIPs", false),
            allocation,
        })
    }

    /// The prefixes the addresses consist of, in order.
    pub fn prefixes(&self) -> impl Iterator<Item = IpNet> {
        self.ranges.iter().flat_map(Range::prefixes)
    }

    /// What is never handed out.
    pub fn skip(&self) -> Skip {
        if self.avoid_buggy { Skip::Buggy } else { Skip::Nothing }
    }

    /// Whether the pool may give the address to somebody.
    pub fn holds(&self, address: IpAddr) -> bool {
        !self.skip().skips(address) && self.ranges.iter().any(|range| range.contains(address))
    }

    /// How many addresses of a family it has; at most what an `int64` holds.
    pub fn size(&self, family: Family) -> i64 {
        let ranges: Vec<Range> =
            self.ranges.iter().filter(|range| range.family() == family).copied().collect();
        let all =
            landbridge_addr::Pool::new(&ranges, landbridge_addr::RangeSet::new(), self.skip());
        i64::try_from(all.capacity()).unwrap_or(i64::MAX)
    }
}

/// `172.17.0.80-172.17.0.90` or a prefix. Ends of a range may stand in spaces, a prefix may not.
fn addresses(text: &str) -> Result<Range, String> {
    let Some((first, last)) = text.split_once('-') else {
        let prefix: Cidr = text.parse().map_err(|_| format!("invalid CIDR {text:?}"))?;
        return Ok(prefix.into());
    };
    let (first, last) = (first.trim(), last.trim());
    let end = |which: &str, end: &str| {
        end.parse::<IpAddr>()
            .map_err(|_| format!("invalid IP range {text:?}: invalid {which} IP {end:?}"))
    };
    let (start, stop) = (end("start", first)?, end("end", last)?);
    if Family::of(start) != Family::of(stop) {
        return Err(format!("invalid IP range {text:?}: start and end are of two families"));
    }
    Range::new(start, stop).ok_or_else(|| {
        format!("invalid IP range {text:?}: start IP {first:?} is after the end IP {last:?}")
    })
}

impl Allocation {
    fn read(written: &Value) -> Result<Self, String> {
        let mut namespaces = BTreeSet::new();
        for name in list(written, "namespaces")? {
            let name = name.as_str().ok_or("namespaces must be names")?;
            if !namespaces.insert(name.to_owned()) {
                return Err("duplicate definition in namespaces field".to_owned());
            }
        }
        let namespace_selectors = selectors(written, "namespaceSelectors")?;
        let mut service_selectors = selectors(written, "serviceSelectors")?;
        if namespaces.is_empty() && namespace_selectors.is_empty() && service_selectors.is_empty() {
            // Only a priority: a pool for everybody.
            service_selectors.push(LabelSelector::everything());
        }
        let priority = written["priority"].as_i64().unwrap_or_default();
        Ok(Self { priority, namespaces, namespace_selectors, service_selectors })
    }

    /// By this, pools are sorted: 0 comes last.
    pub fn rank(&self) -> i64 {
        if self.priority == 0 { i64::MAX } else { self.priority }
    }
}

fn list<'a>(written: &'a Value, field: &str) -> Result<&'a [Value], String> {
    match &written[field] {
        Value::Null => Ok(&[]),
        Value::Array(list) => Ok(list),
        other => Err(format!("{field} is no list: {other}")),
    }
}

/// Label selectors without repeats.
pub(crate) fn selectors(written: &Value, field: &str) -> Result<Vec<LabelSelector>, String> {
    let mut found: Vec<LabelSelector> = Vec::new();
    for (at, entry) in list(written, field)?.iter().enumerate() {
        let selector = LabelSelector::from_object(entry)
            .map_err(|why| format!("invalid label selector {field}[{at}]: {why}"))?;
        repeats(entry)?;
        if found.contains(&selector) {
            return Err(format!("duplicate definition of {field}"));
        }
        found.push(selector);
    }
    Ok(found)
}

/// Nothing may stand twice inside of one selector either.
fn repeats(selector: &Value) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for expression in list(selector, "matchExpressions")? {
        let mut values: Vec<&str> =
            list(expression, "values")?.iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        if let Some([twice, ..]) = values.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("duplicate value {twice:?} in matchExpressions"));
        }
        let text = |field: &str| expression[field].as_str().unwrap_or_default();
        if !seen.insert((text("key"), text("operator"), values)) {
            return Err(format!("duplicate matchExpression with key {:?}", text("key")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(spec: &Value) -> Result<Pool, String> {
        Pool::read("p", spec)
    }

    #[test]
    fn addresses_are_prefixes_or_ranges() {
        let pool = read(&json!({"addresses": [
            "172.17.0.80-172.17.0.90", "10.0.0.9/30", " 10.1.0.1 - 10.1.0.1 ", "fd00::/64"]}));
        let pool = pool.unwrap();
        let texts: Vec<_> = pool.prefixes().map(|prefix| prefix.to_string()).collect();
        let expected = [
            "172.17.0.80/29",
            "172.17.0.88/31",
            "172.17.0.90/32",
            "10.0.0.8/30",
            "10.1.0.1/32",
            "fd00::/64",
        ];
        assert_eq!(texts, expected);
        assert!(pool.auto_assign && !pool.avoid_buggy && pool.allocation.is_none());
        assert_eq!((pool.size(Family::V4), pool.size(Family::V6)), (16, i64::MAX));
    }

    #[test]
    fn what_is_wrong_is_said_in_upstreams_words() {
        let bad = |text: &str| read(&json!({"addresses": [text]})).unwrap_err();
        let cases = [
            ("10.0.0.1", r#"invalid CIDR "10.0.0.1" in pool "p": invalid CIDR "10.0.0.1""#),
            (
                " 10.0.0.0/8",
                r#"invalid CIDR " 10.0.0.0/8" in pool "p": invalid CIDR " 10.0.0.0/8""#,
            ),
            (
                "10.0.0.9-10.0.0.1",
                r#"invalid CIDR "10.0.0.9-10.0.0.1" in pool "p": invalid IP range "10.0.0.9-10.0.0.1": start IP "10.0.0.9" is after the end IP "10.0.0.1""#,
            ),
            (
                "10.0.0.x-10.0.0.1",
                r#"invalid CIDR "10.0.0.x-10.0.0.1" in pool "p": invalid IP range "10.0.0.x-10.0.0.1": invalid start IP "10.0.0.x""#,
            ),
            (
                "10.0.0.1-fd00::1",
                r#"invalid CIDR "10.0.0.1-fd00::1" in pool "p": invalid IP range "10.0.0.1-fd00::1": start and end are of two families"#,
            ),
        ];
        for (text, why) in cases {
            assert_eq!(bad(text), why);
        }
        assert_eq!(read(&json!({"addresses": []})).unwrap_err(), "pool has no prefixes defined");
        assert_eq!(read(&json!({})).unwrap_err(), "pool has no prefixes defined");
        assert_eq!(Pool::read("", &json!({})).unwrap_err(), "missing pool name");
        let mixed = read(&json!({"addresses": [7]})).unwrap_err();
        assert_eq!(mixed, r#"invalid CIDR "7" in pool "p": invalid CIDR "7""#);
    }

    #[test]
    fn nothing_stands_twice_in_an_allocation() {
        let bad = |allocation: Value| {
            let spec = json!({"addresses": ["10.0.0.0/24"], "serviceAllocation": allocation});
            let why = read(&spec).unwrap_err();
            why.strip_prefix("parsing address pool p: invalid serviceAllocation: ")
                .unwrap_or_else(|| panic!("{why}"))
                .to_owned()
        };
        let one = json!({"matchLabels": {"a": "b"}});
        let cases = [
            (json!({"namespaces": ["a", "a"]}), "duplicate definition in namespaces field"),
            (json!({"serviceSelectors": [one, one]}), "duplicate definition of serviceSelectors"),
            (
                json!({"namespaceSelectors": [one, one]}),
                "duplicate definition of namespaceSelectors",
            ),
            (
                json!({"serviceSelectors": [{"matchExpressions": [
                    {"key": "a", "operator": "In", "values": ["y", "x", "y"]}]}]}),
                "duplicate value \"y\" in matchExpressions",
            ),
            (
                json!({"serviceSelectors": [{"matchExpressions": [
                    {"key": "a", "operator": "In", "values": ["y", "x"]},
                    {"key": "a", "operator": "In", "values": ["x", "y"]}]}]}),
                "duplicate matchExpression with key \"a\"",
            ),
        ];
        for (allocation, why) in cases {
            assert_eq!(bad(allocation), why);
        }
        let spec = json!({"addresses": ["10.0.0.0/24"], "serviceAllocation": {"priority": 7}});
        let allocation = read(&spec).unwrap().allocation.unwrap();
        assert!(allocation.service_selectors[0].is_empty(), "everybody");
    }

    #[test]
    fn sizes_follow_upstream() {
        let size = |addresses: Value, avoid: bool| {
            let spec = json!({"addresses": addresses, "avoidBuggyIPs": avoid});
            read(&spec).unwrap().size(Family::V4)
        };
        assert_eq!(size(json!(["10.0.0.0/16"]), true), 65_536 - 512);
        assert_eq!(size(json!(["10.0.0.0/25"]), true), 127);
        assert_eq!(size(json!(["10.0.0.64/26"]), true), 64);
        assert_eq!(size(json!(["10.0.0.0/24"]), false), 256);
    }
}
