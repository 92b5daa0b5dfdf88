//! What helps against a refusal, in words a person can act on.
//!
//! The kernel's numbers are few and its reasons are many, so a remedy looks at what was attempted,
//! too. Where more than one reason is likely nothing is said: a wrong hint costs more than none.

use rustix::io::Errno;

use crate::error::{Action, Attempt, Object};

/// What the kernel says about a kind of link it has not.
const UNKNOWN: &str = "Unknown device type";

/// The remedy for this refusal, where one is known.
pub(crate) fn remedy(attempt: &Attempt, errno: i32, message: Option<&str>) -> Option<&'static str> {
    let errno = Errno::from_raw_os_error(errno);
    let kind = attempt.kind.as_deref();
    match (errno, attempt.object, attempt.action) {
        (Errno::PERM, ..) => Some(
            "it needs CAP_NET_ADMIN in the user namespace that owns this network namespace: run as root",
        ),
        // A bridge may be there and lack an option; a kind that is not there has a message.
        (Errno::OPNOTSUPP, Object::Link, Action::Create | Action::Change)
            if kind == Some("bridge") && !message.is_some_and(|text| text.starts_with(UNKNOWN)) =>
        {
            Some(
                "this kernel's bridge lacks one of the options; VLAN filtering is CONFIG_BRIDGE_VLAN_FILTERING",
            )
        }
        (Errno::OPNOTSUPP | Errno::AFNOSUPPORT, Object::Link, Action::Create) => {
            kind.and_then(module)
        }
        (Errno::AFNOSUPPORT, Object::Rule, _) => {
            Some("this kernel has no policy routing for the family: CONFIG_IP_MULTIPLE_TABLES")
        }
        (Errno::EXIST, Object::Link, Action::Create | Action::Rename | Action::Move) => {
            Some("a link of that name is there already: choose another name or delete that link")
        }
        (Errno::BUSY, Object::Link, Action::Create | Action::Change) => {
            Some("the link is in use by another master or parent: release it there first")
        }
        (Errno::BUSY, Object::Link, Action::Rename) => {
            Some("this kernel renames a link only while it is down: set it down first")
        }
        (Errno::XFULL, Object::Link, _) => {
            Some("a bridge takes at most 1023 ports: use a second bridge")
        }
        (Errno::NETUNREACH, Object::Route, _) => Some(
            "no connected network leads to the gateway: add an address of its network first, or mark the route on-link",
        ),
        (Errno::NETDOWN, Object::Route | Object::Neighbour, _) => {
            Some("the link is down: set it up first")
        }
        (Errno::ACCESS, Object::Address | Object::Route, _) => {
            Some("IPv6 is switched off there: set net.ipv6.conf.LINK.disable_ipv6 to 0")
        }
        (Errno::NOBUFS, ..) => Some("the kernel is out of memory for this table or socket"),
        _ => None,
    }
}

/// The module that brings a kind of link.
fn module(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "vlan" => "this kernel has no 8021q: modprobe 8021q",
        "bond" => "this kernel has no bonding: modprobe bonding",
        "dummy" => "this kernel has no dummy links: modprobe dummy",
        "vrf" => "this kernel has no vrf: modprobe vrf",
        "vxlan" => "this kernel has no vxlan: modprobe vxlan",
        "macvlan" => "this kernel has no macvlan: modprobe macvlan",
        "bridge" => "this kernel has no bridge: modprobe bridge",
        "veth" => "this kernel has no veth: modprobe veth",
        _ => return None,
    })
}

/// The remedy when a namespace cannot be made or entered.
pub(crate) fn namespace_remedy(error: &std::io::Error) -> Option<&'static str> {
    match Errno::from_io_error(error)? {
        Errno::PERM => Some("it needs CAP_SYS_ADMIN: run as root or in a user namespace"),
        Errno::NOSPC => Some("the limit is reached: raise user.max_net_namespaces"),
        Errno::MFILE => Some("too many open files: raise the limit, ulimit -n"),
        _ => None,
    }
}

/// The remedy when a sysctl cannot be read or written.
pub(crate) fn sysctl_remedy(error: &std::io::Error) -> Option<&'static str> {
    match Errno::from_io_error(error)? {
        Errno::ROFS => {
            Some("/proc/sys is mounted read-only here, as containers do: run it privileged")
        }
        Errno::ACCESS | Errno::PERM => Some("it needs root in the namespace's user namespace"),
        Errno::NOENT => Some("no such link, or this kernel lacks the setting"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Refusal;

    #[test]
    fn a_refusal_says_what_helps() {
        let attempt =
            Attempt::new(Action::Create, Object::Link, "eth0.20").of_kind("vlan").on("eth0");
        let refusal = Refusal::new(
            attempt,
            Errno::OPNOTSUPP.raw_os_error(),
            Some("Unknown device type.".into()),
        );
        assert_eq!(
            refusal.to_string(),
            "cannot create vlan link eth0.20 on eth0: Operation not supported (os error 95): \
             Unknown device type (this kernel has no 8021q: modprobe 8021q)"
        );
        let attempt = Attempt::new(Action::Create, Object::Link, "x").of_kind("geneve");
        assert_eq!(remedy(&attempt, Errno::OPNOTSUPP.raw_os_error(), Some(UNKNOWN)), None);
        let bridge = Attempt::new(Action::Create, Object::Link, "x").of_kind("bridge");
        let told = |message| remedy(&bridge, Errno::OPNOTSUPP.raw_os_error(), message).unwrap();
        assert!(told(Some(UNKNOWN)).contains("modprobe bridge"));
        assert!(told(None).contains("one of the options"));
    }
}
