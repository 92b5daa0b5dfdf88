//! Attachments of pods.
