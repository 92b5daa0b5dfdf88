//! Linux networking as typed values: links, addresses, routes, rules, neighbours, sysctls, namespaces.
