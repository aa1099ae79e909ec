//! Patch formats applied to a held version.
