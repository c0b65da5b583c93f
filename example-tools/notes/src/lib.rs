//! soon.
