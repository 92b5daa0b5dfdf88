//! What turns declarations into addresses, names and attachments, on any Kubernetes.
