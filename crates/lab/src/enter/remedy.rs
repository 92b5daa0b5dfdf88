//! What helps where namespaces are forbidden.

use std::io;
use std::path::Path;

use rustix::io::Errno;

/// What this machine says about user namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    pub max_user_namespaces: Option<u64>,
    /// Debian's switch.
    pub unprivileged_clone: Option<u64>,
    /// Ubuntu's switch.
    pub apparmor_restricts: Option<u64>,
    pub container: bool,
    pub root: bool,
    pub threads: usize,
}

impl Facts {
    pub(super) fn gather() -> Self {
        let number = |path: &str| {
            std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok())
        };
        let marks = ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"];
        Self {
            max_user_namespaces: number("/proc/sys/user/max_user_namespaces"),
            unprivileged_clone: number("/proc/sys/kernel/unprivileged_userns_clone"),
            apparmor_restricts: number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            container: marks.iter().any(|path| Path::new(path).exists()),
            root: rustix::process::geteuid().is_root(),
            threads: std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count),
        }
    }
}

/// What to do about it, beginning with a separator; empty where nothing is known to help.
pub(super) fn remedy(error: &io::Error, facts: &Facts) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::INVAL) if facts.threads > 1 => {
            ": the process has more than one thread; this is a mistake in Landbridge".to_owned()
        }
        Some(Errno::NOSPC | Errno::USERS) => format!(
            "\n  the limit of namespaces is reached (user.max_user_namespaces is {}); raise it:\
             \n  sudo sysctl -w user.max_user_namespaces=10000\
             \n  or start landbridge as root, or without a lab: landbridge up --lab none",
            facts.max_user_namespaces.map_or("not known".to_owned(), |value| value.to_string())
        ),
        Some(Errno::PERM | Errno::ACCESS) => format!(
            "\n  {}\n  or start landbridge {}without a lab: landbridge up --lab none",
            forbidden_by(facts),
            if facts.root { "" } else { "as root, or " }
        ),
        _ => String::new(),
    }
}

fn forbidden_by(facts: &Facts) -> &'static str {
    if facts.unprivileged_clone == Some(0) {
        "ordinary users may not make user namespaces here; allow it:\
         \n  sudo sysctl -w kernel.unprivileged_userns_clone=1"
    } else if facts.apparmor_restricts.is_some_and(|value| value > 0) {
        "AppArmor keeps ordinary users from using user namespaces; allow it:\
         \n  sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    } else if facts.container {
        "this container may not make namespaces; start it with more rights:\
         \n  --privileged, or --cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt seccomp=unconfined \
         --security-opt apparmor=unconfined --security-opt systempaths=unconfined"
    } else {
        "a security policy forbids namespaces here (seccomp, SELinux or a sandbox): ask who runs this machine"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_own_words() {
        let plain = Facts { threads: 1, max_user_namespaces: Some(0), ..Facts::default() };
        for (errno, facts, told) in [
            (Errno::NOSPC, plain, "user.max_user_namespaces is 0"),
            (
                Errno::PERM,
                Facts { unprivileged_clone: Some(0), apparmor_restricts: Some(1), ..plain },
                "unprivileged_userns_clone=1",
            ),
            (
                Errno::PERM,
                Facts { unprivileged_clone: Some(1), apparmor_restricts: Some(1), ..plain },
                "apparmor_restrict_unprivileged_userns=0",
            ),
            (Errno::ACCESS, Facts { apparmor_restricts: Some(2), ..plain }, "AppArmor"),
            (
                Errno::PERM,
                Facts { apparmor_restricts: Some(0), container: true, ..plain },
                "--cap-add SYS_ADMIN",
            ),
            (Errno::PERM, plain, "a security policy"),
            (Errno::INVAL, Facts { threads: 3, ..plain }, "more than one thread"),
        ] {
            let text = remedy(&errno.into(), &facts);
            assert!(text.contains(told), "{errno:?}: {text}");
        }
        assert_eq!(remedy(&Errno::INVAL.into(), &plain), "");
        assert!(remedy(&Errno::PERM.into(), &plain).contains("as root, or without a lab"));
        let root = Facts { root: true, ..plain };
        assert!(!remedy(&Errno::PERM.into(), &root).contains("as root"));
    }
}
