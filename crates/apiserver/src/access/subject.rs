//! Names of users and groups that mean something to the server.

/// May do everything, whatever roles say.
pub const MASTERS: &str = "system:masters";
/// Everybody who proved who he is.
pub const AUTHENTICATED: &str = "system:authenticated";
/// Nobody in particular; exists only as somebody to impersonate.
pub const ANONYMOUS: &str = "system:anonymous";
/// The group of the anonymous user.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// All nodes.
pub const NODES: &str = "system:nodes";
/// All service accounts.
pub const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";

const ACCOUNT: &str = "system:serviceaccount:";
const NODE: &str = "system:node:";

/// User name of a service account.
pub fn account_user(namespace: &str, name: &str) -> String {
    format!("{ACCOUNT}{namespace}:{name}")
}

/// Namespace and name of the service account a user name stands for.
pub fn account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(ACCOUNT)?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}

/// Groups of every service account of a namespace.
pub fn account_groups(namespace: &str) -> Vec<String> {
    vec![
        SERVICE_ACCOUNTS.to_owned(),
        format!("{SERVICE_ACCOUNTS}:{namespace}"),
        AUTHENTICATED.to_owned(),
    ]
}

/// Name of the node an identity stands for.
pub fn node<'a>(user: &'a str, groups: &[String]) -> Option<&'a str> {
    let name = user.strip_prefix(NODE).filter(|name| !name.is_empty())?;
    groups.iter().any(|group| group == NODES).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(account("system:serviceaccount:a:b"), Some(("a", "b")));
        for other in ["bob", "system:serviceaccount:a", "system:serviceaccount:a:b:c"] {
            assert_eq!(account(other), None);
        }
        let nodes = [NODES.to_owned()];
        assert_eq!(node("system:node:n1", &nodes), Some("n1"));
        assert_eq!(node("system:node:n1", &[]), None);
        assert_eq!(node("system:node:", &nodes), None);
        assert_eq!(node("bob", &nodes), None);
    }
}
