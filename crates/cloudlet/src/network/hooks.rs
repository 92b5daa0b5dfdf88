//! What resources ask of others without knowing them: each adds a line here.

use crate::caller::Caller;
use crate::network::fault::Fault;
use crate::network::resources::{floating_ips, routers, trunks};
use crate::object::Object;
use crate::state::{State, Tx};

type Asked = fn(&Tx<'_>, &Caller, &Object) -> Result<(), Fault>;
type Told = fn(&mut Tx<'_>, &Caller, &Object) -> Result<(), Fault>;

/// Asked before a port is deleted by a client: whoever uses it may refuse.
pub static PORT_MAY_GO: &[Asked] =
    &[routers::port_may_go, floating_ips::port_may_go, trunks::port_may_go];

/// Told when a port goes, whoever deletes it: what hangs on it is let go.
pub static PORT_GOES: &[Told] = &[floating_ips::port_goes];

/// Adds to what is shown of a port.
pub static PORT_SHOWN: &[fn(&State, &mut Object)] = &[trunks::port_shown];
