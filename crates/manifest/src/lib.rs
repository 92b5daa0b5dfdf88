//! Manifests as text: documents with the place of every value, and diagnostics that point there.
