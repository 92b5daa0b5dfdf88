//! Who runs a network, and what is done inside a pod besides: the two seams to the kernel.

use std::path::PathBuf;

use landbridge_cni::config::{Attachment, Network};
use landbridge_cni::environment::Environment;
use landbridge_cni::error::{CniError, Code};
use landbridge_cni::json::Object;
use landbridge_cni::networks::DefaultRoutes;
use landbridge_cni::result::CniResult;
use landbridge_linux::route::{Family, Route};
use landbridge_linux::{Handle, IfName, Namespace};

/// One network of one pod.
#[derive(Clone, Debug)]
pub struct Call {
    /// Container, namespace, interface, arguments, and where programs are.
    pub environment: Environment,
    /// What the runtime tells the plugins, as far as they declare that they listen.
    pub capabilities: Object,
    /// Where results are kept between ADD and DEL.
    pub cache: PathBuf,
}

/// Runs the plugins of a network, as the reference library does. Results are kept between ADD and
/// DEL. May be called from many threads at once.
pub trait Networks: Send + Sync {
    /// Attaches.
    fn add(&self, network: &Network, call: &Call) -> Result<CniResult, CniError>;
    /// Detaches; what is gone already is no error.
    fn del(&self, network: &Network, call: &Call) -> Result<(), CniError>;
    /// Whether it is attached as it was.
    fn check(&self, network: &Network, call: &Call) -> Result<(), CniError>;
    /// Removes what belongs to none of these. Of the call only the path and the cache count.
    fn gc(&self, network: &Network, call: &Call, keep: &[Attachment]) -> Result<(), CniError>;
    /// Whether ADD could be served. Of the call only the path counts.
    fn status(&self, network: &Network, call: &Call) -> Result<(), CniError>;
    /// Puts another result in the place of the one that is kept.
    fn keep(&self, network: &Network, call: &Call, result: &CniResult) -> Result<(), CniError>;
}

/// What is looked at and changed inside a pod besides what plugins do.
pub trait Sandboxes: Send + Sync {
    /// The names of its interfaces.
    fn interfaces(&self, netns: &str) -> Result<Vec<String>, CniError>;
    /// Changes the default routes of an interface.
    fn default_routes(
        &self,
        netns: &str,
        interface: &str,
        wanted: &DefaultRoutes,
    ) -> Result<(), CniError>;
}

/// The kernel's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kernel;

impl Sandboxes for Kernel {
    fn interfaces(&self, netns: &str) -> Result<Vec<String>, CniError> {
        let links = open(netns)?.links().map_err(|error| inside(netns, &error))?;
        Ok(links.iter().map(|link| link.name.as_str().to_owned()).collect())
    }

    fn default_routes(
        &self,
        netns: &str,
        interface: &str,
        wanted: &DefaultRoutes,
    ) -> Result<(), CniError> {
        let handle = open(netns)?;
        let work = || -> Result<(), landbridge_linux::Error> {
            let Ok(name) = IfName::new(interface) else { return Ok(()) };
            let link = handle.index(&name)?;
            for route in handle.routes_of(landbridge_linux::route::table::MAIN)? {
                let dropped = match route.family() {
                    Family::Ipv4 => wanted.drop_v4,
                    Family::Ipv6 => wanted.drop_v6,
                };
                let is_default = route.destination.prefix_len() == 0;
                if dropped && is_default && route.links().any(|through| *through == link) {
                    handle.delete_route(&route)?;
                }
            }
            for gateway in &wanted.through {
                let everywhere = Family::of(&(*gateway).into()).everywhere();
                handle.ensure_route(&Route::via(everywhere, *gateway).on(link))?;
            }
            Ok(())
        };
        work().map_err(|error| inside(netns, &error))
    }
}

fn open(netns: &str) -> Result<Handle, CniError> {
    let open = || Handle::in_namespace(&Namespace::open(netns)?);
    open().map_err(|error| {
        let text = format!("failed to open netns {netns:?}: {error}");
        CniError::new(Code::INVALID_NETNS, text)
    })
}

fn inside(netns: &str, error: &landbridge_linux::Error) -> CniError {
    CniError::new(Code::INTERNAL, format!("in {netns}: {error}"))
}
