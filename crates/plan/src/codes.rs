//! The catalogue: every rule with a number, a title and a page that explains it.
//!
//! A number once given keeps its meaning. The hundreds are the subject: 0 single objects, 1
//! addresses that two may use, 2 statements that disagree, 3 virtual addresses, 4 attachments,
//! 5 node policies, 6 names, 7 networks of OpenStack.

use crate::finding::Severity::{self, Error, Note, Warning};

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// `LB101`.
    pub code: &'static str,
    /// How bad it usually is.
    pub severity: Severity,
    /// In one line.
    pub title: &'static str,
    /// In a paragraph or two: why it matters, an example, what to do.
    pub explanation: &'static str,
}

/// The rule with this code, in any letter case.
pub fn find(code: &str) -> Option<&'static Code> {
    ALL.iter().copied().find(|known| known.code.eq_ignore_ascii_case(code))
}

macro_rules! catalogue {
    ($($name:ident $code:literal $severity:ident $title:literal $explanation:literal)*) => {
        $(pub(crate) static $name: Code = Code {
            code: $code, severity: $severity, title: $title, explanation: $explanation,
        };)*
        /// All rules, in order.
        pub static ALL: &[&Code] = &[$(&$name),*];
    };
}

catalogue! {
REFUSED "LB001" Error "the API would refuse this object"
"The object breaks a rule of its own kind: a field has the wrong type, a value is malformed, or it
names something that is not there. The text is the one `kubectl apply` would show.

Example: an allocation range whose end lies outside of the subnet's prefix.
Remedy: correct the field that is named."

ADVISED "LB002" Warning "the API would accept this object with a warning"
"The object is acceptable, but part of it is probably not meant: a VLAN of 0, a range of one
address, a next hop inside of a range that is handed out. The text is the warning `kubectl apply`
would show.

Remedy: change the field, or leave it when it is meant."

UNREADABLE "LB003" Error "a value cannot be understood"
"A field that the address plan depends on has the wrong type or holds a text that is no address,
no prefix or no JSON. Nothing that follows from it could be checked.

Example: `spec.addresses: [172.17.0.80]` in an IPAddressPool; MetalLB wants a prefix
(`172.17.0.80/32`) or a range (`172.17.0.80-172.17.0.80`).
Remedy: correct the value."

OVERLAP "LB101" Error "two sources hand out the same addresses"
"NetConfig, whereabouts, MetalLB and Neutron each keep their own books. When two of them hand out
addresses of one range on one segment, sooner or later two machines have the same one, and both
lose traffic from time to time. Nothing upstream notices.

Example: a NetConfig range 172.17.0.10-172.17.0.250 and a NetworkAttachmentDefinition with
range_start 172.17.0.30 and range_end 172.17.0.70 on the same VLAN share 41 addresses.
Remedy: give each source a range of its own, or exclude the shared addresses in one of them
(`excludeAddresses` of the NetConfig, `exclude` of whereabouts)."

OVERLAP_WITHIN "LB102" Warning "two ranges of one object overlap"
"Two ranges of one NetConfig or one pool share addresses. Its owner keeps one set of books, so
no address is given twice, but the sizes are not what they seem, and MetalLB refuses such a pool.

Remedy: let one range end before the other begins, or make them one."

HOST_IN_RANGE "LB103" Error "an address of a node lies in a range that is handed out"
"A node policy gives a node a static address that some source may also hand out. That source does
not know about the node and will give the address to somebody else.

Example: worker-0 has 172.17.0.35 while whereabouts hands out 172.17.0.30-172.17.0.70.
Remedy: move the node's address out of the range, or exclude it there."

TAKEN_IN_RANGE "LB104" Error "an address that is taken lies in another source's range"
"An IPSet asks for an address (`fixedIP`), a Reservation or a Neutron port holds one, or an
attachment gives one statically, and a different source hands out a range that contains it.

Example: fixedIP 172.17.0.85 while an IPAddressPool owns 172.17.0.80-172.17.0.90.
Remedy: take another address, or exclude it from that range."

ROUTER_IN_RANGE "LB105" Error "the address of a router lies in a range that is handed out"
"A gateway or the next hop of a route is an address that a source hands out. Whoever gets it takes
the router off the network.

Example: gateway 172.23.0.50 and whereabouts range 172.23.0.30-172.23.0.70; whereabouts does not
leave out the gateway by itself.
Remedy: exclude the router's address, or move the range."

TWO_HOLDERS "LB106" Error "one address has two holders"
"Two objects name the same address on one segment for different holders: two nodes, two IPSets,
a node and a virtual address, a pod and a port.

Remedy: give one of them another address."

ATTACHMENT_RANGES "LB107" Warning "ranges of two attachments overlap without being equal"
"Attachments with the same whereabouts range share one pool, which is fine. Ranges that only
overlap are two pools; whereabouts then depends on cluster-wide reservations
(`enable_overlapping_ranges`) to keep addresses apart, and each pool looks emptier than it is.

Remedy: use the same range in both, or ranges that do not overlap."

IGNORED_BOUND "LB108" Warning "whereabouts ignores a bound of the range"
"`range_start` and `range_end` count only inside of the usable addresses of `range`, in this order.
Otherwise whereabouts silently does without them and hands out more than is written.

Example: range 172.17.0.0/24 with range_end 172.17.1.70 hands out everything up to 172.17.0.254.
Remedy: correct the bound."

VLAN "LB201" Error "VLAN numbers disagree"
"A NetConfig says that a network has one VLAN, and the interface its attachment or pool uses is
another VLAN. Nodes that are configured from the NetConfig and pods on the attachment do not reach
each other.

Example: NetConfig Storage has vlan 30, attachment storage has master enp6s0.21, which the node
policy makes from VLAN 21.
Remedy: decide which number is right, and correct the other."

PREFIX "LB202" Error "prefixes disagree"
"Objects that describe one segment give it different prefixes: the NetConfig's `cidr`, the
attachment's `range`, the addresses of nodes on the interface. Machines with different prefixes do
not reach each other directly.

Example: NetConfig tenant is 172.20.0.0/24, attachment tenant hands out of 172.19.0.0/24.
Remedy: use one prefix everywhere."

MTU "LB203" Warning "packets are larger than the interface lets through"
"A network or an attachment has a larger MTU than the interface that carries it. Large packets are
lost, which shows as connections that open and then hang.

Example: NetConfig tenant has mtu 9000, the node policy gives enp6s0, the base of the VLAN,
mtu 1500.
Remedy: raise the MTU of the interface and of what lies below it, or lower the network's."

TWICE "LB204" Warning "one prefix on two segments"
"Two segments that have nothing to do with each other use the same addresses. A machine with a leg
in both, or a router between them, cannot tell them apart. Often one of the two has a wrong prefix
or a wrong VLAN.

Example: NetConfig storagemgmt (VLAN 40) and attachment tenant (VLAN 22) both use 172.19.0.0/24.
Remedy: give each segment a prefix of its own."

ANNOUNCED_ELSEWHERE "LB205" Error "a pool is announced where its addresses do not belong"
"An L2Advertisement announces a pool on an interface whose segment has other prefixes. Nobody there
asks for these addresses, and where they belong nobody answers.

Example: pool internalapi 172.17.0.80-172.17.0.90 announced on enp6s0.21, the storage network
172.18.0.0/24.
Remedy: name the interface of the pool's own network."

HOST_ADDRESS "LB206" Warning "a host name and its address belong to different networks"
"The second part of a host name is the name of a network, but the address is not in that network's
prefix. Whoever looks the name up is sent to another network.

Example: edpm-compute-0.tenant has the address 172.19.0.100, network tenant is 172.20.0.0/24.
Remedy: correct the address, or the prefix of the network."

STATUS "LB207" Warning "the status of an IPSet and the NetConfig disagree"
"The status of an IPSet repeats prefix, VLAN, MTU and gateway of its networks, and nodes are set up
from it. When it says something else than the NetConfig, the NetConfig was changed after nodes were
set up, or the status was not written by a controller that follows it.

Example: the status says mtu 1500 on network tenant, the NetConfig says 9000.
Remedy: when the NetConfig is right, let the status be written again and set the nodes up anew;
otherwise correct the NetConfig."

NO_POOL "LB301" Error "a service asks for a pool that does not exist"
"MetalLB gives no address to a Service that names an unknown pool; it stays pending, and the
operators that wait for it wait with it.

Example: DNSMasq with `ipAddressPool: ctlplane` while only the pool internalapi exists.
Remedy: create the pool, or correct the name."

OUTSIDE_POOL "LB302" Error "a virtual address is not in the pool it is asked from"
"A Service asks for an address and names a pool that does not hold it. MetalLB refuses, and the
Service stays pending. Addresses that end in 0 or 255 are not in a pool with `avoidBuggyIPs`.

Remedy: ask for an address of the pool, or add the address to the pool."

NO_POOL_HOLDS "LB303" Error "a virtual address is in no pool"
"A Service asks for an address that no IPAddressPool holds. MetalLB refuses, and the Service stays
pending.

Remedy: ask for an address of a pool, or add the address to one."

VIP_IN_RANGE "LB304" Error "a virtual address lies in another source's range"
"The address a Service asks for is one that a NetConfig, an attachment or Neutron hands out to
others.

Example: virtual address 172.17.0.35 while whereabouts hands out 172.17.0.30-172.17.0.70.
Remedy: ask for an address of the pool, or exclude it from that range."

PORT_CLASH "LB305" Error "services share an address and a port"
"Services may share a virtual address when no two of them have the same port and protocol. MetalLB
gives the address to the first one; the other stays pending.

Example: two RabbitMQ clusters at 172.17.0.85, both on 5671 and 5672.
Remedy: give one of them another address."

SHARING_KEY "LB306" Error "services share an address without the same sharing key"
"Services that share a virtual address must all carry the same key (`allow-shared-ip`; in the first
API generation `sharedIPKey`, or the name of the pool unless `sharedIP` is false). Otherwise MetalLB
gives the address to the first one only.

Remedy: use one key on all of them, or different addresses."

POOL_NOWHERE "LB307" Note "the addresses of a pool are on no known network"
"No NetConfig, attachment or node address has a prefix that holds these addresses, so nothing could
be checked about them. That is fine for a network that only outsiders use.

Remedy: none needed; or correct the addresses."

NO_SUCH_POOL "LB308" Warning "an advertisement names a pool that does not exist"
"MetalLB silently ignores unknown pools in an L2Advertisement. The pool that was meant is not
announced.

Remedy: correct the name, or create the pool."

NOT_ANNOUNCED "LB309" Warning "no advertisement announces a pool"
"There are L2Advertisements, but none of them selects this pool. Services get addresses from it, and
nobody answers for them.

Remedy: add the pool to an L2Advertisement."

NOT_BALANCED "LB310" Warning "a service asks for an address but is of another type"
"The annotations ask MetalLB for an address, but the Service is not of type LoadBalancer, so it gets
none.

Remedy: set `spec.type: LoadBalancer` beside the annotations, or remove them."

ODD_ADDRESSES "LB311" Error "a service asks for addresses that do not go together"
"A Service gets one address, or one of each family from one pool. MetalLB refuses two of one family,
more than two, and two that are of different pools; the Service stays pending.

Example: `loadBalancerIPs: 172.17.0.80,172.17.0.81`.
Remedy: ask for one IPv4 and one IPv6 address of one pool, or for one address."

NOT_FOR_SERVICE "LB312" Error "a pool is not for the service that asks for it"
"`serviceAllocation` of the pool names namespaces or labels, and the Service has others. MetalLB
refuses, and the Service stays pending.

Example: the pool is for namespace openstack, the Service is in openstack-operators.
Remedy: add the namespace or the label to the pool, or ask for another pool."

BACKENDS "LB313" Error "services share an address but not where their traffic goes"
"With `externalTrafficPolicy: Local` traffic stays on the node that answers for the address, so all
Services of the address must have that policy and the same selector. Otherwise MetalLB gives the
address to the first one only.

Remedy: use the same policy and selector on all of them, or different addresses."

NO_ATTACHMENT "LB401" Error "pods want an attachment that does not exist"
"`networkAttachments` names a NetworkAttachmentDefinition that is not in the namespace of the
object. The pods are not started until it is there.

Example: networkAttachments: [storge] while the attachment is called storage.
Remedy: correct the name, or create the attachment in the same namespace."

NO_INTERFACE "LB402" Warning "no policy makes the interface of an attachment"
"The attachment sits on an interface of the node that no node policy mentions. Unless the node has
it for another reason, pods cannot be started; a bridge that is missing is even made on the spot,
connected to nothing.

Remedy: correct the name, or add the interface to the node policies."

NO_ANNOUNCING_INTERFACE "LB403" Warning "no policy makes the interface of an advertisement"
"An L2Advertisement names an interface that no node policy mentions. When the chosen node does not
have it, nobody answers for the addresses.

Remedy: correct the name, or add the interface to the node policies."

ONE_FOR_ALL "LB501" Error "one static address for several nodes"
"A node policy that is not limited to one node (`kubernetes.io/hostname`) gives an interface a
static address. Every node it selects gets the same one.

Example: 192.168.122.10 with nodeSelector `node-role.kubernetes.io/worker`.
Remedy: write one policy per node, selected by `kubernetes.io/hostname`."

CONTRADICTING "LB502" Error "two policies want different things of one interface"
"Two node policies that may select the same node set the same property of an interface to different
values. The one that is applied last wins, and which one that is depends on chance.

Remedy: put all of an interface into one policy, or make the selectors exclude each other."

DROPPED "LB503" Warning "a later policy of the same name drops interfaces"
"The policy is given twice, and the later one lacks interfaces of the earlier one. Lists are replaced
as a whole when a policy is patched (JSON merge patch), so the policy no longer makes them. What is
already on the nodes stays until they are set up anew, and then it is missing.

Remedy: repeat all interfaces in the later one."

OTHER_VLAN "LB504" Error "one interface name, different VLANs"
"Node policies for different nodes make an interface of one name from different VLANs. Attachments and
advertisements name interfaces only by name, so they lead to different networks on different nodes.

Remedy: use one VLAN, or different names."

UNKNOWN_FIELD "LB601" Error "a field of that name does not exist"
"The API server drops fields it does not know, or refuses them, so what is written has no effect.

Example: `networkAttachents`; the field is called `networkAttachments`.
Remedy: correct the name."

LETTER_CASE "LB602" Note "names differ in letter case"
"A network of the NetConfig and its attachment or pool have the same name except for letter case.
They belong together by convention only; `serviceNetwork` says so explicitly.

Example: NetConfig InternalApi, attachment internalapi.
Remedy: use lower case everywhere, or set `serviceNetwork`."

HOST_NAME "LB603" Warning "a host name looks misspelt"
"Names of hosts end in the name of a network, as their siblings do, but this one is not the name of
any network and is close to one.

Example: edpm-compute-0.storge beside edpm-compute-0.internalapi; the network is called storage.
Remedy: correct the name."

UNKNOWN_NETWORK "LB604" Error "an IPSet names a network or subnet that is not in the NetConfig"
"The address cannot be given, because there is no such network (or subnet) in the NetConfig of the
namespace. Letter case does not matter.

Remedy: correct the name, or add the network."

GIVEN_TWICE "LB605" Warning "one object is given twice, with different content"
"Two documents are the same object: kind, namespace and name are equal, and the rest is not. When
both are applied, the later one wins. Only the later one was checked.

Remedy: remove one of them."

MISPLACED "LB606" Warning "a network field stands where nothing reads it"
"The field exists, but not at this place: the object is accepted, and the pods are not attached, or
the service gets no virtual address.

Example: `spec.keystone.networkAttachments`; the field belongs below `spec.keystone.template`.
Remedy: move it to the part of the service that is meant (`template`, `cinderAPI`, ...)."

NO_MANAGEMENT_NETWORK "LB701" Error "the management network of Octavia cannot be made"
"Octavia's controllers reach load balancers (amphorae) over two networks of Neutron that are derived from
the NetworkAttachmentDefinition of its pods: the prefix `ipam.range`, 26 addresses for Neutron and 26 for
nodes behind `range_end`, the router `routes[0].gw` and the prefix of amphorae `routes[0].dst`; and from
`lbMgmtNetwork` of the Octavia. What is named does not fit: Neutron would refuse it half way, or pods and
amphorae would not reach each other.

Example: a `gw` that lies between `range_start` and `range_end`, so that whereabouts gives the router's
address to a pod.
Remedy: correct the field that is named."

ODD_MANAGEMENT_NETWORK "LB702" Warning "the management network of Octavia is hardly meant so"
"It can be made, but part of what is written has no effect, or pods or amphorae would be left alone.

Example: a second route in the attachment; only the first one leads to a management network.
Remedy: change the field, or leave it when it is meant."

NO_PHYSICAL_NETWORK "LB703" Warning "OVN does not know the physical network of Octavia"
"The provider network of Octavia is a flat network on the physical network `octavia`. OVN gets to it through
an entry of that name in `nicMappings` of its controller; without one the router between pods and amphorae
has no cable.

Remedy: add `octavia: octbr` (or the bridge the attachment uses) to spec.ovn.template.ovnController.nicMappings."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_and_in_order_and_pages_are_complete() {
        assert!(ALL.windows(2).all(|two| two[0].code < two[1].code));
        for code in ALL {
            assert!(code.explanation.contains("Remedy:"), "{}", code.code);
            assert!(!code.title.ends_with('.'), "{}", code.code);
            assert_eq!(find(&code.code.to_lowercase()), Some(*code));
        }
        assert_eq!(find("LB999"), None);
    }
}
