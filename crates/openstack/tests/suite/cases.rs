//! What a client has to be able to do, whoever answers.

pub mod compute;
mod identity;
mod lost;
mod networks;
mod ports;
mod routers;
mod rules;

use super::place::Place;

macro_rules! run {
    ($place:expr, $($module:ident :: $case:ident),* $(,)?) => {
        $(
            eprintln!("{}::{}", stringify!($module), stringify!($case));
            $module::$case($place).await;
        )*
    };
}

/// All cases, one after the other.
pub async fn all(place: &Place) {
    run!(
        place,
        identity::logins,
        identity::wrong_logins,
        identity::application_credentials,
        identity::a_revoked_token,
        identity::catalogue,
        identity::accounts,
        networks::networks,
        networks::subnets,
        networks::pages,
        networks::tags,
        networks::subnet_pools,
        networks::extensions,
        ports::ports,
        ports::addresses_in_use,
        ports::trunks,
        rules::security_groups,
        rules::who_may_what,
        rules::quotas,
        rules::sharing,
        routers::routers,
        routers::floating_addresses,
        lost::answers,
    );
}
