//! What follows from an error: the table of the services' words.

use super::{Error, Refusal};

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reaction {
    /// Try again soon: it is likely to work by itself.
    Retry,
    /// Try again, but slowly: somebody has to free or raise something (addresses, quota).
    Scarce,
    /// Something else is still using it: take that away first, or wait for it to go.
    InUse,
    /// Somebody has what was asked for: another one has to be asked for, or that one freed.
    Conflict,
    /// It is there already: as good as done.
    Exists,
    /// It was changed in between: read it again and decide again.
    Reread,
    /// It is not there: for a deletion as good as done.
    Gone,
    /// Whoever asks may not.
    Denied,
    /// Whoever asks is not who they say they are.
    Credentials,
    /// What was asked for makes no sense; asking again does not help.
    Wrong,
    /// The cloud or the settings lack something: somebody has to act there.
    Setup,
}

impl Reaction {
    /// Whether it is worth trying again without anybody doing anything.
    pub fn heals(self) -> bool {
        matches!(self, Self::Retry | Self::Scarce | Self::InUse | Self::Reread)
    }
}

impl Error {
    /// What to do next.
    pub fn reaction(&self) -> Reaction {
        match self {
            Self::Unreachable { .. } | Self::Lost { .. } | Self::Unreadable { .. } => {
                Reaction::Retry
            }
            Self::Refused(refusal) => of(refusal),
            Self::Login { why, .. } => match why.reaction() {
                // Keystone hides from strangers what it has: a wrong project is a 401, too.
                Reaction::Denied | Reaction::Gone | Reaction::Wrong => Reaction::Credentials,
                other => other,
            },
            Self::NoEndpoint { .. }
            | Self::NotThatApi { .. }
            | Self::Settings(_)
            | Self::Nowhere(_)
            | Self::Ambiguous { .. }
            | Self::Endless { .. } => Reaction::Setup,
            Self::Missing { .. } => Reaction::Gone,
        }
    }
}

fn of(refusal: &Refusal) -> Reaction {
    by_word(&refusal.kind).unwrap_or_else(|| match refusal.status.as_u16() {
        401 => Reaction::Credentials,
        403 if is_about_quota(&refusal.message) => Reaction::Scarce,
        403 => Reaction::Denied,
        // Whoever answers so does not know what was asked for at all.
        404 if refusal.kind.is_empty() && !refusal.asked.url.contains("/images/") => {
            Reaction::Setup
        }
        404 | 410 => Reaction::Gone,
        409 => Reaction::Conflict,
        412 => Reaction::Reread,
        408 | 413 | 429 | 500..=599 => Reaction::Retry,
        _ => Reaction::Wrong,
    })
}

/// Nova says it with a 403 and words.
fn is_about_quota(message: &str) -> bool {
    message.to_ascii_lowercase().contains("quota")
}

/// Words whose meaning the status alone does not tell.
fn by_word(kind: &str) -> Option<Reaction> {
    Some(match kind {
        "OverQuota"
        | "IpAddressGenerationFailure"
        | "IpAddressGenerationFailureAllSubnets"
        | "IpAddressGenerationFailureNoMatchingSubnet"
        | "ExternalIpAddressExhausted"
        | "NoNetworkAvailable"
        | "MacAddressGenerationFailure" => Reaction::Scarce,
        "NetworkInUse"
        | "SubnetInUse"
        | "SubnetPoolInUse"
        | "PortInUse"
        | "PortBound"
        | "RouterInUse"
        | "RouterInterfaceInUseByFloatingIP"
        | "RouterInterfaceInUseByRoute"
        | "RouterExternalGatewayInUseByFloatingIp"
        | "ServicePortInUse"
        | "SecurityGroupInUse"
        | "TrunkPortInUse"
        | "ParentPortInUse"
        | "PortInUseAsTrunkParent"
        | "PortInUseAsSubPort"
        | "TrunkInUse"
        | "RbacPolicyInUse"
        | "AddressScopeInUse" => Reaction::InUse,
        // A second rule that says the same, or a second right for the same.
        "SecurityGroupRuleExists" | "DuplicateRbacPolicy" => Reaction::Exists,
        "RevisionNumberConstraintFailed" | "StaleDataError" => Reaction::Reread,
        // Neutron without that extension.
        "HTTPNotFound" => Reaction::Setup,
        // A 404 that is not "already gone": the outside cannot be reached from that subnet.
        "ExternalGatewayForFloatingIPNotFound" => Reaction::Wrong,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use http::{Method, StatusCode};

    use super::super::Asked;
    use super::*;

    fn refused(status: u16, kind: &str, message: &str) -> Error {
        Error::Refused(Box::new(Refusal {
            asked: Asked { method: Method::POST, url: "http://n/v2.0/ports".to_owned() },
            status: StatusCode::from_u16(status).unwrap(),
            kind: kind.to_owned(),
            message: message.to_owned(),
            detail: String::new(),
            request_id: None,
            retry_after: None,
        }))
    }

    #[test]
    fn every_word_of_the_table_says_what_to_do() {
        use Reaction::{
            Conflict, Credentials, Denied, Exists, Gone, InUse, Reread, Retry, Scarce, Setup, Wrong,
        };
        for (status, kind, expected) in [
            (409, "IpAddressAlreadyAllocated", Conflict),
            (409, "IpAddressGenerationFailure", Scarce),
            (409, "MacAddressInUse", Conflict),
            (409, "IpAddressInUse", Conflict),
            (409, "OverQuota", Scarce),
            (400, "InvalidIpForSubnet", Wrong),
            (400, "InvalidInput", Wrong),
            (400, "OutOfBoundsAllocationPool", Wrong),
            (409, "OverlappingAllocationPools", Conflict),
            (409, "GatewayConflictWithAllocationPools", Conflict),
            (409, "NetworkInUse", InUse),
            (409, "SubnetInUse", InUse),
            (409, "PortInUse", InUse),
            (409, "RouterInUse", InUse),
            (409, "RouterExternalGatewayInUseByFloatingIp", InUse),
            (404, "RouterInterfaceNotFound", Gone),
            (404, "RouterInterfaceNotFoundForSubnet", Gone),
            (409, "ServicePortInUse", InUse),
            (404, "ExternalGatewayForFloatingIPNotFound", Wrong),
            (409, "FloatingIPPortAlreadyAssociated", Conflict),
            (409, "SecurityGroupRuleExists", Exists),
            (409, "SecurityGroupInUse", InUse),
            (409, "FlatNetworkInUse", Conflict),
            (409, "RbacPolicyInUse", InUse),
            (412, "RevisionNumberConstraintFailed", Reread),
            (403, "PolicyNotAuthorized", Denied),
            (500, "HTTPInternalServerError", Retry),
            (503, "", Retry),
            (429, "", Retry),
            (401, "Unauthorized", Credentials),
            (404, "PortNotFound", Gone),
            (404, "itemNotFound", Gone),
            (404, "HTTPNotFound", Setup),
            (404, "", Setup),
            (410, "", Gone),
            (418, "", Wrong),
        ] {
            assert_eq!(refused(status, kind, "").reaction(), expected, "{status} {kind}");
        }
        let nova = refused(403, "forbidden", "Quota exceeded for instances: Requested 1");
        assert_eq!(nova.reaction(), Scarce);
    }

    #[test]
    fn only_answers_that_leave_it_open_are_unsure() {
        for (status, unsure) in
            [(409, false), (503, false), (429, false), (500, true), (502, true), (504, true)]
        {
            assert_eq!(refused(status, "", "").is_unsure(), unsure, "{status}");
        }
    }
}
