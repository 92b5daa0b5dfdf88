//! Giving up what is not needed any more, once the sockets are bound.
//!
//! What is kept: reading files that only root may read (hosts files are read again when they change)
//! and, where interfaces come and go, binding low ports. Nothing else of root stays, and nothing comes
//! back.
//!
//! Linux keeps identities per thread. This is called before there is a second one.

use rustix::io::{Errno, Result};
use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, set_capabilities, set_keep_capabilities, set_no_new_privs,
    set_thread_gid, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

/// Whom the process becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub user: u32,
    pub group: u32,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dropped {
    /// We were not root.
    Nothing,
    /// Another user, with two capabilities.
    User,
    /// Still root by name, with two capabilities: this namespace knows no other user.
    Capabilities,
}

const KEPT: CapabilitySet = CapabilitySet::DAC_READ_SEARCH.union(CapabilitySet::NET_BIND_SERVICE);

/// Becomes `identity`, if we are root.
pub fn drop_to(identity: Identity) -> Result<Dropped> {
    if !rustix::process::geteuid().is_root() {
        return Ok(Dropped::Nothing);
    }
    let held = rustix::thread::capabilities(None)?.permitted;
    let kept = KEPT.intersection(held);
    set_keep_capabilities(true)?;
    let changed = change(identity);
    let sets =
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets)?;
    set_no_new_privs(true)?;
    match changed {
        Ok(()) => Ok(Dropped::User),
        // A user namespace without that user, or a container that may not change it.
        Err(Errno::INVAL | Errno::PERM) => Ok(Dropped::Capabilities),
        Err(error) => Err(error),
    }
}

fn change(identity: Identity) -> Result<()> {
    let (user, group) = (Uid::from_raw(identity.user), Gid::from_raw(identity.group));
    // Namespaces of ordinary users forbid changing the groups; then there are none to give up.
    match set_thread_groups(&[]) {
        Ok(()) | Err(Errno::PERM) => {}
        Err(error) => return Err(error),
    }
    set_thread_gid(group)?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)
}

/// Looks a user and a group up in the text of `/etc/passwd` and `/etc/group`; numbers stand for
/// themselves. Without a group it is the user's.
pub fn find(passwd: &str, groups: &str, user: &str, group: Option<&str>) -> Option<Identity> {
    let line = |text: &str, name: &str| -> Option<Vec<String>> {
        let fields = |line: &str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
        text.lines().map(fields).find(|fields| fields.first().is_some_and(|first| first == name))
    };
    let number = |fields: &Vec<String>, at: usize| fields.get(at).and_then(|id| id.parse().ok());
    let entry = line(passwd, user);
    let id = user.parse().ok().or_else(|| number(entry.as_ref()?, 2))?;
    let group = match group {
        Some(name) => name.parse().ok().or_else(|| number(&line(groups, name)?, 2))?,
        None => entry.as_ref().and_then(|fields| number(fields, 3)).unwrap_or(id),
    };
    Some(Identity { user: id, group })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_number() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65533:nobody:/:/bin/false\n";
        let groups = "root:x:0:\ndip:x:30:\n";
        let find = |user, group| find(passwd, groups, user, group);
        assert_eq!(find("nobody", None), Some(Identity { user: 65534, group: 65533 }));
        assert_eq!(find("nobody", Some("dip")), Some(Identity { user: 65534, group: 30 }));
        assert_eq!(find("1234", None), Some(Identity { user: 1234, group: 1234 }));
        assert_eq!(find("1234", Some("5")), Some(Identity { user: 1234, group: 5 }));
        assert_eq!(find("nobody", Some("none")), None);
        assert_eq!(find("somebody", None), None);
    }
}
